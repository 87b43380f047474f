/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * pool_growth: what suppliers share when they ask the backend for memory: how the pool stands, what an answer means, whether
 * a release would help, and what the log and the user are told.
 *
 * Requires: growth_lock, except where a function says otherwise. The functions take the pool's lock themselves, for a look
 * at its state. Cost: O(1), but for tn_pool_missing_bytes.
 */
#ifndef TN_POOL_GROWTH_H
#define TN_POOL_GROWTH_H

#include "supplier.h"

/* The result of giving pieces back. */
struct tn_giving_back {
    size_t detached_bytes;       /* left the pool */
    size_t released_bytes;       /* of these, the bytes that the vendor took */
    tarn_backend_result refusal; /* the vendor's last answer to a piece that it did not take */
};

/* The vendor's answers to requests for memory, each for less than the one before, that it did not serve. */
struct tn_refusals {
    size_t count;
    size_t first_bytes, last_bytes;
    tarn_backend_result last;
};

static inline void tn_refusals_count(struct tn_refusals *refusals, size_t size_bytes,
                                     tarn_backend_result result)
{
    if (refusals->count++ == 0) refusals->first_bytes = size_bytes;
    refusals->last_bytes = size_bytes;
    refusals->last = result;
}

/* --- how much -------------------------------------------------------------------------------------- */

/* Bytes of backing that hold the request if the backing is aligned as the request and a chunk need. A static
 * pool for one allocation has only the requested bytes. */
static inline size_t tn_pool_tight_bytes(const struct tarn_pool *pool,
                                         const struct tn_request *request)
{
    return pool->passes_through ? request->size_bytes : tn_request_used_bytes(pool, request);
}

/* The alignment that the request needs of its backing. */
size_t tn_pool_alignment_needed(const struct tarn_pool *pool, const struct tn_request *request);

/* Bytes that hold the request at any alignment that the backend may return, which is at least the one it
 * promises. False: there is no such size. */
bool tn_pool_ample_bytes(const struct tarn_pool *pool, const struct tn_request *request,
                         size_t *ample_out);

struct tn_growth_state tn_pool_growth_state(struct tarn_pool *pool);
struct tn_growth_state tn_pool_growth_state_locked(struct tarn_pool *pool);

/* How many bytes the pool may grow by so that no stream has to wait; see growth.h. */
size_t tn_pool_slack_bytes_max(struct tarn_pool *pool);

/* The bytes that the pool holds from the vendor. Takes the pool's lock, and requires no other. */
size_t tn_pool_footprint_bytes(struct tarn_pool *pool);

/* --- answers --------------------------------------------------------------------------------------- */

/* A backend may be anything, also another pool. Turns its answer to a request for memory into a status that a supplier may
 * return. Requires no lock. */
tarn_backend_result tn_pool_meaning_of(tarn_backend_result result);

/* Counts a request to the vendor. */
void tn_pool_count_vendor_alloc(struct tarn_pool *pool);

/* The pool remembers the size that the vendor refused last until it has returned memory. But other programs return memory
 * too, unseen. So it forgets the size after a few successes. */
void tn_pool_note_refusal(struct tarn_pool *pool, size_t size_bytes);
void tn_pool_note_success(struct tarn_pool *pool);

/* Bytes beyond the limit, if the pool held so much more; at least 1. Requires no lock. */
size_t tn_pool_excess_bytes(size_t footprint_bytes, size_t needed, size_t limit_bytes);

/* How many bytes of wholly free memory must at least go back before an acquire can succeed that has had this result and
 * this arrival. 0: it cannot succeed by that. */
size_t tn_pool_missing_bytes(struct tarn_pool *pool, const struct tn_request *request,
                             tarn_backend_result result, const struct tn_arrival *arrival);

/* --- messages -------------------------------------------------------------------------------------- */

/* Log what has come or gone, and the vendor's refusals. A pool that passes through logs refusals alone. `why`: the reason
 * in a few words, "tarn_pool_trim" for example. begun_ns: from tn_log_clock_ns, before the vendor was asked. */
void tn_pool_tell_growth(struct tarn_pool *pool, size_t requested_bytes, size_t grown_bytes,
                         uint64_t begun_ns);
void tn_pool_tell_given(struct tarn_pool *pool, const struct tn_giving_back *given,
                        const char *why);
void tn_pool_tell_refusals(const struct tarn_pool *pool, const struct tn_refusals *refusals);

/* Logs that the vendor has refused memory at the end of the pool. 0 bytes: logs nothing. */
void tn_pool_tell_lost(const struct tarn_pool *pool, size_t lost_bytes);

/* Reports why an acquire failed. */
tarn_status tn_pool_fail_growth(struct tarn_pool *pool, const struct tn_request *request,
                                tarn_backend_result result);

#endif
