// Memory whose pages lie evenly in a cache. Which sets of a cache a page's lines lie in (its
// colour) follows from where it is in physical memory, and how many pages of each colour a program
// gets is chance: a cache of 16 ways may have to hold 20 pages of one colour and 8 of another.
#ifndef NUMASIM_COLOURS_H
#define NUMASIM_COLOURS_H
#include "common.h"
#include <sys/mman.h>

// The colours of pages from `at` on, by /proc/self/pagemap, which only root may read.
static inline void find_colours(const char *at, long pages, long colours, long *found) {
    int map = open("/proc/self/pagemap", O_RDONLY);
    if (map < 0) fail("/proc/self/pagemap: %s", strerror(errno));
    for (long i = 0; i < pages; i++) {
        uint64_t entry;
        off_t place = (off_t)(((uintptr_t)at / PAGE + (uintptr_t)i) * sizeof entry);
        if (pread(map, &entry, sizeof entry, place) != sizeof entry) fail("/proc/self/pagemap: %s", strerror(errno));
        uint64_t frame = entry & ((UINT64_C(1) << 55) - 1);
        if (frame == 0) fail("--colours: the kernel shows only root where pages are");
        found[i] = (long)(frame % (uint64_t)colours);
    }
    close(map);
}

// Memory of as many pages of each colour, or one more. Pages are touched by the caller's thread,
// four times as many as are wanted, and the surplus is given back.
static inline void *take_by_colour(size_t bytes, long colours) {
    long pages = (long)((bytes + PAGE - 1) / PAGE), pool = 4 * pages + 8 * colours, taken = 0;
    int kind = MAP_PRIVATE | MAP_ANONYMOUS;
    char *from = mmap(NULL, (size_t)pool * PAGE, PROT_READ | PROT_WRITE, kind, -1, 0);
    char *to = mmap(NULL, (size_t)pages * PAGE, PROT_NONE, kind, -1, 0);
    long *colour = calloc((size_t)(pool + colours), sizeof *colour), *have = colour + pool;
    if (from == MAP_FAILED || to == MAP_FAILED || !colour) fail("no memory for %zu KiB", bytes / 1024);
    // Huge pages have their own size in physical memory, too.
    madvise(from, (size_t)pool * PAGE, MADV_NOHUGEPAGE);
    for (long i = 0; i < pool; i++) from[i * PAGE] = 1;
    find_colours(from, pool, colours, colour);
    for (long i = 0; i < pool && taken < pages; i++) {
        long most = pages / colours + (colour[i] < pages % colours);
        if (have[colour[i]] == most) continue;
        have[colour[i]]++;
        void *moved = mremap(from + i * PAGE, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to + taken++ * PAGE);
        if (moved == MAP_FAILED) fail("--colours: a page cannot be moved: %s", strerror(errno));
    }
    if (taken < pages) fail("--colours: only %ld of %ld pages have the colours wanted", taken, pages);
    munmap(from, (size_t)pool * PAGE);
    free(colour);
    return to;
}
#endif
