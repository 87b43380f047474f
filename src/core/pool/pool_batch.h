/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * pool_batch: many allocations or frees of one pool under one lock. The result is that of single calls in the
 * order of the array that stop at the first entry that fails.
 *
 * Threads: any, with no lock held.
 * Cost: that of single calls, but with one lock for many entries. Where arenas are active, a lock for each.
 */
#ifndef TN_POOL_BATCH_H
#define TN_POOL_BATCH_H

#include "../serve/pool_struct.h"

/* Allocates the entries until one needs the ladder, and returns how many it has allocated. None in a pool that
 * passes through or has arenas. An entry of zero bytes gets NULL, unless the pool
 * has zero_has_address. */
size_t tn_pool_serve_many(struct tarn_pool *pool, size_t count, const size_t *sizes_bytes,
                          tarn_stream stream, void **addresses_out);

/* Frees entries until one fails, and stores how many it has freed. An entry may be NULL. Errors: those of
 * tn_pool_free for the entry that failed. */
tarn_status tn_pool_free_many(struct tarn_pool *pool, size_t count, void *const *addresses,
                              const tarn_stream *streams, size_t stream_count,
                              size_t *freed_count_out);

#endif
