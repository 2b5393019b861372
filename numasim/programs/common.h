// What every program here has in common: its arguments, its threads, the order of its life and the
// one line it prints at the end.
//
// A program is five functions and a table that says what it is (struct program); main is here. It
// knows nothing of nodes: memory is malloc and first touch; the kernel decides where it lies, or
// the user who starts the program. A program's life:
//
//   arguments -> allocate (one thread) -> fill (every share touches its own memory)
//   -> --ready-file appears -> wait for --start-file
//   -> passes: pass (timed) and check (not timed, verifies) -> one JSON line
//
// Threads live from set-up to the end, and the first thread of the process is one of them: a daemon
// that moves threads finds the same ones in every pass. With --repeat or --seconds one more thread
// sleeps in sigwait for SIGTERM.
#ifndef NUMASIM_COMMON_H
#define NUMASIM_COMMON_H
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { THREADS_MOST = 64, PLACES_MOST = 256, PASSES_KEPT = 64, LINE = 64, PAGE = 4096, KNOBS_MOST = 8 };

// Who touches memory first unless --touch says otherwise; a program may define it before it
// includes this file.
#ifndef TOUCHED_BY
#define TOUCHED_BY "own"
#endif

// One option: exactly one of flag, number, real and text says where its value goes; what stands
// there before is the default.
struct knob {
    const char *name;
    bool *flag;
    long *number, least, most;
    double *real;
    const char **text;
    const char *says;
};

struct program {
    const char *name, *about, *unit;
    void (*recorded)(void);         // may be absent: a pass is complete; keeps what report will print
    struct knob knobs[KNOBS_MOST];  // its own options, up to one without a name
};

// What every program defines.
static const struct program program;
static void allocate(void);         // judges arguments together, asks for memory
static void fill(long share);       // touches a share's memory for the first time
__attribute__((noinline)) static uint64_t pass(long share);  // the measured part: returns the work done, in units
static uint64_t check(long share);  // verifies the pass, returns the share's checksum
static void report(void);           // prints further members of the JSON line

static long threads = 1, seed = 1;
static double seconds_wanted;
static bool repeat;
static const char *ready_file, *start_file, *each_on, *touch = TOUCHED_BY;
static int places[PLACES_MOST], places_listed;

// The totals of completed passes; under `told` once threads run.
static struct {
    double setup, seconds, passes[PASSES_KEPT], began;
    uint64_t work, checksum;
    long passes_done;
    bool running;
} total;
static pthread_mutex_t told = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t meeting;
static uint64_t share_work[THREADS_MOST], share_sum[THREADS_MOST];

// ---- messages: one line, then the end -----------------------------------------------------------

__attribute__((noreturn, format(printf, 2, 3))) static inline void end_with(int status, const char *format, ...) {
    va_list values;
    va_start(values, format);
    fprintf(stderr, "%s: ", program.name);
    vfprintf(stderr, format, values);
    fputc('\n', stderr);
    _exit(status);
}
#define bad_argument(...) end_with(2, __VA_ARGS__)
#define fail(...) end_with(1, __VA_ARGS__)

// ---- small tools --------------------------------------------------------------------------------

static inline double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

// The finaliser of splitmix64: a bijection, so different inputs never collide; only 0 gives 0.
static inline uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

// xorshift64* (Marsaglia, Vigna): the state starts from --seed and a stream of one's choice, and is
// never 0.
static inline uint64_t random_state(uint64_t stream) { return mix((uint64_t)seed + (stream << 40) + 0x9e3779b97f4a7c15u) | 1; }
static inline uint64_t random_next(uint64_t *state) {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545f4914f6cdd1du;
}
static inline uint64_t random_below(uint64_t *state, uint64_t bound) { return (random_next(state) >> 32) * bound >> 32; }

// The first element of a share when `count` elements are dealt out to the threads.
static inline long share_start(long share, long count) { return (long)((__int128)count * share / threads); }

// Memory that no thread has touched yet, at a multiple of `unit`, a power of two.
static inline void *take_aligned(size_t bytes, size_t unit) {
    void *memory = aligned_alloc(unit, (bytes + unit - 1) / unit * unit);
    if (!memory) fail("no memory for %zu KiB", bytes / 1024);
    return memory;
}
static inline void *take(size_t bytes) { return take_aligned(bytes, LINE); }

// All threads wait here for each other, asleep; a pass may use it if every share does so equally
// often.
static inline void meet(void) { pthread_barrier_wait(&meeting); }

static inline int by_size(const void *x, const void *y) {
    double one = *(const double *)x, other = *(const double *)y;
    return (one > other) - (one < other);
}
static inline void sort_numbers(double *numbers, long count) { qsort(numbers, (size_t)count, sizeof *numbers, by_size); }

