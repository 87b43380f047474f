/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gather: the regions, slabs and counters of arenas move to the pool. */
#include "gather.h"

#include "arena_mail.h"

void tn_arena_free_unused(struct tarn_pool *pool, struct tn_arena *arena)
{
    TN_ASSERT(tn_biased_mutex_is_held(&arena->lock));
    tn_arena_empty_mailbox(pool, arena);
    if (arena->has_slices) tn_pool_free_kept(pool, &arena->part);
}

static void deactivate_all(struct tarn_pool *pool)
{
    struct tn_arenas *arenas = &pool->arenas;
    arenas->closed_call_count = 0;
    for (uint32_t i = 0; i < TN_ARENA_COUNT; i++) {
        struct tn_arena *arena = &arenas->all[i];
        tn_biased_mutex_lock(&arena->lock);
        if (arena->is_active) {
            arenas->closed_call_count += arena->part.stats.alloc_count;
            tn_arena_free_unused(pool, arena);
        }
        arena->is_active = arena->is_open = false;
        tn_biased_mutex_unlock(&arena->lock);
    }
    atomic_store_explicit(&arenas->active_count, 0, memory_order_release);
}

void tn_arenas_close(struct tarn_pool *pool)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    deactivate_all(pool);
    /* Records of work that is done are gone: nobody else would say so of the memory that the arenas had. */
    for (uint32_t i = 0; i < TN_ARENA_COUNT; i++) {
        struct tn_arena *arena = &pool->arenas.all[i];
        /* Until the last arena was closed, its thread could post to the others. */
        tn_arena_empty_mailbox(pool, arena);
        if (arena->loan_count > 0) tn_pool_note_completed(pool, &arena->part);
    }
    tn_pool_note_completed(pool, &pool->own);
    tn_pool_free_kept(pool, &pool->own);
}

/* Moves the slabs of an arena to the pool. Their regions follow with the loans that hold them. */
static void give_slabs(struct tarn_pool *pool, struct tn_arena *arena)
{
    bool had_any = false;
    for (unsigned i = 0; i < TN_SLICE_CLASS_COUNT_MAX; i++)
        had_any |= arena->promised_slab_counts[i] > 0;
    if (!had_any) return;
    tn_pool_adopt_slabs(pool, &arena->part);
    for (unsigned i = 0; i < TN_SLICE_CLASS_COUNT_MAX; i++) {
        tn_slices_take_promise_back(&pool->own.slices, i, arena->promised_slab_counts[i]);
        arena->promised_slab_counts[i] = 0;
    }
}

static void end_loan(struct tarn_pool *pool, const struct tn_loan *loan)
{
    struct tn_arena *arena = &pool->arenas.all[loan->arena];
    if (pool->arenas.remote.chunk_count > 0) tn_arena_forget_starts(pool, arena, loan->head);
    uint32_t lent =
        tn_live_map_find(&pool->own.index.live, pool->own.index.regions, loan->first_chunk);
    TN_ASSERT(lent != TN_REGION_NONE && arena->loan_count > 0);
    tn_region_index_adopt(&pool->own.index, lent, &arena->part.index, loan->head);
    if (--arena->loan_count > 0) return;
    tn_region_index_take_promise_back(&pool->own.index, arena->promised_count);
    arena->promised_count = 0;
    arena->part.index.reserved_count = 0; /* the next loan promises room anew */
    arena->lent_chunk_count = 0;
    tn_stats_add(&pool->own.stats, &arena->part.stats);
    tn_pool_adopt_labels(pool, &arena->part);
    pool->own.has_shrunk |= arena->part.has_shrunk;
    arena->part.has_shrunk = false;
}

void tn_arenas_gather(struct tarn_pool *pool)
{
    struct tn_arenas *arenas = &pool->arenas;
    TN_ASSERT(tn_pool_is_locked(pool));
    if (tn_arenas_are_active(arenas)) tn_arenas_close(pool);
    uint32_t regions_before = pool->own.index.region_count;
    for (uint32_t i = 0; i < TN_ARENA_COUNT; i++)
        give_slabs(pool, &arenas->all[i]);
    while (arenas->loan_count > 0)
        end_loan(pool, &arenas->loans[--arenas->loan_count]);
    /* Arenas that serve few calls for each region that is moved do not pay. Threads get them again after many
     * waits for the lock. */
    uint32_t regions_after = pool->own.index.region_count;
    uint64_t moved_count = regions_after > regions_before ? regions_after - regions_before : 0;
    if (arenas->closed_call_count < 8 * moved_count) {
        atomic_store_explicit(&arenas->are_wanted, false, memory_order_relaxed);
        pool->lock.wait_count = 0;
    }
}

size_t tn_arenas_sum_used(struct tarn_pool *pool)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    size_t used_bytes = pool->own.stats.used_bytes;
    if (!tn_arenas_are_active(&pool->arenas)) return used_bytes;
    for (uint32_t i = 0; i < TN_ARENA_COUNT; i++) {
        struct tn_arena *arena = &pool->arenas.all[i];
        tn_biased_mutex_lock(&arena->lock);
        if (arena->is_active) {
            tn_arena_empty_mailbox(pool, arena);
            used_bytes += arena->part.stats.used_bytes;
        }
        tn_biased_mutex_unlock(&arena->lock);
    }
    return used_bytes;
}
