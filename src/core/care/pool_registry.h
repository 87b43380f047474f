/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * pool_registry: all open pools of the process, and the handles of those that were.
 *
 * A handle is never given back to the system: a call on a destroyed pool must be able to see that it
 * is destroyed. The handles of the last 64 destroyed pools rest; after that the one that has rested
 * longest is used again, so the memory is bounded by the most pools that were ever open, and 64.
 *
 * In a child that was forked the parent's pools are in no list: their state says what they are, and
 * nothing else of them is looked at, since other threads may have been changing it.
 *
 * Threads: any; one lock, never taken on the way of an alloc or a correct free. A fork waits for it.
 * Cost: close and find O(open pools), the others O(1).
 * A walk over all pools holds no lock between its steps, so that it may call the vendor.
 */
#ifndef TN_POOL_REGISTRY_H
#define TN_POOL_REGISTRY_H

#include <stddef.h>

#include "../pool/pool.h"

#define TN_POOL_REGISTRY_RESTING_MAX 64

/* An empty handle, in no list, or NULL: no host memory, be it for watching forks. */
struct tarn_pool *tn_pool_registry_take_handle(void);

/* Puts the handle of a pool that was destroyed to rest, behind all others. */
void tn_pool_registry_rest_handle(struct tarn_pool *pool);

/* Takes back a handle that never became a pool: it is the next to be used. */
void tn_pool_registry_return_handle(struct tarn_pool *pool);

/* From now on the pool can be found and used. */
void tn_pool_registry_open(struct tarn_pool *pool);

/* From now on every call on it answers INVALID_POOL. Waits until nobody has it pinned. */
void tn_pool_registry_close(struct tarn_pool *pool);

/* Finds the pool and allocation that an address is in. Writes to *found_out when it is FOUND, to
 * *pool_out (may be NULL) unless it is FOREIGN. */
enum tn_find_result tn_pool_registry_find(const void *address, struct tarn_pool **pool_out,
                                          tarn_allocation *found_out);

/* The open pool after `pool`, or the first one after NULL; NULL: there are no more. It is pinned, and
 * cannot be closed until the walk goes on, which unpins it. */
struct tarn_pool *tn_pool_registry_pin_next(struct tarn_pool *pool);

/* Ends a walk before its end. */
void tn_pool_registry_unpin(struct tarn_pool *pool);

/* How many handles no pool uses, for tests that count what was not given back. */
size_t tn_pool_registry_resting_count(void);

#endif
