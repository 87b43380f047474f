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

#include "hand_out.h"
#include "pool_struct.h"

static inline struct tn_part tn_arena_part(struct tn_arena *arena)
{
    return (struct tn_part){ &arena->index, arena->slices, &arena->stats };
}

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

/* From now on another thread can post it. */
static inline void tn_arena_note_start(struct tarn_pool *pool, const struct tn_arena *arena,
                                       uintptr_t address)
{
    const struct tn_static_pool *owner = tn_static_pool_list_find_address(&pool->list, address);
    uint32_t chunk = tn_static_pool_chunk_of(owner, address);
    if (tn_remote_frees_covers(&pool->arenas.remote, chunk))
        tn_remote_frees_set(&pool->arenas.remote, chunk, tn_arena_start(pool, arena));
}

/* Whether what may start at the address is the arena's to free, and nobody has posted it. */
static inline bool tn_arena_take_start(struct tarn_pool *pool, const struct tn_arena *arena,
                                       const struct tn_static_pool *owner, uintptr_t address)
{
    struct tn_remote_frees *remote = &pool->arenas.remote;
    uint32_t chunk = tn_static_pool_chunk_of(owner, address);
    if (TN_LIKELY(!tn_remote_frees_covers(remote, chunk))) return true;
    uint8_t start = tn_remote_frees_who_has(remote, chunk);
    /* Slices have none, nor has what is not live. */
    if (start == TN_START_NOBODYS || !tn_static_pool_is_at_chunk(owner, address)) return true;
    return start == tn_arena_start(pool, arena) &&
           tn_remote_frees_change(remote, chunk, start, TN_START_NOBODYS);
}

/* Nothing of the loan whose span has this head is the arena's any more. With all closed. */
void tn_arena_forget_starts(struct tarn_pool *pool, const struct tn_arena *arena, uint32_t head);

/* --- mail ---------------------------------------------------------------------------------------- */

/* Frees what is another arena's, without its lock. Under the lock of the thread's own, which is open: so nobody gathers
 * meanwhile. False: not this way. */
bool tn_arena_post(struct tarn_pool *pool, const struct tn_arena *own, uintptr_t address,
                   struct tn_dependency dependency);

/* Frees what was posted. Under the lock of an active arena, or with all closed. */
void tn_arena_empty_mailbox(struct tarn_pool *pool, struct tn_arena *arena);

/* Frees what another thread has freed, and holds the lock of the arena for. */
enum tn_free_result tn_arena_take_back_remotely(struct tarn_pool *pool, struct tn_arena *arena,
                                                const struct tn_static_pool *owner,
                                                uintptr_t address, struct tn_dependency dependency);

/* Something is freed at the chunk by way of the arena's lock: where that happens again and again, mailboxes are
 * wanted. Under both locks. */
void tn_arena_note_free_by_lock(struct tarn_pool *pool, const struct tn_arena *arena,
                                uint32_t chunk);

/* They were wanted: from now on there are mailboxes. With no lock held. */
TN_COLD void tn_arenas_cover_chunks(struct tarn_pool *pool);

#endif
