/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * host_device: the state of an open host backend, shared by its files.
 *
 *     host_backend.c   memory, device information, opening and closing
 *     host_range.c     ranges of addresses, into which memory is mapped
 *     host_stream.c    streams, events, work; they are the process's, and of no backend
 *     host_calls.c     the public calls for streams
 *     host_status.c    status codes for the system's errors
 *
 * Threads: `lock` guards all fields that change. No task of a stream runs under it.
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
};

/* Whether the backend was opened before a fork. A thread of the parent may have held its lock. NULL, for the public
 * calls, which have no backend: false. */
static inline bool tn_host_is_forked(const void *state)
{
    const struct tn_host_device *device = state;
    return device && tn_lifetime_is_forked(&device->lifetime);
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

/* --- host_stream.c, in the order of the operations table; `state` is a tn_host_device, or NULL for a public call */

tarn_backend_result tn_host_synchronize(void *state);

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

/* Not in the table. The function gets a copy of the argument's bytes, or the argument itself if there are none. */
tarn_backend_result tn_host_launch(void (*function)(void *argument), const void *argument,
                                   size_t argument_bytes, tarn_stream stream);

/* Call it before the first stream or task: the streams of a forked child begin anew from then on. False: no host
 * memory. */
bool tn_host_streams_begin(void);

/* Whether the process is a forked child that may have handles of its parent's streams. */
bool tn_host_streams_are_inherited(void);

#endif
