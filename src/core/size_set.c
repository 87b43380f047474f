/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* size_set: bins of several regions, and giants. */
#include "size_set.h"

#include <string.h>

#include "../base/arith.h"
#include "../base/host_memory.h"

#define IS_TREE   TN_SIZE_SET_IS_TREE
#define BIN_COUNT TN_SIZE_SET_BIN_COUNT

/* --- life ----------------------------------------------------------------------------------- */

bool tn_size_set_init(struct tn_size_set *set, struct tn_key_tree_store *trees)
{
    *set = (struct tn_size_set){ .trees = trees };
    /* Zeroed because an empty bin's content is looked at, too; so the pages come untouched. */
    set->bins = tn_host_memory_alloc_zeroed(sizeof *set->bins);
    return set->bins != NULL;
}

void tn_size_set_fini(struct tn_size_set *set)
{
    tn_host_memory_free(set->bins);
    tn_host_memory_free(set->giants);
}

/*
 * A tree has two regions or more. One of up to 15 is one node; one of n has at most n / 5 leaves,
 * n / 20 nodes above them and a root. So the nodes are never more than half the regions, nor more
 * than a quarter of them and one a bin. That holds for all sets of a store together.
 */
bool tn_size_set_reserve_trees(struct tn_key_tree_store *trees, uint32_t set_count,
                               uint32_t region_count)
{
    size_t half = region_count / 2;
    size_t quarter = region_count / 4 + (size_t)set_count * BIN_COUNT;
    return tn_key_tree_store_reserve(trees, (uint32_t)tn_min(half, quarter));
}

bool tn_size_set_reserve_giants(struct tn_size_set *set, uint32_t region_count,
                                uint32_t chunk_count)
{
    uint32_t giant_count_max = (uint32_t)tn_min(region_count, chunk_count / BIN_COUNT);
    void *giants = set->giants;
    if (!tn_host_memory_grow_array(&giants, &set->giant_capacity, set->giant_count, giant_count_max,
                                   sizeof *set->giants)) {
        return false;
    }
    set->giants = giants;
    return true;
}

/* --- giants --------------------------------------------------------------------------------- */

static uint64_t key_of(uint32_t chunk_count, uint32_t first_chunk)
{
    return (uint64_t)chunk_count << 32 | first_chunk;
}

static uint64_t key_of_region(const struct tn_region *region)
{
    return key_of(region->chunk_count, region->first_chunk);
}

