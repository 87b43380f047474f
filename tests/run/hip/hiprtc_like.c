/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* hiprtc_like: a library of ROCm's that has symbols of the runtime's names. */
#include "../preload/lookup_library.h"

int hipMalloc(void);
int hipGetProcAddress(void);

int hipMalloc(void)
{
    return HIPRTC_LIKE;
}

int hipGetProcAddress(void)
{
    return HIPRTC_LIKE;
}
