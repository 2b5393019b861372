// matrix: the matrix product that the page-usage paper shows (Diener et al. 2016, figure 2):
// C += A B, rows of C shared out, i-j-k, everything set up by the first thread.
// Stresses: little. It shows every kind of page: A and C exclusive to the thread that has the row,
// B shared by all, stacks that are hot, and all of it on the node of the first thread.
#define TOUCHED_BY "first"
#include "common.h"

enum { EDGE_MOST = 2048 };
static long size_kib = 192, rounds = 1;
static _Alignas(PAGE) unsigned A[EDGE_MOST * EDGE_MOST], B[EDGE_MOST * EDGE_MOST], C[EDGE_MOST * EDGE_MOST];
static long n;

static const struct program program = {
    .name = "matrix",
    .about = "the matrix product of the page-usage paper, set up by the first thread.\nShows exclusive, shared and stack pages.",
    .unit = "multiply-adds",
    .knobs = {
        {.name = "size-kib", .number = &size_kib, .least = 1, .most = 3L * EDGE_MOST * EDGE_MOST * (long)sizeof *A / 1024,
         .says = "memory of the three matrices together; 192 are the paper's 128 x 128"},
        {.name = "rounds", .number = &rounds, .least = 1, .most = 1L << 24, .says = "products in a pass"},
    },
};

static void allocate(void) {
    while ((n + 1) * (n + 1) * 3 * (long)sizeof *A <= size_kib * 1024) n++;
    if (n < threads) bad_argument("--size-kib: %ld give fewer rows than %ld threads", size_kib, threads);
}

static unsigned first_a(long i) { return (unsigned)(mix(2 * (uint64_t)i + ((uint64_t)seed << 32) + 1) & 15); }
static unsigned first_b(long i) { return (unsigned)(mix(2 * (uint64_t)i + ((uint64_t)seed << 32) + 2) & 15); }

static void fill(long share) {
    for (long i = share_start(share, n) * n; i < share_start(share + 1, n) * n; i++) {
        A[i] = first_a(i);
        B[i] = first_b(i);
        C[i] = 0;
    }
}

// The indices stay in memory, as a compiler keeps them that does not optimise: that is why the
// stacks are the hottest pages of the paper's table 1.
__attribute__((noinline)) static void add_product(long from_row, long to_row) {
    volatile long i, j, k;
    for (i = from_row; i < to_row; i++)
        for (j = 0; j < n; j++)
            for (k = 0; k < n; k++) C[i * n + j] += A[i * n + k] * B[k * n + j];
}

static uint64_t pass(long share) {
    long from_row = share_start(share, n), to_row = share_start(share + 1, n);
    for (long round = 0; round < rounds; round++) add_product(from_row, to_row);
    return (uint64_t)rounds * (uint64_t)(to_row - from_row) * (uint64_t)(n * n);
}

static unsigned weight(long j) { return (unsigned)(2 * j + 1); }

// Freivalds: C w is compared with rounds A (B w), whose factors come from their formulas, not from
// memory. Sums wrap, in both alike. Then C is zero again for the next pass.
static uint64_t check(long share) {
    unsigned weighed[EDGE_MOST];
    uint64_t sum = 0;
    for (long k = 0; k < n; k++) {
        weighed[k] = 0;
        for (long j = 0; j < n; j++) weighed[k] += weight(j) * first_b(k * n + j);
    }
    for (long i = share_start(share, n); i < share_start(share + 1, n); i++) {
        unsigned want = 0, got = 0;
        for (long k = 0; k < n; k++) {
            want += (unsigned)rounds * first_a(i * n + k) * weighed[k];
            got += weight(k) * C[i * n + k];
            sum += (uint64_t)C[i * n + k] * (2 * (uint64_t)(i * n + k) + 1);
            C[i * n + k] = 0;
        }
        if (want != got) fail("wrong result: row %ld", i);
    }
    return sum;
}

static void report(void) {
    printf(",\"size_kib\":%ld,\"n\":%ld", size_kib, n);
    print_ratio("million_per_second", (double)total.work / 1e6, total.seconds);
}
