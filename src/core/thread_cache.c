/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* thread_cache: what comes in, what has to go for it, and the check. */
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

/* --- what goes ---------------------------------------------------------------------------------- */

static bool is_out(const struct tn_cached_region *place)
{
    return (place->key & TN_CACHED_REGION_IS_OUT) != 0;
}

/* The place holds nothing from now on. */
static void vacate(struct tn_thread_cache *cache, struct tn_region_index *index,
                   struct tn_cached_region *place)
{
    uint64_t key = place->key;
    place->key = 0;
    if (key == 0 || (key & TN_CACHED_REGION_IS_OUT) != 0) return;

    struct tn_freed freed;
    struct tn_region *r = &index->regions[place->region];
    struct tn_dependency dependency = { (uint32_t)key, place->time };
    TN_ASSERT(r->chunk_count == key >> 32);
    tn_region_unmark_cached(r, 0);
    cache->chunk_count -= r->chunk_count;
    bool is_freed = tn_region_index_free(index, r->first_chunk, dependency, &freed);
    TN_ASSERT(is_freed);
    (void)is_freed;
}

void tn_thread_cache_flush(struct tn_thread_cache *cache, struct tn_region_index *index)
{
    if (!cache->is_used) return;
    cache->is_used = false;
    for (unsigned i = 0; i < TN_THREAD_CACHE_COUNT; i++)
        vacate(cache, index, &cache->places[i]);
}

/* Over one set. */
static TN_NOINLINE void move_hand(struct tn_thread_cache *cache, struct tn_region_index *index)
{
    uint32_t turn = cache->put_count / TN_THREAD_CACHE_WAYS;
    struct tn_cached_region *set =
        &cache->places[turn % TN_THREAD_CACHE_SETS * TN_THREAD_CACHE_WAYS];
    for (unsigned way = 0; way < TN_THREAD_CACHE_WAYS; way++) {
        if (cache->put_count - set[way].put_at >= TN_THREAD_CACHE_COUNT)
            vacate(cache, index, &set[way]);
    }
}

static TN_COLD void make_room(struct tn_thread_cache *cache, struct tn_region_index *index,
                              uint32_t chunk_count)
{
    TN_ASSERT(chunk_count <= cache->bound);
    for (uint32_t i = cache->put_count; cache->chunk_count + chunk_count > cache->bound; i++)
        vacate(cache, index, &cache->places[i % TN_THREAD_CACHE_COUNT]);
}

/* --- what comes --------------------------------------------------------------------------------- */

/* A place of the set that holds nothing, or what is out; or else one whose turn it is to go. */
static struct tn_cached_region *find_place(struct tn_thread_cache *cache,
                                           struct tn_region_index *index,
                                           struct tn_cached_region *set)
{
    for (unsigned way = 0; way < TN_THREAD_CACHE_WAYS; way++) {
        if (set[way].key == 0 || is_out(&set[way])) return &set[way];
    }
    struct tn_cached_region *place = &set[cache->next_way++ % TN_THREAD_CACHE_WAYS];
    vacate(cache, index, place);
    return place;
}

/* Only one stream's own, or what waits for nothing where there is one stream: nothing else is found again. */
static bool can_be_asked_for(const struct tn_region_index *index, struct tn_dependency dependency)
{
    if (!index->is_divided) return true;
    return dependency.streams != 0 && (dependency.streams & (dependency.streams - 1)) == 0;
}

bool tn_thread_cache_put(struct tn_thread_cache *cache, struct tn_region_index *index,
                         uint32_t held_chunk_count, uint32_t region, uintptr_t address,
                         struct tn_dependency dependency)
{
    struct tn_region *r = &index->regions[region];
    uint32_t chunk_count = r->chunk_count;
    if (TN_UNLIKELY(tn_region_owner(r) != 0)) return false;
    cache->bound =
        (uint32_t)tn_min(cache->chunk_count_max, held_chunk_count / TN_THREAD_CACHE_PARTS);
    if (chunk_count > cache->bound / 4 + (cache->bound > 0) || !can_be_asked_for(index, dependency))
        return false;
    cache->is_used = true;
    if (++cache->put_count % TN_THREAD_CACHE_WAYS == 0) move_hand(cache, index);
    if (cache->chunk_count + chunk_count > cache->bound) make_room(cache, index, chunk_count);
    uint64_t key = tn_thread_cache_key(chunk_count, dependency.streams);
    struct tn_cached_region *place = find_place(cache, index, tn_thread_cache_set_of(cache, key));
    tn_region_mark_cached(r);
    *place = (struct tn_cached_region){
        .key = key,
        .address = address,
        .region = region,
        .first_chunk = r->first_chunk,
        .time = dependency.time,
        .put_at = cache->put_count,
    };
    cache->chunk_count += chunk_count;
    return true;
}

/* --- check -------------------------------------------------------------------------------------- */

/* Of what is out, whether it is what the index says: where it can be found by its chunk. */
static bool is_what_was_handed_out(const struct tn_thread_cache *cache,
                                   const struct tn_cached_region *place, const struct tn_region *r)
{
    unsigned number = (unsigned)(place - cache->places);
    if (cache->by_chunk[tn_thread_cache_link_of(place->first_chunk)] != number) return true;
    return r->state == TN_REGION_STATE_LIVE && tn_region_owner(r) == 0 &&
           r->first_chunk == place->first_chunk && r->chunk_count == tn_cached_chunk_count(place);
}

static const char *check_place(const struct tn_thread_cache *cache,
                               const struct tn_region_index *index,
                               const struct tn_cached_region *place)
{
    if (place->region >= index->fresh) return "the cache holds a region that does not exist";
    const struct tn_region *r = &index->regions[place->region];
    if (is_out(place)) {
        return is_what_was_handed_out(cache, place, r)
                   ? NULL
                   : "the cache takes for handed out what is not live";
    }
    if (r->state != TN_REGION_STATE_LIVE || !tn_region_is_cached(r))
        return "the cache holds a region that is not marked so";
    if (r->chunk_count != tn_cached_chunk_count(place))
        return "the cache mistakes the size of a region";
    return NULL;
}

const char *tn_thread_cache_check(const struct tn_thread_cache *cache,
                                  const struct tn_region_index *index)
{
    uint32_t chunk_count = 0, cached_count = 0;
    for (unsigned i = 0; i < TN_THREAD_CACHE_COUNT; i++) {
        const struct tn_cached_region *place = &cache->places[i];
        if (place->key == 0) continue;
        if (!cache->is_used) return "the cache takes itself for empty";
        const char *fault = check_place(cache, index, place);
        if (fault) return fault;
        if (is_out(place)) continue;
        chunk_count += tn_cached_chunk_count(place);
        cached_count++;
    }
    for (uint32_t region = 0; region < index->fresh; region++) {
        const struct tn_region *r = &index->regions[region];
        if (r->state == TN_REGION_STATE_LIVE && tn_region_is_cached(r)) cached_count--;
    }
    if (cached_count != 0) return "a region is marked as cached, and the cache does not hold it";
    return chunk_count == cache->chunk_count ? NULL : "the cache has lost count";
}
