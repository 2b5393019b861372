// graph: breadth-first searches over a random graph in compressed rows, level by level, from a new
// source each.
// Stresses: irregular reads. Edges come in order, the levels of their ends do not: several misses
// in flight, poor locality, little arithmetic, and a barrier after each level, so that the slowest
// thread delays all.
#include "common.h"

enum { DEGREE_MOST = 15 };  // degrees from 1 to this, 8 on average
static const uint32_t UNSEEN = UINT32_MAX;
static long size_kib = 8192, rounds = 1;
static uint32_t *rows, *ends, *levels, *frontier, *next_frontier;
static long vertices, in_frontier, in_next;
static uint64_t depth_sums[THREADS_MOST];

static const struct program program = {
    .name = "graph",
    .about = "breadth-first searches over a random graph.\nStresses irregular reads.",
    .unit = "edges",
    .knobs = {
        {.name = "size-kib", .number = &size_kib, .least = 1, .most = 1L << 24, .says = "memory of the graph and of the search"},
        {.name = "rounds", .number = &rounds, .least = 1, .most = 1L << 24, .says = "searches in a pass"},
    },
};

static uint32_t degree(long vertex) { return 1 + (uint32_t)(mix(mix((uint64_t)seed) + (uint64_t)vertex + 1) % DEGREE_MOST); }

// A vertex needs a row, a level, two frontier places and 8 edges: 48 bytes.
static void allocate(void) {
    vertices = size_kib * 1024 / 48;
    if (vertices < threads) bad_argument("--size-kib: %ld give fewer vertices than %ld threads", size_kib, threads);
    size_t bytes = (size_t)vertices * sizeof(uint32_t), edges = 0;
    rows = take(bytes + sizeof *rows);
    levels = take(bytes);
    frontier = take(bytes);
    next_frontier = take(bytes);
    for (long v = 0; v < vertices; v++) {
        rows[v] = (uint32_t)edges;
        edges += degree(v);
    }
    if (edges >= UNSEEN) bad_argument("--size-kib: %ld give more edges than 32 bits can number", size_kib);
    rows[vertices] = (uint32_t)edges;
    ends = take(edges * sizeof *ends);
}

static void fill(long share) {
    long from = share_start(share, vertices), to = share_start(share + 1, vertices);
    for (long v = from; v < to; v++) {
        uint64_t state = random_state((uint64_t)v);
        for (uint32_t e = rows[v]; e < rows[v + 1]; e++) ends[e] = (uint32_t)random_below(&state, (uint64_t)vertices);
        levels[v] = UNSEEN;
        frontier[v] = next_frontier[v] = 0;
    }
}

static uint32_t source_of(long round) { return (uint32_t)(mix((uint64_t)(seed + round) + 1) % (uint64_t)vertices); }

static void start_search(uint32_t source) {
    levels[source] = 0;
    frontier[0] = source;
    in_frontier = 1;
    in_next = 0;
}

static void next_level(void) {
    uint32_t *swapped = frontier;
    frontier = next_frontier;
    next_frontier = swapped;
    in_frontier = in_next;
    in_next = 0;
}

// True for the one thread that reaches a vertex first.
static bool claim(uint32_t vertex, uint32_t depth) {
    uint32_t seen = __atomic_load_n(&levels[vertex], __ATOMIC_RELAXED);
    return seen == UNSEEN && __atomic_compare_exchange_n(&levels[vertex], &seen, depth, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

// Looks at the edges of this share of the frontier; returns how many.
static uint64_t expand(long share, uint32_t depth) {
    uint64_t edges = 0;
    for (long i = share_start(share, in_frontier); i < share_start(share + 1, in_frontier); i++) {
        uint32_t v = frontier[i];
        edges += rows[v + 1] - rows[v];
        for (uint32_t e = rows[v]; e < rows[v + 1]; e++) {
            if (!claim(ends[e], depth)) continue;
            next_frontier[__atomic_fetch_add(&in_next, 1, __ATOMIC_RELAXED)] = ends[e];
            depth_sums[share] += depth * mix((uint64_t)ends[e] + 1);
        }
    }
    return edges;
}

static uint64_t pass(long share) {
    uint64_t edges = 0;
    long from = share_start(share, vertices), to = share_start(share + 1, vertices);
    depth_sums[share] = 0;
    for (long round = 0; round < rounds; round++) {
        for (long v = from; v < to; v++) levels[v] = UNSEEN;
        meet();
        if (share == 0) start_search(source_of(round));
        meet();
        for (uint32_t depth = 1; in_frontier > 0; depth++) {
            edges += expand(share, depth);
            meet();
            if (share == 0) next_level();
            meet();
        }
    }
    return edges;
}

// Of the last search: no edge leads more than one level down, so no vertex could have been reached
// sooner or was left out.
static uint64_t check(long share) {
    if (levels[source_of(rounds - 1)] != 0) fail("wrong result: the source is not on level 0");
    for (long v = share_start(share, vertices); v < share_start(share + 1, vertices); v++)
        for (uint32_t e = rows[v]; levels[v] != UNSEEN && e < rows[v + 1]; e++)
            if (levels[ends[e]] > levels[v] + 1) fail("wrong result: vertex %u was reached too late", ends[e]);
    return depth_sums[share];
}

static void report(void) {
    printf(",\"size_kib\":%ld,\"vertices\":%ld,\"edges\":%u", size_kib, vertices, rows[vertices]);
    print_ratio("million_per_second", (double)total.work / 1e6, total.seconds);
}
