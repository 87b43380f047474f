/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * pool_backing: a pool's dealings with its backend: how much to ask for, what to make of the answer, and
 * what to tell the user when it came to nothing.
 *
 * What is acquired counts as footprint before growth_lock is let go, and until the vendor has it back: so
 * the limit holds at every moment.
 *
 * Threads: all of it under growth_lock, and `lock` only for a look at what is held; the vendor's
 * calls are made without it.
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

/* What came of giving static pools back, or steps. */
struct tn_giving_back {
    size_t detached_bytes;       /* left the pool */
    size_t released_bytes;       /* of these, what the vendor took */
    tarn_backend_result refusal; /* what the vendor last answered to a piece it did not take */
};

/* How much to give back: all zero, everything that is wholly free. */
struct tn_release_rule {
    size_t keep_bytes;      /* as long as the pool then still holds so much */
    size_t keep_free_bytes; /* until no more than this is in wholly free static pools */
    bool keeps_spare;       /* until one of them is left */
    bool needs_empty;       /* only as long as nothing at all is live */
};

/* Acquires backing in which the request finds a place, as much as the growth policy wishes for; what
 * it acquires is in transit from then on. While a static pool arrives it is only as much as the request
 * needs: there will be more. Its status is OK, OUT_OF_MEMORY, OUT_OF_HOST_MEMORY, FORKED or VENDOR_ERROR; or
 * OVER_LIMIT: a cap forbids even the least size, and the backend was not asked. */
tarn_backend_result tn_pool_acquire_backing(struct tarn_pool *pool,
                                            const struct tn_request *request,
                                            struct tn_backing *backing_out);

/* Where the request can lie in backing that was acquired for it. */
uintptr_t tn_pool_place_in_backing(const struct tarn_pool *pool, const struct tn_request *request,
                                   const struct tn_backing *backing);

/* A backend may be anything, another pool too: what its answer to who takes memory means here. */
tarn_backend_result tn_pool_meaning_of(tarn_backend_result result);

/* From now on the backing is in transit. */
void tn_pool_count_arrival(struct tarn_pool *pool, const struct tn_backing *backing);

/* Gives back what is in transit. */
tarn_backend_result tn_pool_release_backing(struct tarn_pool *pool,
                                            const struct tn_backing *backing);

/* Bytes of wholly free static pools, or steps. Under `lock`. */
size_t tn_pool_wholly_free_bytes_locked(const struct tarn_pool *pool);

/* Whether giving wholly free static pools back might turn the answer to an acquire. */
bool tn_pool_may_pass_later(struct tarn_pool *pool, const struct tn_request *request,
                            tarn_backend_result result);

/* Says why an acquire came to nothing. */
tarn_status tn_pool_fail_growth(struct tarn_pool *pool, const struct tn_request *request,
                                tarn_backend_result result);

#endif
