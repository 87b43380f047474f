/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * size_set: the free set by size: the free regions of a pool, ordered by chunk count, then by first chunk.
 * Best fit is the first one that is large enough.
 *
 * Each count up to 16383 has a bin. A bit table knows which bins are not empty. Most bins hold one region,
 * and store only its number; the others hold a key tree by first chunk. Regions of more chunks are giants.
 * They are few, so they stand in one sorted array.
 *
 *     filled   .1...1.........1....1......          which bins are not empty
 *     bins     1 2 3 ...      │         16383  │    giants
 *                │            │                └──► [ (20000, 7) (20000, 94) (1048576, 64) ]
 *           one region    key tree: first chunk ──► region
 *
 * Cost: find takes O(1) in most cases, a word or two of bits and one region; else O(log n) in the regions of
 * one count. So do insert, remove and change, except for giants: those shift an array of at most one entry
 * for each 16384 chunks of the pool.
 * Memory: 66 KB, of which only the used pages are touched. A bin of several regions takes 128 bytes, and each
 * region in it about 13 bytes, from a store that several sets share.
 * Only init and reserve allocate. The other calls require reserved room and cannot fail.
 * Threads: no locking; the pool locks.
 * Always true: a bin's bit is set if and only if it is not empty; a region is in the bin of its count and in
 * no other; a key tree holds at least two regions; giants ascend.
 */
#ifndef TN_SIZE_SET_H
#define TN_SIZE_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../base/sets/bit_table.h"
#include "../../base/sets/key_tree.h"

#include "region.h"

/* Regions of at least this many chunks are giants; for others the count is the number of the bin. */
#define TN_SIZE_SET_BIN_COUNT ((uint32_t)TN_BIT_TABLE_SIZE)

/* Record numbers are lower: a pool has at most TN_CHUNK_COUNT_MAX chunks. */
#define TN_SIZE_SET_IS_TREE ((uint32_t)1 << 31)

struct tn_giant {
    uint64_t key; /* chunk count and first chunk */
    uint32_t region;
};

struct tn_size_bins {
    struct tn_bit_table filled;
    /* A region; or IS_TREE + a tree's root. The last entry: the first giant, or TN_REGION_NONE. */
    uint32_t contents[TN_SIZE_SET_BIN_COUNT + 1];
};

struct tn_size_set {
    struct tn_size_bins *bins;
    struct tn_key_tree_store *trees; /* shared with the pool's other sets */
    struct tn_giant *giants;         /* sorted, with an end mark after the last */
    uint32_t giant_capacity;
    uint32_t giant_count;
    uint32_t region_count; /* including giants */
};

/* Makes an empty set with trees from `trees`. False: no host memory, nothing is left behind. */
bool tn_size_set_init(struct tn_size_set *set, struct tn_key_tree_store *trees);
void tn_size_set_fini(struct tn_size_set *set);

/* Ensures that set_count sets with these trees can hold region_count regions together, of any sizes. False:
 * no host memory. */
bool tn_size_set_reserve_trees(struct tn_key_tree_store *trees, uint32_t set_count,
                               uint32_t region_count);

/* Ensures room for the giants among region_count regions with chunk_count chunks in total. False: no host
 * memory. */
bool tn_size_set_reserve_giants(struct tn_size_set *set, uint32_t region_count,
                                uint32_t chunk_count);

/* Adds a free region. Here and below, record numbers are indices of `regions`. */
static inline void tn_size_set_insert(struct tn_size_set *set, const struct tn_region *regions,
                                      uint32_t region);

/* Removes the region that is in the set with this count and first chunk. */
static inline void tn_size_set_remove(struct tn_size_set *set, uint32_t chunk_count,
                                      uint32_t first_chunk);

/* Updates a region whose record has changed from the given chunks. */
static inline void tn_size_set_change(struct tn_size_set *set, const struct tn_region *regions,
                                      uint32_t region, uint32_t old_chunk_count,
                                      uint32_t old_first_chunk);

/* Returns the first region of at least chunk_count chunks, or TN_REGION_NONE. */
static inline uint32_t tn_size_set_find(const struct tn_size_set *set, uint32_t chunk_count);

/* Returns the region that follows this count and first chunk in the order of the set, or TN_REGION_NONE. No
 * region of the set needs to have them. */
uint32_t tn_size_set_find_after(const struct tn_size_set *set, const struct tn_region *regions,
                                uint32_t chunk_count, uint32_t first_chunk);

