/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * pool_initial: the first static pool of a pool that has it from the beginning: acquired at once, whole or
 * not at all, or over the caller's memory.
 *
 * Threads: any, but tn_pool_take_over before another thread knows the pool. Takes both locks itself. Cost: that of the vendor's calls.
 */
#ifndef TN_POOL_INITIAL_H
#define TN_POOL_INITIAL_H

#include "../serve/pool_struct.h"

/* Acquires initial_bytes, or with TARN_INITIAL_ALL as much as there is. On failure the pool holds nothing.
 * Errors: SIZE_TOO_LARGE, and those of an allocation that needs growth. */
tarn_status tn_pool_take_initial(struct tarn_pool *pool, size_t initial_bytes);

/* Takes over the caller's memory, of a whole chunk or more. Errors: OUT_OF_HOST_MEMORY. */
tarn_status tn_pool_take_over(struct tarn_pool *pool, void *address, size_t size_bytes);

#endif
