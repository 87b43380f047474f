/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * ladder: an allocation that the thread's own part does not serve: it is tried from more and more memory of the pool,
 * then the pool grows. Waiting for the device, other pools, the user's function and fallbacks come after that: see
 * out_of_memory.h.
 *
 * Threads: any, with no lock held.
 * Cost: O(1) to O(regions) for each rung; where the pool grows, what the vendor's call costs.
 */
#ifndef TN_LADDER_H
#define TN_LADDER_H

#include "../serve/serve.h"

/* Allocates a byte or more. Errors, with their message: SIZE_TOO_LARGE, OUT_OF_MEMORY, OVER_LIMIT, OUT_OF_HOST_MEMORY,
 * INVALID_ARGUMENT (the stream), FORKED, VENDOR_ERROR. */
tarn_status tn_pool_climb(struct tarn_pool *pool, size_t size_bytes, size_t alignment_bytes,
                          tarn_stream stream, void **address_out);

/* Says that no static pool has so many bytes. */
TN_COLD tarn_status tn_pool_fail_for_size(const struct tarn_pool *pool, size_t size_bytes);

#endif
