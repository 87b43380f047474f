/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* allocator_list: which allocators this machine has, and why others are missing. */
#include "allocator_list.h"

#include <stdio.h>

#include "../common/progress.h"

/* Only opening tells whether the device supports it. */
static bool print_one(const struct tn_allocator *allocator,
                      const struct tn_allocator_settings *settings)
{
    static const char format[] = "  %-36s %s%s\n";
    if (allocator->missing_because) {
        printf(format, allocator->name, "not found: ", allocator->missing_because);
        return true;
    }
    void *state;
    struct tn_reason reason;
    tarn_status status = allocator->open(settings, &state, &reason);
    if (status == TARN_STATUS_OK) {
        allocator->close(state);
        printf(format, allocator->name, "there", "");
        return true;
    }
    bool is_missing = status == TARN_STATUS_NOT_SUPPORTED;
    printf(format, allocator->name, is_missing ? "not found: " : "FAILED: ", reason.text);
    return is_missing;
}

static bool print_all(const struct tn_allocator *const *table, bool must_be_named,
                      const struct tn_allocator_settings *settings)
{
    bool is_ok = true;
    for (; *table; table++)
        if (tn_allocator_must_be_named(*table) == must_be_named)
            is_ok = print_one(*table, settings) && is_ok;
    return is_ok;
}

bool tn_allocator_list_print(const struct tn_allocator_settings *settings)
{
    tn_progress_clear();
    printf("Compared unless --allocator says otherwise:\n");
    bool is_ok = print_all(tn_allocator_table, false, settings);
    printf("Compared when --allocator names them:\n");
    is_ok = print_all(tn_allocator_variants, false, settings) && is_ok;
    is_ok = print_all(tn_allocator_table, true, settings) && is_ok;
    fflush(stdout);
    return is_ok;
}
