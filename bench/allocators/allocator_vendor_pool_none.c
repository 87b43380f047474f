/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* allocator_vendor_pool_none: stands in for the vendor's pool where there is no vendor. */
#include "allocator.h"

#define BECAUSE "the host has no vendor; TARN_BACKEND=CUDA and HIP have vendors with a pool"

const struct tn_allocator tn_allocator_vendor_pool = {
    .name = "vendor-pool",
    .missing_because = BECAUSE,
};
const struct tn_allocator tn_allocator_vendor_pool_release = {
    .name = "vendor-pool:release",
    .missing_because = BECAUSE,
};