/* How many giants have a lesser key. */
static uint32_t place_of_giant(const struct tn_size_set *set, uint64_t key)
{
    uint32_t low = 0, high = set->giant_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (set->giants[middle].key < key) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

uint32_t tn_size_set_find_giant(const struct tn_size_set *set, uint64_t key)
{
    uint32_t place = place_of_giant(set, key);
    return place < set->giant_count ? set->giants[place].region : TN_REGION_NONE;
}

static void insert_giant(struct tn_size_set *set, uint64_t key, uint32_t region)
{
    TN_ASSERT(set->giant_count < set->giant_capacity);
    uint32_t place = place_of_giant(set, key);
    struct tn_giant *at = &set->giants[place];
    memmove(at + 1, at, (set->giant_count - place) * sizeof *at);
    *at = (struct tn_giant){ key, region };
    set->giant_count++;
}

static void remove_giant(struct tn_size_set *set, uint64_t key)
{
    uint32_t place = place_of_giant(set, key);
    struct tn_giant *at = &set->giants[place];
    TN_ASSERT(place < set->giant_count && at->key == key);
    set->giant_count--;
    memmove(at, at + 1, (set->giant_count - place) * sizeof *at);
}

void tn_size_set_change_giant(struct tn_size_set *set, const struct tn_region *regions,
                              uint32_t region, uint32_t old_chunk_count, uint32_t old_first_chunk)
{
    /* A giant that is cut or grown a little mostly stays between the same two. */
    uint64_t key = key_of_region(&regions[region]);
    uint32_t place = place_of_giant(set, key_of(old_chunk_count, old_first_chunk));
    bool is_above = place == 0 || set->giants[place - 1].key < key;
    bool is_below = place + 1 == set->giant_count || key < set->giants[place + 1].key;
    if (is_above && is_below) {
        set->giants[place].key = key;
        return;
    }
    remove_giant(set, key_of(old_chunk_count, old_first_chunk));
    insert_giant(set, key, region);
}

/* --- bins of several regions ---------------------------------------------------------------- */

static int32_t tree_key_of(uint32_t first_chunk)
{
    TN_ASSERT(first_chunk < TN_CHUNK_COUNT_MAX);
    return (int32_t)first_chunk;
}

void tn_size_set_insert_slowly(struct tn_size_set *set, const struct tn_region *regions,
                               uint32_t region)
{
    uint32_t bin = regions[region].chunk_count;
    if (bin >= BIN_COUNT) {
        insert_giant(set, key_of_region(&regions[region]), region);
        return;
    }
    uint32_t content = set->bins->contents[bin];
    uint32_t root = content - IS_TREE;
    if (!(content & IS_TREE)) {
        root = tn_key_tree_create(set->trees, tree_key_of(regions[content].first_chunk), content);
    }
    root = tn_key_tree_insert(set->trees, root, tree_key_of(regions[region].first_chunk), region);
    set->bins->contents[bin] = IS_TREE + root;
}

void tn_size_set_remove_slowly(struct tn_size_set *set, uint32_t chunk_count, uint32_t first_chunk)
{
    if (chunk_count >= BIN_COUNT) {
        remove_giant(set, key_of(chunk_count, first_chunk));
        return;
    }
    uint32_t root = set->bins->contents[chunk_count] - IS_TREE;
    root = tn_key_tree_remove(set->trees, root, tree_key_of(first_chunk));
    const struct tn_key_tree_node *node = &set->trees->nodes[root];
    if (node->count > 1) {
        set->bins->contents[chunk_count] = IS_TREE + root;
        return;
    }
    set->bins->contents[chunk_count] = node->links[0];
    tn_key_tree_discard_leaf(set->trees, root);
}

/* --- queries -------------------------------------------------------------------------------- */

uint32_t tn_size_set_find_after(const struct tn_size_set *set, const struct tn_region *regions,
                                uint32_t chunk_count, uint32_t first_chunk)
{
    if (chunk_count >= BIN_COUNT) {
        return tn_size_set_find_giant(set, key_of(chunk_count, first_chunk) + 1);
    }
    uint32_t content = set->bins->contents[chunk_count];
    uint32_t found = TN_REGION_NONE;
    if (content & IS_TREE) {
        found =
            tn_key_tree_find_at_least(set->trees, content - IS_TREE, tree_key_of(first_chunk) + 1);
    } else if (tn_bit_table_has(&set->bins->filled, chunk_count) &&
               regions[content].first_chunk > first_chunk) {
        found = content;
    }
    return found != TN_REGION_NONE ? found : tn_size_set_find(set, chunk_count + 1);
}

uint32_t tn_size_set_find_largest(const struct tn_size_set *set)
{
    if (set->giant_count > 0) return set->giants[set->giant_count - 1].region;
    uint32_t bin = tn_bit_table_find_last(&set->bins->filled);
    return bin == TN_BIT_TABLE_NONE ? TN_REGION_NONE : tn_size_set_find(set, bin);
}

size_t tn_size_set_metadata_bytes(const struct tn_size_set *set)
{
    return sizeof *set->bins + (size_t)set->giant_count * sizeof *set->giants;
}

/* --- check ---------------------------------------------------------------------------------- */

static const char *check_binned(const struct tn_region *region, uint32_t bin)
{
    if (region->state != TN_REGION_STATE_FREE)
        return "a region in the free set by size is not free";
    if (region->chunk_count != bin) {
        return "a region is in the wrong bin of the free set by size";
    }
    return NULL;
}

/* The regions of a tree one after the other. A region's key is its first chunk if the search from
 * there on finds it and the search from behind there does not. */
static const char *check_tree(const struct tn_size_set *set, const struct tn_region *regions,
                              uint32_t bin, size_t *count_out)
{
    const struct tn_key_tree_store *trees = set->trees;
    uint32_t root = set->bins->contents[bin] - IS_TREE;
    if (!tn_key_tree_check(trees, root, count_out)) {
        return "a key tree of the free set by size is damaged";
    }
    if (*count_out < 2) return "a key tree of the free set by size holds fewer than two";

    int32_t from = 0;
    for (size_t i = 0; i < *count_out; i++) {
        uint32_t region = tn_key_tree_find_at_least(trees, root, from);
        if (region == TN_KEY_TREE_NONE) return "a region stands twice in the free set by size";
        const char *fault = check_binned(&regions[region], bin);
        if (fault) return fault;
        int32_t key = tree_key_of(regions[region].first_chunk);
        if (key < from || tn_key_tree_find_at_least(trees, root, key) != region ||
            tn_key_tree_find_at_least(trees, root, key + 1) == region) {
            return "a region stands under a wrong key in the free set by size";
        }
        from = key + 1;
    }
    return NULL;
}

/* Counts the regions of one bin, each of which must belong there. NULL, or what is wrong. */
static const char *check_bin(const struct tn_size_set *set, const struct tn_region *regions,
                             uint32_t bin, size_t *count_out)
{
    uint32_t content = set->bins->contents[bin];
    if (content & IS_TREE) return check_tree(set, regions, bin, count_out);
    *count_out = 1;
    return check_binned(&regions[content], bin);
}

static const char *check_giants(const struct tn_size_set *set, const struct tn_region *regions)
{
    for (uint32_t i = 0; i < set->giant_count; i++) {
        const struct tn_giant *giant = &set->giants[i];
        const struct tn_region *region = &regions[giant->region];
        if (region->state != TN_REGION_STATE_FREE || key_of_region(region) != giant->key ||
            region->chunk_count < BIN_COUNT) {
            return "a giant in the free set by size is not what it was";
        }
        if (i > 0 && set->giants[i - 1].key >= giant->key) {
            return "the giants of the free set by size do not ascend";
        }
    }
    return NULL;
}

const char *tn_size_set_check(const struct tn_size_set *set, const struct tn_region *regions)
{
    if (!tn_bit_table_check(&set->bins->filled)) return "the bins' bit table contradicts itself";
    size_t total = set->giant_count;
    for (uint32_t bin = tn_bit_table_find_next(&set->bins->filled, 0); bin != TN_BIT_TABLE_NONE;
         bin = tn_bit_table_find_next(&set->bins->filled, bin + 1)) {
        size_t count;
        const char *fault = check_bin(set, regions, bin, &count);
        if (fault) return fault;
        total += count;
    }
    if (total != set->region_count) return "the free set by size has lost count";
    return check_giants(set, regions);
}
