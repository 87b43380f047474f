/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * out_of_memory: what is done when a pool can neither serve nor grow, one rung after the other, and the
 * report when that was the last.
 *
 * The rungs that concern the pool alone come first: see ladder.h. Here are those that
 * wait for the device, that go to other pools, and that ask the user. None is climbed with a lock held,
 * since another pool may be climbing too, towards this one.
 *
 * Cost: that of the vendor's calls, and of the user's function.
 */
#ifndef TN_OUT_OF_MEMORY_H
#define TN_OUT_OF_MEMORY_H

#include "../pool/pool.h"

/* Allocates by all means: the pool's own, and then the rungs here. Errors: those of tarn_pool_alloc_aligned_on. */
tarn_status tn_alloc(struct tarn_pool *pool, size_t size_bytes, size_t alignment_bytes,
                     tarn_stream stream, void **address_out);

/* The rest of it after the pool itself has answered `status`, which is not OK. */
tarn_status tn_alloc_under_shortage(struct tarn_pool *pool, size_t size_bytes,
                                    size_t alignment_bytes, tarn_stream stream, tarn_status status,
                                    void **address_out);

#endif
