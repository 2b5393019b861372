// lock: threads that take one lock again and again, hold it for some steps and then think.
// Stresses: the lock. While a thread holds it no other can, so that all together never take it more
// often than once in the time for which it is held.
#include "common.h"
#if defined(__x86_64__)
#include <x86intrin.h>
#define rest_a_while() _mm_pause()
#else
#define rest_a_while() ((void)0)
#endif

static long hold = 64, think = 0, work = 2000;
static const char *kind = "ticket";
static struct {
    uint32_t next __attribute__((aligned(LINE)));
    uint32_t serving;
    pthread_mutex_t mutex __attribute__((aligned(LINE)));
    uint64_t counted __attribute__((aligned(LINE)));  // without atomics: only the lock protects it
} shared = {.mutex = PTHREAD_MUTEX_INITIALIZER};
static bool ticket;

static const struct program program = {
    .name = "lock",
    .about = "takes one lock, holds it for some steps, lets it go.\nStresses the lock.",
    .unit = "acquisitions",
    .knobs = {
        {.name = "hold", .number = &hold, .least = 0, .most = 1L << 24, .says = "steps with the lock held (a multiplication and an addition each)"},
        {.name = "think", .number = &think, .least = 0, .most = 1L << 24, .says = "steps between two of a thread's turns"},
        {.name = "work", .number = &work, .least = 1, .most = 1L << 32, .says = "acquisitions of each thread in a pass"},
        {.name = "kind", .text = &kind, .says = "ticket (spins) or mutex (pthread's, sleeps)"},
    },
};

static void allocate(void) {
    ticket = strcmp(kind, "ticket") == 0;
    if (!ticket && strcmp(kind, "mutex") != 0) bad_argument("--kind: \"%s\" is neither ticket nor mutex", kind);
}

static void fill(long share) { (void)share; }

static uint64_t steps(uint64_t x, long count) {
    for (long i = 0; i < count; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        __asm__ volatile("" : "+r"(x));
    }
    return x;
}

static void take_lock(void) {
    if (!ticket) {
        pthread_mutex_lock(&shared.mutex);
        return;
    }
    uint32_t mine = __atomic_fetch_add(&shared.next, 1, __ATOMIC_RELAXED);
    while (__atomic_load_n(&shared.serving, __ATOMIC_ACQUIRE) != mine) rest_a_while();
}

static void drop_lock(void) {
    if (ticket) __atomic_store_n(&shared.serving, shared.serving + 1, __ATOMIC_RELEASE);
    else pthread_mutex_unlock(&shared.mutex);
}

static uint64_t pass(long share) {
    uint64_t x = (uint64_t)share;
    if (share == 0) shared.counted = 0;
    meet();
    for (long i = 0; i < work; i++) {
        take_lock();
        uint64_t before = *(volatile uint64_t *)&shared.counted;
        x = steps(x, hold);
        *(volatile uint64_t *)&shared.counted = before + 1;
        drop_lock();
        x = steps(x, think);
    }
    return (uint64_t)work;
}

static uint64_t check(long share) {
    if (shared.counted != (uint64_t)(work * threads))
        fail("wrong result: %llu of %ld acquisitions were counted", (unsigned long long)shared.counted, work * threads);
    return mix((uint64_t)share + 1);
}

static void report(void) {
    printf(",\"hold\":%ld,\"think\":%ld,\"kind\":\"%s\"", hold, think, kind);
    print_ratio("ns_per_acquisition", total.seconds * 1e9, (double)total.work);
}
