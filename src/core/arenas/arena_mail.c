/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* arena_mail: clearing starts, posting, emptying mailboxes, and when mailboxes are wanted. */
#include "arena_mail.h"

void tn_arena_forget_starts(struct tarn_pool *pool, const struct tn_arena *arena, uint32_t head)
{
    struct tn_remote_frees *remote = &pool->arenas.remote;
    const struct tn_region *regions = arena->part.index.regions;
    TN_ASSERT(tn_pool_is_locked(pool));
    TN_ASSERT(!tn_arenas_are_active(&pool->arenas));
    for (uint32_t region = regions[head].next; region != head; region = regions[region].next) {
        if (tn_remote_frees_covers(remote, regions[region].first_chunk))
            tn_remote_frees_set(remote, regions[region].first_chunk, TN_START_NOBODYS);
    }
}

/* Whether a live allocation of whole chunks starts at the chunk. */
static bool has_start(const struct tn_arena *arena, uint32_t chunk)
{
    uint32_t region = tn_live_map_find(&arena->part.index.live, arena->part.index.regions, chunk);
    return region != TN_REGION_NONE && !tn_region_is_slab(&arena->part.index.regions[region]);
}

void tn_arena_give_start_back(struct tarn_pool *pool, const struct tn_arena *arena,
                              const struct tn_place *place)
{
    struct tn_remote_frees *remote = &pool->arenas.remote;
    TN_ASSERT(tn_biased_mutex_is_held(&arena->lock));
    if (tn_remote_frees_covers(remote, place->chunk) && has_start(arena, place->chunk))
        tn_remote_frees_set(remote, place->chunk, tn_arena_start(pool, arena));
}

bool tn_arena_post(struct tarn_pool *pool, const struct tn_arena *own, const struct tn_place *place,
                   struct tn_dependency dependency)
{
    struct tn_remote_frees *remote = &pool->arenas.remote;
    uint32_t chunk = place->chunk;
    uint8_t start = tn_arena_other_start(pool, own, place);
    if (start == TN_START_NOBODYS) return false;
    if (!tn_remote_frees_change(remote, chunk, start, TN_START_POSTED)) return false;
    if (tn_mailbox_post(&remote->mailboxes[start - 1], chunk, dependency)) return true;
    tn_remote_frees_set(remote, chunk, start);
    return false;
}

void tn_arena_empty_mailbox(struct tarn_pool *pool, struct tn_arena *arena)
{
    struct tn_remote_frees *remote = &pool->arenas.remote;
    struct tn_dependency dependency;
    uint32_t chunk;
    TN_ASSERT(tn_pool_is_part_locked(pool, &arena->part));
    if (!remote->mailboxes) return;
    size_t before_bytes = arena->part.stats.used_bytes;
    while (tn_mailbox_take(&remote->mailboxes[tn_arena_number(pool, arena)], &chunk, &dependency)) {
        const struct tn_place place = tn_place_of_chunk(pool, chunk);
        tn_remote_frees_set(remote, chunk, TN_START_NOBODYS);
        enum tn_free_result freed = tn_serve_free(pool, &arena->part, &place, NULL, dependency);
        TN_ASSERT(freed == TN_FREE_RESULT_FREED);
        (void)freed;
    }
    arena->posted_chunk_count +=
        (uint32_t)((before_bytes - arena->part.stats.used_bytes) >> pool->chunk_log2);
}

/* --- when mailboxes are wanted --------------------------------------------------------------------- */

/* Where the address sanitizer is told of frees, the memory must be forbidden at the free and not when the mailbox is
 * emptied. */
static bool may_cover(const struct tarn_pool *pool)
{
    return !pool->forbids_free_memory;
}

/* Whether the free would have been posted if the chunk had a byte. */
static bool is_missed(const struct tarn_pool *pool, const struct tn_arena *arena, uint32_t chunk)
{
    return arena != tn_arena_own(pool) && !tn_remote_frees_covers(&pool->arenas.remote, chunk) &&
           may_cover(pool) && has_start(arena, chunk);
}

void tn_arena_note_free_by_lock(struct tarn_pool *pool, const struct tn_arena *arena,
                                uint32_t chunk)
{
    TN_ASSERT(tn_pool_is_locked(pool));
    TN_ASSERT(tn_biased_mutex_is_held(&arena->lock));
    if (is_missed(pool, arena, chunk)) tn_remote_frees_note_miss(&pool->arenas.remote);
}
