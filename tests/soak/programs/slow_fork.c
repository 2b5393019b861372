/* Makes the forks of this process last. Whoever handles the page faults of a process hears of its
 * forks (userfaultfd, UFFD_FEATURE_EVENT_FORK), and a fork goes on only when that has been read. By
 * then the child has the CPUs of its parent, and cannot be seen yet. */
#define _GNU_SOURCE
#include "slow_fork.h"
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096 };

static int events;

/* Reads of each fork when it has lasted for a while. */
static void *let_go(void *unused) {
    static const useconds_t ms[] = {70, 300, 20, 150};
    struct pollfd fork = {.fd = events, .events = POLLIN};
    struct uffd_msg message;
    for (unsigned i = 0;; i++) {
        if (poll(&fork, 1, -1) != 1) return unused;
        usleep(ms[i % 4] * 1000);
        if (read(events, &message, sizeof message) != sizeof message) return unused;
        if (message.event == UFFD_EVENT_FORK) close((int)message.arg.fork.ufd);
    }
}

/* From now on forks of this process last; 0 where the kernel does not permit that (without
 * CAP_SYS_PTRACE). */
int make_forks_last(void) {
    pthread_t thread;
    struct uffdio_api api = {.api = UFFD_API, .features = UFFD_FEATURE_EVENT_FORK};
    events = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
    if (events < 0 || ioctl(events, UFFDIO_API, &api)) return 0;
    void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct uffdio_register watched = {
        .range = {.start = (uint64_t)(uintptr_t)page, .len = PAGE},
        .mode = UFFDIO_REGISTER_MODE_MISSING,
    };
    if (page == MAP_FAILED || ioctl(events, UFFDIO_REGISTER, &watched)) return 0;
    return pthread_create(&thread, NULL, let_go, NULL) == 0;
}
