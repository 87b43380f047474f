/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * size_set: the free set by size: the free regions of a pool, ordered by chunk count and, among
 * equals, by first chunk. Best fit is the first one that is large enough.
 *
 * One ordered set, cut by size into bins, one for each count up to 16383. A bit table knows which
 * bins are not empty. Most bins hold one region, which is then all that is stored; the others hold
 * a key tree by first chunk. Regions of more chunks are giants: there are few, so they stand in one
 * sorted array.
 *
 *     filled   .1...1.........1....1......          which bins are not empty
 *     bins     1 2 3 ...      │         16383  │    giants
 *                │            │                └──► [ (20000, 7) (20000, 94) (1048576, 64) ]
 *           one region    key tree: first chunk ──► region
 *
 * Cost: find O(1) in most cases: a word or two of bits and one region; else O(log n) in the regions
 * of one count. Insert, remove and change likewise, but for giants, which shift an array of at most
 * one entry for each 16384 chunks of the pool.
 * Memory: 66 KB, of which only what is in use is touched; 128 bytes a bin of several regions and
 * about 13 bytes a region in such bins, out of a store that several sets share.
 * Room must have been reserved, so no other call allocates and none can fail.
 * Threads: none of it locks; the pool does.
 * Always true: a bin's bit is set if and only if it is not empty; a region stands in the bin of its
 * count and in no other; a key tree holds two regions or more; giants ascend.
 */
#ifndef TN_SIZE_SET_H
#define TN_SIZE_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../base/bit_table.h"
#include "../../base/key_tree.h"

#include "region.h"

/* Regions of so many chunks and more are giants; below, the count is the number of the bin. */
#define TN_SIZE_SET_BIN_COUNT ((uint32_t)TN_BIT_TABLE_SIZE)

/* No region has so high a number: a pool has at most TN_CHUNK_COUNT_MAX chunks. */
#define TN_SIZE_SET_IS_TREE ((uint32_t)1 << 31)

struct tn_giant {
    uint64_t key; /* chunk count and first chunk */
    uint32_t region;
};

struct tn_size_bins {
    struct tn_bit_table filled;
    /* A region; or a tree's root and TN_SIZE_SET_IS_TREE. The last: the first giant, or TN_REGION_NONE. */
    uint32_t contents[TN_SIZE_SET_BIN_COUNT + 1];
};

struct tn_size_set {
    struct tn_size_bins *bins;
    struct tn_key_tree_store *trees; /* shared with the pool's other sets */
    struct tn_giant *giants;         /* and one that is beyond all */
    uint32_t giant_capacity;
    uint32_t giant_count;
    uint32_t region_count; /* giants included */
};

/* An empty set whose trees come out of `trees`. False: no host memory; nothing is left behind. */
bool tn_size_set_init(struct tn_size_set *set, struct tn_key_tree_store *trees);
void tn_size_set_fini(struct tn_size_set *set);

/* Sees to it that set_count sets with these trees can hold region_count regions together, however
 * their sizes fall. False: no host memory. */
bool tn_size_set_reserve_trees(struct tn_key_tree_store *trees, uint32_t set_count,
                               uint32_t region_count);

/* The same for the giants among region_count regions of chunk_count chunks in all. */
bool tn_size_set_reserve_giants(struct tn_size_set *set, uint32_t region_count,
                                uint32_t chunk_count);

/* Adds a free region. `regions` is the array that the numbers count in, here and below. */
static inline void tn_size_set_insert(struct tn_size_set *set, const struct tn_region *regions,
                                      uint32_t region);

/* Removes the region that has this count and first chunk in the set. */
static inline void tn_size_set_remove(struct tn_size_set *set, uint32_t chunk_count,
                                      uint32_t first_chunk);

/* A region of the set has changed from what is given to what stands in its record. */
static inline void tn_size_set_change(struct tn_size_set *set, const struct tn_region *regions,
                                      uint32_t region, uint32_t old_chunk_count,
                                      uint32_t old_first_chunk);

/* The first region of chunk_count chunks or more, or TN_REGION_NONE. */
static inline uint32_t tn_size_set_find(const struct tn_size_set *set, uint32_t chunk_count);

/* The first region in the order after this count and first chunk, which no region need have; or
 * TN_REGION_NONE. */
uint32_t tn_size_set_find_after(const struct tn_size_set *set, const struct tn_region *regions,
                                uint32_t chunk_count, uint32_t first_chunk);

/* One of the largest, or TN_REGION_NONE. */
uint32_t tn_size_set_find_largest(const struct tn_size_set *set);

/* Bytes of host memory taken, besides the structure itself; not what is reserved and untouched. */
size_t tn_size_set_metadata_bytes(const struct tn_size_set *set);

/* NULL, or what is wrong. Walks everything. */
const char *tn_size_set_check(const struct tn_size_set *set, const struct tn_region *regions);

/* --- the short way: bins of one region, and the first giant ----------------------------------- */

/* The long ways: for a bin that holds a region already, for one with a tree, for giants. */
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

/* The two do not count. */
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
    /* What is cut or grown is mostly the first giant, and stays that. */
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
