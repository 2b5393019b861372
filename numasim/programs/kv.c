// kv: a key-value store behind a socket, in a process of its own, and the clients that load it.
// Keys are drawn like Zipf's (few are hot), most requests get a batch of values, some put one; a
// client waits for each answer before it asks again.
// Stresses: as a server does: random reads of a store (hot part cached, the rest not), copies
// through the kernel, and wake-ups between two processes, so that it matters whether server and
// client sit near each other. Latency shows what throughput hides.
#include "kvclient.h"

static long size_kib = 4096, work = 4000, put_percent = 10;
static double *latencies, median, tail;

static void recorded(void);
static const struct program program = {
    .name = "kv",
    .about = "a key-value server and its clients over a socket: skewed gets and puts.\n"
             "Stresses random reads, copies through the kernel and wake-ups between processes.",
    .unit = "requests",
    .recorded = recorded,
    .knobs = {
        {.name = "size-kib", .number = &size_kib, .least = 1, .most = 1L << 24, .says = "memory of the store"},
        {.name = "work", .number = &work, .least = 1, .most = 1L << 24, .says = "requests of each client thread in a pass"},
        {.name = "put-percent", .number = &put_percent, .least = 0, .most = 100, .says = "of the requests put a value"},
    },
};

static void allocate(void) {
    keys = keys_in(size_kib);
    if (keys < (uint64_t)threads) bad_argument("--size-kib: %ld give fewer keys than %ld threads", size_kib, threads);
    signal(SIGPIPE, SIG_IGN);
    fork_server(links, size_kib);
    versions = take(keys * sizeof *versions);
    latencies = take((size_t)(work * threads) * sizeof *latencies);
    memset(versions, 0, keys * sizeof *versions);
}

// A client is ready when the server answers it.
static void fill(long share) {
    uint64_t place = (uint64_t)share;
    memset(&latencies[share * work], 0, (size_t)work * sizeof *latencies);
    get_some(share, &place, 1);
}

static uint64_t pass(long share) {
    uint64_t state = random_state((uint64_t)share);
    sums[share] = 0;
    for (long i = 0; i < work; i++) {
        double asked = now();
        ask(share, &state, put_percent);
        latencies[share * work + i] = now() - asked;
    }
    return (uint64_t)work;
}

// Every answer was verified as it came.
static uint64_t check(long share) { return sums[share]; }

// Latencies are those of the last completed pass.
static void recorded(void) {
    sort_numbers(latencies, work * threads);
    median = latencies[work * threads / 2];
    tail = latencies[work * threads * 99 / 100];
}

static void report(void) {
    printf(",\"size_kib\":%ld,\"role\":\"pair\",\"keys\":%llu", size_kib, (unsigned long long)keys);
    print_ratio("requests_per_second", (double)total.work, total.seconds);
    print_ratio("median_latency_us", median * 1e6, total.passes_done > 0);
    print_ratio("p99_latency_us", tail * 1e6, total.passes_done > 0);
}
