/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * pool_fast: what the short way of alloc and free, pool_fast.c, shares with the long one, pool.c.
 *
 * Threads: as each says. Cost: O(1) but for the index.
 */
#ifndef TN_POOL_FAST_H
#define TN_POOL_FAST_H

#include "pool_struct.h"
#include "pool_watch.h"

/* Tells of a carved region as memory that is the user's. Under `lock`. */
static inline void *tn_pool_hand_out(struct tarn_pool *pool, uint32_t region, size_t size_bytes,
                                     size_t used_bytes)
{
    uint32_t first_chunk = pool->index.regions[region].first_chunk;
    const struct tn_static_pool *owner = tn_static_pool_list_find_chunk(&pool->list, first_chunk);
    /* Here a device address becomes a pointer. */
    void *address = (void *)tn_static_pool_address_of(owner, first_chunk);
    tn_stats_count_alloc(&pool->stats, size_bytes, used_bytes);
    tn_pool_allow(pool, address, size_bytes);
    return address;
}

enum tn_free_result {
    TN_FREE_RESULT_FREED,
    TN_FREE_RESULT_RELEASE_IS_DUE, /* freed, and tn_pool_release_after_free is to be called */
    TN_FREE_RESULT_NOT_LIVE,       /* nothing that is live starts at the address */
    TN_FREE_RESULT_UNKNOWN_STREAM
};

/* Frees what starts at the address, whose reuse waits for the dependency. Under `lock`. */
enum tn_free_result tn_pool_free_locked(struct tarn_pool *pool, uintptr_t address,
                                        struct tn_dependency dependency);

/* --- pool.c -------------------------------------------------------------------------------------- */

/* tn_pool_alloc from the beginning, by all means. With no lock held. */
tarn_status tn_pool_alloc_slowly(struct tarn_pool *pool, size_t size_bytes, size_t alignment_bytes,
                                 tarn_stream stream, void **address_out);

/* tn_pool_free after streams that must be introduced. With no lock held. */
tarn_status tn_pool_free_slowly(struct tarn_pool *pool, uintptr_t address,
                                const tarn_stream *streams, size_t stream_count);

#endif
