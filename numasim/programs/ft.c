// ft: a transform over both dimensions of a square field, as NAS FT does at heart: along the rows,
// transpose, along the rows again. The transform is Walsh and Hadamard's, which is exact in whole
// numbers.
// Stresses: bandwidth between all nodes at once: in the transposition every thread reads from the
// rows of every other.
#include "common.h"

static long size_kib = 4096;
static uint64_t *field, *turned;
static long n;

static const struct program program = {
    .name = "ft",
    .about = "a Walsh-Hadamard transform over rows and columns, with a transposition between.\nStresses traffic from all nodes to all.",
    .unit = "bytes",
    .knobs = {
        {.name = "size-kib", .number = &size_kib, .least = 1, .most = 1L << 24,
         .says = "memory of field and transposed field; their edge is the power of two that fits"},
    },
};

static void allocate(void) {
    for (long edge = 2; edge * edge * 2 * (long)sizeof *field <= size_kib * 1024; edge *= 2) n = edge;
    if (n < threads) bad_argument("--size-kib: %ld give fewer rows than %ld threads", size_kib, threads);
    field = take_aligned((size_t)(n * n) * sizeof *field, PAGE);
    turned = take_aligned((size_t)(n * n) * sizeof *turned, PAGE);
}

static uint64_t first_value(long i) { return mix(((uint64_t)seed << 32) + (uint64_t)i + 1) & 0xffff; }

static void fill(long share) {
    for (long i = share_start(share, n) * n; i < share_start(share + 1, n) * n; i++) {
        field[i] = first_value(i);
        turned[i] = 0;
    }
}

// The transform of one row, in place.
__attribute__((noinline)) static void transform(uint64_t *row) {
    for (long half = 1; half < n; half *= 2)
        for (long block = 0; block < n; block += 2 * half)
            for (long i = block; i < block + half; i++) {
                uint64_t one = row[i], other = row[i + half];
                row[i] = one + other;
                row[i + half] = one - other;
            }
}

__attribute__((noinline)) static void transpose(long from_row, long to_row) {
    for (long i = from_row; i < to_row; i++)
        for (long j = 0; j < n; j++) turned[i * n + j] = field[j * n + i];
}

static uint64_t pass(long share) {
    long from_row = share_start(share, n), to_row = share_start(share + 1, n);
    for (long i = from_row; i < to_row; i++) transform(&field[i * n]);
    meet();
    transpose(from_row, to_row);
    for (long i = from_row; i < to_row; i++) transform(&turned[i * n]);
    return (uint64_t)(to_row - from_row) * (uint64_t)n * sizeof *field;
}

static uint64_t weight(long i) { return 2 * (uint64_t)i + 1; }
// An entry of the transform's matrix: 1 or -1.
static uint64_t sign(long i, long j) { return __builtin_parityl((unsigned long)(i & j)) ? (uint64_t)-1 : 1; }

// The result, weighed along each row, against the definition of the transform: the values come from
// their formula and no butterfly is used. Sums wrap, in both alike.
static uint64_t check(long share) {
    uint64_t *weights = take((size_t)n * sizeof *weights), *weighed = take((size_t)n * sizeof *weighed), sum = 0;
    for (long j = 0; j < n; j++) {
        weights[j] = weighed[j] = 0;
        for (long v = 0; v < n; v++) weights[j] += weight(v) * sign(v, j);
    }
    for (long i = 0; i < n; i++)
        for (long j = 0; j < n; j++) weighed[j] += first_value(i * n + j) * weights[i];
    for (long u = share_start(share, n); u < share_start(share + 1, n); u++) {
        uint64_t want = 0, got = 0;
        for (long v = 0; v < n; v++) {
            want += sign(u, v) * weighed[v];
            got += weight(v) * turned[u * n + v];
            sum += turned[u * n + v] * (2 * (uint64_t)(u * n + v) + 1);
        }
        if (want != got) fail("wrong result: row %ld", u);
    }
    free(weights);
    free(weighed);
    fill(share);
    return sum;
}

static void report(void) {
    printf(",\"size_kib\":%ld,\"n\":%ld", size_kib, n);
    print_ratio("gb_per_second", (double)total.work / 1e9, total.seconds);
}
