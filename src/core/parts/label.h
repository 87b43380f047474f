/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * label: the labels that the calling thread has pushed, and a number for each text of the process.
 *
 *     tarn_label_push("mesh")     the text has a number? ── no ──► it gets the lowest that is left
 *                                        │                         none is left: TN_LABEL_OTHER
 *                                        ▼
 *     thread's stack              │ 7 │ 2 │        current: 2; 0 while nothing is pushed
 *
 * A live allocation keeps the number, in bits that its record has free. So there are few numbers. A text keeps its
 * number until the process ends. Texts without a number of their own share TN_LABEL_OTHER; each thread keeps those
 * that it has pushed, so that debug mode and traces still tell them.
 *
 * Texts and stacks have bounds and lie in static memory, so nothing here fails, and a thread that ends has nothing to
 * free.
 *
 * In position-independent code a thread's own variable may take a call to find. So hot code first looks at a flag of the
 * process: whether any thread has ever pushed a label.
 *
 * Threads: each has its own stack. Numbers are given without a lock, so a fork cannot leave one behind.
 * Cost: are_used is one load, and current a call. A push hashes the text and compares it.
 */
#ifndef TN_LABEL_H
#define TN_LABEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../index/region.h"
#include "tarn/stats.h"

#define TN_LABEL_BYTES     (TARN_LABEL_BYTES_MAX + 1)
#define TN_LABEL_DEPTH_MAX 32

/* Numbers are below this. */
#define TN_LABEL_COUNT ((uint32_t)1 << (TN_REGION_PAYLOAD_BITS - TN_REGION_LABEL_SHIFT))

#define TN_LABEL_NONE  0
#define TN_LABEL_OTHER (TN_LABEL_COUNT - 1)

extern TN_HIDDEN atomic_bool tn_labels_used;

/* Whether any thread has pushed a label so far. False: the calling thread has none. */
static inline bool tn_labels_are_used(void)
{
    return atomic_load_explicit(&tn_labels_used, memory_order_relaxed);
}

/* The number of the innermost label of the calling thread, or TN_LABEL_NONE. */
uint32_t tn_label_current(void);

/* The text of that label, or "", in TN_LABEL_BYTES bytes. Valid until the next push or pop of the thread. */
const char *tn_label_current_text(void);

/* The text of a number, in TN_LABEL_BYTES bytes. */
const char *tn_label_text(uint32_t label);

#endif
