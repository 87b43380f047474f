/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * pool_callbacks: calls the user's functions when a piece comes or goes. The user calls a piece a static pool or a step.
 *
 *     ARRIVING ─► created() ─► JOINED ─► ... ─► LEAVING ─► destroyed() ─► released
 *
 * No lock is held while a callback runs, so it may use the pool, and may wait for other threads that use the pool. Other
 * threads may also grow the pool in the meantime. A thread that finds no memory waits for running callbacks to end, unless it
 * is in a callback itself: two callbacks could wait for each other.
 *
 * There may be any number of observers; those that the options name are the first. Each has a number, and newer ones have
 * larger numbers. So one number beside a piece says who knows of it:
 *
 *     told                told: all observers up to that number know that it has come
 *     pieces arrive       their thread tells one observer after the other, until there is no newer one
 *     observer arrives    its thread tells it of each joined piece that is not told up to its number
 *     piece leaves        it is told of to all observers that there were when it left the pool
 *
 * While a new observer is told of those that are there, no piece leaves the pool. So each observer that is told of the coming
 * of one is told of its going, once, later, and of no other's.
 *
 * Requires: growth_lock, which is let go while a callback runs or is waited for.
 */
#ifndef TN_POOL_CALLBACKS_H
#define TN_POOL_CALLBACKS_H

#include "../serve/pool_struct.h"

/* Begins with the observer of the options, if they name one. Requires no lock. */
void tn_pool_init_observers(struct tarn_pool *pool, const tarn_pool_options *options);

/* Ends all observers: nobody is told of anything any more. Requires no lock, at the end of the pool. */
void tn_pool_end_observers(struct tarn_pool *pool);

/* Tell the observers of pieces that arrive, from `first` on by `next`; of a piece that leaves. growth_lock is let go during
 * the user's functions and taken again; without such functions it is held all the time. It is held from the last function
 * on, so a caller that makes the pieces join before letting go of it has told all observers that there are. */
void tn_pool_tell_created(struct tarn_pool *pool, struct tn_piece *first);
void tn_pool_tell_destroyed(struct tarn_pool *pool, const struct tn_piece *leaving);

/* Whether all static pools must stay for now, because an observer is being told of those that are there. Requires
 * growth_lock or the pool's lock. */
static inline bool tn_pool_is_observed_anew(const struct tarn_pool *pool)
{
    return pool->observing_count > 0;
}

/* Waits until one of the running callbacks has returned: it may have brought memory. False, at once: none
 * runs, or the calling thread is in a callback. */
bool tn_pool_await_callback(struct tarn_pool *pool);

/* As tarn_pool_observe and tarn_pool_unobserve. Take growth_lock themselves. */
tarn_status tn_pool_observe(struct tarn_pool *pool, tarn_static_pool_callback on_created,
                            tarn_static_pool_callback on_destroyed, void *user,
                            tarn_observer *observer_out);
tarn_status tn_pool_unobserve(struct tarn_pool *pool, tarn_observer number);

#endif
