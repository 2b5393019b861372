/* Processes and threads that come and go: `storm ROUNDS` forks ROUNDS children, 32 at a time; each
 * starts three threads that work and sleep for some tenths of a second, half of the processes end
 * before their threads do. Says how many of each there were. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { AT_A_TIME = 32, THREADS = 3 };

static void *work(void *argument) {
    /* One in five uses a kernel tick (10 ms) of CPU, so that isobar counts its events. */
    long part = (long)argument, work = part == 5 ? 500000 : 10000 * part;
    for (volatile long spins = 0; spins < work; spins++) {}
    usleep(100000u * (unsigned)(long)argument);
    return NULL;
}

static void child(int number) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, (void *)(1l + number % 5))) _exit(1);
    for (int i = 0; i < (number % 2 ? THREADS : 1); i++) pthread_join(threads[i], NULL);
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
