/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * fit_last_freed: exact best fit; among equals what was freed last, whose memory the device's caches are
 * the likeliest to have still.
 *
 *     filled   .1...1.........1....1......          which bins are not empty
 *     bins     1 2 3 ...      │         16383       giants
 *                             │                     [ (20000, 94) (20000, 7) (1048576, 64) ]
 *                    freed last ◄──► freed before ◄──► ...
 *
 * A bin for each count, with a list. What a cut leaves over counts as freed when it was cut, and what
 * has coalesced as freed then.
 *
 * Cost: O(1), but for giants, which are searched for in a sorted array and shift it: at most one entry
 * for each 16384 chunks of the pool.
 * Memory: 66 KB, of which only what is in use is touched.
 * It cannot promise that what is live decides where a request comes to lie, as best fit by index does: the
 * order of the frees has its part. Nor does it gather what is live at low indexes.
 * Always true: a bin's bit is set if and only if its list is not empty; later frees stand before earlier
 * ones; giants ascend by count, and descend by time among equals.
 */
#include "free_set.h"

#include <string.h>

#include "../base/arith.h"
#include "../base/host_memory.h"

#include "free_list.h"

#define BIN_COUNT ((uint32_t)16384)

/* --- life ------------------------------------------------------------------------------------ */

static bool init(struct tn_free_set *set)
{
    struct tn_last_freed_set *own = &set->last_freed;
    own->bins = tn_host_memory_alloc(BIN_COUNT * sizeof *own->bins);
    if (!own->bins) return false;
    if (tn_bit_tree_init(&own->filled, BIN_COUNT)) return true;
    tn_host_memory_free(own->bins);
    return false;
}

static void fini(struct tn_free_set *set)
{
    struct tn_last_freed_set *own = &set->last_freed;
    tn_bit_tree_fini(&own->filled);
    tn_host_memory_free(own->bins);
    tn_host_memory_free(own->giants);
}

static bool reserve(struct tn_free_set *set, uint32_t region_count, uint32_t chunk_count)
{
    struct tn_last_freed_set *own = &set->last_freed;
    void *giants = own->giants;
    uint32_t giant_count_max = (uint32_t)tn_min(region_count, chunk_count / BIN_COUNT);
    if (!tn_host_memory_grow_array(&giants, &own->giant_capacity, own->giant_count, giant_count_max,
                                   sizeof *own->giants)) {
        return false;
    }
    own->giants = giants;
    return true;
}

/* --- giants ---------------------------------------------------------------------------------- */

static bool comes_before(const struct tn_last_freed_giant *a, const struct tn_last_freed_giant *b)
{
    return a->chunk_count != b->chunk_count ? a->chunk_count < b->chunk_count
                                            : a->freed_at > b->freed_at;
}

