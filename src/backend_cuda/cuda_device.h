/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * cuda_device: the state of an open CUDA backend, shared by its five files.
 *
 *     cuda_backend.c   memory, device information, opening and closing
 *     cuda_range.c     ranges of addresses, into which memory is mapped
 *     cuda_stream.c    streams, events, data
 *     cuda_watch.c     what a tool is told that watches memory
 *     cuda_status.c    making a call on the right device, and what its answer means
 *
 * Threads: nothing here changes while the backend is open, so nothing needs a lock.
 */
#ifndef TN_CUDA_DEVICE_H
#define TN_CUDA_DEVICE_H

#include <stdbool.h>
#include <stddef.h>

#include <cuda.h> /* types of the driver's functions; none of them is linked */
#include <cuda_runtime_api.h>

#include "tarn/backend.h"

#include "../backend_common/lifetime.h"

/* Functions of the driver, which the runtime hands out, since none of it is linked. NULL when it
 * does not. */
struct tn_cuda_driver {
    CUresult (*get_error_name)(CUresult error, const char **name);
    /* Tells whether a device has a context. */
    CUresult (*get_context_state)(CUdevice device, unsigned *flags, int *is_active);
    CUresult (*get_attribute)(int *value, CUdevice_attribute attribute, CUdevice device);
    CUresult (*get_granularity)(size_t *granularity_bytes, const CUmemAllocationProp *memory,
                                CUmemAllocationGranularity_flags option);
    CUresult (*address_reserve)(CUdeviceptr *address, size_t size_bytes, size_t alignment_bytes,
                                CUdeviceptr wanted, unsigned long long flags);
    CUresult (*address_free)(CUdeviceptr address, size_t size_bytes);
    CUresult (*create)(CUmemGenericAllocationHandle *mapping, size_t size_bytes,
                       const CUmemAllocationProp *memory, unsigned long long flags);
    CUresult (*release)(CUmemGenericAllocationHandle mapping);
    CUresult (*map)(CUdeviceptr address, size_t size_bytes, size_t offset_bytes,
                    CUmemGenericAllocationHandle mapping, unsigned long long flags);
    CUresult (*unmap)(CUdeviceptr address, size_t size_bytes);
    CUresult (*set_access)(CUdeviceptr address, size_t size_bytes, const CUmemAccessDesc *access,
                           size_t count);
    CUresult (*get_pointer_attribute)(void *value, CUpointer_attribute attribute,
                                      CUdeviceptr address);
    CUresult (*export_mapping)(void *shared, CUmemGenericAllocationHandle mapping,
                               CUmemAllocationHandleType type, unsigned long long flags);
};

struct tn_cuda_device {
    int number;
    struct tn_lifetime lifetime;
    char name[256];
    tarn_device_properties properties;
    struct tn_cuda_driver driver;
    void *watch_domain; /* an nvtxDomainHandle_t */
};

/*
 * One call of the vendor with its arguments, in one place so that any thread can make it. `make`
 * reads the fields that it needs, and leaves what it creates or finds out in the others.
 */
struct tn_cuda_call {
    tarn_backend_result (*make)(struct tn_cuda_call *call);
    const struct tn_cuda_device *device; /* set by whoever makes the call */
    bool is_relaxed;                     /* see tn_cuda_make_take */
    void *address;
    const void *source;
    size_t size_bytes;
    unsigned char value;
    cudaStream_t stream;
    unsigned long long stream_id;
    cudaEvent_t event;
    CUmemGenericAllocationHandle mapping;
    bool is_shareable;   /* of the mapping */
    int file_descriptor; /* likewise */
    tarn_memory_info info;
};

/* --- cuda_status.c ----------------------------------------------------------------------------- */

/* What the runtime says when it is being unloaded. */
tarn_backend_result tn_cuda_unloading(void);

tarn_backend_result tn_cuda_result(cudaError_t error);
tarn_backend_result tn_cuda_driver_result(const struct tn_cuda_device *device, CUresult error);

/* Asks the runtime for the driver's functions. That some are not there is no failure. */
void tn_cuda_find_driver(struct tn_cuda_driver *driver_out);

/*
 * Makes the call with the backend's device current, and leaves the thread's current device as it was.
 * A call that fails leaves no error of its own behind in the runtime; it cannot take out its own
 * without taking one that was there before, the application's, too.
 */
tarn_backend_result tn_cuda_make(const struct tn_cuda_device *device, struct tn_cuda_call *call);

/*
 * The same for what takes memory, or asks how much there is, while some thread may be capturing a stream
 * into a graph. The runtime refuses that then, and spoils the capture, since launching the graph would
 * not take the memory again; nobody wants that of memory that stays. So the call is made in the mode that
 * allows it, and the thread has its own mode back afterwards. Where the mode cannot be changed the call
 * is made in the thread's own.
 */
tarn_backend_result tn_cuda_make_take(const struct tn_cuda_device *device,
                                      struct tn_cuda_call *call);

/* The same for what gives something back: when the runtime is being unloaded, at the end of the
 * process, there is nothing left to give back, and that is no failure. */
tarn_backend_result tn_cuda_make_return(const struct tn_cuda_device *device,
                                        struct tn_cuda_call *call);

/* --- cuda_range.c, in the order of the operations table; `state` is a tn_cuda_device ----------- */

tarn_backend_result tn_cuda_range_reserve(void *state, size_t size_bytes, void **address_out);
tarn_backend_result tn_cuda_range_release(void *state, void *address, size_t size_bytes);
tarn_backend_result tn_cuda_range_map(void *state, void *address, size_t size_bytes,
                                      tarn_mapping *mapping_out);
tarn_backend_result tn_cuda_range_unmap(void *state, void *address, size_t size_bytes,
                                        tarn_mapping mapping);
tarn_backend_result tn_cuda_range_map_shareable(void *state, void *address, size_t size_bytes,
                                                tarn_mapping *mapping_out);
tarn_backend_result tn_cuda_range_export(void *state, void *address, size_t size_bytes,
                                         tarn_mapping mapping, int *file_descriptor_out);

/* Finds out what the properties say of ranges. */
tarn_backend_result tn_cuda_find_ranges(struct tn_cuda_device *device);

/* --- cuda_stream.c, in the order of the operations table; `state` is a tn_cuda_device ---------- */

tarn_backend_result tn_cuda_stream_create(void *state, tarn_stream *stream_out);
tarn_backend_result tn_cuda_stream_destroy(void *state, tarn_stream stream);
tarn_backend_result tn_cuda_stream_check(void *state, tarn_stream stream);
tarn_backend_result tn_cuda_stream_id(void *state, tarn_stream stream, uint64_t *id_out);
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

/* --- cuda_watch.c, in the order of the operations table; `state` is a tn_cuda_device ----------- */

tarn_watch tn_cuda_watch_begin(void *state, void *address, size_t size_bytes);
void tn_cuda_watch_end(void *state, tarn_watch watch);
void tn_cuda_watch_allow(void *state, tarn_watch watch, void *address, size_t size_bytes);
void tn_cuda_watch_forbid(void *state, tarn_watch watch, void *address);

/* When the backend is opened, with a context there, and when it is closed. */
void tn_cuda_watch_init(struct tn_cuda_device *device);
void tn_cuda_watch_fini(const struct tn_cuda_device *device);

#endif
