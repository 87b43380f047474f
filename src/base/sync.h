/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * sync: the mutex, waiting under one, and what is done once. Over POSIX threads, whose plain mutex was the best of
 * those measured: under contention it hands over in batches, where spinning and adaptive ones bounce the cache line.
 *
 * Locking a valid, initialised, non-recursive mutex that the thread does not hold cannot fail.
 */
#ifndef TN_SYNC_H
#define TN_SYNC_H

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "assert.h"
#include "compiler.h"

struct tn_mutex {
    pthread_mutex_t handle;
};

#define TN_MUTEX_INIT             \
    {                             \
        PTHREAD_MUTEX_INITIALIZER \
    }

static inline void tn_mutex_init(struct tn_mutex *mutex)
{
    mutex->handle = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

static inline void tn_mutex_fini(struct tn_mutex *mutex)
{
    pthread_mutex_destroy(&mutex->handle);
}

static inline void tn_mutex_lock(struct tn_mutex *mutex)
{
    int error = pthread_mutex_lock(&mutex->handle);
    TN_ASSERT(error == 0);
    (void)error;
}

/* False: somebody holds it, maybe the caller. */
static inline bool tn_mutex_try_lock(struct tn_mutex *mutex)
{
    return pthread_mutex_trylock(&mutex->handle) == 0;
}

static inline void tn_mutex_unlock(struct tn_mutex *mutex)
{
    int error = pthread_mutex_unlock(&mutex->handle);
    TN_ASSERT(error == 0);
    (void)error;
}

/* The calling thread's, which no other has at the same time. Never 0. */
static inline uintptr_t tn_thread_token(void)
{
    return TN_THREAD_POINTER;
}

/* Lets another thread run, if one wants to. */
static inline void tn_thread_yield(void)
{
    sched_yield();
}

/* Where the thread waits for the system it could be cancelled, and would leave what it has locked so. In between it
 * is not; what the one gave belongs to the other. */
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

/* A millisecond. It is no point at which the thread can be cancelled, and errno stays the caller's. */
static inline void tn_thread_sleep_shortly(void)
{
    int caller_errno = errno;
    int state = tn_thread_begin_uncancelled();
    nanosleep(&(const struct timespec){ .tv_nsec = 1000000 }, NULL);
    tn_thread_end_uncancelled(state);
    errno = caller_errno;
}

/* Something that threads wait for, under a mutex. */
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

/* Lets the mutex go while it waits. May return without a signal. */
static inline void tn_condition_wait(struct tn_condition *condition, struct tn_mutex *mutex)
{
    int error = pthread_cond_wait(&condition->handle, &mutex->handle);
    TN_ASSERT(error == 0);
    (void)error;
}

static inline void tn_condition_signal_all(struct tn_condition *condition)
{
    pthread_cond_broadcast(&condition->handle);
}

/* Something that is done once in a process, by whoever comes first. */
struct tn_once {
    pthread_once_t handle;
};

#define TN_ONCE_INIT      \
    {                     \
        PTHREAD_ONCE_INIT \
    }

/* Returns when it has been done. */
static inline void tn_once_call(struct tn_once *once, void (*function)(void))
{
    int error = pthread_once(&once->handle, function);
    TN_ASSERT(error == 0);
    (void)error;
}

#endif
