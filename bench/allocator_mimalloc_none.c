/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* allocator_mimalloc_none: stands in for mimalloc where its library was not found. */
#include "allocator.h"

const struct tn_allocator tn_allocator_mimalloc = {
    .name = "mimalloc",
    .missing_because = TN_MIMALLOC_MISSING,
};
