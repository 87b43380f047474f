/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * pool_parts: parts of an allocation and of a free, for what is made of them: several under one lock, or one after
 * a look.
 *
 * Threads: under `lock`, but for the last two.
 */
#ifndef TN_POOL_PARTS_H
#define TN_POOL_PARTS_H

#include "../../base/arith.h"

#include "../serve/hand_out.h"
#include "../supply/stream_reuse.h"

/* The live region that starts at the address and is no slab, and the static pool that it is in; or
 * TN_REGION_NONE. */
static inline uint32_t tn_pool_find_start(const struct tarn_pool *pool, uintptr_t address,
                                          const struct tn_static_pool **owner_out)
{
    const struct tn_static_pool *owner = tn_static_pool_list_find_address(&pool->list, address);
    if (!owner) return TN_REGION_NONE;
    uint32_t chunk = tn_static_pool_chunk_of(owner, address);
    if (tn_static_pool_address_of(owner, chunk) != address) return TN_REGION_NONE;
    uint32_t region = tn_region_index_find_live(&pool->index, chunk);
    if (region == TN_REGION_NONE || pool->index.regions[region].first_chunk != chunk ||
        tn_region_is_slab(&pool->index.regions[region]))
        return TN_REGION_NONE;
    *owner_out = owner;
    return region;
}

/* The same of a live slice. False: there starts none. */
static inline bool tn_pool_find_slice(const struct tarn_pool *pool, uintptr_t address,
                                      const struct tn_static_pool **owner_out,
                                      struct tn_place *place_out)
{
    const struct tn_static_pool *owner = tn_static_pool_list_find_address(&pool->list, address);
    if (!owner || !tn_pool_find_place(pool, owner, address, place_out)) return false;
    *owner_out = owner;
    return place_out->is_slice && place_out->address == address;
}

/* What was asked for. */
static inline size_t tn_pool_requested_bytes(const struct tarn_pool *pool, uint32_t region)
{
    const struct tn_region *r = &pool->index.regions[region];
    return ((size_t)r->chunk_count << pool->chunk_log2) - tn_region_slack_bytes(r);
}

/* Serves a request of a byte or more out of what the stream may have without waiting. False: it cannot, for
 * whatever reason, and nothing has changed. tn_pool_alloc does better, or says why not. */
bool tn_pool_serve_now(struct tarn_pool *pool, size_t size_bytes, tarn_stream stream,
                       void **address_out);

/* The short way of the same, in a pool that does not pass through. NULL: not this way. */
void *tn_pool_serve_shortly(struct tarn_pool *pool, size_t size_bytes, tarn_stream stream);

/* Frees what starts at the address. UNKNOWN_STREAM: one of them has to be introduced, which tn_pool_free does. */
static inline enum tn_free_result tn_pool_free_now(struct tarn_pool *pool, void *address,
                                                   const tarn_stream *streams, size_t stream_count)
{
    struct tn_dependency dependency;
    const struct tn_static_pool *owner =
        tn_static_pool_list_find_address(&pool->list, (uintptr_t)address);
    if (!owner) return TN_FREE_RESULT_NOT_LIVE;
    if (!tn_pool_find_dependency(pool, streams, stream_count, &dependency))
        return TN_FREE_RESULT_UNKNOWN_STREAM;
    return tn_pool_take_back(pool, tn_pool_part(pool), owner, (uintptr_t)address, dependency);
}

/* Frees what the same call has allocated on the stream before, and asks no vendor which stream it is. With no
 * lock held. */
void tn_pool_undo_alloc(struct tarn_pool *pool, void *address, tarn_stream stream);

/* Whether there can be a region of so many bytes; and says that there cannot. */
static inline bool tn_pool_has_size(const struct tarn_pool *pool, size_t size_bytes)
{
    return tn_count_units(size_bytes, pool->chunk_log2) <= TN_CHUNK_COUNT_MAX;
}
tarn_status tn_pool_fail_for_size(const struct tarn_pool *pool, size_t size_bytes);

#endif
