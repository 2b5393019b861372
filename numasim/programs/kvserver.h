// The server of kv: one thread, poll, and a store. It serves connections that it inherits.
#ifndef NUMASIM_KVSERVER_H
#define NUMASIM_KVSERVER_H
#include "kvstore.h"
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>

// Serves until the last of its connections is gone.
static inline void serve_all(const struct store *store, struct pollfd *fds, nfds_t open) {
    while (open > 0) {
        if (poll(fds, open, -1) < 0 && errno != EINTR) fail("poll: %s", strerror(errno));
        nfds_t kept = 0;
        for (nfds_t i = 0; i < open; i++) {
            if (fds[i].revents == 0 || serve(store, fds[i].fd)) fds[kept++] = fds[i];
            else close(fds[i].fd);
        }
        open = kept;
    }
}

// Ends with its clients.
__attribute__((noreturn)) static inline void be_server_of(const int *ends, long size_kib) {
    struct pollfd fds[THREADS_MOST];
    struct store store = allocate_store(size_kib);
    signal(SIGTERM, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    fill_store(&store);
    for (long i = 0; i < threads; i++) fds[i] = (struct pollfd){.fd = ends[i], .events = POLLIN};
    serve_all(&store, fds, (nfds_t)threads);
    _exit(0);
}

// Starts it, with a connection to each thread: `links`.
static inline void fork_server(int *links, long size_kib) {
    int ends[THREADS_MOST];
    for (long i = 0; i < threads; i++) {
        int both[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both) != 0) fail("socketpair: %s", strerror(errno));
        links[i] = both[0];
        ends[i] = both[1];
    }
    pid_t child = fork();
    if (child < 0) fail("fork: %s", strerror(errno));
    const int *unused = child == 0 ? links : ends;
    for (long i = 0; i < threads; i++) close(unused[i]);
    if (child == 0) be_server_of(ends, size_kib);
}
#endif
