/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * region_index: all regions of a pool, in the orders in which they are looked for.
 *
 *     free sets by size   free_sets: one search over all static pools, by the pool's policy; one set for what
 *                         waits for nothing, one for each stream on which regions were freed, one for
 *                         what waits for several
 *     free set by index   the records themselves: every region knows its neighbours in address
 *                         order, so a free one finds what it coalesces with in one step
 *     live by address     live_map: from the first chunk; and a bit for each group of chunks in
 *                         which a region starts, to find the region that a chunk lies inside
 *
 * A span is the range of chunks of one static pool. Its regions tile it and never join another's. One whose
 * memory comes and goes piece by piece has voids:
 *
 *                 take_void                  fill
 *     at rest ──────────────► taken void ──────────────► free
 *             ◄──────────────            ◄──────────────
 *                   rest                    take_free
 *
 * Cost: find, carve and free O(log n) in free regions; finding what a chunk lies inside takes at
 * most 128 looks into the live map.
 * Memory: 24 bytes a region, 8 a live one, what the free set by size takes, a bit for 64 chunks.
 * Room is reserved before anything is added, and enough for freeing all that is live then; so only
 * the reserve calls allocate, and free cannot fail.
 * Threads: none of it locks; the pool does.
 * Always true: regions tile their span; no two free regions that depend on the same streams touch, nor two
 * voids at rest; the free ones and only they are in the free set of their dependency, the live ones and only they in
 * the live map.
 */
#ifndef TN_REGION_INDEX_H
#define TN_REGION_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "region_index_struct.h"

/* No chunks. False: no host memory; nothing is left behind. */
bool tn_region_index_init(struct tn_region_index *index, tarn_fit fit);
void tn_region_index_fini(struct tn_region_index *index);

/* Makes room for one more span, of chunk_count chunks from first_chunk on, and for a carve of it.
 * False: no host memory. */
bool tn_region_index_reserve_span(struct tn_region_index *index, uint32_t first_chunk,
                                  uint32_t chunk_count);

/* Adds chunks that no span has, as one free region. Returns the span's head, by which the span is
 * known from now on. Room must be reserved. */
uint32_t tn_region_index_add_span(struct tn_region_index *index, uint32_t first_chunk,
                                  uint32_t chunk_count);

/* Whether nothing in the span is live, or waits for one of `held` streams, a bit each. Cost: O(regions
 * of the span) at worst. */
bool tn_region_index_span_is_free(const struct tn_region_index *index, uint32_t head,
                                  uint32_t held);

/* Forgets a span in which nothing is live. */
void tn_region_index_remove_span(struct tn_region_index *index, uint32_t head);

/* Whether room is reserved for one more carve, which turns one region into three at most. */
static inline bool tn_region_index_has_room(const struct tn_region_index *index)
{
    return index->region_count + 2 <= index->reserved_count;
}

/* Makes room for one more carve and for the frees of all regions live after it. False: no host
 * memory. */
bool tn_region_index_reserve(struct tn_region_index *index);

/* Makes room for free regions that wait for this stream alone, and for those that wait for several.
 * False: no host memory. */
bool tn_region_index_add_stream(struct tn_region_index *index, unsigned stream);

/* The set is there, so that it can be searched. */
static inline bool tn_region_index_has_set(const struct tn_region_index *index, unsigned set)
{
    return index->by_size[set].is_there;
}

/* Whether region a is the better fit by the policy: by default smaller, or of the same size and at a lower
 * index. Both were found in their sets for the same request. */
static inline bool tn_region_index_is_better(const struct tn_region_index *index, uint32_t a,
                                             uint32_t b)
{
    return tn_free_set_is_better(&index->by_size[TN_FREE_SET_IDLE], index->regions, a, b);
}

/* The free region of chunk_count chunks or more in these sets, a bit each, which must be there, that is the
 * best one by the policy: by default the smallest, among equals the one at the lowest index; or
 * TN_REGION_NONE. */
static inline uint32_t tn_region_index_find_best_fit(const struct tn_region_index *index,
                                                     uint32_t sets, uint32_t chunk_count)
{
    uint32_t best = TN_REGION_NONE;
    for (; sets != 0; sets &= sets - 1) {
        uint32_t found =
            tn_free_set_find(&index->by_size[tn_lowest_bit(sets)], index->regions, chunk_count);
        if (found == TN_REGION_NONE) continue;
        if (best == TN_REGION_NONE || tn_region_index_is_better(index, found, best)) best = found;
    }
    return best;
}

/* The one of chunk_count chunks or more that is next best after `region` in its set, or TN_REGION_NONE. */
uint32_t tn_region_index_find_next_fit(const struct tn_region_index *index, uint32_t region,
                                       uint32_t chunk_count);

/* Makes chunk_count chunks of a free region live, those after the first `lead`; what lies before and
 * behind stays free. Returns the live region. Room must be reserved. */
uint32_t tn_region_index_carve(struct tn_region_index *index, uint32_t region, uint32_t lead,
                               uint32_t chunk_count, uint32_t slack_bytes);

/* Frees the live region that starts at first_chunk and coalesces it with those free neighbours that
 * depend on the same streams, whose sets must be there. What somebody owns waits for its owner,
 * whatever the dependency. False, and nothing has changed: none starts there, or it is a slab. */
bool tn_region_index_free(struct tn_region_index *index, uint32_t first_chunk,
                          struct tn_dependency dependency, struct tn_freed *freed_out);

