/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* region_index: records, spans, splitting and coalescing. */
#include "region_index.h"

#include "../base/arith.h"
#include "../base/host_memory.h"

/* --- records -------------------------------------------------------------------------------- */

static uint32_t take_record(struct tn_region_index *index)
{
    uint32_t region = index->unused;
    if (region != TN_REGION_NONE) {
        index->unused = index->regions[region].link;
    } else {
        TN_ASSERT(index->fresh < index->region_capacity);
        region = index->fresh++;
        index->regions[region].state = TN_REGION_STATE_UNUSED;
    }
    index->region_count++;
    return region;
}

static void give_record_back(struct tn_region_index *index, uint32_t region)
{
    index->regions[region].state = TN_REGION_STATE_UNUSED;
    index->regions[region].link = index->unused;
    index->unused = region;
    index->region_count--;
}

/* --- life and room -------------------------------------------------------------------------- */

bool tn_region_index_init(struct tn_region_index *index)
{
    *index = (struct tn_region_index){ .unused = TN_REGION_NONE };
    tn_live_map_init(&index->live);
    if (!tn_size_set_init(&index->by_size)) return false;
    if (tn_bit_tree_init(&index->starts, 1)) return true;
    tn_size_set_fini(&index->by_size);
    return false;
}

void tn_region_index_fini(struct tn_region_index *index)
{
    tn_live_map_fini(&index->live);
    tn_bit_tree_fini(&index->starts);
    tn_size_set_fini(&index->by_size);
    tn_host_memory_free(index->regions);
    *index = (struct tn_region_index){ 0 };
}

/*
 * Room for added_regions more records and added_chunks more chunks in added_spans more spans. Frees alone never make more
 * regions, and between two free ones of a span lies a live one; so of r regions in s spans at most
 * (r + s) / 2 can become free.
 */
static TN_COLD bool reserve_slowly(struct tn_region_index *index, uint32_t added_regions,
                                   uint32_t added_spans, uint32_t added_chunks)
{
    void *regions = index->regions;
    if (!tn_host_memory_grow_array(&regions, &index->region_capacity, index->fresh,
                                   index->region_count + added_regions, sizeof *index->regions)) {
        return false;
    }
    index->regions = regions;
    uint32_t free_count_max = (index->region_capacity + index->span_count + added_spans) / 2;
    if (!tn_size_set_reserve(&index->by_size, free_count_max, index->chunk_count + added_chunks)) {
        return false;
    }
    if (!tn_live_map_reserve(&index->live, index->region_capacity)) return false;
    index->reserved_count = index->region_capacity;
    return true;
}

/* A carve turns one region into three at most. */
bool tn_region_index_reserve(struct tn_region_index *index)
{
    bool has_room = index->region_count + 2 <= index->reserved_count;
    return TN_LIKELY(has_room) || reserve_slowly(index, 2, 0, 0);
}

bool tn_region_index_reserve_span(struct tn_region_index *index, uint32_t first_chunk,
                                  uint32_t chunk_count)
{
    TN_ASSERT(chunk_count > 0 && chunk_count <= TN_CHUNK_COUNT_MAX - first_chunk);
    uint32_t group_count = (first_chunk + chunk_count - 1) / TN_START_GROUP_CHUNKS + 1;
    return tn_bit_tree_grow(&index->starts, group_count) &&
           reserve_slowly(index, 4, 1, chunk_count);
}

/* --- the starts of regions ------------------------------------------------------------------ */

static uint32_t group_of(uint32_t chunk)
{
    return chunk / TN_START_GROUP_CHUNKS;
}

static void note_start(struct tn_region_index *index, uint32_t first_chunk)
{
    tn_bit_tree_set(&index->starts, group_of(first_chunk));
}

/* No region starts at first_chunk any more; its group keeps its bit if a neighbour starts there too.
 * A head is where its span starts, which no other span shares. */
static void forget_start(struct tn_region_index *index, uint32_t first_chunk,
                         const struct tn_region *previous, const struct tn_region *next)
{
    uint32_t group = group_of(first_chunk);
    if (group_of(previous->first_chunk) == group || group_of(next->first_chunk) == group) return;
    tn_bit_tree_clear(&index->starts, group);
}

/* --- spans ---------------------------------------------------------------------------------- */

