/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * cuda_device: the state of an open CUDA backend, shared by its three files.
 *
 *     cuda_backend.c   opening and closing, memory, device information
 *     cuda_stream.c    streams, events, data
 *     cuda_status.c    making a call on the right device, and what its answer means
 *
 * Threads: nothing here changes while the backend is open, so nothing needs a lock.
 */
#ifndef TN_CUDA_DEVICE_H
#define TN_CUDA_DEVICE_H

#include <stddef.h>

#include <cuda.h> /* types of the driver's functions; none of them is linked */
#include <cuda_runtime_api.h>

#include "tarn/backend.h"

struct tn_cuda_device {
    int number;
    char name[256];
    tarn_device_properties properties;
    size_t page_bytes; /* of the host */
    /* Tells whether a device has a primary context; NULL when the driver does not offer it. */
    CUresult (*get_context_state)(CUdevice device, unsigned *flags, int *is_active);
};

/*
 * One call of the runtime with its arguments, in one place so that any thread can make it. `make`
 * reads the fields that it needs, and leaves what it creates or finds out in the others.
 */
struct tn_cuda_call {
    cudaError_t (*make)(struct tn_cuda_call *call);
    tarn_memory_kind kind;
    void *address;
    const void *source;
    size_t size_bytes;
    unsigned char value;
    cudaStream_t stream;
    cudaEvent_t event;
    tarn_memory_info info;
};

/* --- cuda_status.c ----------------------------------------------------------------------------- */

tarn_backend_result tn_cuda_result(cudaError_t error);

/*
 * Makes the call with the backend's device current, and leaves the thread's current device as it was.
 * A call that fails leaves no error of its own behind in the runtime; it cannot take out its own
 * without taking one that was there before, the application's, too.
 */
tarn_backend_result tn_cuda_make(const struct tn_cuda_device *device, struct tn_cuda_call *call);

/* The same for what gives something back: when the runtime is being unloaded, at the end of the
 * process, there is nothing left to give back, and that is no failure. */
tarn_backend_result tn_cuda_make_return(const struct tn_cuda_device *device,
                                        struct tn_cuda_call *call);

static inline tarn_backend_result tn_cuda_result_of_status(tarn_status status)
{
    return (tarn_backend_result){ status, 0, NULL };
}

/* --- cuda_stream.c, in the order of the operations table; `state` is a tn_cuda_device ---------- */

tarn_backend_result tn_cuda_stream_create(void *state, tarn_stream *stream_out);
tarn_backend_result tn_cuda_stream_destroy(void *state, tarn_stream stream);
tarn_backend_result tn_cuda_stream_synchronize(void *state, tarn_stream stream);
tarn_backend_result tn_cuda_stream_wait_event(void *state, tarn_stream stream, tarn_event event);

tarn_backend_result tn_cuda_event_create(void *state, tarn_event *event_out);
tarn_backend_result tn_cuda_event_destroy(void *state, tarn_event event);
tarn_backend_result tn_cuda_event_record(void *state, tarn_event event, tarn_stream stream);
tarn_backend_result tn_cuda_event_query(void *state, tarn_event event);
tarn_backend_result tn_cuda_event_synchronize(void *state, tarn_event event);

tarn_backend_result tn_cuda_fill(void *state, void *address, unsigned char value, size_t size_bytes,
                                 tarn_stream stream);
tarn_backend_result tn_cuda_copy(void *state, void *destination, const void *source,
                                 size_t size_bytes, tarn_stream stream);

#endif
