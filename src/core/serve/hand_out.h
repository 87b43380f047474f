/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * hand_out: what alloc and free do in an index, the pool's or an arena's.
 *
 * Threads: the index and the counters under their lock.
 * Cost: O(1) but for the index.
 */
#ifndef TN_HAND_OUT_H
#define TN_HAND_OUT_H

#include "../../base/arith.h"

#include "pool_slices.h"
#include "pool_struct.h"
#include "../supply/pool_trim.h"
#include "pool_watch.h"
#include "../index/region_index_parts.h"
#include "../supply/stream_reuse.h"

enum tn_free_result {
    TN_FREE_RESULT_FREED,
    TN_FREE_RESULT_RELEASE_IS_DUE, /* freed, and tn_pool_release_after_free is to be called */
    TN_FREE_RESULT_NOT_LIVE,       /* nothing that is live starts at the address */
    TN_FREE_RESULT_UNKNOWN_STREAM,
    TN_FREE_RESULT_NO_ARENAS /* the address is of no arena, and never will be as long as it is live */
};

/* The best fit of what waits for nothing, which serves every stream, and of what was freed on this one. */
static inline uint32_t tn_pool_find_own_fit(const struct tn_region_index *index, uint32_t stream,
                                            uint32_t chunk_count)
{
    const struct tn_free_set *sets = index->by_size;
    uint32_t idle = tn_free_set_find(&sets[TN_FREE_SET_IDLE], index->regions, chunk_count);
    if (TN_LIKELY(stream == TN_STREAM_NONE)) return idle;
    const struct tn_free_set *of_stream = &sets[tn_free_set_of_stream(stream)];
    uint32_t own = tn_free_set_find(of_stream, index->regions, chunk_count);
    if (own == TN_REGION_NONE) return idle;
    if (idle == TN_REGION_NONE) return own;
    return tn_region_index_is_better(index, idle, own) ? idle : own;
}

/* Counts and tells of memory that is the user's from now on. */
static inline void tn_pool_note_alloc(const struct tarn_pool *pool, struct tn_part part,
                                      void *address, size_t size_bytes, size_t used_bytes)
{
    tn_stats_count_alloc(part.stats, size_bytes, used_bytes);
    tn_pool_allow(pool, address, size_bytes);
}

/* --- by way of the index ------------------------------------------------------------------------ */

/* Tells of a carved region as memory that is the user's. */
static inline void *tn_pool_hand_out(const struct tarn_pool *pool, struct tn_part part,
                                     uint32_t region, size_t size_bytes, size_t used_bytes)
{
    uint32_t first_chunk = part.index->regions[region].first_chunk;
    const struct tn_static_pool *owner = tn_static_pool_list_find_chunk(&pool->list, first_chunk);
    /* Here a device address becomes a pointer. */
    void *address = (void *)tn_static_pool_address_of(owner, first_chunk);
    tn_pool_note_alloc(pool, part, address, size_bytes, used_bytes);
    return address;
}

/* --- small requests ------------------------------------------------------------------------------- */

/* The first slice of a chunk that the stream may have, which is cut. Room for the slab must be reserved. NULL: there is
 * no such chunk, or no room for a carve. */
static inline void *tn_pool_cut_and_take_slice(struct tarn_pool *pool, struct tn_part part,
                                               unsigned slice_class, size_t size_bytes,
                                               uint32_t stream)
{
    uint32_t fit = tn_pool_find_own_fit(part.index, stream, 1);
    if (fit == TN_REGION_NONE || !tn_region_index_has_room(part.index)) return NULL;
    uint32_t slab = tn_pool_cut_slab(pool, part, slice_class, fit, 0);
    void *address = tn_pool_hand_out_slice(pool, part, slab, size_bytes);
    tn_slices_give(part.slices, slab, stream, true);
    return address;
}

static inline enum tn_free_result tn_pool_take_slice_back(struct tarn_pool *pool,
                                                          struct tn_part part,
                                                          const struct tn_static_pool *owner,
                                                          uint32_t slab, uintptr_t address,
                                                          struct tn_dependency dependency)
{
    switch (tn_pool_free_slice(pool, part, slab, address, dependency)) {
    case TN_FREE_SLICE_RESULT_NOT_LIVE:
        return TN_FREE_RESULT_NOT_LIVE;
    case TN_FREE_SLICE_RESULT_FREED:
        return TN_FREE_RESULT_FREED;
    case TN_FREE_SLICE_RESULT_SLAB_FREED:
        break;
    }
    if (!pool->releases_after_free) return TN_FREE_RESULT_FREED;
    return tn_pool_note_free(pool, owner) ? TN_FREE_RESULT_RELEASE_IS_DUE : TN_FREE_RESULT_FREED;
}

/* --- free --------------------------------------------------------------------------------------- */

/* Frees what starts at the address in this static pool; its reuse waits for the dependency. */
TN_HOT enum tn_free_result tn_pool_take_back(struct tarn_pool *pool, struct tn_part part,
                                             const struct tn_static_pool *owner, uintptr_t address,
                                             struct tn_dependency dependency)
{
    struct tn_region_index *index = part.index;
    uint32_t chunk = tn_static_pool_chunk_of(owner, address);
    uint32_t *place = tn_live_map_find_place(&index->live, index->regions, chunk);
    if (TN_UNLIKELY(!place)) return TN_FREE_RESULT_NOT_LIVE;
    const struct tn_region *region = &index->regions[*place];
    if (TN_UNLIKELY(tn_region_owner(region) == TN_REGION_OWNER_SLAB)) {
        return tn_pool_take_slice_back(pool, part, owner, tn_region_slab(region), address,
                                       dependency);
    }
    if (TN_UNLIKELY(!tn_static_pool_is_at_chunk(owner, address))) return TN_FREE_RESULT_NOT_LIVE;

    size_t used_bytes = (size_t)region->chunk_count << pool->chunk_log2;
    tn_pool_forbid(pool, (void *)address, tn_min(used_bytes, owner->end_address - address));
    tn_stats_count_free(part.stats, used_bytes - tn_region_slack_bytes(region), used_bytes);
    tn_region_index_free_at(index, place, dependency);
    if (TN_LIKELY(!pool->releases_after_free)) return TN_FREE_RESULT_FREED;
    return tn_pool_note_free(pool, owner) ? TN_FREE_RESULT_RELEASE_IS_DUE : TN_FREE_RESULT_FREED;
}

#endif
