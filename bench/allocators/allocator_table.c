/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* allocator_table: the allocators that a user can ask for. */
#include "allocator.h"

#include <string.h>

#include "tarn/tarn.h"

const struct tn_allocator *const tn_allocator_table[] = {
    &tn_allocator_raw,
    &tn_allocator_tarn,
    &tn_allocator_tarn_contiguous,
    &tn_allocator_tarn_lean,
    &tn_allocator_vendor_pool,
    &tn_allocator_vendor_pool_release,
    &tn_allocator_cub,
    &tn_allocator_torch,
    &tn_allocator_ordered_sets,
    &tn_allocator_umpire,
    &tn_allocator_umpire_list,
    &tn_allocator_umf,
    &tn_allocator_jemalloc,
    &tn_allocator_mimalloc,
    &tn_allocator_libc_malloc,
    NULL,
};

const struct tn_allocator *const tn_allocator_variants[] = {
    &tn_allocator_tarn_first,
    &tn_allocator_tarn_segregated,
    &tn_allocator_tarn_tlsf,
    &tn_allocator_tarn_slack,
    &tn_allocator_tarn_contiguous_first,
    &tn_allocator_tarn_contiguous_segregated,
    &tn_allocator_tarn_contiguous_tlsf,
    &tn_allocator_tarn_contiguous_slack,
    &tn_allocator_torch_expandable,
    NULL,
};

static const struct tn_allocator *find_in(const struct tn_allocator *const *table, const char *name)
{
    for (; *table; table++)
        if (strcmp((*table)->name, name) == 0) return *table;
    return NULL;
}

bool tn_allocator_must_be_named(const struct tn_allocator *allocator)
{
    return allocator == &tn_allocator_libc_malloc && strcmp(tarn_backend_name(), "host") != 0;
}

bool tn_allocator_can_be_filled(const struct tn_allocator *allocator, struct tn_reason *reason_out)
{
    if (!tn_allocator_must_be_named(allocator)) return true;
    tn_reason_set(reason_out, "gives memory of the host, which the device is not to fill");
    return false;
}

const struct tn_allocator *tn_allocator_find(const char *name)
{
    const struct tn_allocator *found = find_in(tn_allocator_table, name);
    return found ? found : find_in(tn_allocator_variants, name);
}
