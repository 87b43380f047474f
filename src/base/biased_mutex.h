/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * biased_mutex: a mutex that costs the one thread that uses it no atomic operation.
 *
 * The mutex has an owner, for whom locking is to store `is_inside` and to see that it still is the owner.
 * Any other thread locks the plain mutex below it, and if there is an owner takes that away first:
 *
 *     owner                                another thread
 *
 *     is_inside = true                     owner = none
 *     (nothing but the compiler's order)   the system makes every thread of the process pass a barrier
 *     owner == me?  yes: it is inside      is_inside?  yes: wait until it is false
 *
 * Each stores and then looks. Between the two a barrier is needed on both sides, or both may see what was
 * before; a barrier that one side lets the other pass through as well serves both. So either the other thread
 * sees is_inside, or the owner sees that it is one no more.
 *
 * Who has lost it uses the plain mutex like all. A thread that has locked it many times with nobody in between
 * becomes the owner again, and the next time it must have been more times, so that threads that take turns
 * soon leave it.
 *
 * After K. Kawachiya, A. Koseki, T. Onodera, "Lock reservation: Java locks can mostly do without atomic
 * operations", OOPSLA 2002; the barrier is Linux's membarrier. Where the system has none, and under the thread
 * sanitizer, which would not understand it, there never is an owner.
 *
 * Cost on a 2-core x86-64 machine, lock and unlock together: 3 ns for the owner; the plain mutex 11 ns in a
 * process of one thread, 28 in one of several, since the C library leaves the atomic operations out in the
 * former. Taking it away from its owner: 0.4 us and more with the number of processors.
 */
#ifndef TN_BIASED_MUTEX_H
#define TN_BIASED_MUTEX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "compiler.h"
#include "sync.h"

struct tn_biased_mutex {
    _Atomic uintptr_t owner; /* a thread's token, or 0 */
    atomic_bool
        is_inside; /* the owner holds it, or is about to see whether it still is the owner */
    bool is_plain; /* it is held by way of `plain`. For who holds it, as the next */
    bool can_be_owned;
    uint32_t turn_count; /* of the last holder by way of `plain`, one after the other */
    uint32_t turns_to_own;
    uintptr_t last_holder;
    struct tn_mutex plain;
};

void tn_biased_mutex_init(struct tn_biased_mutex *mutex);
void tn_biased_mutex_fini(struct tn_biased_mutex *mutex);

static inline void tn_biased_mutex_lock(struct tn_biased_mutex *mutex);
static inline void tn_biased_mutex_unlock(struct tn_biased_mutex *mutex);

/* --- the short way: the owner's -------------------------------------------------------------- */

/* The way of all others. */
void tn_biased_mutex_lock_plain(struct tn_biased_mutex *mutex);
void tn_biased_mutex_unlock_plain(struct tn_biased_mutex *mutex);

static inline void tn_biased_mutex_lock(struct tn_biased_mutex *mutex)
{
    uintptr_t me = tn_thread_token();
    if (TN_LIKELY(atomic_load_explicit(&mutex->owner, memory_order_relaxed) == me)) {
        atomic_store_explicit(&mutex->is_inside, true, memory_order_relaxed);
        /* For the processor there is no barrier here: the other side sees to that. */
        atomic_signal_fence(memory_order_seq_cst);
        if (TN_LIKELY(atomic_load_explicit(&mutex->owner, memory_order_relaxed) == me)) return;
        atomic_store_explicit(&mutex->is_inside, false, memory_order_release);
    }
    tn_biased_mutex_lock_plain(mutex);
}

static inline void tn_biased_mutex_unlock(struct tn_biased_mutex *mutex)
{
    if (TN_UNLIKELY(mutex->is_plain)) {
        tn_biased_mutex_unlock_plain(mutex);
    } else {
        atomic_store_explicit(&mutex->is_inside, false, memory_order_release);
    }
}

#endif
