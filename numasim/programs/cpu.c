// cpu: integer multiplications and additions in registers.
// Stresses: the core alone. Touches no memory, so that nothing but its share of a CPU can slow it:
// the control of every mix.
#include "kernels.h"

static long work = 10000000;
static struct lanes lanes[THREADS_MOST];

static const struct knob knobs[] = {
    {.name = "work", .number = &work, .least = 1, .most = 1L << 40, .says = "steps of each thread in a pass (four generators, once each)"},
    {.name = NULL}};

static void allocate(void) {}
static void fill(long share) { start_lanes(&lanes[share], (uint64_t)share); }

static uint64_t pass(long share) {
    struct lanes own;
    start_lanes(&own, (uint64_t)share);
    run_lanes(&own, work);
    lanes[share] = own;
    return (uint64_t)work;
}

static uint64_t check(long share) { return check_lanes(&lanes[share], (uint64_t)share, (uint64_t)work); }

static void report(void) { print_ratio("million_steps_per_second", (double)total.work / 1e6, total.seconds); }

static const struct program cpu = {
    .name = "cpu",
    .about = "integer steps in registers.\nStresses the core and no memory.",
    .unit = "steps",
    .knobs = knobs,
    .allocate = allocate,
    .fill = fill,
    .pass = pass,
    .check = check,
    .report = report,
};

int main(int argc, char **argv) { return (void)argc, run_program(&cpu, argv); }
