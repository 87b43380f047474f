/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * arena_mail: what threads free of each other's arenas, by way of the mailboxes; see remote_frees.h.
 *
 * Cost: O(1), but for emptying a mailbox, which frees what is in it.
 * Threads: as each says.
 */
#ifndef TN_ARENA_MAIL_H
#define TN_ARENA_MAIL_H

#include "../../base/thread_number.h"

#include "serve.h"

/* The calling thread's. */
static inline struct tn_arena *tn_arena_own(const struct tarn_pool *pool)
{
    return &pool->arenas.all[tn_thread_number() % TN_ARENA_COUNT];
}

static inline uint32_t tn_arena_number(const struct tarn_pool *pool, const struct tn_arena *arena)
{
    return (uint32_t)(arena - pool->arenas.all);
}

/* --- starts: whose a block is -------------------------------------------------------------------- */

_Static_assert(TN_ARENA_COUNT < TN_START_POSTED,
               "an arena's byte is another than that of what is posted");

static inline uint8_t tn_arena_start(const struct tarn_pool *pool, const struct tn_arena *arena)
{
    return (uint8_t)(tn_arena_number(pool, arena) + 1);
}

/* From now on another thread can post the allocation, which has whole chunks. */
static inline void tn_arena_note_start(struct tarn_pool *pool, const struct tn_arena *arena,
                                       uintptr_t address)
{
    struct tn_place place;
    bool is_located = tn_place_locate(pool, address, &place);
    TN_ASSERT(is_located);
    if (is_located && tn_remote_frees_covers(&pool->arenas.remote, place.chunk))
        tn_remote_frees_set(&pool->arenas.remote, place.chunk, tn_arena_start(pool, arena));
}

/* Whether the arena may free what starts at the place: no thread has posted it. Slices, and addresses at which nothing
 * live starts, have no start. */
static inline bool tn_arena_take_start(struct tarn_pool *pool, const struct tn_arena *arena,
                                       const struct tn_place *place)
{
    struct tn_remote_frees *remote = &pool->arenas.remote;
    if (TN_LIKELY(!tn_remote_frees_covers(remote, place->chunk))) return true;
    uint8_t start = tn_remote_frees_who_has(remote, place->chunk);
    if (start == TN_START_NOBODYS || !tn_place_is_at_chunk(place)) return true;
    return start == tn_arena_start(pool, arena) &&
           tn_remote_frees_change(remote, place->chunk, start, TN_START_NOBODYS);
}

/* Undoes that, of an allocation that is live again. */
void tn_arena_give_start_back(struct tarn_pool *pool, const struct tn_arena *arena,
                              const struct tn_place *place);

/* Nothing of the loan whose span has this head is the arena's any more. With all closed. */
void tn_arena_forget_starts(struct tarn_pool *pool, const struct tn_arena *arena, uint32_t head);

/* --- mail ---------------------------------------------------------------------------------------- */

/* Frees an allocation of another arena without that arena's lock. Requires the lock of the thread's own arena, which is
 * open: so no gather runs meanwhile. False: it cannot be posted. */
bool tn_arena_post(struct tarn_pool *pool, const struct tn_arena *own, const struct tn_place *place,
                   struct tn_dependency dependency);

/* Frees all that was posted. Requires the lock of an active arena; or the pool's lock, with all arenas closed. */
void tn_arena_empty_mailbox(struct tarn_pool *pool, struct tn_arena *arena);

/* Something is freed at the chunk by way of the arena's lock: where that happens again and again, mailboxes are
 * wanted. Under both locks. */
void tn_arena_note_free_by_lock(struct tarn_pool *pool, const struct tn_arena *arena,
                                uint32_t chunk);

#endif
