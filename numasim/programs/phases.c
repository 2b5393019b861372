// phases: alternates between following a cycle of cache lines and integer steps in registers.
// Stresses: memory latency and the core by turns. For policies that judge a thread by its last
// sample: half of the time that is wrong.
#include "kernels.h"

// Integer steps that count as much as one load: about as long, where a load that misses takes some
// hundred cycles.
enum { STEPS_PER_UNIT = 12 };

static long size_kib = 4096, phase_work = 200000, rounds = 4;
static bool stagger;
static struct line *lines;
static long count;
static struct outcome {
    struct line *reached;
    struct lanes lanes;
    double seconds[2];  // of the pass: memory, cpu
} outcomes[THREADS_MOST];
static double memory_seconds, cpu_seconds;  // of the first thread, over completed passes

static const struct knob knobs[] = {
    {.name = "size-kib", .number = &size_kib, .least = 1, .most = 1L << 24, .says = "memory of the program, split among its threads"},
    {.name = "phase-work", .number = &phase_work, .least = 1, .most = 1L << 32, .says = "units of a phase: loads, or 12 integer steps each"},
    {.name = "rounds", .number = &rounds, .least = 1, .most = 1L << 24, .says = "pairs of phases in a pass"},
    {.name = "stagger", .flag = &stagger, .says = "every second thread begins with the integer steps"},
    {.name = NULL}};

static void allocate(void) {
    count = size_kib * 1024 / LINE;
    if (count < 2 * threads) bad_argument("--size-kib: %ld are fewer than two lines for each of %ld threads", size_kib, threads);
    lines = take((size_t)count * sizeof *lines);
}

static struct line *first_line(long share) { return &lines[share_start(share, count)]; }
static long share_lines(long share) { return share_start(share + 1, count) - share_start(share, count); }

static void fill(long share) { link_cycle(first_line(share), share_lines(share), (uint64_t)share); }

static void run_phase(struct outcome *it, bool in_cpu) {
    double began = now();
    if (in_cpu) run_lanes(&it->lanes, phase_work * STEPS_PER_UNIT);
    else it->reached = walk(it->reached, phase_work);
    it->seconds[in_cpu] += now() - began;
}

static uint64_t pass(long share) {
    struct outcome it = {.reached = first_line(share)};
    bool cpu_first = stagger && share % 2 == 1;
    start_lanes(&it.lanes, (uint64_t)share);
    for (long i = 0; i < rounds; i++) {
        run_phase(&it, cpu_first);
        run_phase(&it, !cpu_first);
    }
    outcomes[share] = it;
    return 2 * (uint64_t)rounds * (uint64_t)phase_work;
}

static uint64_t check(long share) {
    const struct outcome *it = &outcomes[share];
    uint64_t loads = (uint64_t)rounds * (uint64_t)phase_work;
    if (it->reached->place != loads % (uint64_t)share_lines(share)) fail("wrong result: thread %ld reached another line", share + 1);
    return mix((uint64_t)(it->reached - lines) + 1) + check_lanes(&it->lanes, (uint64_t)share, loads * STEPS_PER_UNIT);
}

static void recorded(void) {
    memory_seconds += outcomes[0].seconds[0];
    cpu_seconds += outcomes[0].seconds[1];
}

static void report(void) {
    printf(",\"size_kib\":%ld,\"memory_seconds\":%.9f,\"cpu_seconds\":%.9f", size_kib, memory_seconds, cpu_seconds);
}

static const struct program phases = {
    .name = "phases",
    .about = "turns from following a cycle of cache lines to integer steps in registers, and back.\n"
             "Stresses memory latency and the core, by turns.",
    .unit = "units",
    .knobs = knobs,
    .allocate = allocate,
    .fill = fill,
    .pass = pass,
    .check = check,
    .recorded = recorded,
    .report = report,
};

int main(int argc, char **argv) { return (void)argc, run_program(&phases, argv); }
