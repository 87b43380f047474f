/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#ifndef TARN_STAND_IN_UMF_MEMORY_POOL_H
#define TARN_STAND_IN_UMF_MEMORY_POOL_H

#include <umf/memory_pool_ops.h>

typedef struct umf_memory_pool_t {
    umf_memory_pool_ops_t ops;
    void *priv;
} umf_memory_pool_t;

typedef umf_memory_pool_t *umf_memory_pool_handle_t;

static inline umf_result_t umfPoolCreate(const umf_memory_pool_ops_t *ops,
                                         umf_memory_provider_handle_t provider, const void *params,
                                         uint32_t flags, umf_memory_pool_handle_t *pool)
{
    umf_memory_pool_handle_t made = (umf_memory_pool_handle_t)malloc(sizeof *made);
    (void)flags;
    if (!made) return UMF_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    made->ops = *ops;
    umf_result_t result = made->ops.initialize(provider, params, &made->priv);
    if (result == UMF_RESULT_SUCCESS)
        *pool = made;
    else
        free(made);
    return result;
}

static inline umf_result_t umfPoolDestroy(umf_memory_pool_handle_t pool)
{
    umf_result_t result = pool->ops.finalize(pool->priv);
    free(pool);
    return result;
}

static inline void *umfPoolMalloc(umf_memory_pool_handle_t pool, size_t size)
{
    return pool->ops.malloc(pool->priv, size);
}

static inline void *umfPoolCalloc(umf_memory_pool_handle_t pool, size_t num, size_t size)
{
    return pool->ops.calloc(pool->priv, num, size);
}

static inline void *umfPoolRealloc(umf_memory_pool_handle_t pool, void *ptr, size_t size)
{
    return pool->ops.realloc(pool->priv, ptr, size);
}

static inline void *umfPoolAlignedMalloc(umf_memory_pool_handle_t pool, size_t size,
                                         size_t alignment)
{
    return pool->ops.aligned_malloc(pool->priv, size, alignment);
}

static inline umf_result_t umfPoolMallocUsableSize(umf_memory_pool_handle_t pool, const void *ptr,
                                                   size_t *size)
{
    return pool->ops.malloc_usable_size(pool->priv, ptr, size);
}

static inline umf_result_t umfPoolFree(umf_memory_pool_handle_t pool, void *ptr)
{
    return pool->ops.free(pool->priv, ptr);
}

static inline umf_result_t umfPoolGetLastAllocationError(umf_memory_pool_handle_t pool)
{
    return pool->ops.get_last_allocation_error(pool->priv);
}

static inline umf_result_t umfPoolGetName(umf_memory_pool_handle_t pool, const char **name)
{
    return pool->ops.get_name(pool->priv, name);
}

static inline umf_result_t umfPoolTrimMemory(umf_memory_pool_handle_t pool, size_t minBytesToKeep)
{
    return pool->ops.ext_trim_memory(pool->priv, minBytesToKeep);
}

#endif
