/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * pool_sized: a free by who knows how much it is, and is told where that is wrong.
 *
 * Threads: any, without a lock. Cost: that of a free, and one more look-up.
 */
#ifndef TN_POOL_SIZED_H
#define TN_POOL_SIZED_H

#include "../serve/pool_struct.h"

/* As tn_pool_free, and WRONG_SIZE, which it says and counts. */
tarn_status tn_pool_free_sized(struct tarn_pool *pool, void *address, size_t size_bytes,
                               const tarn_stream *streams, size_t stream_count);

/* Says and counts that an allocation has another size. */
tarn_status tn_pool_fail_for_wrong_size(struct tarn_pool *pool, const void *address,
                                        size_t actual_bytes, size_t size_bytes);

#endif
