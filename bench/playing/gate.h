/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * gate: how far one thread has come, for threads that wait for it.
 *
 * The owner publishes how many steps it has done, at steps that another thread waits for. A waiting thread
 * polls for a short while, since the owner is often close, and then sleeps.
 *
 * Cost: advancing is a store and a load; and a lock if a thread sleeps.
 * Threads: one advances; any may wait or abandon.
 */
#ifndef TN_GATE_H
#define TN_GATE_H

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct tn_gate {
    alignas(128) atomic_size_t done_count;
    atomic_bool is_abandoned;
    atomic_size_t sleeper_count;
    pthread_mutex_t lock; /* of the sleeping */
    pthread_cond_t moved;
};

void tn_gate_init(struct tn_gate *gate);
void tn_gate_fini(struct tn_gate *gate);

/* done_count never decreases. A thread that waited sees all that the owner wrote before. */
void tn_gate_advance(struct tn_gate *gate, size_t done_count);

/* Waits until done_count steps are done. False: the gate was abandoned. */
bool tn_gate_wait(struct tn_gate *gate, size_t done_count);

/* Ends all waits, now and later. */
void tn_gate_abandon(struct tn_gate *gate);

#endif
