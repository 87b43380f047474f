/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* region_check: the check of all that a region index promises. */
#include "region_index.h"

/* Returns whether the region's group has its bit, and no group between it and the next region's. */
static bool starts_are_right(const struct tn_region_index *index, const struct tn_region *region)
{
    uint32_t group = tn_start_group_of(region->first_chunk);
    if (!tn_bit_tree_has(&index->starts, group)) return false;
    uint32_t next_start = tn_bit_tree_find_next(&index->starts, group + 1);
    const struct tn_region *next = &index->regions[region->next];
    if (tn_region_is_head(next)) {
        return next_start == TN_BIT_TREE_NONE ||
               next_start >=
                   tn_start_group_of(tn_region_end_chunk(region) + TN_START_GROUP_CHUNKS - 1);
    }
    return tn_start_group_of(next->first_chunk) == group ||
           next_start == tn_start_group_of(next->first_chunk);
}

static const char *check_region(const struct tn_region_index *index, uint32_t region,
                                uint32_t previous, uint32_t chunks_left)
{
    const struct tn_region *r = &index->regions[region];
    if (r->state == TN_REGION_STATE_UNUSED) return "an unused record is among the regions";
    if (r->chunk_count == 0 || r->chunk_count > chunks_left) {
        return "a region is empty or reaches beyond its static pool";
    }
    if (r->previous != previous) return "a region's link to the one before it is wrong";
    if (r->state == TN_REGION_STATE_FREE &&
        tn_region_is_free_on(&index->regions[previous], tn_region_dependency(r).streams)) {
        return "two free regions that depend on the same streams touch";
    }
    if (tn_region_is_void_at_rest(r) && tn_region_is_void_at_rest(&index->regions[previous])) {
        return "two voids at rest touch";
    }
    return NULL;
}

const char *tn_region_index_check_span(const struct tn_region_index *index, uint32_t head,
                                       uint32_t first_chunk, uint32_t chunk_count)
{
    uint32_t chunk = first_chunk, end_chunk = first_chunk + chunk_count, previous = head;
    if (!tn_region_is_head(&index->regions[head])) return "a span's head is not a head";
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
    if (index->regions[head].previous != previous)
        return "a head's link to the last region is wrong";
    return chunk == end_chunk ? NULL : "the regions do not tile their static pool";
}

/* Whether all regions that a set finds belong there. Requires: the set is sound. */
static bool are_in_their_set(const struct tn_region_index *index, unsigned set)
{
    const struct tn_free_set *free_set = &index->by_size[set];
    uint32_t region = tn_free_set_find(free_set, index->regions, 1);
    for (; region != TN_REGION_NONE;
         region = tn_free_set_find_after(free_set, index->regions, region, 1)) {
        const struct tn_region *r = &index->regions[region];
        if (tn_region_index_set_of(index, tn_region_dependency(r).streams, r->first_chunk) != set)
            return false;
    }
    return true;
}

/* Checks that each free region is in the set of its dependency. */
static const char *check_free_sets(const struct tn_region_index *index, uint32_t free_count)
{
    uint32_t counts[TN_FREE_SET_COUNT] = { 0 }, pending_chunk_count = 0;
    for (uint32_t region = 0; region < index->fresh; region++) {
        const struct tn_region *r = &index->regions[region];
        if (r->state != TN_REGION_STATE_FREE) continue;
        uint32_t streams = tn_region_dependency(r).streams;
        unsigned set = tn_region_index_set_of(index, streams, r->first_chunk);
        counts[set]++;
        if (streams != 0) pending_chunk_count += r->chunk_count;
    }
    for (unsigned set = 0; set < TN_FREE_SET_COUNT; set++) {
        bool is_there = tn_region_index_has_set(index, set);
        const char *fault =
            is_there ? tn_free_set_check(&index->by_size[set], index->regions) : NULL;
        if (fault) return fault;
        if (counts[set] != (is_there ? tn_free_set_region_count(&index->by_size[set]) : 0) ||
            (is_there && !are_in_their_set(index, set)))
            return "a free region is not in the free set by size of its dependency";
        free_count -= counts[set];
    }
    if (free_count != 0) return "a free region is in no free set by size";
    return pending_chunk_count == index->pending_chunk_count
               ? NULL
               : "the count of pending chunks is wrong";
}

/* Checks that the list has all voids at rest, in order. */
static const char *check_voids(const struct tn_region_index *index, uint32_t resting_count)
{
    uint64_t end_chunk = 0;
    for (uint32_t region = index->first_void; region != TN_REGION_NONE;
         region = index->regions[region].link) {
        if (region >= index->fresh || !tn_region_is_void_at_rest(&index->regions[region]))
            return "the list of voids holds a region that is not a void";
        if (index->regions[region].first_chunk < end_chunk) return "the voids are not in order";
        end_chunk = tn_region_end_chunk(&index->regions[region]);
        if (resting_count-- == 0) break;
    }
    return resting_count == 0 ? NULL : "a void is not in the list of voids";
}

const char *tn_region_index_check(const struct tn_region_index *index)
{
    if (!tn_bit_tree_check(&index->starts)) return "the starts' bit tree is inconsistent";
    uint32_t free_count = 0, live_count = 0, void_count = 0, resting_count = 0;
    for (uint32_t region = 0; region < index->fresh; region++) {
        const struct tn_region *r = &index->regions[region];
        free_count += r->state == TN_REGION_STATE_FREE;
        live_count += r->state == TN_REGION_STATE_LIVE;
        void_count += r->state == TN_REGION_STATE_VOID;
        resting_count += tn_region_is_void_at_rest(r);
    }
    if (free_count + live_count + void_count != index->region_count ||
        void_count != index->void_count + index->span_count) {
        return "the counts of the region index are wrong";
    }
    const char *fault = check_voids(index, resting_count);
    if (fault) return fault;
    fault = check_free_sets(index, free_count);
    if (fault) return fault;
    fault = tn_live_map_check(&index->live, index->regions);
    if (fault) return fault;
    return tn_live_map_live_count(&index->live) == live_count
               ? NULL
               : "a live region is not in the live map";
}
