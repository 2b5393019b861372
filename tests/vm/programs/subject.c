/* A process for isobar to manage, which also checks the result by the kernel's calls: it places
 * memory, fills it with a pattern, and says on request where each page is (move_pages(2) as a
 * query) and whether its content is what was written. It shares no code with isobar. One command a
 * line on stdin, one answer a line on stdout; it ends with its stdin, or after ten minutes.
 *
 *   alloc NAME KIND PAGES NODE   KIND: anon, file, shared, locked, thp, hugetlb; placed on NODE and
 *                                filled
 *   pages NAME                   FIRST-LAST=NODE ..., runs of pages by index
 *   verify NAME                  ok, or the first page whose content is wrong
 *   reserve NAME PAGES           memory that is not touched, under no policy of the subject's own;
 *                                answers with its address
 *   fill NAME FIRST LAST         touches these pages of it
 *   threads N                    starts N threads that work a little every 10 ms; answers with
 *                                their ids
 *   sampled NAME PAGE            starts a thread that works and takes a page fault at PAGE of
 *                                shared memory again and again
 *   touched NAME FIRST LAST      starts a thread that reads and writes these pages again and again;
 *                                the content stays
 *   twin                         a child process that maps all shared memory too; answers with its
 *                                id
 *   end N                        ends the first N threads
 *   quit                         ends in order
 *   pin CPU                      the main thread pins itself, as an owner does
 *   migrate PID FROM TO          moves the pages of another process (migrate_pages(2))
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, WORDS = PAGE / 8, REGIONS = 16, THREADS = 64, HUGE_PAGE = 2 << 20, BIND = 2, DEFAULT = 0 };

struct region { char name[32], kind[16]; uint64_t *at; size_t pages; };
struct worker { pthread_t thread; volatile pid_t tid; volatile int stop; volatile uint64_t *touch; size_t touched; };

static struct region regions[REGIONS];
static struct worker workers[THREADS];
static int region_count, worker_count, first_worker;

static void answer(const char *format, ...) {
    va_list list;
    va_start(list, format);
    vprintf(format, list);
    va_end(list);
    putchar('\n');
    fflush(stdout);
}

static struct region *find(const char *name) {
    for (int i = 0; i < region_count; i++)
        if (!strcmp(regions[i].name, name)) return &regions[i];
    return NULL;
}

static uint64_t expected(const struct region *r, size_t page, size_t word) {
    uint64_t x = (page * WORDS + word + 1) * 0x9E3779B97F4A7C15u + (uint64_t)r->name[0];
    return x ^ x >> 29;
}

static int bind_to(int node) {
    unsigned long mask = node < 0 ? 0 : 1ul << node;
    return syscall(SYS_set_mempolicy, node < 0 ? DEFAULT : BIND, node < 0 ? NULL : &mask, node < 0 ? 0 : 64);
}

static void *map(const char *kind, const char *name, size_t bytes) {
    int both = PROT_READ | PROT_WRITE, anonymous = MAP_PRIVATE | MAP_ANONYMOUS;
    if (!strcmp(kind, "shared")) return mmap(NULL, bytes, both, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!strcmp(kind, "hugetlb")) return mmap(NULL, bytes, both, anonymous | MAP_HUGETLB, -1, 0);
    if (!strcmp(kind, "file")) {
        char path[128];
        snprintf(path, sizeof path, "/tmp/%s.%d", name, getpid());
        int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
        if (fd < 0 || ftruncate(fd, (off_t)bytes)) return MAP_FAILED;
        return mmap(NULL, bytes, both, MAP_SHARED, fd, 0);
    }
    if (strcmp(kind, "thp")) {
        void *small = mmap(NULL, bytes, both, anonymous, -1, 0);
        if (small != MAP_FAILED) madvise(small, bytes, MADV_NOHUGEPAGE);
        return small;
    }
    char *wide = mmap(NULL, bytes + HUGE_PAGE, both, anonymous, -1, 0);
    if (wide == MAP_FAILED) return wide;
    void *aligned = (void *)(((uintptr_t)wide + HUGE_PAGE - 1) & ~(uintptr_t)(HUGE_PAGE - 1));
    madvise(aligned, bytes, MADV_HUGEPAGE);
    return aligned;
}

static void alloc(const char *name, const char *kind, size_t pages, int node) {
    if (region_count == REGIONS) return answer("error: too many regions");
    struct region *r = &regions[region_count];
    snprintf(r->name, sizeof r->name, "%s", name);
    snprintf(r->kind, sizeof r->kind, "%s", kind);
    r->pages = pages;
    if (bind_to(node)) return answer("error: set_mempolicy: %s", strerror(errno));
    r->at = map(kind, name, pages * PAGE);
    if (r->at == MAP_FAILED) return answer("error: mmap: %s", strerror(errno));
    unsigned long nodes = 1ul << (node < 0 ? 0 : node);
    if (!strcmp(kind, "bound") && syscall(SYS_mbind, r->at, pages * PAGE, BIND, &nodes, 64, 0))
        return answer("error: mbind: %s", strerror(errno));
    for (size_t i = 0; i < pages * WORDS; i++) r->at[i] = expected(r, i / WORDS, i % WORDS);
    if (!strcmp(kind, "locked") && mlock(r->at, pages * PAGE)) return answer("error: mlock: %s", strerror(errno));
    bind_to(-1);
    region_count++;
    answer("0x%lx", (unsigned long)r->at);
}

static void reserve(const char *name, size_t pages) {
    if (region_count == REGIONS) return answer("error: too many regions");
    struct region *r = &regions[region_count];
    snprintf(r->name, sizeof r->name, "%s", name);
    snprintf(r->kind, sizeof r->kind, "anon");
    r->pages = pages;
    r->at = map("anon", name, pages * PAGE);
    if (r->at == MAP_FAILED) return answer("error: mmap: %s", strerror(errno));
    region_count++;
    answer("0x%lx", (unsigned long)r->at);
}

static void fill(const struct region *r, size_t first, size_t last) {
    for (size_t i = first * WORDS; i < (last + 1) * WORDS; i++) r->at[i] = expected(r, i / WORDS, i % WORDS);
    answer("ok");
}

/* The node of every page, or a negative errno. */
static int *ask(const struct region *r) {
    void **pages = malloc(r->pages * sizeof *pages);
    int *status = malloc(r->pages * sizeof *status);
    for (size_t i = 0; i < r->pages; i++) pages[i] = r->at + i * WORDS;
    if (syscall(SYS_move_pages, 0, r->pages, pages, NULL, status, 0)) abort();
    free(pages);
    return status;
}

