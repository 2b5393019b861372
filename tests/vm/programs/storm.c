/* Processes and threads that come and go: `storm ROUNDS` forks ROUNDS children, eight at a time; each starts three threads that work
 * for an instant and end, half of them after their process has already decided to go. Says how many of each there were. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { AT_A_TIME = 8, THREADS = 3 };

static void *work(void *argument) {
    for (volatile long spins = 0; spins < (long)argument; spins++) {}
    return NULL;
}

static void child(int number) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, (void *)(200000l * (1 + number % 5)))) _exit(1);
    if (number % 2)
        for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    _exit(0);
}

int main(int count, char **words) {
    int rounds = count > 1 ? atoi(words[1]) : 100, failed = 0, alive = 0, status;
    alarm(300);
    for (int i = 0; i < rounds; i++) {
        if (alive == AT_A_TIME && wait(&status) > 0) alive--, failed += status != 0;
        pid_t pid = fork();
        if (pid == 0) child(i);
        if (pid < 0) failed++;
        else alive++;
    }
    while (wait(&status) > 0) failed += status != 0;
    printf("processes %d threads %d failed %d\n", rounds, rounds * THREADS, failed);
    return failed != 0;
}
