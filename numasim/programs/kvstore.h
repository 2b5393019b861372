// The store of kv, and what its server and clients say to each other: a request puts one value, or
// gets up to BATCH of them. Messages have fixed sizes; both ends run on one machine, so that
// numbers travel as they are.
#ifndef NUMASIM_KVSTORE_H
#define NUMASIM_KVSTORE_H
#include "common.h"

enum { WORDS = 32, BATCH = 8, SLOTS_PER_KEY = 2 };

// Its owner, its number, and 30 words that follow from these two.
struct value {
    uint64_t key, version, body[WORDS - 2];
};
struct request {
    uint64_t count;  // of keys to get; 0: put `value`
    uint64_t keys[BATCH];
    struct value value;
};
struct slot {
    uint64_t key;  // 0: empty
    struct value *value;
};
struct store {
    struct value *values;
    struct slot *slots;
    uint64_t keys;
};

// How many keys a store of that size has.
static inline uint64_t keys_in(long size_kib) {
    return (uint64_t)size_kib * 1024 / (sizeof(struct value) + SLOTS_PER_KEY * sizeof(struct slot));
}

// Different for different places, and never 0 (see hashjoin.c).
static inline uint64_t key_at(uint64_t place) { return mix(((mix((uint64_t)seed + 1) >> 1) | 1) + place); }

static inline struct value make_value(uint64_t key, uint64_t version) {
    struct value it = {.key = key, .version = version};
    for (uint64_t i = 0; i < WORDS - 2; i++) it.body[i] = (key + version) * (2 * i + 1);
    return it;
}

// Reads every word.
static inline bool is_whole(const struct value *it) {
    for (uint64_t i = 0; i < WORDS - 2; i++)
        if (it->body[i] != (it->key + it->version) * (2 * i + 1)) return false;
    return true;
}

// The slot of a key, or the empty one where it would be.
static inline struct slot *find_slot(const struct store *store, uint64_t key) {
    uint64_t slots = store->keys * SLOTS_PER_KEY, at = (uint64_t)((unsigned __int128)mix(key) * slots >> 64);
    while (store->slots[at].key && store->slots[at].key != key) at = at + 1 == slots ? 0 : at + 1;
    return &store->slots[at];
}

static inline struct store allocate_store(long size_kib) {
    uint64_t keys = keys_in(size_kib);
    return (struct store){take(keys * sizeof(struct value)), take(keys * SLOTS_PER_KEY * sizeof(struct slot)), keys};
}

// All keys, each with version 0.
static inline void fill_store(struct store *store) {
    memset(store->slots, 0, store->keys * SLOTS_PER_KEY * sizeof(struct slot));
    for (uint64_t i = 0; i < store->keys; i++) {
        store->values[i] = make_value(key_at(i), 0);
        *find_slot(store, key_at(i)) = (struct slot){key_at(i), &store->values[i]};
    }
}

// A whole message, or false at the end of the stream.
static inline bool read_whole(int fd, void *to, size_t bytes) {
    for (size_t done = 0; done < bytes;) {
        ssize_t n = read(fd, (char *)to + done, bytes - done);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno != ECONNRESET) fail("cannot read from the socket: %s", strerror(errno));
        if (n <= 0) return false;
        done += (size_t)n;
    }
    return true;
}

static inline bool write_whole(int fd, const void *from, size_t bytes) {
    for (size_t done = 0; done < bytes;) {
        ssize_t n = write(fd, (const char *)from + done, bytes - done);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno != EPIPE && errno != ECONNRESET) fail("cannot write to the socket: %s", strerror(errno));
        if (n <= 0) return false;
        done += (size_t)n;
    }
    return true;
}

// Serves one request of a connection: false when the other end is gone.
static inline bool serve(const struct store *store, int fd) {
    struct request request;
    struct value found[BATCH];
    if (!read_whole(fd, &request, sizeof request)) return false;
    if (request.count > BATCH) fail("a request for %llu keys", (unsigned long long)request.count);
    uint64_t put = request.count == 0, count = put ? 1 : request.count;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t key = put ? request.value.key : request.keys[i];
        struct slot *slot = find_slot(store, key);
        if (slot->key != key || key == 0) fail("a client asks for an unknown key");
        if (put) *slot->value = request.value;
        else found[i] = *slot->value;
    }
    return put ? write_whole(fd, &request.value.version, sizeof(uint64_t)) : write_whole(fd, found, count * sizeof *found);
}
#endif
