/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * live_map: a hash table from the first chunk of a live region to its record, with its links in the records.
 *
 * It grows by linear hashing: an insert beyond one region for two buckets splits two of them, so no insert
 * rehashes the whole table. After W. Litwin, "Linear hashing: a new tool for file and table addressing", VLDB
 * 1980.
 *
 * Cost: find, insert and take O(1) expected.
 * Memory: 8 bytes for each live region at the peak, at least 2 KB.
 * Only reserve allocates. The other calls require reserved buckets and cannot fail.
 * Threads: no locking; the pool locks.
 * Always true: exactly the live regions are linked, each in the bucket of its first chunk.
 */
#ifndef TN_LIVE_MAP_H
#define TN_LIVE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "region.h"

/* A bucket costs 4 bytes, a second region in a bucket costs a cache miss. Two buckets for each region were a
 * tenth faster than one at 100 000 live regions. */
#define TN_LIVE_MAP_BUCKETS_PER_REGION 2

/* The few regions of a small program share no buckets: the branch for two in a bucket is unpredictable. */
#define TN_LIVE_MAP_BUCKETS_MIN 512

struct tn_live_map {
    /* The first region of each bucket, or TN_REGION_NONE. One empty bucket while none is in use. */
    uint32_t *buckets;
    uint32_t bucket_capacity;
    uint32_t bucket_count; /* buckets in use: 0, or TN_LIVE_MAP_BUCKETS_MIN and more */
    uint32_t mask;         /* least 2^k - 1 that is at least bucket_count - 1 */
    uint32_t lower_mask;   /* half of mask */
    uint32_t room;         /* how many more regions there are buckets for */
};

void tn_live_map_init(struct tn_live_map *map);
void tn_live_map_fini(struct tn_live_map *map);

/* Ensures that the map can hold live_count regions. False: no host memory. */
bool tn_live_map_reserve(struct tn_live_map *map, uint32_t live_count);

/* Here and below, record numbers are indices of `regions`. */
static inline void tn_live_map_insert(struct tn_live_map *map, struct tn_region *regions,
                                      uint32_t region);

/* Returns the live region that starts at first_chunk, or TN_REGION_NONE. */
static inline uint32_t tn_live_map_find(const struct tn_live_map *map,
                                        const struct tn_region *regions, uint32_t first_chunk);

/* Returns the place of that region's number, or NULL. Valid until the map changes. */
static inline uint32_t *tn_live_map_find_place(struct tn_live_map *map, struct tn_region *regions,
                                               uint32_t first_chunk);

/* Removes the region at `place` and returns it. */
static inline uint32_t tn_live_map_take_at(struct tn_live_map *map, const struct tn_region *regions,
                                           uint32_t *place);

/* Finds and removes. Returns the region, or TN_REGION_NONE. */
static inline uint32_t tn_live_map_take(struct tn_live_map *map, struct tn_region *regions,
                                        uint32_t first_chunk);

/* Returns the number of regions in the map. */
static inline uint32_t tn_live_map_live_count(const struct tn_live_map *map);

size_t tn_live_map_metadata_bytes(const struct tn_live_map *map);

/* Returns NULL, or the fault. Walks everything. */
const char *tn_live_map_check(const struct tn_live_map *map, const struct tn_region *regions);

/* --- fast path ------------------------------------------------------------------------------- */

/* First chunks are often multiples of a power of two, so the hash must spread the high bits. The product's
 * bits from 28 on do. A find among multiples of m * 2^k, m up to 9, takes 1.09 comparisons on average and 3.3
 * in the worst case tried; among random numbers it takes 1.25. */
static inline uint32_t tn_live_map_hash_of(uint32_t first_chunk)
{
    return (uint32_t)(first_chunk * UINT64_C(0x9E3779B97F4A7C15) >> 28);
}

/* A bucket beyond the last in use has not been split off yet: its regions are in the bucket that it splits
 * from. */
static inline uint32_t tn_live_map_bucket_of(const struct tn_live_map *map, uint32_t first_chunk)
{
    uint32_t bucket = tn_live_map_hash_of(first_chunk) & map->mask;
    return bucket < map->bucket_count ? bucket : bucket & map->lower_mask;
}

static inline uint32_t tn_live_map_live_count(const struct tn_live_map *map)
{
    return map->bucket_count / TN_LIVE_MAP_BUCKETS_PER_REGION - map->room;
}

/* Adds the buckets for one more live region, or the first buckets. */
void tn_live_map_add_buckets(struct tn_live_map *map, struct tn_region *regions);

static inline void tn_live_map_insert(struct tn_live_map *map, struct tn_region *regions,
                                      uint32_t region)
{
    if (TN_UNLIKELY(map->room == 0)) tn_live_map_add_buckets(map, regions);
    map->room--;
    uint32_t *bucket = &map->buckets[tn_live_map_bucket_of(map, regions[region].first_chunk)];
    regions[region].link = *bucket;
    *bucket = region;
}

static inline uint32_t tn_live_map_find(const struct tn_live_map *map,
                                        const struct tn_region *regions, uint32_t first_chunk)
{
    uint32_t region = map->buckets[tn_live_map_bucket_of(map, first_chunk)];
    while (region != TN_REGION_NONE && regions[region].first_chunk != first_chunk) {
        region = regions[region].link;
    }
    return region;
}

static inline uint32_t *tn_live_map_find_place(struct tn_live_map *map, struct tn_region *regions,
                                               uint32_t first_chunk)
{
    uint32_t *place = &map->buckets[tn_live_map_bucket_of(map, first_chunk)];
    while (*place != TN_REGION_NONE && regions[*place].first_chunk != first_chunk) {
        place = &regions[*place].link;
    }
    return *place == TN_REGION_NONE ? NULL : place;
}

static inline uint32_t tn_live_map_take_at(struct tn_live_map *map, const struct tn_region *regions,
                                           uint32_t *place)
{
    uint32_t region = *place;
    *place = regions[region].link;
    map->room++;
    return region;
}

static inline uint32_t tn_live_map_take(struct tn_live_map *map, struct tn_region *regions,
                                        uint32_t first_chunk)
{
    uint32_t *place = tn_live_map_find_place(map, regions, first_chunk);
    return place ? tn_live_map_take_at(map, regions, place) : TN_REGION_NONE;
}

#endif
