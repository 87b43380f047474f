/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * tarn/vendor_compat.h: the functions of tarn/cuda_compat.h and tarn/hip_compat.h, which include it. Each of them says
 * what the functions do.
 */
#ifdef TARN_VENDOR_COMPAT_H
#error "tarn/cuda_compat.h and tarn/hip_compat.h exclude each other"
#endif
#define TARN_VENDOR_COMPAT_H

#ifndef TARN_VENDOR_CALL
#error "include tarn/cuda_compat.h or tarn/hip_compat.h"
#endif

#include <stddef.h>

#include "tarn/tarn.h"

typedef TARN_VENDOR_CALL(Error_t) tarn_vendor_error;
typedef TARN_VENDOR_CALL(Stream_t) tarn_vendor_stream;

/* The error that a status stands for, of the call of tarn before. */
static inline tarn_vendor_error TARN_OWN_CALL(Error)(tarn_status status)
{
    switch (status) {
    case TARN_STATUS_OK:
        return TARN_VENDOR_CALL(Success);
    case TARN_STATUS_OUT_OF_MEMORY:
    case TARN_STATUS_OUT_OF_HOST_MEMORY:
    case TARN_STATUS_OVER_LIMIT:
    case TARN_STATUS_SIZE_TOO_LARGE:
        return TARN_VENDOR_OUT_OF_MEMORY;
    case TARN_STATUS_NO_DEVICE:
        return TARN_VENDOR_CALL(ErrorNoDevice);
    case TARN_STATUS_INVALID_DEVICE:
        return TARN_VENDOR_CALL(ErrorInvalidDevice);
    case TARN_STATUS_NOT_SUPPORTED:
        return TARN_VENDOR_CALL(ErrorNotSupported);
    default:
        break;
    }
    int code = tarn_last_error().vendor_code;
    bool has_code = status == TARN_STATUS_VENDOR_ERROR && code != 0;
    return has_code ? (tarn_vendor_error)code : TARN_VENDOR_CALL(ErrorInvalidValue);
}

/* Allocates from the process-wide pool for that kind of memory on the current device. */
static inline tarn_vendor_error TARN_OWN_CALL(MallocOfKind)(void **address_out, size_t size_bytes,
                                                            tarn_memory_kind kind)
{
    tarn_pool *pool;
    tarn_status status = tarn_device_pool(TARN_DEVICE_CURRENT, kind, &pool);
    if (status == TARN_STATUS_OK)
        status = tarn_pool_alloc_on(pool, size_bytes, TARN_STREAM_ANY, address_out);
    return TARN_OWN_CALL(Error)(status);
}

static inline tarn_vendor_error TARN_OWN_CALL(Malloc)(void **address_out, size_t size_bytes)
{
    return TARN_OWN_CALL(Error)(tarn_malloc_on(size_bytes, TARN_STREAM_ANY, address_out));
}

static inline tarn_vendor_error TARN_OWN_CALL(MallocManaged)(void **address_out, size_t size_bytes)
{
    return TARN_OWN_CALL(MallocOfKind)(address_out, size_bytes, TARN_MEMORY_KIND_SHARED);
}

static inline tarn_vendor_error TARN_OWN_CALL(HostMalloc)(void **address_out, size_t size_bytes)
{
    return TARN_OWN_CALL(MallocOfKind)(address_out, size_bytes, TARN_MEMORY_KIND_PINNED);
}

static inline tarn_vendor_error TARN_OWN_CALL(Free)(void *address)
{
    tarn_status status = tarn_free_on(address, TARN_STREAM_ANY);
    if (status == TARN_STATUS_FOREIGN_ADDRESS) return TARN_VENDOR_CALL(Free)(address);
    return TARN_OWN_CALL(Error)(status);
}

static inline tarn_vendor_error TARN_OWN_CALL(HostFree)(void *address)
{
    tarn_status status = tarn_free_on(address, TARN_STREAM_ANY);
    if (status == TARN_STATUS_FOREIGN_ADDRESS) return TARN_VENDOR_HOST_FREE(address);
    return TARN_OWN_CALL(Error)(status);
}

static inline tarn_vendor_error TARN_OWN_CALL(MallocAsync)(void **address_out, size_t size_bytes,
                                                           tarn_vendor_stream stream)
{
    return TARN_OWN_CALL(Error)(
        tarn_malloc_on(size_bytes, TARN_VENDOR_STREAM(stream), address_out));
}

static inline tarn_vendor_error TARN_OWN_CALL(FreeAsync)(void *address, tarn_vendor_stream stream)
{
    tarn_status status = tarn_free_on(address, TARN_VENDOR_STREAM(stream));
    if (status == TARN_STATUS_FOREIGN_ADDRESS) return TARN_VENDOR_CALL(FreeAsync)(address, stream);
    return TARN_OWN_CALL(Error)(status);
}

#ifdef __cplusplus

/* Like the vendor's own, these take a pointer to a pointer of any type. */
template <class T>
static inline tarn_vendor_error TARN_OWN_CALL(Malloc)(T **address_out, size_t size_bytes)
{
    return TARN_OWN_CALL(Malloc)((void **)(void *)address_out, size_bytes);
}

template <class T>
static inline tarn_vendor_error TARN_OWN_CALL(MallocManaged)(T **address_out, size_t size_bytes)
{
    return TARN_OWN_CALL(MallocManaged)((void **)(void *)address_out, size_bytes);
}

template <class T>
static inline tarn_vendor_error TARN_OWN_CALL(HostMalloc)(T **address_out, size_t size_bytes)
{
    return TARN_OWN_CALL(HostMalloc)((void **)(void *)address_out, size_bytes);
}

template <class T>
static inline tarn_vendor_error TARN_OWN_CALL(MallocAsync)(T **address_out, size_t size_bytes,
                                                           tarn_vendor_stream stream)
{
    return TARN_OWN_CALL(MallocAsync)((void **)(void *)address_out, size_bytes, stream);
}

#endif

#undef TARN_OWN_CALL
#undef TARN_VENDOR_CALL
#undef TARN_VENDOR_STREAM
#undef TARN_VENDOR_OUT_OF_MEMORY
#undef TARN_VENDOR_HOST_FREE
