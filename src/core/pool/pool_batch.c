/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* pool_batch: as many entries as possible under one lock. A free that needs more than the lock, such as one on a
 * stream that is new to the pool, is made without it; then the lock is taken again for those that follow. */
#include "pool_batch.h"

#include "../supply/pool_trim.h"

#include "pool.h"
#include "route.h"

static bool serve_entry(struct tarn_pool *pool, size_t size_bytes, tarn_stream stream,
                        void **address_out)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    size_bytes = tn_pool_served_bytes(pool, size_bytes);
    if (size_bytes == 0) {
        pool->own.stats.alloc_count++;
        *address_out = NULL;
        return true;
    }
    const struct tn_request request = tn_request_make(pool, size_bytes, 1, stream);
    return !request.is_too_large && tn_serve_making_room(pool, &request, address_out) == TN_SERVED;
}

size_t tn_pool_serve_many(struct tarn_pool *pool, size_t count, const size_t *sizes_bytes,
                          tarn_stream stream, void **addresses_out)
{
    size_t served = 0;
    /* A pool that passes through holds no free memory. Arenas have locks of their own. */
    if (pool->passes_through || tn_arenas_are_wanted(&pool->arenas)) return served;
    tn_pool_lock(pool);
    while (served < count && serve_entry(pool, sizes_bytes[served], stream, &addresses_out[served]))
        served++;
    tn_pool_unlock(pool);
    return served;
}

static enum tn_free_result free_entry(struct tarn_pool *pool, void *address,
                                      const tarn_stream *streams, size_t stream_count)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    if (address)
        return tn_serve_free_of_pool(pool, (uintptr_t)address, NULL, streams, stream_count, false);
    pool->own.stats.free_count++;
    return TN_FREE_RESULT_FREED;
}

/* Frees entries until one needs more than the lock, and returns how many it has freed. */
static size_t free_run(struct tarn_pool *pool, size_t count, void *const *addresses,
                       const tarn_stream *streams, size_t stream_count, bool *is_release_due)
{
    size_t freed_count = 0;
    enum tn_free_result result = TN_FREE_RESULT_FREED;
    if (tn_arenas_are_active(&pool->arenas)) return freed_count;
    tn_pool_lock(pool);
    while (freed_count < count) {
        result = free_entry(pool, addresses[freed_count], streams, stream_count);
        if (result == TN_FREE_RESULT_RELEASE_IS_DUE) *is_release_due = true;
        if (result != TN_FREE_RESULT_FREED && result != TN_FREE_RESULT_RELEASE_IS_DUE) break;
        freed_count++;
    }
    tn_pool_unlock(pool);
    return freed_count;
}

static tarn_status free_one(struct tarn_pool *pool, void *address, const tarn_stream *streams,
                            size_t stream_count)
{
    if (address) return tn_pool_free(pool, address, NULL, streams, stream_count);
    tn_pool_count_empty_free(pool);
    return TARN_STATUS_OK;
}

tarn_status tn_pool_free_many(struct tarn_pool *pool, size_t count, void *const *addresses,
                              const tarn_stream *streams, size_t stream_count,
                              size_t *freed_count_out)
{
    tarn_status status = TARN_STATUS_OK;
    size_t freed_count = 0;
    bool is_release_due = false;
    while (freed_count < count && status == TARN_STATUS_OK) {
        freed_count += free_run(pool, count - freed_count, addresses + freed_count, streams,
                                stream_count, &is_release_due);
        if (freed_count == count) break;
        status = free_one(pool, addresses[freed_count], streams, stream_count);
        if (status == TARN_STATUS_OK) freed_count++;
    }
    if (is_release_due) tn_pool_release_after_free(pool);
    *freed_count_out = freed_count;
    return status;
}