/* How many giants come before this one, which need not be there. */
static uint32_t place_of_giant(const struct tn_last_freed_set *own,
                               struct tn_last_freed_giant giant)
{
    uint32_t low = 0, high = own->giant_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (comes_before(&own->giants[middle], &giant)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static uint32_t place_of(const struct tn_free_set *set, uint32_t region, uint32_t chunk_count)
{
    const struct tn_last_freed_set *own = &set->last_freed;
    uint32_t place =
        place_of_giant(own, (struct tn_last_freed_giant){ chunk_count, region,
                                                          set->nodes->nodes[region].freed_at });
    TN_ASSERT(place < own->giant_count && own->giants[place].region == region);
    return place;
}

static void insert_giant(struct tn_free_set *set, uint32_t chunk_count, uint32_t region)
{
    struct tn_last_freed_set *own = &set->last_freed;
    TN_ASSERT(own->giant_count < own->giant_capacity && region < set->nodes->capacity);
    struct tn_last_freed_giant giant = { chunk_count, region, set->nodes->now++ };
    set->nodes->nodes[region].freed_at = giant.freed_at;
    uint32_t place = place_of_giant(own, giant);
    struct tn_last_freed_giant *at = &own->giants[place];
    memmove(at + 1, at, (own->giant_count - place) * sizeof *at);
    *at = giant;
    own->giant_count++;
}

static void remove_giant(struct tn_free_set *set, uint32_t chunk_count, uint32_t region)
{
    struct tn_last_freed_set *own = &set->last_freed;
    uint32_t place = place_of(set, region, chunk_count);
    struct tn_last_freed_giant *at = &own->giants[place];
    own->giant_count--;
    memmove(at, at + 1, (own->giant_count - place) * sizeof *at);
}

/* --- insert and remove ----------------------------------------------------------------------- */

static void insert(struct tn_free_set *set, const struct tn_region *regions, uint32_t region)
{
    struct tn_last_freed_set *own = &set->last_freed;
    uint32_t bin = regions[region].chunk_count;
    if (bin >= BIN_COUNT) {
        insert_giant(set, bin, region);
        return;
    }
    if (!tn_bit_tree_has(&own->filled, bin)) {
        own->bins[bin] = TN_REGION_NONE;
        tn_bit_tree_set(&own->filled, bin);
    }
    tn_free_list_push(set->nodes, &own->bins[bin], region);
}

static void remove_region(struct tn_free_set *set, const struct tn_region *regions, uint32_t region,
                          uint32_t chunk_count)
{
    (void)regions;
    struct tn_last_freed_set *own = &set->last_freed;
    if (chunk_count >= BIN_COUNT) {
        remove_giant(set, chunk_count, region);
        return;
    }
    tn_free_list_remove(set->nodes, &own->bins[chunk_count], region);
    if (own->bins[chunk_count] == TN_REGION_NONE) tn_bit_tree_clear(&own->filled, chunk_count);
}

static void change(struct tn_free_set *set, const struct tn_region *regions, uint32_t region,
                   uint32_t old_chunk_count)
{
    remove_region(set, regions, region, old_chunk_count);
    insert(set, regions, region);
}

/* --- queries --------------------------------------------------------------------------------- */

static uint32_t find(const struct tn_free_set *set, const struct tn_region *regions,
                     uint32_t chunk_count)
{
    (void)regions;
    const struct tn_last_freed_set *own = &set->last_freed;
    uint32_t bin = tn_bit_tree_find_next(&own->filled, chunk_count);
    if (bin != TN_BIT_TREE_NONE) return own->bins[bin];
    uint32_t place = place_of_giant(
        own, (struct tn_last_freed_giant){ chunk_count, TN_REGION_NONE, UINT64_MAX });
    return place < own->giant_count ? own->giants[place].region : TN_REGION_NONE;
}

static uint32_t find_after(const struct tn_free_set *set, const struct tn_region *regions,
                           uint32_t region, uint32_t chunk_count)
{
    (void)chunk_count; /* what comes later is larger yet */
    const struct tn_last_freed_set *own = &set->last_freed;
    uint32_t count = regions[region].chunk_count;
    if (count >= BIN_COUNT) {
        uint32_t place = place_of(set, region, count) + 1;
        return place < own->giant_count ? own->giants[place].region : TN_REGION_NONE;
    }
    uint32_t next = set->nodes->nodes[region].next;
    return next != TN_REGION_NONE ? next : find(set, regions, count + 1);
}

static uint32_t find_largest(const struct tn_free_set *set, const struct tn_region *regions)
{
    (void)regions;
    const struct tn_last_freed_set *own = &set->last_freed;
    if (own->giant_count > 0) return own->giants[own->giant_count - 1].region;
    uint32_t bin = tn_bit_tree_find_previous(&own->filled, BIN_COUNT - 1);
    return bin == TN_BIT_TREE_NONE ? TN_REGION_NONE : own->bins[bin];
}

static bool is_better(const struct tn_free_set *set, const struct tn_region *regions, uint32_t a,
                      uint32_t b)
{
    uint32_t x = regions[a].chunk_count, y = regions[b].chunk_count;
    const union tn_free_node *nodes = set->nodes->nodes;
    return x != y ? x < y : nodes[a].freed_at > nodes[b].freed_at;
}

static size_t metadata_bytes(const struct tn_free_set *set)
{
    const struct tn_last_freed_set *own = &set->last_freed;
    return BIN_COUNT * sizeof *own->bins + tn_bit_tree_metadata_bytes(&own->filled) +
           (size_t)own->giant_count * sizeof *own->giants;
}

/* --- check ----------------------------------------------------------------------------------- */

static const char *check_giants(const struct tn_free_set *set, const struct tn_region *regions)
{
    const struct tn_last_freed_set *own = &set->last_freed;
    for (uint32_t i = 0; i < own->giant_count; i++) {
        const struct tn_last_freed_giant *giant = &own->giants[i];
        const struct tn_region *region = &regions[giant->region];
        if (region->state != TN_REGION_STATE_FREE || giant->chunk_count < BIN_COUNT ||
            region->chunk_count != giant->chunk_count ||
            set->nodes->nodes[giant->region].freed_at != giant->freed_at) {
            return "a giant in the free set is not what it was";
        }
        if (i > 0 && !comes_before(&own->giants[i - 1], giant))
            return "the giants of the free set are not in order";
    }
    return NULL;
}

/* Counts the regions of a bin. */
static const char *check_bin(const struct tn_free_set *set, const struct tn_region *regions,
                             uint32_t bin, uint32_t *count)
{
    uint32_t previous = TN_REGION_NONE;
    for (uint32_t region = set->last_freed.bins[bin]; region != TN_REGION_NONE;
         region = set->nodes->nodes[region].next) {
        if (!tn_free_list_is_valid(set->nodes, previous, region))
            return "a list of the free set is damaged";
        if (regions[region].state != TN_REGION_STATE_FREE)
            return "a region in the free set is not free";
        if (regions[region].chunk_count != bin) return "a region is in the wrong bin";
        ++*count;
        previous = region;
    }
    return previous == TN_REGION_NONE ? "an empty bin counts as filled" : NULL;
}

static const char *check(const struct tn_free_set *set, const struct tn_region *regions)
{
    const struct tn_last_freed_set *own = &set->last_freed;
    if (!tn_bit_tree_check(&own->filled)) return "the bins' bit tree contradicts itself";
    uint32_t count = own->giant_count;
    for (uint32_t bin = tn_bit_tree_find_next(&own->filled, 0); bin != TN_BIT_TREE_NONE;
         bin = tn_bit_tree_find_next(&own->filled, bin + 1)) {
        const char *fault = check_bin(set, regions, bin, &count);
        if (fault) return fault;
    }
    if (count != set->region_count) return "the free set has lost count";
    return check_giants(set, regions);
}

const struct tn_fit_operations tn_fit_last_freed = {
    .init = init,
    .fini = fini,
    .reserve = reserve,
    .insert = insert,
    .remove = remove_region,
    .change = change,
    .find = find,
    .find_after = find_after,
    .find_largest = find_largest,
    .is_better = is_better,
    .metadata_bytes = metadata_bytes,
    .check = check,
};
