/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* pool_slices: cutting a chunk, slices of slabs, freeing and keeping slabs, moving the slabs of an arena. */
#include "pool_slices.h"

#include "pool_streams.h"

void tn_pool_init_slices(struct tarn_pool *pool, const tarn_pool_options *options)
{
    /* In debug mode zones surround each block. A pool that passes through has no chunk to share. */
    if (options->slices && options->debug == 0 && !options->passes_through) {
        tn_slices_init(&pool->own.slices, pool->chunk_log2, pool->alignment_bytes);
    } else {
        tn_slices_init_without(&pool->own.slices);
    }
}

/* --- alloc ----------------------------------------------------------------------------------- */

void *tn_pool_hand_out_slice(struct tarn_pool *pool, struct tn_part *part, uint32_t slab,
                             size_t size_bytes)
{
    size_t used_bytes = tn_slices_is_empty(&part->slices, slab) ? (size_t)1 << pool->chunk_log2 : 0;
    unsigned slice = tn_slices_take(&part->slices, slab, size_bytes);
    uintptr_t address = tn_slices_address_of(&part->slices, slab, slice);
    tn_stats_count_alloc(&part->stats, size_bytes, used_bytes);
    tn_pool_allow(pool, (void *)address, size_bytes);
    tn_pool_label(pool, part, address);
    return (void *)address;
}

/* The slab of the stream that has waited longest, if the stream has waited since for all of its pending
 * slices. */
static uint32_t find_covered(const struct tarn_pool *pool, struct tn_slices *slices,
                             unsigned slice_class, uint32_t stream)
{
    if (!pool->streams) return TN_SLAB_NONE;
    uint32_t slab = tn_slices_find_waiting(slices, slice_class, stream);
    if (slab == TN_SLAB_NONE) return slab;
    struct tn_dependency foreign = tn_slices_slab(slices, slab)->foreign;
    if (tn_stream_table_uncovered(pool->streams, stream, foreign) != 0) return TN_SLAB_NONE;
    tn_slices_accept(slices, slab);
    return slab;
}

void *tn_pool_take_covered_slice(struct tarn_pool *pool, struct tn_part *part, unsigned slice_class,
                                 size_t size_bytes, uint32_t stream)
{
    uint32_t slab = tn_slices_find_ready(&part->slices, slice_class, stream);
    if (slab == TN_SLAB_NONE) slab = find_covered(pool, &part->slices, slice_class, stream);
    return slab == TN_SLAB_NONE ? NULL : tn_pool_hand_out_slice(pool, part, slab, size_bytes);
}

uint32_t tn_pool_cut_slab(struct tarn_pool *pool, struct tn_part *part, unsigned slice_class,
                          uint32_t region, uint32_t lead)
{
    TN_ASSERT(tn_pool_is_part_locked(pool, part));
    struct tn_region_index *index = &part->index;
    struct tn_dependency dependency = tn_region_dependency(&index->regions[region]);
    uint32_t live = tn_region_index_carve(index, region, lead, 1, 0);
    struct tn_region *r = &index->regions[live];
    const struct tn_static_pool *owner =
        tn_static_pool_list_find_chunk(&pool->list, r->first_chunk);
    uint32_t slab = tn_slices_add(&part->slices, slice_class,
                                  tn_static_pool_address_of(owner, r->first_chunk), dependency);
    tn_region_mark_slab(r, slab);
    return slab;
}

/* --- free ------------------------------------------------------------------------------------ */

static uint32_t find_region(const struct tarn_pool *pool, struct tn_part *part, uint32_t slab)
{
    uintptr_t address = tn_slices_slab(&part->slices, slab)->address;
    const struct tn_static_pool *owner = tn_static_pool_list_find_address(&pool->list, address);
    return tn_region_index_find_start(&part->index, tn_static_pool_chunk_of(owner, address));
}

/* Frees the chunk of an empty slab. */
static void dissolve(struct tarn_pool *pool, struct tn_part *part, uint32_t slab)
{
    TN_ASSERT(tn_pool_is_part_locked(pool, part));
    struct tn_freed freed;
    struct tn_dependency dependency = tn_slices_dependency(&part->slices, slab);
    uint32_t region = find_region(pool, part, slab);
    tn_region_unmark_slab(&part->index.regions[region]);
    bool is_freed = tn_region_index_free(&part->index, part->index.regions[region].first_chunk,
                                         dependency, &freed);
    TN_ASSERT(is_freed);
    (void)is_freed;
    tn_slices_remove(&part->slices, slab);
}

