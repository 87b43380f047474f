/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* allocator_table: the allocators that a user can ask for. */
#include "allocator.h"

#include <string.h>

const struct tn_allocator *const tn_allocator_table[] = {
    &tn_allocator_raw,
    &tn_allocator_tarn,
    &tn_allocator_tarn_contiguous,
    &tn_allocator_vendor_pool,
    &tn_allocator_cub,
    &tn_allocator_ordered_sets,
    NULL,
};

const struct tn_allocator *tn_allocator_find(const char *name)
{
    for (size_t i = 0; tn_allocator_table[i]; i++)
        if (strcmp(tn_allocator_table[i]->name, name) == 0) return tn_allocator_table[i];
    return NULL;
}
