/* A process that changes all the time, for isobar to manage while the soak test ends isobar:
 * threads come and go, children are forked once and twice (daemons, which lose their parents),
 * programs execute themselves again, and some threads and processes pin themselves, as owners do.
 * At most about 20 threads at once (twice that after an exec), each at a few per cent of a CPU.
 * Everything ends by itself after two minutes.
 *
 *   churn main SEED WISHES EXECS      the subject; executes itself anew EXECS times
 *   churn leaf SEED WISHES MS         what a child becomes that executes a program
 *   churn terminal TTY PROGRAM ...    runs a program in a session of its own on a terminal, as a
 *                                     shell does
 *   churn forks-last                  0 where forks can be made to last, else 1
 *
 * A thread that pins itself first appends a line to the file WISHES: `TID START KIND CPU,CPU,...`.
 * START is the thread's start time in ticks since boot. KIND says how the pin looks from outside:
 *   several  more than one CPU
 *   other    one CPU, not the one to which the thread is bound at the moment
 *   free     one CPU, while the thread is not bound
 *   same     the very CPU to which the thread is bound, or may be: from outside it looks unchanged
 *   passed   inherited from a parent that pinned itself
 */
#define _GNU_SOURCE
#include "slow_fork.h"
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BASE = 4, LIFETIME_S = 120, FOR_EVER = 1000 * LIFETIME_S, MOST_ALIVE = 14, MOST_PINNED = 5 };

/* Shared with all forks of one image. */
struct shared { int alive, pinned; };

struct life { long ms, pin_after; };

static void child(void);
static void daemon_child(void);

static struct shared *shared;
static const char *wishes;
static char *self;
static cpu_set_t all;
static volatile int exec_now;
static _Thread_local uint64_t state;

static long now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static long now_ms(void) { return now_us() / 1000; }

static uint64_t draw(void) {
    state += 0x9E3779B97F4A7C15u;
    uint64_t x = state;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

static long between(long low, long high) { return low + (long)(draw() % (uint64_t)(high - low + 1)); }
static int one_in(long n) { return between(1, n) == 1; }
static int count(int *counter, int change) { return __atomic_add_fetch(counter, change, __ATOMIC_SEQ_CST); }

/* Takes a place in a counter that has at most `most`. */
static int take(int *counter, int most) {
    if (count(counter, 1) <= most) return 1;
    count(counter, -1);
    return 0;
}

static void share(void) {
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) _exit(3);
}

/* The CPUs before isobar came: found once, then handed on through exec. */
static void find_cpus(void) {
    char text[8192] = "", *at = text, *known = getenv("CHURN_CPUS");
    CPU_ZERO(&all);
    if (known) {
        for (char *end = known; *end;) {
            CPU_SET(strtol(end, &end, 10), &all);
            if (*end == ',') end++;
        }
        return;
    }
    sched_getaffinity(0, sizeof all, &all);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &all)) at += sprintf(at, "%d,", cpu);
    setenv("CHURN_CPUS", text, 1);
}

static int nth_cpu(const cpu_set_t *set, long n) {
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, set) && n-- == 0) return cpu;
    _exit(4);
}

