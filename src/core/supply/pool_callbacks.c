/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* pool_callbacks: calls without a lock, and waits for running calls. */
#include "pool_callbacks.h"

/* Depth of callbacks, of any pool, that the thread is in. */
static _Thread_local unsigned callback_depth;

static void call(struct tarn_pool *pool, tarn_static_pool_callback function, void *base,
                 size_t size_bytes, uint64_t id)
{
    pool->callback_count++;
    callback_depth++; /* a function that takes messages must not wait for this callback either */
    tn_pool_unlock_growth(pool);
    function(pool->user, base, size_bytes, id);
    callback_depth--;
    tn_pool_lock_growth(pool);
    pool->callback_count--;
    pool->callback_end_count++;
    pool->change_count++;
    tn_condition_signal_all(&pool->callback_ended);
}

void tn_pool_tell_created(struct tarn_pool *pool, void *base, size_t size_bytes, uint64_t id)
{
    if (!pool->on_static_pool_created) return;
    pool->arriving_count++;
    call(pool, pool->on_static_pool_created, base, size_bytes, id);
    pool->arriving_count--;
}

void tn_pool_tell_destroyed(struct tarn_pool *pool, void *base, size_t size_bytes, uint64_t id)
{
    if (pool->on_static_pool_destroyed)
        call(pool, pool->on_static_pool_destroyed, base, size_bytes, id);
}

bool tn_pool_await_callback(struct tarn_pool *pool)
{
    if (pool->callback_count == 0 || callback_depth > 0) return false;
    uint64_t before = pool->callback_end_count;
    while (pool->callback_end_count == before)
        tn_condition_wait(&pool->callback_ended, &pool->growth_lock);
    return true;
}
