/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * pool_fast: the way of almost every alloc and free: one lock, no vendor call, no loop but in an index that
 * is large.
 *
 *     alloc   count chunks ── cached? ── best fit of what the stream may have ── carve ── count ── address
 *     free    static pool ── chunk ── live map ── cache, or coalesce ── count
 *
 * Whatever is out of the ordinary leaves it by TN_UNLIKELY for pool.c, which begins anew: a stream that is
 * not known or is being captured, an alignment beyond the chunk's, nothing that fits, no room in the index, what
 * is not live.
 *
 * In front of that, where the pool has a cache and the lock has its owner, is a way without a call, so that the
 * compiler saves no register for it:
 *
 *     try_cached_alloc   own the lock ── take ── count                   else, with the lock or without,
 *     try_cached_free    own the lock ── static pool ── give ── count    the way above
 */
#ifndef TN_POOL_FAST_H
#define TN_POOL_FAST_H

#include "hand_out.h"
#include "pool_arenas.h"
#include "region_index_parts.h"
#include "stream_reuse.h"

static inline struct tn_part tn_pool_cached_part(struct tarn_pool *pool)
{
    struct tn_part part = tn_pool_part(pool);
    part.cache = pool->cache;
    return part;
}

/* --- alloc ------------------------------------------------------------------------------------- */

/* A request that has a slice. NULL: not this way. */
void *tn_pool_try_alloc_small(struct tarn_pool *pool, size_t size_bytes, size_t alignment_bytes,
                              tarn_stream stream);

/* Out of the cache. NULL: not this way. Under `lock`. */
TN_HOT void *tn_pool_serve_from_cache(struct tarn_pool *pool, size_t size_bytes,
                                      uint32_t chunk_count, tarn_stream handle)
{
    uint32_t stream;
    if (!pool->cache || !tn_pool_find_stream(pool, handle, &stream)) return NULL;
    if (TN_UNLIKELY(tn_pool_is_captured(pool, stream))) return NULL;
    return tn_pool_hand_out_cached(pool, tn_pool_cached_part(pool), size_bytes, chunk_count,
                                   stream);
}

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
    void *address = tn_pool_serve_from_cache(pool, size_bytes, (uint32_t)chunk_count, stream);
    if (!address) address = tn_pool_serve(pool, size_bytes, (uint32_t)chunk_count, stream);
    tn_pool_unlock(pool);
    return address;
}

/* --- free -------------------------------------------------------------------------------------- */

/* The loan of an arena is a live region of the pool's index, and nobody's to free. */
TN_COLD bool tn_pool_is_lent(const struct tarn_pool *pool, const struct tn_static_pool *owner,
                             uintptr_t address);

/* What the cache has handed out, and no way of its own took back. False: nothing that it knows. Not in its caller, which
 * would save registers for it. */
TN_NOINLINE bool tn_pool_give_in_pool(struct tarn_pool *pool, const struct tn_static_pool *owner,
                                      uintptr_t address, struct tn_dependency dependency);

/* Under `lock`. asks_cache: what the cache has handed out was not looked for yet. */
TN_HOT enum tn_free_result tn_pool_take_back_in_pool(struct tarn_pool *pool, uintptr_t address,
                                                     const tarn_stream *streams,
                                                     size_t stream_count, bool asks_cache)
{
    struct tn_dependency dependency;
    const struct tn_static_pool *owner = tn_static_pool_list_find_address(&pool->list, address);
    if (TN_UNLIKELY(!owner)) return TN_FREE_RESULT_NOT_LIVE;
    if (TN_UNLIKELY(pool->arenas.loan_count > 0) && tn_pool_is_lent(pool, owner, address))
        return TN_FREE_RESULT_NOT_LIVE;
    if (TN_UNLIKELY(!tn_pool_find_dependency(pool, streams, stream_count, &dependency)))
        return TN_FREE_RESULT_UNKNOWN_STREAM;
    if (asks_cache && TN_UNLIKELY(pool->cache != NULL) &&
        tn_pool_give_in_pool(pool, owner, address, dependency))
        return TN_FREE_RESULT_FREED;
    return tn_pool_take_back(pool, tn_pool_cached_part(pool), owner, address, dependency);
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
        tn_pool_take_back_in_pool(pool, address, streams, stream_count, true);
    tn_pool_unlock(pool);
    return freed;
}

/* What else there is to do after anything but FREED. */
TN_COLD tarn_status tn_pool_finish_free(struct tarn_pool *pool, uintptr_t address,
                                        const tarn_stream *streams, size_t stream_count,
                                        enum tn_free_result freed);

/* --- by way of the cache -------------------------------------------------------------------------- */

/* The number of a stream that the pool has found last, or that is its only one. */
TN_HOT bool tn_pool_was_last_stream(const struct tarn_pool *pool, tarn_stream handle,
                                    uint32_t *stream_out)
{
    *stream_out = TN_STREAM_NONE;
    if (TN_LIKELY(!pool->streams)) return handle == pool->only_stream;
    *stream_out = pool->streams->last_found;
    return tn_stream_table_was_last(pool->streams, handle);
}

/* What the cache has for the request, or NULL: not this way. *is_locked_out: the caller has the lock as its owner,
 * and the request is one for the index. In a pool that has a cache. */
TN_HOT void *tn_pool_try_cached_alloc(struct tarn_pool *pool, size_t size_bytes,
                                      size_t alignment_bytes, tarn_stream handle,
                                      bool *is_locked_out)
{
    uint32_t stream;
    size_t chunk_count = tn_pool_chunks_for(pool, size_bytes);
    *is_locked_out = false;
    if (size_bytes <= pool->slice_bytes_max ||
        !tn_pool_has_chunks_for(pool, chunk_count, alignment_bytes))
        return NULL;
    if (tn_arenas_are_wanted(&pool->arenas) || !tn_biased_mutex_try_own(&pool->lock)) return NULL;
    void *address = NULL;
    if (TN_LIKELY(tn_pool_was_last_stream(pool, handle, &stream))) {
        address = tn_pool_hand_out_cached(pool, tn_pool_cached_part(pool), size_bytes,
                                          (uint32_t)chunk_count, stream);
        *is_locked_out = !address;
    }
    if (!*is_locked_out) tn_biased_mutex_unlock_owned(&pool->lock);
    return address;
}

/* Whether the cache takes back what it has handed out; *is_locked_out: as above, and it has not. */
TN_HOT bool tn_pool_try_cached_free(struct tarn_pool *pool, uintptr_t address, tarn_stream handle,
                                    bool *is_locked_out)
{
    uint32_t stream;
    *is_locked_out = false;
    if (tn_arenas_are_active(&pool->arenas) || !tn_biased_mutex_try_own(&pool->lock)) return false;
    bool is_freed = false;
    const struct tn_static_pool *owner = tn_static_pool_list_find_address(&pool->list, address);
    if (TN_LIKELY(owner && tn_pool_was_last_stream(pool, handle, &stream))) {
        is_freed = tn_pool_give_to_cache(pool, tn_pool_cached_part(pool), owner, address,
                                         tn_pool_depend(pool, stream));
        *is_locked_out = !is_freed;
    }
    if (!*is_locked_out) tn_biased_mutex_unlock_owned(&pool->lock);
    return is_freed;
}

#endif
