/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * gate: how far one thread has come.
 *
 * Always true: a thread that sleeps has counted itself and then read done_count again; the owner writes
 * done_count and then reads the count of sleepers. All four are sequentially consistent, so one of the two
 * threads sees the other.
 */
#include "gate.h"

/* Some microseconds, enough for a thread that is running on another core to arrive. */
enum {
    LOOK_COUNT = 2000
};

void tn_gate_init(struct tn_gate *gate)
{
    atomic_init(&gate->done_count, 0);
    atomic_init(&gate->is_abandoned, false);
    atomic_init(&gate->sleeper_count, 0);
    pthread_mutex_init(&gate->lock, NULL);
    pthread_cond_init(&gate->moved, NULL);
}

void tn_gate_fini(struct tn_gate *gate)
{
    pthread_cond_destroy(&gate->moved);
    pthread_mutex_destroy(&gate->lock);
}

static void wake(struct tn_gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    pthread_cond_broadcast(&gate->moved);
    pthread_mutex_unlock(&gate->lock);
}

void tn_gate_advance(struct tn_gate *gate, size_t done_count)
{
    atomic_store(&gate->done_count, done_count);
    if (atomic_load(&gate->sleeper_count) > 0) wake(gate);
}

void tn_gate_abandon(struct tn_gate *gate)
{
    atomic_store(&gate->is_abandoned, true);
    wake(gate);
}

static bool is_waiting(struct tn_gate *gate, size_t done_count)
{
    return atomic_load(&gate->done_count) < done_count && !atomic_load(&gate->is_abandoned);
}

static void sleep_until(struct tn_gate *gate, size_t done_count)
{
    pthread_mutex_lock(&gate->lock);
    atomic_fetch_add(&gate->sleeper_count, 1);
    while (is_waiting(gate, done_count))
        pthread_cond_wait(&gate->moved, &gate->lock);
    atomic_fetch_sub(&gate->sleeper_count, 1);
    pthread_mutex_unlock(&gate->lock);
}

bool tn_gate_wait(struct tn_gate *gate, size_t done_count)
{
    for (size_t i = 0; i < LOOK_COUNT; i++)
        if (!is_waiting(gate, done_count)) return !atomic_load(&gate->is_abandoned);
    sleep_until(gate, done_count);
    return !atomic_load(&gate->is_abandoned);
}
