/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* allocator_umpire_none: stands in for Umpire where it was not found. */
#include "../allocator.h"

#define BECAUSE \
    "find_package(umpire) found none when tarn was built; build github.com/LLNL/Umpire, and set umpire_DIR"

const struct tn_allocator tn_allocator_umpire = {
    .name = "umpire",
    .missing_because = BECAUSE,
};
const struct tn_allocator tn_allocator_umpire_list = {
    .name = "umpire:list",
    .missing_because = BECAUSE,
};
