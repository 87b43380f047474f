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

#include "hand_out.h"
#include "pool_arenas.h"
#include "pool_parts.h"
#include "pool_slices.h"

/* --- alloc ------------------------------------------------------------------------------------- */

/* NULL: not this way. Under `lock`. */
TN_HOT void *serve(struct tarn_pool *pool, size_t size_bytes, uint32_t chunk_count,
                   tarn_stream handle)
{
    uint32_t stream;
    if (TN_UNLIKELY(!tn_pool_find_stream(pool, handle, &stream))) return NULL;
    if (TN_UNLIKELY(tn_pool_is_captured(pool, stream))) return NULL;
    if (pool->cache) {
        void *address = tn_pool_hand_out_cached(pool, pool->cache, &pool->index, &pool->stats,
                                                size_bytes, chunk_count, stream);
        if (address) return address;
    }
    uint32_t fit = tn_pool_find_own_fit(&pool->index, stream, chunk_count);
    if (TN_UNLIKELY(fit == TN_REGION_NONE || !tn_region_index_has_room(&pool->index))) return NULL;

    size_t used_bytes = (size_t)chunk_count << pool->chunk_log2;
    uint32_t region = tn_region_index_carve(&pool->index, fit, 0, chunk_count,
                                            (uint32_t)(used_bytes - size_bytes));
    return tn_pool_hand_out(pool, &pool->index, &pool->stats, region, size_bytes, used_bytes);
}

/* The first slice of a chunk. Under `lock`. */
static void *cut_and_serve(struct tarn_pool *pool, unsigned slice_class, size_t size_bytes,
                           uint32_t stream)
{
    uint32_t fit = tn_pool_find_own_fit(&pool->index, stream, 1);
    if (fit == TN_REGION_NONE || !tn_region_index_has_room(&pool->index)) return NULL;
    if (!tn_slices_can_add(&pool->slices, slice_class) ||
        !tn_slices_reserve(&pool->slices, slice_class))
        return NULL;
    uint32_t slab = tn_pool_cut_slab(pool, slice_class, fit, 0);
    void *address = tn_pool_hand_out_slice(pool, slab, size_bytes);
    tn_slices_give(&pool->slices, slab, stream, true);
    return address;
}

/* NULL: not this way. Under `lock`. */
static void *serve_small(struct tarn_pool *pool, size_t size_bytes, size_t alignment_bytes,
                         tarn_stream handle)
{
    uint32_t stream;
    unsigned slice_class = tn_slices_class_for(&pool->slices, size_bytes, alignment_bytes);
    if (slice_class == TN_SLICE_CLASS_NONE) return NULL;
    if (TN_UNLIKELY(!tn_pool_find_stream(pool, handle, &stream))) return NULL;
    if (TN_UNLIKELY(tn_pool_is_captured(pool, stream))) return NULL;
    void *address = tn_pool_take_slice(pool, slice_class, size_bytes, stream);
    return address ? address : cut_and_serve(pool, slice_class, size_bytes, stream);
}

static void *lock_and_serve_small(struct tarn_pool *pool, size_t size_bytes, size_t alignment_bytes,
                                  tarn_stream stream)
{
    tn_pool_lock_as_it_is(pool);
    void *address = serve_small(pool, size_bytes, alignment_bytes, stream);
    tn_pool_unlock(pool);
    return address;
}

TN_HOT void *lock_and_serve(struct tarn_pool *pool, size_t size_bytes, uint32_t chunk_count,
                            tarn_stream stream)
{
    if (TN_UNLIKELY(tn_arenas_are_wanted(&pool->arenas)) &&
        (stream == NULL || stream != pool->thread_stream)) {
        void *address = tn_arena_alloc(pool, size_bytes, chunk_count, stream);
        if (address) return address;
    }
    tn_pool_lock_as_it_is(pool);
    if (TN_UNLIKELY(!tn_biased_mutex_is_owned(&pool->lock))) tn_arenas_note_wait(pool);
    void *address = serve(pool, size_bytes, chunk_count, stream);
    tn_pool_unlock(pool);
    return address;
}

