/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * vendor_backend: the device memory of one context, by the driver's own functions: a backend without CUDA's runtime.
 *
 *     vendor_backend.c   memory, properties, opening
 *     vendor_range.c     ranges of addresses, into which memory is mapped
 *     vendor_stream.c    streams, events, data
 *     vendor_visit.c     making a call in the backend's context; what answers mean
 *
 * It follows src/backend_cuda and src/backend_cuda_hip, whose heads tell why a call is made as it is.
 *
 * Threads: the state does not change while the backend is open.
 */
#ifndef TN_DRIVER_BACKEND_H
#define TN_DRIVER_BACKEND_H

#include <stdbool.h>

#include "tarn/backend.h"

#include "backend_common/lifetime.h"

#include "vendor.h"

struct tn_driver_device {
    const struct tn_driver *driver;
    void *context;
    int number;
    struct tn_lifetime lifetime;
    char name[256];
    tarn_device_properties properties;
    size_t texture_alignment_bytes; /* the runtime promises it of each address */
};

/* Opens a backend for a context that is current in the calling thread. It must be a driver's that is complete. */
tarn_backend_result tn_driver_backend_open(const struct tn_driver *driver, void *context,
                                           tarn_backend *backend_out);

/* --- driver_visit.c ---------------------------------------------------------------------------------- */

/* A call of the driver with the backend's context current. */
struct tn_visit {
    tn_cuda_error error; /* the context could not be made current */
    bool is_pushed;
};

struct tn_visit tn_visit_begin(const struct tn_driver_device *device);
/* Restores the thread's context. `error` is the answer of the call. */
tarn_backend_result tn_visit_end(const struct tn_driver_device *device, struct tn_visit visit,
                                 tn_cuda_error error);

tarn_backend_result tn_driver_result(const struct tn_driver *driver, tn_cuda_error error);

/* Makes a call in the context: its answer, as a tarn_backend_result. */
#define TN_VISIT(device, call)                                                                 \
    __extension__({                                                                            \
        struct tn_visit visit_ = tn_visit_begin(device);                                       \
        tn_visit_end(device, visit_, visit_.error == TN_CUDA_SUCCESS ? (call) : visit_.error); \
    })

/* The answers when the process ends or is a fork: of an operation that takes, and of one that gives back. */
#define TN_REFUSE_LATE_TAKE(device)                 \
    if (tn_lifetime_is_over(&(device)->lifetime))   \
    return tn_lifetime_refusal(&(device)->lifetime, \
                               tn_driver_result((device)->driver, TN_CUDA_DEINITIALIZED))
#define TN_SKIP_LATE_RETURN(device) \
    if (tn_lifetime_is_over(&(device)->lifetime)) return TARN_BACKEND_RESULT_OK

/* --- operations, in the order of the table; `state` is a tn_driver_device ------------------------------ */

tarn_backend_result tn_driver_range_reserve(void *state, size_t size_bytes, void **address_out);
tarn_backend_result tn_driver_range_release(void *state, void *address, size_t size_bytes);
tarn_backend_result tn_driver_range_map(void *state, void *address, size_t size_bytes,
                                        tarn_mapping *mapping_out);
tarn_backend_result tn_driver_range_unmap(void *state, void *address, size_t size_bytes,
                                          tarn_mapping mapping);
/* 0: there are no ranges. */
size_t tn_driver_range_granularity(const struct tn_driver_device *device);

tarn_backend_result tn_driver_stream_create(void *state, tarn_stream *stream_out);
tarn_backend_result tn_driver_stream_destroy(void *state, tarn_stream stream);
tarn_backend_result tn_driver_stream_check(void *state, tarn_stream stream);
tarn_backend_result tn_driver_stream_id(void *state, tarn_stream stream, uint64_t *id_out);
tarn_backend_result tn_driver_stream_synchronize(void *state, tarn_stream stream);
tarn_backend_result tn_driver_stream_wait_event(void *state, tarn_stream stream, tarn_event event);
tarn_backend_result tn_driver_event_create(void *state, tarn_event *event_out);
tarn_backend_result tn_driver_event_destroy(void *state, tarn_event event);
tarn_backend_result tn_driver_event_record(void *state, tarn_event event, tarn_stream stream);
tarn_backend_result tn_driver_event_query(void *state, tarn_event event);
tarn_backend_result tn_driver_event_synchronize(void *state, tarn_event event);
tarn_backend_result tn_driver_event_record_device(void *state, tarn_event event);
tarn_backend_result tn_driver_fill(void *state, void *address, unsigned char value,
                                   size_t size_bytes, tarn_stream stream);
tarn_backend_result tn_driver_copy(void *state, void *destination, const void *source,
                                   size_t size_bytes, tarn_stream stream);

#endif