uint32_t tn_region_index_add_span(struct tn_region_index *index, uint32_t first_chunk,
                                  uint32_t chunk_count)
{
    TN_ASSERT(first_chunk % TN_START_GROUP_CHUNKS == 0);
    uint32_t head = take_record(index), whole = take_record(index);
    index->regions[head] = (struct tn_region){
        .first_chunk = first_chunk,
        .previous = whole,
        .next = whole,
        .state = TN_REGION_STATE_HEAD,
    };
    index->regions[whole] = (struct tn_region){
        .first_chunk = first_chunk,
        .chunk_count = chunk_count,
        .previous = head,
        .next = head,
        .state = TN_REGION_STATE_FREE,
    };
    tn_size_set_insert(&index->by_size, index->regions, whole);
    note_start(index, first_chunk);
    index->span_count++;
    index->chunk_count += chunk_count;
    return head;
}

bool tn_region_index_span_is_free(const struct tn_region_index *index, uint32_t head)
{
    const struct tn_region *h = &index->regions[head];
    return h->next == h->previous && index->regions[h->next].state == TN_REGION_STATE_FREE;
}

void tn_region_index_remove_span(struct tn_region_index *index, uint32_t head)
{
    TN_ASSERT(tn_region_index_span_is_free(index, head));
    uint32_t whole = index->regions[head].next;
    index->chunk_count -= index->regions[whole].chunk_count;
    tn_size_set_remove(&index->by_size, index->regions[whole].chunk_count,
                       index->regions[whole].first_chunk);
    tn_bit_tree_clear(&index->starts, group_of(index->regions[head].first_chunk));
    give_record_back(index, whole);
    give_record_back(index, head);
    index->span_count--;
}

/* --- carve ---------------------------------------------------------------------------------- */

uint32_t tn_region_index_find_next_fit(const struct tn_region_index *index, uint32_t region)
{
    const struct tn_region *r = &index->regions[region];
    return tn_size_set_find_after(&index->by_size, r->chunk_count, r->first_chunk);
}

/* Cuts the first chunk_count chunks off a region. They get a new record, before it in the ring;
 * what is left keeps its own. */
static uint32_t cut_front(struct tn_region_index *index, uint32_t region, uint32_t chunk_count)
{
    uint32_t front = take_record(index);
    struct tn_region *r = &index->regions[region];
    struct tn_region *f = &index->regions[front];
    TN_ASSERT(chunk_count > 0 && chunk_count < r->chunk_count);
    f->first_chunk = r->first_chunk;
    f->chunk_count = chunk_count;
    f->previous = r->previous;
    f->next = region;
    index->regions[r->previous].next = front;
    r->previous = front;
    r->first_chunk += chunk_count;
    r->chunk_count -= chunk_count;
    note_start(index, r->first_chunk);
    return front;
}

uint32_t tn_region_index_carve(struct tn_region_index *index, uint32_t region, uint32_t lead,
                               uint32_t chunk_count, uint32_t slack_bytes)
{
    TN_ASSERT(index->region_count + 2 <= index->reserved_count);
    TN_ASSERT((uint64_t)lead + chunk_count <= index->regions[region].chunk_count);
    uint32_t old_chunk_count = index->regions[region].chunk_count;
    uint32_t old_first_chunk = index->regions[region].first_chunk;
    uint32_t before = lead > 0 ? cut_front(index, region, lead) : TN_REGION_NONE;

    uint32_t live = region;
    if (index->regions[region].chunk_count > chunk_count) {
        live = cut_front(index, region, chunk_count);
        tn_size_set_change(&index->by_size, index->regions, region, old_chunk_count,
                           old_first_chunk);
    } else {
        tn_size_set_remove(&index->by_size, old_chunk_count, old_first_chunk);
    }
    if (before != TN_REGION_NONE) {
        tn_region_mark_free(&index->regions[before]);
        tn_size_set_insert(&index->by_size, index->regions, before);
    }
    tn_region_mark_live(&index->regions[live], slack_bytes);
    tn_live_map_insert(&index->live, index->regions, live);
    return live;
}

/* --- free ----------------------------------------------------------------------------------- */