/* Returns one of the largest regions, or TN_REGION_NONE. */
uint32_t tn_size_set_find_largest(const struct tn_size_set *set);

/* Returns bytes of host memory in use, without the structure itself, and reserved memory not touched yet. */
size_t tn_size_set_metadata_bytes(const struct tn_size_set *set);

/* Returns NULL, or the fault. Walks everything. */
const char *tn_size_set_check(const struct tn_size_set *set, const struct tn_region *regions);

/* --- fast path: bins of one region, and the first giant -------------------------------------- */

/* The slow paths: for bins that are not empty, for those with a tree, for giants. */
void tn_size_set_insert_slowly(struct tn_size_set *set, const struct tn_region *regions,
                               uint32_t region);
void tn_size_set_remove_slowly(struct tn_size_set *set, uint32_t chunk_count, uint32_t first_chunk);
void tn_size_set_change_giant(struct tn_size_set *set, const struct tn_region *regions,
                              uint32_t region, uint32_t old_chunk_count, uint32_t old_first_chunk);
uint32_t tn_size_set_find_giant(const struct tn_size_set *set, uint64_t key);

static inline uint64_t tn_giant_key(uint32_t chunk_count, uint32_t first_chunk)
{
    return (uint64_t)chunk_count << 32 | first_chunk;
}

/* These two leave region_count unchanged. */
static inline void tn_size_set_put_in(struct tn_size_set *set, const struct tn_region *regions,
                                      uint32_t region)
{
    TN_ASSERT(region < TN_SIZE_SET_IS_TREE);
    uint32_t bin = regions[region].chunk_count;
    if (bin >= TN_SIZE_SET_BIN_COUNT || tn_bit_table_has(&set->bins->filled, bin)) {
        tn_size_set_insert_slowly(set, regions, region);
        return;
    }
    set->bins->contents[bin] = region;
    tn_bit_table_set(&set->bins->filled, bin);
}

static inline void tn_size_set_take_out(struct tn_size_set *set, uint32_t chunk_count,
                                        uint32_t first_chunk)
{
    if (chunk_count >= TN_SIZE_SET_BIN_COUNT ||
        set->bins->contents[chunk_count] & TN_SIZE_SET_IS_TREE) {
        tn_size_set_remove_slowly(set, chunk_count, first_chunk);
        return;
    }
    tn_bit_table_clear(&set->bins->filled, chunk_count);
}

static inline void tn_size_set_insert(struct tn_size_set *set, const struct tn_region *regions,
                                      uint32_t region)
{
    set->region_count++;
    tn_size_set_put_in(set, regions, region);
}

static inline void tn_size_set_remove(struct tn_size_set *set, uint32_t chunk_count,
                                      uint32_t first_chunk)
{
    set->region_count--;
    tn_size_set_take_out(set, chunk_count, first_chunk);
}

static inline void tn_size_set_change(struct tn_size_set *set, const struct tn_region *regions,
                                      uint32_t region, uint32_t old_chunk_count,
                                      uint32_t old_first_chunk)
{
    uint32_t chunk_count = regions[region].chunk_count;
    if ((old_chunk_count | chunk_count) < TN_SIZE_SET_BIN_COUNT) {
        tn_size_set_take_out(set, old_chunk_count, old_first_chunk);
        tn_size_set_put_in(set, regions, region);
        return;
    }
    /* Most of these changes are to the first giant, which stays the first. */
    struct tn_giant *first = set->giants;
    uint64_t key = tn_giant_key(chunk_count, regions[region].first_chunk);
    if (first->region == region && chunk_count >= TN_SIZE_SET_BIN_COUNT && key < first[1].key) {
        first->key = key;
        return;
    }
    tn_size_set_change_giant(set, regions, region, old_chunk_count, old_first_chunk);
}

static inline uint32_t tn_size_set_find(const struct tn_size_set *set, uint32_t chunk_count)
{
    if (TN_UNLIKELY(chunk_count > TN_SIZE_SET_BIN_COUNT))
        return tn_size_set_find_giant(set, tn_giant_key(chunk_count, 0));
    uint32_t bin = tn_bit_table_find_next(&set->bins->filled, chunk_count);
    uint32_t content = set->bins->contents[bin];
    if (!(content & TN_SIZE_SET_IS_TREE) || bin == TN_SIZE_SET_BIN_COUNT) return content;
    return tn_key_tree_find_first(set->trees, content - TN_SIZE_SET_IS_TREE);
}

#endif
