/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * stream_reuse: from when on a stream may have what was freed on another.
 *
 *     stream a    ── kernel on x ── free x ─── kernel ─── ●          recorded when b wants x, not before
 *                                                         ╎
 *     stream b    ── kernel ────────────────── alloc ──── ◄ ── kernel on x
 *
 * A pool that has seen one stream only need not care: what runs later on a stream runs later anyway. So
 * it is undivided at first, and every free region serves that stream. With the second stream the free
 * regions divide: those that wait for nothing, and those of each stream; see dependency.h.
 *
 * Threads: all of it under growth_lock, and `lock` only for a look or a change; the vendor's calls are
 * made without it, since they may wait for a function of the user's that frees.
 * Cost: that of the vendor's calls.
 */
#ifndef TN_STREAM_REUSE_H
#define TN_STREAM_REUSE_H

#include "pool_struct.h"

/* The number of a stream that the pool knows. Undivided, it has none: TN_STREAM_NONE. False: the pool
 * does not know it. Under `lock`. */
static inline bool tn_pool_find_stream(const struct tarn_pool *pool, tarn_stream handle,
                                       uint32_t *stream_out)
{
    *stream_out = TN_STREAM_NONE;
    if (TN_LIKELY(!pool->streams)) return handle == pool->only_stream;
    *stream_out = tn_stream_table_find(pool->streams, handle);
    return *stream_out != TN_STREAM_NONE;
}

/* The free sets, a bit each, from which a stream may have anything without further ado. */
static inline uint32_t tn_pool_own_sets(uint32_t stream)
{
    uint32_t idle = (uint32_t)1 << TN_FREE_SET_IDLE;
    return stream == TN_STREAM_NONE ? idle : idle | (uint32_t)1 << tn_free_set_of_stream(stream);
}

/* What is freed on a stream now depends on. */
static inline struct tn_dependency tn_pool_depend(const struct tarn_pool *pool, uint32_t stream)
{
    return stream == TN_STREAM_NONE ? TN_DEPENDENCY_NONE
                                    : tn_stream_table_depend(pool->streams, stream);
}

/* Makes a stream known. Its status is OK; INVALID_ARGUMENT: it is of another device; OUT_OF_HOST_MEMORY,
 * also when there are too many streams at once; or the vendor's. */
tarn_backend_result tn_stream_reuse_introduce(struct tarn_pool *pool, tarn_stream stream);

/* Finds out which records have completed. True: something waits for less than before. */
bool tn_stream_reuse_poll(struct tarn_pool *pool);

/* Makes the stream wait for what the dependency names: at most one record and one wait for each stream
 * that it has not waited for yet. */
tarn_backend_result tn_stream_reuse_order(struct tarn_pool *pool, tarn_stream handle,
                                          struct tn_dependency dependency);

/* The handle ends: what was freed on it is recorded now. */
tarn_backend_result tn_stream_reuse_retire(struct tarn_pool *pool, tarn_stream handle);

/* Gives up the table and the events, whatever is under way. At the end of the pool. */
void tn_stream_reuse_fini(struct tarn_pool *pool);

#endif
