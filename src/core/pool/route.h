/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * route: in which part of a pool an allocation or a free is served, under that part's lock: the way of almost every
 * call. There is no vendor call on it, and no loop but in an index that is large.
 *
 *     alloc    arenas are wanted? ── the thread's arena ──┐
 *                    └── the pool ────────────────────────┴── serve ── else: the ladder
 *     free     arenas are there? ── the arena, or the pool ──── serve ── else: introduce the stream, or say why not
 *
 * Threads: any, with no lock held.
 */
#ifndef TN_ROUTE_H
#define TN_ROUTE_H

#include "../serve/serve.h"

#include "pool_arenas.h"

/* --- alloc ------------------------------------------------------------------------------------- */

/* Memory of a byte or more. NULL: call tn_pool_climb. */
TN_HOT void *tn_pool_try_alloc(struct tarn_pool *pool, size_t size_bytes, size_t alignment_bytes,
                               tarn_stream stream)
{
    if (TN_UNLIKELY(tn_arenas_are_wanted(&pool->arenas)))
        return tn_arena_alloc(pool, size_bytes, alignment_bytes, stream);
    const struct tn_request request = tn_request_make(pool, size_bytes, alignment_bytes, stream);
    if (TN_UNLIKELY(request.is_too_large || pool->passes_through)) return NULL;
    tn_pool_lock(pool);
    if (TN_UNLIKELY(!tn_biased_mutex_is_owned(&pool->lock))) tn_arenas_note_wait(pool);
    void *address = tn_serve(pool, &pool->own, &request);
    tn_pool_unlock(pool);
    return address;
}

/* Memory of a byte or more, by all means of the pool. Errors: those of tn_pool_climb. */
tarn_status tn_pool_alloc(struct tarn_pool *pool, size_t size_bytes, size_t alignment_bytes,
                          tarn_stream stream, void **address_out);

/* --- free -------------------------------------------------------------------------------------- */

/* Frees the allocation that starts at the address, and has the size that the free tells, or tells none: NULL. Any
 * result but FREED: call tn_pool_finish_free. */
TN_HOT enum tn_free_result tn_pool_try_free(struct tarn_pool *pool, uintptr_t address,
                                            const size_t *told_bytes, const tarn_stream *streams,
                                            size_t stream_count)
{
    if (TN_UNLIKELY(tn_arenas_are_active(&pool->arenas)))
        return tn_arena_free(pool, address, told_bytes, streams, stream_count);
    tn_pool_lock(pool);
    enum tn_free_result freed =
        tn_serve_free_of_pool(pool, address, told_bytes, streams, stream_count, false);
    tn_pool_unlock(pool);
    return freed;
}

/* Does what remains. Errors: NOT_LIVE, of which the caller can say more; WRONG_SIZE; OUT_OF_HOST_MEMORY,
 * INVALID_ARGUMENT and VENDOR_ERROR, of a stream that the pool has not met. */
TN_COLD tarn_status tn_pool_finish_free(struct tarn_pool *pool, uintptr_t address,
                                        const size_t *told_bytes, const tarn_stream *streams,
                                        size_t stream_count, enum tn_free_result freed);

/* Both. Frees what the streams use, of which there may be none. */
tarn_status tn_pool_free(struct tarn_pool *pool, void *address, const size_t *told_bytes,
                         const tarn_stream *streams, size_t stream_count);

/* Frees what the same call has allocated on the stream before. The vendor is not asked which stream it is. */
void tn_pool_undo_alloc(struct tarn_pool *pool, void *address, tarn_stream stream);

/* Says and counts that an allocation has another size than a free told. */
TN_COLD tarn_status tn_pool_fail_for_wrong_size(struct tarn_pool *pool, const void *address,
                                                size_t actual_bytes, size_t size_bytes);

#endif
