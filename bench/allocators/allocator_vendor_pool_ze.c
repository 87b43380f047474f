/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* allocator_vendor_pool_ze: says that Level Zero has no calls for a pool. */
#include "allocator.h"

#define BECAUSE "Level Zero has no pool of its own"

const struct tn_allocator tn_allocator_vendor_pool = {
    .name = "vendor-pool",
    .missing_because = BECAUSE,
};
const struct tn_allocator tn_allocator_vendor_pool_release = {
    .name = "vendor-pool:release",
    .missing_because = BECAUSE,
};
