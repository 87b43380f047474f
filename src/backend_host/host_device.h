/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * host_device: the state of an open host backend, shared by its four files.
 *
 *     host_backend.c   memory, device information, opening and closing
 *     host_range.c     ranges of addresses, into which memory is mapped
 *     host_stream.c    streams, events, data
 *     host_status.c    status codes for the system's errors
 *
 * Threads: `lock` guards all fields that change, and every task of every stream runs under it.
 */
#ifndef TN_HOST_DEVICE_H
#define TN_HOST_DEVICE_H

#include <stdbool.h>
#include <stddef.h>

#include "tarn/backend.h"

#include "../backend_common/lifetime.h"
#include "../base/sync.h"

struct tn_host_piece; /* private to host_backend.c */
struct tn_host_range; /* private to host_range.c */
struct tn_host_task;  /* private to host_stream.c */

/* A queue of tasks that have not run yet. A tarn_stream points to such a struct. */
struct tn_host_stream {
    struct tn_host_stream *next; /* in the device's list */
    uint64_t id;                 /* unique in the process for all time */
    uint64_t thread;             /* the thread that owns it; 0: created, or the default stream */
    struct tn_host_task *first;  /* runs next; NULL: the queue is empty */
    struct tn_host_task *last;   /* undefined if the queue is empty */
};

struct tn_host_device {
    /* These do not change while the backend is open. */
    struct tn_lifetime lifetime;
    tarn_device_properties properties;
    size_t memory_bytes;      /* the limit of pieces and mappings together */
    bool is_memory_pretended; /* the options set memory_bytes; else it is the machine's memory */

    struct tn_mutex lock; /* guards the fields below */
    size_t used_bytes;    /* in pieces and mappings, whole pages */
    struct tn_host_piece *pieces;
    struct tn_host_range *ranges;
    struct tn_host_stream default_stream; /* stands for NULL; first in the list of all streams */
};

/* Whether the backend was opened before a fork. A thread of the parent may have held its lock. */
static inline bool tn_host_is_forked(const void *state)
{
    const struct tn_host_device *device = state;
    return tn_lifetime_is_forked(&device->lifetime);
}

/* --- host_backend.c ---------------------------------------------------------------------------- */

/* Opens the machine's memory as memory of that kind. */
tarn_status tn_host_open_kind(tarn_memory_kind kind, tarn_backend *backend_out);

/* --- host_status.c ----------------------------------------------------------------------------- */

/* The result for an errno; 0 is success. */
tarn_backend_result tn_host_result(int error);

/* The result for an errno of an operation that gives something back. It is never OUT_OF_MEMORY. */
tarn_backend_result tn_host_result_of_return(int error);

/* --- host_range.c, in the order of the operations table; `state` is a tn_host_device ----------- */

tarn_backend_result tn_host_range_reserve(void *state, size_t size_bytes, void **address_out);
tarn_backend_result tn_host_range_release(void *state, void *address, size_t size_bytes);
tarn_backend_result tn_host_range_map(void *state, void *address, size_t size_bytes,
                                      tarn_mapping *mapping_out);
tarn_backend_result tn_host_range_unmap(void *state, void *address, size_t size_bytes,
                                        tarn_mapping mapping);
tarn_backend_result tn_host_range_map_shareable(void *state, void *address, size_t size_bytes,
                                                tarn_mapping *mapping_out);
tarn_backend_result tn_host_range_export(void *state, void *address, size_t size_bytes,
                                         tarn_mapping mapping, int *file_descriptor_out);

/* Whether the system has memfd_create: memory that is a file without a name. */
bool tn_host_has_shareable_ranges(void);

/* --- host_stream.c, in the order of the operations table; `state` is a tn_host_device ---------- */

tarn_backend_result tn_host_stream_create(void *state, tarn_stream *stream_out);
tarn_backend_result tn_host_stream_destroy(void *state, tarn_stream stream);
tarn_backend_result tn_host_stream_check(void *state, tarn_stream stream);
tarn_backend_result tn_host_stream_id(void *state, tarn_stream stream, uint64_t *id_out);
tarn_backend_result tn_host_stream_synchronize(void *state, tarn_stream stream);
tarn_backend_result tn_host_stream_wait_event(void *state, tarn_stream stream, tarn_event event);

tarn_backend_result tn_host_event_create(void *state, tarn_event *event_out);
tarn_backend_result tn_host_event_destroy(void *state, tarn_event event);
tarn_backend_result tn_host_event_record(void *state, tarn_event event, tarn_stream stream);
tarn_backend_result tn_host_event_query(void *state, tarn_event event);
tarn_backend_result tn_host_event_synchronize(void *state, tarn_event event);

tarn_backend_result tn_host_fill(void *state, void *address, unsigned char value, size_t size_bytes,
                                 tarn_stream stream);
tarn_backend_result tn_host_copy(void *state, void *destination, const void *source,
                                 size_t size_bytes, tarn_stream stream);

/* Runs all tasks of all streams. Under the lock. */
void tn_host_streams_finish_locked(struct tn_host_device *device);

/* Begin and end the default stream. The second also ends the streams that threads own. */
void tn_host_streams_init(struct tn_host_device *device);
void tn_host_streams_fini_locked(struct tn_host_device *device);

#endif
