/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cudnn_like: a library whose name begins as the driver's, and that has symbols of the driver's names. */
#include "../preload/lookup_library.h"

int cuMemAlloc_v2(void);
int cuGetProcAddress_v2(void);

int cuMemAlloc_v2(void)
{
    return CUDNN_LIKE;
}

int cuGetProcAddress_v2(void)
{
    return CUDNN_LIKE;
}
