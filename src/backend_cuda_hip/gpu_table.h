/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * gpu_table: the functions of CUDA's driver or of HIP's runtime, looked up when the program runs.
 *
 * The two libraries have the same functions with the same arguments, mostly. Here an error (CUresult, hipError_t) is an
 * int, a device address (CUdeviceptr, hipDeviceptr_t) a number of a pointer's size, every handle a pointer. So one table
 * is for both, and no header of theirs is needed. A test compares the declarations with those headers:
 * tests/run/cuda/check_types.c, tests/run/hip/check_types.c. Larger differences are in struct tn_gpu_vendor.
 *
 * Threads: a table does not change once it is filled.
 */
#ifndef TN_GPU_TABLE_H
#define TN_GPU_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tarn/backend.h"

typedef int tn_gpu_error;
typedef uintptr_t tn_gpu_address;

/* Of CUresult and hipError_t, which have the same numbers. */
enum {
    TN_ERROR_SUCCESS = 0,
    TN_ERROR_INVALID_VALUE = 1,
    TN_ERROR_OUT_OF_MEMORY = 2,
    TN_ERROR_NOT_INITIALIZED = 3,
    TN_ERROR_DEINITIALIZED = 4,
    TN_ERROR_INVALID_DEVICE_POINTER = 17, /* HIP's alone */
    TN_ERROR_STUB_LIBRARY = 34,           /* CUDA's alone */
    TN_ERROR_INSUFFICIENT_DRIVER = 35,    /* HIP's alone */
    TN_ERROR_NO_DEVICE = 100,
    TN_ERROR_INVALID_DEVICE = 101,
    TN_ERROR_INVALID_CONTEXT = 201,
    TN_ERROR_MAP_FAILED = 205,
    TN_ERROR_INVALID_HANDLE = 400,
    TN_ERROR_NOT_READY = 600,
    TN_ERROR_NOT_SUPPORTED = 801,
    TN_ERROR_SYSTEM_NOT_READY = 802,       /* CUDA's alone */
    TN_ERROR_SYSTEM_DRIVER_MISMATCH = 803, /* CUDA's alone */
    TN_ERROR_CAPTURE_WRONG_THREAD = 908,
    TN_ERROR_UNKNOWN = 999
};

#define TN_GRANULARITY_MINIMUM     0
#define TN_GRANULARITY_RECOMMENDED 1

#define TN_STREAM_LEGACY     ((void *)1)
#define TN_STREAM_PER_THREAD ((void *)2)

/* CUmemLocation, CUmemAllocationProp and CUmemAccessDesc, and HIP's hipMemLocation, hipMemAllocationProp and
 * hipMemAccessDesc, which end earlier or are the same. */
struct tn_gpu_location {
    int type, number;
};

struct tn_gpu_memory {
    int type;
    int handle_types;
    struct tn_gpu_location location;
    void *unused;
    unsigned char flags
        [8]; /* the second: other devices of the machine may reach the memory, by GPUDirect RDMA */
};

struct tn_gpu_access {
    struct tn_gpu_location location;
    int flags;
};

