/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#ifndef TARN_STAND_IN_UMF_MEMORY_POOL_OPS_H
#define TARN_STAND_IN_UMF_MEMORY_POOL_OPS_H

#include <umf/memory_provider.h>

#define UMF_POOL_OPS_VERSION_CURRENT UMF_MAKE_VERSION(1, 1)

/* Without ext_ctl, which lies before ext_trim_memory. */
typedef struct umf_memory_pool_ops_t {
    uint32_t version;
    umf_result_t (*initialize)(umf_memory_provider_handle_t provider, const void *params,
                               void **pool);
    umf_result_t (*finalize)(void *pool);
    void *(*malloc)(void *pool, size_t size);
    void *(*calloc)(void *pool, size_t num, size_t size);
    void *(*realloc)(void *pool, void *ptr, size_t size);
    void *(*aligned_malloc)(void *pool, size_t size, size_t alignment);
    umf_result_t (*malloc_usable_size)(void *pool, const void *ptr, size_t *size);
    umf_result_t (*free)(void *pool, void *ptr);
    umf_result_t (*get_last_allocation_error)(void *pool);
    umf_result_t (*get_name)(void *pool, const char **name);
    umf_result_t (*ext_trim_memory)(void *pool, size_t minBytesToKeep);
} umf_memory_pool_ops_t;

#endif