static void runs(const struct region *r) {
    int *status = ask(r);
    for (size_t first = 0, i = 1; i <= r->pages; i++)
        if (i == r->pages || status[i] != status[first]) {
            printf("%zu-%zu=%d ", first, i - 1, status[first]);
            first = i;
        }
    answer("");
    free(status);
}

static void verify(const struct region *r) {
    for (size_t i = 0; i < r->pages * WORDS; i++)
        if (r->at[i] != expected(r, i / WORDS, i % WORDS)) return answer("page %zu of %s has lost its content", i / WORDS, r->name);
    answer("ok");
}

/* Shared memory that is unmapped stays in the page cache, on its node: the next touch is a page
 * fault at that page and no other. */
static void fault_at(volatile uint64_t *word) {
    if (madvise((void *)word, PAGE, MADV_DONTNEED)) abort();
    *word = *word;
}

/* So many pages that the kernel drops all translations when they go, and does not go through them
 * one by one (tlb_single_page_flush_ceiling is 33). */
enum { SCRATCH = 64 };

/* Drops every translation of this CPU. The kernel clears accessed bits without doing so, and an
 * emulated CPU keeps thousands: a page that it knows is touched unseen. */
static void forget_translations(volatile uint64_t *scratch) {
    for (size_t page = 0; page < SCRATCH; page++) scratch[page * WORDS] = 1;
    if (madvise((void *)scratch, SCRATCH * PAGE, MADV_DONTNEED)) abort();
}

