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
#ifndef TN_POOL_FAST_H
#define TN_POOL_FAST_H

#include "../serve/hand_out.h"
#include "pool_arenas.h"
#include "../index/region_index_parts.h"
#include "../supply/stream_reuse.h"

/* --- alloc ------------------------------------------------------------------------------------- */

/* A request that has a slice. NULL: not this way. */
void *tn_pool_try_alloc_small(struct tarn_pool *pool, size_t size_bytes, size_t alignment_bytes,
                              tarn_stream stream);

/* Out of the index. NULL: not this way. Under `lock`. */
TN_HOT void *tn_pool_serve(struct tarn_pool *pool, size_t size_bytes, uint32_t chunk_count,
                           tarn_stream handle)
{
    uint32_t stream;
    if (TN_UNLIKELY(!tn_pool_find_stream(pool, handle, &stream))) return NULL;
    if (TN_UNLIKELY(tn_pool_is_captured(pool, stream))) return NULL;
    uint32_t fit = tn_pool_find_own_fit(&pool->index, stream, chunk_count);
    if (TN_UNLIKELY(fit == TN_REGION_NONE || !tn_region_index_has_room(&pool->index))) return NULL;

    size_t used_bytes = (size_t)chunk_count << pool->chunk_log2;
    uint32_t region = tn_region_index_carve_front(&pool->index, fit, chunk_count,
                                                  (uint32_t)(used_bytes - size_bytes));
    return tn_pool_hand_out(pool, tn_pool_part(pool), region, size_bytes, used_bytes);
}

/* Whether so many whole chunks serve a request, with no regard to where they lie. */
TN_HOT bool tn_pool_has_chunks_for(const struct tarn_pool *pool, size_t chunk_count,
                                   size_t alignment_bytes)
{
    return TN_LIKELY(alignment_bytes <= pool->plain_alignment_max &&
                     chunk_count <= TN_CHUNK_COUNT_MAX);
}

/* Of a request of a byte or more. */
TN_HOT size_t tn_pool_chunks_for(const struct tarn_pool *pool, size_t size_bytes)
{
    return ((size_bytes - 1) >> pool->chunk_log2) + 1;
}

/* Of a byte or more. NULL: not this way; tn_pool_alloc_slowly begins anew. */
TN_HOT void *tn_pool_try_alloc(struct tarn_pool *pool, size_t size_bytes, size_t alignment_bytes,
                               tarn_stream stream)
{
    /* No slice is more aligned than the largest is. */
    if (size_bytes <= pool->slice_bytes_max && alignment_bytes <= pool->slice_bytes_max)
        return tn_pool_try_alloc_small(pool, size_bytes, alignment_bytes, stream);
    size_t chunk_count = tn_pool_chunks_for(pool, size_bytes);
    if (!tn_pool_has_chunks_for(pool, chunk_count, alignment_bytes)) return NULL;
    bool is_locked = false;
    if (TN_UNLIKELY(tn_arenas_are_wanted(&pool->arenas)) &&
        (stream == NULL || stream != pool->thread_stream)) {
        void *address = tn_arena_alloc(pool, size_bytes, (uint32_t)chunk_count, TN_SLICE_CLASS_NONE,
                                       stream, &is_locked);
        if (address) return address;
    }
    if (TN_LIKELY(!is_locked)) tn_pool_lock_as_it_is(pool);
    if (TN_UNLIKELY(!tn_biased_mutex_is_owned(&pool->lock))) tn_arenas_note_wait(pool);
    void *address = tn_pool_serve(pool, size_bytes, (uint32_t)chunk_count, stream);
    tn_pool_unlock(pool);
    return address;
}

/* --- free -------------------------------------------------------------------------------------- */

/* The loan of an arena is a live region of the pool's index, and nobody's to free. */
TN_COLD bool tn_pool_is_lent(const struct tarn_pool *pool, const struct tn_static_pool *owner,
                             uintptr_t address);

/* Under `lock`. */
TN_HOT enum tn_free_result tn_pool_take_back_in_pool(struct tarn_pool *pool, uintptr_t address,
                                                     const tarn_stream *streams,
                                                     size_t stream_count)
{
    struct tn_dependency dependency;
    const struct tn_static_pool *owner = tn_static_pool_list_find_address(&pool->list, address);
    if (TN_UNLIKELY(!owner)) return TN_FREE_RESULT_NOT_LIVE;
    if (TN_UNLIKELY(pool->arenas.loan_count > 0) && tn_pool_is_lent(pool, owner, address))
        return TN_FREE_RESULT_NOT_LIVE;
    if (TN_UNLIKELY(!tn_pool_find_dependency(pool, streams, stream_count, &dependency)))
        return TN_FREE_RESULT_UNKNOWN_STREAM;
    return tn_pool_take_back(pool, tn_pool_part(pool), owner, address, dependency);
}

TN_HOT enum tn_free_result tn_pool_try_free(struct tarn_pool *pool, uintptr_t address,
                                            const tarn_stream *streams, size_t stream_count)
{
    if (TN_UNLIKELY(tn_arenas_are_active(&pool->arenas))) {
        enum tn_free_result freed = tn_arena_free(pool, address, streams, stream_count);
        if (freed != TN_FREE_RESULT_NO_ARENAS) return freed;
    } else {
        tn_pool_lock_as_it_is(pool);
    }
    enum tn_free_result freed =
        tn_pool_take_back_in_pool(pool, address, streams, stream_count);
    tn_pool_unlock(pool);
    return freed;
}

/* What else there is to do after anything but FREED. */
TN_COLD tarn_status tn_pool_finish_free(struct tarn_pool *pool, uintptr_t address,
                                        const tarn_stream *streams, size_t stream_count,
                                        enum tn_free_result freed);

#endif
