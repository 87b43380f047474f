/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* vendor_visit: calls in the backend's context, and what the vendor's answers mean. */
#include "vendor_backend.h"

static tarn_status status_of(tn_vendor_error error)
{
    switch (error) {
    case TN_ERROR_SUCCESS:
        return TARN_STATUS_OK;
    case TN_ERROR_OUT_OF_MEMORY:
        return TARN_STATUS_OUT_OF_MEMORY;
    case TN_ERROR_NOT_READY:
        return TARN_STATUS_NOT_READY;
    case TN_ERROR_NO_DEVICE:
        return TARN_STATUS_NO_DEVICE;
    case TN_ERROR_INVALID_DEVICE:
        return TARN_STATUS_INVALID_DEVICE;
    case TN_ERROR_INVALID_VALUE:
    case TN_ERROR_INVALID_HANDLE:
        return TARN_STATUS_INVALID_ARGUMENT;
    case TN_ERROR_NOT_SUPPORTED:
        return TARN_STATUS_NOT_SUPPORTED;
    default:
        return TARN_STATUS_VENDOR_ERROR;
    }
}

tarn_backend_result tn_vendor_result(const struct tn_vendor *vendor, tn_vendor_error error)
{
    if (error == TN_ERROR_SUCCESS) return TARN_BACKEND_RESULT_OK;
    return (tarn_backend_result){ status_of(error), error, tn_vendor_take_error(vendor, error) };
}

struct tn_visit tn_visit_begin(const struct tn_vendor *vendor, void *context)
{
    struct tn_visit visit = { .is_entered = false };
    visit.error = tn_vendor_get_context(vendor, &visit.previous);
    if (visit.error != TN_ERROR_SUCCESS || visit.previous == context) return visit;
    visit.error = tn_vendor_enter(vendor, context);
    visit.is_entered = visit.error == TN_ERROR_SUCCESS;
    return visit;
}

void tn_visit_end(const struct tn_vendor *vendor, struct tn_visit visit)
{
    if (visit.is_entered) tn_vendor_leave(vendor, visit.previous);
}

void tn_visit_wait(const struct tn_vendor *vendor, void *context)
{
    struct tn_visit visit = tn_visit_begin(vendor, context);
    tn_notes_vendor_call(TN_PURPOSE_ORDER);
    /* The runtime keeps an error for the program, which is not its own. */
    (void)tn_vendor_result(vendor,
                           visit.error == TN_ERROR_SUCCESS ? vendor->synchronize() : visit.error);
    tn_visit_end(vendor, visit);
}
