// pipeline: every thread is a stage; each item's buffer is handed on from stage to stage.
// Stresses: a placement of pages that never changes: a buffer belongs to one thread at any time and
// to all of them in the course of it.
#include "common.h"

enum { ITEMS_MOST = 4096 };
static long size_kib = 1024, items = 16, sweeps = 20;
static uint64_t *buffers[THREADS_MOST], results[ITEMS_MOST];
static long words;

static const struct program program = {
    .name = "pipeline",
    .about = "stages, one a thread, hand buffers on.\nIts pages belong to one thread at a time, and to another soon after.",
    .unit = "bytes",
    .knobs = {
        {.name = "size-kib", .number = &size_kib, .least = 1, .most = 1L << 24, .says = "memory of all buffers, one a stage"},
        {.name = "items", .number = &items, .least = 1, .most = ITEMS_MOST, .says = "items that go through the stages in a pass"},
        {.name = "sweeps", .number = &sweeps, .least = 1, .most = 1L << 24, .says = "sweeps of a stage over each item"},
    },
};

static void allocate(void) {
    words = size_kib * 1024 / (long)sizeof(uint64_t) / threads;
    if (words < 16) bad_argument("--size-kib: %ld give less than 16 words to each of %ld threads", size_kib, threads);
    for (long i = 0; i < threads; i++) buffers[i] = take_aligned((size_t)words * sizeof **buffers, PAGE);
}

static void fill(long share) { memset(buffers[share], 0, (size_t)words * sizeof **buffers); }

static uint64_t first_value(long item, long i) { return mix(((uint64_t)seed << 40) + ((uint64_t)item << 28) + (uint64_t)i + 1); }
static uint64_t factor(long stage) { return 2 * (uint64_t)stage + 3; }
static uint64_t addend(long stage) { return mix((uint64_t)stage + 1); }

// A sweep takes every word x to factor x + addend; numbers wrap.
__attribute__((noinline)) static void sweep(uint64_t *buffer, long stage) {
    for (long i = 0; i < words; i++) buffer[i] = factor(stage) * buffer[i] + addend(stage);
}

// What a stage does with an item: the first brings it in, the last adds it up.
static void handle(long item, long stage) {
    uint64_t *buffer = buffers[item % threads], sum = 0;
    for (long i = 0; stage == 0 && i < words; i++) buffer[i] = first_value(item, i);
    for (long done = 0; done < sweeps; done++) sweep(buffer, stage);
    if (stage < threads - 1) return;
    for (long i = 0; i < words; i++) sum += buffer[i];
    results[item] = sum;
}

// Item k is at stage t in beat k + t. Its buffer is free again when the last stage has done with
// it.
static uint64_t pass(long share) {
    for (long beat = 0; beat < items + threads - 1; beat++) {
        long item = beat - share;
        if (item >= 0 && item < items) handle(item, share);
        meet();
    }
    return (uint64_t)items * (uint64_t)(sweeps * words) * 2 * sizeof(uint64_t);
}

// All sweeps together are one: the sum of an item is all factors times the sum at its begin, and
// for every word what the addends come to. No buffer is read.
static uint64_t check(long share) {
    uint64_t scale = 1, shift = 0, sum = 0;
    for (long stage = 0; stage < threads; stage++)
        for (long done = 0; done < sweeps; done++) scale *= factor(stage), shift = factor(stage) * shift + addend(stage);
    for (long item = share; item < items; item += threads) {
        uint64_t begin = 0;
        for (long i = 0; i < words; i++) begin += first_value(item, i);
        if (results[item] != scale * begin + shift * (uint64_t)words) fail("wrong result: item %ld", item);
        sum += results[item] * (2 * (uint64_t)item + 1);
        results[item] = 0;
    }
    return sum;
}

static void report(void) {
    printf(",\"size_kib\":%ld", size_kib);
    print_ratio("gb_per_second", (double)total.work / 1e9, total.seconds);
}
