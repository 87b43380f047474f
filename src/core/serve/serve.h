/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * serve: allocation and free in a part of a pool: the pool's own, or an arena. Every allocation and every free of
 * chunks and slices comes here.
 *
 *     alloc    stream ── slice of its slab
 *                   └─── best fit of what the stream may have ── carve ── count ── address
 *     free     static pool ── chunk ── live map ── slice, or coalesce ── count
 *
 * Both are inlined into the calls that programs make most. They fail fast: a stream that is not known, nothing that
 * fits, or no room in the metadata leave everything as it was, and ladder.h goes on from there. What they hand to a
 * function that is not inlined is a copy, so that the original can stay in registers.
 *
 * Requires: the lock of the part. Cost: O(log n) in free regions of one size.
 */
#ifndef TN_SERVE_H
#define TN_SERVE_H

#include "../../base/arith.h"
#include "../index/region_index_parts.h"

#include "place.h"
#include "pool_slices.h"
#include "pool_streams.h"
#include "request.h"

/* --- find ---------------------------------------------------------------------------------------- */

/* Where a request can have its chunks. */
struct tn_fit {
    uint32_t region; /* a free one, or TN_REGION_NONE */
    uint32_t lead;   /* chunks of it to leave free before the request, so that it is aligned */
};

#define TN_FIT_NONE ((struct tn_fit){ TN_REGION_NONE, 0 })

/* Whether a request may have a free region. NULL in place of one: it may have any. */
typedef bool (*tn_region_filter)(const struct tarn_pool *pool, const void *context,
                                 uint32_t region);

/* The first of the regions that the policy offers from this one on in which the request fits. */
struct tn_fit tn_find_fit_from(const struct tarn_pool *pool, const struct tn_region_index *index,
                               const struct tn_request *request, uint32_t region,
                               tn_region_filter may_have, const void *context);

/* The best fit of one free set, by the pool's policy. */
TN_HOT struct tn_fit tn_find_fit_in_set(const struct tarn_pool *pool,
                                        const struct tn_region_index *index,
                                        const struct tn_request *request, unsigned set,
                                        tn_region_filter may_have, const void *context)
{
    uint32_t region = tn_free_set_find(&index->by_size[set], index->regions, request->chunk_count);
    bool is_any_right = !may_have && TN_LIKELY(tn_request_fits_any_chunk(pool, request));
    if (is_any_right || region == TN_REGION_NONE) return (struct tn_fit){ region, 0 };
    const struct tn_request copy = *request;
    return tn_find_fit_from(pool, index, &copy, region, may_have, context);
}

TN_HOT struct tn_fit tn_better_fit(const struct tn_region_index *index, struct tn_fit a,
                                   struct tn_fit b)
{
    if (b.region == TN_REGION_NONE) return a;
    if (a.region == TN_REGION_NONE) return b;
    return tn_region_index_is_better(index, a.region, b.region) ? a : b;
}

/* The best fit of the regions that a stream may have as they are: those that wait for nothing, and those that were
 * freed on that stream. */
TN_HOT struct tn_fit tn_find_own_fit(const struct tarn_pool *pool,
                                     const struct tn_region_index *index,
                                     const struct tn_request *request, uint32_t stream)
{
    struct tn_fit idle = tn_find_fit_in_set(pool, index, request, TN_FREE_SET_IDLE, NULL, NULL);
    if (TN_LIKELY(stream == TN_STREAM_NONE)) return idle;
    struct tn_fit own =
        tn_find_fit_in_set(pool, index, request, tn_free_set_of_stream(stream), NULL, NULL);
    return tn_better_fit(index, idle, own);
}

/* --- alloc --------------------------------------------------------------------------------------- */

/* Makes the chunks live and hands them out. Requires room for a carve. */
TN_HOT void *tn_serve_fit_inline(struct tarn_pool *pool, struct tn_part *part,
                                 const struct tn_request *request, uint32_t stream,
                                 struct tn_fit fit)
{
    size_t used_bytes = tn_request_used_bytes(pool, request);
    uint32_t region =
        tn_region_index_carve_inline(&part->index, fit.region, fit.lead, request->chunk_count,
                                     (uint32_t)(used_bytes - request->size_bytes));
    struct tn_region *r = &part->index.regions[region];
    if (TN_UNLIKELY(tn_pool_is_captured(pool, stream))) tn_region_set_owner(r, stream + 1);
    const struct tn_static_pool *owner =
        tn_static_pool_list_find_chunk(&pool->list, r->first_chunk);
    /* Here a device address becomes a pointer. */
    void *address = (void *)tn_static_pool_address_of(owner, r->first_chunk);
    tn_stats_count_alloc(&part->stats, request->size_bytes, used_bytes);
    tn_pool_allow(pool, address, request->size_bytes);
    return address;
}