/* Gives a free region another dependency, and coalesces it as a free does. */
void tn_region_index_change_dependency(struct tn_region_index *index, uint32_t region,
                                       struct tn_dependency dependency);

/* From now on nothing depends on these streams, a bit each, up to that time: regions that depend on
 * nothing else wait for nothing any more. Cost: O(free regions that wait for one of them, or for
 * several). */
void tn_region_index_complete(struct tn_region_index *index, uint32_t streams, uint32_t time);

/* Nobody owns what `stream` owned, and what waits for it waits for `dependency` in its place. Cost:
 * O(regions). */
void tn_region_index_disown(struct tn_region_index *index, unsigned stream,
                            struct tn_dependency dependency);

/* All that depends on something does so since time 0. Cost: O(regions). */
void tn_region_index_begin_anew(struct tn_region_index *index);

/* Free regions of one span, one after the other. */
struct tn_region_run {
    uint32_t first; /* or TN_REGION_NONE: there is no run */
    uint32_t region_count;
    uint32_t chunk_count; /* of all of them together */
};

/* The smallest run in a span that has chunk_count chunks or more and depends on no other streams than
 * these, a bit each; among equals the first. Cost: O(regions of the span). */
struct tn_region_run tn_region_index_find_run(const struct tn_region_index *index, uint32_t head,
                                              uint32_t streams, uint32_t chunk_count);

/* Makes one free region of a run, which waits for whatever one of them waited for. */
void tn_region_index_unite_run(struct tn_region_index *index, const struct tn_region_run *run);

/* --- lending --- */

/* Makes room for so many records more, which only an adopt may use. False: no host memory. */
bool tn_region_index_promise(struct tn_region_index *index, uint32_t record_count);

/* So many are not needed any more. */
void tn_region_index_take_promise_back(struct tn_region_index *index, uint32_t record_count);

/* A live region was lent: in another index its chunks are a span, which that one forgets now. What became of
 * them takes the region's place. Both know the same streams; room must be promised for all regions
 * of the span. Cost: O(regions of the span). */
void tn_region_index_adopt(struct tn_region_index *index, uint32_t lent,
                           struct tn_region_index *borrower, uint32_t head);

/* --- resize --- */

/* A live region has chunk_count chunks from now on, those that it lacks from the front of the free region behind it,
 * which must have them. */
void tn_region_index_extend(struct tn_region_index *index, uint32_t region, uint32_t chunk_count,
                            uint32_t slack_bytes);

/* A live region keeps its first chunk_count chunks. The others are freed as tn_region_index_free frees. Room must be
 * reserved. */
void tn_region_index_shorten(struct tn_region_index *index, uint32_t region, uint32_t chunk_count,
                             uint32_t slack_bytes, struct tn_dependency dependency);

/* --- chunks without memory --- */

/* Adds chunks that no span has, as one void at rest. As tn_region_index_add_span otherwise. */
uint32_t tn_region_index_add_void_span(struct tn_region_index *index, uint32_t first_chunk,
                                       uint32_t chunk_count);

/* Takes chunks out of a void at rest, which has them all. Returns the taken void. Room must be reserved.
 * Cost: O(voids). */
uint32_t tn_region_index_take_void(struct tn_region_index *index, uint32_t region,
                                   uint32_t first_chunk, uint32_t chunk_count);

/* Takes chunks that are free, whatever they wait for, from the free region on in which the first one lies.
 * Likewise. */
uint32_t tn_region_index_take_free(struct tn_region_index *index, uint32_t region,
                                   uint32_t first_chunk, uint32_t chunk_count);

/* A taken void is free, and waits for nothing. Returns the free region that it is part of now. */
uint32_t tn_region_index_fill(struct tn_region_index *index, uint32_t taken);

/* A taken void is at rest. Cost: O(voids). */
void tn_region_index_rest(struct tn_region_index *index, uint32_t taken);

/* --- queries --- */

/* Whether a region is free and depends on no other streams than these, a bit each. */
static inline bool tn_region_index_is_free_for(const struct tn_region_index *index, uint32_t region,
                                               uint32_t streams)
{
    const struct tn_region *r = &index->regions[region];
    return r->state == TN_REGION_STATE_FREE && (tn_region_dependency(r).streams & ~streams) == 0;
}

/* The live region that starts at a chunk, or TN_REGION_NONE. */
static inline uint32_t tn_region_index_find_start(const struct tn_region_index *index,
                                                  uint32_t first_chunk)
{
    return tn_live_map_find(&index->live, index->regions, first_chunk);
}

/* The live region that a chunk of some span lies in, or TN_REGION_NONE. */
uint32_t tn_region_index_find_live(const struct tn_region_index *index, uint32_t chunk);

/* How many regions are free. */
uint32_t tn_region_index_free_count(const struct tn_region_index *index);

/* Chunks of the largest free region; 0 when there is none. */
uint32_t tn_region_index_largest_free(const struct tn_region_index *index);

size_t tn_region_index_metadata_bytes(const struct tn_region_index *index);

/* Walks one span. NULL, or what is wrong. */
const char *tn_region_index_check_span(const struct tn_region_index *index, uint32_t head,
                                       uint32_t first_chunk, uint32_t chunk_count);

/* Walks everything but the spans. NULL, or what is wrong. */
const char *tn_region_index_check(const struct tn_region_index *index);

#endif
