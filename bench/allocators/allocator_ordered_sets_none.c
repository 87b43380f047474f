/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* allocator_ordered_sets_none: stands in for the C++ baseline where there is no C++ compiler. */
#include "allocator.h"

const struct tn_allocator tn_allocator_ordered_sets = {
    .name = "ordered-sets",
    .missing_because = "there was no C++ compiler when tarn was built",
};
