/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * runtime_device: the state of an open CUDA or HIP backend, and the functions of its files.
 *
 *     runtime_backend.c   memory, device information, opening and closing
 *     runtime_range.c     ranges of addresses, into which memory is mapped
 *     runtime_stream.c    streams, events, data
 *     runtime_status.c    making a call on the right device
 *
 * The files of the vendor's own folder, cuda_*.c or hip_*.c, define the functions of the last section.
 *
 * Threads: the state does not change while the backend is open, so it needs no lock.
 */
#ifndef TN_RUNTIME_DEVICE_H
#define TN_RUNTIME_DEVICE_H

#include <stdbool.h>
#include <stddef.h>

#include "tarn/backend.h"

#include "../backend_common/lifetime.h"
#include "runtime_names.h"

/* A vendor with more state puts this struct first in a larger one. */
struct tn_runtime_device {
    int number;
    struct tn_lifetime lifetime;
    char name[256];
    tarn_device_properties properties;
    bool
        spills_to_host; /* SHARED memory that the device has no room for lies in the host's memory */
};

/*
 * One call of the vendor with its arguments, so that any thread can make it. `make` reads the fields
 * that it needs, and writes its outputs to other fields.
 */
struct tn_runtime_call {
    tarn_backend_result (*make)(struct tn_runtime_call *call);
    const struct tn_runtime_device *device; /* tn_runtime_make sets it */
    bool is_relaxed;                        /* tn_runtime_make_take sets it */
    void *address;
    const void *source;
    size_t size_bytes;
    unsigned char value;
    tn_runtime_stream stream;
    unsigned long long stream_id;
    tn_runtime_event event;
    tarn_mapping mapping;
    bool is_shareable;   /* the mapping can be exported */
    int file_descriptor; /* of the exported mapping */
    tarn_memory_info info;
};

/* --- runtime_status.c -------------------------------------------------------------------------- */

tarn_backend_result tn_runtime_result(tn_runtime_error error);

/*
 * Makes the call with the backend's device current, and restores the thread's current device. If the
 * call fails, it clears the runtime's last error. An earlier error of the application is then lost
 * too, since the runtime keeps only one.
 */
tarn_backend_result tn_runtime_make(const struct tn_runtime_device *device,
                                    struct tn_runtime_call *call);

/*
 * Makes a call that takes memory or asks how much there is. A thread may be capturing a stream into a
 * graph meanwhile. By default the runtime then refuses the call and spoils the capture, because
 * launching the graph would not take the memory again. Memory of a pool outlives the graph. So the
 * thread's capture mode is relaxed around the call and restored after it. If the mode cannot be
 * changed, the call is made in the thread's own mode.
 */
tarn_backend_result tn_runtime_make_take(const struct tn_runtime_device *device,
                                         struct tn_runtime_call *call);

/* Makes a call that gives something back. It succeeds without the runtime when the process ends and
 * the runtime is being unloaded: then nothing is left to give back. */
tarn_backend_result tn_runtime_make_return(const struct tn_runtime_device *device,
                                           struct tn_runtime_call *call);

/* Writes the calling thread's current device, by the vendor's cheapest query. Creates no context. Defined by the vendor's
 * own folder. */
tarn_backend_result tn_runtime_find_current(int *device_out);

/* For tn_runtime_make_elsewhere. The first sets call->device current, the second also restores
 * `current` after the call. */
tarn_backend_result tn_runtime_set_device_and_make(struct tn_runtime_call *call);
tarn_backend_result tn_runtime_make_and_set_back(struct tn_runtime_call *call, int current);

/* --- runtime_backend.c ------------------------------------------------------------------------- */

/* Opens the backend for the public function of that name. `device_bytes` is the size of the vendor's
 * struct, which begins with a tn_runtime_device. */
tarn_status tn_runtime_open(const char *function, size_t device_bytes, int number,
                            tarn_memory_kind kind, tarn_backend *backend_out);

/* --- runtime_range.c, in the order of the operations table; `state` is a tn_runtime_device ----- */

tarn_backend_result tn_runtime_range_reserve(void *state, size_t size_bytes, void **address_out);
tarn_backend_result tn_runtime_range_release(void *state, void *address, size_t size_bytes);
tarn_backend_result tn_runtime_range_map(void *state, void *address, size_t size_bytes,
                                         tarn_mapping *mapping_out);
tarn_backend_result tn_runtime_range_unmap(void *state, void *address, size_t size_bytes,
                                           tarn_mapping mapping);
tarn_backend_result tn_runtime_range_map_shareable(void *state, void *address, size_t size_bytes,
                                                   tarn_mapping *mapping_out);
tarn_backend_result tn_runtime_range_export(void *state, void *address, size_t size_bytes,
                                            tarn_mapping mapping, int *file_descriptor_out);

