/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * serve: allocation and free in a part of a pool: the pool's own part, or an arena. Every allocation and every
 * free of chunks and slices is made here.
 *
 *     alloc    number of the stream ──┬── slice of a slab of the stream ─────────────────┬── count ── address
 *                                     └── best fit of regions it may have ── carve ──────┘
 *     free     static pool ── chunk ── live map ── slice, or coalesce ── count
 *
 * Allocations of a thread that has a label are labelled where they are counted.
 *
 * Both are inlined into the calls that programs make most. They fail early and change nothing if the stream is
 * unknown, if nothing fits or if the metadata has no room: ladder.h and route.h go on from there. Functions
 * that are not inlined get a copy of the request, so that the compiler can keep the original in registers.
 *
 * Requires: the lock of the part.
 * Cost: O(log n) in free regions of one size. For an alignment above a chunk, O(n) in free regions that are large
 * enough.
 */
#ifndef TN_SERVE_H
#define TN_SERVE_H

#include "../../base/arith.h"
#include "../index/region_index_parts.h"

#include "place.h"
#include "pool_labels.h"
#include "pool_slices.h"
#include "pool_streams.h"
#include "request.h"

/* --- find ---------------------------------------------------------------------------------------- */

/* Chunks that a request can have. */
struct tn_fit {
    uint32_t region; /* free, or TN_REGION_NONE */
    uint32_t lead;   /* chunks of the region that stay free before the request, for its alignment */
};

#define TN_FIT_NONE ((struct tn_fit){ TN_REGION_NONE, 0 })

/* Whether a request may have a free region. A NULL filter accepts every region. */
typedef bool (*tn_region_filter)(const struct tarn_pool *pool, const void *context,
                                 uint32_t region);

/* The first region in the order of the placement policy, from `region` on, that can serve the request. */
struct tn_fit tn_find_fit_from(const struct tarn_pool *pool, const struct tn_region_index *index,
                               const struct tn_request *request, uint32_t region,
                               tn_region_filter may_have, const void *context);

/* The first region of a free set in that order that can serve the request. */
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

/* For a small request that finds nothing in the older static pools: makes the next newer ones older, until it does. */
TN_COLD struct tn_fit tn_find_small_fit(const struct tarn_pool *pool, struct tn_region_index *index,
                                        const struct tn_request *request);

TN_HOT bool tn_is_in_newer(const struct tn_region_index *index, struct tn_fit fit)
{
    return fit.region != TN_REGION_NONE &&
           index->regions[fit.region].first_chunk >= index->newer_from;
}

/* The better of two: among regions that wait for nothing, and among those that were freed on the stream itself. A small
 * request has one in the newer static pools only if there is none in the older ones. */
TN_HOT struct tn_fit tn_find_own_fit(const struct tarn_pool *pool, struct tn_region_index *index,
                                     const struct tn_request *request, uint32_t stream)
{
    struct tn_fit fit = tn_find_fit_in_set(pool, index, request, TN_FREE_SET_IDLE, NULL, NULL);
    bool is_small = request->chunk_count <= index->small_chunk_count_max;
    if (!is_small)
        fit = tn_better_fit(
            index, fit,
            tn_find_fit_in_set(pool, index, request, TN_FREE_SET_IDLE_NEWER, NULL, NULL));
    if (TN_UNLIKELY(stream != TN_STREAM_NONE)) {
        struct tn_fit own =
            tn_find_fit_in_set(pool, index, request, tn_free_set_of_stream(stream), NULL, NULL);
        if (!is_small || fit.region == TN_REGION_NONE || !tn_is_in_newer(index, own))
            fit = tn_better_fit(index, fit, own);
    }
    if (TN_LIKELY(fit.region != TN_REGION_NONE || !is_small)) return fit;
    const struct tn_request copy = *request;
    return tn_find_small_fit(pool, index, &copy);
}

/* --- alloc --------------------------------------------------------------------------------------- */

/* Makes the chunks of a fit live and returns their address. Requires room for a carve. */
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
    void *address = (void *)tn_place_of_chunk(pool, r->first_chunk).address;
    tn_stats_count_alloc(&part->stats, request->size_bytes, used_bytes);
    tn_pool_allow(pool, address, request->size_bytes);
    tn_pool_label(pool, part, (uintptr_t)address);
    return address;
}

