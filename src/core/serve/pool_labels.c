/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* pool_labels: setting a label, moving the counters of an arena, and the check. */
#include "pool_labels.h"

#include "../index/region_index.h"

#include "place.h"

/* The counters of the part, or NULL: no allocation of the part gets a label now. */
static struct tn_label_stats *stats_of(struct tarn_pool *pool, struct tn_part *part)
{
    struct tn_label_stats *stats = tn_label_stats_get(&part->labels);
    if (TN_LIKELY(stats != NULL)) return stats;
    if (!tn_region_index_has_labels(&part->index) || pool->debug) return NULL;
    /* Gathering must not need host memory. */
    if (!tn_label_stats_ensure(&pool->own.labels)) return NULL;
    return tn_label_stats_ensure(&part->labels);
}

TN_NOINLINE void tn_pool_label_slowly(struct tarn_pool *pool, struct tn_part *part,
                                      uintptr_t address)
{
    TN_ASSERT(tn_pool_is_part_locked(pool, part));
    struct tn_place place;
    uint32_t label = tn_label_current();
    if (label == TN_LABEL_NONE) return;
    struct tn_label_stats *stats = stats_of(pool, part);
    if (!stats || !tn_place_locate(pool, address, &place) ||
        !tn_place_find_start(pool, part, &place))
        return;
    tn_label_stats_count_alloc(stats, label, tn_place_size_bytes(pool, &place));
    if (place.slab == TN_SLAB_NONE)
        tn_region_set_label(&part->index.regions[place.region], label);
    else
        tn_slices_set_label(&part->slices, place.slab, place.slice, label);
}

void tn_pool_adopt_labels(struct tarn_pool *pool, struct tn_part *part)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    struct tn_label_stats *stats = tn_label_stats_get(&part->labels);
    if (stats) tn_label_stats_move(tn_label_stats_get(&pool->own.labels), stats);
}

/* --- check --------------------------------------------------------------------------------------- */

static void sum_up_slab(const struct tarn_pool *pool, uint32_t slab, struct tn_label_sums *sums)
{
    const struct tn_slices *slices = &pool->own.slices;
    unsigned count = 1U << tn_slices_per_slab_log2(slices, tn_slab_class(slab));
    for (unsigned slice = 0; slice < count; slice++) {
        if (tn_slices_is_live(slices, slab, slice))
            tn_label_sums_add(sums, tn_slices_label_of(slices, slab, slice),
                              tn_slices_size_of(slices, slab, slice));
    }
}

const char *tn_pool_check_labels(const struct tarn_pool *pool)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    TN_ASSERT(!tn_arenas_are_active(&pool->arenas));
    const struct tn_region_index *index = &pool->own.index;
    struct tn_label_sums sums = { { 0 }, { 0 } };
    for (uint32_t region = 0; region < index->fresh; region++) {
        const struct tn_region *r = &index->regions[region];
        if (r->state != TN_REGION_STATE_LIVE) continue;
        if (tn_region_is_slab(r)) {
            sum_up_slab(pool, tn_region_slab(r), &sums);
            continue;
        }
        size_t chunk_bytes = (size_t)r->chunk_count << pool->chunk_log2;
        tn_label_sums_add(&sums, tn_region_label(r, index->slack_mask),
                          chunk_bytes - tn_region_slack_bytes(r, index->slack_mask));
    }
    return tn_label_stats_check(tn_label_stats_get(&pool->own.labels), &sums);
}
