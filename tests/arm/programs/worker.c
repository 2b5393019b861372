/* A process whose threads execute known numbers of instructions (multiples of 50), on command. It
 * reads lines and answers each:
 *
 *   threads N                      starts N threads, each of which computes for WARM_MS of CPU
 *                                  time, so that it is seen to work, and waits for orders: their
 *                                  ids
 *   work I INSTRUCTIONS TIMES MS   thread I executes INSTRUCTIONS instructions TIMES times, with
 *                                  pauses of MS ms: ok, at once
 *   last I INSTRUCTIONS TIMES MS   the same, and then thread I ends
 *   calls I N                      thread I makes N system calls; the loop is 4 instructions of
 *                                  user mode a call
 *   births N ALIVE INSTRUCTIONS    N threads come and go, ALIVE at a time, and each executes
 *                                  INSTRUCTIONS instructions (multiples of 100): ok, at once. The
 *                                  kernel is asked to give each the id of one that has just ended,
 *                                  which only root may do: `wait` answers with the error where it
 *                                  cannot be asked
 *   wait                           when all that was ordered is done: ok
 *   log I                          what thread I had executed at which nanosecond of
 *                                  CLOCK_MONOTONIC, in the last order: NS:EXECUTED ...
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 64, MARKS = 4096, WARM_MS = 40, LINE = 256, TURN = 50, PAUSE_US = 150000 };

struct order { uint64_t instructions, calls; long times, pause_ms; int last; };
struct mark { uint64_t nanoseconds, executed; };
struct thread { pthread_t handle; pid_t tid; int busy; struct order order; long marks; struct mark mark[MARKS]; };

static struct thread *threads[THREADS];
static int births_left;
/* What went wrong while threads came and went; the answer to `wait` then. */
static const char *births_failed;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static uint64_t now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* 50 instructions a turn, of which QEMU makes one block: a loop of two takes it many times as long.
 * */
static void execute(uint64_t instructions) {
    uint64_t turns = instructions / TURN;
    if (turns) __asm__ volatile("1: subs %0, %0, #1\n .rept 48\n nop\n .endr\n b.ne 1b" : "+r"(turns) : : "cc");
}

/* Four instructions of user mode a turn: the kernel's are not among them. */
static void call(uint64_t calls) {
    register uint64_t number __asm__("x8"), result __asm__("x0") = 0;
    if (calls)
        __asm__ volatile("1: mov %1, %3\n svc #0\n subs %0, %0, #1\n b.ne 1b"
                         : "+r"(calls), "=&r"(number), "+r"(result) : "i"(SYS_getppid) : "cc", "memory");
}

static void warm_up(void) {
    while (now(CLOCK_THREAD_CPUTIME_ID) < WARM_MS * 1000000u) execute(100000);
}

static void note(struct thread *self, uint64_t executed) {
    if (self->marks < MARKS) self->mark[self->marks++] = (struct mark){now(CLOCK_MONOTONIC), executed};
}

static void carry_out(struct thread *self) {
    struct order order = self->order;
    self->marks = 0;
    note(self, 0);
    for (long i = 1; i <= order.times; i++) {
        execute(order.instructions);
        call(order.calls);
        note(self, order.instructions * (uint64_t)i);
        if (order.pause_ms) usleep((useconds_t)order.pause_ms * 1000);
    }
}

