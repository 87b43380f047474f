/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * pool_fast: the way of almost every alloc and free: one lock, no vendor call, no loop but in an index that
 * is large.
 *
 *     alloc   count chunks ── best fit of what the stream may have ── carve ── count ── address
 *     free    static pool ── chunk ── live map ── coalesce ── count
 *
 * Whatever is out of the ordinary leaves it by TN_UNLIKELY for pool.c, which begins anew: a stream that is
 * not known or is being captured, an alignment beyond the chunk's, nothing that fits, no room in the index, what
 * is not live.
 */
#include "pool.h"

#include "../base/arith.h"

#include "pool_fast.h"
#include "pool_trim.h"
#include "stream_reuse.h"

/* --- alloc ------------------------------------------------------------------------------------- */

/* The better of two fits, each of which may be none. */
static uint32_t better(const struct tn_region_index *index, uint32_t a, uint32_t b)
{
    if (a == TN_REGION_NONE) return b;
    if (b == TN_REGION_NONE) return a;
    return tn_region_index_is_better(index, a, b) ? a : b;
}

/* What waits for nothing serves every stream, and what was freed on a stream serves that one. */
TN_HOT uint32_t find_best_fit(const struct tarn_pool *pool, uint32_t stream, uint32_t chunk_count)
{
    const struct tn_region_index *index = &pool->index;
    uint32_t idle = tn_size_set_find(&index->by_size[TN_FREE_SET_IDLE], chunk_count);
    if (TN_LIKELY(stream == TN_STREAM_NONE)) return idle;
    if (tn_pool_is_captured(pool, stream)) return TN_REGION_NONE;
    uint32_t own = tn_size_set_find(&index->by_size[tn_free_set_of_stream(stream)], chunk_count);
    return better(index, idle, own);
}

/* NULL: not this way. Under `lock`. */
TN_HOT void *serve(struct tarn_pool *pool, size_t size_bytes, uint32_t chunk_count,
                   tarn_stream handle)
{
    uint32_t stream;
    if (TN_UNLIKELY(!tn_pool_find_stream(pool, handle, &stream))) return NULL;
    uint32_t fit = find_best_fit(pool, stream, chunk_count);
    if (TN_UNLIKELY(fit == TN_REGION_NONE || !tn_region_index_has_room(&pool->index))) return NULL;

    size_t used_bytes = (size_t)chunk_count << pool->chunk_log2;
    uint32_t region = tn_region_index_carve(&pool->index, fit, 0, chunk_count,
                                            (uint32_t)(used_bytes - size_bytes));
    return tn_pool_hand_out(pool, region, size_bytes, used_bytes);
}

tarn_status tn_pool_alloc(struct tarn_pool *pool, size_t size_bytes, size_t alignment_bytes,
                          tarn_stream stream, void **address_out)
{
    size_t chunk_count = tn_count_units(size_bytes, pool->chunk_log2);
    /* Chunks are aligned to their own size. */
    if (TN_LIKELY(alignment_bytes >> pool->chunk_log2 <= 1 && chunk_count <= TN_CHUNK_COUNT_MAX &&
                  !pool->passes_through)) {
        tn_biased_mutex_lock(&pool->lock);
        void *address = serve(pool, size_bytes, (uint32_t)chunk_count, stream);
        tn_biased_mutex_unlock(&pool->lock);
        if (TN_LIKELY(address != NULL)) {
            *address_out = address;
            return TARN_STATUS_OK;
        }
    }
    return tn_pool_alloc_slowly(pool, size_bytes, alignment_bytes, stream, address_out);
}

/* --- free -------------------------------------------------------------------------------------- */

/* Under `lock`. */
TN_HOT enum tn_free_result take_back(struct tarn_pool *pool, const struct tn_static_pool *owner,
                                     uintptr_t address, struct tn_dependency dependency)
{
    struct tn_freed freed;
    uint32_t chunk = tn_static_pool_chunk_of(owner, address);
    if (TN_UNLIKELY(tn_static_pool_address_of(owner, chunk) != address ||
                    !tn_region_index_free(&pool->index, chunk, dependency, &freed)))
        return TN_FREE_RESULT_NOT_LIVE;

    size_t used_bytes = (size_t)freed.chunk_count << pool->chunk_log2;
    tn_pool_forbid(pool, (void *)address, tn_min(used_bytes, owner->end_address - address));
    tn_stats_count_free(&pool->stats, used_bytes - freed.slack_bytes, used_bytes);
    if (TN_LIKELY(!pool->releases_after_free)) return TN_FREE_RESULT_FREED;
    return tn_pool_note_free(pool, owner) ? TN_FREE_RESULT_RELEASE_IS_DUE : TN_FREE_RESULT_FREED;
}

enum tn_free_result tn_pool_free_locked(struct tarn_pool *pool, uintptr_t address,
                                        struct tn_dependency dependency)
{
    const struct tn_static_pool *owner = tn_static_pool_list_find_address(&pool->list, address);
    return owner ? take_back(pool, owner, address, dependency) : TN_FREE_RESULT_NOT_LIVE;
}

/* Under `lock`. */
TN_HOT enum tn_free_result free_after(struct tarn_pool *pool, uintptr_t address,
                                      const tarn_stream *streams, size_t stream_count)
{
    struct tn_dependency dependency;
    const struct tn_static_pool *owner = tn_static_pool_list_find_address(&pool->list, address);
    if (TN_UNLIKELY(!owner)) return TN_FREE_RESULT_NOT_LIVE;
    if (TN_UNLIKELY(!tn_pool_find_dependency(pool, streams, stream_count, &dependency)))
        return TN_FREE_RESULT_UNKNOWN_STREAM;
    return take_back(pool, owner, address, dependency);
}

static TN_COLD tarn_status finish_free(struct tarn_pool *pool, uintptr_t address,
                                       const tarn_stream *streams, size_t stream_count,
                                       enum tn_free_result freed)
{
    tarn_status status = TARN_STATUS_OK;
    switch (freed) {
    case TN_FREE_RESULT_FREED:
        break;
    case TN_FREE_RESULT_RELEASE_IS_DUE:
        tn_pool_release_after_free(pool);
        break;
    /* Why is for the caller to find out, who may look into other pools. */
    case TN_FREE_RESULT_NOT_LIVE:
        status = TARN_STATUS_NOT_LIVE;
        break;
    case TN_FREE_RESULT_UNKNOWN_STREAM:
        status = tn_pool_free_slowly(pool, address, streams, stream_count);
        break;
    }
    if (status != TARN_STATUS_OK) tn_pool_count_failure(pool);
    return status;
}

tarn_status tn_pool_free(struct tarn_pool *pool, void *address, const tarn_stream *streams,
                         size_t stream_count)
{
    tn_biased_mutex_lock(&pool->lock);
    enum tn_free_result freed = free_after(pool, (uintptr_t)address, streams, stream_count);
    tn_biased_mutex_unlock(&pool->lock);
    if (TN_LIKELY(freed == TN_FREE_RESULT_FREED)) return TARN_STATUS_OK;
    return finish_free(pool, (uintptr_t)address, streams, stream_count, freed);
}
