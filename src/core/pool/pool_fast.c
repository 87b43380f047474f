/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* pool_fast: small requests, and the same ways for callers within. */
#include "pool_fast.h"

#include "pool.h"
#include "pool_parts.h"
#include "../serve/pool_slices.h"

/* --- alloc ------------------------------------------------------------------------------------- */

/* No host memory is asked for where there is no chunk. */
static bool has_slab_room(struct tarn_pool *pool, unsigned slice_class, uint32_t stream)
{
    return tn_slices_has_room(&pool->slices, slice_class) ||
           (tn_pool_find_own_fit(&pool->index, stream, 1) != TN_REGION_NONE &&
            tn_slices_can_add(&pool->slices, slice_class) &&
            tn_slices_reserve(&pool->slices, slice_class));
}

/* NULL: not this way. Under `lock`. */
static TN_COLD void *cut_and_serve(struct tarn_pool *pool, unsigned slice_class, size_t size_bytes,
                                   uint32_t stream)
{
    if (!has_slab_room(pool, slice_class, stream)) return NULL;
    return tn_pool_cut_and_take_slice(pool, tn_pool_part(pool), slice_class, size_bytes, stream);
}

/* NULL: not this way. Under `lock`. */
TN_HOT void *serve_small(struct tarn_pool *pool, size_t size_bytes, size_t alignment_bytes,
                         tarn_stream handle)
{
    uint32_t stream;
    unsigned slice_class = tn_slices_class_for(&pool->slices, size_bytes, alignment_bytes);
    if (slice_class == TN_SLICE_CLASS_NONE) return NULL;
    if (TN_UNLIKELY(!tn_pool_find_stream(pool, handle, &stream))) return NULL;
    if (TN_UNLIKELY(tn_pool_is_captured(pool, stream))) return NULL;
    void *address = tn_pool_take_slice(pool, tn_pool_part(pool), slice_class, size_bytes, stream);
    if (TN_LIKELY(address != NULL)) return address;
    return cut_and_serve(pool, slice_class, size_bytes, stream);
}

/* As tn_arena_alloc. */
static TN_COLD void *alloc_small_in_arena(struct tarn_pool *pool, size_t size_bytes,
                                          size_t alignment_bytes, tarn_stream stream,
                                          bool *is_locked_out)
{
    unsigned slice_class = tn_slices_class_for(&pool->slices, size_bytes, alignment_bytes);
    if (slice_class == TN_SLICE_CLASS_NONE) return NULL;
    return tn_arena_alloc(pool, size_bytes, 1, slice_class, stream, is_locked_out);
}

void *tn_pool_try_alloc_small(struct tarn_pool *pool, size_t size_bytes, size_t alignment_bytes,
                              tarn_stream stream)
{
    bool is_locked = false;
    if (TN_UNLIKELY(tn_arenas_are_wanted(&pool->arenas)) &&
        (stream == NULL || stream != pool->thread_stream)) {
        void *address = alloc_small_in_arena(pool, size_bytes, alignment_bytes, stream, &is_locked);
        if (address) return address;
    }
    if (TN_LIKELY(!is_locked)) tn_pool_lock_as_it_is(pool);
    if (TN_UNLIKELY(!tn_biased_mutex_is_owned(&pool->lock))) tn_arenas_note_wait(pool);
    void *address = serve_small(pool, size_bytes, alignment_bytes, stream);
    tn_pool_unlock(pool);
    return address;
}

tarn_status tn_pool_alloc(struct tarn_pool *pool, size_t size_bytes, size_t alignment_bytes,
                          tarn_stream stream, void **address_out)
{
    void *address = tn_pool_try_alloc(pool, size_bytes, alignment_bytes, stream);
    if (TN_UNLIKELY(!address))
        return tn_pool_alloc_slowly(pool, size_bytes, alignment_bytes, stream, address_out);
    *address_out = address;
    return TARN_STATUS_OK;
}

void *tn_pool_serve_shortly(struct tarn_pool *pool, size_t size_bytes, tarn_stream stream)
{
    size_t chunk_count = tn_pool_chunks_for(pool, size_bytes);
    if (chunk_count > TN_CHUNK_COUNT_MAX) return NULL;
    if (size_bytes <= pool->slice_bytes_max) return serve_small(pool, size_bytes, 1, stream);
    return tn_pool_serve(pool, size_bytes, (uint32_t)chunk_count, stream);
}

/* --- free -------------------------------------------------------------------------------------- */

bool tn_pool_is_lent(const struct tarn_pool *pool, const struct tn_static_pool *owner,
                     uintptr_t address)
{
    uint32_t chunk = tn_static_pool_chunk_of(owner, address);
    return tn_arenas_find_loan(&pool->arenas, chunk) != NULL;
}

tarn_status tn_pool_finish_free(struct tarn_pool *pool, uintptr_t address,
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
    enum tn_free_result freed = tn_pool_try_free(pool, (uintptr_t)address, streams, stream_count);
    if (TN_LIKELY(freed == TN_FREE_RESULT_FREED)) return TARN_STATUS_OK;
    return tn_pool_finish_free(pool, (uintptr_t)address, streams, stream_count, freed);
}
