/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* allocator_jemalloc_none: stands in for jemalloc where its static library was not found, or a device is asked for. */
#include "../allocator.h"

const struct tn_allocator tn_allocator_jemalloc = {
    .name = "jemalloc",
    .missing_because =
        "gives memory of the host, so it needs TARN_BACKEND=HOST, and libjemalloc_pic.a when "
        "tarn is built: package libjemalloc-dev of Debian and Ubuntu",
};