static void *work(void *argument) {
    struct worker *w = argument;
    void *scratch = mmap(NULL, SCRATCH * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (scratch == MAP_FAILED) abort();
    w->tid = (pid_t)syscall(SYS_gettid);
    /* Naps leave the emulator's one core to the others. */
    while (!w->stop) {
        if (w->touched) {
            for (size_t page = 0; page < w->touched; page++) w->touch[page * WORDS] = w->touch[page * WORDS];
            forget_translations(scratch);
            usleep(1000);
            continue;
        }
        if (w->touch) fault_at(w->touch);
        for (volatile int spins = 0; spins < (w->touch ? 100000 : 2000); spins++) {}
        usleep(10000);
    }
    return NULL;
}

static void start(int count, volatile uint64_t *touch, size_t touched) {
    for (int i = 0; i < count && worker_count < THREADS; i++) {
        struct worker *w = &workers[worker_count++];
        w->touch = touch;
        w->touched = touched;
        if (pthread_create(&w->thread, NULL, work, w)) abort();
        while (!w->tid) usleep(1000);
        printf("%d ", w->tid);
    }
    answer("");
}

static void end(int count) {
    for (; count > 0 && first_worker < worker_count; count--, first_worker++) {
        workers[first_worker].stop = 1;
        pthread_join(workers[first_worker].thread, NULL);
    }
    answer("ok");
}

static void twin(void) {
    volatile uint64_t sum = 0;
    pid_t pid = fork();
    if (pid) return answer("%d", pid);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int i = 0; i < region_count; i++)
        for (size_t page = 0; page < regions[i].pages; page++) sum += regions[i].at[page * WORDS];
    for (;;) pause();
}

static void pin(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    answer(sched_setaffinity(0, sizeof set, &set) ? "error: refused" : "ok");
}

static void migrate(long pid, long from, long to) {
    unsigned long old = 1ul << from, new = 1ul << to;
    long left = syscall(SYS_migrate_pages, (pid_t)pid, 64, &old, &new);
    if (left < 0) return answer("error: migrate_pages: %s", strerror(errno));
    answer("%ld left", left);
}

int main(void) {
    char line[256], verb[32], name[32] = "", kind[16];
    long number, from, to, last;
    int node;
    alarm(600);
    signal(SIGCHLD, SIG_IGN);
    while (fgets(line, sizeof line, stdin)) {
        struct region *r = NULL;
        if (sscanf(line, "%31s", verb) != 1) continue;
        if (sscanf(line, "%*s %31s", name) == 1) r = find(name);
        if (sscanf(line, "alloc %31s %15s %ld %d", name, kind, &number, &node) == 4) alloc(name, kind, (size_t)number, node);
        else if (sscanf(line, "reserve %31s %ld", name, &number) == 2) reserve(name, (size_t)number);
        else if (sscanf(line, "fill %31s %ld %ld", name, &number, &last) == 3 && r && number <= last && (size_t)last < r->pages)
            fill(r, (size_t)number, (size_t)last);
        else if (!strcmp(verb, "quit")) { answer("ok"); return 0; }
        else if (!strcmp(verb, "pages") && r) runs(r);
        else if (!strcmp(verb, "verify") && r) verify(r);
        else if (sscanf(line, "threads %ld", &number) == 1) start((int)number, NULL, 0);
        else if (sscanf(line, "sampled %31s %ld", name, &number) == 2 && r && !strcmp(r->kind, "shared")) start(1, r->at + number * WORDS, 0);
        else if (sscanf(line, "touched %31s %ld %ld", name, &number, &last) == 3 && r && number <= last && (size_t)last < r->pages)
            start(1, r->at + number * WORDS, (size_t)(last - number) + 1);
        else if (!strcmp(verb, "twin")) twin();
        else if (sscanf(line, "end %ld", &number) == 1) end((int)number);
        else if (sscanf(line, "pin %ld", &number) == 1) pin((int)number);
        else if (sscanf(line, "migrate %ld %ld %ld", &number, &from, &to) == 3) migrate(number, from, to);
        else answer("error: not understood: %s", verb);
    }
    return 0;
}
