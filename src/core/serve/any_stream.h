/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * any_stream: TARN_STREAM_ANY, which stands for all streams of the device. It is two made-up streams inside:
 *
 *     ALLOCATES   nothing is freed on it; it gets memory that waits for nothing, and its thread waits for that
 *     FREES       nothing is allocated on it; a record on it covers all work that was submitted to the device before
 *
 * Callers name the second. Each allocation on it climbs the ladder, which names the first instead. Unnamed calls of a pool
 * with free_waits name the right one at once.
 *
 *     stream a    ── k(x) ──┐
 *     stream b    ── k(x) ──┴ ●                after free x: one event for all streams
 *                             ╎
 *     host                    └─ wait ─ alloc y: y may be x, and any stream may use it
 *
 * So memory of a free is never handed out before its event. Where the vendor has an event for all streams, small frees
 * share one: it is recorded when they are a sixteenth of the pool, or when an allocation needs them. All else, such as
 * times and records, is as for the vendor's streams. The functions below stand for the backend's operations on streams, and take made-up streams as well. A
 * made-up stream may come to a pool without free_waits.
 *
 * Threads: any. Cost: that of the backend's operations.
 */
#ifndef TN_ANY_STREAM_H
#define TN_ANY_STREAM_H

#include <stdbool.h>
#include <stddef.h>

#include "tarn/tarn.h"

#define TN_ANY_STREAM_ALLOCATES ((tarn_stream)(UINTPTR_MAX - 1))
#define TN_ANY_STREAM_FREES     TARN_STREAM_ANY

static inline bool tn_is_any_stream(tarn_stream stream)
{
    return stream == TN_ANY_STREAM_ALLOCATES || stream == TN_ANY_STREAM_FREES;
}

/* The stream of an allocation that names the given one. */
static inline tarn_stream tn_any_stream_of_alloc(tarn_stream stream)
{
    return stream == TN_ANY_STREAM_FREES ? TN_ANY_STREAM_ALLOCATES : stream;
}

/* The stream that the vendor and a recording are told: the default stream for a made-up one. */
static inline tarn_stream tn_any_stream_of_vendor(tarn_stream stream)
{
    return tn_is_any_stream(stream) ? NULL : stream;
}

/* Whether the backend has the operations that made-up streams need. */
bool tn_any_stream_has_operations(const tarn_backend_operations *operations);

/* Whether the vendor has them, too: a backend may have an operation over a vendor that is too old for it. Waits for the
 * device if there is no event for all streams. Requires those operations, and that no stream is captured. */
bool tn_any_stream_is_supported(const tarn_backend *backend);

/* INVALID_ARGUMENT: the stream is of another device, or the backend cannot make streams up. */
tarn_backend_result tn_any_stream_check(const tarn_backend *backend, tarn_stream stream);

/* Waits in the calling thread for the work on the stream; on a made-up one, for the device. */
tarn_backend_result tn_any_stream_synchronize(const tarn_backend *backend, tarn_stream stream);

/* Records an event that completes when the device has done all work that was submitted before. Waits for nothing.
 * NOT_SUPPORTED: the vendor cannot. */
tarn_backend_result tn_any_stream_record_device(const tarn_backend *backend, tarn_event event);

/* Records an event on the stream. Where the vendor cannot record the work of all streams, the calling thread waits for the
 * device, and *has_waited_out is true. */
tarn_backend_result tn_any_stream_record(const tarn_backend *backend, tarn_event event,
                                         tarn_stream stream, bool *has_waited_out);

#endif
