/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * pool_parts: locks the part of a pool that has an address, for calls that look at one allocation. So arenas keep
 * what they have, and other threads go on in them.
 *
 *     address ── starts in the thread's arena? ── yes ── the arena's lock
 *                └─ no ── the pool's lock ── lent? ── yes ── the lock of the arena that borrowed it, alone
 *                                            └─ no ── the pool's own part
 *
 * Threads: any, with no lock held unless said. Cost: O(log static pools and loans).
 */
#ifndef TN_POOL_PARTS_H
#define TN_POOL_PARTS_H

#include "../serve/place.h"

/* Locks and returns the part that has the address: the part's allocation, if one starts there. The arena's
 * mailbox is empty. tn_pool_unlock_part ends it. */
struct tn_part *tn_pool_lock_part_of(struct tarn_pool *pool, uintptr_t address);
void tn_pool_unlock_part(struct tarn_pool *pool, struct tn_part *part);

/* Locates an address. Returns the arena that has borrowed its chunk, or NULL: none has, or no chunk holds the
 * address. Requires the pool's lock. */
struct tn_arena *tn_pool_find_arena_of(struct tarn_pool *pool, uintptr_t address,
                                       struct tn_place *place_out);

#endif
