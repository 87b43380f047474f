/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* allocator_umf_none: stands in for the Unified Memory Framework where it was not found. */
#include "../allocator.h"

const struct tn_allocator tn_allocator_umf = {
    .name = "umf",
    .missing_because = "find_package(umf) found none of version 1 when tarn was built; build "
                       "github.com/oneapi-src/unified-memory-framework, and set umf_DIR",
};
