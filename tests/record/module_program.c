/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * module_program: is linked with no vendor's library, and loads one that is (its argument) for itself alone, as
 * Python does with modules. Then it closes that and begins again, where the vendor's library would come to another
 * place.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "vendor_calls.h"

#define PAGE_BYTES 4096

static int use(void *module, size_t bytes)
{
    module_function *function;
    void *symbol = module ? dlsym(module, "use_vendor") : NULL;
    if (!symbol) return 1;
    memcpy(&function, &symbol, sizeof function);
    return function(bytes);
}

/* If it is free now. */
static int occupy(uintptr_t address)
{
    void *page = (void *)(address / PAGE_BYTES * PAGE_BYTES);
    void *mapped =
        mmap(page, PAGE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    return mapped == MAP_FAILED || mapped == page ? 0 : 1;
}

int main(int argc, char **argv)
{
    void *module = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    uintptr_t vendor_place = module ? (uintptr_t)dlsym(module, "cuMemAlloc_v2") : 0;
    if (vendor_place == 0 || use(module, 1000) != 0) return 1;
    if (dlclose(module) != 0 || occupy(vendor_place) != 0) return 2;
    module = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    return use(module, 2000);
}