/* X(result, field, CUDA's symbol, HIP's symbol, is it required?, parameters) */
#define TN_GPU_FUNCTIONS(X)                                                                        \
    X(int, get_version, "cuDriverGetVersion", "hipDriverGetVersion", true, (int *version))         \
    X(int, get_device_count, "cuDeviceGetCount", "hipGetDeviceCount", true, (int *count))          \
    X(int, get_device_name, "cuDeviceGetName", "hipDeviceGetName", true,                           \
      (char *name, int bytes, int device))                                                         \
    X(int, get_total_bytes, "cuDeviceTotalMem_v2", "hipDeviceTotalMem", true,                      \
      (size_t * bytes, int device))                                                                \
    X(int, get_attribute, "cuDeviceGetAttribute", "hipDeviceGetAttribute", true,                   \
      (int *value, int attribute, int device))                                                     \
    /* of the calling thread */                                                                    \
    X(int, get_device, "cuCtxGetDevice", "hipGetDevice", true, (int *device))                      \
    X(int, synchronize, "cuCtxSynchronize", "hipDeviceSynchronize", true, (void))                  \
    X(int, exchange_capture_mode, "cuThreadExchangeStreamCaptureMode",                             \
      "hipThreadExchangeStreamCaptureMode", false, (int *mode))                                    \
    /* memory */                                                                                   \
    X(int, alloc, "cuMemAlloc_v2", "hipMalloc", true,                                              \
      (tn_gpu_address * address, size_t size_bytes))                                               \
    X(int, free, "cuMemFree_v2", "hipFree", true, (tn_gpu_address address))                        \
    X(int, alloc_host_with_flags, "cuMemHostAlloc", "hipHostMalloc", true,                         \
      (void **address, size_t size_bytes, unsigned flags))                                         \
    X(int, free_host, "cuMemFreeHost", "hipHostFree", true, (void *address))                       \
    X(int, alloc_managed, "cuMemAllocManaged", "hipMallocManaged", true,                           \
      (tn_gpu_address * address, size_t size_bytes, unsigned flags))                               \
    X(int, get_info, "cuMemGetInfo_v2", "hipMemGetInfo", true,                                     \
      (size_t * free_bytes, size_t * total_bytes))                                                 \
    X(int, get_pointer_attribute, "cuPointerGetAttribute", "hipPointerGetAttribute", false,        \
      (void *value, int attribute, tn_gpu_address address))                                        \
    /* streams, events, data */                                                                    \
    X(int, stream_create, "cuStreamCreate", "hipStreamCreateWithFlags", true,                      \
      (void **stream, unsigned flags))                                                             \
    X(int, destroy_stream, "cuStreamDestroy_v2", "hipStreamDestroy", true, (void *stream))         \
    X(int, stream_synchronize, "cuStreamSynchronize", "hipStreamSynchronize", true,                \
      (void *stream))                                                                              \
    X(int, stream_wait_event, "cuStreamWaitEvent", "hipStreamWaitEvent", true,                     \
      (void *stream, void *event, unsigned flags))                                                 \
    X(int, stream_id, "cuStreamGetId", "hipStreamGetId", false,                                    \
      (void *stream, unsigned long long *id))                                                      \
    X(int, event_create, "cuEventCreate", "hipEventCreateWithFlags", true,                         \
      (void **event, unsigned flags))                                                              \
    X(int, event_destroy, "cuEventDestroy_v2", "hipEventDestroy", true, (void *event))             \
    X(int, event_record, "cuEventRecord", "hipEventRecord", true, (void *event, void *stream))     \
    X(int, event_query, "cuEventQuery", "hipEventQuery", true, (void *event))                      \
    X(int, event_synchronize, "cuEventSynchronize", "hipEventSynchronize", true, (void *event))    \
    X(int, fill, "cuMemsetD8Async", "hipMemsetD8Async", true,                                      \
      (tn_gpu_address address, unsigned char value, size_t size_bytes, void *stream))              \
    /* ranges; all of them, or the device has none */                                              \
    X(int, get_granularity, "cuMemGetAllocationGranularity", "hipMemGetAllocationGranularity",     \
      false, (size_t * bytes, const struct tn_gpu_memory *memory, int option))                     \
    X(int, address_reserve, "cuMemAddressReserve", "hipMemAddressReserve", false,                  \
      (tn_gpu_address * address, size_t size_bytes, size_t alignment_bytes, tn_gpu_address wanted, \
       uint64_t flags))                                                                            \
    X(int, address_free, "cuMemAddressFree", "hipMemAddressFree", false,                           \
      (tn_gpu_address address, size_t size_bytes))                                                 \
    X(int, create_memory, "cuMemCreate", "hipMemCreate", false,                                    \
      (uint64_t * handle, size_t size_bytes, const void *properties, uint64_t flags))              \
    X(int, release, "cuMemRelease", "hipMemRelease", false, (uint64_t handle))                     \
    X(int, map, "cuMemMap", "hipMemMap", false,                                                    \
      (tn_gpu_address address, size_t size_bytes, size_t offset_bytes, uint64_t handle,            \
       uint64_t flags))                                                                            \
    X(int, unmap, "cuMemUnmap", "hipMemUnmap", false, (tn_gpu_address address, size_t size_bytes)) \
    X(int, set_access, "cuMemSetAccess", "hipMemSetAccess", false,                                 \
      (tn_gpu_address address, size_t size_bytes, const struct tn_gpu_access *access,              \
       size_t count))                                                                              \
    X(int, export_memory, "cuMemExportToShareableHandle", "hipMemExportToShareableHandle", false,  \
      (void *shared, uint64_t handle, int type, uint64_t flags))

/* Those that one of them lacks, or has in another form. X(result, field, symbol, is it required?, parameters) */
#define TN_CUDA_FUNCTIONS(X)                                                                   \
    X(int, init, "cuInit", true, (unsigned flags))                                             \
    X(int, find_error_name, "cuGetErrorName", true, (tn_gpu_error error, const char **name))   \
    X(int, find_error_text, "cuGetErrorString", true, (tn_gpu_error error, const char **text)) \
    X(int, get_context, "cuCtxGetCurrent", true, (void **context))                             \
    X(int, push_context, "cuCtxPushCurrent_v2", true, (void *context))                         \
    X(int, pop_context, "cuCtxPopCurrent_v2", true, (void **context))                          \
    X(int, record_context, "cuCtxRecordEvent", false, (void *context, void *event))            \
    X(int, get_primary_state, "cuDevicePrimaryCtxGetState", true,                              \
      (int device, unsigned *flags, int *is_active))                                           \
    X(int, retain_primary, "cuDevicePrimaryCtxRetain", true, (void **context, int device))     \
    X(int, release_primary_7, "cuDevicePrimaryCtxRelease", true, (int device))                 \
    X(int, release_primary, "cuDevicePrimaryCtxRelease_v2", false, (int device))               \
    X(int, copy, "cuMemcpyAsync", true,                                                        \
      (tn_gpu_address destination, tn_gpu_address source, size_t size_bytes, void *stream))

