// table: every thread looks up random entries of one table and adds them to its own output.
// Stresses: random reads of pages that all threads share equally, for which no node is better than
// another; outputs are exclusive.
#include "common.h"

static long size_kib = 4096, work = 500000;
static uint64_t *table, *outputs;
static long entries, slots;

static const struct program program = {
    .name = "table",
    .about = "random lookups in a table that all threads share, added to an output of each thread.\nStresses reads of shared pages.",
    .unit = "lookups",
    .knobs = {
        {.name = "size-kib", .number = &size_kib, .least = 1, .most = 1L << 24, .says = "memory: 7/8 the table, 1/8 the outputs"},
        {.name = "work", .number = &work, .least = 1, .most = 1L << 40, .says = "lookups of a thread in a pass"},
    },
};

// Outputs begin on pages of their own where they are as large as one.
static void allocate(void) {
    long words = size_kib * 1024 / (long)sizeof(uint64_t), page = PAGE / (long)sizeof(uint64_t);
    slots = words / 8 / threads;
    if (slots < 1) bad_argument("--size-kib: %ld give fewer outputs than %ld threads", size_kib, threads);
    if (slots > page) slots = slots / page * page;
    entries = words - words / 8;
    table = take_aligned((size_t)entries * sizeof *table, PAGE);
    outputs = take_aligned((size_t)(slots * threads) * sizeof *outputs, PAGE);
}

static uint64_t entry(uint64_t i) { return mix(((uint64_t)seed << 32) + i + 1); }

static void fill(long share) {
    for (long i = share_start(share, entries); i < share_start(share + 1, entries); i++) table[i] = entry((uint64_t)i);
    memset(&outputs[share * slots], 0, (size_t)slots * sizeof *outputs);
}

__attribute__((noinline)) static uint64_t pass(long share) {
    uint64_t state = random_state((uint64_t)share), *output = &outputs[share * slots];
    for (long i = 0, slot = 0; i < work; i++) {
        output[slot] += table[random_below(&state, (uint64_t)entries)];
        slot = slot + 1 < slots ? slot + 1 : 0;
    }
    return (uint64_t)work;
}

// The same choices again, without the table: the output must add up to what the entries' formula
// gives.
static uint64_t check(long share) {
    uint64_t state = random_state((uint64_t)share), *output = &outputs[share * slots], want = 0, got = 0, sum = 0;
    for (long i = 0; i < work; i++) want += entry(random_below(&state, (uint64_t)entries));
    for (long slot = 0; slot < slots; slot++) {
        got += output[slot];
        sum += output[slot] * (2 * (uint64_t)(share * slots + slot) + 1);
        output[slot] = 0;
    }
    if (want != got) fail("wrong result: output of share %ld", share);
    return sum;
}

static void report(void) {
    printf(",\"size_kib\":%ld", size_kib);
    print_ratio("ns_per_lookup", total.seconds * 1e9 * (double)threads, (double)total.work);
}
