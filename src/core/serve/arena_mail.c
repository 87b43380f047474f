/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* arena_mail: forgetting starts, posting, emptying mailboxes, and when there are any. */
#include "arena_mail.h"

void tn_arena_forget_starts(struct tarn_pool *pool, const struct tn_arena *arena, uint32_t head)
{
    struct tn_remote_frees *remote = &pool->arenas.remote;
    const struct tn_region *regions = arena->index.regions;
    for (uint32_t region = regions[head].next; region != head; region = regions[region].next) {
        if (tn_remote_frees_covers(remote, regions[region].first_chunk))
            tn_remote_frees_set(remote, regions[region].first_chunk, TN_START_NOBODYS);
    }
}

bool tn_arena_post(struct tarn_pool *pool, const struct tn_arena *own, uintptr_t address,
                   struct tn_dependency dependency)
{
    struct tn_remote_frees *remote = &pool->arenas.remote;
    const struct tn_static_pool *owner = tn_static_pool_list_find_address(&pool->list, address);
    if (!owner || !tn_static_pool_is_at_chunk(owner, address)) return false;
    uint32_t chunk = tn_static_pool_chunk_of(owner, address);
    if (!tn_remote_frees_covers(remote, chunk)) return false;
    uint8_t start = tn_remote_frees_who_has(remote, chunk);
    if (start == TN_START_NOBODYS || start == TN_START_POSTED || start == tn_arena_start(pool, own))
        return false;
    if (!tn_remote_frees_change(remote, chunk, start, TN_START_POSTED)) return false;
    if (tn_mailbox_post(&remote->mailboxes[start - 1], chunk, dependency)) return true;
    tn_remote_frees_set(remote, chunk, start);
    return false;
}

enum tn_free_result tn_arena_take_back_remotely(struct tarn_pool *pool, struct tn_arena *arena,
                                                const struct tn_static_pool *owner,
                                                uintptr_t address, struct tn_dependency dependency)
{
    return tn_pool_take_back(pool, tn_arena_part(arena), owner, address, dependency);
}

void tn_arena_empty_mailbox(struct tarn_pool *pool, struct tn_arena *arena)
{
    struct tn_remote_frees *remote = &pool->arenas.remote;
    struct tn_dependency dependency;
    uint32_t chunk;
    if (!remote->mailboxes) return;
    while (tn_mailbox_take(&remote->mailboxes[tn_arena_number(pool, arena)], &chunk, &dependency)) {
        const struct tn_static_pool *owner = tn_static_pool_list_find_chunk(&pool->list, chunk);
        tn_remote_frees_set(remote, chunk, TN_START_NOBODYS);
        enum tn_free_result freed = tn_arena_take_back_remotely(
            pool, arena, owner, tn_static_pool_address_of(owner, chunk), dependency);
        TN_ASSERT(freed == TN_FREE_RESULT_FREED);
        (void)freed;
    }
}

/* --- when there are mailboxes --------------------------------------------------------------------- */

/* In a contiguous pool most chunks never have memory; and what is forbidden is so from the free on. */
static bool may_cover(const struct tarn_pool *pool)
{
    return !pool->range && !pool->forbids_free_memory;
}

/* Whether what is freed at the chunk would have been posted if that had a byte. Under both locks. */
static bool is_missed(const struct tarn_pool *pool, const struct tn_arena *arena, uint32_t chunk)
{
    if (arena == tn_arena_own(pool) || tn_remote_frees_covers(&pool->arenas.remote, chunk) ||
        !may_cover(pool))
        return false;
    uint32_t region = tn_live_map_find(&arena->index.live, arena->index.regions, chunk);
    return region != TN_REGION_NONE &&
           tn_region_owner(&arena->index.regions[region]) != TN_REGION_OWNER_SLAB;
}

void tn_arena_note_free_by_lock(struct tarn_pool *pool, const struct tn_arena *arena,
                                uint32_t chunk)
{
    if (is_missed(pool, arena, chunk)) tn_remote_frees_note_miss(&pool->arenas.remote);
}

void tn_arenas_cover_chunks(struct tarn_pool *pool)
{
    struct tn_remote_frees *remote = &pool->arenas.remote;
    tn_pool_lock(pool);
    /* Another thread may have been faster. Without the memory they go on as they did. */
    if (tn_remote_frees_are_wanted(remote))
        (void)tn_remote_frees_cover(remote, tn_static_pool_list_end_chunk(&pool->list),
                                    TN_ARENA_COUNT);
    tn_pool_unlock(pool);
}
