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
 *           │ 20 · A │        │ 3 · A  │       │ 9 · B ◦│       4 ways each; ◦ is out
 *           │ 20 · A │        │ 7 · B  │       │        │
 *           └────────┴────────┴────────┴───────┴────────┘
 *                                 ▲ hand: goes over a set with every fourth region that comes
 *
 * A region that is handed out keeps its place, as one that is out, until the place is needed. If it comes back to
 * the same stream before that, the place is found by its first chunk, and the index is not asked at all. By the chunk,
 * not by the address, so that what is found does not depend on where the vendor's memory lies:
 *
 *               put                 take
 *     nothing ───────► cached ◄──────────────► out        a place that is out can be
 *                                   give                  forgotten at any time
 *
 * What is cached has bounds, so that little is kept from being coalesced: the chunks together (chunk_count_max, and a
 * 32nd of those that have memory), those of one region (a fourth of that), and the time: what the hand finds that was
 * put there before 64 others were, it frees. Where the index has nothing that fits, and before anybody looks at the
 * pool, all is freed: see tn_pool_lock.
 *
 * Cost: take and give O(1), some 20 instructions; put O(1), and the frees of what has to go.
 * Memory: 2 KB.
 * Threads: under the lock of the index.
 * Always true: what is cached is marked so in the index, and nothing else is; what is out and found by its chunk
 * is live there, since whoever frees it otherwise has flushed the cache, or forgets it here.
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
#define TN_THREAD_CACHE_SETS      (1U << TN_THREAD_CACHE_SETS_LOG2)
#define TN_THREAD_CACHE_COUNT     (TN_THREAD_CACHE_SETS * TN_THREAD_CACHE_WAYS)

/* More than there are places, so that few chunks share one. */
#define TN_THREAD_CACHE_HASH_LOG2 8

/* Of the chunks that have memory. */
#define TN_THREAD_CACHE_PARTS 32

struct tn_cached_region {
    /* Its chunks, its stream's bit, and whether it is out: see tn_thread_cache_key. 0: nothing is here. */
    uint64_t key;
    uintptr_t address;
    uint32_t region;
    uint32_t first_chunk;
    uint32_t time; /* of its dependency; no time passes without a flush */
    uint32_t put_at;
};

struct tn_thread_cache {
    uint32_t chunk_count_max; /* as asked for */
    uint32_t chunk_count;     /* of all that is cached */
    uint32_t bound;           /* on that, when a region was put last */
    uint32_t put_count;
    uint32_t next_way; /* to be given up in a full set */
    bool is_used;      /* some place may hold something */
    struct tn_cached_region places[TN_THREAD_CACHE_COUNT];
    uint8_t by_chunk[1 << TN_THREAD_CACHE_HASH_LOG2]; /* places of what was handed out last */
};

/* An empty one for so many chunks, or NULL: no host memory. */
struct tn_thread_cache *tn_thread_cache_create(uint32_t chunk_count_max);

/* Forgets what is in it. NULL is allowed. */
void tn_thread_cache_destroy(struct tn_thread_cache *cache);

/* Frees all that is cached, and forgets what is out. The chunks wait for what they waited for. */
void tn_thread_cache_flush(struct tn_thread_cache *cache, struct tn_region_index *index);

/* Hands a region of so many chunks out that waits for just these streams, a bit or none, as a live one with that
 * slack. NULL: there is none. */
static inline const struct tn_cached_region *tn_thread_cache_take(struct tn_thread_cache *cache,
                                                                  struct tn_region_index *index,
                                                                  uint32_t chunk_count,
                                                                  uint32_t streams,
                                                                  uint32_t slack_bytes);

/* Takes back what is out and waits for these streams from now on; first_chunk is the address's. NULL: nothing that is
 * out, or not for such, and forgotten: free it. */
static inline const struct tn_cached_region *tn_thread_cache_give(
    struct tn_thread_cache *cache, struct tn_region_index *index, uint32_t first_chunk,
    uintptr_t address, struct tn_dependency dependency, uint32_t *slack_bytes_out);

/* What is out and starts at this chunk is freed by other means. */
static inline void tn_thread_cache_forget(struct tn_thread_cache *cache, uint32_t first_chunk);

/* Caches a live region, which waits for this from now on. False: it is none for the cache, or somebody's; free it.
 * held_chunk_count: chunks of the index that have memory. */
