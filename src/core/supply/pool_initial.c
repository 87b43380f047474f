/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* pool_initial: growth for a request that no caller has made. */
#include "pool_initial.h"

#include "../../base/arith.h"
#include "../../base/error.h"
#include "../arenas/gather.h"

#include "pool_members.h"
#include "pool_steps.h"

/* Inserts the static pool. Requires: growth_lock. */
static tarn_status add(struct tarn_pool *pool, struct tn_static_pool *acquired)
{
    size_t size_bytes = acquired->backing_bytes;
    tn_pool_announce(pool, acquired, NULL);
    tn_pool_lock_and_gather(pool);
    bool is_inserted = tn_pool_insert(pool, acquired);
    tn_pool_unlock(pool);
    if (is_inserted) return TARN_STATUS_OK;
    tn_pool_withdraw(pool, acquired);
    return tn_fail(TARN_STATUS_OUT_OF_HOST_MEMORY,
                   "the host has no memory to describe a static pool of %zu bytes", size_bytes);
}

/* A chunk of the last bytes may not be whole, so the bytes count and not the chunks that hold them. The returned
 * status is only valid if the backend's result is OK. Requires: growth_lock. */
static tarn_status take_static_pool(struct tarn_pool *pool, size_t size_bytes,
                                    tarn_backend_result *result_out)
{
    struct tn_static_pool *acquired;
    *result_out = tn_pool_acquire_bytes(pool, size_bytes, &acquired);
    return result_out->status == TARN_STATUS_OK ? add(pool, acquired) : result_out->status;
}

/* The returned status is only valid if the backend's result is OK. Requires: growth_lock. */
static tarn_status take_steps(struct tarn_pool *pool, const struct tn_request *request,
                              tarn_backend_result *result_out)
{
    struct tn_step_plan plan;
    *result_out = tn_pool_map_steps(pool, request, true, &plan);
    if (result_out->status != TARN_STATUS_OK) return result_out->status;
    tn_pool_lock_and_gather(pool);
    tn_pool_insert_steps(pool, request, &plan);
    tn_pool_unlock(pool);
    return TARN_STATUS_OK;
}

/* A limit that is no multiple of a step counts in whole steps, and so do initial_bytes that are within it. */
static size_t count_chunks_in_limit(const struct tarn_pool *pool, size_t initial_bytes,
                                    size_t chunk_count)
{
    size_t limit_bytes = pool->growth.limit_bytes;
    if (!pool->range || initial_bytes > limit_bytes) return chunk_count;
    return tn_min(chunk_count,
                  tn_round_down(limit_bytes, pool->range->unit_bytes) >> pool->chunk_log2);
}

tarn_status tn_pool_take_initial(struct tarn_pool *pool, size_t initial_bytes)
{
    bool takes_all = initial_bytes == TARN_INITIAL_ALL;
    if (takes_all) initial_bytes = 1;
    size_t chunk_count = tn_count_units(initial_bytes, pool->chunk_log2);
    if (chunk_count > TN_CHUNK_COUNT_MAX) {
        return tn_fail(TARN_STATUS_SIZE_TOO_LARGE,
                       "initial_bytes is %zu, more than a static pool can have: %zu chunks of %zu "
                       "bytes",
                       initial_bytes, (size_t)TN_CHUNK_COUNT_MAX, (size_t)1 << pool->chunk_log2);
    }
    chunk_count = count_chunks_in_limit(pool, initial_bytes, chunk_count);
    const struct tn_request request = {
        .size_bytes = chunk_count << pool->chunk_log2,
        .alignment_bytes = 1,
        .chunk_count = (uint32_t)chunk_count,
    };
    tn_pool_lock_growth(pool);
    tarn_backend_result result;
    tarn_status status = pool->range ? take_steps(pool, &request, &result)
                                     : take_static_pool(pool, initial_bytes, &result);
    if (result.status != TARN_STATUS_OK) status = tn_pool_fail_growth(pool, &request, result);
    tn_pool_unlock_growth(pool);
    return status;
}

tarn_status tn_pool_take_over(struct tarn_pool *pool, void *address, size_t size_bytes)
{
    struct tn_static_pool *given = tn_static_pool_alloc();
    if (!given) {
        return tn_fail(TARN_STATUS_OUT_OF_HOST_MEMORY,
                       "the host has no memory to describe a static pool of %zu bytes", size_bytes);
    }
    given->backing = address;
    given->backing_bytes = size_bytes;
    pool->is_over_callers_memory = true;
    tn_pool_lock_growth(pool);
    tn_pool_count_arrival(pool, size_bytes);
    tarn_status status = add(pool, given);
    tn_pool_unlock_growth(pool);
    return status;
}
