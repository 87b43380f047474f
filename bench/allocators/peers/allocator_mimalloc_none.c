/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* allocator_mimalloc_none: stands in for mimalloc where its library was not found, or a device is asked for. */
#include "../allocator.h"

const struct tn_allocator tn_allocator_mimalloc = {
    .name = "mimalloc",
    .missing_because =
        "gives memory of the host, so it needs TARN_BACKEND=HOST, and libmimalloc when "
        "tarn is built: package libmimalloc-dev of Debian and Ubuntu",
};
