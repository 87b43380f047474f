/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * region_index_parts: the structure of a region index, and the inline functions that its files share: records,
 * starts, and carve and free for every alloc and free of a pool. region_index.h says what it is.
 *
 * Hot code inlines carve and free: saving and restoring registers around a call takes a twentieth of an alloc
 * and its free. Other code calls the functions of region_index.h.
 *
 *     region_index.c          life, room, spans, resizing, queries
 *     region_dependencies.c   what free regions wait for
 *     region_voids.c          chunks without memory
 *     region_lending.c        regions that are spans of another index
 *     region_check.c          the check of all of it
 */
#ifndef TN_REGION_INDEX_PARTS_H
#define TN_REGION_INDEX_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "../../base/sets/bit_tree.h"
#include "../../base/sets/key_tree.h"

#include "dependency.h"
#include "free_set.h"
#include "live_map.h"
#include "region.h"

#define TN_START_GROUP_CHUNKS 64

struct tn_region_index {
    struct tn_region *regions;
    uint32_t region_capacity;
    uint32_t fresh;          /* records from this one on have never been used */
    uint32_t unused;         /* first in the list of released records, or NONE */
    uint32_t region_count;   /* records in use, including the heads of spans */
    uint32_t reserved_count; /* room is reserved for this many records in use, */
    uint32_t promised_count; /* and for this many more, for tn_region_index_adopt */
    uint32_t span_count;
    uint32_t chunk_count; /* of all spans */
    uint32_t void_count;  /* regions that are voids, without heads */
    uint32_t first_void;  /* first in the list of voids at rest, by address, or NONE */
    struct tn_live_map live;
    struct tn_bit_tree starts;      /* by groups of TN_START_GROUP_CHUNKS: a region starts there */
    uint32_t pending_chunk_count;   /* in free regions that depend on a stream */
    bool is_divided;                /* there are sets of streams */
    tarn_fit fit;                   /* the policy of all free sets */
    uint64_t sets;                  /* a bit for each free set that is there */
    uint32_t newer_from;            /* spans from this chunk on are the newer ones */
    uint32_t small_chunk_count_max; /* requests of at most so many chunks go to the older ones */
    uint32_t slack_mask;            /* see region.h */
    struct tn_key_tree_store trees;
    struct tn_free_nodes free_nodes;
    struct tn_free_set by_size[TN_FREE_SET_COUNT];
};

/* The size of a freed region, its slack and its label. */
struct tn_freed {
    uint32_t chunk_count;
    uint32_t slack_bytes;
    uint32_t label;
};

/* --- records -------------------------------------------------------------------------------- */

TN_HOT uint32_t tn_region_index_take_record(struct tn_region_index *index)
{
    uint32_t region = index->unused;
    if (TN_LIKELY(region != TN_REGION_NONE)) {
        index->unused = index->regions[region].link;
    } else {
        TN_ASSERT(index->fresh < index->region_capacity);
        region = index->fresh++;
        tn_region_mark(&index->regions[region], TN_REGION_STATE_UNUSED, 0);
    }
    index->region_count++;
    return region;
}

TN_HOT void tn_region_index_give_record_back(struct tn_region_index *index, uint32_t region)
{
    struct tn_region *r = &index->regions[region];
    tn_region_mark(r, TN_REGION_STATE_UNUSED, 0);
    r->link = index->unused;
    index->unused = region;
    index->region_count--;
}

/* --- the free sets -------------------------------------------------------------------------- */

/* Returns the number of the set of a free region that depends on these streams and starts at this chunk. */
TN_HOT unsigned tn_region_index_set_of(const struct tn_region_index *index, uint32_t streams,
                                       uint32_t first_chunk)
{
    if (TN_UNLIKELY(streams != 0)) return tn_free_set_of(streams);
    return first_chunk < index->newer_from ? TN_FREE_SET_IDLE : TN_FREE_SET_IDLE_NEWER;
}

TN_HOT struct tn_free_set *tn_region_index_set_for(struct tn_region_index *index, uint32_t streams,
                                                   uint32_t first_chunk)
{
    if (TN_LIKELY(streams == 0 && first_chunk < index->newer_from))
        return &index->by_size[TN_FREE_SET_IDLE];
    return &index->by_size[tn_region_index_set_of(index, streams, first_chunk)];
}

/* --- the starts of regions ------------------------------------------------------------------ */

TN_HOT uint32_t tn_start_group_of(uint32_t chunk)
{
    return chunk / TN_START_GROUP_CHUNKS;
}

TN_HOT bool tn_start_groups_are_one(uint32_t chunk, uint32_t other)
{
    return (chunk ^ other) < TN_START_GROUP_CHUNKS;
}

TN_HOT void tn_region_index_note_start(struct tn_region_index *index, uint32_t first_chunk)
{
    tn_bit_tree_set(&index->starts, tn_start_group_of(first_chunk));
}

