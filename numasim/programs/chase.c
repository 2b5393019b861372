// chase: follows a random cycle of cache lines, one load in flight.
// Stresses: memory latency. Every load waits for the one before; bandwidth is next to nothing.
// Sensitive to remote memory, and to programs that take its cache space when its memory would
// nearly fit.
#include "colours.h"
#include "cycle.h"

static long size_kib = 4096, work = 1000000, colours = 1;
static struct line *lines;
static long count;
static struct line *reached[THREADS_MOST];

static const struct program program = {
    .name = "chase",
    .about = "follows a random cycle of cache lines, one load in flight.\nStresses memory latency.",
    .unit = "loads",
    .knobs = {
        {.name = "size-kib", .number = &size_kib, .least = 1, .most = 1L << 24, .says = "memory of the program, split among its threads"},
        {.name = "work", .number = &work, .least = 1, .most = 1L << 40, .says = "loads of each thread in a pass"},
        {.name = "colours", .number = &colours, .least = 1, .most = 1L << 16, .says = "colours of pages, of each as many; root only, above 1"},
    },
};

static void allocate(void) {
    count = size_kib * 1024 / LINE;
    if (count < 2 * threads) bad_argument("--size-kib: %ld are fewer than two lines for each of %ld threads", size_kib, threads);
    size_t bytes = (size_t)count * sizeof *lines;
    lines = colours > 1 ? take_by_colour(bytes, colours) : take(bytes);
}

static struct line *first_line(long share) { return &lines[share_start(share, count)]; }
static long share_lines(long share) { return share_start(share + 1, count) - share_start(share, count); }

static void fill(long share) { link_cycle(first_line(share), share_lines(share), (uint64_t)share); }

static uint64_t pass(long share) {
    reached[share] = walk(first_line(share), work);
    return (uint64_t)work;
}

// After a given number of loads exactly one line of the cycle is reached.
static uint64_t check(long share) {
    if (reached[share]->place != (uint64_t)(work % share_lines(share))) fail("wrong result: thread %ld reached another line", share + 1);
    return mix((uint64_t)(reached[share] - lines) + 1) + mix((uint64_t)work);
}

static void report(void) {
    printf(",\"size_kib\":%ld", size_kib);
    print_ratio("ns_per_load", total.seconds * 1e9 * (double)threads, (double)total.work);
}