/* tn_serve_fit_inline for callers off the hot path. */
void *tn_serve_fit(struct tarn_pool *pool, struct tn_part *part, const struct tn_request *request,
                   uint32_t stream, struct tn_fit fit);

/* Cuts the chunk of a fit into slices and returns the first. Requires room for a carve and for the slab. The
 * slab is withheld until tn_slices_give. */
void *tn_serve_cut_fit(struct tarn_pool *pool, struct tn_part *part,
                       const struct tn_request *request, struct tn_fit fit, uint32_t *slab_out);

/* Allocates chunks. NULL: nothing fits, or the metadata has no room. */
TN_HOT void *tn_serve_chunks(struct tarn_pool *pool, struct tn_part *part,
                             const struct tn_request *request, uint32_t stream)
{
    struct tn_fit fit = tn_find_own_fit(pool, &part->index, request, stream);
    if (TN_UNLIKELY(fit.region == TN_REGION_NONE || !tn_region_index_has_room(&part->index)))
        return NULL;
    return tn_serve_fit_inline(pool, part, request, stream, fit);
}

/* Cuts a chunk and allocates a slice of it. Allocates a whole chunk if no number is left for a slab. NULL:
 * nothing fits, or the metadata has no room. */
void *tn_serve_by_cutting(struct tarn_pool *pool, struct tn_part *part,
                          const struct tn_request *request, uint32_t stream);

/* Allocates for the stream of this number: a slice, or chunks. A captured stream gets chunks, because they
 * belong to its capture. NULL: nothing fits, or the metadata has no room. */
TN_HOT void *tn_serve_stream(struct tarn_pool *pool, struct tn_part *part,
                             const struct tn_request *request, uint32_t stream)
{
    TN_ASSERT(tn_pool_is_part_locked(pool, part));
    if (request->slice_class == TN_SLICE_CLASS_NONE || tn_pool_is_captured(pool, stream))
        return tn_serve_chunks(pool, part, request, stream);
    void *address =
        tn_pool_take_slice(pool, part, request->slice_class, request->size_bytes, stream);
    if (TN_LIKELY(address != NULL)) return address;
    const struct tn_request copy = *request;
    return tn_serve_by_cutting(pool, part, &copy, stream);
}

/* Allocates for a request. NULL: its stream is unknown, nothing fits, or the metadata has no room. */
TN_HOT void *tn_serve(struct tarn_pool *pool, struct tn_part *part,
                      const struct tn_request *request)
{
    uint32_t stream;
    if (TN_UNLIKELY(!tn_request_find_stream(pool, part, request, &stream))) return NULL;
    return tn_serve_stream(pool, part, request, stream);
}

/* Whether a request was served, and why not. */
enum tn_served {
    TN_SERVED,
    TN_SERVED_NOTHING_FITS,
    TN_SERVED_NO_HOST_MEMORY,
    TN_SERVED_UNKNOWN_STREAM
};

/* Allocates in the pool's own part, and makes room in the metadata if it lacks any. Requires the pool's lock. */
enum tn_served tn_serve_making_room(struct tarn_pool *pool, const struct tn_request *request,
                                    void **address_out);

/* Makes room in the pool's own part for a carve, and for a slab if the request can have a slice. False: no host
 * memory. */
bool tn_serve_make_room(struct tarn_pool *pool, const struct tn_request *request, uint32_t stream);

/* Whether a chunk of the pool's own part can be cut for the request: it is small, its stream is
 * not captured, and a number is left for the slab. */
static inline bool tn_serve_can_cut(const struct tarn_pool *pool, const struct tn_request *request,
                                    uint32_t stream)
{
    return request->slice_class != TN_SLICE_CLASS_NONE && !tn_pool_is_captured(pool, stream) &&
           tn_slices_can_add(&pool->own.slices, request->slice_class);
}

/* --- free ---------------------------------------------------------------------------------------- */

