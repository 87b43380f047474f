/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * recording: src/record writes the calls of all pools of the process to a file. While a recording is on, it is a
 * reason in needs_care of each pool. Every call looks at that anyway, so calls are no slower while nothing is recorded.
 *
 * Threads: any. Order: the lock of recording, then the registry's.
 */
#ifndef TN_RECORDING_H
#define TN_RECORDING_H

#include "../../record/recorder.h"
#include "../pool/pool.h"
#include "../serve/pool_streams.h"

/* The name of a stream in a recording. The default stream has one name, under whatever handle; each thread's
 * own stream has one. */
static inline const void *tn_recording_stream(const struct tarn_pool *pool, tarn_stream stream)
{
    if (!stream) return NULL;
    struct tn_stream_name name = tn_pool_name_stream(pool, tn_any_stream_of_vendor(stream));
    return name.thread == 0 ? name.handle : tn_recorder_stream_of(name.thread);
}

/* Notes an allocation of the calling thread, with its label. */
static inline void tn_recording_note_alloc(const struct tarn_pool *pool, const void *address,
                                           size_t size_bytes, tarn_stream stream)
{
    tn_recorder_note_alloc(address, size_bytes, tn_recording_stream(pool, stream),
                           tn_label_current_text());
}

/* Begins a recording if TARN_TRACE asks for one and has had none yet. If that fails, a line on standard error says why,
 * once, and nothing is recorded. */
void tn_recording_read_environment(void);

/* Sets or clears the reason in an open pool, so that it takes part in a recording that is on. */
void tn_recording_set_care(struct tarn_pool *pool);

/* Notes that the pool is about to be destroyed, with all its live allocations. */
void tn_recording_note_destruction(struct tarn_pool *pool);

#endif
