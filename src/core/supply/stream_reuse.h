/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * stream_reuse: from when on a stream may have what was freed on another.
 *
 *     stream a    ── kernel on x ── free x ─── kernel ─── ●          recorded when b wants x, not before
 *                                                         ╎
 *     stream b    ── kernel ────────────────── alloc ──── ◄ ── kernel on x
 *
 * A pool that has seen one stream only need not care: what runs later on a stream runs later anyway. So
 * it is undivided at first, and every free region serves that stream. With the second stream the free
 * regions divide: those that wait for nothing, and those of each stream; see dependency.h.
 *
 * On a stream that is the callers' nobody else can record late. What was freed there is out of others' reach
 * until it is recorded, or the device waited for:
 *
 *     a thread's own      recorded by the thread, at its next call after others wanted it
 *     ends unannounced    recorded at each free
 *
 * Threads: all of it under growth_lock, and `lock` only for a look or a change; the vendor's calls are
 * made without it, since they may wait for a function of the user's that frees.
 * Cost: that of the vendor's calls.
 */
#ifndef TN_STREAM_REUSE_H
#define TN_STREAM_REUSE_H

#include "../serve/pool_streams.h"

/* The free sets, a bit each, from which a stream may have anything as it is. */
static inline uint32_t tn_pool_own_sets(uint32_t stream)
{
    uint32_t idle = (uint32_t)1 << TN_FREE_SET_IDLE;
    return stream == TN_STREAM_NONE ? idle : idle | (uint32_t)1 << tn_free_set_of_stream(stream);
}

/* Whether a stream can be made to wait for another. */
bool tn_stream_reuse_has_events(const struct tarn_pool *pool);

/* Makes the streams known that are not yet, and makes sure of those that may have ended. The caller names them:
 * their handles are good until the call returns. Its status is OK; INVALID_ARGUMENT: one is of another device;
 * OUT_OF_HOST_MEMORY, also when there are too many streams at once; or the vendor's. Of what went wrong
 * *refused_out is the stream. */
tarn_backend_result tn_stream_reuse_introduce(struct tarn_pool *pool, const tarn_stream *streams,
                                              size_t stream_count, tarn_stream *refused_out);

/* Says why a stream could not be introduced or retired. */
tarn_status tn_stream_reuse_fail(const struct tarn_pool *pool, tarn_stream stream,
                                 tarn_backend_result result);

/* Sees to it that there is a table, though there be one stream only. False: no host memory. */
bool tn_stream_reuse_divide(struct tarn_pool *pool);

/* Finds out which records have completed. True: something waits for less than before. */
bool tn_stream_reuse_poll(struct tarn_pool *pool);

/* Records on every stream that something waits for, and polls: of what was freed on streams that have
 * come to their end nothing waits any more. */
void tn_stream_reuse_settle(struct tarn_pool *pool);

/* Waits for the device, with the calling thread: nothing that was freed before waits any more. False:
 * nothing was pending, or the vendor cannot. */
bool tn_stream_reuse_synchronize(struct tarn_pool *pool);

/* Chunks of free regions that belong to captures. Cost: O(regions). Under `lock`. */
uint32_t tn_stream_reuse_private_chunks(const struct tarn_pool *pool);

/* Streams that another can be made to wait for, whatever was freed there and when, a bit each. Under both
 * locks. */
uint32_t tn_stream_reuse_reachable(const struct tarn_pool *pool);

/* Of other streams, those that cannot be waited for, as far as was freed there up to that time: a callers'
 * one without a record of it. Under both locks. */
uint32_t tn_stream_reuse_unrecorded(const struct tarn_pool *pool, uint32_t streams, uint32_t time);

/* What was freed on callers' streams and is not recorded would be welcome to this one. Under both locks. */
void tn_stream_reuse_want(struct tarn_pool *pool, uint32_t stream);

/* The call that has introduced these streams records on them what it is alone to record: what others want,
 * and, in a pool whose streams end unannounced, what it has just freed. */
void tn_stream_reuse_record_callers(struct tarn_pool *pool, const tarn_stream *streams,
                                    size_t stream_count, bool has_freed);

/* Makes the stream wait for what the dependency names: at most one record and one wait for each stream
 * that it has not waited for yet, all of which must be reachable or recorded. */
tarn_backend_result tn_stream_reuse_order(struct tarn_pool *pool, tarn_stream handle,
                                          struct tn_dependency dependency);

/* The handle ends: what was freed on it is recorded now. Its status is OK; OUT_OF_HOST_MEMORY: all is as
 * it was; or VENDOR_ERROR: what was freed on the stream is lost. */
tarn_backend_result tn_stream_reuse_retire(struct tarn_pool *pool, tarn_stream handle);

/* Gives up the table and the events, whatever is under way. At the end of the pool. */
void tn_stream_reuse_fini(struct tarn_pool *pool);

/* The same without a call of the vendor. */
void tn_stream_reuse_abandon(struct tarn_pool *pool);

#endif
