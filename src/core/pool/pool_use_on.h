/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * pool_use_on: notes that a live allocation is used on one more stream. route.h and pool_resize.h free after it.
 *
 * Threads: any, with no lock held. Cost: a look-up and one piece of host memory. A stream that is new to the pool costs
 * calls of the vendor.
 */
#ifndef TN_POOL_USE_ON_H
#define TN_POOL_USE_ON_H

#include "../serve/pool_struct.h"

/* Requires that a live allocation of the pool starts at the address. Errors: those of tarn_pool_use_on that are not about
 * the address; then nothing has changed. */
tarn_status tn_pool_use_on(struct tarn_pool *pool, uintptr_t address, tarn_stream stream);

#endif
