// lines: touches cache lines whose addresses it knows in advance: loads in random order, with or
// without a prefetch, stores that bypass the caches, or counts in words that may share a line.
// Stresses: what a core does at the same time, and the cache lines that threads share.
#include "common.h"
#include "x86.h"
#if HAVE_X86
#define rest_a_while() _mm_pause()
#else
#define rest_a_while() ((void)0)
#endif

static long size_kib = 4096, work = 100000, apart = 64, gap = 200;
static const char *how = "load";
static enum { LOAD, LATE, AHEAD, AROUND, COUNT } way;
static char *lines;
static long count;
static uint64_t *sums;
static long awake __attribute__((aligned(LINE)));

static const struct program program = {
    .name = "lines",
    .about = "touches cache lines whose addresses it knows in advance.\nStresses what a core does at the same time.",
    .unit = "lines",
    .knobs = {
        {.name = "size-kib", .number = &size_kib, .least = 1, .most = 1L << 24, .says = "memory of the program"},
        {.name = "work", .number = &work, .least = 1, .most = 1L << 40, .says = "lines that each thread touches in a pass"},
        {.name = "how", .text = &how, .says = "load (random lines), late and ahead (the same with --gap steps between, the second prefetched), around (stores that bypass the caches), count (each thread its own word, by atomics)"},
        {.name = "gap", .number = &gap, .least = 0, .most = 1L << 20, .says = "steps between two lines, of late and ahead (a multiplication and an addition each)"},
        {.name = "apart", .number = &apart, .least = 8, .most = 4096, .says = "bytes between two threads' words, of count"},
    },
};

static void allocate(void) {
    static const char *const names[] = {"load", "late", "ahead", "around", "count"};
    for (way = LOAD; way <= COUNT && strcmp(how, names[way]) != 0;) way++;
    if (way > COUNT) bad_argument("--how: \"%s\" is not load, late, ahead, around or count", how);
    if (apart % 8 != 0) bad_argument("--apart: %ld is no multiple of 8", apart);
    if (!HAVE_X86 && way == AROUND) bad_argument("--how: around is an instruction of x86; use load");
    count = size_kib * 1024 / LINE;
    if (count * LINE < threads * apart) bad_argument("--size-kib: %ld are too few for %ld threads", size_kib, threads);
    lines = take_aligned((size_t)count * LINE, 4096);
    sums = take((size_t)threads * LINE);
}

static uint64_t *first_word(long line) { return (uint64_t *)(lines + line * LINE); }

static void fill(long share) {
    for (long i = share_start(share, count); i < share_start(share + 1, count); i++) {
        for (long word = 0; word < LINE / 8; word++) first_word(i)[word] = 0;
        if (way < AROUND) *first_word(i) = (uint64_t)i + 1;
    }
}

// The next line of a sequence that needs no memory: addresses are known long before they are used.
static long next_line(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (long)((*state >> 32) * (uint64_t)count >> 32);
}

static uint64_t steps(uint64_t x) {
    for (long i = 0; i < gap; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        __asm__ volatile("" : "+r"(x));
    }
    return x;
}

static uint64_t load_lines(uint64_t state) {
    uint64_t sum = 0;
    for (long i = 0; i < work; i++) sum += *(volatile uint64_t *)first_word(next_line(&state));
    return sum;
}

// The line of the next round is prefetched before the steps of this one, or not at all.
static uint64_t load_with_gaps(uint64_t state, bool prefetches) {
    uint64_t sum = 0, x = 1;
    long line = next_line(&state);
    for (long i = 0; i < work; i++) {
        long next = next_line(&state);
        if (prefetches) __builtin_prefetch(first_word(next));
        x = steps(x);
        sum += *(volatile uint64_t *)first_word(line);
        line = next;
    }
    return sum;
}

static void store_around(void) {
#if HAVE_X86
    for (long i = 0; i < work; i++)
        for (long word = 0; word < LINE / 8; word++) _mm_stream_si64((long long *)first_word(i % count) + word, i);
    _mm_sfence();
#endif
}

// Threads that wake one after another begin together: each waits, awake, for the others.
static void count_up(long share) {
    __atomic_fetch_add(&awake, 1, __ATOMIC_RELAXED);
    while (__atomic_load_n(&awake, __ATOMIC_RELAXED) % threads != 0) rest_a_while();
    uint64_t *word = (uint64_t *)(lines + share * apart);
    for (long i = 0; i < work; i++) __atomic_fetch_add(word, 1, __ATOMIC_RELAXED);
}

static uint64_t pass(long share) {
    uint64_t state = random_state((uint64_t)share);
    if (way == COUNT) *(uint64_t *)(lines + share * apart) = 0;
    meet();
    if (way == LOAD) sums[share * LINE / 8] = load_lines(state);
    else if (way == COUNT) count_up(share);
    else if (way == AROUND) store_around();
    else sums[share * LINE / 8] = load_with_gaps(state, way == AHEAD);
    return (uint64_t)work;
}

static uint64_t check(long share) {
    uint64_t want = 0, found = sums[share * LINE / 8], state = random_state((uint64_t)share);
    if (way == COUNT) {
        want = (uint64_t)work;
        found = *(uint64_t *)(lines + share * apart);
    } else if (way == AROUND) {
        long last = (work - 1) % count;
        want = (uint64_t)(work - 1);
        found = first_word(last)[LINE / 8 - 1];
    } else {
        for (long i = 0; i < work; i++) want += (uint64_t)next_line(&state) + 1;
    }
    if (found != want) fail("wrong result: thread %ld has %llu, not %llu", share + 1, (unsigned long long)found, (unsigned long long)want);
    return mix(found);
}

static void report(void) {
    printf(",\"size_kib\":%ld,\"how\":\"%s\"", size_kib, how);
    print_ratio("ns_per_line", total.seconds * 1e9 * (double)threads, (double)total.work);
}
