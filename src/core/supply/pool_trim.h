/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * pool_trim: what a pool gives back when it is told to, and by itself after a free.
 *
 * Threads: any, without a lock. After a free nothing is done where another thread is growing
 * or trimming the pool: a free never waits for the vendor's calls of others, which may wait for what the
 * freeing thread has to do.
 */
#ifndef TN_POOL_TRIM_H
#define TN_POOL_TRIM_H

#include "../serve/pool_struct.h"

tarn_status tn_pool_trim(struct tarn_pool *pool, size_t keep_bytes, size_t *released_bytes_out);

/* Gives back what the options say. A piece that the vendor refuses is lost to the pool. */
void tn_pool_release_after_free(struct tarn_pool *pool);

/* The same after what may have kept frees from it, in a pool that passes through. */
void tn_pool_release_freed(struct tarn_pool *pool);

#endif
