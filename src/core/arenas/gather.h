/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * gather: the lock for calls that look at all of a pool, or change its static pools or streams. While it is
 * held, no arena is active and no slab is kept, so the pool's index has all chunks. See arena.h.
 *
 * Cost: the lock; with active arenas also O(regions and slabs of the arenas).
 */
#ifndef TN_GATHER_H
#define TN_GATHER_H

#include "../serve/pool_slices.h"
#include "../serve/pool_struct.h"

/* Closes all arenas: what they have borrowed stays lent, but no thread uses it until they are gathered. Frees what is
 * posted, and the kept slabs. Requires the pool's lock, which is held until then, and active arenas. */
void tn_arenas_close(struct tarn_pool *pool);

/* Ends the loans of all arenas: their regions and slabs move to the pool. Closes them first, if they are active. Requires
 * the pool's lock. */
void tn_arenas_gather(struct tarn_pool *pool);

/* Frees the posted allocations and the kept slabs of an active arena. Requires the arena's lock. */
void tn_arena_free_unused(struct tarn_pool *pool, struct tn_arena *arena);

/* Returns the bytes of live allocations, with those of the arenas, which keep what they have. Frees the posted
 * allocations. Requires the pool's lock. */
size_t tn_arenas_sum_used(struct tarn_pool *pool);

/* Locks the pool and all arenas, which keep what they have: no thread allocates, frees, or reads a time meanwhile. */
static inline void tn_pool_lock_and_freeze(struct tarn_pool *pool)
{
    tn_pool_lock(pool);
    tn_arenas_freeze(&pool->arenas);
}

static inline void tn_pool_thaw_and_unlock(struct tarn_pool *pool)
{
    tn_arenas_thaw(&pool->arenas);
    tn_pool_unlock(pool);
}

/* Gathers the arenas and frees the kept slabs. Requires the pool's lock. */
static inline void tn_pool_gather(struct tarn_pool *pool)
{
    if (TN_UNLIKELY(tn_arenas_are_active(&pool->arenas))) tn_arenas_gather(pool);
    if (TN_UNLIKELY(pool->own.slices.kept_count > 0)) tn_pool_free_kept(pool, &pool->own);
}

/* Locks the pool, with the arenas gathered and no slab kept. tn_pool_unlock ends it. */
static inline void tn_pool_lock_and_gather(struct tarn_pool *pool)
{
    tn_pool_lock(pool);
    tn_pool_gather(pool);
}

#endif
