/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * hip_device: the state of an open HIP backend, shared by its four files.
 *
 *     hip_backend.c   memory, device information, opening and closing
 *     hip_range.c     ranges of addresses, into which memory is mapped
 *     hip_stream.c    streams, events, data
 *     hip_status.c    making a call on the right device, and what its answer means
 *
 * Threads: nothing here changes while the backend is open, so nothing needs a lock.
 */
#ifndef TN_HIP_DEVICE_H
#define TN_HIP_DEVICE_H

#include <stdbool.h>
#include <stddef.h>

#include <hip/hip_runtime_api.h> /* for NVIDIA the build has the compiler read hip_over_cuda.h first */

#include "tarn/backend.h"

#include "../backend_common/lifetime.h"

/* HIP numbers streams from 7.2 on; over CUDA it is CUDA that does. */
#if HIP_VERSION >= 70200000 || defined(hipStreamGetId)
#define TN_HIP_NUMBERS_STREAMS
#endif

struct tn_hip_device {
    int number;
    struct tn_lifetime lifetime;
    char name[256];
    tarn_device_properties properties;
};

/*
 * One call of the vendor with its arguments, in one place so that it can be made wherever it has to
 * be. `make` reads the fields that it needs, and leaves what it creates or finds out in the others.
 */
struct tn_hip_call {
    tarn_backend_result (*make)(struct tn_hip_call *call);
    const struct tn_hip_device *device; /* set by whoever makes the call */
    bool is_relaxed;                    /* see tn_hip_make_take */
    void *address;
    const void *source;
    size_t size_bytes;
    unsigned char value;
    hipStream_t stream;
    unsigned long long stream_id;
    hipEvent_t event;
    hipMemGenericAllocationHandle_t mapping;
    bool is_shareable;   /* of the mapping */
    int file_descriptor; /* likewise */
    tarn_memory_info info;
};

/* --- hip_status.c ------------------------------------------------------------------------------ */

/* What the runtime says when it is being unloaded. */
tarn_backend_result tn_hip_unloading(void);

tarn_backend_result tn_hip_result(hipError_t error);

/*
 * Makes the call with the backend's device current, and leaves the thread's current device as it was.
 * A call that fails leaves no error of its own behind in the runtime; it cannot take out its own
 * without taking one that was there before, the application's, too.
 */
tarn_backend_result tn_hip_make(const struct tn_hip_device *device, struct tn_hip_call *call);

/*
 * The same for what takes memory, or asks how much there is, while some thread may be capturing a stream
 * into a graph. The runtime refuses that then, and spoils the capture, since launching the graph would
 * not take the memory again; nobody wants that of memory that stays. So the call is made in the mode that
 * allows it, and the thread has its own mode back afterwards. Where the mode cannot be changed the call
 * is made in the thread's own.
 */
tarn_backend_result tn_hip_make_take(const struct tn_hip_device *device, struct tn_hip_call *call);

/* The same for what gives something back: when the runtime is being unloaded, at the end of the
 * process, there is nothing left to give back, and that is no failure. */
tarn_backend_result tn_hip_make_return(const struct tn_hip_device *device,
                                       struct tn_hip_call *call);

/* --- hip_range.c, in the order of the operations table; `state` is a tn_hip_device ------------- */

tarn_backend_result tn_hip_range_reserve(void *state, size_t size_bytes, void **address_out);
tarn_backend_result tn_hip_range_release(void *state, void *address, size_t size_bytes);
tarn_backend_result tn_hip_range_map(void *state, void *address, size_t size_bytes,
                                     tarn_mapping *mapping_out);
tarn_backend_result tn_hip_range_unmap(void *state, void *address, size_t size_bytes,
                                       tarn_mapping mapping);
tarn_backend_result tn_hip_range_map_shareable(void *state, void *address, size_t size_bytes,
                                               tarn_mapping *mapping_out);
tarn_backend_result tn_hip_range_export(void *state, void *address, size_t size_bytes,
                                        tarn_mapping mapping, int *file_descriptor_out);

/* Finds out what the properties say of ranges. */
tarn_backend_result tn_hip_find_ranges(struct tn_hip_device *device);

/* --- hip_stream.c, in the order of the operations table; `state` is a tn_hip_device ------------ */

tarn_backend_result tn_hip_stream_create(void *state, tarn_stream *stream_out);
tarn_backend_result tn_hip_stream_destroy(void *state, tarn_stream stream);
tarn_backend_result tn_hip_stream_check(void *state, tarn_stream stream);
tarn_backend_result tn_hip_stream_id(void *state, tarn_stream stream, uint64_t *id_out);
tarn_backend_result tn_hip_stream_synchronize(void *state, tarn_stream stream);
tarn_backend_result tn_hip_stream_wait_event(void *state, tarn_stream stream, tarn_event event);

tarn_backend_result tn_hip_event_create(void *state, tarn_event *event_out);
tarn_backend_result tn_hip_event_destroy(void *state, tarn_event event);
tarn_backend_result tn_hip_event_record(void *state, tarn_event event, tarn_stream stream);
tarn_backend_result tn_hip_event_query(void *state, tarn_event event);
tarn_backend_result tn_hip_event_synchronize(void *state, tarn_event event);

tarn_backend_result tn_hip_fill(void *state, void *address, unsigned char value, size_t size_bytes,
                                tarn_stream stream);
tarn_backend_result tn_hip_copy(void *state, void *destination, const void *source,
                                size_t size_bytes, tarn_stream stream);

#endif
