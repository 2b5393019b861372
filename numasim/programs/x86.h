// What only x86 has: flushing one line, and a time counter that costs less than a system call.
// Elsewhere HAVE_X86 is 0 and a program must do without.
#ifndef NUMASIM_X86_H
#define NUMASIM_X86_H
#include "common.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#define HAVE_X86 1
static inline void flush_line(const void *line) { _mm_clflush(line); }
static inline void fence(void) { _mm_mfence(); }
// Between fences: no load before it is still in flight, none after it has begun.
static inline uint64_t read_tsc(void) {
    _mm_lfence();
    uint64_t ticks = __rdtsc();
    _mm_lfence();
    return ticks;
}
#else
#define HAVE_X86 0
static inline void flush_line(const void *line) { (void)line; }
static inline void fence(void) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
static inline uint64_t read_tsc(void) { return 0; }
#endif

// Ticks per ns of the time counter, against CLOCK_MONOTONIC over 20 ms.
static inline double measure_rate(void) {
    const struct timespec pause = {.tv_nsec = 20000000};
    double began = now();
    uint64_t first = read_tsc();
    nanosleep(&pause, NULL);
    return (double)(read_tsc() - first) / ((now() - began) * 1e9);
}

// The rate, or 0 where there is no counter or two measurements differ by more than 1 %: it follows
// the CPU's frequency, or stands.
static inline double tsc_rate(void) {
    double one = HAVE_X86 ? measure_rate() : 0, other = HAVE_X86 ? measure_rate() : 0;
    double difference = one > other ? one - other : other - one;
    return one > 0 && difference <= 0.01 * one ? (one + other) / 2 : 0;
}
#endif
