/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * own_pools: whether the program has set up the vendor's own pools, by cuDeviceSetMemPool, hipMemPoolSetAccess and the
 * like. From then on its stream-ordered allocations are the vendor's, since they must be what the program has set up.
 */
#ifndef TN_OWN_POOLS_H
#define TN_OWN_POOLS_H

#include <stdbool.h>

bool tn_own_pools_are_seen(void);

/* The program calls a function that sets up a pool. */
void tn_own_pools_note(void);

#endif
