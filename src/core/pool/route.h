/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * route: chooses the part of a pool that serves an allocation or a free, and locks it. Almost every call ends
 * here, without a vendor call.
 *
 *     alloc    arenas are wanted?  ── yes ── the thread's arena ────┬── serve ── NULL: tn_pool_climb
 *                                  └─ no ─── the pool's own part ───┘
 *     free     an arena is active? ── yes ── the arena that has it ─┬── serve ── else: tn_pool_finish_free
 *                                  └─ no ─── the pool's own part ───┘
 *
 * The thread's arena lends chunks of the pool's own part when it has none. A free of memory of another thread's
 * arena goes into its mailbox.
 *
 * Threads: any, with no lock held. Cost: that of serve.h.
 */
#ifndef TN_ROUTE_H
#define TN_ROUTE_H

#include "../serve/serve.h"

#include "pool_arenas.h"

/* --- alloc ------------------------------------------------------------------------------------- */

/* Allocates one byte or more from free memory of the thread's part. NULL: call tn_pool_climb. */
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

/* Allocates one byte or more, and climbs the ladder if needed. Errors: those of tn_pool_climb. */
tarn_status tn_pool_alloc(struct tarn_pool *pool, size_t size_bytes, size_t alignment_bytes,
                          tarn_stream stream, void **address_out);

/* --- free -------------------------------------------------------------------------------------- */

/* Frees the allocation that starts at the address. told_bytes points to the size that the caller expects, or is
 * NULL. Reuse waits for the streams. On any result but FREED, call tn_pool_finish_free. */
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

/* Completes tn_pool_try_free after the result `freed`: introduces streams, releases memory, or fails. Errors:
 * NOT_LIVE, without a message; WRONG_SIZE; and for a stream that is new to the pool INVALID_ARGUMENT and
 * VENDOR_ERROR. Without room for the stream, the calling thread waits for it instead. */
TN_COLD tarn_status tn_pool_finish_free(struct tarn_pool *pool, uintptr_t address,
                                        const size_t *told_bytes, const tarn_stream *streams,
                                        size_t stream_count, enum tn_free_result freed);

/* tn_pool_try_free, and tn_pool_finish_free if needed. There may be no streams. An allocation that is used on further
 * streams is freed after them, too: see pool_uses.h. */
tarn_status tn_pool_free(struct tarn_pool *pool, void *address, const size_t *told_bytes,
                         const tarn_stream *streams, size_t stream_count);

/* Frees an allocation that the same call made on the stream. It does not introduce the stream again. */
void tn_pool_undo_alloc(struct tarn_pool *pool, void *address, tarn_stream stream);

/* Counts the failure of a free whose told size is wrong, and fails with WRONG_SIZE. */
TN_COLD tarn_status tn_pool_fail_for_wrong_size(struct tarn_pool *pool, const void *address,
                                                size_t actual_bytes, size_t size_bytes);

#endif
