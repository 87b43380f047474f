/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * batch: many allocations or frees by one call. pool_batch serves as many entries as it can under one lock;
 * batch serves the others one by one, and adds the entry's number to a failure's message.
 *
 * Threads: any, with no lock held.
 * Cost: that of as many single calls, less the locks; host memory for the addresses of a large batch.
 */
#ifndef TN_BATCH_H
#define TN_BATCH_H

#include "../serve/pool_struct.h"

/* As tarn_pool_alloc_many_on. Requires that count is not 0, and that the arrays are there. */
tarn_status tn_batch_alloc(struct tarn_pool *pool, size_t count, const size_t *sizes_bytes,
                           tarn_stream stream, void **addresses_out);

/* As tarn_pool_free_many_on. Requires that count is not 0, and that the array is there. */
tarn_status tn_batch_free(struct tarn_pool *pool, size_t count, void *const *addresses,
                          tarn_stream stream);

#endif
