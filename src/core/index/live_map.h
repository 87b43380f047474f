/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * live_map: from the first chunk of a live region to its record: a hash table with its links in the
 * records.
 *
 * It grows by linear hashing: an insert beyond one region for two buckets splits two of them, so no
 * insert ever rehashes the whole table.
 * After W. Litwin, "Linear hashing: a new tool for file and table addressing", VLDB 1980.
 *
 * Cost: find, insert, remove O(1) expected. Memory: 8 bytes for each of the most regions that were ever live, 2 KB at
 * least.
 * Buckets must have been reserved, so no other call allocates and none can fail.
 * Threads: none of it locks; the pool does.
 * Always true: a live region is linked in the bucket of its first chunk, and nothing else is.
 */
#ifndef TN_LIVE_MAP_H
#define TN_LIVE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "region.h"

/* Buckets cost 4 bytes and a second region in one costs a cache miss: two for each were faster than
 * one by a tenth at 100 000 live regions. */
#define TN_LIVE_MAP_BUCKETS_PER_REGION 2

/* The few regions of a common program do not share buckets: which of two is meant cannot be predicted. */
#define TN_LIVE_MAP_BUCKETS_MIN 512

struct tn_live_map {
    /* The first region of each, or TN_REGION_NONE; while none is in use, one that is empty. */
    uint32_t *buckets;
    uint32_t bucket_capacity;
    uint32_t bucket_count; /* buckets in use: 0, or TN_LIVE_MAP_BUCKETS_MIN and more */
    uint32_t mask;         /* least 2^k - 1 that is at least bucket_count - 1 */
    uint32_t lower_mask;   /* half of it */
    uint32_t room;         /* so many more regions there are buckets for */
};

void tn_live_map_init(struct tn_live_map *map);
void tn_live_map_fini(struct tn_live_map *map);

/* Sees to it that live_count regions can be in the map. False: no host memory. */
bool tn_live_map_reserve(struct tn_live_map *map, uint32_t live_count);

/* `regions` is the array that the numbers count in, here and below. */
static inline void tn_live_map_insert(struct tn_live_map *map, struct tn_region *regions,
                                      uint32_t region);

/* The live region that starts at first_chunk, or TN_REGION_NONE. */
static inline uint32_t tn_live_map_find(const struct tn_live_map *map,
                                        const struct tn_region *regions, uint32_t first_chunk);

/* Where the number of that region stands, or NULL. Good until the map changes. */
static inline uint32_t *tn_live_map_find_place(struct tn_live_map *map, struct tn_region *regions,
                                               uint32_t first_chunk);

/* Takes the region whose number stands there out of the map. */
static inline uint32_t tn_live_map_take_at(struct tn_live_map *map, const struct tn_region *regions,
                                           uint32_t *place);

/* Both. Returns the region, or TN_REGION_NONE. */
static inline uint32_t tn_live_map_take(struct tn_live_map *map, struct tn_region *regions,
                                        uint32_t first_chunk);

/* How many regions are in the map. */
static inline uint32_t tn_live_map_live_count(const struct tn_live_map *map);

size_t tn_live_map_metadata_bytes(const struct tn_live_map *map);

/* NULL, or what is wrong. Walks everything. */
const char *tn_live_map_check(const struct tn_live_map *map, const struct tn_region *regions);

/* --- the short way --------------------------------------------------------------------------- */

/* First chunks are often multiples of a power of two, so the high bits must reach the low ones. Those of the
 * product from bit 28 on do: a find among multiples of m * 2^k, m up to 9, takes 1.09 comparisons in the mean
 * and 3.3 in the worst case tried; what is random takes 1.25. */
static inline uint32_t tn_live_map_hash_of(uint32_t first_chunk)
{
    return (uint32_t)(first_chunk * UINT64_C(0x9E3779B97F4A7C15) >> 28);
}

/* Buckets beyond the last in use have not been split off yet: theirs is the one they split from. */
static inline uint32_t tn_live_map_bucket_of(const struct tn_live_map *map, uint32_t first_chunk)
{
    uint32_t bucket = tn_live_map_hash_of(first_chunk) & map->mask;
    return bucket < map->bucket_count ? bucket : bucket & map->lower_mask;
}

static inline uint32_t tn_live_map_live_count(const struct tn_live_map *map)
{
    return map->bucket_count / TN_LIVE_MAP_BUCKETS_PER_REGION - map->room;
}

/* Adds the buckets for one more live region, or the first. */
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
