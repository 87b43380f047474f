/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#ifndef TARN_STAND_IN_UMF_MEMORY_PROVIDER_H
#define TARN_STAND_IN_UMF_MEMORY_PROVIDER_H

#include <stdlib.h>

#include <umf/base.h>

/* Memory of the system. The fields are a test's. */
typedef struct umf_memory_provider_t {
    size_t page_bytes;
    umf_result_t alloc_result; /* another one than SUCCESS: of allocations from now on */
    size_t live_bytes;
} umf_memory_provider_t;

typedef umf_memory_provider_t *umf_memory_provider_handle_t;

static inline umf_result_t umfMemoryProviderAlloc(umf_memory_provider_handle_t provider,
                                                  size_t size, size_t alignment, void **ptr)
{
    if (provider->alloc_result != UMF_RESULT_SUCCESS) return provider->alloc_result;
    if (posix_memalign(ptr, alignment, size) != 0) return UMF_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    provider->live_bytes += size;
    return UMF_RESULT_SUCCESS;
}

static inline umf_result_t umfMemoryProviderFree(umf_memory_provider_handle_t provider, void *ptr,
                                                 size_t size)
{
    free(ptr);
    provider->live_bytes -= size;
    return UMF_RESULT_SUCCESS;
}

static inline umf_result_t umfMemoryProviderGetMinPageSize(umf_memory_provider_handle_t provider,
                                                           const void *ptr, size_t *page_size)
{
    (void)ptr;
    *page_size = provider->page_bytes;
    return UMF_RESULT_SUCCESS;
}

static inline umf_result_t umfMemoryProviderGetLastNativeError(
    umf_memory_provider_handle_t provider, const char **message, int32_t *error)
{
    (void)provider;
    *message = "the test's";
    *error = 1234;
    return UMF_RESULT_SUCCESS;
}

#endif
