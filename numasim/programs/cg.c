// cg: solves a sparse system of equations by conjugate gradients, as NAS CG does at heart: a matrix
// in compressed rows, each row's columns scattered over the whole vector.
// Stresses: irregular reads of a vector that all threads share and all write (p), beside streams
// over the matrix and over vectors of which each thread has its part.
#include "common.h"

enum { OTHERS = 7, ENTRIES = OTHERS + 1, ROWS_MOST = 1 << 20 };
static long size_kib = 2304, iterations = 25;
static _Alignas(PAGE) double values[ROWS_MOST * ENTRIES];
static _Alignas(PAGE) uint32_t columns[ROWS_MOST * ENTRIES];
static _Alignas(PAGE) long row_starts[ROWS_MOST + 1];
static _Alignas(PAGE) double x[ROWS_MOST], r[ROWS_MOST], q[ROWS_MOST], p[ROWS_MOST];
static _Alignas(PAGE) struct { _Alignas(LINE) double of_p_and_q, of_r; } sums[THREADS_MOST];
static long n;
enum { ROW_BYTES = ENTRIES * (sizeof *values + sizeof *columns) + sizeof *row_starts + 4 * sizeof *x };

static const struct program program = {
    .name = "cg",
    .about = "a sparse system of equations, solved by conjugate gradients.\nStresses irregular reads of a shared vector.",
    .unit = "multiply-adds",
    .knobs = {
        {.name = "size-kib", .number = &size_kib, .least = 1, .most = (long)ROWS_MOST * ROW_BYTES / 1024,
         .says = "memory of matrix and vectors; rows are the power of two that fits"},
        {.name = "iterations", .number = &iterations, .least = 20, .most = 1000, .says = "steps towards the solution in a pass"},
    },
};

static void allocate(void) {
    for (long rows = 2; rows * ROW_BYTES <= size_kib * 1024; rows *= 2) n = rows;
    if (n < threads) bad_argument("--size-kib: %ld give fewer rows than %ld threads", size_kib, threads);
}

// The other row that row i is tied to by its k-th entry. Rows come in pairs, so that the matrix is
// symmetric: multiplication by an odd number and its inverse modulo n, with some bits turned
// between.
static long partner(long i, long k) {
    uint64_t odd = mix((uint64_t)(seed * OTHERS + k) + 1) | 1, inverse = odd, mask = mix(odd) & (uint64_t)(n - 1);
    for (int bits = 3; bits < 64; bits *= 2) inverse *= 2 - odd * inverse;
    if (mask == 0) mask = 1;
    return (long)(inverse * ((odd * (uint64_t)i) ^ mask) & (uint64_t)(n - 1));
}

static double tie(long i, long k) { return -(double)(1 + (mix((uint64_t)(i ^ partner(i, k)) + 1) & 3)); }
static double solution(long i) { return (double)(1 + (mix((uint64_t)(seed + i) + 1) & 15)); }

// A row of the matrix, by formula: the diagonal outweighs the rest by 4, so few steps are enough.
static double diagonal(long i) {
    double weight = 4;
    for (long k = 0; k < OTHERS; k++) weight -= tie(i, k);
    return weight;
}

// What the right-hand side is at row i, for the solution that check expects.
static double right_side(long i) {
    double side = diagonal(i) * solution(i);
    for (long k = 0; k < OTHERS; k++) side += tie(i, k) * solution(partner(i, k));
    return side;
}

static void begin_vectors(long share) {
    for (long i = share_start(share, n); i < share_start(share + 1, n); i++) {
        x[i] = q[i] = 0;
        r[i] = p[i] = right_side(i);
    }
}

static void fill(long share) {
    for (long i = share_start(share, n); i < share_start(share + 1, n); i++) {
        long at = row_starts[i] = i * ENTRIES;
        values[at] = diagonal(i);
        columns[at] = (uint32_t)i;
        for (long k = 0; k < OTHERS; k++) {
            values[at + 1 + k] = tie(i, k);
            columns[at + 1 + k] = (uint32_t)partner(i, k);
        }
    }
    if (share == threads - 1) row_starts[n] = n * ENTRIES;
    begin_vectors(share);
}

// Each share adds its part; the parts are added in the order of shares, so that the result is the
// same every time.
static double of_all(const double *first) {
    double all = 0;
    for (long i = 0; i < threads; i++) all += *(const double *)((const char *)first + (size_t)i * sizeof *sums);
    return all;
}

__attribute__((noinline)) static double multiply(long from, long to) {
    double sum = 0;
    for (long i = from; i < to; i++) {
        double row = 0;
        for (long at = row_starts[i]; at < row_starts[i + 1]; at++) row += values[at] * p[columns[at]];
        q[i] = row;
        sum += row * p[i];
    }
    return sum;
}

static double square(long from, long to) {
    double sum = 0;
    for (long i = from; i < to; i++) sum += r[i] * r[i];
    return sum;
}

static uint64_t pass(long share) {
    long from = share_start(share, n), to = share_start(share + 1, n);
    sums[share].of_r = square(from, to);
    meet();
    double rest = of_all(&sums->of_r);
    for (long step = 0; step < iterations && rest > 0; step++) {
        sums[share].of_p_and_q = multiply(from, to);
        meet();
        double alpha = rest / of_all(&sums->of_p_and_q);
        for (long i = from; i < to; i++) x[i] += alpha * p[i], r[i] -= alpha * q[i];
        sums[share].of_r = square(from, to);
        meet();
        double now_left = of_all(&sums->of_r), beta = now_left / rest;
        for (long i = from; i < to; i++) p[i] = r[i] + beta * p[i];
        rest = now_left;
        meet();
    }
    return (uint64_t)iterations * (uint64_t)(to - from) * (ENTRIES + 5);
}

// The solution is known, in whole numbers; the system was made from it.
static uint64_t check(long share) {
    uint64_t sum = 0;
    for (long i = share_start(share, n); i < share_start(share + 1, n); i++) {
        double off = x[i] - solution(i);
        if (!(off > -1e-3 && off < 1e-3)) fail("wrong result: row %ld", i);
        sum += (uint64_t)(x[i] + 0.5) * (2 * (uint64_t)i + 1);
    }
    begin_vectors(share);
    return sum;
}

static void report(void) {
    printf(",\"size_kib\":%ld,\"n\":%ld", size_kib, n);
    print_ratio("million_per_second", (double)total.work / 1e6, total.seconds);
}