tarn_status tn_pool_alloc(struct tarn_pool *pool, size_t size_bytes, size_t alignment_bytes,
                          tarn_stream stream, void **address_out)
{
    size_t chunk_count = tn_count_units(size_bytes, pool->chunk_log2);
    if (TN_UNLIKELY(size_bytes <= pool->slice_bytes_max)) {
        void *address = lock_and_serve_small(pool, size_bytes, alignment_bytes, stream);
        if (TN_LIKELY(address != NULL)) {
            *address_out = address;
            return TARN_STATUS_OK;
        }
        return tn_pool_alloc_slowly(pool, size_bytes, alignment_bytes, stream, address_out);
    }
    /* Chunks are aligned to their own size. */
    if (TN_LIKELY(alignment_bytes >> pool->chunk_log2 <= 1 && chunk_count <= TN_CHUNK_COUNT_MAX &&
                  !pool->passes_through)) {
        void *address = lock_and_serve(pool, size_bytes, (uint32_t)chunk_count, stream);
        if (TN_LIKELY(address != NULL)) {
            *address_out = address;
            return TARN_STATUS_OK;
        }
    }
    return tn_pool_alloc_slowly(pool, size_bytes, alignment_bytes, stream, address_out);
}

void *tn_pool_serve_shortly(struct tarn_pool *pool, size_t size_bytes, tarn_stream stream)
{
    size_t chunk_count = tn_count_units(size_bytes, pool->chunk_log2);
    if (chunk_count > TN_CHUNK_COUNT_MAX) return NULL;
    if (size_bytes <= pool->slice_bytes_max) return serve_small(pool, size_bytes, 1, stream);
    return serve(pool, size_bytes, (uint32_t)chunk_count, stream);
}

/* --- free -------------------------------------------------------------------------------------- */

/* The loan of an arena is a live region of the pool's index, and nobody's to free. */
static TN_COLD bool is_lent(const struct tarn_pool *pool, const struct tn_static_pool *owner,
                            uintptr_t address)
{
    uint32_t chunk = tn_static_pool_chunk_of(owner, address);
    return tn_arenas_find_loan(&pool->arenas, chunk) != NULL;
}

/* Under `lock`. */
TN_HOT enum tn_free_result take_back(struct tarn_pool *pool, uintptr_t address,
                                     const tarn_stream *streams, size_t stream_count)
{
    struct tn_dependency dependency;
    const struct tn_static_pool *owner = tn_static_pool_list_find_address(&pool->list, address);
    if (TN_UNLIKELY(!owner)) return TN_FREE_RESULT_NOT_LIVE;
    if (TN_UNLIKELY(pool->arenas.loan_count > 0) && is_lent(pool, owner, address))
        return TN_FREE_RESULT_NOT_LIVE;
    if (TN_UNLIKELY(!tn_pool_find_dependency(pool, streams, stream_count, &dependency)))
        return TN_FREE_RESULT_UNKNOWN_STREAM;
    if (pool->cache && tn_pool_take_back_cached(pool, pool->cache, &pool->index, &pool->stats,
                                                owner, address, dependency))
        return TN_FREE_RESULT_FREED;
    return tn_pool_take_back(pool, &pool->index, &pool->stats, owner, address, dependency);
}

TN_HOT enum tn_free_result lock_and_take_back(struct tarn_pool *pool, uintptr_t address,
                                              const tarn_stream *streams, size_t stream_count)
{
    if (TN_UNLIKELY(tn_arenas_are_active(&pool->arenas))) {
        enum tn_free_result freed = tn_arena_free(pool, address, streams, stream_count);
        if (freed != TN_FREE_RESULT_NO_ARENAS) return freed;
    }
    tn_pool_lock_as_it_is(pool);
    enum tn_free_result freed = take_back(pool, address, streams, stream_count);
    tn_pool_unlock(pool);
    return freed;
}

static TN_COLD tarn_status finish_free(struct tarn_pool *pool, uintptr_t address,
                                       const tarn_stream *streams, size_t stream_count,
                                       enum tn_free_result freed)
{
    tarn_status status = TARN_STATUS_OK;
    if (freed == TN_FREE_RESULT_RELEASE_IS_DUE) {
        tn_pool_release_after_free(pool);
    } else if (freed == TN_FREE_RESULT_UNKNOWN_STREAM) {
        status = tn_pool_free_slowly(pool, address, streams, stream_count);
    } else {
        /* Why is for the caller to find out, who may look into other pools. */
        status = TARN_STATUS_NOT_LIVE;
    }
    if (status != TARN_STATUS_OK) tn_pool_count_failure(pool);
    return status;
}

tarn_status tn_pool_free(struct tarn_pool *pool, void *address, const tarn_stream *streams,
                         size_t stream_count)
{
    enum tn_free_result freed = lock_and_take_back(pool, (uintptr_t)address, streams, stream_count);
    if (TN_LIKELY(freed == TN_FREE_RESULT_FREED)) return TARN_STATUS_OK;
    return finish_free(pool, (uintptr_t)address, streams, stream_count, freed);
}
