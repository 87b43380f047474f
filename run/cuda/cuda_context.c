/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_context: primary contexts, and who gets which function. */
#include "../preload/intercepted.h"
#include "../preload/vendor.h"

#include "cuda_calls.h"

static tn_vendor_error release_primary(const struct tn_vendor *vendor, int device)
{
    return vendor->table.release_primary ? vendor->table.release_primary(device)
                                         : vendor->table.release_primary_7(device);
}

/* The vendor tells the primary context only by retaining it, which would create one where there is none. */
tn_vendor_error tn_vendor_find_whether_primary(const struct tn_vendor *vendor, const void *context,
                                               int device, bool *is_primary_out)
{
    unsigned flags;
    int is_active = 0;
    void *primary = NULL;
    tn_vendor_error error = vendor->table.get_primary_state(device, &flags, &is_active);
    if (error == TN_ERROR_SUCCESS && is_active) {
        error = vendor->table.retain_primary(&primary, device);
        if (error == TN_ERROR_SUCCESS) error = release_primary(vendor, device);
    }
    *is_primary_out = primary == context;
    return error;
}

/* libgomp refuses to free an address that is not the start of its range, so it gets the range of the allocation. All
 * others get the driver's: MPI libraries send that range, or a handle of it, to other processes. */
tn_any_function tn_vendor_replacement_for(enum tn_call call, const void *caller)
{
    if (call == TN_CALL_get_range && tn_vendor_is_in_library(caller, "libgomp-plugin-nvptx"))
        return (tn_any_function)tn_cuda_range_of_allocation;
    return tn_intercepted[call].replacement;
}
