// The two kinds of work that more than one program does: a walk along a random cycle of cache
// lines, and integer steps in registers. Both can be checked in a few steps, however long they ran.
#ifndef NUMASIM_KERNELS_H
#define NUMASIM_KERNELS_H
#include "common.h"

// A cache line of a cycle. Only `next` is read while the time runs; `place` is the line's place on
// the cycle, for the check.
struct line {
    struct line *next;
    uint64_t place;
    char rest[LINE - 16];
};

// Links `count` lines to one random cycle: Sattolo's shuffle makes a single cycle, so that no
// shorter one fits a cache by chance.
static inline void link_cycle(struct line *lines, long count, uint64_t stream) {
    uint64_t state = random_state(stream);
    for (long i = 0; i < count; i++) lines[i].next = &lines[i];
    for (long i = count - 1; i > 0; i--) {
        long j = (long)random_below(&state, (uint64_t)i);
        struct line *swapped = lines[i].next;
        lines[i].next = lines[j].next;
        lines[j].next = swapped;
    }
    struct line *at = lines;
    for (long i = 0; i < count; i++, at = at->next) at->place = (uint64_t)i;
    if (at != lines || lines[0].place != 0) fail("wrong result: the lines are not one cycle");
}

// Each load's address comes from the load before: one in flight, and nothing for a prefetcher to
// guess.
static inline struct line *walk(struct line *at, long loads) {
    for (long i = 0; i < loads; i++) at = *(struct line *volatile *)&at->next;
    return at;
}

// Four independent linear congruential generators: a multiplication and an addition each a step,
// all in registers.
enum { LANES = 4 };
struct lanes {
    uint64_t x[LANES];
};
#define LCG_A 6364136223846793005u
#define LCG_C 1442695040888963407u

static inline void start_lanes(struct lanes *lanes, uint64_t stream) {
    for (int i = 0; i < LANES; i++) lanes->x[i] = random_state(stream * LANES + (uint64_t)i);
}

static inline void run_lanes(struct lanes *lanes, long steps) {
    uint64_t p = lanes->x[0], q = lanes->x[1], r = lanes->x[2], s = lanes->x[3];
    for (long i = 0; i < steps; i++) {
        p = p * LCG_A + LCG_C;
        q = q * LCG_A + LCG_C;
        r = r * LCG_A + LCG_C;
        s = s * LCG_A + LCG_C;
        __asm__ volatile("" : "+r"(p), "+r"(q), "+r"(r), "+r"(s));
    }
    *lanes = (struct lanes){{p, q, r, s}};
}

// Where a generator is after `steps` steps, in log2(steps) of them: the map x -> a x + c is squared
// again and again.
static inline uint64_t jump_lane(uint64_t x, uint64_t steps) {
    for (uint64_t a = LCG_A, c = LCG_C; steps; steps >>= 1) {
        if (steps & 1) x = a * x + c;
        c = a * c + c;
        a = a * a;
    }
    return x;
}

// Verifies lanes that started from `stream` and did `steps` steps; returns their checksum.
static inline uint64_t check_lanes(const struct lanes *lanes, uint64_t stream, uint64_t steps) {
    struct lanes start;
    uint64_t sum = 0;
    start_lanes(&start, stream);
    for (int i = 0; i < LANES; i++) {
        if (lanes->x[i] != jump_lane(start.x[i], steps)) fail("wrong result: lane %d is not where %llu steps lead", i,
                                                             (unsigned long long)steps);
        sum += mix(lanes->x[i]);
    }
    return sum;
}
#endif