/* Notes that no region starts at first_chunk any more. Its group keeps its bit if a neighbour starts in it. A
 * head is at the start of its span, whose group no other span shares. In the index of a borrower spans may share one:
 * there the bits are not to be read. */
TN_HOT void tn_region_index_forget_start(struct tn_region_index *index, uint32_t first_chunk,
                                         const struct tn_region *previous,
                                         const struct tn_region *next)
{
    if (tn_start_groups_are_one(first_chunk, previous->first_chunk) ||
        tn_start_groups_are_one(first_chunk, next->first_chunk))
        return;
    tn_bit_tree_clear(&index->starts, tn_start_group_of(first_chunk));
}

/* --- carve ---------------------------------------------------------------------------------- */

/* Cuts the first chunk_count chunks off a region. They get a new record, before it in the ring; the rest
 * keeps its record. */
TN_HOT uint32_t tn_region_index_cut_front(struct tn_region_index *index, uint32_t region,
                                          uint32_t chunk_count)
{
    uint32_t front = tn_region_index_take_record(index);
    struct tn_region *regions = index->regions, *r = &regions[region], *f = &regions[front];
    uint32_t first_chunk = r->first_chunk, previous = r->previous;
    TN_ASSERT(chunk_count > 0 && chunk_count < r->chunk_count);
    f->first_chunk = first_chunk;
    f->chunk_count = chunk_count;
    f->previous = previous;
    f->next = region;
    regions[previous].next = front;
    r->previous = front;
    r->first_chunk = first_chunk + chunk_count;
    r->chunk_count -= chunk_count;
    tn_region_index_note_start(index, first_chunk + chunk_count);
    return front;
}

/* Makes the first `lead` chunks of a free region a region of their own, which waits for the same streams. */
TN_COLD void tn_region_index_split_off_lead(struct tn_region_index *index, uint32_t region,
                                            uint32_t lead);

/* tn_region_index_carve. */
TN_HOT uint32_t tn_region_index_carve_inline(struct tn_region_index *index, uint32_t region,
                                             uint32_t lead, uint32_t chunk_count,
                                             uint32_t slack_bytes)
{
    TN_ASSERT(index->region_count + 2 <= index->reserved_count);
    if (TN_UNLIKELY(lead > 0)) tn_region_index_split_off_lead(index, region, lead);
    struct tn_region *regions = index->regions, *r = &regions[region];
    uint32_t old_chunk_count = r->chunk_count, first_chunk = r->first_chunk;
    TN_ASSERT(chunk_count <= old_chunk_count);
    uint32_t streams = tn_region_dependency(r).streams;
    struct tn_free_set *set = tn_region_index_set_for(index, streams, first_chunk);
    if (streams != 0) index->pending_chunk_count -= chunk_count;

    if (old_chunk_count > chunk_count) {
        uint32_t live = tn_region_index_cut_front(index, region, chunk_count);
        tn_region_mark_live(&regions[live], slack_bytes);
        tn_live_map_insert(&index->live, regions, live);
        tn_free_set_change(set, regions, region, old_chunk_count, first_chunk);
        return live;
    }
    tn_free_set_remove(set, regions, region, old_chunk_count, first_chunk);
    tn_region_mark_live(r, slack_bytes);
    tn_live_map_insert(&index->live, regions, region);
    return region;
}

/* --- free ----------------------------------------------------------------------------------- */

/* Takes a region out of the ring, after its chunks went to a neighbour. */
TN_HOT void tn_region_index_dissolve(struct tn_region_index *index, uint32_t region)
{
    struct tn_region *regions = index->regions, *r = &regions[region];
    uint32_t previous = r->previous, next = r->next;
    regions[previous].next = next;
    regions[next].previous = previous;
    tn_region_index_give_record_back(index, region);
}

/* Joins `region`, which is in no free set, to the free region before it. Requires: that one is in `set` and
 * waits for the same streams. */
TN_HOT void tn_region_index_join_to_previous(struct tn_region_index *index, struct tn_free_set *set,
                                             uint32_t region, uint32_t time)
{
    struct tn_region *regions = index->regions, *r = &regions[region];
    uint32_t grown = r->previous;
    struct tn_region *g = &regions[grown];
    uint32_t old_chunk_count = g->chunk_count;
    g->chunk_count = old_chunk_count + r->chunk_count;
    tn_region_put_off(g, time);
    tn_region_index_forget_start(index, r->first_chunk, g, &regions[r->next]);
    tn_region_index_dissolve(index, region);
    tn_free_set_change(set, regions, grown, old_chunk_count, g->first_chunk);
}

/* Joins `region`, which is in no free set, to the free region after it. Requires: that one is in `set` and
 * waits for the same streams. */