/* Takes a region out of the ring; its chunks are a neighbour's now. */
static void dissolve(struct tn_region_index *index, uint32_t region)
{
    struct tn_region *r = &index->regions[region];
    index->regions[r->previous].next = r->next;
    index->regions[r->next].previous = r->previous;
    give_record_back(index, region);
}

/* The chunks of a region that was live go to the free one before it, and so do those of the free
 * one after it, if it is free. */
static void join_to_previous(struct tn_region_index *index, uint32_t region, bool next_is_free)
{
    struct tn_region *r = &index->regions[region];
    struct tn_region *previous = &index->regions[r->previous];
    uint32_t old_chunk_count = previous->chunk_count;
    uint32_t grown = r->previous;
    previous->chunk_count += r->chunk_count;
    forget_start(index, r->first_chunk, previous, &index->regions[r->next]);
    if (next_is_free) {
        uint32_t next = r->next;
        const struct tn_region *n = &index->regions[next];
        tn_size_set_remove(&index->by_size, n->chunk_count, n->first_chunk);
        previous->chunk_count += n->chunk_count;
        forget_start(index, n->first_chunk, previous, &index->regions[n->next]);
        dissolve(index, next);
    }
    dissolve(index, region);
    tn_size_set_change(&index->by_size, index->regions, grown, old_chunk_count,
                       previous->first_chunk);
}

/* The chunks of a region that was live go to the free one after it. */
static void join_to_next(struct tn_region_index *index, uint32_t region)
{
    const struct tn_region *r = &index->regions[region];
    uint32_t grown = r->next;
    struct tn_region *next = &index->regions[grown];
    uint32_t old_chunk_count = next->chunk_count, old_first_chunk = next->first_chunk;
    next->first_chunk = r->first_chunk;
    next->chunk_count += r->chunk_count;
    forget_start(index, old_first_chunk, next, &index->regions[next->next]);
    dissolve(index, region);
    tn_size_set_change(&index->by_size, index->regions, grown, old_chunk_count, old_first_chunk);
}

bool tn_region_index_free(struct tn_region_index *index, uint32_t first_chunk,
                          struct tn_freed *freed_out)
{
    uint32_t region = tn_live_map_take(&index->live, index->regions, first_chunk);
    if (region == TN_REGION_NONE) return false;
    struct tn_region *r = &index->regions[region];
    *freed_out = (struct tn_freed){ r->chunk_count, r->slack_bytes };

    bool previous_is_free = index->regions[r->previous].state == TN_REGION_STATE_FREE;
    bool next_is_free = index->regions[r->next].state == TN_REGION_STATE_FREE;
    if (previous_is_free) {
        join_to_previous(index, region, next_is_free);
    } else if (next_is_free) {
        join_to_next(index, region);
    } else {
        tn_region_mark_free(r);
        tn_size_set_insert(&index->by_size, index->regions, region);
    }
    return true;
}

/* --- queries -------------------------------------------------------------------------------- */

/* The last live region of a group of chunks that starts at `chunk` or before, or TN_REGION_NONE.
 * Tries each chunk: the live map knows only first chunks. */
static uint32_t find_last_start(const struct tn_region_index *index, uint32_t group, uint32_t chunk)
{
    uint32_t first = group * TN_START_GROUP_CHUNKS;
    uint32_t start = (uint32_t)tn_min(chunk, first + TN_START_GROUP_CHUNKS - 1);
    for (;; start--) {
        uint32_t region = tn_live_map_find(&index->live, index->regions, start);
        if (region != TN_REGION_NONE || start == first) return region;
    }
}

/*
 * What a chunk lies in starts in the chunk's own group or in the last one before it in which any
 * region starts. Where no live region starts there, a free one covers the chunk.
 */
uint32_t tn_region_index_find_live(const struct tn_region_index *index, uint32_t chunk)
{
    uint32_t group = group_of(chunk);
    uint32_t region = find_last_start(index, group, chunk);
    if (region == TN_REGION_NONE && group > 0) {
        group = tn_bit_tree_find_previous(&index->starts, group - 1);
        if (group != TN_BIT_TREE_NONE) region = find_last_start(index, group, chunk);
    }
    if (region == TN_REGION_NONE) return TN_REGION_NONE;
    const struct tn_region *r = &index->regions[region];
    return chunk - r->first_chunk < r->chunk_count ? region : TN_REGION_NONE;
}

