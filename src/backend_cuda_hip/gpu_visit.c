/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * gpu_visit: calls in the backend's context, and what answers mean.
 *
 * The vendor's functions work on the calling thread's current context, or on its current device where the vendor has no
 * contexts. If that is the backend's, the call is simply made. Else the backend's is made current for the call, and the
 * other one again after it. A thread without a context is left without one: no context of another device is created.
 *
 * Cost: one cuCtxGetCurrent or hipGetDevice besides the call, and two calls more where another context is current. A call
 * that takes memory adds two of cuThreadExchangeStreamCaptureMode or hipThreadExchangeStreamCaptureMode.
 * Threads: any.
 */
#include "gpu_device.h"

#define CAPTURE_MODE_RELAXED 2

/* --- what an answer means ---------------------------------------------------------------------- */

static tarn_status status_of(tn_gpu_error error)
{
    switch (error) {
    case TN_ERROR_SUCCESS:
        return TARN_STATUS_OK;
    case TN_ERROR_OUT_OF_MEMORY:
        return TARN_STATUS_OUT_OF_MEMORY;
    case TN_ERROR_NOT_READY:
        return TARN_STATUS_NOT_READY;
    case TN_ERROR_NO_DEVICE: /* with HIP also the answer without any driver */
    case TN_ERROR_STUB_LIBRARY:
    case TN_ERROR_INSUFFICIENT_DRIVER:
    case TN_ERROR_SYSTEM_NOT_READY:
    case TN_ERROR_SYSTEM_DRIVER_MISMATCH:
        return TARN_STATUS_NO_DEVICE;
    case TN_ERROR_INVALID_DEVICE:
        return TARN_STATUS_INVALID_DEVICE;
    case TN_ERROR_INVALID_VALUE:
    case TN_ERROR_INVALID_HANDLE:
    case TN_ERROR_INVALID_DEVICE_POINTER:
        return TARN_STATUS_INVALID_ARGUMENT;
    case TN_ERROR_NOT_SUPPORTED:
        return TARN_STATUS_NOT_SUPPORTED;
    default:
        return TARN_STATUS_VENDOR_ERROR;
    }
}

tarn_backend_result tn_gpu_result(const struct tn_gpu_table *table, tn_gpu_error error)
{
    if (error == TN_ERROR_SUCCESS) return TARN_BACKEND_RESULT_OK;
    return (tarn_backend_result){ status_of(error), error,
                                  table->vendor->take_error(table, error) };
}

tarn_backend_result tn_gpu_unloading(const struct tn_gpu_vendor *vendor)
{
    return (tarn_backend_result){ TARN_STATUS_VENDOR_ERROR, TN_ERROR_DEINITIALIZED,
                                  vendor->unloading_name };
}

/* --- visits ------------------------------------------------------------------------------------ */

static void enter(struct tn_gpu_visit *visit)
{
    const struct tn_gpu_device *device = visit->device;
    const struct tn_gpu_table *table = device->table;
    visit->error = table->vendor->get_context(table, &visit->previous);
    if (visit->error != TN_ERROR_SUCCESS || visit->previous == device->context) return;
    visit->error = table->vendor->enter(table, device->context);
    visit->is_entered = visit->error == TN_ERROR_SUCCESS;
}

struct tn_gpu_visit tn_gpu_begin(const struct tn_gpu_device *device, enum tn_gpu_purpose purpose)
{
    const struct tn_gpu_table *table = device->table;
    struct tn_gpu_visit visit = { .device = device, .purpose = purpose };
    visit.is_over = tn_lifetime_is_over(&device->lifetime);
    if (visit.is_over) return visit;
    if (table->note) table->note(purpose == TN_GPU_TAKE || purpose == TN_GPU_GIVE);
    enter(&visit);
    visit.may_call = visit.error == TN_ERROR_SUCCESS;
    if (visit.may_call && purpose == TN_GPU_TAKE && table->exchange_capture_mode) {
        visit.capture_mode = CAPTURE_MODE_RELAXED;
        visit.is_relaxed =
            tn_gpu_succeeds(table, table->exchange_capture_mode(&visit.capture_mode));
    }
    return visit;
}

tarn_backend_result tn_gpu_end(struct tn_gpu_visit *visit)
{
    const struct tn_gpu_device *device = visit->device;
    const struct tn_gpu_table *table = device->table;
    bool gives_back = visit->purpose == TN_GPU_GIVE || visit->purpose == TN_GPU_END;
    if (visit->is_over && gives_back) return TARN_BACKEND_RESULT_OK;
    if (visit->is_over)
        return tn_lifetime_refusal(&device->lifetime, tn_gpu_unloading(table->vendor));
    tarn_backend_result result = tn_gpu_result(table, visit->error);
    if (visit->is_relaxed)
        (void)tn_gpu_succeeds(table, table->exchange_capture_mode(&visit->capture_mode));
    if (visit->is_entered) table->vendor->leave(table, visit->previous);
    /* The process ends and the library is being unloaded: nothing is left to give back. */
    bool is_unloading = visit->error == TN_ERROR_DEINITIALIZED;
    return gives_back && is_unloading ? TARN_BACKEND_RESULT_OK : result;
}
