/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * sim_pool: pools of the vendor, as far as programs can tell without a clock.
 *
 * Each allocation is device memory of its own, which knows its pool, and a free gives it back at once:
 * nothing is kept, whatever the threshold. The free is in stream order, since it waits for the stream.
 */
#include <stdlib.h>

#include "sim_state.h"

struct pool {
    struct sim_handle handle;
    uint64_t threshold_bytes;
    uint64_t used_bytes;
    uint64_t used_bytes_max;
};

static struct sim_table pools;
static struct pool
    own[SIM_DEVICES_MAX]; /* each device's, which is always there: its handle is its address */
static sim_pool *current[SIM_DEVICES_MAX]; /* NULL: its own */

static struct pool *find_locked(const void *handle)
{
    for (int device = 0; device < SIM_DEVICES_MAX; device++) {
        if (handle == &own[device]) return &own[device];
    }
    return sim_table_find_locked(&pools, handle);
}

static sim_pool *current_locked(int device)
{
    return current[device] ? current[device] : (sim_pool *)&own[device];
}

static sim_status check_locked(int device)
{
    sim_status status = sim_device_check_locked(device);
    if (status == SIM_STATUS_OK && !sim_machine.settings.has_pools)
        status = SIM_STATUS_NOT_SUPPORTED;
    return status;
}

sim_status sim_pool_create(int device, sim_pool **pool_out)
{
    sim_lock();
    sim_status status = check_locked(device);
    if (status == SIM_STATUS_OK) {
        struct pool *pool = sim_allocate(sizeof *pool);
        *pool_out = sim_table_insert_locked(&pools, &pool->handle, device);
    }
    sim_unlock();
    return status;
}

sim_status sim_pool_destroy(sim_pool *handle)
{
    sim_lock();
    struct pool *pool = sim_table_find_locked(&pools, handle);
    if (pool) {
        if (current[pool->handle.device] == handle) current[pool->handle.device] = NULL;
        sim_table_remove_locked(&pools, &pool->handle);
        free(pool);
    }
    sim_unlock();
    return pool ? SIM_STATUS_OK : SIM_STATUS_INVALID_HANDLE;
}

sim_status sim_pool_get_current(int device, sim_pool **pool_out)
{
    sim_lock();
    sim_status status = check_locked(device);
    if (status == SIM_STATUS_OK) *pool_out = current_locked(device);
    sim_unlock();
    return status;
}

static sim_status set_current_locked(int device, sim_pool *handle)
{
    sim_status status = check_locked(device);
    if (status != SIM_STATUS_OK) return status;
    const struct pool *pool = find_locked(handle);
    if (!pool) return SIM_STATUS_INVALID_HANDLE;
    if (pool->handle.device != device) return SIM_STATUS_WRONG_DEVICE;
    current[device] = pool == &own[device] ? NULL : handle;
    return SIM_STATUS_OK;
}

sim_status sim_pool_set_current(int device, sim_pool *handle)
{
    sim_lock();
    sim_status status = set_current_locked(device, handle);
    sim_unlock();
    return status;
}

sim_status sim_pool_set_threshold(sim_pool *handle, uint64_t threshold_bytes)
{
    sim_lock();
    struct pool *pool = find_locked(handle);
    if (pool) pool->threshold_bytes = threshold_bytes;
    sim_unlock();
    return pool ? SIM_STATUS_OK : SIM_STATUS_INVALID_HANDLE;
}

sim_status sim_pool_get_info(sim_pool *handle, sim_pool_info *info_out)
{
    sim_lock();
    const struct pool *pool = find_locked(handle);
    if (pool) {
        *info_out = (sim_pool_info){
            .threshold_bytes = pool->threshold_bytes,
            .used_bytes = pool->used_bytes,
            .used_bytes_max = pool->used_bytes_max,
        };
    }
    sim_unlock();
    return pool ? SIM_STATUS_OK : SIM_STATUS_INVALID_HANDLE;
}

/* The pool may be gone, and with it its account. */
static void add_used(const void *handle, uint64_t added_bytes, uint64_t removed_bytes)
{
    sim_lock();
    struct pool *pool = find_locked(handle);
    if (pool) {
        pool->used_bytes += added_bytes - removed_bytes;
        if (pool->used_bytes > pool->used_bytes_max) pool->used_bytes_max = pool->used_bytes;
    }
    sim_unlock();
}

static sim_status check_pool(const sim_pool *handle, int device)
{
    sim_lock();
    const struct pool *pool = find_locked(handle);
    sim_status status = SIM_STATUS_OK;
    if (!pool)
        status = SIM_STATUS_INVALID_HANDLE;
    else if (pool->handle.device != device)
        status = SIM_STATUS_WRONG_DEVICE;
    sim_unlock();
    return status;
}

static sim_status alloc_from(sim_pool *pool, int device, size_t size_bytes, void **address_out)
{
    sim_status status = sim_alloc(device, SIM_MEMORY_KIND_DEVICE, size_bytes, 0, address_out);
    if (status != SIM_STATUS_OK) return status;
    add_used(pool, size_bytes, 0);
    return sim_memory_set_owner(*address_out, pool);
}

sim_status sim_pool_alloc(sim_stream *stream, size_t size_bytes, void **address_out)
{
    int device;
    sim_pool *pool = NULL;
    sim_status status = sim_stream_find(stream, &device);
    if (status == SIM_STATUS_OK) status = sim_pool_get_current(device, &pool);
    if (status == SIM_STATUS_OK) status = alloc_from(pool, device, size_bytes, address_out);
    return status;
}

sim_status sim_pool_alloc_from(sim_pool *pool, sim_stream *stream, size_t size_bytes,
                               void **address_out)
{
    int device;
    sim_status status = sim_stream_find(stream, &device);
    if (status == SIM_STATUS_OK) status = check_pool(pool, device);
    if (status == SIM_STATUS_OK) status = alloc_from(pool, device, size_bytes, address_out);
    return status;
}

sim_status sim_pool_free(sim_stream *stream, void *address)
{
    sim_memory memory;
    if (!sim_memory_find(address, &memory) || memory.address != address || !memory.owner)
        return SIM_STATUS_INVALID_ADDRESS;
    sim_status status = sim_stream_synchronize(stream);
    if (status == SIM_STATUS_OK) status = sim_free(address);
    if (status == SIM_STATUS_OK) add_used(memory.owner, 0, memory.size_bytes);
    return status;
}

/* --- the end ----------------------------------------------------------------------------------- */

size_t sim_pool_count_locked(void)
{
    return sim_table_count_alive_locked(&pools);
}

void sim_pools_mark_gone_locked(int device)
{
    sim_table_mark_gone_locked(&pools, device);
    current[device] = NULL;
}

void sim_pool_reset_locked(void)
{
    for (size_t i = 0; i < pools.count; i++)
        free(pools.items[i]);
    free(pools.items);
    pools = (struct sim_table){ 0 };
    for (int device = 0; device < SIM_DEVICES_MAX; device++) {
        current[device] = NULL;
        own[device] = (struct pool){ .handle.device = device };
    }
}
