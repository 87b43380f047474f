/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * thread_cache: regions that were freed a moment ago and wait, as they are, for a request of just their size on
 * the stream that freed them. Such a pair of calls neither splits nor coalesces.
 *
 * It stands in front of an index: the pool's, which the one thread that uses a pool has to itself, or that of an arena,
 * which is a thread's. To the index a cached region is live, and marked, so that nobody frees it twice.
 *
 *     set      0        1        2                 15           16 sets by the number of chunks and the streams
 *           ┌────────┬────────┬────────┬─ ... ─┬────────┐
 *           │ 20 · A │        │ 3 · A  │       │        │       4 ways each
 *           │ 20 · A │        │ 7 · B  │       │        │
 *           └────────┴────────┴────────┴───────┴────────┘
 *                                 ▲ hand: looks at one way with each region that comes
 *
 * What is kept has bounds, so that little is kept from being coalesced: the chunks together (chunk_count_max, and a
 * 32nd of the index's), those of one region (a fourth of that), and the time: what the hand finds that was
 * there when 64 others came, it frees. Before anybody looks for more than a region of just the size, or at anything
 * else, all is freed: see tn_pool_lock.
 *
 * Cost: find O(1), 4 comparisons; put likewise, and the frees of what has to go.
 * Memory: 2 KB.
 * Threads: under the lock of the index.
 * Always true: what is cached is marked so in the index, and nothing else is.
 */
#ifndef TN_THREAD_CACHE_H
#define TN_THREAD_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../base/arith.h"
#include "../base/compiler.h"

#include "region_index.h"

#define TN_THREAD_CACHE_SETS_LOG2 4
#define TN_THREAD_CACHE_WAYS      4
#define TN_THREAD_CACHE_COUNT     ((1U << TN_THREAD_CACHE_SETS_LOG2) * TN_THREAD_CACHE_WAYS)

/* Of the chunks of the index. */
#define TN_THREAD_CACHE_PARTS 32

struct tn_cached_region {
    uint64_t key; /* its chunks and whom it waits for, see tn_thread_cache_key; 0: none is here */
    uintptr_t address;
    uint32_t region;
    uint32_t time; /* of its dependency */
    uint32_t put_at;
};

struct tn_thread_cache {
    uint32_t chunk_count_max; /* of all together; 0: nothing is ever cached */
    uint32_t chunk_count;
    uint32_t put_count;
    uint32_t next_way; /* to be given up in a full set */
    struct tn_cached_region regions[TN_THREAD_CACHE_COUNT];
};

/* An empty one for so many chunks, or NULL: no host memory. */
struct tn_thread_cache *tn_thread_cache_create(uint32_t chunk_count_max);

/* Forgets what is in it. NULL is allowed. */
void tn_thread_cache_destroy(struct tn_thread_cache *cache);

/* Frees all that is cached. The chunks of it wait for what they waited for. */
void tn_thread_cache_flush(struct tn_thread_cache *cache, struct tn_region_index *index);

/* Takes a region of so many chunks out that waits for just these streams, a bit or none, as a live one with that
 * slack. Returns its address, or 0: there is none. */
static inline uintptr_t tn_thread_cache_take(struct tn_thread_cache *cache,
                                             struct tn_region_index *index, uint32_t chunk_count,
                                             uint32_t streams, uint32_t slack_bytes);

/* Caches a live region that is nobody's and waits for this from now on. False: it is none for the cache; free it. */
static inline bool tn_thread_cache_put(struct tn_thread_cache *cache, struct tn_region_index *index,
                                       uint32_t region, uintptr_t address,
                                       struct tn_dependency dependency);

/* NULL, or what is wrong. Walks everything. */
const char *tn_thread_cache_check(const struct tn_thread_cache *cache,
                                  const struct tn_region_index *index);

/* --- the short way --------------------------------------------------------------------------- */

/* Frees what one place holds, if anything. */
void tn_thread_cache_evict(struct tn_thread_cache *cache, struct tn_region_index *index,
                           struct tn_cached_region *place);

/* Frees until so many chunks find room. */
void tn_thread_cache_make_room(struct tn_thread_cache *cache, struct tn_region_index *index,
                               uint32_t chunk_count, uint32_t chunk_count_max);

/* A region of whole chunks and a stream's bit, or none: never 0. */
static inline uint64_t tn_thread_cache_key(uint32_t chunk_count, uint32_t streams)
{
    return (uint64_t)chunk_count << 32 | streams;
}

/* The first way of the key's set. */
static inline struct tn_cached_region *tn_thread_cache_set_of(struct tn_thread_cache *cache,
                                                              uint64_t key)
{
    uint32_t hash = ((uint32_t)(key >> 32) + (uint32_t)key) * 0x9E3779B1U;
    return &cache->regions[(hash >> (32 - TN_THREAD_CACHE_SETS_LOG2)) * TN_THREAD_CACHE_WAYS];
}

/* The first way in which the key is, or NULL. 0 is the key of what is empty. */
static inline struct tn_cached_region *tn_thread_cache_find(struct tn_cached_region *set,
                                                            uint64_t key)
{
    for (unsigned way = 0; way < TN_THREAD_CACHE_WAYS; way++) {
        if (set[way].key == key) return &set[way];
    }
    return NULL;
}

static inline uintptr_t tn_thread_cache_take(struct tn_thread_cache *cache,
                                             struct tn_region_index *index, uint32_t chunk_count,
                                             uint32_t streams, uint32_t slack_bytes)
{
    uint64_t key = tn_thread_cache_key(chunk_count, streams);
    struct tn_cached_region *found = tn_thread_cache_find(tn_thread_cache_set_of(cache, key), key);
    if (!found) return 0;
    found->key = 0;
    cache->chunk_count -= chunk_count;
    tn_region_unmark_cached(&index->regions[found->region], slack_bytes);
    return found->address;
}

/* Only one stream's own, or what waits for nothing where there is one stream: nothing else is found again. */
static inline bool tn_thread_cache_can_keep(const struct tn_region_index *index,
                                            struct tn_dependency dependency)
{
    if (TN_LIKELY(!index->is_divided)) return true;
    return dependency.streams != 0 && (dependency.streams & (dependency.streams - 1)) == 0;
}

static inline bool tn_thread_cache_put(struct tn_thread_cache *cache, struct tn_region_index *index,
                                       uint32_t region, uintptr_t address,
                                       struct tn_dependency dependency)
{
    struct tn_region *r = &index->regions[region];
    uint32_t max =
        (uint32_t)tn_min(cache->chunk_count_max, index->chunk_count / TN_THREAD_CACHE_PARTS);
    uint32_t chunk_count = r->chunk_count;
    if (chunk_count > max / 4 + (max > 0) || !tn_thread_cache_can_keep(index, dependency))
        return false;

    /* The hand. */
    uint32_t now = cache->put_count++;
    struct tn_cached_region *old = &cache->regions[now % TN_THREAD_CACHE_COUNT];
    if (old->key != 0 && now - old->put_at >= TN_THREAD_CACHE_COUNT)
        tn_thread_cache_evict(cache, index, old);
    if (TN_UNLIKELY(cache->chunk_count + chunk_count > max))
        tn_thread_cache_make_room(cache, index, chunk_count, max);

    uint64_t key = tn_thread_cache_key(chunk_count, dependency.streams);
    struct tn_cached_region *set = tn_thread_cache_set_of(cache, key);
    struct tn_cached_region *place = tn_thread_cache_find(set, 0);
    if (TN_UNLIKELY(!place)) {
        place = &set[cache->next_way++ % TN_THREAD_CACHE_WAYS];
        tn_thread_cache_evict(cache, index, place);
    }
    tn_region_mark_cached(r);
    *place = (struct tn_cached_region){ key, address, region, dependency.time, now };
    cache->chunk_count += chunk_count;
    return true;
}

#endif
