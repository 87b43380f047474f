/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* sim_runtime_pool: the runtime's own pools over the simulated devices: what tarn-bench asks of them. */
#include "sim_runtime.h"

static sim_pool *pool_of(runtime_pool pool)
{
    return (sim_pool *)(void *)pool;
}

runtime_error RUNTIME(MemPoolCreate)(runtime_pool *pool, const runtime_pool_properties *properties)
{
    sim_pool *created;
    sim_status status = sim_runtime_begin(CALL(MemPoolCreate));
    if (status == SIM_STATUS_OK && (properties->allocType != RUNTIME(MemAllocationTypePinned) ||
                                    properties->location.type != RUNTIME(MemLocationTypeDevice)))
        status = SIM_STATUS_INVALID_VALUE;
    if (status == SIM_STATUS_OK) status = sim_pool_create(properties->location.id, &created);
    if (status == SIM_STATUS_OK) *pool = (runtime_pool)(void *)created;
    return sim_runtime_answer(status);
}

runtime_error RUNTIME(MemPoolDestroy)(runtime_pool pool)
{
    sim_status status = sim_runtime_begin(CALL(MemPoolDestroy));
    if (status == SIM_STATUS_OK) status = sim_pool_destroy(pool_of(pool));
    return sim_runtime_answer(status);
}

/* The threshold alone: everything else that can be set means nothing here. */
runtime_error RUNTIME(MemPoolSetAttribute)(runtime_pool pool, runtime_pool_attribute attribute,
                                           void *value)
{
    sim_status status = sim_runtime_begin(CALL(MemPoolSetAttribute));
    if (status == SIM_STATUS_OK && attribute != RUNTIME(MemPoolAttrReleaseThreshold))
        status = SIM_STATUS_NOT_SUPPORTED;
    if (status == SIM_STATUS_OK)
        status = sim_pool_set_threshold(pool_of(pool), *(const uint64_t *)value);
    return sim_runtime_answer(status);
}

static sim_status get_attribute(const sim_pool_info *info, runtime_pool_attribute attribute,
                                uint64_t *value)
{
    switch (attribute) {
    case RUNTIME(MemPoolAttrReleaseThreshold):
        *value = info->threshold_bytes;
        return SIM_STATUS_OK;
    case RUNTIME(MemPoolAttrReservedMemCurrent):
    case RUNTIME(MemPoolAttrUsedMemCurrent):
        *value = info->used_bytes;
        return SIM_STATUS_OK;
    case RUNTIME(MemPoolAttrReservedMemHigh):
    case RUNTIME(MemPoolAttrUsedMemHigh):
        *value = info->used_bytes_max;
        return SIM_STATUS_OK;
    default:
        return SIM_STATUS_NOT_SUPPORTED;
    }
}

runtime_error RUNTIME(MemPoolGetAttribute)(runtime_pool pool, runtime_pool_attribute attribute,
                                           void *value)
{
    sim_pool_info info;
    sim_status status = sim_runtime_begin(CALL(MemPoolGetAttribute));
    if (status == SIM_STATUS_OK) status = sim_pool_get_info(pool_of(pool), &info);
    if (status == SIM_STATUS_OK) status = get_attribute(&info, attribute, value);
    return sim_runtime_answer(status);
}

/* Pools keep nothing back, so there is nothing to give. */
runtime_error RUNTIME(MemPoolTrimTo)(runtime_pool pool, size_t keep_bytes)
{
    sim_pool_info info;
    sim_status status = sim_runtime_begin(CALL(MemPoolTrimTo));
    if (status == SIM_STATUS_OK) status = sim_pool_get_info(pool_of(pool), &info);
    return sim_runtime_answer(status);
}

runtime_error RUNTIME(DeviceGetMemPool)(runtime_pool *pool, int device)
{
    sim_pool *current;
    sim_status status = sim_runtime_begin(CALL(DeviceGetMemPool));
    if (status == SIM_STATUS_OK) status = sim_pool_get_current(device, &current);
    if (status == SIM_STATUS_OK) *pool = (runtime_pool)(void *)current;
    return sim_runtime_answer(status);
}

runtime_error RUNTIME(DeviceSetMemPool)(int device, runtime_pool pool)
{
    sim_status status = sim_runtime_begin(CALL(DeviceSetMemPool));
    if (status == SIM_STATUS_OK) status = sim_pool_set_current(device, pool_of(pool));
    return sim_runtime_answer(status);
}

runtime_error RUNTIME(MallocAsync)(void **address, size_t size_bytes, runtime_stream stream)
{
    sim_status status = sim_runtime_begin(CALL(MallocAsync));
    if (status == SIM_STATUS_OK && size_bytes == 0) {
        *address = NULL;
        return sim_runtime_answer(SIM_STATUS_OK);
    }
    if (status == SIM_STATUS_OK)
        status = sim_pool_alloc(sim_runtime_stream(stream), size_bytes, address);
    return sim_runtime_answer(status == SIM_STATUS_INVALID_SIZE ? SIM_STATUS_OUT_OF_MEMORY
                                                                : status);
}

runtime_error RUNTIME(MallocFromPoolAsync)(void **address, size_t size_bytes, runtime_pool pool,
                                           runtime_stream stream)
{
    sim_status status = sim_runtime_begin(CALL(MallocFromPoolAsync));
    if (status == SIM_STATUS_OK && size_bytes == 0) {
        *address = NULL;
        return sim_runtime_answer(SIM_STATUS_OK);
    }
    if (status == SIM_STATUS_OK)
        status =
            sim_pool_alloc_from(pool_of(pool), sim_runtime_stream(stream), size_bytes, address);
    return sim_runtime_answer(status == SIM_STATUS_INVALID_SIZE ? SIM_STATUS_OUT_OF_MEMORY
                                                                : status);
}

runtime_error RUNTIME(FreeAsync)(void *address, runtime_stream stream)
{
    sim_status status = sim_runtime_begin(CALL(FreeAsync));
    if (status == SIM_STATUS_OK) status = sim_pool_free(sim_runtime_stream(stream), address);
    return sim_runtime_answer(status);
}
