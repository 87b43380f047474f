/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gpu_table: filling it. */
#include "gpu_table.h"

#include <string.h>

const char *tn_gpu_table_fill(struct tn_gpu_table *table, const struct tn_gpu_vendor *vendor,
                              void *(*find)(void *library, const char *symbol), void *library)
{
    const char *missing = NULL;
    table->vendor = vendor;
    for (size_t i = 0; i < vendor->symbol_count; i++) {
        const struct tn_gpu_symbol *symbol = &vendor->symbols[i];
        void *function = find(library, symbol->symbol);
        memcpy((char *)table + symbol->offset, &function, sizeof function);
        if (!function && symbol->is_required) missing = symbol->symbol;
    }
    return missing;
}
