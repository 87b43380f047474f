/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * arena_mail: frees of allocations that belong to the arena of another thread, by way of its mailbox. See
 * remote_frees.h.
 *
 * Each function names the locks that it requires. Cost: O(1), except for emptying a mailbox, which frees each
 * entry.
 */
#ifndef TN_ARENA_MAIL_H
#define TN_ARENA_MAIL_H

#include "../../base/thread_number.h"

#include "../serve/serve.h"

/* The arena of the calling thread. Requires that the arenas are created, and no lock. */
static inline struct tn_arena *tn_arena_own(const struct tarn_pool *pool)
{
    return &pool->arenas.all[tn_thread_number() % TN_ARENA_COUNT];
}

static inline uint32_t tn_arena_number(const struct tarn_pool *pool, const struct tn_arena *arena)
{
    return (uint32_t)(arena - pool->arenas.all);
}

/* --- starts: the arena of each block ------------------------------------------------------------- */

_Static_assert(TN_ARENA_COUNT < TN_START_POSTED, "no arena has the byte of a posted block");

static inline uint8_t tn_arena_start(const struct tarn_pool *pool, const struct tn_arena *arena)
{
    return (uint8_t)(tn_arena_number(pool, arena) + 1);
}

/* Lets other threads post an allocation of whole chunks. */
static inline void tn_arena_note_start(struct tarn_pool *pool, const struct tn_arena *arena,
                                       uintptr_t address)
{
    struct tn_place place;
    TN_ASSERT(tn_biased_mutex_is_held(&arena->lock));
    bool is_located = tn_place_locate(pool, address, &place);
    TN_ASSERT(is_located);
    if (is_located && tn_remote_frees_covers(&pool->arenas.remote, place.chunk))
        tn_remote_frees_set(&pool->arenas.remote, place.chunk, tn_arena_start(pool, arena));
}

/* Whether the arena may free the allocation that starts at the place. False: another thread has posted it, or
 * it is in another arena. True for slices and for chunks without a byte. */
static inline bool tn_arena_take_start(struct tarn_pool *pool, const struct tn_arena *arena,
                                       const struct tn_place *place)
{
    struct tn_remote_frees *remote = &pool->arenas.remote;
    TN_ASSERT(tn_biased_mutex_is_held(&arena->lock));
    if (TN_LIKELY(!tn_remote_frees_covers(remote, place->chunk))) return true;
    uint8_t start = tn_remote_frees_who_has(remote, place->chunk);
    if (start == TN_START_NOBODYS || !tn_place_is_at_chunk(place)) return true;
    return start == tn_arena_start(pool, arena) &&
           tn_remote_frees_change(remote, place->chunk, start, TN_START_NOBODYS);
}

/* The byte of another arena than the thread's own, whose block starts at the place. TN_START_NOBODYS: there is none,
 * or it is posted. Requires the lock of the thread's own arena, which is open. */
static inline uint8_t tn_arena_other_start(const struct tarn_pool *pool, const struct tn_arena *own,
                                           const struct tn_place *place)
{
    const struct tn_remote_frees *remote = &pool->arenas.remote;
    TN_ASSERT(tn_biased_mutex_is_held(&own->lock) && own->is_open);
    if (!tn_place_is_at_chunk(place) || !tn_remote_frees_covers(remote, place->chunk))
        return TN_START_NOBODYS;
    uint8_t start = tn_remote_frees_who_has(remote, place->chunk);
    return start == TN_START_POSTED || start == tn_arena_start(pool, own) ? TN_START_NOBODYS
                                                                          : start;
}

/* Undoes tn_arena_take_start for an allocation that stays live. Requires the arena's lock. */
void tn_arena_give_start_back(struct tarn_pool *pool, const struct tn_arena *arena,
                              const struct tn_place *place);

/* tn_serve_free in an arena. NOT_LIVE: also if another thread has posted the allocation. Requires the arena's lock. */
TN_HOT enum tn_free_result tn_arena_serve_free(struct tarn_pool *pool, struct tn_arena *arena,
                                               const struct tn_place *place,
                                               const size_t *told_bytes,
                                               struct tn_dependency dependency)
{
    if (!tn_arena_take_start(pool, arena, place)) return TN_FREE_RESULT_NOT_LIVE;
    enum tn_free_result freed = tn_serve_free(pool, &arena->part, place, told_bytes, dependency);
    if (TN_UNLIKELY(freed == TN_FREE_RESULT_WRONG_SIZE))
        tn_arena_give_start_back(pool, arena, place);
    return freed;
}

/* Clears the bytes of a loan, whose span has this head. Requires the pool's lock, with no arena active. */
void tn_arena_forget_starts(struct tarn_pool *pool, const struct tn_arena *arena, uint32_t head);

/* --- mail ---------------------------------------------------------------------------------------- */

/* Frees an allocation of another arena without the lock of that arena. Requires the lock of the thread's own
 * arena, which is open, so that no gather runs meanwhile. False: no block of another arena starts at the place,
 * or the mailbox is full. */
bool tn_arena_post(struct tarn_pool *pool, const struct tn_arena *own, const struct tn_place *place,
                   struct tn_dependency dependency);

/* Frees all posted allocations of an arena. Requires the lock of the part. */
void tn_arena_empty_mailbox(struct tarn_pool *pool, struct tn_arena *arena);

/* Counts a free that takes the arena's lock. After many of them by other threads, mailboxes are wanted.
 * Requires the lock of the pool and of the arena. */
void tn_arena_note_free_by_lock(struct tarn_pool *pool, const struct tn_arena *arena,
                                uint32_t chunk);

#endif
