/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * recording: what the pools of the process do, written down by src/record. Whether that is so each pool knows by
 * `needs_care`, which its short ways look at anyway: so nothing is slower while nothing is recorded.
 *
 * Threads: any. Order: its lock, then the registry's.
 */
#ifndef TN_RECORDING_H
#define TN_RECORDING_H

#include "pool.h"

/* Begins to record when TARN_TRACE says so and nothing has been recorded by it yet. INVALID_ENVIRONMENT: it cannot be
 * written. */
tarn_status tn_recording_read_environment(void);

/* A pool that is open now takes part. */
void tn_recording_add_pool(struct tarn_pool *pool);

/* The pool is about to be destroyed with all that is live in it. */
void tn_recording_note_destruction(struct tarn_pool *pool);

#endif
