/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * region_index: all regions of a pool, in each order in which the pool searches them.
 *
 *     free sets by size   free_set: one search over all static pools, by the pool's policy. One set for regions
 *                         that wait for nothing, one for each stream on which regions were freed, one for
 *                         regions that wait for several streams
 *     by address          the records themselves: every region knows its neighbours, so a free one finds
 *                         the regions to coalesce with in one step
 *     live by address     live_map: by first chunk; and a bit for each group of chunks in which a region
 *                         starts, to find the region that a chunk lies inside
 *
 * A span is the range of chunks of one static pool. Its regions tile it, and never coalesce with those of
 * another span. A span whose memory comes and goes piece by piece has voids:
 *
 *                 take_void                  fill
 *     at rest ──────────────► taken void ──────────────► free
 *             ◄──────────────            ◄──────────────
 *                   rest                    take_free
 *
 * Cost: find, carve and free take O(log n) in free regions. Finding the region around a chunk takes at most
 * 128 lookups in the live map.
 * Memory: 24 bytes a region, 8 a live region, one bit for 64 chunks, and the free sets.
 * The reserve calls reserve room before anything is added, including room to free all regions that are live
 * then. Only they allocate, so a free cannot fail.
 * Threads: no locking; the pool locks.
 * Always true: regions tile their span; no two free regions that depend on the same streams touch, nor two
 * voids at rest; the free set of a dependency has exactly the free regions with that dependency; of the two sets of regions
 * without a dependency, one has those below newer_from and one the others; the live map has exactly the live regions.
 */
#ifndef TN_REGION_INDEX_H
#define TN_REGION_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "region_index_parts.h"

/* Makes an index without chunks. False: no host memory, nothing is left behind. */
bool tn_region_index_init(struct tn_region_index *index, tarn_fit fit);
void tn_region_index_fini(struct tn_region_index *index);

/* Lets live regions have labels. Requires: the index has no chunks, and a chunk has at most 64 KiB. */
static inline void tn_region_index_allow_labels(struct tn_region_index *index)
{
    TN_ASSERT(index->region_count == 0);
    index->slack_mask = TN_REGION_SLACK_MASK_LABELLED;
}

static inline bool tn_region_index_has_labels(const struct tn_region_index *index)
{
    return index->slack_mask == TN_REGION_SLACK_MASK_LABELLED;
}

/* Reserves room for one more span, of chunk_count chunks from first_chunk on, and for a carve of it. False:
 * no host memory. */
bool tn_region_index_reserve_span(struct tn_region_index *index, uint32_t first_chunk,
                                  uint32_t chunk_count);

/* Adds chunks that are in no span, as one free region. Returns the span's head, which identifies the span.
 * Requires: reserved room. */
uint32_t tn_region_index_add_span(struct tn_region_index *index, uint32_t first_chunk,
                                  uint32_t chunk_count);

/* Returns whether no region of the span is live or waits for a stream of `held`, a bit each. Cost: at most
 * O(regions of the span). */
bool tn_region_index_span_is_free(const struct tn_region_index *index, uint32_t head,
                                  uint32_t held);

/* Removes a span. Requires: nothing in it is live. Returns the work that its chunks wait for. */
struct tn_dependency tn_region_index_remove_span(struct tn_region_index *index, uint32_t head);

/* Requests of at most small_chunk_count_max chunks are served from the older spans, those below newer_from, while these have
 * room. So small blocks that last keep few spans from leaving. A new span is newer if it lies there. */

/* Reserves what more than one span needs to be older and newer. False: no host memory. */
bool tn_region_index_reserve_newer(struct tn_region_index *index);

/* Makes the last of the older spans newer, or the first of the newer ones older. Cost: O(regions of the span). */
void tn_region_index_make_newer(struct tn_region_index *index, uint32_t head);
void tn_region_index_make_older(struct tn_region_index *index, uint32_t head);

/* Returns whether room is reserved for one more carve, which makes at most three regions of one. */
static inline bool tn_region_index_has_room(const struct tn_region_index *index)
{
    return index->region_count + 2 <= index->reserved_count;
}

/* Reserves room for one more carve, and for the frees of all regions live after it. False: no host memory. */
bool tn_region_index_reserve(struct tn_region_index *index);

/* Reserves room for free regions that wait for this stream alone, and for those that wait for several. False:
 * no host memory. */
bool tn_region_index_add_stream(struct tn_region_index *index, unsigned stream);

/* Returns whether the set exists and can be searched. */
static inline bool tn_region_index_has_set(const struct tn_region_index *index, unsigned set)
{
    return (index->sets >> set & 1) != 0;
}

/* Returns the sets that exist and can be searched, a bit each. */
static inline uint64_t tn_region_index_sets(const struct tn_region_index *index)
{
    return index->sets;
}