#define TN_HIP_FUNCTIONS(X)                                                            \
    X(int, set_device, "hipSetDevice", true, (int device))                             \
    X(int, get_runtime_version, "hipRuntimeGetVersion", true, (int *version))          \
    X(int, get_last_error, "hipGetLastError", true, (void))                            \
    X(const char *, get_error_name, "hipGetErrorName", true, (tn_gpu_error error))     \
    X(const char *, get_error_text, "hipGetErrorString", true, (tn_gpu_error error))   \
    X(int, copy_kind, "hipMemcpyAsync", true,                                          \
      (tn_gpu_address destination, tn_gpu_address source, size_t size_bytes, int kind, \
       void *stream))

struct tn_gpu_vendor;

struct tn_gpu_table {
    const struct tn_gpu_vendor *vendor;
    /* For who counts the calls; NULL: nobody does. Told before each call of a backend. */
    void (*note)(bool is_of_memory);
/* NOLINTBEGIN(bugprone-macro-parentheses): declarations. A function is NULL if the library does not have it. */
#define TN_GPU_FIELD(result, field, cuda, hip, is_required, parameters) result(*field) parameters;
#define TN_VENDOR_FIELD(result, field, symbol, is_required, parameters) result(*field) parameters;
    TN_GPU_FUNCTIONS(TN_GPU_FIELD)
    TN_CUDA_FUNCTIONS(TN_VENDOR_FIELD)
    TN_HIP_FUNCTIONS(TN_VENDOR_FIELD)
#undef TN_VENDOR_FIELD
#undef TN_GPU_FIELD
    /* NOLINTEND(bugprone-macro-parentheses) */
};

/* A function of the table: where it is kept, and by which symbol it is found. */
struct tn_gpu_symbol {
    size_t offset;
    const char *symbol;
    bool is_required;
};

/* Writes the functions that `find` finds. Returns the symbol of one that is required and was not found, or NULL. */
const char *tn_gpu_table_fill(struct tn_gpu_table *table, const struct tn_gpu_vendor *vendor,
                              void *(*find)(void *library, const char *symbol), void *library);

/* --- where vendors differ: cuda_vendor.c, hip_vendor.c -------------------------------------------------- */

/* In place of an attribute's number: the answer, where the vendor has no such attribute. */
#define TN_GPU_TRUE  (-1)
#define TN_GPU_FALSE (-2)

struct tn_gpu_device;

struct tn_gpu_vendor {
    const char *name;           /* "CUDA" */
    const char *backend_name;   /* "cuda" */
    const char *unloading_name; /* of the error while the library is being unloaded */
    const struct tn_gpu_symbol *symbols;
    size_t symbol_count;
    int can_map_host, has_one_address, has_managed, has_concurrent_managed, is_integrated,
        texture_alignment, has_ranges, has_rdma; /* the numbers of attributes */

    int granularity;             /* which one of TN_GRANULARITY_... */
    int has_legacy_stream_since; /* the version of the runtime from which on TN_STREAM_LEGACY is a stream */
    bool aligns_reservations; /* reserved addresses are aligned to it, also where nobody asks */
    bool may_unmap_nothing;   /* an unmapping of nothing is harmless */
    bool unmaps_at_once;      /* an unmapping waits for no work */

    /* A context stands for a device where the vendor has none; then it is never NULL. */

    /* The context that is current in the calling thread; NULL: none is. */
    tn_gpu_error (*get_context)(const struct tn_gpu_table *table, void **context_out);
    /* Makes a context current, and after that the one that was current before. */
    tn_gpu_error (*enter)(const struct tn_gpu_table *table, void *context);
    void (*leave)(const struct tn_gpu_table *table, void *previous);
    /* The context of a device that programs use without asking for one; it is given back by end_context. */
    tn_gpu_error (*begin_context)(struct tn_gpu_device *device);
    void (*end_context)(struct tn_gpu_device *device);

    tn_gpu_error (*copy)(const struct tn_gpu_table *table, tn_gpu_address destination,
                         tn_gpu_address source, size_t size_bytes, void *stream);
    /* Writes 0 where only one version counts. */
    tn_gpu_error (*get_runtime_version)(const struct tn_gpu_table *table, int *version_out);
    /* The name of an error that a call has answered, and its text. The program's next question for its last error does not
     * find that error. */
    const char *(*take_error)(const struct tn_gpu_table *table, tn_gpu_error error);
    const char *(*error_text)(const struct tn_gpu_table *table, tn_gpu_error error);
    /* Whether memory of ranges can be shared with other processes. The device's context is current. */
    tn_gpu_error (*find_sharing)(const struct tn_gpu_device *device, size_t granularity_bytes,
                                 bool *can_share_out);
};

extern const struct tn_gpu_vendor tn_cuda_vendor, tn_hip_vendor;

#endif
