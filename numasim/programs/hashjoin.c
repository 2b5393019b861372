// hashjoin: builds a hash table of the smaller relation and probes it with one four times as large;
// half of the probes match.
// Stresses: random reads that do not wait for each other (the table) beside sequential ones (the
// relations): latency and bandwidth together, as databases have them. One table for all threads (a
// "no partitioning" join: Blanas, Li, Patel, SIGMOD 2011).
#include "common.h"

struct tuple {
    uint64_t key, payload;
};

enum { PROBES_PER_TUPLE = 4, SLOTS_PER_TUPLE = 2 };
static long size_kib = 8192, rounds = 2;
static struct tuple *small, *large, *table;
static long count, probes, slots;
static struct matched {
    uint64_t matches, payloads;
} expected[THREADS_MOST], found[THREADS_MOST];

static const struct program program = {
    .name = "hashjoin",
    .about = "builds a hash table of a relation and probes it with another, four times as large.\n"
             "Stresses random reads beside sequential ones.",
    .unit = "tuples",
    .knobs = {
        {.name = "size-kib", .number = &size_kib, .least = 1, .most = 1L << 24, .says = "memory of both relations and the table"},
        {.name = "rounds", .number = &rounds, .least = 1, .most = 1L << 24, .says = "joins in a pass"},
    },
};

static void allocate(void) {
    count = size_kib * 1024 / ((1 + PROBES_PER_TUPLE + SLOTS_PER_TUPLE) * (long)sizeof(struct tuple));
    if (count < threads) bad_argument("--size-kib: %ld give fewer tuples than %ld threads", size_kib, threads);
    probes = count * PROBES_PER_TUPLE;
    slots = count * SLOTS_PER_TUPLE;
    small = take((size_t)count * sizeof *small);
    large = take((size_t)probes * sizeof *large);
    table = take((size_t)slots * sizeof *table);
}

// Different for different places, and never 0, which marks an empty slot: mix is a bijection, and
// its argument is never 0.
static uint64_t key_of(long place) { return mix(((mix((uint64_t)seed + 1) >> 1) | 1) + (uint64_t)place); }

static void clear_table(long share) {
    long from = share_start(share, slots);
    memset(&table[from], 0, (size_t)(share_start(share + 1, slots) - from) * sizeof *table);
}

// Keys from `count` on are in no table: half of the probes draw one of these. What will match is
// known from here.
static void fill(long share) {
    uint64_t state = random_state((uint64_t)share);
    for (long i = share_start(share, count); i < share_start(share + 1, count); i++) small[i] = (struct tuple){key_of(i), (uint64_t)i};
    expected[share] = (struct matched){0};
    for (long i = share_start(share, probes); i < share_start(share + 1, probes); i++) {
        long place = (long)random_below(&state, 2 * (uint64_t)count);
        large[i] = (struct tuple){key_of(place), (uint64_t)i};
        if (place < count) expected[share].matches++, expected[share].payloads += (uint64_t)place ^ (uint64_t)i;
    }
    clear_table(share);
}

static long slot_of(uint64_t key) { return (long)((__int128)mix(key) * slots >> 64); }
static long next_slot(long slot) { return slot + 1 == slots ? 0 : slot + 1; }

static void insert(struct tuple it) {
    for (long slot = slot_of(it.key);; slot = next_slot(slot)) {
        uint64_t empty = 0;
        if (!__atomic_compare_exchange_n(&table[slot].key, &empty, it.key, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) continue;
        table[slot].payload = it.payload;
        return;
    }
}

static const struct tuple *look_up(uint64_t key) {
    for (long slot = slot_of(key); table[slot].key; slot = next_slot(slot))
        if (table[slot].key == key) return &table[slot];
    return NULL;
}

static void build(long share) {
    for (long i = share_start(share, count); i < share_start(share + 1, count); i++) insert(small[i]);
}

static struct matched probe(long share) {
    struct matched it = {0};
    for (long i = share_start(share, probes); i < share_start(share + 1, probes); i++) {
        const struct tuple *match = look_up(large[i].key);
        if (match) it.matches++, it.payloads += match->payload ^ large[i].payload;
    }
    return it;
}

static uint64_t pass(long share) {
    for (long round = 0; round < rounds; round++) {
        clear_table(share);
        meet();
        build(share);
        meet();
        found[share] = probe(share);
        meet();
    }
    long inserted = share_start(share + 1, count) - share_start(share, count);
    long probed = share_start(share + 1, probes) - share_start(share, probes);
    return (uint64_t)rounds * (uint64_t)(inserted + probed);
}

static uint64_t check(long share) {
    if (found[share].matches != expected[share].matches || found[share].payloads != expected[share].payloads)
        fail("wrong result: thread %ld found %llu matches instead of %llu", share + 1, (unsigned long long)found[share].matches,
             (unsigned long long)expected[share].matches);
    return found[share].payloads + mix(found[share].matches + 1);
}

static void report(void) {
    uint64_t matches = 0;
    for (long i = 0; i < threads; i++) matches += expected[i].matches;
    printf(",\"size_kib\":%ld,\"tuples\":%ld,\"matches\":%llu", size_kib, count, (unsigned long long)matches);
    print_ratio("million_per_second", (double)total.work / 1e6, total.seconds);
}
