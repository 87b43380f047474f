/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * gather: the lock for calls that look at everything in a pool, or change its static pools or streams: while it is
 * held there are no arenas and no kept slabs, so the pool's index knows all chunks. See arena.h.
 *
 * Cost: the lock; where there are arenas, O(regions and slabs of the arenas).
 */
#ifndef TN_GATHER_H
#define TN_GATHER_H

#include "pool_slices.h"
#include "pool_struct.h"

/* Every arena gives back what it has. Requires the pool's lock. */
void tn_arenas_gather(struct tarn_pool *pool);

/* Makes chunks free that the arena holds and does not use: posted frees, and kept slabs. Requires the arena's lock. */
void tn_arena_free_unused(struct tarn_pool *pool, struct tn_arena *arena);

static inline void tn_pool_lock_and_gather(struct tarn_pool *pool)
{
    tn_pool_lock(pool);
    if (TN_UNLIKELY(tn_arenas_are_active(&pool->arenas))) tn_arenas_gather(pool);
    if (TN_UNLIKELY(pool->own.slices.kept_count > 0)) tn_pool_free_kept(pool, &pool->own);
}

#endif
