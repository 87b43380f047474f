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

/* A piece of vendor memory on its way into or out of the pool. */
struct tn_backing {
    void *address;
    size_t size_bytes;
};

/* The result of giving static pools or steps back. */
struct tn_giving_back {
    size_t detached_bytes;       /* left the pool */
    size_t released_bytes;       /* of these, the bytes that the vendor took */
    tarn_backend_result refusal; /* the vendor's last answer to a piece that it did not take */
};

/* Counts a piece that has left the pool, with the vendor's answer. */
static inline void tn_giving_back_count(struct tn_giving_back *given, size_t size_bytes,
                                        tarn_backend_result result)
{
    given->detached_bytes += size_bytes;
    if (result.status == TARN_STATUS_OK) {
        given->released_bytes += size_bytes;
    } else {
        given->refusal = result;
    }
}

/* How much to give back. All zero: everything that is wholly free. */
struct tn_release_rule {
    size_t keep_bytes;      /* the pool goes on holding so much */
    size_t keep_free_bytes; /* stop when wholly free static pools have no more than this */
    bool keeps_spare;       /* stop when one wholly free static pool is left */
    bool needs_empty;       /* only while nothing is live in the pool */
};

/* Acquires backing that holds the request: as much as the growth policy wishes for, or only as much as the
 * request needs while the user is told of another static pool that is about to join. The backing is in
 * transit from then on. Returns OK, OUT_OF_MEMORY, OUT_OF_HOST_MEMORY, FORKED or VENDOR_ERROR; or OVER_LIMIT:
 * a cap forbids even the least size, and the backend was not asked. */
tarn_backend_result tn_pool_acquire_backing(struct tarn_pool *pool,
                                            const struct tn_request *request,
                                            struct tn_backing *backing_out);

/* Where the request can lie in backing that was acquired for it. */
uintptr_t tn_pool_place_in_backing(const struct tarn_pool *pool, const struct tn_request *request,
                                   const struct tn_backing *backing);

/* A backend may be anything, also another pool. Turns its answer to a request for memory into a status that
 * tn_pool_acquire_backing may return. Requires no lock. */
tarn_backend_result tn_pool_meaning_of(tarn_backend_result result);

/* Counts backing as footprint and in transit. */
void tn_pool_count_arrival(struct tarn_pool *pool, const struct tn_backing *backing);

/* Releases backing that is in transit, and no longer counts it. */
tarn_backend_result tn_pool_release_backing(struct tarn_pool *pool,
                                            const struct tn_backing *backing);

/* Bytes of wholly free static pools, or steps. Requires only the pool's lock, and the arenas gathered. */
size_t tn_pool_wholly_free_bytes_locked(const struct tarn_pool *pool);

/* Whether an acquire with this result may succeed after wholly free static pools have gone back. */
bool tn_pool_may_pass_later(struct tarn_pool *pool, const struct tn_request *request,
                            tarn_backend_result result);

/* Reports why an acquire failed. */
tarn_status tn_pool_fail_growth(struct tarn_pool *pool, const struct tn_request *request,
                                tarn_backend_result result);

#endif
