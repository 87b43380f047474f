/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * recording: what the pools of the process do, written down by src/record. Whether that is so each pool knows by
 * `needs_care`, which its short ways look at anyway: so nothing is slower while nothing is recorded.
 *
 * Threads: any. Order: its lock, then the registry's.
 */
#ifndef TN_RECORDING_H
#define TN_RECORDING_H

#include "../../record/recorder.h"

#include "../pool/pool.h"
#include "../supply/stream_reuse.h"

/* What is written down of a stream: the default one under one name, and each thread's own apart. */
static inline const void *tn_recording_stream(const struct tarn_pool *pool, tarn_stream stream)
{
    if (!stream) return NULL;
    struct tn_stream_name name = tn_pool_name_stream(pool, stream);
    return name.thread == 0 ? name.handle : tn_recorder_stream_of(name.thread);
}

/* Begins to record when TARN_TRACE says so and nothing has been recorded by it yet. INVALID_ENVIRONMENT: it cannot be
 * written. */
tarn_status tn_recording_read_environment(void);

/* A pool that is open now takes part. */
void tn_recording_add_pool(struct tarn_pool *pool);

/* The pool is about to be destroyed with all that is live in it. */
void tn_recording_note_destruction(struct tarn_pool *pool);

#endif
