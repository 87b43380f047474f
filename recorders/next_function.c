/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* next_function: over the system's loader. */
#include "next_function.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

/* POSIX guarantees that the two have the same representation. */
static tn_function as_function(void *symbol)
{
    tn_function function;
    memcpy(&function, &symbol, sizeof function);
    return function;
}

static void *find_for_caller(const char *name, const void *caller)
{
    Dl_info info;
    if (!dladdr(caller, &info) || !info.dli_fname) return NULL;
    void *library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (!library) return NULL;
    void *symbol = dlsym(library, name);
    dlclose(library);
    return symbol;
}

/* The function is called for ever, even if the program closes the library. */
static void keep_library_of(const void *symbol)
{
    Dl_info info;
    if (dladdr(symbol, &info) && info.dli_fname)
        (void)dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

tn_function tn_next_function_find(struct tn_next_function *function, const void *caller)
{
    tn_function found = atomic_load_explicit(&function->found, memory_order_acquire);
    if (found) return found;
    void *symbol = dlsym(RTLD_NEXT, function->name);
    if (!symbol) symbol = find_for_caller(function->name, caller);
    if (symbol) keep_library_of(symbol);
    found = as_function(symbol);
    atomic_store_explicit(&function->found, found, memory_order_release);
    return found;
}
