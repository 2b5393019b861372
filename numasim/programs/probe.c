// probe: how long a load from memory takes: flushes some lines, then loads them, one after the
// other in random order, and times that.
// Stresses: next to nothing, on purpose: it measures the latency that other programs see,
// congestion included, on the node of its memory from the CPU it runs on. --flush none leaves the
// lines where they are: then a small --size-kib shows the latency of a cache.
//
// The time is the processor's counter (rdtsc between lfences, its frequency found against
// CLOCK_MONOTONIC), or with --timer clock the clock itself; either way the time of an empty batch
// is taken off.
#include "cycle.h"
#include "x86.h"

enum { BATCH_MOST = 256, BATCHES_MOST = 1 << 16 };
static long size_kib = 2048, work = 16384, batch = 16;
static const char *flush = "clflush", *timer = "auto";
static bool flushing, tsc;
static struct line *lines, **order;
static long count, batches;
static double *times, ticks_per_ns = 1, median, low, high, empty;  // times of batches in ticks, then in ns a load

static void recorded(void);
static const struct program program = {
    .name = "probe",
    .about = "flushes lines, loads them again one by one in random order, and times that.\n"
             "Stresses nothing: prints the latency that others see.",
    .unit = "loads",
    .recorded = recorded,
    .knobs = {
        {.name = "size-kib", .number = &size_kib, .least = 1, .most = 1L << 24, .says = "memory of which the lines are taken"},
        {.name = "work", .number = &work, .least = 1, .most = (long)BATCHES_MOST * BATCH_MOST, .says = "loads in a pass"},
        {.name = "batch", .number = &batch, .least = 1, .most = BATCH_MOST, .says = "loads between two looks at the time"},
        {.name = "flush", .text = &flush, .says = "clflush or none: what is done to the lines of a batch before it"},
        {.name = "timer", .text = &timer, .says = "tsc, clock, or auto: tsc where its rate is constant"},
    },
};

static uint64_t ticks(void) {
    struct timespec t;
    if (tsc) return read_tsc();
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool is_one_of(const char *value, const char *one, const char *other) {
    return strcmp(value, one) == 0 || strcmp(value, other) == 0;
}

static void choose_timer(void) {
    if (strcmp(timer, "clock") == 0) return;
    if (!is_one_of(timer, "tsc", "auto")) bad_argument("--timer: \"%s\" is not tsc, clock or auto", timer);
    double rate = tsc_rate();
    if (rate == 0 && strcmp(timer, "tsc") == 0) fail("--timer tsc: there is no such counter here, or its rate is not constant; use clock");
    tsc = rate > 0;
    if (tsc) ticks_per_ns = rate;
}

static void allocate(void) {
    count = size_kib * 1024 / LINE;
    batches = (work + batch - 1) / batch;
    if (threads != 1) bad_argument("--threads: it has one");
    if (count < batch) bad_argument("--size-kib: %ld are fewer lines than a batch of %ld", size_kib, batch);
    if (batches > BATCHES_MOST) bad_argument("--work: %ld are more than %d batches", work, BATCHES_MOST);
    if (!is_one_of(flush, "clflush", "none")) bad_argument("--flush: \"%s\" is neither clflush nor none", flush);
    flushing = strcmp(flush, "clflush") == 0;
    if (flushing && !HAVE_X86) bad_argument("--flush: clflush is an instruction of x86; use none");
    choose_timer();
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

static double time_of_empty(void) {
    double samples[33];
    for (int i = 0; i < 33; i++) samples[i] = time_batch(0, 0);
    sort_numbers(samples, 33);
    return samples[16];
}

static double in_ns(double ticks_of_batch) { return (ticks_of_batch - empty) / ticks_per_ns / (double)batch; }

// What was reached is checked batch by batch; here the times are put in order.
static uint64_t check(long share) {
    (void)share;
    empty = time_of_empty();
    sort_numbers(times, batches);
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