/* The same, and the first slice of a chunk that is cut for it, whose slab is withheld until tn_slices_give. Also
 * requires room for the slab. For callers off the common way. */
void *tn_serve_fit(struct tarn_pool *pool, struct tn_part *part, const struct tn_request *request,
                   uint32_t stream, struct tn_fit fit);
void *tn_serve_cut_fit(struct tarn_pool *pool, struct tn_part *part,
                       const struct tn_request *request, struct tn_fit fit, uint32_t *slab_out);

/* Chunks, as the next two. NULL: nothing fits, or there is no room. */
TN_HOT void *tn_serve_chunks(struct tarn_pool *pool, struct tn_part *part,
                             const struct tn_request *request, uint32_t stream)
{
    struct tn_fit fit = tn_find_own_fit(pool, &part->index, request, stream);
    if (TN_UNLIKELY(fit.region == TN_REGION_NONE || !tn_region_index_has_room(&part->index)))
        return NULL;
    return tn_serve_fit_inline(pool, part, request, stream, fit);
}

/* A slice of a chunk that is cut for it; or a chunk, where no number is left for a slab. */
void *tn_serve_by_cutting(struct tarn_pool *pool, struct tn_part *part,
                          const struct tn_request *request, uint32_t stream);

/* The memory of a captured stream is its own, in whole chunks. */
TN_HOT void *tn_serve_stream(struct tarn_pool *pool, struct tn_part *part,
                             const struct tn_request *request, uint32_t stream)
{
    if (request->slice_class == TN_SLICE_CLASS_NONE || tn_pool_is_captured(pool, stream))
        return tn_serve_chunks(pool, part, request, stream);
    void *address =
        tn_pool_take_slice(pool, part, request->slice_class, request->size_bytes, stream);
    if (TN_LIKELY(address != NULL)) return address;
    const struct tn_request copy = *request;
    return tn_serve_by_cutting(pool, part, &copy, stream);
}

/* The memory that the request asks for, or NULL: its stream is not known, nothing fits, or there is no room. */
TN_HOT void *tn_serve(struct tarn_pool *pool, struct tn_part *part,
                      const struct tn_request *request)
{
    uint32_t stream;
    if (TN_UNLIKELY(!tn_request_find_stream(pool, part, request, &stream))) return NULL;
    return tn_serve_stream(pool, part, request, stream);
}

/* Why a request was not served, or that it was. */
enum tn_served {
    TN_SERVED,
    TN_SERVED_NOTHING_FITS,
    TN_SERVED_NO_HOST_MEMORY,
    TN_SERVED_UNKNOWN_STREAM
};

/* tn_serve in the pool's own part, after making room in the metadata if there is none. */
enum tn_served tn_serve_with_room(struct tarn_pool *pool, const struct tn_request *request,
                                  void **address_out);

/* Makes room for a fit: for a carve, and for a slab if the request is to have a slice. False: no host memory. */
bool tn_serve_make_room(struct tarn_pool *pool, const struct tn_request *request);

/* Whether a chunk may be cut for the request. Else it has the chunk to itself. */
static inline bool tn_serve_can_cut(const struct tarn_pool *pool, const struct tn_request *request)
{
    return request->slice_class != TN_SLICE_CLASS_NONE &&
           tn_slices_can_add(&pool->own.slices, request->slice_class);
}

/* --- free ---------------------------------------------------------------------------------------- */

enum tn_free_result {
    TN_FREE_RESULT_FREED,
    TN_FREE_RESULT_RELEASE_IS_DUE, /* it is freed, and the caller must call tn_pool_release_after_free */
    TN_FREE_RESULT_NOT_LIVE,       /* no live allocation of the part starts at the address */
    TN_FREE_RESULT_WRONG_SIZE,    /* one of another size does */
    TN_FREE_RESULT_UNKNOWN_STREAM /* one of the streams must be introduced */
};

