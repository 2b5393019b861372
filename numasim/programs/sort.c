// sort: sorts 64-bit keys, least significant byte first (radix sort, eight rounds); every thread
// sorts its own share.
// Stresses: bandwidth with scattered writes. A round reads in order and writes to 256 places at
// once: more than a small private cache and its buffers hold, and half of the traffic is lines
// written back.
#include "common.h"

enum { DIGITS = 256, KEY_BYTES = 8 };
static long size_kib = 4096, rounds = 1;
static uint64_t *input, *keys, *spare;
static long count;

static const struct program program = {
    .name = "sort",
    .about = "sorts 64-bit keys, least significant byte first.\nStresses bandwidth with scattered writes.",
    .unit = "keys",
    .knobs = {
        {.name = "size-kib", .number = &size_kib, .least = 1, .most = 1L << 24, .says = "memory of the input and of both buffers"},
        {.name = "rounds", .number = &rounds, .least = 1, .most = 1L << 24, .says = "sorts of the same input in a pass"},
    },
};

static void allocate(void) {
    count = size_kib * 1024 / (3 * (long)sizeof *keys);
    if (count < threads) bad_argument("--size-kib: %ld give fewer keys than %ld threads", size_kib, threads);
    input = take((size_t)count * sizeof *input);
    keys = take((size_t)count * sizeof *keys);
    spare = take((size_t)count * sizeof *spare);
}

static void fill(long share) {
    uint64_t state = random_state((uint64_t)share);
    for (long i = share_start(share, count); i < share_start(share + 1, count); i++) {
        input[i] = random_next(&state);
        keys[i] = spare[i] = 0;
    }
}

// Where the first key with each digit goes.
static void find_places(const uint64_t *from, long n, int shift, long places[DIGITS]) {
    long counts[DIGITS] = {0}, next = 0;
    for (long i = 0; i < n; i++) counts[from[i] >> shift & (DIGITS - 1)]++;
    for (int digit = 0; digit < DIGITS; digit++) {
        places[digit] = next;
        next += counts[digit];
    }
}

static void distribute(uint64_t *to, const uint64_t *from, long n, int shift) {
    long places[DIGITS];
    find_places(from, n, shift, places);
    for (long i = 0; i < n; i++) to[places[from[i] >> shift & (DIGITS - 1)]++] = from[i];
}

// The first round reads the input, the last one writes to `keys`.
static uint64_t pass(long share) {
    long at = share_start(share, count), n = share_start(share + 1, count) - at;
    for (long round = 0; round < rounds; round++) {
        const uint64_t *from = &input[at];
        for (int byte = 0; byte < KEY_BYTES; byte++) {
            uint64_t *to = byte % 2 == 0 ? &spare[at] : &keys[at];
            distribute(to, from, n, 8 * byte);
            from = to;
        }
    }
    return (uint64_t)rounds * (uint64_t)n;
}

// In order, and with the same keys as in the input, by a sum of their mixed values.
static uint64_t check(long share) {
    uint64_t in = 0, out = 0, sum = 0;
    long from = share_start(share, count);
    for (long i = from; i < share_start(share + 1, count); i++) {
        if (i > from && keys[i - 1] > keys[i]) fail("wrong result: key %ld is out of order", i);
        in += mix(input[i]);
        out += mix(keys[i]);
        sum += keys[i] * (2 * (uint64_t)i + 1);
    }
    if (in != out) fail("wrong result: keys of thread %ld are lost", share + 1);
    return sum;
}

static void report(void) {
    printf(",\"size_kib\":%ld,\"keys\":%ld", size_kib, count);
    print_ratio("million_per_second", (double)total.work / 1e6, total.seconds);
}
