/* The matrix product of the paper's figure 2, with 4 threads: rows of A and C are split among them,
 * and the first thread has filled all three. */
#include <pthread.h>
#include <stdio.h>

#ifndef N
#define N 128
#endif
int A[N][N], B[N][N], C[N][N];

static void *work(void *number) {
    long t = (long)number;
    for (long i = t * N / 4; i < (t + 1) * N / 4; i++)
        for (int j = 0; j < N; j++)
            for (int k = 0; k < N; k++) C[i][j] += A[i][k] * B[k][j];
    return NULL;
}

int main(void) {
    pthread_t threads[4];
    long trace = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) A[i][j] = i, B[i][j] = j, C[i][j] = 0;
    for (long t = 1; t < 4; t++)
        if (pthread_create(&threads[t], NULL, work, (void *)t)) return 3;
    work((void *)0);
    for (int t = 1; t < 4; t++) pthread_join(threads[t], NULL);
    for (int i = 0; i < N; i++) trace += C[i][i];
    /* The sum of N i i, with i from 0 to N - 1. */
    printf("%ld\n", trace);
    return trace == (long)N * N * (N - 1) * (2 * N - 1) / 6 ? 0 : 1;
}