// One more member of the JSON line: a ratio, or null where nothing was measured.
static inline void print_ratio(const char *name, double above, double below) {
    if (below > 0) printf(",\"%s\":%.6f", name, above / below);
    else printf(",\"%s\":null", name);
}

// ---- arguments ----------------------------------------------------------------------------------

static const struct knob common_knobs[] = {
    {.name = "threads", .number = &threads, .least = 1, .most = THREADS_MOST, .says = "threads that share the work"},
    {.name = "seed", .number = &seed, .least = 0, .most = 1L << 40, .says = "of all random choices"},
    {.name = "touch", .text = &touch, .says = "own: every thread touches its share first; first: the first thread touches all"},
    {.name = "each-on", .text = &each_on, .says = "binds thread n to the n-th CPU of this list, such as 0-3,8, in turn"},
    {.name = "ready-file", .text = &ready_file, .says = "is created after set-up, when all memory is touched"},
    {.name = "start-file", .text = &start_file, .says = "the measured part waits until this file is there"},
    {.name = "seconds", .real = &seconds_wanted, .says = "further passes until this many seconds are over"},
    {.name = "repeat", .flag = &repeat, .says = "passes until SIGTERM, which ends the program with its line"},
    {.name = NULL}};

static inline void print_knobs(const struct knob *knobs) {
    for (const struct knob *k = knobs; k->name; k++) {
        printf("  --%-11s %s", k->name, k->says);
        if (k->number) printf(" (%ld to %ld; default %ld)", k->least, k->most, *k->number);
        if (k->text && *k->text) printf(" (default %s)", *k->text);
        putchar('\n');
    }
}

__attribute__((noreturn)) static inline void print_help(void) {
    printf("%s: %s\n\nA pass is the work below, once; its unit is %s.\n", program.name, program.about, program.unit);
    print_knobs(program.knobs);
    printf("common to all programs:\n");
    print_knobs(common_knobs);
    printf("Prints one JSON line. Exit: 0 done, 1 a result was wrong or the machine refused, 2 bad arguments.\n");
    exit(0);
}

static inline const struct knob *find_knob(const char *argument) {
    const struct knob *tables[] = {program.knobs, common_knobs};
    if (strncmp(argument, "--", 2) != 0) bad_argument("unexpected \"%s\": options begin with --; see --help", argument);
    for (int i = 0; i < 2; i++)
        for (const struct knob *k = tables[i]; k->name; k++)
            if (strcmp(k->name, argument + 2) == 0) return k;
    bad_argument("no option %s; see --help", argument);
}

static inline void set_knob(const struct knob *k, const char *value) {
    char *rest = NULL;
    errno = 0;
    if (k->number) {
        long number = strtol(value, &rest, 10);
        if (errno || rest == value || *rest || number < k->least || number > k->most)
            bad_argument("--%s: \"%s\" is not a whole number from %ld to %ld", k->name, value, k->least, k->most);
        *k->number = number;
    } else if (k->real) {
        *k->real = strtod(value, &rest);
        if (errno || rest == value || *rest || !(*k->real > 0 && *k->real <= 1e6))
            bad_argument("--%s: \"%s\" is not a number above 0, 1e6 at most", k->name, value);
    } else {
        if (!*value) bad_argument("--%s: is empty", k->name);
        *k->text = value;
    }
}

// The CPUs of a list such as 0-3,8.
static inline void read_places(void) {
    const char *at = each_on;
    do {
        char *rest;
        long first = strtol(at, &rest, 10), last = first;
        bool number = rest != at;
        if (number && *rest == '-') last = strtol(at = rest + 1, &rest, 10), number = rest != at;
        if (!number || first < 0 || last < first || last >= CPU_SETSIZE || last - first >= PLACES_MOST - places_listed ||
            (*rest && *rest != ','))
            bad_argument("--each-on: \"%s\" is no list of CPUs such as 0-3,8", each_on);
        for (long cpu = first; cpu <= last; cpu++) places[places_listed++] = (int)cpu;
        at = *rest ? rest + 1 : NULL;
    } while (at);
}

static inline void read_arguments(char **argument) {
    for (argument++; *argument; argument++) {
        if (strcmp(*argument, "--help") == 0) print_help();
        const struct knob *k = find_knob(*argument);
        if (k->flag) {
            *k->flag = true;
            continue;
        }
        if (!argument[1]) bad_argument("%s: its value is missing", *argument);
        set_knob(k, *++argument);
    }
    if (strcmp(touch, "own") != 0 && strcmp(touch, "first") != 0)
        bad_argument("--touch: \"%s\" is neither own nor first", touch);
    if (each_on) read_places();
}

// ---- the line -----------------------------------------------------------------------------------

