/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* vendor: over the system's loader. */
#include "vendor.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/sync.h"

#include "system_symbols.h"

static struct tn_vendor the_vendor;
static const struct tn_vendor *_Atomic found_vendor;
static struct tn_mutex publishing = TN_MUTEX_INIT;

static const char *file_name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool tn_vendor_is_in_library(const void *address, const char *begin)
{
    Dl_info info;
    if (!dladdr(address, &info) || !info.dli_fname) return false;
    return strncmp(file_name_of(info.dli_fname), begin, strlen(begin)) == 0;
}

bool tn_vendor_is_own(const void *address)
{
    Dl_info own, other;
    return dladdr(&the_vendor, &own) && dladdr(address, &other) && own.dli_fbase == other.dli_fbase;
}

/* Finds a symbol and writes its address to the pointer to a function that function_out points to. */
static bool find(void *library, const char *symbol, void *function_out)
{
    void *function = tn_system_symbols.dlsym(library, symbol);
    memcpy(function_out, &function, sizeof function);
    return function != NULL;
}

/* Of the intercepted functions those that the pools call. */
static bool has_required(const struct tn_vendor *vendor)
{
    static const enum tn_call required[] = { TN_VENDOR_REQUIRED };
    for (size_t i = 0; i < sizeof required / sizeof *required; i++) {
        if (!vendor->intercepted[required[i]]) return false;
    }
    return true;
}

static void find_functions(struct tn_vendor *vendor, void *library)
{
    for (enum tn_call call = 0; call < TN_CALL_COUNT; call++)
        (void)find(library, tn_intercepted[call].symbol, &vendor->intercepted[call]);
    vendor->is_complete = has_required(vendor);
#define FIND(result, field, symbol, is_required, parameters) \
    if (!find(library, #symbol, &vendor->field) && (is_required)) vendor->is_complete = false;
    TN_VENDOR_FUNCTIONS(FIND)
#undef FIND
}

/* The library stays in the process from now on, since the pools call it until the end. All look-ups come before the lock:
 * they take the loader's, which another thread may hold while it waits for this one. */
static const struct tn_vendor *find_in_file(const char *path)
{
    struct tn_vendor candidate = { .is_complete = false };
    if (!tn_system_symbols_find()) return NULL;
    void *library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
    if (!library) return NULL;
    find_functions(&candidate, library);
    tn_mutex_lock(&publishing);
    if (!atomic_load(&found_vendor)) {
        the_vendor = candidate;
        atomic_store(&found_vendor, &the_vendor);
    }
    tn_mutex_unlock(&publishing);
    return &the_vendor;
}

static bool is_of_vendor(const char *path)
{
    return strncmp(file_name_of(path), TN_VENDOR_LIBRARY, strlen(TN_VENDOR_LIBRARY)) == 0;
}

/* Copies the path of the vendor's library, whichever version of it there is. */
static int note_path(struct dl_phdr_info *info, size_t size_bytes, void *argument)
{
    (void)size_bytes;
    if (!info->dlpi_name || !is_of_vendor(info->dlpi_name)) return 0;
    snprintf(argument, PATH_MAX, "%s", info->dlpi_name);
    return 1;
}

const struct tn_vendor *tn_vendor_find(void)
{
    char path[PATH_MAX];
    const struct tn_vendor *vendor = atomic_load_explicit(&found_vendor, memory_order_acquire);
    if (vendor) return vendor;
    return dl_iterate_phdr(note_path, path) ? find_in_file(path) : NULL;
}

bool tn_vendor_note_library(const void *address)
{
    Dl_info info;
    if (!dladdr(address, &info) || !info.dli_fname || !is_of_vendor(info.dli_fname)) return false;
    if (atomic_load_explicit(&found_vendor, memory_order_acquire)) return true;
    return find_in_file(info.dli_fname) != NULL;
}
