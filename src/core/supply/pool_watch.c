/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* pool_watch: tells a tool which memory of a pool may be touched. The tool gives a handle for each static pool. A
 * static pool that came after the watching ended has none. */
#include "pool_watch.h"

#include "../serve/place.h"

#include "debug_memory.h"
#include "supplier.h"

/* Whether a tool can watch the pool's pieces. The steps of a contiguous pool are not watched. */
static bool can_be_watched(const struct tarn_pool *pool)
{
    return pool->debug && pool->supplier->can_be_watched && pool->backend.operations->watch_begin &&
           tn_debug_memory_is_supported(&pool->backend);
}

void tn_pool_watch_begin(struct tarn_pool *pool, struct tn_piece *coming)
{
    tn_mutex_lock(&pool->watch_lock);
    if (can_be_watched(pool) && !pool->is_unwatched)
        coming->watch = pool->backend.operations->watch_begin(pool->backend.state, coming->base,
                                                              coming->size_bytes);
    tn_mutex_unlock(&pool->watch_lock);
}

void tn_pool_watch_end(const struct tarn_pool *pool, struct tn_piece *going)
{
    if (going->watch) pool->backend.operations->watch_end(pool->backend.state, going->watch);
    going->watch = NULL;
}

/* The handle of the static pool at the address, or NULL. */
static tarn_watch watch_at(struct tarn_pool *pool, uintptr_t address)
{
    struct tn_place place;
    if (!can_be_watched(pool)) return NULL;
    tn_pool_lock(pool);
    tarn_watch watch = tn_place_locate(pool, address, &place) ? place.owner->piece.watch : NULL;
    tn_pool_unlock(pool);
    return watch;
}

bool tn_pool_is_watched(struct tarn_pool *pool, uintptr_t address)
{
    if (!watch_at(pool, address)) return false;
    tn_mutex_lock(&pool->watch_lock);
    bool is_watched = !pool->is_unwatched;
    tn_mutex_unlock(&pool->watch_lock);
    return is_watched;
}

void tn_pool_watch_allow(struct tarn_pool *pool, uintptr_t address, size_t size_bytes)
{
    tarn_watch watch = watch_at(pool, address);
    if (!watch) return;
    tn_mutex_lock(&pool->watch_lock);
    if (!pool->is_unwatched)
        pool->backend.operations->watch_allow(pool->backend.state, watch, (void *)address,
                                              size_bytes);
    tn_mutex_unlock(&pool->watch_lock);
}

void tn_pool_watch_forbid(struct tarn_pool *pool, uintptr_t address)
{
    tarn_watch watch = watch_at(pool, address);
    if (!watch) return;
    tn_mutex_lock(&pool->watch_lock);
    if (!pool->is_unwatched)
        pool->backend.operations->watch_forbid(pool->backend.state, watch, (void *)address);
    tn_mutex_unlock(&pool->watch_lock);
}

void tn_pool_watch_no_more(struct tarn_pool *pool)
{
    const tarn_backend_operations *operations = pool->backend.operations;
    tn_mutex_lock(&pool->watch_lock);
    const struct tn_piece *watched = pool->is_unwatched ? NULL : pool->pieces.joined.newest;
    for (; watched; watched = watched->older) {
        if (!watched->watch) continue;
        operations->watch_forbid(pool->backend.state, watched->watch, NULL);
        operations->watch_allow(pool->backend.state, watched->watch, watched->base,
                                watched->size_bytes);
    }
    pool->is_unwatched = true;
    tn_mutex_unlock(&pool->watch_lock);
}