/* Returns whether region a is the better fit by the policy: by default the smaller one, or at equal size the
 * one at the lower index. Requires: both were found in their sets for the same request. */
static inline bool tn_region_index_is_better(const struct tn_region_index *index, uint32_t a,
                                             uint32_t b)
{
    return tn_free_set_is_better(&index->by_size[TN_FREE_SET_IDLE], index->regions, a, b);
}

/* Returns the best free region of at least chunk_count chunks by the policy: by default the smallest, among
 * equals the one at the lowest index. Or TN_REGION_NONE. `sets` has a bit for each free set that is searched,
 * bit 0 for set 0. Requires: these sets exist. */
static inline uint32_t tn_region_index_find_best_fit(const struct tn_region_index *index,
                                                     uint64_t sets, uint32_t chunk_count)
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

/* Returns the next best region of at least chunk_count chunks after `region` in its set, or TN_REGION_NONE. */
uint32_t tn_region_index_find_next_fit(const struct tn_region_index *index, uint32_t region,
                                       uint32_t chunk_count);

/* Makes chunk_count chunks of a free region live, after its first `lead` chunks. The chunks before and after
 * stay free. Returns the live region. Requires: reserved room. */
uint32_t tn_region_index_carve(struct tn_region_index *index, uint32_t region, uint32_t lead,
                               uint32_t chunk_count, uint32_t slack_bytes);

/* Frees the live region that starts at first_chunk, and coalesces it with the free neighbours that depend on
 * the same streams. Requires: the sets of these streams exist. False, nothing has changed: no live region starts
 * there, or it is a slab. */
bool tn_region_index_free(struct tn_region_index *index, uint32_t first_chunk,
                          struct tn_dependency dependency, struct tn_freed *freed_out);

/* Gives a free region another dependency, and coalesces it as a free does. */
void tn_region_index_change_dependency(struct tn_region_index *index, uint32_t region,
                                       struct tn_dependency dependency);

/* Ends all dependencies on these streams, a bit each, up to that time. Regions without another dependency
 * wait for nothing from then on. Cost: O(free regions that wait for one of the streams, or for several). */
void tn_region_index_complete(struct tn_region_index *index, uint32_t streams, uint32_t time);

/* Takes all regions from their owner `stream`. Regions that wait for `stream` wait for `dependency` instead.
 * Cost: O(regions). */
void tn_region_index_disown(struct tn_region_index *index, unsigned stream,
                            struct tn_dependency dependency);

/* Makes regions that wait for `stream` wait for `dependency` instead. Cost: O(regions that wait for it, or for several
 * streams). */
void tn_region_index_replace(struct tn_region_index *index, unsigned stream,
                             struct tn_dependency dependency);

/* Sets the time of all dependencies to 0. Cost: O(regions). */
void tn_region_index_begin_anew(struct tn_region_index *index);

/* Adjacent free regions of one span. */
struct tn_region_run {
    uint32_t first; /* TN_REGION_NONE: there is no run */
    uint32_t region_count;
    uint32_t chunk_count; /* of all regions together */
};

/* Returns the smallest run in a span that has at least chunk_count chunks and depends on no streams but
 * these, a bit each; among equals the first. Cost: O(regions of the span). */
struct tn_region_run tn_region_index_find_run(const struct tn_region_index *index, uint32_t head,
                                              uint32_t streams, uint32_t chunk_count);

/* Makes one free region of a run. Its dependency unites those of all its regions. */
void tn_region_index_unite_run(struct tn_region_index *index, const struct tn_region_run *run);

/* --- lending --- */

/* Reserves room for record_count more records, for tn_region_index_adopt alone. False: no host memory. */
bool tn_region_index_promise(struct tn_region_index *index, uint32_t record_count);

/* Releases the room for record_count promised records. */
void tn_region_index_take_promise_back(struct tn_region_index *index, uint32_t record_count);

/* Lends the first chunk_count chunks of a free region. Here they are a live region, which is called lent; in the index of
 * the borrower they are a span of one free region, with the same dependency. Returns the head of the span. Requires: the
 * borrower has the set of that dependency; reserved room in both, in the borrower for a span. */
uint32_t tn_region_index_lend(struct tn_region_index *index, uint32_t region, uint32_t chunk_count,
                              struct tn_region_index *borrower);

/* Joins a lent region and its span to the lent region before it and to that one's span, of head_before. Requires: they
 * touch, and one borrower has both. */
void tn_region_index_join_lent(struct tn_region_index *index, uint32_t lent,
                               struct tn_region_index *borrower, uint32_t head_before,
                               uint32_t head);

/* Takes a free region of the borrower back out of the span of that head. What lies before it in the span stays lent with
 * that head; what lies after it is lent with the head that is returned, or TN_REGION_NONE if nothing does. Requires:
 * `lent` is the lent region of the span; room for a carve, but none in the borrower. Cost: O(log n) in free regions. */
