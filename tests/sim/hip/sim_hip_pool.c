/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* sim_hip_pool: HIP's own pools over the simulated devices: what tarn-bench asks of them. */
#include "sim_hip.h"

static sim_pool *pool_of(hipMemPool_t pool)
{
    return (sim_pool *)(void *)pool;
}

hipError_t hipMemPoolCreate(hipMemPool_t *pool, const hipMemPoolProps *properties)
{
    sim_pool *created;
    sim_status status = sim_hip_begin("hipMemPoolCreate");
    if (status == SIM_STATUS_OK && (properties->allocType != hipMemAllocationTypePinned ||
                                    properties->location.type != hipMemLocationTypeDevice))
        status = SIM_STATUS_INVALID_VALUE;
    if (status == SIM_STATUS_OK) status = sim_pool_create(properties->location.id, &created);
    if (status == SIM_STATUS_OK) *pool = (hipMemPool_t)(void *)created;
    return sim_hip_answer(status);
}

hipError_t hipMemPoolDestroy(hipMemPool_t pool)
{
    sim_status status = sim_hip_begin("hipMemPoolDestroy");
    if (status == SIM_STATUS_OK) status = sim_pool_destroy(pool_of(pool));
    return sim_hip_answer(status);
}

/* The threshold alone: everything else that can be set means nothing here. */
hipError_t hipMemPoolSetAttribute(hipMemPool_t pool, hipMemPoolAttr attribute, void *value)
{
    sim_status status = sim_hip_begin("hipMemPoolSetAttribute");
    if (status == SIM_STATUS_OK && attribute != hipMemPoolAttrReleaseThreshold)
        status = SIM_STATUS_NOT_SUPPORTED;
    if (status == SIM_STATUS_OK)
        status = sim_pool_set_threshold(pool_of(pool), *(const uint64_t *)value);
    return sim_hip_answer(status);
}

static sim_status get_attribute(const sim_pool_info *info, hipMemPoolAttr attribute,
                                uint64_t *value)
{
    switch (attribute) {
    case hipMemPoolAttrReleaseThreshold:
        *value = info->threshold_bytes;
        return SIM_STATUS_OK;
    case hipMemPoolAttrReservedMemCurrent:
    case hipMemPoolAttrUsedMemCurrent:
        *value = info->used_bytes;
        return SIM_STATUS_OK;
    case hipMemPoolAttrReservedMemHigh:
    case hipMemPoolAttrUsedMemHigh:
        *value = info->used_bytes_max;
        return SIM_STATUS_OK;
    default:
        return SIM_STATUS_NOT_SUPPORTED;
    }
}

hipError_t hipMemPoolGetAttribute(hipMemPool_t pool, hipMemPoolAttr attribute, void *value)
{
    sim_pool_info info;
    sim_status status = sim_hip_begin("hipMemPoolGetAttribute");
    if (status == SIM_STATUS_OK) status = sim_pool_get_info(pool_of(pool), &info);
    if (status == SIM_STATUS_OK) status = get_attribute(&info, attribute, value);
    return sim_hip_answer(status);
}

/* Pools keep nothing back, so there is nothing to give. */
hipError_t hipMemPoolTrimTo(hipMemPool_t pool, size_t keep_bytes)
{
    sim_pool_info info;
    sim_status status = sim_hip_begin("hipMemPoolTrimTo");
    if (status == SIM_STATUS_OK) status = sim_pool_get_info(pool_of(pool), &info);
    return sim_hip_answer(status);
}

hipError_t hipDeviceGetMemPool(hipMemPool_t *pool, int device)
{
    sim_pool *current;
    sim_status status = sim_hip_begin("hipDeviceGetMemPool");
    if (status == SIM_STATUS_OK) status = sim_pool_get_current(device, &current);
    if (status == SIM_STATUS_OK) *pool = (hipMemPool_t)(void *)current;
    return sim_hip_answer(status);
}

hipError_t hipDeviceSetMemPool(int device, hipMemPool_t pool)
{
    sim_status status = sim_hip_begin("hipDeviceSetMemPool");
    if (status == SIM_STATUS_OK) status = sim_pool_set_current(device, pool_of(pool));
    return sim_hip_answer(status);
}

hipError_t hipMallocAsync(void **address, size_t size_bytes, hipStream_t stream)
{
    sim_status status = sim_hip_begin("hipMallocAsync");
    if (status == SIM_STATUS_OK && size_bytes == 0) {
        *address = NULL;
        return sim_hip_answer(SIM_STATUS_OK);
    }
    if (status == SIM_STATUS_OK)
        status = sim_pool_alloc(sim_hip_stream(stream), size_bytes, address);
    return sim_hip_answer(status == SIM_STATUS_INVALID_SIZE ? SIM_STATUS_OUT_OF_MEMORY : status);
}

hipError_t hipMallocFromPoolAsync(void **address, size_t size_bytes, hipMemPool_t pool,
                                  hipStream_t stream)
{
    sim_status status = sim_hip_begin("hipMallocFromPoolAsync");
    if (status == SIM_STATUS_OK && size_bytes == 0) {
        *address = NULL;
        return sim_hip_answer(SIM_STATUS_OK);
    }
    if (status == SIM_STATUS_OK)
        status = sim_pool_alloc_from(pool_of(pool), sim_hip_stream(stream), size_bytes, address);
    return sim_hip_answer(status == SIM_STATUS_INVALID_SIZE ? SIM_STATUS_OUT_OF_MEMORY : status);
}

hipError_t hipFreeAsync(void *address, hipStream_t stream)
{
    sim_status status = sim_hip_begin("hipFreeAsync");
    if (status == SIM_STATUS_OK) status = sim_pool_free(sim_hip_stream(stream), address);
    return sim_hip_answer(status);
}
