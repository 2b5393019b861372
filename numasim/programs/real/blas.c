// blas ORDER ROUNDS: C = A B + C by the OpenBLAS that the loader finds, ROUNDS times, and a line
// with the sum of C. All matrices hold small whole numbers, so that the sum is exact in whatever
// order threads add.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROW_MAJOR = 101, AS_IT_IS = 111 };
typedef void gemm(int, int, int, int, int, int, double, const double *, int, const double *, int, double, double *, int);

int main(int argc, char **argv) {
    int order = argc > 1 ? atoi(argv[1]) : 0, rounds = argc > 2 ? atoi(argv[2]) : 0;
    if (order < 1 || order > 8192 || rounds < 1) return fprintf(stderr, "usage: blas ORDER ROUNDS\n"), 2;
    void *library = dlopen("libopenblas.so.0", RTLD_NOW);
    gemm *multiply = library ? (gemm *)dlsym(library, "cblas_dgemm") : NULL;
    if (!multiply) return fprintf(stderr, "blas: %s\n", dlerror()), 1;
    size_t count = (size_t)order * (size_t)order;
    double *a = malloc(count * sizeof *a), *b = malloc(count * sizeof *b), *c = calloc(count, sizeof *c), sum = 0;
    if (!a || !b || !c) return fprintf(stderr, "blas: no memory\n"), 1;
    for (size_t i = 0; i < count; i++) a[i] = (double)(i % 7), b[i] = (double)(i % 5);
    for (int round = 0; round < rounds; round++)
        multiply(ROW_MAJOR, AS_IT_IS, AS_IT_IS, order, order, order, 1, a, order, b, order, 1, c, order);
    for (size_t i = 0; i < count; i++) sum += c[i];
    printf("%.0f\n", sum);
    return 0;
}
