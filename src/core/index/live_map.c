/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* live_map: linear hashing over the first chunk. */
#include "live_map.h"

#include "../../base/arith.h"
#include "../../base/host_memory.h"

/* The one bucket of a map without memory. */
static uint32_t no_buckets[] = { TN_REGION_NONE };

void tn_live_map_init(struct tn_live_map *map)
{
    *map = (struct tn_live_map){ .buckets = no_buckets };
}

void tn_live_map_fini(struct tn_live_map *map)
{
    if (map->bucket_capacity > 0) tn_host_memory_free(map->buckets);
    tn_live_map_init(map);
}

bool tn_live_map_reserve(struct tn_live_map *map, uint32_t live_count)
{
    if (live_count > TN_CHUNK_COUNT_MAX) return false;
    void *buckets = map->bucket_capacity > 0 ? map->buckets : NULL;
    uint32_t needed = (uint32_t)tn_max((size_t)live_count * TN_LIVE_MAP_BUCKETS_PER_REGION,
                                       TN_LIVE_MAP_BUCKETS_MIN);
    if (!tn_host_memory_grow_array(&buckets, &map->bucket_capacity, map->bucket_count, needed,
                                   sizeof *map->buckets)) {
        return false;
    }
    map->buckets = buckets;
    if (map->bucket_count == 0) map->buckets[0] = TN_REGION_NONE;
    return true;
}

/* Adds one bucket and moves its regions there, all from one other bucket. */
static void add_bucket(struct tn_live_map *map, struct tn_region *regions)
{
    TN_ASSERT(map->bucket_count < map->bucket_capacity);
    uint32_t added = map->bucket_count++;
    map->buckets[added] = TN_REGION_NONE;
    if (added > map->mask) {
        map->lower_mask = map->mask;
        map->mask = map->mask * 2 + 1;
    }

    uint32_t *end_of_old = &map->buckets[added & map->lower_mask];
    uint32_t *end_of_added = &map->buckets[added];
    for (uint32_t region = *end_of_old; region != TN_REGION_NONE; region = regions[region].link) {
        uint32_t **end = tn_live_map_bucket_of(map, regions[region].first_chunk) == added
                             ? &end_of_added
                             : &end_of_old;
        **end = region;
        *end = &regions[region].link;
    }
    *end_of_old = TN_REGION_NONE;
    *end_of_added = TN_REGION_NONE;
}

static void add_first_buckets(struct tn_live_map *map)
{
    TN_ASSERT(map->bucket_capacity >= TN_LIVE_MAP_BUCKETS_MIN);
    map->bucket_count = TN_LIVE_MAP_BUCKETS_MIN;
    map->mask = TN_LIVE_MAP_BUCKETS_MIN - 1;
    map->lower_mask = TN_LIVE_MAP_BUCKETS_MIN / 2 - 1;
    map->room = TN_LIVE_MAP_BUCKETS_MIN / TN_LIVE_MAP_BUCKETS_PER_REGION;
    for (uint32_t bucket = 0; bucket < TN_LIVE_MAP_BUCKETS_MIN; bucket++)
        map->buckets[bucket] = TN_REGION_NONE;
}

void tn_live_map_add_buckets(struct tn_live_map *map, struct tn_region *regions)
{
    if (map->bucket_count == 0) {
        add_first_buckets(map);
        return;
    }
    for (int i = 0; i < TN_LIVE_MAP_BUCKETS_PER_REGION; i++)
        add_bucket(map, regions);
    map->room++;
}

size_t tn_live_map_metadata_bytes(const struct tn_live_map *map)
{
    return (size_t)map->bucket_count * sizeof *map->buckets;
}

const char *tn_live_map_check(const struct tn_live_map *map, const struct tn_region *regions)
{
    uint32_t count = 0, live_count = tn_live_map_live_count(map);
    for (uint32_t bucket = 0; bucket < map->bucket_count; bucket++) {
        for (uint32_t region = map->buckets[bucket]; region != TN_REGION_NONE;
             region = regions[region].link) {
            if (++count > live_count) return "the live map holds more regions than it counts";
            if (regions[region].state != TN_REGION_STATE_LIVE) {
                return "a region in the live map is not live";
            }
            if (tn_live_map_bucket_of(map, regions[region].first_chunk) != bucket) {
                return "a region is in the wrong bucket of the live map";
            }
        }
    }
    return count == live_count ? NULL : "the live map holds fewer regions than it counts";
}
