/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* pool_batch: runs of entries under one lock; what needs more than that stands between two runs. */
#include "pool_batch.h"

#include "pool.h"
#include "pool_parts.h"
#include "../supply/pool_trim.h"

/* Under `lock`. */
static bool serve_entry(struct tarn_pool *pool, size_t size_bytes, tarn_stream stream,
                        void **address_out)
{
    if (size_bytes == 0) {
        pool->stats.alloc_count++;
        *address_out = NULL;
        return true;
    }
    void *address = tn_pool_serve_shortly(pool, size_bytes, stream);
    if (TN_UNLIKELY(!address)) return tn_pool_serve_now(pool, size_bytes, stream, address_out);
    *address_out = address;
    return true;
}

size_t tn_pool_serve_many(struct tarn_pool *pool, size_t count, const size_t *sizes_bytes,
                          tarn_stream stream, void **addresses_out)
{
    size_t served = 0;
    /* Nothing that it holds serves another request. */
    if (pool->passes_through) return served;
    tn_pool_lock(pool);
    while (served < count && serve_entry(pool, sizes_bytes[served], stream, &addresses_out[served]))
        served++;
    tn_pool_unlock(pool);
    return served;
}

/* Under `lock`. */
static enum tn_free_result free_entry(struct tarn_pool *pool, void *address,
                                      const tarn_stream *streams, size_t stream_count)
{
    if (address) return tn_pool_free_now(pool, address, streams, stream_count);
    pool->stats.free_count++;
    return TN_FREE_RESULT_FREED;
}

/* Frees from entry *freed_count on until one does not go well. Returns what came of the last. */
static enum tn_free_result free_run(struct tarn_pool *pool, size_t count, void *const *addresses,
                                    const tarn_stream *streams, size_t stream_count,
                                    size_t *freed_count, bool *is_release_due)
{
    enum tn_free_result result = TN_FREE_RESULT_FREED;
    tn_pool_lock(pool);
    while (*freed_count < count) {
        result = free_entry(pool, addresses[*freed_count], streams, stream_count);
        if (result == TN_FREE_RESULT_RELEASE_IS_DUE) *is_release_due = true;
        if (result == TN_FREE_RESULT_NOT_LIVE) pool->stats.failed_count++;
        if (result != TN_FREE_RESULT_FREED && result != TN_FREE_RESULT_RELEASE_IS_DUE) break;
        (*freed_count)++;
    }
    tn_pool_unlock(pool);
    return result;
}

tarn_status tn_pool_free_many(struct tarn_pool *pool, size_t count, void *const *addresses,
                              const tarn_stream *streams, size_t stream_count,
                              size_t *freed_count_out)
{
    tarn_status status = TARN_STATUS_OK;
    size_t freed_count = 0;
    bool is_release_due = false;
    while (freed_count < count && status == TARN_STATUS_OK) {
        enum tn_free_result result =
            free_run(pool, count, addresses, streams, stream_count, &freed_count, &is_release_due);
        if (result == TN_FREE_RESULT_NOT_LIVE) status = TARN_STATUS_NOT_LIVE;
        if (result != TN_FREE_RESULT_UNKNOWN_STREAM) continue;
        status = tn_pool_free(pool, addresses[freed_count], streams, stream_count);
        if (status == TARN_STATUS_OK) freed_count++;
    }
    if (is_release_due) tn_pool_release_after_free(pool);
    *freed_count_out = freed_count;
    return status;
}
