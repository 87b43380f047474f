/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* allocator_torch_none: stands in for PyTorch's allocator where its C++ library is missing. */
#include "../allocator.h"

#define MISSING_BECAUSE                                              \
    "needs TARN_BACKEND=CUDA, and PyTorch's headers and libraries: " \
    "-DTARN_TORCH_DIR=$(python3 -c 'import torch; print(torch.__path__[0])')"

const struct tn_allocator tn_allocator_torch = {
    .name = "torch",
    .missing_because = MISSING_BECAUSE,
};

const struct tn_allocator tn_allocator_torch_expandable = {
    .name = "torch:expandable",
    .missing_because = MISSING_BECAUSE,
};
