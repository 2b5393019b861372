// The server of kv: one thread, poll, and a store. It listens on a path, or serves connections that
// it inherits.
#ifndef NUMASIM_KVSERVER_H
#define NUMASIM_KVSERVER_H
#include "kvstore.h"
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

static struct store store;
static int listener = -1;  // where new connections come from, if they do

static inline struct sockaddr_un address_of(const char *path) {
    struct sockaddr_un it = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof it.sun_path) bad_argument("--socket: \"%s\" is longer than %zu bytes", path, sizeof it.sun_path - 1);
    strcpy(it.sun_path, path);
    return it;
}

// A socket that an earlier server left is replaced; anything else of that name is not.
static inline void listen_on(const char *path) {
    struct sockaddr_un at = address_of(path);
    struct stat left;
    if (lstat(path, &left) == 0 && S_ISSOCK(left.st_mode)) unlink(path);
    listener = socket(AF_UNIX, SOCK_STREAM, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&at, sizeof at) != 0 || listen(listener, THREADS_MOST) != 0)
        fail("--socket %s: %s", path, strerror(errno));
}

// Serves until the last of its connections is gone; takes new ones if it listens. Returns the
// requests served.
static inline uint64_t serve_all(struct pollfd *fds, nfds_t open, uint64_t *sum) {
    uint64_t requests = 0;
    do {
        fds[open] = (struct pollfd){.fd = open < THREADS_MOST ? listener : -1, .events = POLLIN};
        if (poll(fds, open + 1, -1) < 0 && errno != EINTR) fail("poll: %s", strerror(errno));
        bool joins = fds[open].revents & POLLIN;
        nfds_t kept = 0;
        for (nfds_t i = 0; i < open; i++) {
            bool asks = fds[i].revents != 0, stays = !asks || serve(&store, fds[i].fd, sum);
            requests += asks && stays;
            if (stays) fds[kept++] = fds[i];
            else close(fds[i].fd);
        }
        open = kept;
        if (!joins) continue;
        fds[open] = (struct pollfd){.fd = accept(listener, NULL, NULL), .events = POLLIN};
        if (fds[open++].fd < 0) fail("accept: %s", strerror(errno));
    } while (open > 0 || (listener >= 0 && requests == 0));
    return requests;
}

// The server of a pair: ends with its clients.
__attribute__((noreturn)) static inline void be_server_of(const int *ends, long size_kib) {
    struct pollfd fds[THREADS_MOST + 1];
    uint64_t sum = 0;
    signal(SIGTERM, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    store = allocate_store(size_kib);
    fill_store(&store);
    for (long i = 0; i < threads; i++) fds[i] = (struct pollfd){.fd = ends[i], .events = POLLIN};
    serve_all(fds, (nfds_t)threads, &sum);
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
