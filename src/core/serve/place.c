/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* place: from a chunk to the live allocation that holds it. */
#include "place.h"

#include "../../base/arith.h"
#include "../index/region_index.h"

static const struct tn_region *region_of(const struct tn_place *place)
{
    return &place->part->index.regions[place->region];
}

/* Sets the live allocation to the one that the region has at the address. False: a slice that is not live. */
static bool set_live(struct tn_place *place, const struct tn_part *part, uint32_t region)
{
    place->part = part;
    place->region = region;
    place->slab = TN_SLAB_NONE;
    if (!tn_region_is_slab(region_of(place))) return true;
    place->slab = tn_region_slab(region_of(place));
    place->slice = tn_slices_slice_at(&part->slices, place->slab, place->address);
    return tn_slices_is_live(&part->slices, place->slab, place->slice);
}

bool tn_place_find_start(const struct tarn_pool *pool, const struct tn_part *part,
                         struct tn_place *place)
{
    TN_ASSERT(tn_pool_is_part_locked(pool, part));
    uint32_t region = tn_region_index_find_start(&part->index, place->chunk);
    return region != TN_REGION_NONE && set_live(place, part, region) &&
           tn_place_start(pool, place) == place->address;
}

bool tn_place_find_live(const struct tarn_pool *pool, struct tn_place *place)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    TN_ASSERT(!tn_arenas_are_active(&pool->arenas));
    uint32_t region = tn_region_index_find_live(&pool->own.index, place->chunk);
    return region != TN_REGION_NONE && set_live(place, &pool->own, region);
}

uintptr_t tn_place_start(const struct tarn_pool *pool, const struct tn_place *place)
{
    (void)pool;
    if (place->slab != TN_SLAB_NONE)
        return tn_slices_address_of(&place->part->slices, place->slab, place->slice);
    return tn_static_pool_address_of(place->owner, region_of(place)->first_chunk);
}

static size_t chunk_bytes(const struct tarn_pool *pool, const struct tn_place *place)
{
    return (size_t)region_of(place)->chunk_count << pool->chunk_log2;
}

size_t tn_place_size_bytes(const struct tarn_pool *pool, const struct tn_place *place)
{
    if (place->slab != TN_SLAB_NONE)
        return tn_slices_size_of(&place->part->slices, place->slab, place->slice);
    return chunk_bytes(pool, place) -
           tn_region_slack_bytes(region_of(place), place->part->index.slack_mask);
}

uint32_t tn_place_label(const struct tn_place *place)
{
    if (place->slab != TN_SLAB_NONE)
        return tn_slices_label_of(&place->part->slices, place->slab, place->slice);
    return tn_region_label(region_of(place), place->part->index.slack_mask);
}

size_t tn_place_usable_bytes(const struct tarn_pool *pool, const struct tn_place *place)
{
    if (place->slab != TN_SLAB_NONE)
        return tn_slices_slice_bytes(&place->part->slices, place->slab);
    /* In a pool that passes through, the end of the static pool may lie inside the last chunk. */
    return tn_min(chunk_bytes(pool, place),
                  place->owner->end_address - tn_place_start(pool, place));
}
