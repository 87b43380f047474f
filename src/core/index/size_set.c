/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* size_set: bins of several regions, and giants. */
#include "size_set.h"

#include <string.h>

#include "../../base/arith.h"
#include "../../base/compiler.h"
#include "../../base/host_memory.h"

#define IS_TREE   TN_SIZE_SET_IS_TREE
#define BIN_COUNT TN_SIZE_SET_BIN_COUNT

/* --- life ----------------------------------------------------------------------------------- */

bool tn_size_set_init(struct tn_size_set *set, struct tn_key_tree_store *trees)
{
    *set = (struct tn_size_set){ .trees = trees };
    /* Zeroed, since the contents of empty bins are read, too. The pages stay untouched. */
    set->bins = tn_host_memory_alloc_zeroed(sizeof *set->bins);
    if (!set->bins) return false;
    tn_bit_table_init(&set->bins->filled);
    set->bins->contents[BIN_COUNT] = TN_REGION_NONE;
    return true;
}

void tn_size_set_fini(struct tn_size_set *set)
{
    tn_host_memory_free(set->bins);
    tn_host_memory_free(set->giants);
}

/* A tree has at least two regions. A tree of up to 15 is one node; one of n has at most n / 5 leaves, n / 20
 * nodes above them and a root. So the nodes are at most half the regions, and at most a quarter of them plus
 * one a bin. That holds for all sets of a store together. */
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
    if (giant_count_max == 0) return true;
    void *giants = set->giants;
    if (!tn_host_memory_grow_array(&giants, &set->giant_capacity, set->giant_count,
                                   giant_count_max + 1, sizeof *set->giants)) {
        return false;
    }
    set->giants = giants;
    set->giants[set->giant_count] = (struct tn_giant){ UINT64_MAX, TN_REGION_NONE };
    return true;
}

/* --- giants --------------------------------------------------------------------------------- */

static uint64_t key_of_region(const struct tn_region *region)
{
    return tn_giant_key(region->chunk_count, region->first_chunk);
}

/* Returns the number of giants with a lesser key. */
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
    return set->giants ? set->giants[place_of_giant(set, key)].region : TN_REGION_NONE;
}

static void note_first_giant(struct tn_size_set *set)
{
    set->bins->contents[BIN_COUNT] = set->giants[0].region;
}

static TN_NOINLINE void insert_giant(struct tn_size_set *set, uint64_t key, uint32_t region)
{
    TN_ASSERT(set->giant_count + 1 < set->giant_capacity);
    uint32_t place = place_of_giant(set, key);
    struct tn_giant *at = &set->giants[place];
    set->giant_count++;
    memmove(at + 1, at, (set->giant_count - place) * sizeof *at);
    *at = (struct tn_giant){ key, region };
    note_first_giant(set);
}

static TN_NOINLINE void remove_giant(struct tn_size_set *set, uint64_t key)
{
    uint32_t place = place_of_giant(set, key);
    struct tn_giant *at = &set->giants[place];
    TN_ASSERT(place < set->giant_count && at->key == key);
    memmove(at, at + 1, (set->giant_count - place) * sizeof *at);
    set->giant_count--;
    note_first_giant(set);
}

void tn_size_set_change_giant(struct tn_size_set *set, const struct tn_region *regions,
                              uint32_t region, uint32_t old_chunk_count, uint32_t old_first_chunk)
{
    uint64_t key = key_of_region(&regions[region]);
    uint64_t old_key = tn_giant_key(old_chunk_count, old_first_chunk);
    if (old_chunk_count >= BIN_COUNT && regions[region].chunk_count >= BIN_COUNT) {
        /* A giant that shrinks or grows a little mostly stays between its neighbours. */
        uint32_t place = place_of_giant(set, old_key);
        TN_ASSERT(place < set->giant_count && set->giants[place].key == old_key);
        if ((place == 0 || set->giants[place - 1].key < key) && key < set->giants[place + 1].key) {
            set->giants[place].key = key;
            return;
        }
    }
    tn_size_set_take_out(set, old_chunk_count, old_first_chunk);
    tn_size_set_put_in(set, regions, region);
}

/* --- bins of several regions ---------------------------------------------------------------- */

static int32_t tree_key_of(uint32_t first_chunk)
{
    TN_ASSERT(first_chunk < TN_CHUNK_COUNT_MAX);
    return (int32_t)first_chunk;
}

/* Makes a tree of two from a bin with one region. */
static TN_NOINLINE void insert_second(struct tn_size_set *set, const struct tn_region *first,
                                      const struct tn_region *second, uint32_t region)
{
    uint32_t *content = &set->bins->contents[second->chunk_count];
    uint32_t root = tn_key_tree_create(set->trees, tree_key_of(first->first_chunk), *content);
    tn_key_tree_add_to_leaf(&set->trees->nodes[root], tree_key_of(second->first_chunk), region);
    *content = IS_TREE + root;
}

