/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * biased_mutex: a mutex without atomic operations for its owner, the one thread that uses it most.
 *
 * To lock, the owner stores `is_inside` in its seat and checks that it still is the owner. Any other thread
 * locks the plain mutex below, and first takes the ownership away if there is an owner:
 *
 *     owner                                another thread
 *
 *     is_inside = true                     owner = none
 *     (nothing but the compiler's order)   the system makes every thread of the process pass a barrier
 *     owner == me?  yes: it is inside      is_inside?  yes: wait until it is false
 *
 * Each side stores and then loads. Both sides need a barrier in between, or both may read the old value.
 * The other thread makes all threads pass a barrier, which serves both sides: either it sees is_inside, or
 * the owner sees that it no longer owns the mutex.
 *
 * A thread that lost the ownership uses the plain mutex. After many locks in a row without another
 * thread's, it becomes the owner again. Each loss raises that number, so threads that take turns soon stop
 * owning the mutex. A thread may store is_inside long after it lost the ownership, so each seat belongs to
 * one thread for ever. When all seats are taken, no more threads become owners.
 *
 * After K. Kawachiya, A. Koseki, T. Onodera, "Lock reservation: Java locks can mostly do without atomic
 * operations", OOPSLA 2002; the barrier is Linux's membarrier. Without membarrier, and under the thread
 * sanitizer, which does not understand it, there is never an owner.
 *
 * Threads: any. Not recursive.
 * Cost of lock and unlock together, on a 2-core x86-64 machine: 3 ns for the owner. The plain mutex takes
 * 11 ns in a process with one thread, where the C library omits the atomic operations, and 28 ns with
 * several threads. Taking the ownership away: from 0.4 us, more with more processors.
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
    /* By seat: its thread holds the mutex, or is about to check whether it still is the owner. */
    atomic_bool is_inside[TN_BIASED_MUTEX_SEATS];
    /* All fields below: only the holder may use them. */
    unsigned seat; /* the holder's, or TN_BIASED_MUTEX_SEATS: held through `plain` */
    bool can_be_owned;
    uint32_t wait_count; /* contended locks since a thread last became the owner */
    uint32_t turn_count; /* locks in a row by last_holder, through `plain` */
    uint32_t turns_to_own;
    uintptr_t last_holder;
    uintptr_t seated[TN_BIASED_MUTEX_SEATS]; /* the thread of each seat, or 0 */
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

/* Returns whether the holder, which must be the caller, is the owner. */
static inline bool tn_biased_mutex_is_owned(const struct tn_biased_mutex *mutex)
{
    return mutex->seat < TN_BIASED_MUTEX_SEATS;
}

/* --- fast path: the owner's ------------------------------------------------------------------ */

/* The slow path, of all other threads. */
void tn_biased_mutex_lock_plain(struct tn_biased_mutex *mutex);
void tn_biased_mutex_unlock_plain(struct tn_biased_mutex *mutex);

/* Locks it if the caller is its owner. */
static inline bool tn_biased_mutex_try_own(struct tn_biased_mutex *mutex)
{
    uintptr_t owner = atomic_load_explicit(&mutex->owner, memory_order_relaxed);
    uintptr_t seat = owner - tn_thread_token();
    if (TN_LIKELY(seat < TN_BIASED_MUTEX_SEATS)) {
        atomic_store_explicit(&mutex->is_inside[seat], true, memory_order_relaxed);
        /* No barrier for the processor here: the other side makes this thread pass one. */
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
