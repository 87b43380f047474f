/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* thread_cache: what has to go, and the check. */
#include "thread_cache.h"

#include "../base/host_memory.h"

struct tn_thread_cache *tn_thread_cache_create(uint32_t chunk_count_max)
{
    struct tn_thread_cache *cache = tn_host_memory_alloc_zeroed(sizeof *cache);
    if (cache) cache->chunk_count_max = chunk_count_max;
    return cache;
}

void tn_thread_cache_destroy(struct tn_thread_cache *cache)
{
    tn_host_memory_free(cache);
}

void tn_thread_cache_evict(struct tn_thread_cache *cache, struct tn_region_index *index,
                           struct tn_cached_region *place)
{
    if (place->key == 0) return;
    struct tn_freed freed;
    struct tn_region *r = &index->regions[place->region];
    struct tn_dependency dependency = { (uint32_t)place->key, place->time };
    TN_ASSERT(r->chunk_count == place->key >> 32);
    tn_region_unmark_cached(r, 0);
    cache->chunk_count -= r->chunk_count;
    place->key = 0;
    bool is_freed = tn_region_index_free(index, r->first_chunk, dependency, &freed);
    TN_ASSERT(is_freed);
    (void)is_freed;
}

void tn_thread_cache_make_room(struct tn_thread_cache *cache, struct tn_region_index *index,
                               uint32_t chunk_count, uint32_t chunk_count_max)
{
    TN_ASSERT(chunk_count <= chunk_count_max);
    for (uint32_t i = cache->put_count; cache->chunk_count + chunk_count > chunk_count_max; i++)
        tn_thread_cache_evict(cache, index, &cache->regions[i % TN_THREAD_CACHE_COUNT]);
}

void tn_thread_cache_flush(struct tn_thread_cache *cache, struct tn_region_index *index)
{
    for (unsigned i = 0; cache->chunk_count > 0; i++)
        tn_thread_cache_evict(cache, index, &cache->regions[i]);
}

static const char *check_place(const struct tn_region_index *index,
                               const struct tn_cached_region *place)
{
    if (place->region >= index->fresh) return "the cache holds a region that does not exist";
    const struct tn_region *r = &index->regions[place->region];
    if (r->state != TN_REGION_STATE_LIVE || !tn_region_is_cached(r))
        return "the cache holds a region that is not marked so";
    if (r->chunk_count != place->key >> 32) return "the cache mistakes the size of a region";
    return NULL;
}

const char *tn_thread_cache_check(const struct tn_thread_cache *cache,
                                  const struct tn_region_index *index)
{
    uint32_t chunk_count = 0, cached_count = 0;
    for (unsigned i = 0; i < TN_THREAD_CACHE_COUNT; i++) {
        const struct tn_cached_region *place = &cache->regions[i];
        if (place->key == 0) continue;
        const char *fault = check_place(index, place);
        if (fault) return fault;
        chunk_count += (uint32_t)(place->key >> 32);
        cached_count++;
    }
    for (uint32_t region = 0; region < index->fresh; region++) {
        const struct tn_region *r = &index->regions[region];
        if (r->state == TN_REGION_STATE_LIVE && tn_region_is_cached(r)) cached_count--;
    }
    if (cached_count != 0) return "a region is marked as cached, and the cache does not hold it";
    return chunk_count == cache->chunk_count ? NULL : "the cache has lost count";
}
