/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * pool_registry: all open pools of the process, and the handles of destroyed ones.
 *
 * A handle's memory is never freed, so that a call on a destroyed pool can see that it is destroyed. The
 * handles of the last 64 destroyed pools rest. When more rest, the next pool gets the one that has rested
 * longest. So there are at most 64 handles more than pools that were ever open at once.
 *
 * In a forked child, the parent's pools are in no list. Only their state may be read, because threads of the
 * parent may have been changing the rest.
 *
 * Threads: any. One lock, never taken by an alloc or a correct free. A fork waits for the lock. A walk over
 * all pools holds no lock between its steps, so it may call the vendor.
 * Cost: close and find O(open pools), the others O(1).
 */
#ifndef TN_POOL_REGISTRY_H
#define TN_POOL_REGISTRY_H

#include <stddef.h>

#include "../pool/pool.h"
#include "../serve/pool_name.h"

#define TN_POOL_REGISTRY_RESTING_MAX 64

/* A handle for a new pool, in no list. NULL: no host memory, for the handle or for watching forks. */
struct tarn_pool *tn_pool_registry_take_handle(void);

/* Puts the handle of a destroyed pool to rest, behind all others. */
void tn_pool_registry_rest_handle(struct tarn_pool *pool);

/* Takes back a handle that never became a pool. It is used next. */
void tn_pool_registry_return_handle(struct tarn_pool *pool);

/* Opens the pool: it can be found and used from now on. */
void tn_pool_registry_open(struct tarn_pool *pool);

/* Closes the pool: every call on it answers INVALID_POOL from now on. Waits until no walk has it pinned. */
void tn_pool_registry_close(struct tarn_pool *pool);

/* Keep a closed pool that must be ended later, and take one of them. NULL: there is none. */
void tn_pool_registry_postpone(struct tarn_pool *pool);
struct tarn_pool *tn_pool_registry_take_postponed(void);

/* Finds the pool and the allocation that an address lies in. Writes *found_out if FOUND, and *pool_out, if
 * that is not NULL, unless FOREIGN. */
enum tn_find_result tn_pool_registry_find(const void *address, struct tarn_pool **pool_out,
                                          tarn_allocation *found_out);

/* tn_quote_pool for a pool that another thread may destroy. "" if it is not open any more. */
struct tn_quote tn_pool_registry_quote(const struct tarn_pool *pool);

/* A step of a walk over the open pools. Unpins `pool`, and pins and returns the next one; after NULL, the
 * first. NULL: there are no more. A pinned pool cannot be closed, so a walk must go on to its end. */
struct tarn_pool *tn_pool_registry_pin_next(struct tarn_pool *pool);

/* The same step, written to *pool, without waiting for long: for the end of the process, when a thread may hold the lock
 * for ever. False: the lock could not be had; the walk has ended, its pool is unpinned, and *pool is NULL. */
bool tn_pool_registry_try_pin_next(struct tarn_pool **pool);

/* How many handles no pool uses, for tests that count leaked host memory. */
size_t tn_pool_registry_resting_count(void);

#endif
