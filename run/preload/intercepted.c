/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* intercepted: the table, and the symbols that programs link. */
#include "intercepted.h"

#include <string.h>

#include "base/compiler.h"

#include "notes.h"

const struct tn_intercepted tn_intercepted[TN_CALL_COUNT] = {
#define ENTRY(function, symbol, name, since, streams, parameters, arguments) \
    { #symbol, #name, since, TN_STREAMS_##streams, (tn_any_function)tn_call_##function },
    TN_INTERCEPTED(ENTRY)
#undef ENTRY
};

enum tn_call tn_intercepted_find(const char *symbol)
{
    enum tn_call call = 0;
    while (call < TN_CALL_COUNT && strcmp(tn_intercepted[call].symbol, symbol) != 0)
        call++;
    return call;
}

static bool fits(const struct tn_intercepted *call, int version, bool is_of_threads)
{
    enum tn_default_stream other = is_of_threads ? TN_STREAMS_LEGACY : TN_STREAMS_OF_THREADS;
    return call->since_version <= version && call->streams != other;
}

enum tn_call tn_intercepted_find_version(const char *name, int version, bool is_of_threads)
{
    enum tn_call found = TN_CALL_COUNT;
    for (enum tn_call call = 0; call < TN_CALL_COUNT; call++) {
        if (strcmp(tn_intercepted[call].name, name) != 0) continue;
        if (!fits(&tn_intercepted[call], version, is_of_threads)) continue;
        if (found == TN_CALL_COUNT ||
            tn_intercepted[call].since_version > tn_intercepted[found].since_version)
            found = call;
    }
    return found;
}

/* --- the symbols that programs link ------------------------------------------------------------------ */

#define EXPORT(function, symbol, name, since, streams, parameters, arguments) \
    __attribute__((visibility("default"))) tn_vendor_error symbol parameters; \
    __attribute__((visibility("default"))) tn_vendor_error symbol parameters  \
    {                                                                         \
        tn_notes_linked(TN_CALL_##function, TN_CALLER);                       \
        return tn_call_##function arguments;                                  \
    }
TN_INTERCEPTED(EXPORT)
