/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * pool_callbacks: calls the user's functions when a static pool comes or goes.
 *
 *     acquired ─► counted in the footprint ─► created() ─► in the list ─► ... ─► out of the list
 *              ─► destroyed() ─► released ─► no longer counted
 *
 * A static pool that is counted and not in the list is in transit. No lock is held while a callback runs, so
 * it may use the pool, and may wait for other threads that use the pool. Other threads may also grow the pool
 * in the meantime. A thread that finds no memory waits for running callbacks to end, unless it is in a
 * callback itself: two callbacks could wait for each other.
 *
 * Requires: growth_lock, which is let go while a callback runs or is waited for.
 */
#ifndef TN_POOL_CALLBACKS_H
#define TN_POOL_CALLBACKS_H

#include "../serve/pool_struct.h"

/* Call on_static_pool_created or on_static_pool_destroyed, for a static pool that is in no list, or for a
 * step that is not in use. growth_lock is let go during the user's function and taken again; without such a
 * function it is held all the time. */
void tn_pool_tell_created(struct tarn_pool *pool, void *base, size_t size_bytes, uint64_t id);
void tn_pool_tell_destroyed(struct tarn_pool *pool, void *base, size_t size_bytes, uint64_t id);

/* Waits until one of the running callbacks has returned: it may have brought memory. False, at once: none
 * runs, or the calling thread is in a callback. */
bool tn_pool_await_callback(struct tarn_pool *pool);

#endif