enum tn_free_result {
    TN_FREE_RESULT_FREED,
    TN_FREE_RESULT_RELEASE_IS_DUE, /* freed; the caller must call tn_pool_release_after_free */
    TN_FREE_RESULT_NOT_LIVE,       /* no live allocation of the part starts at the address */
    TN_FREE_RESULT_WRONG_SIZE,     /* the allocation at the address has another size */
    TN_FREE_RESULT_UNKNOWN_STREAM  /* the caller must introduce one of the streams */
};

/* Decides after a free in a static pool whether the pool must give memory back: FREED or RELEASE_IS_DUE.
 * Requires the pool's lock: a pool that gives memory back after frees has no arenas. Cost: O(regions of the static
 * pool) at worst, mostly a step or two. */
TN_COLD enum tn_free_result tn_serve_note_free(struct tarn_pool *pool,
                                               const struct tn_static_pool *freed_in);

/* tn_serve_free for a place in a slab. */
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

/* tn_serve_free for a live region that is no slab; `link` is its place in the live map. is_plain: it has neither an
 * owner nor a label. */
TN_HOT enum tn_free_result tn_serve_free_region(struct tarn_pool *pool, struct tn_part *part,
                                                const struct tn_place *place, uint32_t *link,
                                                const size_t *told_bytes,
                                                struct tn_dependency dependency, bool is_plain)
{
    struct tn_region_index *index = &part->index;
    const struct tn_region *region = &index->regions[*link];
    if (TN_UNLIKELY(!tn_place_is_at_chunk(place))) return TN_FREE_RESULT_NOT_LIVE;

    size_t used_bytes = (size_t)region->chunk_count << pool->chunk_log2;
    size_t slack_bytes =
        is_plain ? tn_region_payload(region) : tn_region_slack_bytes(region, index->slack_mask);
    size_t requested_bytes = used_bytes - slack_bytes;
    if (told_bytes && *told_bytes != requested_bytes) return TN_FREE_RESULT_WRONG_SIZE;
    tn_pool_forbid(pool, (void *)place->address,
                   tn_min(used_bytes, place->owner->end_address - place->address));
    tn_stats_count_free(&part->stats, requested_bytes, used_bytes);
    if (!is_plain) {
        tn_part_count_label_free(part, tn_region_label(region, index->slack_mask), requested_bytes);
        dependency = tn_pool_depend_as_owned(pool, region, dependency);
    }
    tn_region_index_free_at(index, link, dependency);
    if (TN_LIKELY(!pool->releases_after_free)) return TN_FREE_RESULT_FREED;
    return tn_serve_note_free(pool, place->owner);
}

/* tn_serve_free for a region that has an owner or a label. Finds it anew, so that the compiler can keep in registers what
 * other frees know by then. */
enum tn_free_result tn_serve_free_marked(struct tarn_pool *pool, struct tn_part *part,
                                         uintptr_t address, const size_t *told_bytes,
                                         const struct tn_dependency *dependency);

/* Frees the allocation that starts at a located place. told_bytes points to the size that the caller expects,
 * or is NULL. Reuse of the memory waits for the dependency. Changes nothing if the result is NOT_LIVE or
 * WRONG_SIZE. */
TN_HOT enum tn_free_result tn_serve_free(struct tarn_pool *pool, struct tn_part *part,
                                         const struct tn_place *place, const size_t *told_bytes,
                                         struct tn_dependency dependency)
{
    TN_ASSERT(tn_pool_is_part_locked(pool, part));
    struct tn_region_index *index = &part->index;
    uint32_t *link = tn_live_map_find_place(&index->live, index->regions, place->chunk);
    if (TN_UNLIKELY(!link)) return TN_FREE_RESULT_NOT_LIVE;
    const struct tn_region *region = &index->regions[*link];
    if (tn_region_is_plain(region))
        return tn_serve_free_region(pool, part, place, link, told_bytes, dependency, true);
    if (TN_LIKELY(tn_region_is_slab(region)))
        return tn_serve_free_slice(pool, part, place, tn_region_slab(region), told_bytes,
                                   dependency);
    const struct tn_dependency copy = dependency;
    return tn_serve_free_marked(pool, part, place->address, told_bytes, &copy);
}

/* Frees the allocation of the pool's own part that starts at an address. Requires the pool's lock. Chunks that
 * an arena has borrowed are live in the pool's index but are no allocation: NOT_LIVE. are_introduced: see
 * tn_pool_find_dependency. */
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
