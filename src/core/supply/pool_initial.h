/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * pool_initial: the first static pool of a pool that has it from the beginning: taken at once, whole or not
 * at all, or the caller's.
 *
 * Threads: before anybody else knows the pool. Cost: that of the vendor's calls.
 */
#ifndef TN_POOL_INITIAL_H
#define TN_POOL_INITIAL_H

#include "../serve/pool_struct.h"

/* initial_bytes, or as much as there is where it is TARN_INITIAL_ALL. On failure the pool holds nothing.
 * Errors: SIZE_TOO_LARGE, and those of an allocation that needs growth. */
tarn_status tn_pool_take_initial(struct tarn_pool *pool, size_t initial_bytes);

/* The caller's memory, which has a whole chunk at least. Errors: OUT_OF_HOST_MEMORY. */
tarn_status tn_pool_take_over(struct tarn_pool *pool, void *address, size_t size_bytes);

#endif
