// clocks: threads that read the clock before and after the same short loop, again and again.
// Stresses: nothing: it shows whether short intervals are measured as long as they are. In a second
// part threads hand the time on under a lock, and count how often it went back.
#include "common.h"

enum { SAMPLES_MOST = 1 << 14, HANDED = 200 };
static long steps = 300, work = 2000;
static struct {
    double *times, truth;
    char rest[LINE - 2 * sizeof(double)];
} own[THREADS_MOST];
static struct {
    pthread_spinlock_t lock;
    double last;
    uint64_t back;
} handed;
static double median, low, high, longest, truth;
static uint64_t zeroes;

static void recorded(void);
static const struct program program = {
    .name = "clocks",
    .about = "reads the clock before and after a short loop.\nStresses nothing: shows whether short intervals are measured right.",
    .unit = "intervals",
    .recorded = recorded,
    .knobs = {
        {.name = "steps", .number = &steps, .least = 1, .most = 1L << 24, .says = "steps of the loop (a multiplication and an addition each)"},
        {.name = "work", .number = &work, .least = 10, .most = SAMPLES_MOST, .says = "intervals of each thread in a pass"},
    },
};

static void allocate(void) { pthread_spin_init(&handed.lock, 0); }

static void fill(long share) {
    own[share].times = take((size_t)work * sizeof(double));
    memset(own[share].times, 0, (size_t)work * sizeof(double));
}

__attribute__((noinline)) static void loop(long count) {
    uint64_t x = 1;
    for (long i = 0; i < count; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        __asm__ volatile("" : "+r"(x));
    }
}

static double interval(long count) {
    double began = now();
    loop(count);
    return now() - began;
}

static void hand_on(void) {
    pthread_spin_lock(&handed.lock);
    double time = now();
    handed.back += time < handed.last;
    handed.last = time;
    pthread_spin_unlock(&handed.lock);
}

// The truth is the same loop over and over between two readings.
static uint64_t pass(long share) {
    for (long i = 0; i < work; i++) own[share].times[i] = interval(steps);
    meet();
    double began = now();
    for (long i = 0; i < work; i++) loop(steps);
    own[share].truth = (now() - began) / (double)work;
    meet();
    for (long i = 0; i < HANDED; i++) hand_on();
    return (uint64_t)work;
}

static uint64_t check(long share) {
    for (long i = 0; i < work; i++)
        if (own[share].times[i] < 0) fail("wrong result: the clock of one thread went back");
    return mix((uint64_t)share + 1);
}

// Of the last completed pass, all threads together. What reading the clock takes is taken off.
static void recorded(void) {
    double empty[33], *all = take((size_t)(threads * work) * sizeof(double));
    for (int i = 0; i < 33; i++) empty[i] = interval(0);
    sort_numbers(empty, 33);
    truth = 0;
    for (long t = 0; t < threads; t++) {
        memcpy(&all[t * work], own[t].times, (size_t)work * sizeof(double));
        truth += own[t].truth / (double)threads * 1e9;
    }
    sort_numbers(all, threads * work);
    zeroes = 0;
    for (long i = 0; i < threads * work; i++) zeroes += all[i] == 0;
    median = (all[threads * work / 2] - empty[16]) * 1e9;
    low = (all[threads * work / 10] - empty[16]) * 1e9;
    high = (all[threads * work * 9 / 10] - empty[16]) * 1e9;
    longest = all[threads * work - 1] * 1e9;
    free(all);
}

static void report(void) {
    double known = total.passes_done > 0;
    print_ratio("ns", median, known);
    print_ratio("ns_p10", low, known);
    print_ratio("ns_p90", high, known);
    print_ratio("ns_longest", longest, known);
    print_ratio("ns_true", truth, known);
    printf(",\"zeroes\":%llu,\"back\":%llu", (unsigned long long)zeroes, (unsigned long long)handed.back);
}
