/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* pool_members: joining, leaving, and which static pools leave first. */
#include "pool_members.h"

#include "../serve/gather.h"
#include "../serve/pool_streams.h"

#include "pool_callbacks.h"
#include "pool_steps.h"
#include "pool_watch.h"

/* --- joining --------------------------------------------------------------------------------------- */

static struct tn_static_pool *describe(const struct tarn_pool *pool,
                                       const struct tn_backing *backing,
                                       const struct tn_request *request)
{
    if (!pool->passes_through) {
        return tn_static_pool_create(backing->address, backing->size_bytes, pool->chunk_log2,
                                     TN_CHUNK_COUNT_MAX);
    }
    return tn_static_pool_create_for_one(backing->address, backing->size_bytes, pool->chunk_log2,
                                         tn_pool_place_in_backing(pool, request, backing),
                                         request->size_bytes);
}

struct tn_static_pool *tn_pool_announce(struct tarn_pool *pool, const struct tn_backing *backing,
                                        const struct tn_request *request)
{
    struct tn_static_pool *announced = describe(pool, backing, request);
    if (announced) {
        tn_pool_tell_created(pool, announced->backing, announced->backing_bytes, announced->id);
        tn_pool_watch_begin(pool, announced);
    } else {
        tn_pool_release_backing(pool, backing);
    }
    return announced;
}

bool tn_pool_insert(struct tarn_pool *pool, struct tn_static_pool *announced)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    uint32_t first_chunk;
    if (!tn_static_pool_list_find_numbers(&pool->list, announced->chunk_count,
                                          TN_START_GROUP_CHUNKS, TN_CHUNK_COUNT_MAX,
                                          &first_chunk) ||
        !tn_static_pool_list_reserve(&pool->list) ||
        !tn_region_index_reserve_span(&pool->own.index, first_chunk, announced->chunk_count)) {
        return false;
    }
    announced->first_chunk = first_chunk;
    announced->head =
        tn_region_index_add_span(&pool->own.index, first_chunk, announced->chunk_count);
    tn_static_pool_list_insert(&pool->list, announced);
    tn_pool_forbid(pool, announced->backing, announced->backing_bytes);
    pool->transit_bytes -= announced->backing_bytes;
    return true;
}

/* --- leaving --------------------------------------------------------------------------------------- */

tarn_backend_result tn_pool_withdraw(struct tarn_pool *pool, struct tn_static_pool *announced)
{
    struct tn_backing backing = { announced->backing, announced->backing_bytes };
    tn_pool_allow(pool, backing.address, backing.size_bytes);
    tn_pool_tell_destroyed(pool, backing.address, backing.size_bytes, announced->id);
    tn_pool_watch_end(pool, announced);
    tn_static_pool_destroy(announced);
    return tn_pool_release_backing(pool, &backing);
}

/* Takes a wholly free static pool out of the list; its backing is in transit then. */
static void remove_static_pool(struct tarn_pool *pool, const struct tn_static_pool *removed)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    tn_region_index_remove_span(&pool->own.index, removed->head);
    tn_static_pool_list_remove(&pool->list, removed);
    pool->transit_bytes += removed->backing_bytes;
}

static uint64_t newest_id(const struct tarn_pool *pool)
{
    uint64_t newest = 0;
    for (uint32_t i = 0; i < pool->list.count; i++) {
        uint64_t id = pool->list.by_chunk[i].static_pool->id;
        if (id > newest) newest = id;
    }
    return newest;
}

/* The newest wholly free static pool that is no newer than id_max and that the rule lets go, or NULL. */
static struct tn_static_pool *find_releasable(const struct tarn_pool *pool,
                                              const struct tn_release_rule *rule, uint64_t id_max)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    struct tn_static_pool *newest = NULL;
    size_t held_bytes = pool->own.stats.footprint_bytes - pool->transit_bytes;
    size_t free_bytes = 0, free_count = 0;
    /* A release waits for the device, which would break a capture. */
    if (pool->is_over_callers_memory || tn_pool_is_capturing(pool)) return NULL;
    if (rule->needs_empty && pool->own.stats.live_count > 0) return NULL;
    for (uint32_t i = 0; i < pool->list.count; i++) {
        struct tn_static_pool *candidate = pool->list.by_chunk[i].static_pool;
        if (!tn_region_index_span_is_free(&pool->own.index, candidate->head,
                                          tn_pool_held_streams(pool)))
            continue;
        free_bytes += candidate->backing_bytes;
        free_count++;
        if (candidate->id > id_max) continue;
        if (held_bytes - candidate->backing_bytes < rule->keep_bytes) continue;
        if (!newest || candidate->id > newest->id) newest = candidate;
    }
    if (free_bytes <= rule->keep_free_bytes) return NULL;
    return rule->keeps_spare && free_count == 1 ? NULL : newest;
}

static struct tn_static_pool *detach_releasable(struct tarn_pool *pool,
                                                const struct tn_release_rule *rule, uint64_t id_max)
{
    tn_pool_lock_and_gather(pool);
    struct tn_static_pool *found = find_releasable(pool, rule, id_max);
    if (found) remove_static_pool(pool, found);
    tn_pool_unlock(pool);
    return found;
}

struct tn_giving_back tn_pool_release_free(struct tarn_pool *pool,
                                           const struct tn_release_rule *rule)
{
    if (pool->range) return tn_pool_release_free_steps(pool, rule);
    struct tn_giving_back given = { 0, 0, TARN_BACKEND_RESULT_OK };
    struct tn_static_pool *detached;
    uint64_t id_max = newest_id(pool);
    while ((detached = detach_releasable(pool, rule, id_max)) != NULL) {
        size_t size_bytes = detached->backing_bytes;
        tn_giving_back_count(&given, size_bytes, tn_pool_withdraw(pool, detached));
    }
    return given;
}
