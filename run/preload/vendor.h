/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * vendor: the functions of the process's libcuda, past everything that is interposed. The library is never linked and
 * never loaded by tarn: it is there when the program uses it.
 *
 * Threads: any. Cost: finding it again is a load.
 */
#ifndef TN_DRIVER_H
#define TN_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "intercepted.h"

/* Of CUresult. */
enum {
    TN_CUDA_SUCCESS = 0,
    TN_CUDA_INVALID_VALUE = 1,
    TN_CUDA_OUT_OF_MEMORY = 2,
    TN_CUDA_NOT_INITIALIZED = 3,
    TN_CUDA_DEINITIALIZED = 4,
    TN_CUDA_NO_DEVICE = 100,
    TN_CUDA_INVALID_DEVICE = 101,
    TN_CUDA_INVALID_HANDLE = 400,
    TN_CUDA_NOT_READY = 600,
    TN_CUDA_NOT_SUPPORTED = 801,
    TN_CUDA_CAPTURE_WRONG_THREAD = 908,
    TN_CUDA_UNKNOWN = 999
};

#define TN_CUDA_STREAM_LEGACY     ((void *)1)
#define TN_CUDA_STREAM_PER_THREAD ((void *)2)

/* CUmemLocation, CUmemAllocationProp and CUmemAccessDesc. */
struct tn_cuda_location {
    int type, number;
};

struct tn_cuda_memory {
    int type;
    int handle_types;
    struct tn_cuda_location location;
    void *unused;
    unsigned char flags[8];
};

struct tn_cuda_access {
    struct tn_cuda_location location;
    int flags;
};

/* Functions that the pools call, besides those that are intercepted.
 * X(field, symbol, is it required?, parameters) */
#define TN_DRIVER_FUNCTIONS(X)                                                                 \
    X(get_version, cuDriverGetVersion, true, (int *version))                                   \
    X(get_error_name, cuGetErrorName, true, (tn_cuda_error error, const char **name))          \
    X(get_device_name, cuDeviceGetName, true, (char *name, int bytes, int device))             \
    X(get_total_bytes, cuDeviceTotalMem_v2, true, (size_t * bytes, int device))                \
    X(get_attribute, cuDeviceGetAttribute, true, (int *value, int attribute, int device))      \
    X(get_context, cuCtxGetCurrent, true, (void **context))                                    \
    X(get_context_device, cuCtxGetDevice, true, (int *device))                                 \
    X(push_context, cuCtxPushCurrent_v2, true, (void *context))                                \
    X(pop_context, cuCtxPopCurrent_v2, true, (void **context))                                 \
    X(synchronize, cuCtxSynchronize, true, (void))                                             \
    X(get_primary_state, cuDevicePrimaryCtxGetState, true,                                     \
      (int device, unsigned *flags, int *is_active))                                           \
    X(retain_primary, cuDevicePrimaryCtxRetain, true, (void **context, int device))            \
    X(stream_create, cuStreamCreate, true, (void **stream, unsigned flags))                    \
    X(stream_synchronize, cuStreamSynchronize, true, (void *stream))                           \
    X(stream_wait_event, cuStreamWaitEvent, true, (void *stream, void *event, unsigned flags)) \
    X(stream_context, cuStreamGetCtx, false, (void *stream, void **context))                   \
    X(stream_id, cuStreamGetId, false, (void *stream, unsigned long long *id))                 \
    X(event_create, cuEventCreate, true, (void **event, unsigned flags))                       \
    X(event_destroy, cuEventDestroy_v2, true, (void *event))                                   \
    X(event_record, cuEventRecord, true, (void *event, void *stream))                          \
    X(event_query, cuEventQuery, true, (void *event))                                          \
    X(event_synchronize, cuEventSynchronize, true, (void *event))                              \
    X(record_context, cuCtxRecordEvent, false, (void *context, void *event))                   \
    X(fill, cuMemsetD8Async, true,                                                             \
      (tn_cuda_address address, unsigned char value, size_t size_bytes, void *stream))         \
    X(copy, cuMemcpyAsync, true,                                                               \
      (tn_cuda_address destination, tn_cuda_address source, size_t size_bytes, void *stream))  \
    X(get_pointer_attribute, cuPointerGetAttribute, true,                                      \
      (void *value, int attribute, tn_cuda_address address))                                   \
    X(get_granularity, cuMemGetAllocationGranularity, false,                                   \
      (size_t * bytes, const struct tn_cuda_memory *memory, int option))                       \
    X(address_reserve, cuMemAddressReserve, false,                                             \
      (tn_cuda_address * address, size_t size_bytes, size_t alignment_bytes,                   \
       tn_cuda_address wanted, uint64_t flags))                                                \
    X(address_free, cuMemAddressFree, false, (tn_cuda_address address, size_t size_bytes))     \
    X(release, cuMemRelease, false, (uint64_t handle))                                         \
    X(map, cuMemMap, false,                                                                    \
      (tn_cuda_address address, size_t size_bytes, size_t offset_bytes, uint64_t handle,       \
       uint64_t flags))                                                                        \
    X(unmap, cuMemUnmap, false, (tn_cuda_address address, size_t size_bytes))                  \
    X(set_access, cuMemSetAccess, false,                                                       \
      (tn_cuda_address address, size_t size_bytes, const struct tn_cuda_access *access,        \
       size_t count))

struct tn_driver {
    tn_any_function intercepted[TN_CALL_COUNT]; /* NULL: the driver does not have it */
/* NOLINTNEXTLINE(bugprone-macro-parentheses): a declaration */
#define TN_DRIVER_FIELD(field, symbol, is_required, parameters) tn_cuda_error(*field) parameters;
    TN_DRIVER_FUNCTIONS(TN_DRIVER_FIELD)
#undef TN_DRIVER_FIELD
    bool is_complete; /* all that is required is there */
};

/* The driver's own function of that symbol. */
#define TN_DRIVER_HAS(driver, symbol) ((driver) && (driver)->intercepted[TN_CALL_##symbol])
#define TN_DRIVER_CALL(driver, symbol) \
    ((__typeof__(&tn_call_##symbol))(driver)->intercepted[TN_CALL_##symbol])

/* NULL: no libcuda is in the process. */
const struct tn_driver *tn_driver_find(void);

/* Whether an address lies in a libcuda. The first such address settles which one is the process's. */
bool tn_driver_note_library(const void *address);

/* Whether an address lies in this library. */
bool tn_driver_is_own(const void *address);

/* Whether an address lies in a library whose file name begins so. */
bool tn_driver_is_in_library(const void *address, const char *begin);

/* Not of the table: the range of an allocation, where the driver tells that of the static pool around it. */
tn_cuda_error tn_call_address_range_of_allocation(tn_cuda_address *base, size_t *size_bytes,
                                                  tn_cuda_address address);

#endif
