/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * module_program: is linked with no vendor's library, and loads one that is (its argument) for itself alone, as
 * Python does with modules.
 */
#include <dlfcn.h>
#include <string.h>

#include "vendor_calls.h"

int main(int argc, char **argv)
{
    void *module = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    void *symbol = module ? dlsym(module, "use_vendor") : NULL;
    module_function *use;
    if (!symbol) return 1;
    memcpy(&use, &symbol, sizeof use);
    return use(1000) != 0 || use(2000) != 0;
}