uint32_t tn_region_index_return(struct tn_region_index *index, uint32_t lent,
                                struct tn_region_index *borrower, uint32_t head, uint32_t region);

/* Replaces a lent live region by the regions that another index has made of its chunks. There the chunks are
 * a span, which is removed. Requires: both indices know the same streams; room is promised for all regions of
 * the span. Cost: O(regions of the span). */
void tn_region_index_adopt(struct tn_region_index *index, uint32_t lent,
                           struct tn_region_index *borrower, uint32_t head);

/* --- resize --- */

/* Extends a live region to chunk_count chunks, from the front of the free region after it. Requires: that
 * region has enough. */
void tn_region_index_extend(struct tn_region_index *index, uint32_t region, uint32_t chunk_count,
                            uint32_t slack_bytes);

/* Shortens a live region to its first chunk_count chunks, and frees the rest as tn_region_index_free does.
 * Requires: reserved room. */
void tn_region_index_shorten(struct tn_region_index *index, uint32_t region, uint32_t chunk_count,
                             uint32_t slack_bytes, struct tn_dependency dependency);

/* --- chunks without memory --- */

/* Adds chunks that are in no span, as one void at rest. Returns the span's head. Requires: reserved room. */
uint32_t tn_region_index_add_void_span(struct tn_region_index *index, uint32_t first_chunk,
                                       uint32_t chunk_count);

/* Takes chunks from a void at rest that has them all. Returns the taken void. Requires: reserved room. Cost:
 * O(voids). */
uint32_t tn_region_index_take_void(struct tn_region_index *index, uint32_t region,
                                   uint32_t first_chunk, uint32_t chunk_count);

/* Takes free chunks, whatever they wait for, and writes what that is. `region` is the free region of the first
 * chunk. Returns the taken void. Requires: reserved room. */
uint32_t tn_region_index_take_free(struct tn_region_index *index, uint32_t region,
                                   uint32_t first_chunk, uint32_t chunk_count,
                                   struct tn_dependency *dependency_out);

/* Makes a taken void free. It waits for nothing. Returns the free region that it is part of then. */
uint32_t tn_region_index_fill(struct tn_region_index *index, uint32_t taken);

/* Returns a taken void to rest. Cost: O(voids). */
void tn_region_index_rest(struct tn_region_index *index, uint32_t taken);

/* --- queries --- */

/* Returns whether a region is free and depends on no streams but these, a bit each. */
static inline bool tn_region_index_is_free_for(const struct tn_region_index *index, uint32_t region,
                                               uint32_t streams)
{
    const struct tn_region *r = &index->regions[region];
    return r->state == TN_REGION_STATE_FREE && (tn_region_dependency(r).streams & ~streams) == 0;
}

/* Returns the live region that starts at a chunk, or TN_REGION_NONE. */
static inline uint32_t tn_region_index_find_start(const struct tn_region_index *index,
                                                  uint32_t first_chunk)
{
    return tn_live_map_find(&index->live, index->regions, first_chunk);
}

/* Returns the live region that a chunk of some span lies in, or TN_REGION_NONE. */
uint32_t tn_region_index_find_live(const struct tn_region_index *index, uint32_t chunk);

/* Returns the number of free regions. */
uint32_t tn_region_index_free_count(const struct tn_region_index *index);

/* Returns the chunks of the largest free region that depends on none of these streams, a bit each, or 0. Cost:
 * O(n) in regions that depend on several streams, if any stream is named. */
uint32_t tn_region_index_largest_free_without(const struct tn_region_index *index,
                                              uint32_t streams);

/* Returns the chunks of the largest free region, or 0. */
static inline uint32_t tn_region_index_largest_free(const struct tn_region_index *index)
{
    return tn_region_index_largest_free_without(index, 0);
}

/* Returns the streams, a bit each, that free regions wait for: of each all streams, if one waits for several. */
uint32_t tn_region_index_pending_streams(const struct tn_region_index *index);

/* Free regions of some kind. */
struct tn_free_sum {
    uint32_t region_count;
    uint32_t chunk_count;
};

/* Sums up the free regions that depend on any of these streams, a bit each. Cost: O(n) in these regions, and in
 * those that depend on several streams. */
struct tn_free_sum tn_region_index_sum_dependents(const struct tn_region_index *index,
                                                  uint32_t streams);

size_t tn_region_index_metadata_bytes(const struct tn_region_index *index);

/* Walks one span. Returns NULL, or the fault. */
const char *tn_region_index_check_span(const struct tn_region_index *index, uint32_t head,
                                       uint32_t first_chunk, uint32_t chunk_count);

/* Walks everything but the spans. Returns NULL, or the fault. */
const char *tn_region_index_check(const struct tn_region_index *index);

#endif
