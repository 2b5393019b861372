/* Makes large allocations in functions of their own, and stores once to each page of them. */
#include <stdlib.h>
#include <sys/mman.h>

enum { PAGE = 4096, PAGES = 64 };

static void touch(char *at, int pages) {
    for (int page = 0; page < pages; page++) ((volatile char *)at)[page * PAGE] = 1;
}

__attribute__((noinline)) static char *by_malloc(void) {
    return malloc(PAGES * PAGE); /* line 12 */
}

__attribute__((noinline)) static char *by_calloc_and_realloc(void) {
    char *first = calloc(PAGES, PAGE);
    return realloc(first, 2 * PAGES * PAGE); /* line 17 */
}

__attribute__((noinline)) static char *by_mmap(void) {
    return mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); /* 21 */
}

int main(void) {
    char *a = by_malloc();
    char *b = by_calloc_and_realloc();
    char *c = by_mmap();
    char *small = malloc(8 * PAGE);
    /* The program's environment is its own. */
    if (getenv("LD_PRELOAD")) return 7;
    touch(a, PAGES);
    touch(b, 2 * PAGES);
    touch(c, PAGES);
    touch(small, 8);
    return a == NULL || b == NULL || c == MAP_FAILED;
}
