// cpu: integer multiplications and additions in registers.
// Stresses: the core alone. Touches no memory, so that nothing but its share of a CPU can slow it:
// the control of every mix.
#include "common.h"

// Four independent linear congruential generators: a multiplication and an addition each a step,
// all in registers.
enum { LANES = 4 };
struct lanes {
    uint64_t x[LANES];
};
#define LCG_A 6364136223846793005u
#define LCG_C 1442695040888963407u

static long work = 10000000;
static struct lanes lanes[THREADS_MOST];

static const struct program program = {
    .name = "cpu",
    .about = "integer steps in registers.\nStresses the core and no memory.",
    .unit = "steps",
    .knobs = {
        {.name = "work", .number = &work, .least = 1, .most = 1L << 40, .says = "steps of each thread in a pass (four generators, once each)"},
    },
};

static void allocate(void) {}

static void fill(long share) {
    for (int i = 0; i < LANES; i++) lanes[share].x[i] = random_state((uint64_t)share * LANES + (uint64_t)i);
}

static uint64_t pass(long share) {
    fill(share);
    struct lanes own = lanes[share];
    uint64_t p = own.x[0], q = own.x[1], r = own.x[2], s = own.x[3];
    for (long i = 0; i < work; i++) {
        p = p * LCG_A + LCG_C;
        q = q * LCG_A + LCG_C;
        r = r * LCG_A + LCG_C;
        s = s * LCG_A + LCG_C;
        __asm__ volatile("" : "+r"(p), "+r"(q), "+r"(r), "+r"(s));
    }
    lanes[share] = (struct lanes){{p, q, r, s}};
    return (uint64_t)work;
}

// Where a generator is after `steps` steps, in log2(steps) of them: the map x -> a x + c is squared
// again and again.
static uint64_t jump_lane(uint64_t x, uint64_t steps) {
    for (uint64_t a = LCG_A, c = LCG_C; steps; steps >>= 1) {
        if (steps & 1) x = a * x + c;
        c = a * c + c;
        a = a * a;
    }
    return x;
}

static uint64_t check(long share) {
    uint64_t sum = 0;
    struct lanes reached = lanes[share];
    fill(share);
    for (int i = 0; i < LANES; i++) {
        if (reached.x[i] != jump_lane(lanes[share].x[i], (uint64_t)work)) fail("wrong result: lane %d is not where %ld steps lead", i, work);
        sum += mix(reached.x[i]);
    }
    return sum;
}

static void report(void) { print_ratio("million_steps_per_second", (double)total.work / 1e6, total.seconds); }
