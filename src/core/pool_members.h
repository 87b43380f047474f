/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * pool_members: how static pools join and leave a pool.
 *
 *     backing in transit ── announce ──► the user is told ── insert ──► in the list
 *                                               │                           │ is wholly free
 *                                               └──────── withdraw ◄── release_free
 *                                                            └──► the user is told, the vendor has it back
 *
 * Threads: all of it under growth_lock, which announce, withdraw and release_free let go while the user is
 * told; insert under both locks.
 */
#ifndef TN_POOL_MEMBERS_H
#define TN_POOL_MEMBERS_H

#include "pool_backing.h"

/* Makes a static pool of backing and tells of it. NULL: no host memory; the backing has been released. */
struct tn_static_pool *tn_pool_announce(struct tarn_pool *pool, const struct tn_backing *backing);

/* Adds it to the list. False: no host memory, or no numbers left for its chunks. */
bool tn_pool_insert(struct tarn_pool *pool, struct tn_static_pool *announced);

/* Undoes an announce, or ends what is in no list any more. The answer is the vendor's. */
tarn_backend_result tn_pool_withdraw(struct tarn_pool *pool, struct tn_static_pool *announced);

/* The program may touch all of its backing again, which is about to leave the pool. */
void tn_pool_allow_all(const struct tarn_pool *pool, const struct tn_static_pool *leaving);

/* What came of giving static pools back. */
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

/* Gives wholly free static pools back, the newest first. */
struct tn_giving_back tn_pool_release_free(struct tarn_pool *pool,
                                           const struct tn_release_rule *rule);

#endif
