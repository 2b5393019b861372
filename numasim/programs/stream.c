// stream: the triad a = b + s c over three arrays of doubles, again and again.
// Stresses: memory bandwidth. Addresses are known in advance, so that a memory controller or a link
// is the limit, not its latency. The rate counts three words an element, as McCalpin's STREAM does;
// the line that a write fetches first is not counted.
#include "common.h"

static long size_kib = 4096, rounds = 20;
static double *a, *b, *c;
static long count;

static const struct program program = {
    .name = "stream",
    .about = "the triad a = b + s c over three arrays of doubles.\nStresses memory bandwidth.",
    .unit = "bytes",
    .knobs = {
        {.name = "size-kib", .number = &size_kib, .least = 1, .most = 1L << 24, .says = "memory of the three arrays together"},
        {.name = "rounds", .number = &rounds, .least = 1, .most = 1L << 24, .says = "triads over the arrays in a pass"},
    },
};

static void allocate(void) {
    count = size_kib * 1024 / (3 * (long)sizeof(double));
    if (count < threads) bad_argument("--size-kib: %ld give fewer elements than %ld threads", size_kib, threads);
    a = take((size_t)count * sizeof *a);
    b = take((size_t)count * sizeof *b);
    c = take((size_t)count * sizeof *c);
}

// Small whole numbers: every sum below is exact.
static double first_b(long i) { return (double)(mix((uint64_t)(seed + i) + 1) & 255); }
static double first_c(long i) { return (double)(1 + (mix((uint64_t)(seed + i) + 1) >> 61)); }
static double scale(long round) { return (double)(2 + round / 2 % 7); }

static void fill(long share) {
    for (long i = share_start(share, count); i < share_start(share + 1, count); i++) {
        a[i] = 0;
        b[i] = first_b(i);
        c[i] = first_c(i);
    }
}

__attribute__((noinline)) static void triad(double *restrict to, const double *from, const double *scaled, double s, long elements) {
    for (long i = 0; i < elements; i++) to[i] = from[i] + s * scaled[i];
}

// Even rounds: a = b + s c. Odd rounds: b = a - (s - 1) c, which leaves b grown by c: numbers stay
// small and no round can be left out.
static uint64_t pass(long share) {
    long at = share_start(share, count), elements = share_start(share + 1, count) - at;
    for (long round = 0; round < rounds; round++) {
        if (round % 2 == 0) triad(&a[at], &b[at], &c[at], scale(round), elements);
        else triad(&b[at], &a[at], &c[at], 1 - scale(round), elements);
    }
    return (uint64_t)rounds * (uint64_t)elements * 3 * sizeof(double);
}

// Compares every element with what the rounds come to, and puts b back for the next pass.
static uint64_t check(long share) {
    long last_even = (rounds - 1) / 2 * 2;
    uint64_t sum = 0;
    for (long i = share_start(share, count); i < share_start(share + 1, count); i++) {
        double want_a = first_b(i) + ((double)(last_even / 2) + scale(last_even)) * c[i];
        double want_b = first_b(i) + (double)(rounds / 2) * c[i];
        if (a[i] != want_a || b[i] != want_b) fail("wrong result: element %ld", i);
        sum += (uint64_t)(a[i] + b[i]) * (2 * (uint64_t)i + 1);
        a[i] = 0;
        b[i] = first_b(i);
    }
    return sum;
}

static void report(void) {
    printf(",\"size_kib\":%ld", size_kib);
    print_ratio("gb_per_second", (double)total.work / 1e9, total.seconds);
}
