/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * pool_life: begins and ends a pool with its debug mode, its place in the registry, and recordings.
 *
 * Threads: any, with no lock held. No call on the pool may run while it ends.
 * Cost: that of the vendor's calls.
 */
#ifndef TN_POOL_LIFE_H
#define TN_POOL_LIFE_H

#include "../pool/pool.h"

/* Opens a pool on a backend, with checked options. owns_backend: on success the pool owns the backend, and
 * closes it at its end. If the address is not NULL, the pool is over initial_bytes of the caller's memory
 * there. Otherwise it has no memory yet, also if the options want it at once. Errors: those of tarn_pool_create. */
tarn_status tn_pool_life_begin(const tarn_pool_options *options, const tarn_backend *backend,
                               bool owns_backend, void *address, tarn_pool **pool_out);

/* Takes the initial memory of an open pool, if the options want it at once. The functions of the program are told of it.
 * Errors: those of tarn_pool_create. Then the pool is as before. */
tarn_status tn_pool_life_take_initial(tarn_pool *pool, const tarn_pool_options *options);

/* Ends an open pool that no thread has got yet. */
void tn_pool_life_undo(tarn_pool *pool);

/* The options, for a pool that keeps no memory. */
tarn_pool_options tn_pool_life_options_passing_through(const tarn_pool_options *options);

/* The options, for a pool over the caller's memory, which cannot grow. */
tarn_pool_options tn_pool_life_options_over(const tarn_pool_options *options, size_t size_bytes);

/* Ends an open pool. While a capture of the process is under way, the memory goes back at its end. fini: tn_pool_fini or
 * tn_pool_abandon. */
void tn_pool_life_end(tarn_pool *pool, void (*fini)(struct tarn_pool *pool));

/* If no capture is under way in the process: gives back memory, and ends pools, that waited for that. */
void tn_pool_life_catch_up(void);

/* Closes the handle of a parent's pool in a forked child. The pool itself stays as the fork found it. */
void tn_pool_life_end_forked(tarn_pool *pool);

#endif
