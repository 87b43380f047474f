/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * sync: mutex, condition variable, once, and the calling thread, over POSIX threads. The plain POSIX mutex
 * was the best one measured: under contention it hands over in batches, while spinning and adaptive mutexes
 * bounce the cache line.
 *
 * Locking a valid, initialised, non-recursive mutex that the thread does not hold cannot fail.
 */
#ifndef TN_SYNC_H
#define TN_SYNC_H

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "assert.h"
#include "compiler.h"

struct tn_mutex {
    pthread_mutex_t handle;
    _Atomic uintptr_t
        holder; /* for assertions: a thread's token, or 0; written only where they are compiled in */
};

#define TN_MUTEX_INIT                \
    {                                \
        PTHREAD_MUTEX_INITIALIZER, 0 \
    }

/* A number of the calling thread that no other thread has at the same time. Never 0. */
static inline uintptr_t tn_thread_token(void)
{
    return TN_THREAD_POINTER;
}

static inline void tn_mutex_init(struct tn_mutex *mutex)
{
    mutex->handle = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    atomic_init(&mutex->holder, 0);
}

static inline void tn_mutex_fini(struct tn_mutex *mutex)
{
    pthread_mutex_destroy(&mutex->handle);
}

/* For assertions: whether the calling thread holds the mutex. True where assertions are not compiled in. */
static inline bool tn_mutex_is_held(const struct tn_mutex *mutex)
{
    return (TN_CHECK_LEVEL) == 0 ||
           atomic_load_explicit(&mutex->holder, memory_order_relaxed) == tn_thread_token();
}

static inline void tn_mutex_note_holder(struct tn_mutex *mutex, uintptr_t thread)
{
    if ((TN_CHECK_LEVEL) >= 1) atomic_store_explicit(&mutex->holder, thread, memory_order_relaxed);
}

static inline void tn_mutex_lock(struct tn_mutex *mutex)
{
    int error = pthread_mutex_lock(&mutex->handle);
    TN_ASSERT(error == 0);
    (void)error;
    tn_mutex_note_holder(mutex, tn_thread_token());
}

/* False: a thread holds the mutex, maybe the caller. */
static inline bool tn_mutex_try_lock(struct tn_mutex *mutex)
{
    if (pthread_mutex_trylock(&mutex->handle) != 0) return false;
    tn_mutex_note_holder(mutex, tn_thread_token());
    return true;
}

static inline void tn_mutex_unlock(struct tn_mutex *mutex)
{
    tn_mutex_note_holder(mutex, 0);
    int error = pthread_mutex_unlock(&mutex->handle);
    TN_ASSERT(error == 0);
    (void)error;
}

/* Lets another thread run, if one wants to. */
static inline void tn_thread_yield(void)
{
    sched_yield();
}

/* Between these calls the thread cannot be cancelled. A thread cancelled in a system call would leave its
 * locks held. Pass the result of begin to end. */
static inline int tn_thread_begin_uncancelled(void)
{
    int state;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    return state;
}

static inline void tn_thread_end_uncancelled(int state)
{
    pthread_setcancelstate(state, &state);
}

/* Sleeps for less than a second. Not a cancellation point; errno is unchanged. */
static inline void tn_thread_sleep_ns(long nanoseconds)
{
    int caller_errno = errno;
    int state = tn_thread_begin_uncancelled();
    nanosleep(&(const struct timespec){ .tv_nsec = nanoseconds }, NULL);
    tn_thread_end_uncancelled(state);
    errno = caller_errno;
}

/* Sleeps for a millisecond. */
static inline void tn_thread_sleep_shortly(void)
{
    tn_thread_sleep_ns(1000000);
}

struct tn_condition {
    pthread_cond_t handle;
};

#define TN_CONDITION_INIT        \
    {                            \
        PTHREAD_COND_INITIALIZER \
    }

static inline void tn_condition_init(struct tn_condition *condition)
{
    condition->handle = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
}

static inline void tn_condition_fini(struct tn_condition *condition)
{
    pthread_cond_destroy(&condition->handle);
}

/* Releases the mutex while it waits, and holds it again when it returns. May return without a signal. */
static inline void tn_condition_wait(struct tn_condition *condition, struct tn_mutex *mutex)
{
    tn_mutex_note_holder(mutex, 0);
    int error = pthread_cond_wait(&condition->handle, &mutex->handle);
    TN_ASSERT(error == 0);
    (void)error;
    tn_mutex_note_holder(mutex, tn_thread_token());
}

static inline void tn_condition_signal_all(struct tn_condition *condition)
{
    pthread_cond_broadcast(&condition->handle);
}

/* A function that runs once in a process, on the first call. */
struct tn_once {
    pthread_once_t handle;
};

#define TN_ONCE_INIT      \
    {                     \
        PTHREAD_ONCE_INIT \
    }

/* Returns when the function has run. */
static inline void tn_once_call(struct tn_once *once, void (*function)(void))
{
    int error = pthread_once(&once->handle, function);
    TN_ASSERT(error == 0);
    (void)error;
}

#endif
