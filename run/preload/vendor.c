/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* vendor: over the system's loader. */
#include "vendor.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>

#include "base/sync.h"

#include "system_symbols.h"

static struct tn_driver the_driver;
static const struct tn_driver *_Atomic found_driver;
static struct tn_mutex publishing = TN_MUTEX_INIT;

static const char *file_name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool tn_driver_is_in_library(const void *address, const char *begin)
{
    Dl_info info;
    if (!dladdr(address, &info) || !info.dli_fname) return false;
    return strncmp(file_name_of(info.dli_fname), begin, strlen(begin)) == 0;
}

bool tn_driver_is_own(const void *address)
{
    Dl_info own, other;
    return dladdr(&the_driver, &own) && dladdr(address, &other) && own.dli_fbase == other.dli_fbase;
}

/* Finds a symbol and writes its address to the pointer to a function that function_out points to. */
static bool find(void *library, const char *symbol, void *function_out)
{
    void *function = tn_system_symbols.dlsym(library, symbol);
    memcpy(function_out, &function, sizeof function);
    return function != NULL;
}

/* Of the intercepted functions those that the pools call. */
static bool has_required(const struct tn_driver *driver)
{
    static const enum tn_call required[] = { TN_CALL_cuMemAlloc_v2, TN_CALL_cuMemFree_v2,
                                             TN_CALL_cuMemGetInfo_v2,
                                             TN_CALL_cuDevicePrimaryCtxRelease,
                                             TN_CALL_cuStreamDestroy_v2 };
    for (size_t i = 0; i < sizeof required / sizeof *required; i++) {
        if (!driver->intercepted[required[i]]) return false;
    }
    return true;
}

static void find_functions(struct tn_driver *driver, void *library)
{
    for (enum tn_call call = 0; call < TN_CALL_COUNT; call++)
        (void)find(library, tn_intercepted[call].symbol, &driver->intercepted[call]);
    driver->is_complete = has_required(driver);
#define FIND(field, symbol, is_required, parameters) \
    if (!find(library, #symbol, &driver->field) && (is_required)) driver->is_complete = false;
    TN_DRIVER_FUNCTIONS(FIND)
#undef FIND
}

/* The library stays in the process from now on, since the pools call it until the end. All look-ups come before the lock:
 * they take the loader's, which another thread may hold while it waits for this one. */
static const struct tn_driver *find_in_file(const char *path)
{
    struct tn_driver candidate = { .is_complete = false };
    if (!tn_system_symbols_find()) return NULL;
    void *library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
    if (!library) return NULL;
    find_functions(&candidate, library);
    tn_mutex_lock(&publishing);
    if (!atomic_load(&found_driver)) {
        the_driver = candidate;
        atomic_store(&found_driver, &the_driver);
    }
    tn_mutex_unlock(&publishing);
    return &the_driver;
}

const struct tn_driver *tn_driver_find(void)
{
    const struct tn_driver *driver = atomic_load_explicit(&found_driver, memory_order_acquire);
    return driver ? driver : find_in_file("libcuda.so.1");
}

bool tn_driver_note_library(const void *address)
{
    Dl_info info;
    if (!dladdr(address, &info) || !info.dli_fname) return false;
    if (strncmp(file_name_of(info.dli_fname), "libcuda.so", strlen("libcuda.so")) != 0)
        return false;
    if (atomic_load_explicit(&found_driver, memory_order_acquire)) return true;
    return find_in_file(info.dli_fname) != NULL;
}
