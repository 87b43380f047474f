/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_context: contexts of the driver's, and what else HIP does in another way. */
#include "backend_common/operation.h"

#include "../preload/intercepted.h"
#include "../preload/vendor.h"
#include "../preload/vendor_backend.h"

#include "cuda_calls.h"

/* --- contexts ---------------------------------------------------------------------------------------- */

tn_vendor_error tn_vendor_get_context(const struct tn_vendor *vendor, void **context_out)
{
    return vendor->get_context(context_out);
}

tn_vendor_error tn_vendor_get_device(const struct tn_vendor *vendor, int *device_out)
{
    return vendor->get_context_device(device_out);
}

tn_vendor_error tn_vendor_enter(const struct tn_vendor *vendor, void *context)
{
    return vendor->push_context(context);
}

void tn_vendor_leave(const struct tn_vendor *vendor, void *previous)
{
    void *popped;
    (void)previous; /* the driver has it on its stack */
    (void)vendor->pop_context(&popped);
}

static tn_vendor_error release_primary(const struct tn_vendor *vendor, int device)
{
    if (TN_VENDOR_HAS(vendor, release_primary))
        return TN_VENDOR_CALL(vendor, release_primary)(device);
    return TN_VENDOR_CALL(vendor, release_primary_7)(device);
}

/* The vendor tells the primary context only by retaining it, which would create one where there is none. */
tn_vendor_error tn_vendor_find_whether_primary(const struct tn_vendor *vendor, const void *context,
                                               int device, bool *is_primary_out)
{
    unsigned flags;
    int is_active = 0;
    void *primary = NULL;
    tn_vendor_error error = vendor->get_primary_state(device, &flags, &is_active);
    if (error == TN_ERROR_SUCCESS && is_active) {
        error = vendor->retain_primary(&primary, device);
        if (error == TN_ERROR_SUCCESS) error = release_primary(vendor, device);
    }
    *is_primary_out = primary == context;
    return error;
}

/* --- streams, events, data --------------------------------------------------------------------------- */

/* From CUDA 9.2 on. */
tn_vendor_error tn_vendor_find_stream_context(const struct tn_vendor *vendor, void *stream,
                                              void **context_out)
{
    return vendor->stream_context ? vendor->stream_context(stream, context_out) : TN_ERROR_SUCCESS;
}

/* By cuCtxRecordEvent of CUDA 12.5 and newer. Without it a pool waits for the context instead. */
tarn_backend_result tn_vendor_event_record_device(void *state, tarn_event event)
{
    const struct tn_vendor_device *device = state;
    if (!event) return tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);
    if (!device->vendor->record_context) return tn_backend_result(TARN_STATUS_NOT_SUPPORTED);
    TN_REFUSE_LATE_TAKE(device);
    return TN_VISIT(device, ORDER, device->vendor->record_context(device->context, event));
}

tn_vendor_error tn_vendor_copy_async(const struct tn_vendor *vendor, tn_vendor_address destination,
                                     tn_vendor_address source, size_t size_bytes, void *stream)
{
    return vendor->copy(destination, source, size_bytes, stream);
}

/* --- answers ----------------------------------------------------------------------------------------- */

const char *tn_vendor_take_error(const struct tn_vendor *vendor, tn_vendor_error error)
{
    const char *name = NULL;
    (void)vendor->get_error_name(error, &name);
    return name;
}

/* libgomp refuses to free an address that is not the start of its range, so it gets the range of the allocation. All
 * others get the driver's: MPI libraries send that range, or a handle of it, to other processes. */
tn_any_function tn_vendor_replacement_for(enum tn_call call, const void *caller)
{
    if (call == TN_CALL_get_range && tn_vendor_is_in_library(caller, "libgomp-plugin-nvptx"))
        return (tn_any_function)tn_cuda_range_of_allocation;
    return tn_intercepted[call].replacement;
}
