/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* allocator_vendor_pool_ze: says that Level Zero has no calls for a pool. */
#include "allocator.h"

const struct tn_allocator tn_allocator_vendor_pool = {
    .name = "vendor-pool",
    .missing_because = "Level Zero has no pool of its own",
};
