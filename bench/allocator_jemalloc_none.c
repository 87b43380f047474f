/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* allocator_jemalloc_none: stands in for jemalloc where its static library was not found. */
#include "allocator.h"

const struct tn_allocator tn_allocator_jemalloc = {
    .name = "jemalloc",
    .missing_because = TN_JEMALLOC_MISSING,
};