/* Sets the device's properties of ranges. A device without ranges is no failure. */
tarn_backend_result tn_runtime_find_ranges(struct tn_runtime_device *device);

/* --- runtime_stream.c, in the order of the operations table; `state` is a tn_runtime_device ---- */

tarn_backend_result tn_runtime_stream_create(void *state, tarn_stream *stream_out);
tarn_backend_result tn_runtime_stream_destroy(void *state, tarn_stream stream);
tarn_backend_result tn_runtime_stream_check(void *state, tarn_stream stream);
tarn_backend_result tn_runtime_stream_id(void *state, tarn_stream stream, uint64_t *id_out);
tarn_backend_result tn_runtime_stream_synchronize(void *state, tarn_stream stream);
tarn_backend_result tn_runtime_stream_wait_event(void *state, tarn_stream stream, tarn_event event);

tarn_backend_result tn_runtime_event_create(void *state, tarn_event *event_out);
tarn_backend_result tn_runtime_event_destroy(void *state, tarn_event event);
tarn_backend_result tn_runtime_event_record(void *state, tarn_event event, tarn_stream stream);
tarn_backend_result tn_runtime_event_query(void *state, tarn_event event);
tarn_backend_result tn_runtime_event_synchronize(void *state, tarn_event event);

tarn_backend_result tn_runtime_fill(void *state, void *address, unsigned char value,
                                    size_t size_bytes, tarn_stream stream);
tarn_backend_result tn_runtime_copy(void *state, void *destination, const void *source,
                                    size_t size_bytes, tarn_stream stream);

/* --- of each vendor's own ---------------------------------------------------------------------- */

/* cuda_status.c, hip_status.c */

tarn_status tn_runtime_status_of(tn_runtime_error error);

/* The runtime's answer while it is being unloaded. */
tarn_backend_result tn_runtime_unloading(void);

/* Makes the call where `current`, which is not call->device, is the thread's current device. */
tarn_backend_result tn_runtime_make_elsewhere(struct tn_runtime_call *call, int current);

/* cuda_backend.c, hip_backend.c */

/* Sets up the vendor's part of the device, before the first call on it. */
void tn_runtime_own_init(struct tn_runtime_device *device);

tn_runtime_error tn_runtime_find_kind(int number, const tn_runtime_properties *properties,
                                      tarn_memory_kind kind, bool *has_kind_out);

/* Whether SHARED memory may be larger than the device's memory, and the host's memory is another one. */
tn_runtime_error tn_runtime_find_spilling(int number, const tn_runtime_properties *properties,
                                          bool *spills_to_host_out);

/* cuda_range.c, hip_range.c: steps of ranges, each to be made as a call. They read and write the
 * call's address, size_bytes, mapping, is_shareable and file_descriptor. */

tarn_backend_result tn_runtime_addresses_reserve(struct tn_runtime_call *call);
tarn_backend_result tn_runtime_addresses_release(struct tn_runtime_call *call);

/* The physical memory of a mapping. */
tarn_backend_result tn_runtime_memory_create(struct tn_runtime_call *call);
tarn_backend_result tn_runtime_memory_destroy(struct tn_runtime_call *call);

/* Maps the memory and lets the device use it. On failure nothing is mapped. */
tarn_backend_result tn_runtime_memory_map(struct tn_runtime_call *call);

/* INVALID_ARGUMENT where nothing is mapped. */
tarn_backend_result tn_runtime_memory_unmap(struct tn_runtime_call *call);

tarn_backend_result tn_runtime_memory_export(struct tn_runtime_call *call);

/* Makes the call that writes the granularity of ranges to size_bytes, and is_shareable.
 * NOT_SUPPORTED: the device or its driver has no ranges. */
tarn_backend_result tn_runtime_ask_for_ranges(const struct tn_runtime_device *device,
                                              struct tn_runtime_call *call);

#ifdef TN_RUNTIME_HAS_DEVICE_EVENTS
/* cuda_event.c, of the operations table; `state` is a tn_runtime_device */
tarn_backend_result tn_runtime_event_record_device(void *state, tarn_event event);
#endif

#ifdef TN_RUNTIME_HAS_WATCH
/* cuda_watch.c, in the order of the operations table; `state` is a tn_runtime_device */

tarn_watch tn_runtime_watch_begin(void *state, void *address, size_t size_bytes);
void tn_runtime_watch_end(void *state, tarn_watch watch);
void tn_runtime_watch_allow(void *state, tarn_watch watch, void *address, size_t size_bytes);
void tn_runtime_watch_forbid(void *state, tarn_watch watch, void *address);

/* When the backend is opened, after the context is created, and when the backend is closed. */
void tn_runtime_watch_init(struct tn_runtime_device *device);
void tn_runtime_watch_fini(struct tn_runtime_device *device);
#endif

#endif
