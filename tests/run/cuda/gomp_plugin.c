/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gomp_plugin: looks for a function of the driver's as libgomp's plugin for NVIDIA does, whose file name it has. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

int plugin_range(uintptr_t *base, size_t *size_bytes, uintptr_t address);

int plugin_range(uintptr_t *base, size_t *size_bytes, uintptr_t address)
{
    int (*range)(uintptr_t *, size_t *, uintptr_t);
    void *found = dlsym(dlopen("libcuda.so.1", RTLD_LAZY), "cuMemGetAddressRange_v2");
    memcpy(&range, &found, sizeof found);
    return range(base, size_bytes, address);
}
