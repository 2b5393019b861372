// numaplace: where the memory of a process lies: pages and KiB on each node, as its
// /proc/PID/numa_maps says, summed up. Pages of different sizes are counted by their own size;
// "anonymous" is what lies in mappings without a file.
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES_MOST = 1024 };
static struct {
    unsigned long long pages, kib, anonymous_kib;
} nodes[NODES_MOST];

__attribute__((noreturn, format(printf, 2, 3))) static void end_with(int status, const char *format, ...) {
    va_list values;
    va_start(values, format);
    fprintf(stderr, "numaplace: ");
    vfprintf(stderr, format, values);
    fputc('\n', stderr);
    exit(status);
}

__attribute__((noreturn)) static void print_help(void) {
    printf("numaplace PID: pages and KiB of a process on each NUMA node, from /proc/PID/numa_maps, as one JSON line.\n"
           "Nodes without a page of it are left out. Exit: 0 done, 1 the file cannot be read, 2 bad arguments.\n");
    exit(0);
}

static long read_pid(const char *text) {
    char *rest;
    errno = 0;
    long pid = strtol(text, &rest, 10);
    if (errno || rest == text || *rest || pid < 1) end_with(2, "\"%s\" is not the number of a process", text);
    return pid;
}

// The words "N<node>=<pages>" of a line, with the page size in KiB.
static void add_line(char *line) {
    const char *size = strstr(line, "kernelpagesize_kB=");
    unsigned long long page_kib = size ? strtoull(strchr(size, '=') + 1, NULL, 10) : 4;
    bool of_file = strstr(line, " file=") != NULL;
    for (char *word = strtok(line, " \n"); word; word = strtok(NULL, " \n")) {
        unsigned node;
        unsigned long long pages;
        if (!isdigit((unsigned char)word[1]) || sscanf(word, "N%u=%llu", &node, &pages) != 2) continue;
        if (node >= NODES_MOST) end_with(1, "node %u: %d are known at most", node, NODES_MOST);
        nodes[node].pages += pages;
        nodes[node].kib += pages * page_kib;
        if (!of_file) nodes[node].anonymous_kib += pages * page_kib;
    }
}

static void read_places(long pid) {
    char path[64], *line = NULL;
    size_t room = 0;
    snprintf(path, sizeof path, "/proc/%ld/numa_maps", pid);
    FILE *file = fopen(path, "r");
    if (!file) end_with(1, "%s: %s", path, strerror(errno));
    while (getline(&line, &room, file) > 0) add_line(line);
    if (ferror(file)) end_with(1, "%s: %s", path, strerror(errno));
    fclose(file);
    free(line);
}

static void print_places(long pid) {
    const char *comma = "";
    printf("{\"program\":\"numaplace\",\"pid\":%ld,\"nodes\":{", pid);
    for (int node = 0; node < NODES_MOST; node++) {
        if (!nodes[node].pages) continue;
        printf("%s\"%d\":{\"pages\":%llu,\"kib\":%llu,\"anonymous_kib\":%llu}", comma, node, nodes[node].pages, nodes[node].kib,
               nodes[node].anonymous_kib);
        comma = ",";
    }
    printf("}}\n");
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "--help") == 0) print_help();
    if (argc != 2) end_with(2, "wants one argument, the number of a process; see --help");
    long pid = read_pid(argv[1]);
    read_places(pid);
    print_places(pid);
    return 0;
}
