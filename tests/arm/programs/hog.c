/* `hog TID COUNT` opens COUNT instruction counters on a thread, one by one, so that another program
 * that counts it has a hardware counter for a part of the time. Says `open`, waits for a line, and
 * says which part of its time its first event had a counter, in thousandths. */
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST = 64 };

int main(int words, char **word) {
    struct perf_event_attr attr = {
        .size = sizeof attr, .type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_INSTRUCTIONS,
        .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING};
    uint64_t read_out[3] = {0};
    int count = words > 2 ? atoi(word[2]) : 0, first = -1;
    if (count < 1 || count > MOST) return 2;
    for (int i = 0; i < count; i++) {
        int fd = (int)syscall(SYS_perf_event_open, &attr, atoi(word[1]), -1, -1, 0);
        if (fd < 0) { perror("error: perf_event_open"); return 1; }
        if (i == 0) first = fd;
    }
    puts("open");
    fflush(stdout);
    getchar();
    if (read(first, read_out, sizeof read_out) != sizeof read_out || read_out[1] == 0) {
        puts("error: nothing read");
        return 1;
    }
    printf("%llu\n", (unsigned long long)(read_out[2] * 1000 / read_out[1]));
    return 0;
}
