/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* pool_registry: a list of open pools, a queue of resting handles. */
#include "pool_registry.h"

#include "../base/host_memory.h"

static struct tn_mutex lock = TN_MUTEX_INIT;
static struct tn_condition unpinned = TN_CONDITION_INIT;
static struct tarn_pool *open_pools;    /* the newest first */
static struct tarn_pool *first_resting; /* has rested longest */
static struct tarn_pool *last_resting;
static size_t resting_count;
static struct tarn_pool *returned; /* never became pools */

static struct tarn_pool *take_idle_handle(void)
{
    tn_mutex_lock(&lock);
    struct tarn_pool *pool = returned;
    if (pool) {
        returned = pool->next_handle;
    } else if (resting_count > TN_POOL_REGISTRY_RESTING_MAX) {
        pool = first_resting;
        first_resting = pool->next_handle;
        resting_count--;
    }
    tn_mutex_unlock(&lock);
    return pool;
}

struct tarn_pool *tn_pool_registry_take_handle(void)
{
    struct tarn_pool *pool = take_idle_handle();
    if (pool) return pool;
    return tn_host_memory_alloc_zeroed(sizeof *pool);
}

void tn_pool_registry_rest_handle(struct tarn_pool *pool)
{
    tn_mutex_lock(&lock);
    pool->next_handle = NULL;
    if (resting_count == 0) {
        first_resting = pool;
    } else {
        last_resting->next_handle = pool;
    }
    last_resting = pool;
    resting_count++;
    tn_mutex_unlock(&lock);
}

void tn_pool_registry_return_handle(struct tarn_pool *pool)
{
    tn_mutex_lock(&lock);
    pool->next_handle = returned;
    returned = pool;
    tn_mutex_unlock(&lock);
}

void tn_pool_registry_open(struct tarn_pool *pool)
{
    tn_mutex_lock(&lock);
    pool->next_handle = open_pools;
    open_pools = pool;
    tn_mutex_unlock(&lock);
    atomic_store_explicit(&pool->state, TN_POOL_STATE_OPEN, memory_order_release);
}

void tn_pool_registry_close(struct tarn_pool *pool)
{
    atomic_store_explicit(&pool->state, TN_POOL_STATE_CLOSED, memory_order_release);
    tn_mutex_lock(&lock);
    while (pool->pin_count > 0)
        tn_condition_wait(&unpinned, &lock);
    struct tarn_pool **place = &open_pools;
    while (*place != pool) {
        place = &(*place)->next_handle;
    }
    *place = pool->next_handle;
    tn_mutex_unlock(&lock);
}

static void unpin_locked(struct tarn_pool *pool)
{
    if (--pool->pin_count == 0) tn_condition_signal_all(&unpinned);
}

struct tarn_pool *tn_pool_registry_pin_next(struct tarn_pool *pool)
{
    tn_mutex_lock(&lock);
    struct tarn_pool *next = pool ? pool->next_handle : open_pools;
    if (next) next->pin_count++;
    if (pool) unpin_locked(pool);
    tn_mutex_unlock(&lock);
    return next;
}

void tn_pool_registry_unpin(struct tarn_pool *pool)
{
    tn_mutex_lock(&lock);
    unpin_locked(pool);
    tn_mutex_unlock(&lock);
}

enum tn_find_result tn_pool_registry_find(const void *address, struct tarn_pool **pool_out,
                                          tarn_allocation *found_out)
{
    enum tn_find_result result = TN_FIND_RESULT_FOREIGN;
    tn_mutex_lock(&lock);
    for (struct tarn_pool *pool = open_pools; pool; pool = pool->next_handle) {
        result = tn_pool_find(pool, address, found_out);
        if (result == TN_FIND_RESULT_FOREIGN) continue;
        if (pool_out) *pool_out = pool;
        break;
    }
    tn_mutex_unlock(&lock);
    return result;
}

size_t tn_pool_registry_resting_count(void)
{
    tn_mutex_lock(&lock);
    size_t count = resting_count;
    for (const struct tarn_pool *pool = returned; pool; pool = pool->next_handle) {
        count++;
    }
    tn_mutex_unlock(&lock);
    return count;
}
