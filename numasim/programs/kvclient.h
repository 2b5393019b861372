// A client of kv: draws keys, asks, waits for the answer and verifies every word of it.
#ifndef NUMASIM_KVCLIENT_H
#define NUMASIM_KVCLIENT_H
#include "kvserver.h"

static uint64_t keys;             // in the store
static int links[THREADS_MOST];   // each thread's connection
static uint32_t *versions;        // of each key, as this client put it last; 0: it did not
static uint32_t puts_done[THREADS_MOST];
static uint64_t sums[THREADS_MOST];

// Ranks are drawn log-uniformly: rank r about as often as 1/r, which is Zipf's law; mixed, so that
// hot keys lie scattered. Threads have keys of their own: what one gets does not depend on when
// another puts.
static inline uint64_t draw_place(long share, uint64_t *state) {
    uint64_t own = keys / (uint64_t)threads, doublings = 64 - (uint64_t)__builtin_clzll(own);
    uint64_t octave = 1ull << random_below(state, doublings), rank = octave - 1 + random_below(state, octave);
    return mix(rank + 1) % own * (uint64_t)threads + (uint64_t)share;
}

static inline void exchange(int link, const struct request *request, void *answer, size_t bytes) {
    if (!write_whole(link, request, sizeof *request) || !read_whole(link, answer, bytes)) fail("the server is gone");
}

static inline void put_one(long share, uint64_t place) {
    struct request request = {.value = make_value(key_at(place), ++puts_done[share])};
    uint64_t version;
    exchange(links[share], &request, &version, sizeof version);
    if (version != puts_done[share]) fail("wrong result: a put was not taken");
    versions[place] = puts_done[share];
    sums[share] += mix(request.value.key);
}

static inline void get_some(long share, const uint64_t *places, uint64_t count) {
    struct request request = {.count = count};
    struct value found[BATCH];
    for (uint64_t i = 0; i < count; i++) request.keys[i] = key_at(places[i]);
    exchange(links[share], &request, found, count * sizeof *found);
    for (uint64_t i = 0; i < count; i++) {
        uint32_t put = versions[places[i]];
        if (found[i].key != request.keys[i] || !is_whole(&found[i]) || (put && found[i].version != put))
            fail("wrong result: another value came back than was put");
        sums[share] += mix(found[i].key + i + 1);
    }
}

static inline void ask(long share, uint64_t *state, long put_percent) {
    uint64_t places[BATCH];
    if (random_below(state, 100) < (uint64_t)put_percent) {
        put_one(share, draw_place(share, state));
        return;
    }
    for (int i = 0; i < BATCH; i++) places[i] = draw_place(share, state);
    get_some(share, places, BATCH);
}
#endif
