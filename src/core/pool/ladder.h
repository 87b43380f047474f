/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * ladder: an allocation that the thread's part could not serve. It climbs rungs that cost more and more: other
 * memory of the pool first, growth last. Only out_of_memory.h goes further: it waits for the device, and asks
 * other pools, the user's function and fallbacks.
 *
 * Threads: any, with no lock held.
 * Cost: O(1) to O(regions) for each rung, and the vendor's calls where streams are ordered or the pool grows.
 */
#ifndef TN_LADDER_H
#define TN_LADDER_H

#include "../serve/serve.h"

/* Allocates one byte or more. Errors: SIZE_TOO_LARGE, OUT_OF_MEMORY, OVER_LIMIT, OUT_OF_HOST_MEMORY,
 * INVALID_ARGUMENT (the stream), FORKED, VENDOR_ERROR. */
tarn_status tn_pool_climb(struct tarn_pool *pool, size_t size_bytes, size_t alignment_bytes,
                          tarn_stream stream, void **address_out);

/* Fails with SIZE_TOO_LARGE: no static pool can have so many bytes. */
TN_COLD tarn_status tn_pool_fail_for_size(const struct tarn_pool *pool, size_t size_bytes);

#endif
