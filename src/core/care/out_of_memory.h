/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * out_of_memory: what is done when a pool can neither serve nor grow, one rung after the other, and the
 * report when that was the last.
 *
 * The rungs that concern the pool alone come first and are the pool's own: see pool.c. Here are those that
 * wait for the device, that go to other pools, and that ask the user. None is climbed with a lock held,
 * since another pool may be climbing too, towards this one.
 *
 * Cost: that of the vendor's calls, and of the user's function.
 */
#ifndef TN_OUT_OF_MEMORY_H
#define TN_OUT_OF_MEMORY_H

#include "../pool/pool.h"

/* After tn_pool_alloc answered `status` to the same arguments, which is not OK: tries everything else. */
tarn_status tn_alloc_under_shortage(struct tarn_pool *pool, size_t size_bytes,
                                    size_t alignment_bytes, tarn_stream stream, tarn_status status,
                                    void **address_out);

#endif