// Prints the totals of completed passes. The checksum is folded below 2^53, which every JSON reader
// keeps. Call it once, under `told`.
static inline void print_line(void) {
    printf("{\"program\":\"%s\",\"seconds\":%.9f,\"setup_seconds\":%.9f,\"work\":%llu,\"unit\":\"%s\",\"checksum\":", program.name,
           total.seconds, total.setup, (unsigned long long)total.work, program.unit);
    if (total.passes_done) printf("%llu", (unsigned long long)(mix(total.checksum) >> 11));
    else printf("null");
    printf(",\"threads\":%ld,\"seed\":%ld,\"passes_done\":%ld,\"passes\":[", threads, seed, total.passes_done);
    for (long i = 0; i < total.passes_done && i < PASSES_KEPT; i++) printf("%s%.9f", i ? "," : "", total.passes[i]);
    printf("],\"unfinished_seconds\":%.9f", total.running ? now() - total.began : 0.0);
    report();
    printf("}\n");
    if (fflush(stdout) != 0) fail("cannot write the result: %s", strerror(errno));
}

// SIGTERM, with --repeat or --seconds: prints what was completed; the pass under way is abandoned.
static inline void *watch_for_end(void *signals) {
    int which;
    while (sigwait(signals, &which) != 0) continue;
    pthread_mutex_lock(&told);
    print_line();
    _exit(0);
}

static inline void start_watch(void) {
    static sigset_t signals;
    pthread_t watch;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    if (pthread_create(&watch, NULL, watch_for_end, &signals) != 0) fail("cannot start a thread");
}

// ---- life ---------------------------------------------------------------------------------------

static inline void tell_ready_and_wait(void) {
    if (ready_file) {
        int file = open(ready_file, O_CREAT | O_WRONLY, 0644);
        if (file < 0) fail("--ready-file %s: %s", ready_file, strerror(errno));
        close(file);
    }
    const struct timespec nap = {.tv_nsec = 1000000};
    while (start_file && access(start_file, F_OK) != 0) nanosleep(&nap, NULL);
}

static inline bool another_pass(double first_began) {
    return total.passes_done == 0 || repeat || (seconds_wanted > 0 && now() - first_began < seconds_wanted);
}

static inline void record_pass(double ended) {
    uint64_t work = 0, sum = 0;
    for (long i = 0; i < threads; i++) work += share_work[i], sum += share_sum[i];
    pthread_mutex_lock(&told);
    if (total.passes_done && sum != total.checksum)
        fail("wrong result: pass %ld came to another checksum than the first", total.passes_done + 1);
    total.checksum = sum;
    if (total.passes_done < PASSES_KEPT) total.passes[total.passes_done] = ended - total.began;
    total.passes_done++;
    total.seconds += ended - total.began;
    total.work += work;
    total.running = false;
    if (program.recorded) program.recorded();
    pthread_mutex_unlock(&told);
}

static inline void begin_pass(bool *going, double *first_began) {
    pthread_mutex_lock(&told);
    *going = another_pass(*first_began);
    total.began = now();
    total.running = *going;
    if (!total.passes_done) *first_began = total.began;
    pthread_mutex_unlock(&told);
}

static inline void run_passes(long share) {
    static bool going;
    static double first_began;
    for (;;) {
        double ended = 0;
        if (share == 0) begin_pass(&going, &first_began);
        meet();
        if (!going) return;
        share_work[share] = pass(share);
        meet();
        if (share == 0) ended = now();
        share_sum[share] = check(share);
        meet();
        if (share == 0) record_pass(ended);
    }
}

// Binds the thread of a share to its CPU, where that is asked for.
static inline void settle(long share) {
    if (!places_listed) return;
    cpu_set_t cpu;
    CPU_ZERO(&cpu);
    CPU_SET(places[share % places_listed], &cpu);
    if (sched_setaffinity(0, sizeof cpu, &cpu) != 0)
        fail("--each-on: CPU %d: %s", places[share % places_listed], strerror(errno));
}

static inline void *live(void *which) {
    long share = (long)(intptr_t)which;
    static double born;
    settle(share);
    if (share == 0) born = now();
    if (strcmp(touch, "own") == 0) fill(share);
    else
        for (long i = 0; share == 0 && i < threads; i++) fill(i);
    meet();
    if (share == 0) {
        total.setup += now() - born;
        tell_ready_and_wait();
    }
    run_passes(share);
    return NULL;
}

int main(int argc, char **argv) {
    (void)argc;
    read_arguments(argv);
    double began = now();
    settle(0);
    allocate();
    total.setup = now() - began;
    if (repeat || seconds_wanted > 0) start_watch();
    pthread_barrier_init(&meeting, NULL, (unsigned)threads);
    for (long i = 1; i < threads; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, live, (void *)(intptr_t)i) != 0) fail("cannot start thread %ld", i + 1);
        pthread_detach(thread);
    }
    live(NULL);
    pthread_mutex_lock(&told);
    print_line();
    return 0;
}
#endif
