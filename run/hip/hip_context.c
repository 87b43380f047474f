/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* hip_context: a device in place of a context begins and ends with the process. */
#include "../preload/intercepted.h"
#include "../preload/vendor.h"

tn_vendor_error tn_vendor_find_whether_primary(const struct tn_vendor *vendor, const void *context,
                                               int device, bool *is_primary_out)
{
    (void)vendor, (void)context, (void)device;
    *is_primary_out = true;
    return TN_ERROR_SUCCESS;
}

tn_any_function tn_vendor_replacement_for(enum tn_call call, const void *caller)
{
    (void)caller;
    return tn_intercepted[call].replacement;
}
