// real: runs a program that is not one of ours as if it were: set-up, --ready-file, --start-file,
// timed passes, one JSON line.
//
//   real RECIPE [NAME=VALUE ...] [--ready-file PATH] [--start-file PATH] [--repeat]
//
// What to do is a shell script, /lib/real/RECIPE, or a path with a slash (programs/real/ here). It
// is called in an empty folder of its own, with each NAME=VALUE in its environment, as
//
//   RECIPE setup   before the program is ready: makes files, starts servers, fills memory
//   RECIPE run     the measured part; its standard output goes into the checksum, which must be the
//                  same in each pass
//   RECIPE end     after the last pass: ends servers
//
// Lines "NAME NUMBER" of the file `figures` in that folder become members of the JSON line.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PASSES_KEPT = 64, PATH_MOST = 4096 };

static const char *name, *ready_file, *start_file;
static char script[PATH_MOST], folder[PATH_MOST];
static bool repeat;
static volatile sig_atomic_t asked_to_end;

static bool set_up;  // what was begun must be ended, however we leave
static int step(const char *what, const char *out);

__attribute__((noreturn, format(printf, 2, 3))) static void end_with(int status, const char *format, ...) {
    va_list values;
    va_start(values, format);
    fputs("real: ", stderr);
    vfprintf(stderr, format, values);
    fputc('\n', stderr);
    if (set_up) {
        set_up = false;  // if this fails as well, it is not tried again
        step("end", "end.out");
    }
    exit(status);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static const char *value_of(char **argument) {
    if (!argument[1]) end_with(2, "%s: its value is missing", *argument);
    return argument[1];
}

static void read_arguments(char **argument) {
    if (!argument[1] || argument[1][0] == '-') end_with(2, "usage: real RECIPE [NAME=VALUE ...]");
    name = argument[1];
    for (argument += 2; *argument; argument++) {
        if (strcmp(*argument, "--repeat") == 0) repeat = true;
        else if (strcmp(*argument, "--ready-file") == 0) ready_file = value_of(argument++);
        else if (strcmp(*argument, "--start-file") == 0) start_file = value_of(argument++);
        else if (**argument != '-' && **argument != '=' && strchr(*argument, '=')) putenv(*argument);
        else end_with(2, "unexpected \"%s\": write NAME=VALUE, --ready-file, --start-file or --repeat", *argument);
    }
    int length = snprintf(script, sizeof script, "%s%s", strchr(name, '/') ? "" : "/lib/real/", name);
    char *whole = length < (int)sizeof script ? realpath(script, NULL) : NULL;
    if (!whole) end_with(2, "%s: %s", script, strerror(errno));
    snprintf(script, sizeof script, "%s", whole);
    free(whole);
}

// A path that stays the same when we go to a folder of our own; the file need not exist.
static const char *absolute(const char *path) {
    static char both[2][PATH_MOST];
    static int used;
    char here[PATH_MOST];
    if (*path == '/') return path;
    if (!getcwd(here, sizeof here)) end_with(1, "the working directory: %s", strerror(errno));
    char *whole = both[used++];
    if (snprintf(whole, PATH_MOST, "%s/%s", here, path) >= PATH_MOST) end_with(2, "%s: too long a path", path);
    return whole;
}

// A folder of its own: beside the ready file, where the director keeps what a run leaves.
static void take_folder(void) {
    if (ready_file) ready_file = absolute(ready_file);
    if (start_file) start_file = absolute(start_file);
    if (ready_file) {
        snprintf(folder, sizeof folder, "%s.folder", ready_file);
        if (mkdir(folder, 0755) != 0) end_with(1, "%s: %s", folder, strerror(errno));
    } else {
        snprintf(folder, sizeof folder, "/tmp/real.XXXXXX");
        if (!mkdtemp(folder)) end_with(1, "%s: %s", folder, strerror(errno));
    }
    if (chdir(folder) != 0) end_with(1, "%s: %s", folder, strerror(errno));
}

// Runs a step to its end; its standard output goes to a file of the folder.
static int step(const char *what, const char *out) {
    extern char **environ;
    char *argv[] = {"sh", script, (char *)what, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out, O_CREAT | O_TRUNC | O_WRONLY, 0644);
    pid_t child;
    int error = posix_spawn(&child, "/bin/sh", &actions, NULL, argv, environ), status;
    posix_spawn_file_actions_destroy(&actions);
    if (error) end_with(1, "/bin/sh: %s", strerror(error));
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) end_with(1, "waitpid: %s", strerror(errno));
    return status;
}

