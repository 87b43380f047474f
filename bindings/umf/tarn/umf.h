/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * tarn/umf.h: a pool of the Unified Memory Framework (UMF) that tarn manages. Its memory comes from a provider of UMF's.
 *
 *     #include <tarn/umf.h>
 *
 *     umf_memory_pool_ops_t operations = tarn_umf_pool_ops();
 *     umf_memory_pool_handle_t pool;
 *     umfPoolCreate(&operations, provider, NULL, 0, &pool);       NULL: tarn's default options
 *     void *field = umfPoolMalloc(pool, 1000 * sizeof(double));
 *     umfPoolFree(pool, field);
 *     umfPoolDestroy(pool);
 *
 * Memory is never read or written, so the provider may be any: of a GPU, of the system, of a file. The parameter of
 * umfPoolCreate is a tarn_pool_options, with a limit for example. Its backend must be NULL; zero_has_address is always
 * set. Options that need streams, events or ranges are not supported: contiguous, free_waits, poison.
 *
 * Streams. UMF's calls name none. Memory must not be freed before the device is done with it, unless all work on it
 * is on one stream.
 *
 * Results. umfPoolCalloc and umfPoolRealloc are not supported, as they would touch the memory. A shortage of any kind is
 * UMF_RESULT_ERROR_OUT_OF_HOST_MEMORY, and a free that is refused UMF_RESULT_ERROR_INVALID_ARGUMENT; tarn_last_error
 * has a sentence. umfPoolDestroy with live allocations gives their memory back, and answers
 * UMF_RESULT_ERROR_USER_SPECIFIC. umfPoolTrimMemory gives unused memory back to the provider; UMF has it from 1.1.
 *
 * Addresses are multiples of 256. Threads: all may call at once. UMF 1.0 and newer, C11 and C++11.
 */
#ifndef TARN_UMF_H
#define TARN_UMF_H

#include <stdlib.h>
#include <string.h>

#include <umf/memory_pool.h>
#include <umf/memory_pool_ops.h>
#include <umf/memory_provider.h>

#include "tarn/tarn.h"

