/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* place: from a chunk to the live allocation that holds it. */
#include "place.h"

#include "../../base/arith.h"

bool tn_place_find_live(const struct tarn_pool *pool, struct tn_place *place)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    TN_ASSERT(!tn_arenas_are_active(&pool->arenas));
    place->region = tn_region_index_find_live(&pool->own.index, place->chunk);
    if (place->region == TN_REGION_NONE) return false;
    const struct tn_region *r = &pool->own.index.regions[place->region];
    place->slab = TN_SLAB_NONE;
    if (!tn_region_is_slab(r)) return true;
    place->slab = tn_region_slab(r);
    place->slice = tn_slices_slice_at(&pool->own.slices, place->slab, place->address);
    return tn_slices_is_live(&pool->own.slices, place->slab, place->slice);
}

uintptr_t tn_place_start(const struct tarn_pool *pool, const struct tn_place *place)
{
    if (place->slab != TN_SLAB_NONE)
        return tn_slices_address_of(&pool->own.slices, place->slab, place->slice);
    return tn_static_pool_address_of(place->owner,
                                     pool->own.index.regions[place->region].first_chunk);
}

static size_t chunk_bytes(const struct tarn_pool *pool, const struct tn_place *place)
{
    return (size_t)pool->own.index.regions[place->region].chunk_count << pool->chunk_log2;
}

size_t tn_place_size_bytes(const struct tarn_pool *pool, const struct tn_place *place)
{
    if (place->slab != TN_SLAB_NONE)
        return tn_slices_size_of(&pool->own.slices, place->slab, place->slice);
    return chunk_bytes(pool, place) -
           tn_region_slack_bytes(&pool->own.index.regions[place->region]);
}

size_t tn_place_usable_bytes(const struct tarn_pool *pool, const struct tn_place *place)
{
    if (place->slab != TN_SLAB_NONE) return tn_slices_slice_bytes(&pool->own.slices, place->slab);
    /* In a pool that passes through, the end of the static pool may lie inside the last chunk. */
    return tn_min(chunk_bytes(pool, place),
                  place->owner->end_address - tn_place_start(pool, place));
}
