/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* biased_mutex: ownership changes under the plain mutex. */
#include "biased_mutex.h"

#include "arith.h"

#if TN_HAS_MEMBARRIER
#include <errno.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

enum {
    /* Each lock as the owner saves about 20 ns; losing the ownership costs a microsecond. */
    TURNS_TO_OWN_AGAIN = 256,
    TURNS_TO_OWN_MAX = 1 << 20,
    YIELDS_BEFORE_SLEEP = 100
};

/* --- the barrier: membarrier(2), private and expedited --------------------------------------- */

#if TN_HAS_MEMBARRIER
/* errno is unchanged. */
static bool call_membarrier(int command)
{
    int caller_errno = errno;
    bool is_done = syscall(SYS_membarrier, command, 0, 0) == 0;
    errno = caller_errno;
    return is_done;
}

/* Must be called before the first barrier. False: the system has none. Cost: a system call. The first one
 * in a process with several threads may take ten milliseconds. */
static bool register_barrier(void)
{
    return call_membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
}

/* Returns when each other thread of the process has passed a memory barrier since the call. The system call
 * can fail for lack of memory, or because it has been forbidden meanwhile. A processor's stores become
 * visible to the others in far less than a millisecond, though no manual says so. */
static void pass_barrier_everywhere(void)
{
    if (!call_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED)) tn_thread_sleep_shortly();
}
#else
static bool register_barrier(void)
{
    return false;
}

static void pass_barrier_everywhere(void)
{
    TN_ASSERT(false);
}
#endif

/* --- the mutex ------------------------------------------------------------------------------- */

void tn_biased_mutex_init(struct tn_biased_mutex *mutex)
{
    atomic_init(&mutex->owner, 0);
    for (unsigned seat = 0; seat < TN_BIASED_MUTEX_SEATS; seat++) {
        atomic_init(&mutex->is_inside[seat], false);
        mutex->seated[seat] = 0;
    }
    mutex->seat = TN_BIASED_MUTEX_SEATS;
    mutex->can_be_owned = register_barrier();
    mutex->wait_count = 0;
    mutex->turn_count = 0;
    mutex->turns_to_own = 1;
    mutex->last_holder = 0;
    atomic_init(&mutex->holder, 0);
    tn_mutex_init(&mutex->plain);
}

void tn_biased_mutex_fini(struct tn_biased_mutex *mutex)
{
    tn_mutex_fini(&mutex->plain);
}

/* The owner holds the mutex for tens of nanoseconds, or longer if the system has preempted it. */
static void await_outside(const struct tn_biased_mutex *mutex, unsigned seat)
{
    for (unsigned i = 0; atomic_load_explicit(&mutex->is_inside[seat], memory_order_acquire); i++) {
        if (i < YIELDS_BEFORE_SLEEP) {
            tn_thread_yield();
        } else {
            tn_thread_sleep_shortly();
        }
    }
}

static TN_COLD void take_from(struct tn_biased_mutex *mutex, uintptr_t owner)
{
    atomic_store_explicit(&mutex->owner, 0, memory_order_relaxed);
    pass_barrier_everywhere();
    await_outside(mutex, owner % TN_BIASED_MUTEX_SEATS);
    mutex->turns_to_own = (uint32_t)tn_min(
        tn_max(mutex->turns_to_own * (size_t)2, TURNS_TO_OWN_AGAIN), TURNS_TO_OWN_MAX);
}

void tn_biased_mutex_lock_plain(struct tn_biased_mutex *mutex)
{
    bool has_waited = !tn_mutex_try_lock(&mutex->plain);
    if (has_waited) tn_mutex_lock(&mutex->plain);
    uintptr_t owner = atomic_load_explicit(&mutex->owner, memory_order_relaxed);
    if (owner != 0) take_from(mutex, owner);
    mutex->seat = TN_BIASED_MUTEX_SEATS;
    mutex->wait_count += has_waited || owner != 0;
}

/* Makes the thread the owner, if there is a seat for it. */
static void let_own(struct tn_biased_mutex *mutex, uintptr_t thread)
{
    TN_ASSERT(thread % TN_BIASED_MUTEX_SEATS == 0);
    for (unsigned seat = 0; seat < TN_BIASED_MUTEX_SEATS; seat++) {
        if (mutex->seated[seat] != 0 && mutex->seated[seat] != thread) continue;
        mutex->seated[seat] = thread;
        mutex->wait_count = 0;
        atomic_store_explicit(&mutex->owner, thread + seat, memory_order_relaxed);
        return;
    }
}

void tn_biased_mutex_unlock_plain(struct tn_biased_mutex *mutex)
{
    uintptr_t me = tn_thread_token();
    mutex->turn_count = mutex->last_holder == me ? mutex->turn_count + 1 : 1;
    mutex->last_holder = me;
    if (mutex->can_be_owned && mutex->turn_count >= mutex->turns_to_own) {
        mutex->turn_count = 0;
        let_own(mutex, me);
    }
    tn_mutex_unlock(&mutex->plain);
}
