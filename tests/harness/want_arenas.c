/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "harness/want_arenas.h"

#include "core/pool/pool_arenas.h"
#include "core/arenas/gather.h"

void want_arenas(tarn_pool *pool)
{
    struct tn_remote_frees *remote = &pool->arenas.remote;
    tn_pool_lock(pool);
    bool are_wanted = tn_arenas_want(pool);
    bool has_mailboxes = remote->chunk_count >= tn_static_pool_list_end_chunk(&pool->list);
    tn_pool_unlock(pool);
    if (!are_wanted || has_mailboxes || pool->range || pool->forbids_free_memory) return;
    tn_pool_lock_and_gather(pool);
    (void)tn_remote_frees_cover(remote, tn_static_pool_list_end_chunk(&pool->list), TN_ARENA_COUNT);
    (void)tn_arenas_want(pool);
    tn_pool_unlock(pool);
}
