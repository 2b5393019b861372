// copy: sets or copies memory: by a repeated instruction, by a loop, or by the C library.
// Stresses: memory bandwidth, or the cache that holds it.
#include "common.h"

static long size_kib = 4096, rounds = 10;
static const char *how = "library", *what = "set";
static enum { REP, LOOP, LIBRARY } way;
static bool copies;
static char *from, *to;

static const struct program program = {
    .name = "copy",
    .about = "sets or copies memory.\nStresses memory bandwidth, or the cache that holds it.",
    .unit = "lines",
    .knobs = {
        {.name = "size-kib", .number = &size_kib, .least = 4, .most = 1L << 24, .says = "memory that is set, or copied"},
        {.name = "rounds", .number = &rounds, .least = 1, .most = 1L << 24, .says = "times in a pass"},
        {.name = "how", .text = &how, .says = "rep (rep stosb, rep movsb), loop (eight bytes a step) or library (memset, memcpy)"},
        {.name = "what", .text = &what, .says = "set or copy"},
    },
};

static void allocate(void) {
    if (threads != 1) bad_argument("--threads: it has one");
    if (strcmp(how, "rep") == 0) way = REP;
    else if (strcmp(how, "loop") == 0) way = LOOP;
    else if (strcmp(how, "library") == 0) way = LIBRARY;
    else bad_argument("--how: \"%s\" is not rep, loop or library", how);
    copies = strcmp(what, "copy") == 0;
    if (!copies && strcmp(what, "set") != 0) bad_argument("--what: \"%s\" is neither set nor copy", what);
#if !defined(__x86_64__)
    if (way == REP) bad_argument("--how: rep is an instruction of x86; use loop or library");
#endif
    to = take((size_t)size_kib * 1024);
    if (copies) from = take((size_t)size_kib * 1024);
}

static uint64_t word(long i) { return (uint64_t)(seed + i); }

static void fill(long share) {
    (void)share;
    for (long i = 0; i < size_kib * 128; i++) {
        ((uint64_t *)to)[i] = 0;
        if (copies) ((uint64_t *)from)[i] = word(i);
    }
}

static void by_rep(int byte, size_t bytes) {
#if defined(__x86_64__)
    void *dest = to, *source = from;
    if (copies) __asm__ volatile("rep movsb" : "+D"(dest), "+S"(source), "+c"(bytes)::"memory");
    else __asm__ volatile("rep stosb" : "+D"(dest), "+c"(bytes) : "a"(byte) : "memory");
#else
    (void)byte, (void)bytes;
#endif
}

static void by_loop(int byte, size_t bytes) {
    uint64_t *dest = (uint64_t *)to, *source = (uint64_t *)from, value = (uint64_t)byte * 0x0101010101010101u;
    for (size_t i = 0; i < bytes / 8; i++) {
        dest[i] = copies ? source[i] : value;
        __asm__ volatile("" ::: "memory");
    }
}

static void by_library(int byte, size_t bytes) {
    if (copies) memcpy(to, from, bytes);
    else memset(to, byte, bytes);
    __asm__ volatile("" ::: "memory");
}

static int byte_of(long round) { return (int)(round % 255) + 1; }

static uint64_t pass(long share) {
    size_t bytes = (size_t)size_kib * 1024;
    (void)share;
    for (long round = 0; round < rounds; round++) (way == REP ? by_rep : way == LOOP ? by_loop : by_library)(byte_of(round), bytes);
    return (uint64_t)rounds * bytes / LINE;
}

static uint64_t check(long share) {
    uint64_t want = (uint64_t)byte_of(rounds - 1) * 0x0101010101010101u, sum = 0;
    (void)share;
    for (long i = 0; i < size_kib * 128; i++) {
        uint64_t found = ((uint64_t *)to)[i];
        if (found != (copies ? word(i) : want)) fail("wrong result: word %ld", i);
        sum += found * (2 * (uint64_t)i + 1);
    }
    return sum;
}

static void report(void) {
    printf(",\"size_kib\":%ld,\"how\":\"%s\",\"what\":\"%s\"", size_kib, how, what);
    print_ratio("ns_per_line", total.seconds * 1e9, (double)total.work);
}
