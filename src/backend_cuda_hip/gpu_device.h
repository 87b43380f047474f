/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * gpu_device: the state of an open CUDA or HIP backend, and the functions of its files.
 *
 *     gpu_table.h     the vendor's functions, and what differs between the vendors
 *     gpu_library.c   loading the vendor's library; opening for the public functions
 *     gpu_backend.c   memory, device information, opening for a context
 *     gpu_range.c     ranges of addresses, into which memory is mapped
 *     gpu_stream.c    streams, events, data
 *     gpu_visit.c     making calls in the backend's context; what answers mean
 *
 * Threads: the state does not change while the backend is open, so it needs no lock.
 */
#ifndef TN_GPU_DEVICE_H
#define TN_GPU_DEVICE_H

#include <stdatomic.h>

#include "../backend_common/lifetime.h"
#include "../base/sync.h"
#include "gpu_table.h"

struct tn_gpu_device {
    const struct tn_gpu_table *table;
    void *context; /* in which all calls are made */
    bool gives_context_back;
    int number;
    struct tn_lifetime lifetime;
    char name[256];
    tarn_device_properties properties;
    bool
        spills_to_host; /* SHARED memory that the device has no room for lies in the host's memory */
    bool has_rdma;      /* memory of ranges can be had for GPUDirect RDMA */
    void *watch_domain;                               /* an nvtxDomainHandle_t, or NULL */
    void (*open_watch)(struct tn_gpu_device *device); /* in the context, or NULL */
    void (*close_watch)(struct tn_gpu_device *device);
    tarn_backend_operations operations; /* those that the vendor's library has the functions for */
};

/* --- gpu_visit.c ------------------------------------------------------------------------------- */

/* The purpose of an operation. */
enum tn_gpu_purpose {
    TN_GPU_TAKE,  /* takes memory or asks how much there is */
    TN_GPU_GIVE,  /* gives memory back */
    TN_GPU_ORDER, /* streams, events, data */
    TN_GPU_END    /* gives a stream or an event back */
};

/*
 * Calls of the vendor in the backend's context:
 *
 *     struct tn_gpu_visit visit = tn_gpu_begin(device, TN_GPU_ORDER);
 *     if (visit.may_call) visit.error = device->table->event_record(event, stream);
 *     return tn_gpu_end(&visit);
 *
 * The end restores the thread's context, and makes a result of the error. When the process ends, and in the child of a
 * fork, there is no call: then what takes something fails, and what gives back succeeds.
 *
 * While memory is taken a thread may be capturing a stream into a graph. By default the vendor then refuses the call and
 * spoils the capture, because launching the graph would not take the memory again. Memory of a pool outlives the graph. So
 * the thread's capture mode is relaxed for TN_GPU_TAKE and restored at the end. If the mode cannot be changed, the call is
 * made in the thread's own mode.
 */
struct tn_gpu_visit {
    const struct tn_gpu_device *device;
    void *previous; /* the context that was current */
    tn_gpu_error error;
    enum tn_gpu_purpose purpose;
    int capture_mode; /* the thread's own */
    bool is_over;     /* the process ends, or is a fork */
    bool is_entered;
    bool is_relaxed;
    bool may_call;
};

struct tn_gpu_visit tn_gpu_begin(const struct tn_gpu_device *device, enum tn_gpu_purpose purpose);
tarn_backend_result tn_gpu_end(struct tn_gpu_visit *visit);

tarn_backend_result tn_gpu_result(const struct tn_gpu_table *table, tn_gpu_error error);

/* The library's answer while it is being unloaded. */
tarn_backend_result tn_gpu_unloading(const struct tn_gpu_vendor *vendor);

/* For a call that may fail. The program's next question for its last error does not find this one. */
static inline bool tn_gpu_succeeds(const struct tn_gpu_table *table, tn_gpu_error error)
{
    if (error == TN_ERROR_SUCCESS) return true;
    (void)table->vendor->take_error(table, error);
    return false;
}

/* --- gpu_backend.c ----------------------------------------------------------------------------- */

/* Opens a backend for device->context on device->number, of memory of a kind. The device is zero but for these two and the
 * table, and from tn_host_memory_alloc_zeroed. It stays the caller's if opening fails. */
tarn_backend_result tn_gpu_open_context(struct tn_gpu_device *device, tarn_memory_kind kind,
                                        tarn_backend *backend_out);

