/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* allocator_cub_none: stands in for CUB's allocator where its header or a compiler for it is missing. */
#include "../allocator.h"

const struct tn_allocator tn_allocator_cub = {
    .name = "cub",
    .missing_because =
        "needs TARN_BACKEND=CUDA, a toolkit with CUB's headers, and a C++ compiler for them",
};