static void set_busy(struct thread *self, int busy) {
    pthread_mutex_lock(&lock);
    self->busy = busy;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void *live(void *argument) {
    struct thread *self = argument;
    self->tid = (pid_t)syscall(SYS_gettid);
    warm_up();
    set_busy(self, 0);
    for (;;) {
        pthread_mutex_lock(&lock);
        while (!self->busy) pthread_cond_wait(&changed, &lock);
        pthread_mutex_unlock(&lock);
        carry_out(self);
        int last = self->order.last;
        set_busy(self, 0);
        if (last) return NULL;
    }
}

struct births { int count, alive; uint64_t instructions; };
struct child { pthread_t handle; pid_t tid; int alive; uint64_t instructions; };

static void *short_life(void *argument) {
    struct child *self = argument;
    self->tid = (pid_t)syscall(SYS_gettid);
    /* A half at first, so that it is seen to work; the other a while later, when it is counted. */
    execute(self->instructions / 2);
    usleep(PAUSE_US);
    execute(self->instructions / 2);
    usleep(PAUSE_US);
    return NULL;
}

/* Has the kernel give the next thread this id: 0, or -1 where it may not be asked to (only root
 * may). */
static int want_id(pid_t tid) {
    /* A thread that was joined has its id for some moments more. */
    while (syscall(SYS_tgkill, getpid(), tid, 0) == 0) usleep(100);
    FILE *file = fopen("/proc/sys/kernel/ns_last_pid", "w");
    if (!file) return -1;
    int written = fprintf(file, "%d", tid - 1) > 0;
    return fclose(file) == 0 && written ? 0 : -1;
}

static const char *bring_up(const struct births *births, struct child *children) {
    for (int i = 0; i < births->count; i++) {
        struct child *child = &children[i % births->alive];
        if (i >= births->alive) {
            pthread_join(child->handle, NULL);
            child->alive = 0;
            if (want_id(child->tid)) return "error: /proc/sys/kernel/ns_last_pid cannot be written";
        }
        child->instructions = births->instructions;
        if (pthread_create(&child->handle, NULL, short_life, child)) return "error: no thread";
        child->alive = 1;
    }
    return NULL;
}

static void *give_birth(void *argument) {
    const struct births *births = argument;
    static struct child children[THREADS];
    const char *failed = bring_up(births, children);
    for (int i = 0; i < births->alive; i++) {
        if (children[i].alive) pthread_join(children[i].handle, NULL);
        children[i].alive = 0;
    }
    pthread_mutex_lock(&lock);
    births_left = 0;
    births_failed = failed;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    return NULL;
}

static int busy_threads(void) {
    int busy = births_left;
    for (int i = 0; i < THREADS; i++) busy += threads[i] && threads[i]->busy;
    return busy;
}

static void wait_for_all(void) {
    pthread_mutex_lock(&lock);
    while (busy_threads()) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

static void start_threads(int count) {
    for (int i = 0; i < count && i < THREADS; i++) {
        threads[i] = calloc(1, sizeof *threads[i]);
        if (!threads[i]) _exit(1);
        threads[i]->busy = 1;
        if (pthread_create(&threads[i]->handle, NULL, live, threads[i])) _exit(1);
    }
    wait_for_all();
    for (int i = 0; i < count; i++) printf(i ? " %d" : "%d", threads[i]->tid);
    puts("");
}

static void give(int number, struct order order) {
    if (number < 0 || number >= THREADS || !threads[number]) { puts("error: no such thread"); return; }
    threads[number]->order = order;
    set_busy(threads[number], 1);
    puts("ok");
}

static void tell_log(const struct thread *thread) {
    for (long i = 0; i < thread->marks; i++)
        printf("%s%llu:%llu", i ? " " : "", (unsigned long long)thread->mark[i].nanoseconds,
               (unsigned long long)thread->mark[i].executed);
    puts("");
}

static void obey(const char *line) {
    static struct births births;
    static pthread_t mother;
    int number, alive;
    unsigned long long count;
    long times, pause;
    if (sscanf(line, "threads %d", &number) == 1 && number <= THREADS) start_threads(number);
    else if (sscanf(line, "work %d %llu %ld %ld", &number, &count, &times, &pause) == 4)
        give(number, (struct order){.instructions = count, .times = times, .pause_ms = pause});
    else if (sscanf(line, "last %d %llu %ld %ld", &number, &count, &times, &pause) == 4)
        give(number, (struct order){.instructions = count, .times = times, .pause_ms = pause, .last = 1});
    else if (sscanf(line, "calls %d %llu", &number, &count) == 2)
        give(number, (struct order){.calls = count, .times = 1});
    else if (sscanf(line, "births %d %d %llu", &number, &alive, &count) == 3 && alive > 0 && alive <= THREADS) {
        births = (struct births){number, alive, count};
        births_left = 1;
        puts(pthread_create(&mother, NULL, give_birth, &births) ? "error: no thread" : "ok");
    } else if (strcmp(line, "wait\n") == 0) {
        wait_for_all();
        puts(births_failed ? births_failed : "ok");
        births_failed = NULL;
    }
    else if (sscanf(line, "log %d", &number) == 1 && number >= 0 && number < THREADS && threads[number])
        tell_log(threads[number]);
    else puts(strcmp(line, "end 0\n") == 0 ? "ok" : "error: not understood");
}

int main(void) {
    char line[LINE];
    setvbuf(stdout, NULL, _IOLBF, 1 << 16);
    alarm(600);
    while (fgets(line, sizeof line, stdin)) obey(line);
    return 0;
}
