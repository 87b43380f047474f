/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* next_library: the system tells by the return address who asks for the next symbol. */
#include <dlfcn.h>
#include <stddef.h>

#include "lookup_library.h"

void *next_of_library(void)
{
    void *volatile found =
        dlsym(RTLD_NEXT, "next_of_library"); /* no tail call: the return address is here */
    return found;
}
