/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * pool_members: how static pools join and leave a pool.
 *
 *     backing in transit ── announce ──► the user is told ── insert ──► in the list
 *                                               │                           │ is wholly free
 *                                               └──────── withdraw ◄── release_free
 *                                                            └──► the user is told, the vendor has it back
 *
 * Requires: growth_lock. Announce, withdraw and release_free let it go while they tell the user.
 */
#ifndef TN_POOL_MEMBERS_H
#define TN_POOL_MEMBERS_H

#include "pool_backing.h"

/* Describes a static pool in transit, and tells the user. In a pool that passes through, the static pool is for the
 * request alone; else the request is not used. */
void tn_pool_announce(struct tarn_pool *pool, struct tn_static_pool *acquired,
                      const struct tn_request *request);

/* Adds an announced static pool to the list. Also requires the pool's lock, and the arenas gathered or
 * frozen. False: no host memory, or no numbers are left for its chunks; withdraw it. */
bool tn_pool_insert(struct tarn_pool *pool, struct tn_static_pool *announced);

/* Ends a static pool that was announced and is not in the list, or no longer. Tells the user, and releases
 * it: see tn_pool_release. Returns the vendor's answer. */
tarn_backend_result tn_pool_withdraw(struct tarn_pool *pool, struct tn_static_pool *announced);

/* As tarn_static_pool_hold and tarn_static_pool_unhold. Take growth_lock and the pool's lock themselves. After unhold, the
 * caller must see to releases that the options ask for. */
tarn_status tn_pool_hold(struct tarn_pool *pool, uint64_t id);
tarn_status tn_pool_unhold(struct tarn_pool *pool, uint64_t id);

/* Gives back what the vendor has refused before, and then wholly free static pools by the rule, the newest first; in
 * a contiguous pool, wholly free steps. None that is held, and none while an observer is told of those that are there.
 * They leave the pool together, before the user is told of the first. */
struct tn_giving_back tn_pool_release_free(struct tarn_pool *pool,
                                           const struct tn_release_rule *rule);

#endif
