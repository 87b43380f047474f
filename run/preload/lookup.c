/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* lookup: by dlsym, by dlvsym, and by the driver's own cuGetProcAddress. */
#include "lookup.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#include "base/compiler.h"

#include "vendor.h"
#include "intercepted.h"
#include "notes.h"
#include "system_symbols.h"

static void *as_symbol(tn_any_function function)
{
    void *symbol;
    memcpy(&symbol, &function, sizeof symbol);
    return symbol;
}

static const struct tn_lookup_answer no_answer = { NULL, 0 };

static bool may_be_caught(void *handle, const char *name)
{
    if (!tn_system_symbols_find() || handle == RTLD_NEXT) return false;
    return name && name[0] == 'c' && name[1] == 'u';
}

/* libgomp refuses to free an address that is not the start of its range, so it gets the range of the allocation. All
 * others get the driver's: MPI libraries send that range, or a handle of it, to other processes. */
static tn_any_function replacement_for(enum tn_call call, const void *caller)
{
    if (call == TN_CALL_cuMemGetAddressRange_v2 &&
        tn_driver_is_in_library(caller, "libgomp-plugin-nvptx"))
        return (tn_any_function)tn_call_address_range_of_allocation;
    return tn_intercepted[call].replacement;
}

/* `found` is what the system has found by the caller's handle. The global scope and the program's own handle find the
 * symbol that this library exports, also where there is no driver. */
static struct tn_lookup_answer answer(enum tn_call call, enum tn_route route, void *found,
                                      const void *caller)
{
    struct tn_lookup_answer unchanged = { found, 1 };
    if (!found) return unchanged;
    if (tn_driver_is_own(found)) {
        if (tn_driver_find()) return unchanged;
        return (struct tn_lookup_answer){
            tn_system_symbols.dlsym(RTLD_NEXT, tn_intercepted[call].symbol), 1
        };
    }
    if (!tn_driver_note_library(found)) return unchanged;
    tn_notes_caught(call, route, caller);
    return (struct tn_lookup_answer){ as_symbol(replacement_for(call, caller)), 1 };
}

struct tn_lookup_answer tn_lookup_dlsym(void *handle, const char *name, const void *caller)
{
    if (!may_be_caught(handle, name)) return no_answer;
    enum tn_call call = tn_intercepted_find(name);
    if (call == TN_CALL_COUNT) return no_answer;
    return answer(call, TN_ROUTE_DLSYM, tn_system_symbols.dlsym(handle, name), caller);
}

struct tn_lookup_answer tn_lookup_dlvsym(void *handle, const char *name, const char *version,
                                         const void *caller)
{
    if (!may_be_caught(handle, name)) return no_answer;
    enum tn_call call = tn_intercepted_find(name);
    if (call == TN_CALL_COUNT) return no_answer;
    return answer(call, TN_ROUTE_DLSYM, tn_system_symbols.dlvsym(handle, name, version), caller);
}

/* --- cuGetProcAddress -------------------------------------------------------------------------------- */

/* The first version of CUDA whose functions the table may not know. */
#define UNKNOWN_VERSION 14000

#define FLAG_STREAMS_OF_THREADS 2 /* CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM */

/* The driver has followed name, version and flags. Its answer tells which function that is, if the library also has it
 * as a symbol. Otherwise the table follows the same rules. */
static enum tn_call identify(const struct tn_driver *driver, const char *name, int version,
                             uint64_t flags, const void *function)
{
    bool has_name = false;
    for (enum tn_call call = 0; call < TN_CALL_COUNT; call++) {
        if (strcmp(tn_intercepted[call].name, name) != 0) continue;
        if (as_symbol(driver->intercepted[call]) == function) return call;
        has_name = true;
    }
    if (!has_name || version >= UNKNOWN_VERSION) return TN_CALL_COUNT;
    return tn_intercepted_find_version(name, version, (flags & FLAG_STREAMS_OF_THREADS) != 0);
}

/* Follows a successful call of cuGetProcAddress, whose answer is in *function. */
static void replace(const struct tn_driver *driver, const char *name, void **function, int version,
                    uint64_t flags, const void *caller)
{
    if (!name || !function || !*function) return;
    enum tn_call call = identify(driver, name, version, flags, *function);
    if (call == TN_CALL_COUNT) return;
    tn_notes_caught(call, TN_ROUTE_GET_PROC_ADDRESS, caller);
    *function = as_symbol(replacement_for(call, caller));
}

tn_cuda_error tn_call_cuGetProcAddress(const char *name, void **function, int version,
                                       uint64_t flags)
{
    const struct tn_driver *driver = tn_driver_find();
    if (!TN_DRIVER_HAS(driver, cuGetProcAddress)) return TN_CUDA_NOT_INITIALIZED;
    tn_cuda_error error = TN_DRIVER_CALL(driver, cuGetProcAddress)(name, function, version, flags);
    if (error == TN_CUDA_SUCCESS) replace(driver, name, function, version, flags, TN_CALLER);
    return error;
}

tn_cuda_error tn_call_cuGetProcAddress_v2(const char *name, void **function, int version,
                                          uint64_t flags, int *found)
{
    const struct tn_driver *driver = tn_driver_find();
    if (!TN_DRIVER_HAS(driver, cuGetProcAddress_v2)) return TN_CUDA_NOT_INITIALIZED;
    tn_cuda_error error =
        TN_DRIVER_CALL(driver, cuGetProcAddress_v2)(name, function, version, flags, found);
    if (error == TN_CUDA_SUCCESS) replace(driver, name, function, version, flags, TN_CALLER);
    return error;
}
