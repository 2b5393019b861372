// What four services of the kernel cost: a system call, the first touch of a page, the move of a
// page to another node, and a fork with the child's end. One line of JSON in nanoseconds of the
// clock; medians of ROUNDS. Pages are base pages: huge ones are refused. Where there is one node
// only, moves are null.
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 9, CALLS = 200, PAGES = 128, PAGE = 4096, MOVE = 2 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void end(const char *what) {
    fprintf(stderr, "numasim-costs: %s: %s\n", what, strerror(errno));
    exit(1);
}

static double system_call(void) {
    double began = now();
    for (int i = 0; i < CALLS; i++) syscall(SYS_getppid);
    return (now() - began) / CALLS;
}

static char *fresh(void) {
    char *pages = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) end("mmap");
    madvise(pages, PAGES * PAGE, MADV_NOHUGEPAGE);
    return pages;
}

static double first_touch(void) {
    char *pages = fresh();
    double began = now();
    for (int i = 0; i < PAGES; i++) pages[i * PAGE] = 1;
    double took = now() - began;
    munmap(pages, PAGES * PAGE);
    return took / PAGES;
}

// All in one call, as migration daemons do; -1 where nothing moved.
static double move(void) {
    char *pages = fresh();
    void *at[PAGES];
    int to[PAGES], status[PAGES], moved = 0;
    memset(pages, 1, PAGES * PAGE);
    for (int i = 0; i < PAGES; i++) at[i] = pages + i * PAGE;
    if (syscall(SYS_move_pages, 0, PAGES, at, NULL, status, 0) != 0) end("move_pages");
    for (int i = 0; i < PAGES; i++) to[i] = status[i] == 0 ? 1 : 0;
    double began = now();
    long failed = syscall(SYS_move_pages, 0, PAGES, at, to, status, MOVE);
    double took = now() - began;
    for (int i = 0; i < PAGES; i++) moved += status[i] == to[i];
    munmap(pages, PAGES * PAGE);
    return failed == 0 && moved == PAGES ? took / PAGES : -1;
}

static double fork_and_wait(void) {
    double began = now();
    pid_t child = fork();
    if (child < 0) end("fork");
    if (child == 0) _exit(0);
    if (waitpid(child, NULL, 0) != child) end("waitpid");
    return now() - began;
}

static int by_size(const void *x, const void *y) {
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static double median(double (*cost)(void)) {
    double all[ROUNDS];
    cost();
    for (int i = 0; i < ROUNDS; i++) all[i] = cost();
    qsort(all, ROUNDS, sizeof *all, by_size);
    return all[ROUNDS / 2];
}

int main(void) {
    double calls = median(system_call), touched = median(first_touch), moved = median(move), forked = median(fork_and_wait);
    printf("{\"program\":\"numasim-costs\",\"system_call_ns\":%.1f,\"first_touch_ns\":%.1f,", calls, touched);
    if (moved < 0) printf("\"move_ns\":null,");
    else printf("\"move_ns\":%.1f,", moved);
    printf("\"fork_ns\":%.1f}\n", forked);
    return 0;
}
