/* A program whose accesses to its array are known: each is an instruction here, and nothing else
 * touches the array.
 *
 *   exact            the main thread stores once to each of 16 pages, the last first; then thread t
 *   of                  1 to 3 loads 1000 + t times from page 4 t and stores 100 + t times to page
 *   4 t + 1 exact threads N  N threads, one after the other, each store once to the same page
 *   exact slices     stores to page 0 until 60 ms have passed, sleeps for 100 ms in a second thread
 *   that                  has stored once to page 1
 *   exact fork       a child stores to page 0, the parent to page 1
 *   exact bound      as without a word, thread t bound to CPU t where there is one
 *   exact crash      stores to page 0, then to address 8
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096 };
char data[16 * PAGE] __attribute__((aligned(4096)));

static void loads(void *from, long count) {
    __asm__ volatile("1: movq (%1), %%rax; decq %0; jnz 1b" : "+r"(count) : "r"(from) : "rax", "cc", "memory");
}

static void stores(void *to, long count) {
    __asm__ volatile("1: movq $7, (%1); decq %0; jnz 1b" : "+r"(count) : "r"(to) : "cc", "memory");
}

static int bound;

static void bind(long t) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(t, &set);
    // Where there is no such CPU it runs anywhere.
    if (bound) sched_setaffinity(0, sizeof set, &set);
}

static void *exact(void *number) {
    long t = (long)number;
    bind(t);
    loads(data + 4 * t * PAGE, 1000 + t);
    stores(data + (4 * t + 1) * PAGE, 100 + t);
    return NULL;
}

static void *once(void *to) {
    stores(to, 1);
    return NULL;
}

static void *sleeper(void *to) {
    stores(to, 1);
    usleep(100000);
    return NULL;
}

static void run(pthread_t *thread, void *(*body)(void *), void *argument) {
    if (pthread_create(thread, NULL, body, argument)) exit(3);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int count, char **words) {
    pthread_t threads[4];
    const char *what = count > 1 ? words[1] : "";
    if (!strcmp(what, "threads")) {
        for (int i = 0; i < atoi(words[2]); i++) {
            run(threads, once, data);
            pthread_join(threads[0], NULL);
        }
    } else if (!strcmp(what, "slices")) {
        run(threads, sleeper, data + PAGE);
        for (double end = now() + 0.06; now() < end;) stores(data, 1000);
        pthread_join(threads[0], NULL);
    } else if (!strcmp(what, "fork")) {
        if (fork() == 0) {
            stores(data, 5);
            _exit(0);
        }
        stores(data + PAGE, 6);
        wait(NULL);
    } else if (!strcmp(what, "crash")) {
        stores(data, 3);
        usleep(50000);
        stores((void *)8, 1);
    } else {
        bound = !strcmp(what, "bound");
        bind(0);
        for (int page = 15; page >= 0; page--) stores(data + page * PAGE, 1);
        for (long t = 1; t < 4; t++) run(&threads[t], exact, (void *)t);
        for (int t = 1; t < 4; t++) pthread_join(threads[t], NULL);
    }
    return 0;
}
