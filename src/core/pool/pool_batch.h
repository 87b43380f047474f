/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * pool_batch: many allocations, or frees, of one pool under one lock. Each is as one by itself, in the order of the
 * array.
 *
 * Threads: any, without a lock.
 * Cost: that of as many by themselves, less the locks.
 */
#ifndef TN_POOL_BATCH_H
#define TN_POOL_BATCH_H

#include "../serve/pool_struct.h"

/* Serves requests until one needs more than what is held and the stream may have without waiting. Returns how many
 * it has served; zero bytes are served with NULL. */
size_t tn_pool_serve_many(struct tarn_pool *pool, size_t count, const size_t *sizes_bytes,
                          tarn_stream stream, void **addresses_out);

/* Frees until something cannot be freed; *freed_count_out is how many went well. NULL goes well. Errors: as of
 * tn_pool_free, of the entry behind those. */
tarn_status tn_pool_free_many(struct tarn_pool *pool, size_t count, void *const *addresses,
                              const tarn_stream *streams, size_t stream_count,
                              size_t *freed_count_out);

#endif
