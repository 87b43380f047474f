/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* pool_members: joining, leaving, and which static pools leave first. */
#include "pool_members.h"

#include "../../base/error.h"
#include "../arenas/gather.h"
#include "../serve/pool_streams.h"

#include "pool_callbacks.h"
#include "pool_steps.h"
#include "pool_watch.h"

/* --- joining --------------------------------------------------------------------------------------- */

void tn_pool_announce(struct tarn_pool *pool, struct tn_static_pool *acquired,
                      const struct tn_request *request)
{
    if (pool->passes_through) {
        tn_static_pool_describe_for_one(acquired, pool->chunk_log2,
                                        tn_pool_place_in_backing(pool, request, acquired),
                                        request->size_bytes);
    } else {
        tn_static_pool_describe(acquired, pool->chunk_log2, TN_CHUNK_COUNT_MAX);
    }
    tn_static_pool_chain_push(&pool->arriving, acquired);
    tn_pool_tell_created(pool, acquired->backing, acquired->backing_bytes, acquired->id,
                         &acquired->told);
    tn_static_pool_chain_remove(&pool->arriving, acquired);
    tn_pool_watch_begin(pool, acquired);
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
    tn_pool_allow(pool, announced->backing, announced->backing_bytes);
    tn_pool_tell_destroyed(pool, announced->backing, announced->backing_bytes, announced->id,
                           announced->told);
    tn_pool_watch_end(pool, announced);
    announced->watch = NULL;
    return tn_pool_release(pool, announced);
}

/* Takes a wholly free static pool out of the index; its backing is in transit then. It is still in the orders of the
 * list. */
static void detach(struct tarn_pool *pool, struct tn_static_pool *detached)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    tn_static_pool_list_mark_leaving(&pool->list, detached);
    tn_static_pool_chain_push(&pool->leaving, detached);
    detached->dependency = tn_region_index_remove_span(&pool->own.index, detached->head);
    detached->told = pool->newest_observer;
    pool->transit_bytes += detached->backing_bytes;
}

/* Sums up the static pools that can leave. */
static size_t sum_up_free(const struct tarn_pool *pool, size_t *count_out)
{
    size_t bytes = 0;
    *count_out = 0;
    for (uint32_t i = 0; i < pool->list.count; i++) {
        const struct tn_static_pool *held = pool->list.by_chunk[i].static_pool;
        if (!tn_pool_can_leave(pool, held)) continue;
        bytes += held->backing_bytes;
        ++*count_out;
    }
    return bytes;
}

/* Detaches the static pools that the rule lets go, the newest first. Returns the first; the others follow by
 * next_out. */
static struct tn_static_pool *detach_all(struct tarn_pool *pool, const struct tn_release_rule *rule)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    struct tn_static_pool *first = NULL, **link = &first;
    size_t held_bytes = pool->own.stats.footprint_bytes - pool->transit_bytes;
    size_t free_count, free_bytes = sum_up_free(pool, &free_count), detached_bytes = 0;
    if (pool->is_over_callers_memory || tn_captures_are_under_way()) return NULL;
    if (rule->needs_empty && pool->own.stats.live_count > 0) return NULL;
    for (struct tn_static_pool *candidate = pool->list.chain.newest, *older; candidate;
         candidate = older) {
        older = candidate->older;
        if (free_bytes <= rule->keep_free_bytes || (rule->keeps_spare && free_count == 1)) break;
        if (rule->enough_bytes > 0 && detached_bytes >= rule->enough_bytes) break;
        if (held_bytes - candidate->backing_bytes < rule->keep_bytes ||
            !tn_pool_can_leave(pool, candidate))
            continue;
        detach(pool, candidate);
        held_bytes -= candidate->backing_bytes;
        free_bytes -= candidate->backing_bytes;
        detached_bytes += candidate->backing_bytes;
        free_count--;
        candidate->next_out = NULL;
        *link = candidate;
        link = &candidate->next_out;
    }
    if (first) tn_static_pool_list_remove_leaving(&pool->list);
    return first;
}

/* --- holding --------------------------------------------------------------------------------------- */

static struct tn_static_pool *find_in(const struct tn_static_pool_chain *chain, uint64_t id)
{
    struct tn_static_pool *found = chain->newest;
    while (found && found->id != id)
        found = found->older;
    return found;
}

/* The count of holds of the static pool or step of that id. NULL: it is not in the pool, nor on its way into it. */
static uint32_t *find_hold_count(struct tarn_pool *pool, uint64_t id)
{
    if (pool->range) {
        uint32_t step = tn_step_range_find(pool->range, id);
        return step == TN_STEP_NONE ? NULL : &pool->range->steps[step].hold_count;
    }
    struct tn_static_pool *found = find_in(&pool->list.chain, id);
    if (!found) found = find_in(&pool->arriving, id);
    return found ? &found->hold_count : NULL;
}

static void set_hold_count(struct tarn_pool *pool, uint32_t *hold_count, uint32_t count)
{
    tn_pool_lock(pool);
    if (pool->range && *hold_count == 0) pool->range->held_count++;
    *hold_count = count;
    if (pool->range && *hold_count == 0) pool->range->held_count--;
    tn_pool_unlock(pool);
}

static TN_COLD tarn_status fail_to_hold(const struct tarn_pool *pool, uint64_t id, const char *why)
{
    return tn_fail(TARN_STATUS_INVALID_ARGUMENT, "%s %llu %s", pool->range ? "step" : "static pool",
                   (unsigned long long)id, why);
}

tarn_status tn_pool_hold(struct tarn_pool *pool, uint64_t id)
{
    tarn_status status = TARN_STATUS_OK;
    tn_pool_lock_growth(pool);
    uint32_t *hold_count = find_hold_count(pool, id);
    if (!hold_count)
        status = fail_to_hold(pool, id, "is not in the pool");
    else if (*hold_count == UINT32_MAX)
        status = fail_to_hold(pool, id, "is held too often");
    else
        set_hold_count(pool, hold_count, *hold_count + 1);
    tn_pool_unlock_growth(pool);
    return status;
}

tarn_status tn_pool_unhold(struct tarn_pool *pool, uint64_t id)
{
    tarn_status status = TARN_STATUS_OK;
    tn_pool_lock_growth(pool);
    uint32_t *hold_count = find_hold_count(pool, id);
    if (!hold_count) {
        status = fail_to_hold(pool, id, "is not in the pool");
    } else if (*hold_count == 0) {
        status = fail_to_hold(pool, id, "is not held");
    } else {
        set_hold_count(pool, hold_count, *hold_count - 1);
        pool->change_count++;
    }
    tn_pool_unlock_growth(pool);
    return status;
}

/* --- giving back ----------------------------------------------------------------------------------- */

struct tn_giving_back tn_pool_release_free(struct tarn_pool *pool,
                                           const struct tn_release_rule *rule)
{
    if (pool->range) return tn_pool_release_free_steps(pool, rule);
    struct tn_giving_back given = tn_pool_release_unreleased(pool);
    tn_pool_lock_and_gather(pool);
    struct tn_static_pool *detached = detach_all(pool, rule), *next;
    tn_pool_unlock(pool);
    for (; detached; detached = next) {
        size_t size_bytes = detached->backing_bytes;
        next = detached->next_out;
        tn_giving_back_count(&given, size_bytes, tn_pool_withdraw(pool, detached));
    }
    return given;
}
