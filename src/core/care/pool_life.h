/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * pool_life: opening and ending a pool with all that belongs to it: debug mode, its place in the registry, recordings.
 *
 * Threads: any, without a lock; no call of the pool may run while it ends.
 */
#ifndef TN_POOL_LIFE_H
#define TN_POOL_LIFE_H

#include "../pool/pool.h"

/* Opens a pool on a backend, which the pool closes if it owns it, and only on success. The options are checked. With an
 * address, the pool is over that memory of the caller's. Errors: those of tarn_pool_create. */
tarn_status tn_pool_life_begin(const tarn_pool_options *options, const tarn_backend *backend,
                               bool owns_backend, void *address, tarn_pool **pool_out);

/* The options of a pool that keeps nothing. */
tarn_pool_options tn_pool_life_options_passing_through(const tarn_pool_options *options);

/* The options of a pool over the caller's memory, which cannot grow. */
tarn_pool_options tn_pool_life_options_over(const tarn_pool_options *options, size_t size_bytes);

/* Ends an open pool by tn_pool_fini or tn_pool_abandon. */
void tn_pool_life_end(tarn_pool *pool, void (*fini)(struct tarn_pool *pool));

/* Ends the handle of a pool of the parent's in a forked child. */
void tn_pool_life_end_forked(tarn_pool *pool);

#endif
