/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* vendor_module: a library that is linked with the vendor's, and loaded by a program that is not. */
#include "vendor_calls.h"

int use_vendor(size_t bytes);
int use_vendor(size_t bytes)
{
    void *address = NULL;
    int error = cuMemAlloc_v2(&address, bytes);
    return error ? error : cuMemFree_v2(address);
}
