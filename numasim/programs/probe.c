// probe: how long a load from memory takes: flushes some lines, then loads them, one after the other in random order, and times that.
// Stresses: next to nothing, on purpose: it measures the latency that others see, congestion included, on the node of its memory from
// the CPU it runs on. --flush none leaves the lines where they are: then a small --size-kib tells the latency of a cache.
//
// The time is the processor's counter (rdtsc between lfences, its frequency found against CLOCK_MONOTONIC), or with --timer clock the
// clock itself; either way the time of an empty batch is taken off.
#include "kernels.h"
#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#define HAVE_X86 1
#else
#define HAVE_X86 0
#endif

enum { BATCH_MOST = 256, BATCHES_MOST = 1 << 16 };
static long size_kib = 2048, work = 16384, batch = 16;
static const char *flush = "clflush", *timer = "auto";
static bool flushing, tsc;
static struct line *lines, **order;
static long count, batches;
static double *times, ticks_per_ns = 1, median, low, high, empty;  // times of batches in ticks, then in ns a load

static const struct knob knobs[] = {
    {.name = "size-kib", .number = &size_kib, .least = 1, .most = 1L << 24, .says = "memory of which the lines are taken"},
    {.name = "work", .number = &work, .least = 1, .most = (long)BATCHES_MOST * BATCH_MOST, .says = "loads in a pass"},
    {.name = "batch", .number = &batch, .least = 1, .most = BATCH_MOST, .says = "loads between two looks at the time"},
    {.name = "flush", .text = &flush, .says = "clflush or none: what is done to the lines of a batch before it"},
    {.name = "timer", .text = &timer, .says = "tsc, clock, or auto: tsc if it runs at a constant rate"},
    {.name = NULL}};

#if HAVE_X86
static void flush_line(const void *line) { _mm_clflush(line); }
static void fence(void) { _mm_mfence(); }
static uint64_t read_tsc(void) {
    _mm_lfence();
    uint64_t ticks = __rdtsc();
    _mm_lfence();
    return ticks;
}
static bool tsc_is_constant(void) {
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8);
}
#else
static void flush_line(const void *line) { (void)line; }
static void fence(void) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
static uint64_t read_tsc(void) { return 0; }
static bool tsc_is_constant(void) { return false; }
#endif

static uint64_t ticks(void) {
    struct timespec t;
    if (tsc) return read_tsc();
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void find_rate(void) {
    const struct timespec pause = {.tv_nsec = 20000000};
    double began = now();
    uint64_t first = read_tsc();
    nanosleep(&pause, NULL);
    ticks_per_ns = (double)(read_tsc() - first) / ((now() - began) * 1e9);
    if (!(ticks_per_ns > 0)) fail("the processor's time counter stands still; use --timer clock");
}

static void allocate(void) {
    count = size_kib * 1024 / LINE;
    batches = (work + batch - 1) / batch;
    if (threads != 1) bad_argument("--threads: it has one");
    if (count < batch) bad_argument("--size-kib: %ld are fewer lines than a batch of %ld", size_kib, batch);
    if (batches > BATCHES_MOST) bad_argument("--work: %ld are more than %d batches", work, BATCHES_MOST);
    flushing = strcmp(flush, "clflush") == 0;
    if (!flushing && strcmp(flush, "none") != 0) bad_argument("--flush: \"%s\" is neither clflush nor none", flush);
    if (flushing && !HAVE_X86) bad_argument("--flush: clflush is an instruction of x86; use none");
    tsc = strcmp(timer, "tsc") == 0 || (strcmp(timer, "auto") == 0 && tsc_is_constant());
    if (!tsc && strcmp(timer, "clock") != 0 && strcmp(timer, "auto") != 0) bad_argument("--timer: \"%s\" is not tsc, clock, auto", timer);
    if (tsc && !HAVE_X86) bad_argument("--timer: tsc is of x86; use clock");
    if (tsc) find_rate();
    lines = take((size_t)count * sizeof *lines);
    order = take((size_t)count * sizeof *order);
    times = take((size_t)batches * sizeof *times);
}

static void fill(long share) {
    (void)share;
    link_cycle(lines, count, 0);
    for (long i = 0; i < count; i++) order[lines[i].place] = &lines[i];
    memset(times, 0, (size_t)batches * sizeof *times);
}

// Loads of lines first, first + 1, ... of the cycle; `order` names them without reading them.
static double time_batch(long first, long loads) {
    for (long i = 0; flushing && i < loads; i++) flush_line(order[(first + i) % count]);
    fence();
    uint64_t began = ticks();
    struct line *at = walk(order[first], loads);
    __asm__ volatile("" : "+r"(at)::"memory");
    uint64_t took = ticks() - began;
    if (at != order[(first + loads) % count]) fail("wrong result: another line was reached");
    return (double)took;
}

static uint64_t pass(long share) {
    (void)share;
    for (long i = 0; i < batches; i++) times[i] = time_batch(i * batch % count, batch);
    return (uint64_t)batches * (uint64_t)batch;
}

static int by_size(const void *x, const void *y) {
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static double time_of_empty(void) {
    double samples[33];
    for (int i = 0; i < 33; i++) samples[i] = time_batch(0, 0);
    qsort(samples, 33, sizeof *samples, by_size);
    return samples[16];
}

static double in_ns(double ticks_of_batch) { return (ticks_of_batch - empty) / ticks_per_ns / (double)batch; }

// What was reached is checked batch by batch; here the times are put in order.
static uint64_t check(long share) {
    (void)share;
    empty = time_of_empty();
    qsort(times, (size_t)batches, sizeof *times, by_size);
    return mix((uint64_t)(order[batches * batch % count] - lines) + 1) + mix((uint64_t)batches);
}

// Of the last completed pass.
static void recorded(void) {
    low = in_ns(times[batches / 10]);
    median = in_ns(times[batches / 2]);
    high = in_ns(times[batches * 9 / 10]);
}

static void report(void) {
    double known = total.passes_done > 0;
    printf(",\"size_kib\":%ld,\"flush\":\"%s\",\"timer\":\"%s\"", size_kib, flush, tsc ? "tsc" : "clock");
    print_ratio("ns_per_load", median, known);
    print_ratio("ns_per_load_p10", low, known);
    print_ratio("ns_per_load_p90", high, known);
    print_ratio("timer_ns", empty / ticks_per_ns, known);
    print_ratio("timer_mhz", ticks_per_ns * 1e3, 1);
}

static const struct program probe = {
    .name = "probe",
    .about = "flushes lines, loads them again one by one in random order, and times that.\n"
             "Stresses nothing: tells the latency that others see.",
    .unit = "loads",
    .knobs = knobs,
    .allocate = allocate,
    .fill = fill,
    .pass = pass,
    .check = check,
    .recorded = recorded,
    .report = report,
};

int main(int argc, char **argv) { return (void)argc, run_program(&probe, argv); }