static unsigned long long start_time(void) {
    char text[512], *after = NULL;
    int file = open("/proc/thread-self/stat", O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? -1 : read(file, text, sizeof text - 1);
    unsigned long long start = 0;
    if (length > 0) text[length] = 0, after = strrchr(text, ')');
    if (file >= 0) close(file);
    /* Field 22; the first after the name is field 3. */
    if (after) sscanf(after + 1, " %*c%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%llu", &start);
    return start;
}

/* One write(2), so that lines of several processes do not mix. */
static void write_wish(const char *kind, const cpu_set_t *set) {
    char line[4096], *at = line;
    at += sprintf(at, "%ld %llu %s ", syscall(SYS_gettid), start_time(), kind);
    for (int cpu = 0; cpu < CPU_SETSIZE && at < line + sizeof line - 16; cpu++)
        if (CPU_ISSET(cpu, set)) at += sprintf(at, "%d,", cpu);
    *at++ = '\n';
    int file = open(wishes, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || write(file, line, (size_t)(at - line)) < 0) _exit(5);
    close(file);
}

/* For longer a thread does not need for two calls, unless another one takes its CPU. */
enum { TWO_CALLS_US = 300 };

/* The calling thread pins itself. Not bound yet: one CPU. Bound: all but one, another one, or now
 * and then the same. */
static const char *pin(cpu_set_t *wish) {
    cpu_set_t mine, set = all;
    sched_getaffinity(0, sizeof mine, &mine);
    long cpus = CPU_COUNT(&all), kind = between(0, 4);
    int bound = CPU_COUNT(&mine) == 1;
    const char *name = "several";
    if (bound && kind > 1) {
        name = kind == 4 ? "same" : "other";
        if (kind == 4) set = mine;
        else {
            CPU_XOR(&set, &all, &mine);
            int cpu = nth_cpu(&set, between(0, CPU_COUNT(&set) - 1));
            CPU_ZERO(&set);
            CPU_SET(cpu, &set);
        }
    } else if (!bound && kind > 1) {
        name = "free";
        int cpu = nth_cpu(&all, between(0, cpus - 1));
        CPU_ZERO(&set);
        CPU_SET(cpu, &set);
    } else if (cpus > 2) CPU_CLR(nth_cpu(&all, between(0, cpus - 1)), &set);
    write_wish(name, &set);
    /* It may have been bound while that was written, and to this very CPU. */
    long before = now_us();
    sched_getaffinity(0, sizeof mine, &mine);
    const char *written = name;
    if (CPU_COUNT(&mine) == 1 && CPU_EQUAL(&mine, &set)) name = "same";
    if (strcmp(name, written)) write_wish(name, &set);
    if (sched_setaffinity(0, sizeof set, &set)) _exit(6);
    /* Or after that. */
    int late = CPU_COUNT(&set) == 1 && now_us() - before > TWO_CALLS_US;
    if (late && strcmp(name, "same")) write_wish(name = "same", &set);
    *wish = set;
    return name;
}

/* One thread in two works so little that isobar takes it for asleep at times. */
static void work_until(long deadline) {
    int most = syscall(SYS_gettid) % 2 ? 40000 : 10000;
    while (now_ms() < deadline && !exec_now) {
        for (volatile int spins = 0; spins < most; spins++) {}
        usleep(9000);
    }
}

/* Lives, and perhaps pins itself meanwhile; then it stays, so that the pin can be looked at. */
static void live(struct life life) {
    long end = now_ms() + life.ms;
    if (life.pin_after && take(&shared->pinned, MOST_PINNED)) {
        work_until(now_ms() + life.pin_after);
        cpu_set_t wish;
        if (!exec_now) pin(&wish);
        end = now_ms() + FOR_EVER;
    }
    work_until(end);
}

static void *thread(void *argument) {
    struct life *life = argument;
    state = (uint64_t)syscall(SYS_gettid) * 7919 + (uint64_t)now_ms();
    if (one_in(6)) child();
    if (one_in(8)) daemon_child();
    live(*life);
    free(life);
    count(&shared->alive, -1);
    return NULL;
}

static void make_thread(long ms, long pin_after) {
    pthread_t made;
    struct life *life = malloc(sizeof *life);
    if (!take(&shared->alive, MOST_ALIVE)) return free(life);
    *life = (struct life){ms, pin_after};
    if (pthread_create(&made, NULL, thread, life)) count(&shared->alive, -1);
    else pthread_detach(made);
}

/* fork(2), counted; 1 in the child. Its random numbers are its own. */
static int make_child(void) {
    if (!take(&shared->alive, MOST_ALIVE)) return 0;
    pid_t pid = fork();
    if (pid < 0) count(&shared->alive, -1);
    if (pid) return 0;
    exec_now = 0;
    alarm(LIFETIME_S);
    state ^= (uint64_t)getpid() * 104729;
    return 1;
}

static void end_child(void) {
    count(&shared->alive, -1);
    _exit(0);
}

static void become_leaf(long ms) {
    char seed[32], time[32];
    sprintf(seed, "%llu", (unsigned long long)draw());
    sprintf(time, "%ld", ms);
    execl(self, self, "leaf", seed, wishes, time, NULL);
    _exit(7);
}

/* A child of one fork: works, makes a thread or executes a program; with `taskset` in a shell, the
 * pin is inherited. */
static void child(void) {
    if (!make_child()) return;
    long ms = between(200, 2500);
    if (one_in(4)) make_thread(between(100, 2000), 0);
    if (one_in(4)) work_until(now_ms() + between(20, 300)), become_leaf(ms);
    live((struct life){ms, one_in(4) ? between(100, 600) : 0});
    end_child();
}

/* A shell in which a user runs `taskset` and then starts programs, again and again: these inherit
 * the pin. */
static void shell(void) {
    cpu_set_t wish;
    if (!take(&shared->pinned, MOST_PINNED)) return;
    if (!make_child()) return;
    work_until(now_ms() + between(200, 700));
    const char *kind = pin(&wish);
    for (int i = 0; i < 20; i++) {
        if (fork() == 0) {
            alarm(LIFETIME_S);
            write_wish(strcmp(kind, "same") ? "passed" : kind, &wish);
            work_until(now_ms() + 1500);
            _exit(0);
        }
        work_until(now_ms() + between(300, 900));
    }
    work_until(now_ms() + FOR_EVER);
    end_child();
}

/* A child of two forks whose parent ends at once. */
static void daemon_child(void) {
    if (!take(&shared->alive, MOST_ALIVE)) return;
    pid_t middle = fork();
    if (middle < 0) count(&shared->alive, -1);
    if (middle) return;
    setsid();
    if (fork()) _exit(0);
    exec_now = 0;
    alarm(LIFETIME_S);
    state ^= (uint64_t)getpid() * 104729;
    if (one_in(3)) make_thread(between(500, 4000), 0);
    if (one_in(4)) daemon_child();
    live((struct life){between(2000, 6000), one_in(8) ? between(100, 600) : 0});
    end_child();
}

/* A process whose forks last. */
static void slow_forker(void) {
    if (!make_child()) return;
    int last = make_forks_last(); /* where it cannot, the soak test has said so */
    while (last) {
        work_until(now_ms() + between(20, 200));
        if (fork() == 0) {
            work_until(now_ms() + 1200);
            _exit(0);
        }
    }
    end_child();
}

static void exec_anew(const char *execs) {
    char seed[32], left[32];
    sprintf(seed, "%llu", (unsigned long long)draw());
    sprintf(left, "%ld", strtol(execs, NULL, 10) - 1);
    execl(self, self, "main", seed, wishes, left, NULL);
    _exit(8);
}

static void *exec_from_thread(void *execs) {
    usleep(20000);
    exec_anew(execs);
    return NULL;
}

/* By its first thread, or by another, which the kernel then makes the first. */
static void exec_somehow(char *execs) {
    pthread_t other;
    exec_now = 1;
    if (one_in(2) && !pthread_create(&other, NULL, exec_from_thread, execs)) pthread_join(other, NULL);
    exec_anew(execs);
}

static void subject(char *execs) {
    for (int i = 0; i < BASE; i++) make_thread(FOR_EVER, i && one_in(3) ? between(300, 2000) : 0);
    slow_forker();
    long exec_at = strtol(execs, NULL, 10) > 0 ? now_ms() + between(400, 2500) : now_ms() + FOR_EVER;
    for (;;) {
        work_until(now_ms() + between(20, 80));
        if (now_ms() > exec_at) exec_somehow(execs);
        switch (between(0, 9)) {
        case 0: case 1: case 2: make_thread(between(30, 800), one_in(6) ? between(20, 400) : 0); break;
        case 3: case 4: child(); break;
        case 5: shell(); break;
        case 6: case 7: daemon_child(); break;
        default: break;
        }
    }
}

static pid_t in_terminal;

static void hang_up(int number) {
    kill(in_terminal, number);
    _exit(0);
}

/* A session of its own on a terminal, and a program in its foreground: when the terminal closes,
 * the program is hung up by this leader, as by a shell, and by the kernel. */
static int terminal(char **words) {
    setsid();
    int tty = open(words[0], O_RDWR), status = 0;
    if (tty < 0 || ioctl(tty, TIOCSCTTY, 0)) return perror(words[0]), 1;
    signal(SIGHUP, SIG_IGN);
    in_terminal = fork();
    if (in_terminal == 0) {
        signal(SIGHUP, SIG_DFL);
        for (int to = 0; to < 3; to++) dup2(tty, to);
        if (tty > 2) close(tty);
        execvp(words[1], words + 1);
        _exit(127);
    }
    signal(SIGHUP, hang_up);
    close(tty);
    waitpid(in_terminal, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int words, char **word) {
    self = word[0];
    if (words > 3 && !strcmp(word[1], "terminal")) return terminal(word + 2);
    if (words == 2 && !strcmp(word[1], "forks-last")) return !make_forks_last();
    if (words != 5) return 2;
    alarm(LIFETIME_S);
    signal(SIGCHLD, SIG_IGN);
    state = strtoull(word[2], NULL, 10);
    wishes = word[3];
    find_cpus();
    share();
    if (!strcmp(word[1], "leaf")) return live((struct life){strtol(word[4], NULL, 10), one_in(6) ? 200 : 0}), 0;
    subject(word[4]);
}
