/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* allocator_libc_malloc_none: stands in for malloc where memory of a device is asked for. */
#include "../allocator.h"

const struct tn_allocator tn_allocator_libc_malloc = {
    .name = "libc-malloc",
    .missing_because = "gives memory of the host, so it needs TARN_BACKEND=HOST",
};
