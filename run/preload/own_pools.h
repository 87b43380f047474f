/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * own_pools: whether the program has set up the driver's own pools, by cuDeviceSetMemPool, cuMemSetMemPool or
 * cuMemPoolSetAccess. From then
 * on its stream-ordered allocations are the driver's, since they must be what the program has set up.
 */
#ifndef TN_OWN_POOLS_H
#define TN_OWN_POOLS_H

#include <stdbool.h>

bool tn_own_pools_are_seen(void);

#endif