TN_HOT void tn_region_index_join_to_next(struct tn_region_index *index, struct tn_free_set *set,
                                         uint32_t region, uint32_t time)
{
    struct tn_region *regions = index->regions, *r = &regions[region];
    uint32_t grown = r->next;
    struct tn_region *g = &regions[grown];
    uint32_t old_chunk_count = g->chunk_count, old_first_chunk = g->first_chunk;
    g->first_chunk = r->first_chunk;
    g->chunk_count = old_chunk_count + r->chunk_count;
    tn_region_put_off(g, time);
    tn_region_index_forget_start(index, old_first_chunk, g, &regions[g->next]);
    tn_region_index_dissolve(index, region);
    tn_free_set_change(set, regions, grown, old_chunk_count, old_first_chunk);
}

/* Joins the free region after `region`, which is in `set`, to it. */
TN_HOT void tn_region_index_take_next_in(struct tn_region_index *index, struct tn_free_set *set,
                                         uint32_t region)
{
    struct tn_region *regions = index->regions, *r = &regions[region];
    uint32_t taken = r->next;
    struct tn_region *t = &regions[taken];
    tn_free_set_remove(set, regions, taken, t->chunk_count, t->first_chunk);
    r->chunk_count += t->chunk_count;
    tn_region_index_forget_start(index, t->first_chunk, r, &regions[t->next]);
    tn_region_index_dissolve(index, taken);
}

/* Makes a region free that is in no free set, and coalesces it with the free neighbours that wait for the
 * same streams. Returns the free region that it is part of then. */
uint32_t tn_region_index_make_free(struct tn_region_index *index, uint32_t region,
                                   struct tn_dependency dependency);

TN_HOT uint32_t tn_region_index_make_free_inline(struct tn_region_index *index, uint32_t region,
                                                 struct tn_dependency dependency)
{
    struct tn_region *regions = index->regions, *r = &regions[region];
    uint32_t streams = dependency.streams, time = dependency.time;
    struct tn_free_set *set = tn_region_index_set_for(index, streams, r->first_chunk);
    if (streams != 0) index->pending_chunk_count += r->chunk_count;

    uint32_t previous = r->previous, next = r->next;
    struct tn_region *p = &regions[previous], *n = &regions[next];
    bool joins_next = tn_region_is_free_on(n, streams);
    if (tn_region_is_free_on(p, streams)) {
        if (joins_next) {
            tn_region_put_off(p, n->link);
            tn_region_index_take_next_in(index, set, region);
        }
        tn_region_index_join_to_previous(index, set, region, time);
        return previous;
    }
    if (joins_next) {
        tn_region_index_join_to_next(index, set, region, time);
        return next;
    }
    tn_region_mark(r, TN_REGION_STATE_FREE, streams);
    r->link = time;
    tn_free_set_insert(set, regions, region);
    return region;
}

/* Does tn_region_index_free for the result of tn_live_map_find_place. Requires: it is not a slab. */
TN_HOT void tn_region_index_free_at(struct tn_region_index *index, uint32_t *place,
                                    struct tn_dependency dependency)
{
    struct tn_region *regions = index->regions;
    uint32_t region = tn_live_map_take_at(&index->live, regions, place);
    TN_ASSERT(tn_region_owner(&regions[region]) != TN_REGION_OWNER_SLAB);
    tn_region_index_make_free_inline(index, region, dependency);
}

/* --- off the hot path ----------------------------------------------------------------------- */

/* Reserves room for added_regions more records and added_chunks more chunks in added_spans more spans. False:
 * no host memory. */
bool tn_region_index_reserve_slowly(struct tn_region_index *index, uint32_t added_regions,
                                    uint32_t added_spans, uint32_t added_chunks);

/* Adds a span of one region, which is neither free nor void yet. Returns that region. */
uint32_t tn_region_index_begin_span(struct tn_region_index *index, uint32_t first_chunk,
                                    uint32_t chunk_count);

/* Cuts the chunks after the first chunk_count off a region. They get a new record, after it in the ring, which is
 * neither free nor live yet. */
uint32_t tn_region_index_cut_back(struct tn_region_index *index, uint32_t region,
                                  uint32_t chunk_count);

/* Insert a free region into the set of its dependency, and remove it from there. */
void tn_region_index_insert_free(struct tn_region_index *index, uint32_t region);
void tn_region_index_remove_free(struct tn_region_index *index, uint32_t region);

/* Updates a region in its set, after its record has changed from the given chunks. */
void tn_region_index_change_free(struct tn_region_index *index, uint32_t region,
                                 uint32_t old_chunk_count, uint32_t old_first_chunk);

/* Inserts a free region that is in no free set, and coalesces it. Returns the region that it is part of then.
 */
static inline uint32_t tn_region_index_coalesce(struct tn_region_index *index, uint32_t region)
{
    return tn_region_index_make_free(index, region, tn_region_dependency(&index->regions[region]));
}

#endif
