// matmul: the product of two square matrices of doubles, row by row (i, k, j), with --tile in
// blocks.
// Stresses: the shared cache. Without tiles the whole second matrix is read again for every row, at
// unit stride: quick while it fits the cache, bandwidth where it does not. With tiles that fit a
// private cache it hardly needs memory.
#include "common.h"

static long size_kib = 1400, rounds = 1, tile;
static double *a, *b, *c;
static long n;

static const struct program program = {
    .name = "matmul",
    .about = "the product of two square matrices of doubles.\nStresses the shared cache, and bandwidth where it is too small.",
    .unit = "multiply-adds",
    .knobs = {
        {.name = "size-kib", .number = &size_kib, .least = 1, .most = 1L << 22, .says = "memory of the three matrices together"},
        {.name = "rounds", .number = &rounds, .least = 1, .most = 1L << 24, .says = "products in a pass"},
        {.name = "tile", .number = &tile, .least = 0, .most = 1L << 16, .says = "edge of the blocks of the second matrix; 0: no blocks"},
    },
};

// An odd edge: rows a power of two apart would all fall into the same few sets of a cache.
static void allocate(void) {
    for (long odd = 1; odd * odd * 3 * (long)sizeof(double) <= size_kib * 1024; odd += 2) n = odd;
    if (n < threads) bad_argument("--size-kib: %ld give fewer rows than %ld threads", size_kib, threads);
    if (tile == 0 || tile > n) tile = n;
    a = take((size_t)(n * n) * sizeof *a);
    b = take((size_t)(n * n) * sizeof *b);
    c = take((size_t)(n * n) * sizeof *c);
}

// Whole numbers from 0 to 15: sums of their products are exact, in any order.
static void fill(long share) {
    uint64_t salt = mix((uint64_t)seed + 1);
    for (long i = share_start(share, n) * n; i < share_start(share + 1, n) * n; i++) {
        a[i] = (double)(mix(salt + 2 * (uint64_t)i) & 15);
        b[i] = (double)(mix(salt + 2 * (uint64_t)i + 1) & 15);
        c[i] = 0;
    }
}

static long least(long x, long y) { return x < y ? x : y; }

// Rows of the product that a block of the second matrix adds to: one tile for all of it is the
// plain i, k, j.
__attribute__((noinline)) static void add_block(long from_row, long to_row, long k0, long j0) {
    long k_end = least(k0 + tile, n), j_end = least(j0 + tile, n);
    for (long i = from_row; i < to_row; i++)
        for (long k = k0; k < k_end; k++) {
            double factor = a[i * n + k];
            const double *restrict from = &b[k * n];
            double *restrict to = &c[i * n];
            for (long j = j0; j < j_end; j++) to[j] += factor * from[j];
        }
}

static uint64_t pass(long share) {
    long from_row = share_start(share, n), to_row = share_start(share + 1, n);
    for (long round = 0; round < rounds; round++) {
        memset(&c[from_row * n], 0, (size_t)((to_row - from_row) * n) * sizeof *c);
        for (long k = 0; k < n; k += tile)
            for (long j = 0; j < n; j += tile) add_block(from_row, to_row, k, j);
    }
    return (uint64_t)rounds * (uint64_t)(to_row - from_row) * (uint64_t)(n * n);
}

static double weight(long j) { return (double)(j % 7 + 1); }

// Freivalds: (a b) w is compared with a (b w) for a vector w of weights, in n * n steps; exact, for
// all numbers are whole.
static uint64_t check(long share) {
    double *weighed = take((size_t)n * sizeof *weighed);
    uint64_t sum = 0;
    for (long k = 0; k < n; k++) {
        weighed[k] = 0;
        for (long j = 0; j < n; j++) weighed[k] += weight(j) * b[k * n + j];
    }
    for (long i = share_start(share, n); i < share_start(share + 1, n); i++) {
        double want = 0, got = 0;
        for (long k = 0; k < n; k++) {
            want += a[i * n + k] * weighed[k];
            got += weight(k) * c[i * n + k];
            sum += (uint64_t)c[i * n + k] * (2 * (uint64_t)(i * n + k) + 1);
        }
        if (want != got) fail("wrong result: row %ld", i);
    }
    free(weighed);
    return sum;
}

static void report(void) {
    printf(",\"size_kib\":%ld,\"n\":%ld,\"tile\":%ld", size_kib, n, tile);
    print_ratio("million_per_second", (double)total.work / 1e6, total.seconds);
}
