/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* serve: what the inlined functions call seldom: a search for alignment, cutting a chunk into slices, room in the
 * metadata, releases after a free. */
#include "serve.h"

/* --- find ---------------------------------------------------------------------------------------- */

/* The request's place in a region: the first that has its alignment. NONE: the region is too small for it. */
static struct tn_fit fit_in_region(const struct tarn_pool *pool,
                                   const struct tn_region_index *index,
                                   const struct tn_request *request, uint32_t region)
{
    const struct tn_region *r = &index->regions[region];
    const struct tn_static_pool *owner =
        tn_static_pool_list_find_chunk(&pool->list, r->first_chunk);
    uint64_t lead = tn_static_pool_lead_of(owner, r->first_chunk, request->alignment_bytes);
    if (lead + request->chunk_count > r->chunk_count) return TN_FIT_NONE;
    return (struct tn_fit){ region, (uint32_t)lead };
}

struct tn_fit tn_find_fit_from(const struct tarn_pool *pool, const struct tn_region_index *index,
                               const struct tn_request *request, uint32_t region,
                               tn_region_filter may_have, const void *context)
{
    for (; region != TN_REGION_NONE;
         region = tn_region_index_find_next_fit(index, region, request->chunk_count)) {
        struct tn_fit fit = fit_in_region(pool, index, request, region);
        if (fit.region == TN_REGION_NONE) continue;
        if (!may_have || may_have(pool, context, region)) return fit;
    }
    return TN_FIT_NONE;
}

TN_COLD struct tn_fit tn_find_small_fit(const struct tarn_pool *pool, struct tn_region_index *index,
                                        const struct tn_request *request)
{
    struct tn_fit fit = TN_FIT_NONE;
    for (uint32_t i = 0; i < pool->list.count && fit.region == TN_REGION_NONE; i++) {
        const struct tn_static_pool *static_pool = pool->list.by_chunk[i].static_pool;
        if (static_pool->first_chunk < index->newer_from) continue;
        tn_region_index_make_older(index, static_pool->head);
        fit = tn_find_fit_in_set(pool, index, request, TN_FREE_SET_IDLE, NULL, NULL);
    }
    return fit;
}

/* --- alloc --------------------------------------------------------------------------------------- */

void *tn_serve_fit(struct tarn_pool *pool, struct tn_part *part, const struct tn_request *request,
                   uint32_t stream, struct tn_fit fit)
{
    return tn_serve_fit_inline(pool, part, request, stream, fit);
}

void *tn_serve_cut_fit(struct tarn_pool *pool, struct tn_part *part,
                       const struct tn_request *request, struct tn_fit fit, uint32_t *slab_out)
{
    *slab_out = tn_pool_cut_slab(pool, part, request->slice_class, fit.region, fit.lead);
    return tn_pool_hand_out_slice(pool, part, *slab_out, request->size_bytes);
}

void *tn_serve_by_cutting(struct tarn_pool *pool, struct tn_part *part,
                          const struct tn_request *request, uint32_t stream)
{
    if (!tn_slices_can_add(&part->slices, request->slice_class))
        return tn_serve_chunks(pool, part, request, stream);
    struct tn_fit fit = tn_find_own_fit(pool, &part->index, request, stream);
    if (fit.region == TN_REGION_NONE || !tn_region_index_has_room(&part->index) ||
        !tn_slices_has_room(&part->slices, request->slice_class))
        return NULL;
    uint32_t slab;
    void *address = tn_serve_cut_fit(pool, part, request, fit, &slab);
    tn_slices_give(&part->slices, slab, stream, true);
    return address;
}

bool tn_serve_make_room(struct tarn_pool *pool, const struct tn_request *request, uint32_t stream)
{
    return tn_region_index_reserve(&pool->own.index) &&
           (!tn_serve_can_cut(pool, request, stream) ||
            tn_slices_reserve(&pool->own.slices, request->slice_class));
}

enum tn_served tn_serve_making_room(struct tarn_pool *pool, const struct tn_request *request,
                                    void **address_out)
{
    uint32_t stream;
    struct tn_part *part = &pool->own;
    TN_ASSERT(tn_pool_is_locked(pool));
    if (!tn_request_find_stream(pool, part, request, &stream)) return TN_SERVED_UNKNOWN_STREAM;
    void *address = tn_serve_stream(pool, part, request, stream);
    if (!address) {
        struct tn_fit fit = tn_find_own_fit(pool, &part->index, request, stream);
        if (fit.region == TN_REGION_NONE) return TN_SERVED_NOTHING_FITS;
        if (!tn_serve_make_room(pool, request, stream)) return TN_SERVED_NO_HOST_MEMORY;
        address = tn_serve_stream(pool, part, request, stream);
    }
    TN_ASSERT(address);
    *address_out = address;
    return TN_SERVED;
}

/* --- free ---------------------------------------------------------------------------------------- */

TN_NOINLINE enum tn_free_result tn_serve_free_marked(struct tarn_pool *pool, struct tn_part *part,
                                                     uintptr_t address, const size_t *told_bytes,
                                                     const struct tn_dependency *dependency)
{
    struct tn_place place;
    struct tn_region_index *index = &part->index;
    if (!tn_place_locate(pool, address, &place)) return TN_FREE_RESULT_NOT_LIVE;
    uint32_t *link = tn_live_map_find_place(&index->live, index->regions, place.chunk);
    return tn_serve_free_region(pool, part, &place, link, told_bytes, *dependency, false);
}

/* A step that only several free regions cover together is not found here. It goes back with the next one that
 * is. */
static bool has_steps_above_threshold(const struct tarn_pool *pool)
{
    const struct tn_step_range *range = pool->range;
    size_t idle_bytes = pool->pieces.joined_bytes - pool->own.stats.used_bytes;
    if (idle_bytes <= tn_max(pool->release_threshold_bytes, range->unit_bytes)) return false;
    return tn_step_range_has_free(range, &pool->own.index, tn_pool_held_streams(pool),
                                  pool->pieces.held_count > 0, pool->release_threshold_bytes);
}

static bool may_release(const struct tarn_pool *pool, const struct tn_static_pool *freed_in)
{
    if (pool->passes_through) return freed_in->piece.hold_count == 0;
    if (pool->returns_when_empty && pool->own.stats.live_count == 0) return true;
    if (pool->release_threshold_bytes == 0) return false;
    if (pool->range) return has_steps_above_threshold(pool);
    return freed_in->piece.hold_count == 0 &&
           tn_region_index_span_is_free(&pool->own.index, freed_in->head,
                                        tn_pool_held_streams(pool));
}

TN_COLD enum tn_free_result tn_serve_note_free(struct tarn_pool *pool,
                                               const struct tn_static_pool *freed_in)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    if (!may_release(pool, freed_in)) return TN_FREE_RESULT_FREED;
    pool->is_release_due = true;
    return TN_FREE_RESULT_RELEASE_IS_DUE;
}
