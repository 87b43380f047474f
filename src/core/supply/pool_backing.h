/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * pool_backing: acquires memory from the backend and releases it: how much to ask for, what the answer means,
 * and the message for the user after a failure.
 *
 * Acquired memory counts as footprint before growth_lock is let go, and until the vendor has it back. So the
 * limit holds at every moment.
 *
 * Requires: growth_lock, except where a function says otherwise. The functions take the pool's lock
 * themselves, for a look at its state, and call the vendor without it.
 * Cost: that of the vendor's calls.
 */
#ifndef TN_POOL_BACKING_H
#define TN_POOL_BACKING_H

#include "../serve/request.h"

/* The result of giving static pools or steps back. */
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

/* Counts a piece that has left the pool, with the vendor's answer. */
static inline void tn_giving_back_count(struct tn_giving_back *given, size_t size_bytes,
                                        tarn_backend_result result)
{
    given->detached_bytes += size_bytes;
    if (result.status == TARN_STATUS_OK) {
        given->released_bytes += size_bytes;
    } else if (result.status != TARN_STATUS_NOT_READY) {
        given->refusal = result;
    }
}

/* How much to give back. All zero: everything that is wholly free. */
struct tn_release_rule {
    size_t keep_bytes;      /* the pool goes on holding so much */
    size_t keep_free_bytes; /* stop when wholly free static pools have no more than this */
    bool keeps_spare;       /* stop when one wholly free static pool is left */
    bool needs_empty;       /* only while nothing is live in the pool */
    size_t enough_bytes;    /* stop when so much has left the pool; 0: go on */
};

/* Acquires memory that holds the request: as much as the growth policy wishes for, or only as much as the request
 * needs while the user is told of another static pool that is about to join. Memory that the vendor has refused to
 * take back comes first, and without a vendor call. The static pool is not described yet, and is in transit from then
 * on. Returns OK, OUT_OF_MEMORY, OUT_OF_HOST_MEMORY, FORKED or VENDOR_ERROR; or OVER_LIMIT: a cap forbids even the
 * least size, and the backend was not asked. */
tarn_backend_result tn_pool_acquire(struct tarn_pool *pool, const struct tn_request *request,
                                    struct tn_static_pool **acquired_out);

/* Acquires memory of at least so many bytes, and of at least a chunk, wherever that lies in it. For a pool that holds
 * nothing yet. Returns what tn_pool_acquire returns. */
tarn_backend_result tn_pool_acquire_bytes(struct tarn_pool *pool, size_t size_bytes,
                                          struct tn_static_pool **acquired_out);

/* How many bytes the pool may grow by so that no stream has to wait; see growth.h. */
size_t tn_pool_slack_bytes_max(struct tarn_pool *pool);

/* Acquires memory that holds the request within that. Returns what tn_pool_acquire returns; OVER_LIMIT: the slack does
 * not allow it, or so much was refused before. Asks the backend at most once. */
tarn_backend_result tn_pool_acquire_slack(struct tarn_pool *pool, const struct tn_request *request,
                                          struct tn_static_pool **acquired_out);

/* Where the request can lie in the backing of a static pool that was acquired for it. */
uintptr_t tn_pool_place_in_backing(const struct tarn_pool *pool, const struct tn_request *request,
                                   const struct tn_static_pool *backed);

/* A backend may be anything, also another pool. Turns its answer to a request for memory into a status that
 * tn_pool_acquire may return. Requires no lock. */
tarn_backend_result tn_pool_meaning_of(tarn_backend_result result);

/* The bytes that the pool holds from the vendor. Takes the pool's lock. */
size_t tn_pool_footprint_bytes(struct tarn_pool *pool);

/* Log what has come or gone, and the vendor's refusals. A pool that passes through logs refusals alone. `why`: the reason
 * in a few words, "tarn_pool_trim" for example. begun_ns: from tn_log_clock_ns, before the vendor was asked. */
void tn_pool_tell_growth(struct tarn_pool *pool, size_t requested_bytes, size_t grown_bytes,
                         uint64_t begun_ns);
void tn_pool_tell_given(struct tarn_pool *pool, const struct tn_giving_back *given,
                        const char *why);
void tn_pool_tell_refusals(const struct tarn_pool *pool, const struct tn_refusals *refusals);

/* Logs that the vendor has refused memory at the end of the pool. 0 bytes: logs nothing. */
void tn_pool_tell_lost(const struct tarn_pool *pool, size_t lost_bytes);

/* The pool remembers the size that the vendor refused last until it has returned memory. But other programs return memory
 * too, unseen. So it forgets the size after a few successes. */
void tn_pool_note_refusal(struct tarn_pool *pool, size_t size_bytes);
void tn_pool_note_success(struct tarn_pool *pool);

/* Counts memory as footprint and in transit. */
void tn_pool_count_arrival(struct tarn_pool *pool, size_t size_bytes);

/* Whether memory may go back to the vendor now: no capture of the process is under way, or the pool ends. */
bool tn_pool_may_release(const struct tarn_pool *pool);

/* Counts the result of a release. NOT_READY: the vendor was not asked. Also requires the pool's lock. */
void tn_pool_count_release(struct tarn_pool *pool, size_t size_bytes, bool was_unreleased,
                           tarn_backend_result result);

/* Releases a static pool that is in transit, and frees its description. If the vendor refuses, or must not be asked
 * now (NOT_READY), the pool goes on counting the memory, and keeps it for tn_pool_acquire and
 * tn_pool_release_unreleased. */
tarn_backend_result tn_pool_release(struct tarn_pool *pool, struct tn_static_pool *leaving);

/* Releases again what the vendor has refused, unless a capture of the process is under way. */
struct tn_giving_back tn_pool_release_unreleased(struct tarn_pool *pool);

/* Whether a static pool of the list can leave the pool: it is wholly free and not held, and no observer is being told of
 * those that are there. Also requires the pool's lock, and the arenas gathered. */
bool tn_pool_can_leave(const struct tarn_pool *pool, const struct tn_static_pool *held);

/* Bytes of static pools, or steps, that can leave. Requires only the pool's lock, and the arenas gathered. */
size_t tn_pool_wholly_free_bytes_locked(const struct tarn_pool *pool);

/* How many bytes of wholly free memory must at least go back before an acquire can succeed that has had this result.
 * missing_unit_count: in a contiguous pool, the units of steps that the request misses; 0: unknown. 0: it cannot succeed by
 * that. */
size_t tn_pool_missing_bytes(struct tarn_pool *pool, const struct tn_request *request,
                             tarn_backend_result result, uint32_t missing_unit_count);

/* Reports why an acquire failed. */
tarn_status tn_pool_fail_growth(struct tarn_pool *pool, const struct tn_request *request,
                                tarn_backend_result result);

#endif
