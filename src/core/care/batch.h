/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * batch: many allocations or frees by one call: what of a batch needs more than one pool's lock is done here, entry by
 * entry, and what fails is told with its entry.
 *
 * Threads: any, without a lock.
 * Cost: that of as many by themselves, less the locks; host memory for the addresses of a large batch.
 */
#ifndef TN_BATCH_H
#define TN_BATCH_H

#include "../serve/pool_struct.h"

/* As tarn_pool_alloc_many_on: count is not 0, and the arrays are there. */
tarn_status tn_batch_alloc(struct tarn_pool *pool, size_t count, const size_t *sizes_bytes,
                           tarn_stream stream, void **addresses_out);

/* As tarn_pool_free_many_on, likewise. */
tarn_status tn_batch_free(struct tarn_pool *pool, size_t count, void *const *addresses,
                          tarn_stream stream);

#endif
