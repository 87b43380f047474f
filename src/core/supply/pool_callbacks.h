/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * pool_callbacks: tells the user's functions that a static pool comes or goes.
 *
 *     acquired ─► counted in the footprint ─► created() ─► in the list ─► ... ─► out of the list
 *              ─► destroyed() ─► released ─► counted off
 *
 * What is counted and not in the list is in transit. No lock is held while a function runs: it may use
 * the pool, and may wait for others who do. So others may grow the pool meanwhile; who finds nothing
 * waits for the functions that run, unless it is called from one itself: two of those could wait for
 * each other.
 *
 * Threads: all of it under growth_lock, which is let go while a function runs or is waited for.
 */
#ifndef TN_POOL_CALLBACKS_H
#define TN_POOL_CALLBACKS_H

#include "../serve/pool_struct.h"

/* What is told of is in no list, resp. is no step that is in use. Without a function growth_lock stays held. */
void tn_pool_tell_created(struct tarn_pool *pool, void *base, size_t size_bytes, uint64_t id);
void tn_pool_tell_destroyed(struct tarn_pool *pool, void *base, size_t size_bytes, uint64_t id);

/* Waits until one of the functions that run has returned, so that it is worth another look. False, at
 * once: none runs, or the caller is called from one. */
bool tn_pool_await_callback(struct tarn_pool *pool);

#endif