void tn_pool_use_kept_slab(const struct tarn_pool *pool, struct tn_part *part, uint32_t slab)
{
    tn_slices_use_kept(&part->slices, slab);
    tn_stats_add_to_mark(&part->stats.used_bytes, &part->stats.used_bytes_max,
                         (size_t)1 << pool->chunk_log2);
}

bool tn_pool_end_slab(struct tarn_pool *pool, struct tn_part *part, uint32_t slab)
{
    part->stats.used_bytes -= (size_t)1 << pool->chunk_log2;
    if (!pool->releases_after_free && tn_slices_keep(&part->slices, slab)) return false;
    dissolve(pool, part, slab);
    return true;
}

void tn_pool_free_kept(struct tarn_pool *pool, struct tn_part *part)
{
    while (part->slices.kept_count > 0)
        dissolve(pool, part, tn_slices_find_kept(&part->slices));
}

void tn_pool_adopt_slabs(struct tarn_pool *pool, struct tn_part *part)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    TN_ASSERT(part->slices.kept_count == 0);
    for (unsigned i = 0; i < part->slices.class_count && part->slices.slab_count > 0; i++) {
        uint32_t slab = TN_SLAB_NONE;
        while ((slab = tn_slices_find_used(&part->slices, i, slab)) != TN_SLAB_NONE) {
            struct tn_region *region = &part->index.regions[find_region(pool, part, slab)];
            tn_region_unmark_slab(region);
            tn_region_mark_slab(region, tn_slices_adopt(&pool->own.slices, &part->slices, slab));
        }
    }
    tn_slices_forget_all(&part->slices);
}

void tn_pool_put_slice_back(struct tarn_pool *pool, uint32_t slab, void *address, uint32_t stream)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    unsigned slice = tn_slices_slice_at(&pool->own.slices, slab, (uintptr_t)address);
    uint32_t note = tn_slices_free(&pool->own.slices, slab, slice, TN_DEPENDENCY_NONE);
    size_t size_bytes = tn_slice_note_size(note);
    bool is_empty = tn_slices_is_empty(&pool->own.slices, slab);
    tn_pool_forbid(pool, address, tn_slices_slice_bytes(&pool->own.slices, slab));
    tn_stats_take_alloc_back(&pool->own.stats, size_bytes,
                             is_empty ? (size_t)1 << pool->chunk_log2 : 0);
    tn_part_take_label_back(&pool->own, tn_slice_note_label(note), size_bytes);
    if (is_empty) {
        dissolve(pool, &pool->own, slab);
    } else {
        tn_slices_give(&pool->own.slices, slab, stream, false);
    }
}

/* --- queries --------------------------------------------------------------------------------- */

size_t tn_pool_requested_of_slab(const struct tarn_pool *pool, uint32_t slab)
{
    size_t bytes = 0;
    unsigned count = 1U << tn_slices_per_slab_log2(&pool->own.slices, tn_slab_class(slab));
    for (unsigned slice = 0; slice < count; slice++) {
        if (tn_slices_is_live(&pool->own.slices, slab, slice))
            bytes += tn_slices_size_of(&pool->own.slices, slab, slice);
    }
    return bytes;
}

const char *tn_pool_check_slices(const struct tarn_pool *pool)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    uint32_t slab_count = 0;
    const char *fault = tn_slices_check(&pool->own.slices);
    if (fault) return fault;
    for (uint32_t region = 0; region < pool->own.index.fresh; region++) {
        const struct tn_region *r = &pool->own.index.regions[region];
        if (r->state != TN_REGION_STATE_LIVE || !tn_region_is_slab(r)) continue;
        uint32_t slab = tn_region_slab(r);
        unsigned slice_class = tn_slab_class(slab);
        if (slice_class >= pool->own.slices.class_count ||
            (slab & TN_SLAB_COUNT_MAX) >= pool->own.slices.classes[slice_class].fresh)
            return "a region names a slab that does not exist";
        const struct tn_slab *s = tn_slices_slab(&pool->own.slices, slab);
        if (s->state == TN_SLAB_STATE_UNUSED || r->chunk_count != 1 ||
            s->address !=
                tn_static_pool_address_of(
                    tn_static_pool_list_find_chunk(&pool->list, r->first_chunk), r->first_chunk))
            return "a slab is not where its region is";
        slab_count++;
    }
    return slab_count == pool->own.slices.slab_count ? NULL : "a slab has no region";
}