bool tn_thread_cache_put(struct tn_thread_cache *cache, struct tn_region_index *index,
                         uint32_t held_chunk_count, uint32_t region, uintptr_t address,
                         struct tn_dependency dependency);

/* NULL, or what is wrong. Walks everything. */
const char *tn_thread_cache_check(const struct tn_thread_cache *cache,
                                  const struct tn_region_index *index);

static inline uint32_t tn_cached_chunk_count(const struct tn_cached_region *place)
{
    return (uint32_t)(place->key >> 32) & INT32_MAX;
}

/* --- the short way --------------------------------------------------------------------------- */

/* In a key. A region has fewer chunks than would reach this bit. */
#define TN_CACHED_REGION_IS_OUT ((uint64_t)1 << 63)

static inline uint64_t tn_thread_cache_key(uint32_t chunk_count, uint32_t streams)
{
    return (uint64_t)chunk_count << 32 | streams;
}

/* The first place of the key's set. */
static inline struct tn_cached_region *tn_thread_cache_set_of(struct tn_thread_cache *cache,
                                                              uint64_t key)
{
    uint32_t hash = ((uint32_t)(key >> 32) + (uint32_t)key) * 0x9E3779B1U;
    return &cache->places[(hash >> (32 - TN_THREAD_CACHE_SETS_LOG2)) * TN_THREAD_CACHE_WAYS];
}

/* Where in by_chunk the place of what is out is remembered. */
static inline uint32_t tn_thread_cache_link_of(uint32_t first_chunk)
{
    return first_chunk * 0x9E3779B1U >> (32 - TN_THREAD_CACHE_HASH_LOG2);
}

/* The place of what is out and starts at the chunk, or one of something else. */
static inline struct tn_cached_region *tn_thread_cache_place_of(struct tn_thread_cache *cache,
                                                                uint32_t first_chunk)
{
    return &cache->places[cache->by_chunk[tn_thread_cache_link_of(first_chunk)]];
}

static inline const struct tn_cached_region *tn_thread_cache_take(struct tn_thread_cache *cache,
                                                                  struct tn_region_index *index,
                                                                  uint32_t chunk_count,
                                                                  uint32_t streams,
                                                                  uint32_t slack_bytes)
{
    uint64_t key = tn_thread_cache_key(chunk_count, streams);
    struct tn_cached_region *place = tn_thread_cache_set_of(cache, key);
    const struct tn_cached_region *end = place + TN_THREAD_CACHE_WAYS;
    while (place->key != key) {
        if (++place == end) return NULL;
    }
    place->key = key | TN_CACHED_REGION_IS_OUT;
    cache->chunk_count -= chunk_count;
    cache->by_chunk[tn_thread_cache_link_of(place->first_chunk)] = (uint8_t)(place - cache->places);
    tn_region_unmark_cached(&index->regions[place->region], slack_bytes);
    return place;
}

static inline const struct tn_cached_region *tn_thread_cache_give(
    struct tn_thread_cache *cache, struct tn_region_index *index, uint32_t first_chunk,
    uintptr_t address, struct tn_dependency dependency, uint32_t *slack_bytes_out)
{
    struct tn_cached_region *place = tn_thread_cache_place_of(cache, first_chunk);
    uint64_t key = place->key ^ TN_CACHED_REGION_IS_OUT;
    if (place->address != address || key & TN_CACHED_REGION_IS_OUT) return NULL;
    uint32_t chunk_count = cache->chunk_count + tn_cached_chunk_count(place);
    if (TN_UNLIKELY((uint32_t)key != dependency.streams || chunk_count > cache->bound)) {
        place->key = 0;
        return NULL;
    }
    place->key = key;
    TN_ASSERT(place->time == dependency.time);
    place->put_at = cache->put_count;
    cache->chunk_count = chunk_count;
    *slack_bytes_out = tn_region_slack_bytes(&index->regions[place->region]);
    tn_region_mark_cached(&index->regions[place->region]);
    return place;
}

static inline void tn_thread_cache_forget(struct tn_thread_cache *cache, uint32_t first_chunk)
{
    struct tn_cached_region *place = tn_thread_cache_place_of(cache, first_chunk);
    if (place->first_chunk == first_chunk && place->key & TN_CACHED_REGION_IS_OUT) place->key = 0;
}

#endif