#ifdef __cplusplus
#define TARN_UMF_THREAD_LOCAL thread_local
extern "C" {
#else
#define TARN_UMF_THREAD_LOCAL _Thread_local
#endif

typedef struct tarn_umf_pool {
    umf_memory_provider_handle_t provider;
    size_t page_bytes;
    tarn_backend_operations operations;
    tarn_pool *pool;
} tarn_umf_pool;

/* --- the provider as a backend ----------------------------------------------------------------- */

static inline tarn_backend_result tarn_umf_backend_result(const tarn_umf_pool *self,
                                                          umf_result_t result)
{
    tarn_backend_result translated = TARN_BACKEND_RESULT_OK;
    const char *message = NULL;
    int32_t code = 0;
    switch (result) {
    case UMF_RESULT_SUCCESS:
        return translated;
    case UMF_RESULT_ERROR_OUT_OF_HOST_MEMORY:
    case UMF_RESULT_ERROR_OUT_OF_RESOURCES:
        translated.status = TARN_STATUS_OUT_OF_MEMORY;
        translated.vendor_name = "UMF's provider has no memory";
        break;
    case UMF_RESULT_ERROR_MEMORY_PROVIDER_SPECIFIC:
        umfMemoryProviderGetLastNativeError(self->provider, &message, &code);
        translated.status = TARN_STATUS_VENDOR_ERROR;
        translated.vendor_name = "UMF's provider failed";
        break;
    default:
        translated.status = TARN_STATUS_VENDOR_ERROR;
        translated.vendor_name = "UMF failed";
        break;
    }
    translated.vendor_code = code ? (int)code : (int)result;
    return translated;
}

static inline tarn_backend_result tarn_umf_acquire(void *state, size_t size_bytes,
                                                   void **address_out)
{
    const tarn_umf_pool *self = (const tarn_umf_pool *)state;
    void *address = NULL;
    const umf_result_t result =
        umfMemoryProviderAlloc(self->provider, size_bytes, self->page_bytes, &address);
    if (result == UMF_RESULT_SUCCESS) *address_out = address;
    return tarn_umf_backend_result(self, result);
}

static inline tarn_backend_result tarn_umf_release(void *state, void *address, size_t size_bytes)
{
    const tarn_umf_pool *self = (const tarn_umf_pool *)state;
    return tarn_umf_backend_result(self,
                                   umfMemoryProviderFree(self->provider, address, size_bytes));
}

static inline tarn_backend_result tarn_umf_get_properties(void *state,
                                                          tarn_device_properties *properties_out)
{
    const tarn_umf_pool *self = (const tarn_umf_pool *)state;
    memset(properties_out, 0, sizeof *properties_out);
    properties_out->device_name = "a provider of UMF";
    properties_out->kind = TARN_MEMORY_KIND_DEVICE;
    properties_out->alignment_bytes = self->page_bytes;
    properties_out->granularity_bytes = self->page_bytes;
    properties_out->allocation_bytes_max = SIZE_MAX / 2;
    return TARN_BACKEND_RESULT_OK;
}

/* --- the operations of the pool ---------------------------------------------------------------- */

/* The result of the thread's last allocation that failed. */
static inline umf_result_t *tarn_umf_last_result(void)
{
    static TARN_UMF_THREAD_LOCAL umf_result_t last_result = UMF_RESULT_SUCCESS;
    return &last_result;
}

static inline umf_result_t tarn_umf_result(tarn_status status)
{
    switch (status) {
    case TARN_STATUS_OK:
        return UMF_RESULT_SUCCESS;
    case TARN_STATUS_OUT_OF_MEMORY:
    case TARN_STATUS_OVER_LIMIT:
    case TARN_STATUS_SIZE_TOO_LARGE:
    case TARN_STATUS_OUT_OF_HOST_MEMORY:
        return UMF_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    case TARN_STATUS_INVALID_ALIGNMENT:
        return UMF_RESULT_ERROR_INVALID_ALIGNMENT;
    case TARN_STATUS_NOT_SUPPORTED:
        return UMF_RESULT_ERROR_NOT_SUPPORTED;
    case TARN_STATUS_VENDOR_ERROR:
        return UMF_RESULT_ERROR_MEMORY_PROVIDER_SPECIFIC;
    default:
        return UMF_RESULT_ERROR_INVALID_ARGUMENT;
    }
}

static inline umf_result_t tarn_umf_initialize(umf_memory_provider_handle_t provider,
                                               const void *parameters, void **pool_out)
{
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    if (parameters) { /* of an older version of the header it is shorter */
        const size_t bytes = *(const size_t *)parameters;
        if (bytes > sizeof options) return UMF_RESULT_ERROR_INVALID_ARGUMENT;
        memcpy(&options, parameters, bytes);
        options.struct_bytes = sizeof options;
    }
    if (options.backend) return UMF_RESULT_ERROR_INVALID_ARGUMENT;
    tarn_umf_pool *self = (tarn_umf_pool *)calloc(1, sizeof *self);
    if (!self) return UMF_RESULT_ERROR_OUT_OF_HOST_MEMORY;

    self->provider = provider;
    if (umfMemoryProviderGetMinPageSize(provider, NULL, &self->page_bytes) != UMF_RESULT_SUCCESS ||
        self->page_bytes < TARN_ALIGNMENT_BYTES_DEFAULT)
        self->page_bytes = TARN_ALIGNMENT_BYTES_DEFAULT;
    self->operations.struct_bytes = sizeof self->operations;
    self->operations.name = "umf";
    self->operations.acquire = tarn_umf_acquire;
    self->operations.release = tarn_umf_release;
    self->operations.get_properties = tarn_umf_get_properties;
    const tarn_backend backend = { &self->operations, self };
    options.backend = &backend;
    options.zero_has_address = true;
    const tarn_status status = tarn_pool_create(&options, &self->pool);
    if (status == TARN_STATUS_OK)
        *pool_out = self;
    else
        free(self);
    return tarn_umf_result(status);
}

static inline umf_result_t tarn_umf_finalize(void *pool)
{
    tarn_umf_pool *self = (tarn_umf_pool *)pool;
    tarn_leaks leaks = TARN_LEAKS_INIT;
    const tarn_status status = tarn_pool_destroy_forced(self->pool, &leaks);
    free(self);
    if (status == TARN_STATUS_OK && leaks.allocation_count > 0)
        return UMF_RESULT_ERROR_USER_SPECIFIC;
    return tarn_umf_result(status);
}

static inline void *tarn_umf_aligned_malloc(void *pool, size_t size_bytes, size_t alignment_bytes)
{
    void *address = NULL;
    tarn_pool *managed = ((tarn_umf_pool *)pool)->pool;
    const tarn_status status =
        alignment_bytes == 0
            ? tarn_pool_alloc(managed, size_bytes, &address)
            : tarn_pool_alloc_aligned(managed, size_bytes, alignment_bytes, &address);
    if (status != TARN_STATUS_OK) *tarn_umf_last_result() = tarn_umf_result(status);
    return address;
}

static inline void *tarn_umf_malloc(void *pool, size_t size_bytes)
{
    return tarn_umf_aligned_malloc(pool, size_bytes, 0);
}

static inline void *tarn_umf_calloc(void *pool, size_t count, size_t size_bytes)
{
    (void)pool, (void)count, (void)size_bytes;
    *tarn_umf_last_result() = UMF_RESULT_ERROR_NOT_SUPPORTED;
    return NULL;
}

static inline void *tarn_umf_realloc(void *pool, void *address, size_t size_bytes)
{
    (void)pool, (void)address, (void)size_bytes;
    *tarn_umf_last_result() = UMF_RESULT_ERROR_NOT_SUPPORTED;
    return NULL;
}

static inline umf_result_t tarn_umf_malloc_usable_size(void *pool, const void *address,
                                                       size_t *size_bytes_out)
{
    return tarn_umf_result(
        tarn_pool_usable_size(((tarn_umf_pool *)pool)->pool, address, size_bytes_out));
}

static inline umf_result_t tarn_umf_free(void *pool, void *address)
{
    return tarn_umf_result(tarn_pool_free(((tarn_umf_pool *)pool)->pool, address));
}

static inline umf_result_t tarn_umf_get_last_allocation_error(void *pool)
{
    (void)pool;
    return *tarn_umf_last_result();
}

static inline umf_result_t tarn_umf_get_name(void *pool, const char **name_out)
{
    (void)pool;
    if (!name_out) return UMF_RESULT_ERROR_INVALID_ARGUMENT;
    *name_out = "tarn";
    return UMF_RESULT_SUCCESS;
}

static inline umf_result_t tarn_umf_trim(void *pool, size_t keep_bytes)
{
    return tarn_umf_result(tarn_pool_trim(((tarn_umf_pool *)pool)->pool, keep_bytes, NULL));
}

/* The operations for umfPoolCreate, which copies them. */
static inline umf_memory_pool_ops_t tarn_umf_pool_ops(void)
{
    umf_memory_pool_ops_t operations;
    memset(&operations, 0, sizeof operations);
    operations.version = UMF_POOL_OPS_VERSION_CURRENT;
    operations.initialize = tarn_umf_initialize;
    operations.finalize = tarn_umf_finalize;
    operations.malloc = tarn_umf_malloc;
    operations.calloc = tarn_umf_calloc;
    operations.realloc = tarn_umf_realloc;
    operations.aligned_malloc = tarn_umf_aligned_malloc;
    operations.malloc_usable_size = tarn_umf_malloc_usable_size;
    operations.free = tarn_umf_free;
    operations.get_last_allocation_error = tarn_umf_get_last_allocation_error;
    operations.get_name = tarn_umf_get_name;
#if UMF_POOL_OPS_VERSION_CURRENT >= UMF_MAKE_VERSION(1, 1)
    operations.ext_trim_memory = tarn_umf_trim;
#endif
    return operations;
}

#ifdef __cplusplus
}
#endif

#endif
