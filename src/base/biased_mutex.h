/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * biased_mutex: a mutex that costs the one thread that uses it no atomic operation.
 *
 * The mutex has an owner, for whom locking is to store `is_inside` in its seat and to see that it still is the
 * owner. Any other thread locks the plain mutex below it, and if there is an owner takes that away first:
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
 * soon leave it. A thread that takes itself for the owner may come to store is_inside long after it was, so no
 * other thread ever has its seat: with the seats taken no more threads become owners.
 *
 * After K. Kawachiya, A. Koseki, T. Onodera, "Lock reservation: Java locks can mostly do without atomic
 * operations", OOPSLA 2002; the barrier is Linux's membarrier. Where the system has none, and under the thread
 * sanitizer, which would not understand it, there never is an owner.
 *
 * Threads: any. Not recursive.
 * Cost on a 2-core x86-64 machine, lock and unlock together: 3 ns for the owner; the plain mutex 11 ns in a
 * process of one thread, 28 in one of several, since the C library leaves the atomic operations out in the
 * former. Taking it away from its owner: 0.4 us and more with the number of processors.
 */
#ifndef TN_BIASED_MUTEX_H
#define TN_BIASED_MUTEX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "assert.h"
#include "compiler.h"
#include "sync.h"

#define TN_BIASED_MUTEX_SEATS 8

struct tn_biased_mutex {
    _Atomic uintptr_t owner; /* a thread's token and its seat, or 0 */
    /* By seat: the owner holds the mutex, or is about to look whether it still is the owner. */
    atomic_bool is_inside[TN_BIASED_MUTEX_SEATS];
    /* For who holds it, as all below: */
    unsigned seat; /* by which it is held, or so many: by way of `plain` */
    bool can_be_owned;
    uint32_t wait_count; /* turns that had to be waited for since a thread became the owner */
    uint32_t turn_count; /* of the last holder by way of `plain`, one after the other */
    uint32_t turns_to_own;
    uintptr_t last_holder;
    uintptr_t seated[TN_BIASED_MUTEX_SEATS]; /* the thread that a seat is of, or 0 */
    struct tn_mutex plain;
    _Atomic uintptr_t holder; /* for assertions, and only where they are compiled in */
};

void tn_biased_mutex_init(struct tn_biased_mutex *mutex);
void tn_biased_mutex_fini(struct tn_biased_mutex *mutex);

static inline void tn_biased_mutex_lock(struct tn_biased_mutex *mutex);
static inline void tn_biased_mutex_unlock(struct tn_biased_mutex *mutex);

/* For assertions: whether the calling thread holds it. Where there are none, true. */
static inline bool tn_biased_mutex_is_held(const struct tn_biased_mutex *mutex)
{
    return (TN_CHECK_LEVEL) == 0 ||
           atomic_load_explicit(&mutex->holder, memory_order_relaxed) == tn_thread_token();
}

static inline void tn_biased_mutex_note_holder(struct tn_biased_mutex *mutex, uintptr_t thread)
{
    if ((TN_CHECK_LEVEL) >= 1) atomic_store_explicit(&mutex->holder, thread, memory_order_relaxed);
}

/* Whether who holds it, the caller, is its owner. */
static inline bool tn_biased_mutex_is_owned(const struct tn_biased_mutex *mutex)
{
    return mutex->seat < TN_BIASED_MUTEX_SEATS;
}

/* --- the short way: the owner's -------------------------------------------------------------- */

/* The way of all others. */
void tn_biased_mutex_lock_plain(struct tn_biased_mutex *mutex);
void tn_biased_mutex_unlock_plain(struct tn_biased_mutex *mutex);

/* Locks it if the caller is its owner. */
static inline bool tn_biased_mutex_try_own(struct tn_biased_mutex *mutex)
{
    uintptr_t owner = atomic_load_explicit(&mutex->owner, memory_order_relaxed);
    uintptr_t seat = owner - tn_thread_token();
    if (TN_LIKELY(seat < TN_BIASED_MUTEX_SEATS)) {
        atomic_store_explicit(&mutex->is_inside[seat], true, memory_order_relaxed);
        /* For the processor there is no barrier here: the other side sees to that. */
        atomic_signal_fence(memory_order_seq_cst);
        if (TN_LIKELY(atomic_load_explicit(&mutex->owner, memory_order_relaxed) == owner)) {
            mutex->seat = (unsigned)seat;
            return true;
        }
        atomic_store_explicit(&mutex->is_inside[seat], false, memory_order_release);
    }
    return false;
}

static inline void tn_biased_mutex_lock(struct tn_biased_mutex *mutex)
{
    if (TN_UNLIKELY(!tn_biased_mutex_try_own(mutex))) tn_biased_mutex_lock_plain(mutex);
    tn_biased_mutex_note_holder(mutex, tn_thread_token());
}

static inline void tn_biased_mutex_unlock(struct tn_biased_mutex *mutex)
{
    tn_biased_mutex_note_holder(mutex, 0);
    if (TN_UNLIKELY(!tn_biased_mutex_is_owned(mutex))) {
        tn_biased_mutex_unlock_plain(mutex);
    } else {
        atomic_store_explicit(&mutex->is_inside[mutex->seat], false, memory_order_release);
    }
}

#endif
