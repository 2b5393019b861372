// stencil: steps of a five-point stencil over a square grid that is closed to a torus. Each thread
// has a block of rows and reads one row of each neighbour; the first thread sets everything up.
// Stresses: bandwidth of the one node that holds all memory, until pages are moved: every page but
// those on the borders of blocks belongs to one thread.
#define TOUCHED_BY "first"
#include "common.h"

enum { EDGE_MOST = 4096 };  // a guest of 1 GiB refuses a program that asks for all of it
static long size_kib = 4096, steps = 10;
static _Alignas(PAGE) uint64_t even_grid[EDGE_MOST * EDGE_MOST], odd_grid[EDGE_MOST * EDGE_MOST];
static _Alignas(PAGE) struct { _Alignas(LINE) uint64_t want[4], got[4]; } sums[THREADS_MOST];
static long n;

static const struct program program = {
    .name = "stencil",
    .about = "a five-point stencil over a torus, set up by the first thread.\nStresses the node that holds the memory; blocks are exclusive.",
    .unit = "bytes",
    .knobs = {
        {.name = "size-kib", .number = &size_kib, .least = 1, .most = 2L * EDGE_MOST * EDGE_MOST * (long)sizeof *even_grid / 1024,
         .says = "memory of the two grids; their edge is even"},
        {.name = "steps", .number = &steps, .least = 1, .most = 1L << 24, .says = "steps in a pass"},
    },
};

static void allocate(void) {
    while ((n + 2) * (n + 2) * 2 * (long)sizeof *even_grid <= size_kib * 1024) n += 2;
    if (n < threads) bad_argument("--size-kib: %ld give fewer rows than %ld threads", size_kib, threads);
}

static uint64_t first_value(long i) { return mix(((uint64_t)seed << 32) + (uint64_t)i + 1); }

static void fill(long share) {
    for (long i = share_start(share, n) * n; i < share_start(share + 1, n) * n; i++) {
        even_grid[i] = first_value(i);
        odd_grid[i] = 0;
    }
}

// A point becomes three times itself and its four neighbours; numbers wrap.
__attribute__((noinline)) static void step_row(uint64_t *restrict to, const uint64_t *restrict row, const uint64_t *above,
                                               const uint64_t *below) {
    to[0] = 3 * row[0] + above[0] + below[0] + row[n - 1] + row[1];
    for (long j = 1; j < n - 1; j++) to[j] = 3 * row[j] + above[j] + below[j] + row[j - 1] + row[j + 1];
    to[n - 1] = 3 * row[n - 1] + above[n - 1] + below[n - 1] + row[n - 2] + row[0];
}

static uint64_t pass(long share) {
    long from_row = share_start(share, n), to_row = share_start(share + 1, n);
    for (long step = 0; step < steps; step++) {
        const uint64_t *from = step % 2 ? odd_grid : even_grid;
        uint64_t *to = step % 2 ? even_grid : odd_grid;
        for (long i = from_row; i < to_row; i++)
            step_row(&to[i * n], &from[i * n], &from[(i + n - 1) % n * n], &from[(i + 1) % n * n]);
        meet();
    }
    return (uint64_t)steps * (uint64_t)(to_row - from_row) * (uint64_t)n * 2 * sizeof(uint64_t);
}

// The sums of a grid with the signs of a wave along its rows, its columns, both or neither.
static void add_waves(uint64_t waves[4], long i, long j, uint64_t value) {
    waves[0] += value;
    waves[1] += i % 2 ? -value : value;
    waves[2] += j % 2 ? -value : value;
    waves[3] += (i + j) % 2 ? -value : value;
}

// A step multiplies the sum of a wave by 3 + 2 + 2, where a wave turns the sign of neighbours 2
// becomes -2: factors 7, 3, 3 and -1, whatever the values are. The grid is then as at the begin.
static uint64_t check(long share) {
    const uint64_t *result = steps % 2 ? odd_grid : even_grid, factors[4] = {7, 3, 3, (uint64_t)-1};
    uint64_t sum = 0, differ = 0;
    memset(&sums[share], 0, sizeof sums[share]);
    for (long i = share_start(share, n); i < share_start(share + 1, n); i++)
        for (long j = 0; j < n; j++) {
            add_waves(sums[share].want, i, j, first_value(i * n + j));
            add_waves(sums[share].got, i, j, result[i * n + j]);
            sum += result[i * n + j] * (2 * (uint64_t)(i * n + j) + 1);
        }
    meet();
    for (int wave = 0; wave < 4; wave++) {
        uint64_t want = 0, got = 0;
        for (long of = 0; of < threads; of++) want += sums[of].want[wave], got += sums[of].got[wave];
        for (long step = 0; step < steps; step++) want *= factors[wave];
        differ |= want ^ got;
    }
    if (differ) fail("wrong result: the sums of the grid");
    fill(share);
    meet();
    return sum;
}

static void report(void) {
    printf(",\"size_kib\":%ld,\"n\":%ld", size_kib, n);
    print_ratio("gb_per_second", (double)total.work / 1e9, total.seconds);
}
