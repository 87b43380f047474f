/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * out_of_memory: the rungs that are left when a pool can neither serve nor grow, and the report after the
 * last one.
 *
 *     ladder.h      the pool alone
 *     here          wait for the device ── trim other pools on the same memory ── ask the user ── the fallback
 *
 * No rung here is climbed with a lock held, because another pool may be climbing towards this one.
 *
 * Threads: any, with no lock held. Cost: that of the vendor's calls, and of the user's function.
 */
#ifndef TN_OUT_OF_MEMORY_H
#define TN_OUT_OF_MEMORY_H

#include "../pool/pool.h"

/* Allocates from the pool, then by the rungs here. Errors: those of tarn_pool_alloc_aligned_on. */
tarn_status tn_alloc(struct tarn_pool *pool, size_t size_bytes, size_t alignment_bytes,
                     tarn_stream stream, void **address_out);

/* The rest of tn_alloc, after the pool itself has answered `status`, which is not OK. */
tarn_status tn_alloc_under_shortage(struct tarn_pool *pool, size_t size_bytes,
                                    size_t alignment_bytes, tarn_stream stream, tarn_status status,
                                    void **address_out);

#endif