/* Whether the pool is to give memory back, now that something in the static pool is free. Cost: O(regions of the static
 * pool) at worst, mostly a step or two. */
TN_COLD enum tn_free_result tn_serve_note_free(struct tarn_pool *pool,
                                               const struct tn_static_pool *freed_in);

/* The same of a slice of the slab that lies there. */
TN_HOT enum tn_free_result tn_serve_free_slice(struct tarn_pool *pool, struct tn_part *part,
                                               const struct tn_place *place, uint32_t slab,
                                               const size_t *told_bytes,
                                               struct tn_dependency dependency)
{
    unsigned slice = tn_slices_slice_at(&part->slices, slab, place->address);
    bool is_start = tn_slices_address_of(&part->slices, slab, slice) == place->address;
    if (TN_UNLIKELY(!is_start || !tn_slices_is_live(&part->slices, slab, slice)))
        return TN_FREE_RESULT_NOT_LIVE;
    if (told_bytes && *told_bytes != tn_slices_size_of(&part->slices, slab, slice))
        return TN_FREE_RESULT_WRONG_SIZE;
    bool has_freed_chunk = tn_pool_free_slice(pool, part, slab, slice, dependency);
    if (!has_freed_chunk || !pool->releases_after_free) return TN_FREE_RESULT_FREED;
    return tn_serve_note_free(pool, place->owner);
}

/* Frees the allocation that starts at a located place, if the size that the free tells is right, where it tells one.
 * Reuse waits for the dependency. Nothing has changed unless it is freed. */
TN_HOT enum tn_free_result tn_serve_free(struct tarn_pool *pool, struct tn_part *part,
                                         const struct tn_place *place, const size_t *told_bytes,
                                         struct tn_dependency dependency)
{
    struct tn_region_index *index = &part->index;
    uint32_t *link = tn_live_map_find_place(&index->live, index->regions, place->chunk);
    if (TN_UNLIKELY(!link)) return TN_FREE_RESULT_NOT_LIVE;
    const struct tn_region *region = &index->regions[*link];
    if (tn_region_is_slab(region))
        return tn_serve_free_slice(pool, part, place, tn_region_slab(region), told_bytes,
                                   dependency);
    if (TN_UNLIKELY(!tn_place_is_at_chunk(place))) return TN_FREE_RESULT_NOT_LIVE;

    size_t used_bytes = (size_t)region->chunk_count << pool->chunk_log2;
    size_t requested_bytes = used_bytes - tn_region_slack_bytes(region);
    if (told_bytes && *told_bytes != requested_bytes) return TN_FREE_RESULT_WRONG_SIZE;
    tn_pool_forbid(pool, (void *)place->address,
                   tn_min(used_bytes, place->owner->end_address - place->address));
    tn_stats_count_free(&part->stats, requested_bytes, used_bytes);
    tn_region_index_free_at(index, link, dependency);
    if (TN_LIKELY(!pool->releases_after_free)) return TN_FREE_RESULT_FREED;
    return tn_serve_note_free(pool, place->owner);
}

/* Frees the allocation that starts at an address and is in no arena. What an arena has borrowed is a live region of the
 * pool's index, and no allocation. Requires the pool's lock. */
TN_HOT enum tn_free_result tn_serve_free_of_pool(struct tarn_pool *pool, uintptr_t address,
                                                 const size_t *told_bytes,
                                                 const tarn_stream *streams, size_t stream_count,
                                                 bool are_introduced)
{
    struct tn_part *part = &pool->own;
    struct tn_place place;
    struct tn_dependency dependency;
    if (TN_UNLIKELY(!tn_place_locate(pool, address, &place))) return TN_FREE_RESULT_NOT_LIVE;
    if (TN_UNLIKELY(pool->arenas.loan_count > 0) &&
        tn_arenas_find_loan(&pool->arenas, place.chunk) != NULL)
        return TN_FREE_RESULT_NOT_LIVE;
    if (TN_UNLIKELY(!tn_pool_find_dependency(pool, part, streams, stream_count, are_introduced,
                                             &dependency)))
        return TN_FREE_RESULT_UNKNOWN_STREAM;
    return tn_serve_free(pool, part, &place, told_bytes, dependency);
}

#endif