/* Whether an attribute of the device is not 0. One that the vendor's library does not know is 0. */
tn_gpu_error tn_gpu_ask(const struct tn_gpu_table *table, int attribute, int number,
                        bool *is_so_out);

/* --- gpu_library.c ----------------------------------------------------------------------------- */

/* The vendor's library, which is loaded when a backend of the process is first opened, and then stays. */
struct tn_gpu_library {
    const struct tn_gpu_vendor *vendor;
    const char *const *names; /* file names, the first that is there is taken; ends with NULL */
    void (*open_watch)(struct tn_gpu_device *device); /* or NULL */
    struct tn_mutex lock;
    atomic_bool is_missing;
    struct tn_gpu_table table;
    const struct tn_gpu_table *_Atomic found; /* the table once it is filled */
};

/* Opens the backend for the public function of that name. */
tarn_status tn_gpu_open(struct tn_gpu_library *library, const char *function, int number,
                        tarn_memory_kind kind, tarn_backend *backend_out);

tarn_status tn_gpu_device_count(struct tn_gpu_library *library, int *count_out);

/* The device of the thread's context; where none is current, the first one. Creates no context. */
tarn_status tn_gpu_current_device(struct tn_gpu_library *library, int *device_out);

/* --- gpu_range.c, in the order of the operations table; `state` is a tn_gpu_device ------------- */

tarn_backend_result tn_gpu_range_reserve(void *state, size_t size_bytes, void **address_out);
tarn_backend_result tn_gpu_range_release(void *state, void *address, size_t size_bytes);
tarn_backend_result tn_gpu_range_map(void *state, void *address, size_t size_bytes,
                                     tarn_mapping *mapping_out);
tarn_backend_result tn_gpu_range_unmap(void *state, void *address, size_t size_bytes,
                                       tarn_mapping mapping);
tarn_backend_result tn_gpu_range_unmap_idle(void *state, void *address, size_t size_bytes,
                                            tarn_mapping mapping);
tarn_backend_result tn_gpu_range_map_shareable(void *state, void *address, size_t size_bytes,
                                               tarn_mapping *mapping_out);
tarn_backend_result tn_gpu_range_export(void *state, void *address, size_t size_bytes,
                                        tarn_mapping mapping, int *file_descriptor_out);

/* The single step, for memory that is tried out: the physical memory of a mapping. */
tn_gpu_error tn_gpu_create_memory(const struct tn_gpu_device *device, size_t size_bytes,
                                  bool is_shareable, uint64_t *handle_out);
tn_gpu_error tn_gpu_export_memory(const struct tn_gpu_table *table, uint64_t handle,
                                  int *file_descriptor_out);

/* Sets the device's properties of ranges. A device without ranges is no failure. Its context is current. */
tn_gpu_error tn_gpu_find_ranges(struct tn_gpu_device *device);

/* --- gpu_stream.c, in the order of the operations table; `state` is a tn_gpu_device ------------ */

tarn_backend_result tn_gpu_stream_create(void *state, tarn_stream *stream_out);
tarn_backend_result tn_gpu_stream_destroy(void *state, tarn_stream stream);
tarn_backend_result tn_gpu_stream_check(void *state, tarn_stream stream);
tarn_backend_result tn_gpu_stream_id(void *state, tarn_stream stream, uint64_t *id_out);
tarn_backend_result tn_gpu_stream_synchronize(void *state, tarn_stream stream);
tarn_backend_result tn_gpu_stream_wait_event(void *state, tarn_stream stream, tarn_event event);

tarn_backend_result tn_gpu_event_create(void *state, tarn_event *event_out);
tarn_backend_result tn_gpu_event_destroy(void *state, tarn_event event);
tarn_backend_result tn_gpu_event_record(void *state, tarn_event event, tarn_stream stream);
tarn_backend_result tn_gpu_event_record_device(void *state, tarn_event event);
tarn_backend_result tn_gpu_event_query(void *state, tarn_event event);
tarn_backend_result tn_gpu_event_synchronize(void *state, tarn_event event);

tarn_backend_result tn_gpu_fill(void *state, void *address, unsigned char value, size_t size_bytes,
                                tarn_stream stream);
tarn_backend_result tn_gpu_copy(void *state, void *destination, const void *source,
                                size_t size_bytes, tarn_stream stream);

#endif
