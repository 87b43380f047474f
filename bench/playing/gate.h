/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * gate: how far one thread has come, for those who wait for it.
 *
 * Its owner says how many steps it has done, at those steps that somebody waits for. Who waits looks for a short
 * while, since the other is often close, and then sleeps.
 *
 * Cost: advancing is a store and a load, and a lock where somebody sleeps.
 * Threads: one advances, any wait, any abandons.
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

/* done_count never becomes less. What the thread wrote before is seen by who waited for it. */
void tn_gate_advance(struct tn_gate *gate, size_t done_count);

/* Until so many are done. False: it was abandoned. */
bool tn_gate_wait(struct tn_gate *gate, size_t done_count);

/* Nobody needs to wait any more, now or later. */
void tn_gate_abandon(struct tn_gate *gate);

#endif