/* Removes the region with this key from a tree of two. The bin keeps the other one. */
static TN_NOINLINE void remove_one_of_two(struct tn_key_tree_store *trees, uint32_t *content,
                                          int32_t key)
{
    uint32_t root = *content - IS_TREE;
    const struct tn_key_tree_node *leaf = &trees->nodes[root];
    TN_ASSERT(leaf->form == 2 && (leaf->keys[0] == key || leaf->keys[1] == key));
    *content = leaf->links[leaf->keys[0] == key];
    tn_key_tree_discard(trees, root);
}

/* Everything but a leaf with room is a tail call, so that this function needs no stack frame. */
void tn_size_set_insert_slowly(struct tn_size_set *set, const struct tn_region *regions,
                               uint32_t region)
{
    const struct tn_region *inserted = &regions[region];
    if (inserted->chunk_count >= BIN_COUNT) {
        insert_giant(set, key_of_region(inserted), region);
        return;
    }
    uint32_t content = set->bins->contents[inserted->chunk_count];
    if (content & IS_TREE) {
        tn_key_tree_insert(set->trees, content - IS_TREE, tree_key_of(inserted->first_chunk),
                           region);
    } else {
        insert_second(set, &regions[content], inserted, region);
    }
}

void tn_size_set_remove_slowly(struct tn_size_set *set, uint32_t chunk_count, uint32_t first_chunk)
{
    if (chunk_count >= BIN_COUNT) {
        remove_giant(set, tn_giant_key(chunk_count, first_chunk));
        return;
    }
    uint32_t *content = &set->bins->contents[chunk_count];
    if (set->trees->nodes[*content - IS_TREE].form == 2) {
        remove_one_of_two(set->trees, content, tree_key_of(first_chunk));
    } else {
        tn_key_tree_remove(set->trees, *content - IS_TREE, tree_key_of(first_chunk));
    }
}

/* --- queries -------------------------------------------------------------------------------- */

uint32_t tn_size_set_find_after(const struct tn_size_set *set, const struct tn_region *regions,
                                uint32_t chunk_count, uint32_t first_chunk)
{
    if (chunk_count >= BIN_COUNT) {
        return tn_size_set_find_giant(set, tn_giant_key(chunk_count, first_chunk) + 1);
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

/* Checks the regions of a tree one after the other. A region's key is its first chunk if a search from there
 * finds it and a search from the next chunk does not. */
static const char *check_tree(const struct tn_size_set *set, const struct tn_region *regions,
                              uint32_t bin, size_t *count_out)
{
    const struct tn_key_tree_store *trees = set->trees;
    uint32_t root = set->bins->contents[bin] - IS_TREE;
    if (!tn_key_tree_check(trees, root, count_out)) {
        return "a key tree of the free set by size is damaged";
    }
    if (*count_out < 2) return "a key tree of the free set by size holds fewer than two regions";

    int32_t from = 0;
    for (size_t i = 0; i < *count_out; i++) {
        uint32_t region = tn_key_tree_find_at_least(trees, root, from);
        if (region == TN_KEY_TREE_NONE) return "a region is twice in the free set by size";
        const char *fault = check_binned(&regions[region], bin);
        if (fault) return fault;
        int32_t key = tree_key_of(regions[region].first_chunk);
        if (key < from || tn_key_tree_find_at_least(trees, root, key) != region ||
            tn_key_tree_find_at_least(trees, root, key + 1) == region) {
            return "a region has a wrong key in the free set by size";
        }
        from = key + 1;
    }
    return NULL;
}

/* Checks and counts the regions of one bin. Returns NULL, or the fault. */
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
            return "a giant in the free set by size does not match its region";
        }
        if (i > 0 && set->giants[i - 1].key >= giant->key) {
            return "the giants of the free set by size do not ascend";
        }
    }
    if (set->giants && set->giants[set->giant_count].key != UINT64_MAX)
        return "the giants of the free set by size have no end mark";
    if (set->bins->contents[BIN_COUNT] != tn_size_set_find_giant(set, 0))
        return "the first giant of the free set by size is wrong";
    return NULL;
}

const char *tn_size_set_check(const struct tn_size_set *set, const struct tn_region *regions)
{
    if (!tn_bit_table_check(&set->bins->filled)) return "the bins' bit table is inconsistent";
    size_t total = set->giant_count;
    for (uint32_t bin = tn_bit_table_find_next(&set->bins->filled, 0); bin < BIN_COUNT;
         bin = tn_bit_table_find_next(&set->bins->filled, bin + 1)) {
        size_t count;
        const char *fault = check_bin(set, regions, bin, &count);
        if (fault) return fault;
        total += count;
    }
    if (total != set->region_count) return "the count of the free set by size is wrong";
    return check_giants(set, regions);
}