static void must(const char *what, int status) {
    if (WIFSIGNALED(status)) end_with(1, "%s %s: ended by signal %d", name, what, WTERMSIG(status));
    if (WEXITSTATUS(status)) end_with(1, "%s %s: exit status %d", name, what, WEXITSTATUS(status));
}

// FNV-1a of a file, folded below 2^53, which every JSON reader keeps.
static uint64_t checksum(const char *path) {
    FILE *file = fopen(path, "r");
    if (!file) end_with(1, "%s/%s: %s", folder, path, strerror(errno));
    uint64_t sum = 0xcbf29ce484222325u;
    for (int byte; (byte = getc(file)) != EOF;) sum = (sum ^ (uint64_t)byte) * 0x100000001b3u;
    fclose(file);
    return sum >> 11;
}

static void print_figures(void) {
    FILE *file = fopen("figures", "r");
    char word[64];
    double number;
    if (!file) return;  // a recipe need not have any
    while (fscanf(file, "%63s %lf", word, &number) == 2)
        if (!strpbrk(word, "\"\\") && isfinite(number)) printf(",\"%s\":%.6f", word, number);
    fclose(file);
}

static void note_end(int signal) {
    (void)signal;
    asked_to_end = 1;
}

static void tell_ready_and_wait(void) {
    if (ready_file) {
        int file = open(ready_file, O_CREAT | O_WRONLY, 0644);
        if (file < 0) end_with(1, "--ready-file %s: %s", ready_file, strerror(errno));
        close(file);
    }
    const struct timespec nap = {.tv_nsec = 1000000};
    while (start_file && access(start_file, F_OK) != 0 && !asked_to_end) nanosleep(&nap, NULL);
}

int main(int argc, char **argv) {
    (void)argc;
    read_arguments(argv);
    struct sigaction action = {.sa_handler = note_end};
    sigaction(SIGTERM, &action, NULL);
    double began = now(), seconds = 0, unfinished = 0, passes[PASSES_KEPT];
    long done = 0;
    uint64_t sum = 0;
    take_folder();
    set_up = true;
    must("setup", step("setup", "setup.out"));
    double setup = now() - began;
    tell_ready_and_wait();
    while (!asked_to_end && (!done || repeat)) {
        began = now();
        int status = step("run", "out");
        double took = now() - began;
        if (asked_to_end) {
            unfinished = took;
            break;
        }
        must("run", status);
        uint64_t found = checksum("out");
        if (done && found != sum) end_with(1, "%s run: pass %ld printed other words than the first", name, done + 1);
        sum = found;
        if (done < PASSES_KEPT) passes[done] = took;
        done++;
        seconds += took;
    }
    set_up = false;
    int ended = step("end", "end.out");
    if (!asked_to_end) must("end", ended);
    // Without --repeat a signal leaves nothing to report.
    if (asked_to_end && !repeat) end_with(1, "ended by SIGTERM");
    printf("{\"program\":\"%s\",\"seconds\":%.9f,\"setup_seconds\":%.9f,\"work\":%ld,\"unit\":\"passes\",\"checksum\":", name,
           seconds, setup, done);
    if (done) printf("%llu", (unsigned long long)sum);
    else printf("null");
    printf(",\"passes_done\":%ld,\"passes\":[", done);
    for (long i = 0; i < done && i < PASSES_KEPT; i++) printf("%s%.9f", i ? "," : "", passes[i]);
    printf("],\"unfinished_seconds\":%.9f", unfinished);
    print_figures();
    printf("}\n");
    return fflush(stdout) == 0 ? 0 : 1;
}
