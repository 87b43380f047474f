/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* lookup: by dlsym, by dlvsym, and by the vendor's own look-up. */
#include "lookup.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#include "base/compiler.h"

#include "intercepted.h"
#include "notes.h"
#include "system_symbols.h"
#include "vendor.h"

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
    return name && strncmp(name, TN_VENDOR_PREFIX, sizeof TN_VENDOR_PREFIX - 1) == 0;
}

/* `found` is what the system has found by the caller's handle. The global scope and the program's own handle find the
 * symbol that this library exports, also where the vendor has none. */
static struct tn_lookup_answer answer(enum tn_call call, enum tn_route route, void *found,
                                      const void *caller)
{
    struct tn_lookup_answer unchanged = { found, 1 };
    if (!found) return unchanged;
    if (tn_vendor_is_own(found)) {
        const struct tn_vendor *vendor = tn_vendor_find();
        if (vendor && vendor->intercepted[call]) return unchanged;
        return (struct tn_lookup_answer){
            tn_system_symbols.dlsym(RTLD_NEXT, tn_intercepted[call].symbol), 1
        };
    }
    if (!tn_vendor_note_library(found)) return unchanged;
    /* HIP's own look-up asks dlsym. It is noted by itself. */
    if (!tn_vendor_is_in_library(caller, TN_VENDOR_LIBRARY)) tn_notes_caught(call, route, caller);
    return (struct tn_lookup_answer){ as_symbol(tn_vendor_replacement_for(call, caller)), 1 };
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

/* --- the vendor's look-up ---------------------------------------------------------------------------- */

/* The vendor has followed the query. Its answer tells which function that is, if the library also has it as a symbol.
 * Otherwise the table follows the same rules. HIP's look-up asks dlsym, and so has the replacement already. */
static enum tn_call identify(const struct tn_vendor *vendor, const struct tn_lookup_query *query,
                             const void *function)
{
    bool has_name = false;
    for (enum tn_call call = 0; call < TN_CALL_COUNT; call++) {
        const struct tn_intercepted *entry = &tn_intercepted[call];
        if (strcmp(entry->name, query->name) != 0 && strcmp(entry->symbol, query->name) != 0)
            continue;
        if (as_symbol(vendor->intercepted[call]) == function ||
            as_symbol(entry->replacement) == function)
            return call;
        has_name = true;
    }
    if (!has_name || query->version >= TN_VENDOR_VERSION_UNKNOWN) return TN_CALL_COUNT;
    return tn_intercepted_find_version(query->name, query->version, query->is_of_threads);
}

void tn_lookup_replace(const struct tn_vendor *vendor, const struct tn_lookup_query *query,
                       void **function, const void *caller)
{
    if (!query->name || !function || !*function) return;
    enum tn_call call = identify(vendor, query, *function);
    if (call == TN_CALL_COUNT) return;
    tn_notes_caught(call, TN_ROUTE_ADDRESS, caller);
    *function = as_symbol(tn_vendor_replacement_for(call, caller));
}
