// A walk along a random cycle of cache lines, which chase and probe do. It can be checked in a few
// steps, however long it ran.
#ifndef NUMASIM_CYCLE_H
#define NUMASIM_CYCLE_H
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
#endif
