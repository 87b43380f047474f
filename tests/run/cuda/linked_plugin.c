/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* linked_plugin: is linked with the driver, which it finds by its own RUNPATH, and loaded by a program that is not. */
#include <stddef.h>
#include <stdint.h>

int cuMemAlloc_v2(uintptr_t *address, size_t size_bytes);
int cuMemFree_v2(uintptr_t address);

int plugin_alloc(uintptr_t *address, size_t size_bytes);
int plugin_free(uintptr_t address);

int plugin_alloc(uintptr_t *address, size_t size_bytes)
{
    return cuMemAlloc_v2(address, size_bytes);
}

int plugin_free(uintptr_t address)
{
    return cuMemFree_v2(address);
}
