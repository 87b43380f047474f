/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* sim_cuda_pool: CUDA's own pools over the simulated devices: what tarn-bench asks of them. */
#include "sim_cuda.h"

static sim_pool *pool_of(cudaMemPool_t pool)
{
    return (sim_pool *)(void *)pool;
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const struct cudaMemPoolProps *properties)
{
    sim_pool *created;
    sim_status status = sim_cuda_begin("cudaMemPoolCreate");
    if (status == SIM_STATUS_OK && (properties->allocType != cudaMemAllocationTypePinned ||
                                    properties->location.type != cudaMemLocationTypeDevice))
        status = SIM_STATUS_INVALID_VALUE;
    if (status == SIM_STATUS_OK) status = sim_pool_create(properties->location.id, &created);
    if (status == SIM_STATUS_OK) *pool = (cudaMemPool_t)(void *)created;
    return sim_cuda_answer(status);
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool)
{
    sim_status status = sim_cuda_begin("cudaMemPoolDestroy");
    if (status == SIM_STATUS_OK) status = sim_pool_destroy(pool_of(pool));
    return sim_cuda_answer(status);
}

/* The threshold alone: everything else that can be set means nothing here. */
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value)
{
    sim_status status = sim_cuda_begin("cudaMemPoolSetAttribute");
    if (status == SIM_STATUS_OK && attribute != cudaMemPoolAttrReleaseThreshold)
        status = SIM_STATUS_NOT_SUPPORTED;
    if (status == SIM_STATUS_OK)
        status = sim_pool_set_threshold(pool_of(pool), *(const uint64_t *)value);
    return sim_cuda_answer(status);
}

static sim_status get_attribute(const sim_pool_info *info, enum cudaMemPoolAttr attribute,
                                uint64_t *value)
{
    switch (attribute) {
    case cudaMemPoolAttrReleaseThreshold:
        *value = info->threshold_bytes;
        return SIM_STATUS_OK;
    case cudaMemPoolAttrReservedMemCurrent:
    case cudaMemPoolAttrUsedMemCurrent:
        *value = info->used_bytes;
        return SIM_STATUS_OK;
    case cudaMemPoolAttrReservedMemHigh:
    case cudaMemPoolAttrUsedMemHigh:
        *value = info->used_bytes_max;
        return SIM_STATUS_OK;
    default:
        return SIM_STATUS_NOT_SUPPORTED;
    }
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value)
{
    sim_pool_info info;
    sim_status status = sim_cuda_begin("cudaMemPoolGetAttribute");
    if (status == SIM_STATUS_OK) status = sim_pool_get_info(pool_of(pool), &info);
    if (status == SIM_STATUS_OK) status = get_attribute(&info, attribute, value);
    return sim_cuda_answer(status);
}

/* Pools keep nothing back, so there is nothing to give. */
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep_bytes)
{
    sim_pool_info info;
    sim_status status = sim_cuda_begin("cudaMemPoolTrimTo");
    if (status == SIM_STATUS_OK) status = sim_pool_get_info(pool_of(pool), &info);
    return sim_cuda_answer(status);
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *pool, int device)
{
    sim_pool *current;
    sim_status status = sim_cuda_begin("cudaDeviceGetMemPool");
    if (status == SIM_STATUS_OK) status = sim_pool_get_current(device, &current);
    if (status == SIM_STATUS_OK) *pool = (cudaMemPool_t)(void *)current;
    return sim_cuda_answer(status);
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool)
{
    sim_status status = sim_cuda_begin("cudaDeviceSetMemPool");
    if (status == SIM_STATUS_OK) status = sim_pool_set_current(device, pool_of(pool));
    return sim_cuda_answer(status);
}

cudaError_t cudaMallocAsync(void **address, size_t size_bytes, cudaStream_t stream)
{
    sim_status status = sim_cuda_begin("cudaMallocAsync");
    if (status == SIM_STATUS_OK && size_bytes == 0) {
        *address = NULL;
        return sim_cuda_answer(SIM_STATUS_OK);
    }
    if (status == SIM_STATUS_OK)
        status = sim_pool_alloc(sim_cuda_stream(stream), size_bytes, address);
    return sim_cuda_answer(status == SIM_STATUS_INVALID_SIZE ? SIM_STATUS_OUT_OF_MEMORY : status);
}

cudaError_t cudaMallocFromPoolAsync(void **address, size_t size_bytes, cudaMemPool_t pool,
                                    cudaStream_t stream)
{
    sim_status status = sim_cuda_begin("cudaMallocFromPoolAsync");
    if (status == SIM_STATUS_OK && size_bytes == 0) {
        *address = NULL;
        return sim_cuda_answer(SIM_STATUS_OK);
    }
    if (status == SIM_STATUS_OK)
        status = sim_pool_alloc_from(pool_of(pool), sim_cuda_stream(stream), size_bytes, address);
    return sim_cuda_answer(status == SIM_STATUS_INVALID_SIZE ? SIM_STATUS_OUT_OF_MEMORY : status);
}

cudaError_t cudaFreeAsync(void *address, cudaStream_t stream)
{
    sim_status status = sim_cuda_begin("cudaFreeAsync");
    if (status == SIM_STATUS_OK) status = sim_pool_free(sim_cuda_stream(stream), address);
    return sim_cuda_answer(status);
}
