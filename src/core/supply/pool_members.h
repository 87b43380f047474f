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

/* Makes a static pool of backing and tells of it. In a pool that passes through it is for the request alone. NULL: no
 * host memory; the backing has been released. */
struct tn_static_pool *tn_pool_announce(struct tarn_pool *pool, const struct tn_backing *backing,
                                        const struct tn_request *request);

/* Adds it to the list. False: no host memory, or no numbers left for its chunks. */
bool tn_pool_insert(struct tarn_pool *pool, struct tn_static_pool *announced);

/* Undoes an announce, or ends what is in no list any more. The answer is the vendor's. */
tarn_backend_result tn_pool_withdraw(struct tarn_pool *pool, struct tn_static_pool *announced);

/* Gives wholly free static pools back, the newest first; of a contiguous pool wholly free steps. */
struct tn_giving_back tn_pool_release_free(struct tarn_pool *pool,
                                           const struct tn_release_rule *rule);

#endif
