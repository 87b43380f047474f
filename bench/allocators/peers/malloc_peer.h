/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * malloc_peer: a general allocator of the host, with malloc's interface, as an allocator of the benchmark.
 *
 * Its own statistics tell what it holds. During the first pass, which is not timed, they are read now and
 * then; from the first get_usage on, get_usage alone reads them, and a call costs one branch more than
 * malloc. The peer lasts as long as the process and keeps its state from workload to workload: closing asks
 * it to give back what it can.
 *
 * Threads: all call the same library. Its held memory is not read while they run.
 */
#ifndef TN_MALLOC_PEER_H
#define TN_MALLOC_PEER_H

#include <stdatomic.h>

#include "../allocator.h"

/* malloc aligns for any C type and no more. */
#define TN_MALLOC_PEER_ALIGNMENT_BYTES 16

struct tn_malloc_calls {
    void *(*alloc)(size_t size_bytes);
    void (*free)(void *address);

    /* Returns the bytes that it holds now, by its own statistics. NULL: it cannot tell. */
    void (*look)(const struct tn_malloc_calls *calls, size_t *held_bytes_out,
                 size_t *metadata_bytes_out);

    /* Asks it to give free memory back to the system. May be NULL. */
    void (*trim)(const struct tn_malloc_calls *calls);

    void *library; /* for look and trim: the library that was loaded, or NULL */
};

struct tn_malloc_peer {
    struct tn_malloc_calls calls;
    bool is_watched;         /* the first pass is not over */
    atomic_bool has_threads; /* was used by several */
    size_t live_bytes;       /* these four while it is watched */
    size_t call_count;
    size_t next_look_bytes; /* live bytes at which its statistics are read again */
    struct tn_allocator_usage usage;
};

/* NULL: no host memory, and the reason says so. */
struct tn_malloc_peer *tn_malloc_peer_create(const struct tn_malloc_calls *calls,
                                             struct tn_reason *reason_out);

/* The calls of struct tn_allocator, but open. */
tarn_status tn_malloc_peer_alloc(void *state, size_t size_bytes, void **address_out);
tarn_status tn_malloc_peer_free(void *state, void *address, size_t size_bytes);
void tn_malloc_peer_explain(void *state, tarn_status status, struct tn_reason *reason_out);
void tn_malloc_peer_get_usage(void *state, struct tn_allocator_usage *usage_out);
tarn_status tn_malloc_peer_trim(void *state);
void tn_malloc_peer_close(void *state);
tarn_status tn_malloc_peer_open_thread(void *state, struct tn_allocator_thread *thread_inout,
                                       struct tn_reason *reason_out);
tarn_status tn_malloc_peer_alloc_in_thread(void *state, size_t size_bytes, void **address_out);
tarn_status tn_malloc_peer_free_in_thread(void *state, void *address, size_t size_bytes);
void tn_malloc_peer_close_thread(void *state);

/* The entry of an adapter. */
#define TN_MALLOC_PEER(peer_name, open_peer)                                                      \
    {                                                                                             \
        .name = (peer_name), .open = (open_peer), .alloc = tn_malloc_peer_alloc,                  \
        .free = tn_malloc_peer_free, .explain = tn_malloc_peer_explain,                           \
        .get_usage = tn_malloc_peer_get_usage, .close = tn_malloc_peer_close,                     \
        .open_thread = tn_malloc_peer_open_thread,                                                \
        .alloc_in_thread = tn_malloc_peer_alloc_in_thread,                                        \
        .free_in_thread = tn_malloc_peer_free_in_thread,                                          \
        .explain_in_thread = tn_malloc_peer_explain, .close_thread = tn_malloc_peer_close_thread, \
        .alignment_bytes_max = TN_MALLOC_PEER_ALIGNMENT_BYTES, .free_order = TN_FREE_WRITES,      \
        .trim = tn_malloc_peer_trim,                                                              \
    }

#endif