uint32_t tn_region_index_largest_free(const struct tn_region_index *index)
{
    uint32_t region = tn_size_set_find_largest(&index->by_size);
    return region == TN_REGION_NONE ? 0 : index->regions[region].chunk_count;
}

size_t tn_region_index_metadata_bytes(const struct tn_region_index *index)
{
    return (size_t)index->fresh * sizeof *index->regions +
           tn_size_set_metadata_bytes(&index->by_size) + tn_live_map_metadata_bytes(&index->live) +
           tn_bit_tree_metadata_bytes(&index->starts);
}

/* --- check ---------------------------------------------------------------------------------- */

/* Whether the region's group has its bit, and no group up to the next region's has one. */
static bool starts_are_right(const struct tn_region_index *index, const struct tn_region *region)
{
    uint32_t group = group_of(region->first_chunk);
    if (!tn_bit_tree_has(&index->starts, group)) return false;
    uint32_t next_start = tn_bit_tree_find_next(&index->starts, group + 1);
    const struct tn_region *next = &index->regions[region->next];
    if (next->state == TN_REGION_STATE_HEAD) {
        return next_start == TN_BIT_TREE_NONE ||
               next_start >= group_of(tn_region_end_chunk(region) + TN_START_GROUP_CHUNKS - 1);
    }
    return group_of(next->first_chunk) == group || next_start == group_of(next->first_chunk);
}

static const char *check_region(const struct tn_region_index *index, uint32_t region,
                                uint32_t previous, uint32_t chunks_left)
{
    const struct tn_region *r = &index->regions[region];
    if (r->state != TN_REGION_STATE_FREE && r->state != TN_REGION_STATE_LIVE) {
        return "an unused record is among the regions";
    }
    if (r->chunk_count == 0 || r->chunk_count > chunks_left) {
        return "a region is empty or reaches beyond its static pool";
    }
    if (r->previous != previous) return "a region does not know the one before it";
    if (r->state == TN_REGION_STATE_FREE &&
        index->regions[previous].state == TN_REGION_STATE_FREE) {
        return "two free regions touch";
    }
    return NULL;
}

const char *tn_region_index_check_span(const struct tn_region_index *index, uint32_t head,
                                       uint32_t first_chunk, uint32_t chunk_count)
{
    uint32_t chunk = first_chunk, end_chunk = first_chunk + chunk_count, previous = head;
    if (index->regions[head].state != TN_REGION_STATE_HEAD) return "a head is none";
    for (uint32_t region = index->regions[head].next; region != head;
         region = index->regions[region].next) {
        if (region >= index->fresh) return "a region links to a record that does not exist";
        if (index->regions[region].first_chunk != chunk) {
            return "a region does not start where the one before it ends";
        }
        const char *fault = check_region(index, region, previous, end_chunk - chunk);
        if (fault) return fault;
        if (index->regions[region].next >= index->fresh) {
            return "a region links to a record that does not exist";
        }
        if (!starts_are_right(index, &index->regions[region])) {
            return "the groups in which regions start are wrong";
        }
        chunk = tn_region_end_chunk(&index->regions[region]);
        previous = region;
    }
    if (index->regions[head].previous != previous) return "a head does not know the last region";
    return chunk == end_chunk ? NULL : "the regions do not tile their static pool";
}

const char *tn_region_index_check(const struct tn_region_index *index)
{
    if (!tn_bit_tree_check(&index->starts)) return "the starts' bit tree contradicts itself";
    uint32_t free_count = 0, live_count = 0;
    for (uint32_t region = 0; region < index->fresh; region++) {
        free_count += index->regions[region].state == TN_REGION_STATE_FREE;
        live_count += index->regions[region].state == TN_REGION_STATE_LIVE;
    }
    if (free_count + live_count + index->span_count != index->region_count) {
        return "the region index has lost count";
    }
    const char *fault = tn_size_set_check(&index->by_size, index->regions);
    if (fault) return fault;
    if (index->by_size.region_count != free_count) {
        return "a free region is not in the free set by size";
    }
    fault = tn_live_map_check(&index->live, index->regions);
    if (fault) return fault;
    return index->live.live_count == live_count ? NULL : "a live region is not in the live map";
}
