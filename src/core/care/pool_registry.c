/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* pool_registry: a list of open pools, a queue of resting handles, and what a fork leaves of them. */
#include "pool_registry.h"

#include "../../base/host_memory.h"
#include "../../base/process.h"
#include "../serve/pool_streams.h"

#include "debug_pool.h"

static struct tn_mutex lock = TN_MUTEX_INIT;
static struct tarn_pool *open_pools;    /* the newest first */
static struct tarn_pool *first_resting; /* the one that has rested longest */
static struct tarn_pool *last_resting;
static size_t resting_count;
static struct tarn_pool *returned;  /* handles that never became pools */
static struct tarn_pool *postponed; /* closed pools that are yet to be ended */
static struct tarn_pool
    *forked; /* the parent's pools, never used again: they may be half changed */

/* --- forks ------------------------------------------------------------------------------------ */

static struct tn_once forks_once = TN_ONCE_INIT;
static bool watches_forks;

/* The lists are whole in the child, because no thread changes them during the fork. */
static void before_fork(void)
{
    tn_mutex_lock(&lock);
}

static void after_fork_in_parent(void)
{
    tn_mutex_unlock(&lock);
}

static void give_up_newest_pool(void)
{
    struct tarn_pool *pool = open_pools;
    open_pools = pool->next_handle;
    /* A pool that another thread of the parent was destroying stays closed. */
    if (tn_pool_is_open(pool))
        atomic_store_explicit(&pool->state, TN_POOL_STATE_FORKED, memory_order_release);
    pool->next_handle = forked;
    forked = pool;
}

static void after_fork_in_child(void)
{
    while (open_pools)
        give_up_newest_pool();
    postponed = NULL;
    tn_captures_forget();
    tn_mutex_unlock(&lock);
}

static void watch_forks(void)
{
    watches_forks =
        tn_process_call_around_forks(before_fork, after_fork_in_parent, after_fork_in_child);
}

/* Forks are watched before the lock is ever held. */
static void lock_registry(void)
{
    tn_once_call(&forks_once, watch_forks);
    tn_mutex_lock(&lock);
}

/* --- handles ---------------------------------------------------------------------------------- */

static struct tarn_pool *take_idle_handle(void)
{
    lock_registry();
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
    if (!watches_forks) return NULL;
    if (pool) return pool;
    return tn_host_memory_alloc_zeroed(sizeof *pool);
}

void tn_pool_registry_rest_handle(struct tarn_pool *pool)
{
    lock_registry();
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
    lock_registry();
    pool->next_handle = returned;
    returned = pool;
    tn_mutex_unlock(&lock);
}

/* --- pools ------------------------------------------------------------------------------------ */

void tn_pool_registry_open(struct tarn_pool *pool)
{
    lock_registry();
    pool->next_handle = open_pools;
    open_pools = pool;
    tn_mutex_unlock(&lock);
    atomic_store_explicit(&pool->state, TN_POOL_STATE_OPEN, memory_order_release);
}

void tn_pool_registry_close(struct tarn_pool *pool)
{
    atomic_store_explicit(&pool->state, TN_POOL_STATE_CLOSED, memory_order_release);
    lock_registry();
    while (atomic_load_explicit(&pool->pin_count, memory_order_acquire) > 0) {
        tn_mutex_unlock(&lock);
        tn_thread_sleep_shortly();
        tn_mutex_lock(&lock);
    }
    struct tarn_pool **place = &open_pools;
    while (*place != pool) {
        place = &(*place)->next_handle;
    }
    *place = pool->next_handle;
    tn_mutex_unlock(&lock);
}

void tn_pool_registry_postpone(struct tarn_pool *pool)
{
    lock_registry();
    pool->next_handle = postponed;
    postponed = pool;
    tn_mutex_unlock(&lock);
}

struct tarn_pool *tn_pool_registry_take_postponed(void)
{
    lock_registry();
    struct tarn_pool *pool = postponed;
    if (pool) postponed = pool->next_handle;
    tn_mutex_unlock(&lock);
    return pool;
}

/* Needs no lock: a walk that cannot go on must not keep its pool open. */
static void unpin(struct tarn_pool *pool)
{
    if (pool) atomic_fetch_sub_explicit(&pool->pin_count, 1, memory_order_release);
}

/* Requires: the lock. */
static struct tarn_pool *pin_next(struct tarn_pool *pool)
{
    struct tarn_pool *next = pool ? pool->next_handle : open_pools;
    if (next) atomic_fetch_add_explicit(&next->pin_count, 1, memory_order_relaxed);
    unpin(pool);
    return next;
}

struct tarn_pool *tn_pool_registry_pin_next(struct tarn_pool *pool)
{
    lock_registry();
    struct tarn_pool *next = pin_next(pool);
    tn_mutex_unlock(&lock);
    return next;
}

bool tn_pool_registry_try_pin_next(struct tarn_pool **pool)
{
    enum {
        ATTEMPT_COUNT_MAX = 100 /* a millisecond each */
    };
    bool is_locked = tn_mutex_try_lock(&lock);
    for (unsigned i = 0; i < ATTEMPT_COUNT_MAX && !is_locked; i++) {
        tn_thread_sleep_shortly();
        is_locked = tn_mutex_try_lock(&lock);
    }
    if (!is_locked) {
        unpin(*pool);
        *pool = NULL;
        return false;
    }
    *pool = pin_next(*pool);
    tn_mutex_unlock(&lock);
    return true;
}

enum tn_find_result tn_pool_registry_find(const void *address, struct tarn_pool **pool_out,
                                          tarn_allocation *found_out)
{
    enum tn_find_result result = TN_FIND_RESULT_FOREIGN;
    lock_registry();
    for (struct tarn_pool *pool = open_pools; pool; pool = pool->next_handle) {
        result = tn_debug_find(pool, address, found_out);
        if (result == TN_FIND_RESULT_FOREIGN) continue;
        if (pool_out) *pool_out = pool;
        break;
    }
    tn_mutex_unlock(&lock);
    return result;
}

struct tn_quote tn_pool_registry_quote(const struct tarn_pool *pool)
{
    struct tn_quote quoted = { "" };
    lock_registry();
    for (const struct tarn_pool *open = open_pools; open; open = open->next_handle) {
        if (open == pool) quoted = tn_quote_pool(pool);
    }
    tn_mutex_unlock(&lock);
    return quoted;
}

size_t tn_pool_registry_resting_count(void)
{
    lock_registry();
    size_t count = resting_count;
    for (const struct tarn_pool *pool = returned; pool; pool = pool->next_handle) {
        count++;
    }
    tn_mutex_unlock(&lock);
    return count;
}
