/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* pool_parts: the thread's own arena, another arena, or the pool's own part. */
#include "pool_parts.h"

#include "../index/region_index.h"
#include "../arenas/arena_mail.h"

struct tn_arena *tn_pool_find_arena_of(struct tarn_pool *pool, uintptr_t address,
                                       struct tn_place *place_out)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    if (!tn_place_locate(pool, address, place_out)) return NULL;
    const struct tn_loan *loan = tn_arenas_find_loan(&pool->arenas, place_out->chunk);
    return loan ? &pool->arenas.all[loan->arena] : NULL;
}

/* Locks the thread's arena if an allocation of the arena starts at the address, or shares a chunk with it that is
 * cut. NULL: none does. */
static struct tn_part *lock_own_arena(struct tarn_pool *pool, uintptr_t address)
{
    struct tn_place place;
    struct tn_arena *own = tn_arena_own(pool);
    tn_biased_mutex_lock(&own->lock);
    if (own->is_active) {
        tn_arena_empty_mailbox(pool, own);
        if (tn_place_locate(pool, address, &place) &&
            tn_region_index_find_start(&own->part.index, place.chunk) != TN_REGION_NONE)
            return &own->part;
    }
    tn_biased_mutex_unlock(&own->lock);
    return NULL;
}

struct tn_part *tn_pool_lock_part_of(struct tarn_pool *pool, uintptr_t address)
{
    if (tn_arenas_are_active(&pool->arenas)) {
        struct tn_part *own = lock_own_arena(pool, address);
        if (own) return own;
    }
    struct tn_place place;
    tn_pool_lock(pool);
    struct tn_arena *arena = tn_pool_find_arena_of(pool, address, &place);
    if (!arena) return &pool->own;
    tn_biased_mutex_lock(&arena->lock);
    tn_pool_unlock(pool);
    tn_arena_empty_mailbox(pool, arena);
    return &arena->part;
}

void tn_pool_unlock_part(struct tarn_pool *pool, struct tn_part *part)
{
    if (part == &pool->own) {
        tn_pool_unlock(pool);
    } else {
        tn_biased_mutex_unlock(&tn_arena_of_part(part)->lock);
    }
}
