/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* vendor_visit: calls in the backend's context, and what the driver's answers mean. */
#include "vendor_backend.h"

#include "notes.h"

static tarn_status status_of(tn_cuda_error error)
{
    switch (error) {
    case TN_CUDA_SUCCESS:
        return TARN_STATUS_OK;
    case TN_CUDA_OUT_OF_MEMORY:
        return TARN_STATUS_OUT_OF_MEMORY;
    case TN_CUDA_NOT_READY:
        return TARN_STATUS_NOT_READY;
    case TN_CUDA_NO_DEVICE:
        return TARN_STATUS_NO_DEVICE;
    case TN_CUDA_INVALID_DEVICE:
        return TARN_STATUS_INVALID_DEVICE;
    case TN_CUDA_INVALID_VALUE:
    case TN_CUDA_INVALID_HANDLE:
        return TARN_STATUS_INVALID_ARGUMENT;
    case TN_CUDA_NOT_SUPPORTED:
        return TARN_STATUS_NOT_SUPPORTED;
    default:
        return TARN_STATUS_VENDOR_ERROR;
    }
}

tarn_backend_result tn_driver_result(const struct tn_driver *driver, tn_cuda_error error)
{
    if (error == TN_CUDA_SUCCESS) return TARN_BACKEND_RESULT_OK;
    const char *name = NULL;
    (void)driver->get_error_name(error, &name);
    return (tarn_backend_result){ status_of(error), error, name };
}

struct tn_visit tn_visit_begin(const struct tn_driver_device *device)
{
    void *current = NULL;
    tn_notes_vendor_call();
    tn_cuda_error error = device->driver->get_context(&current);
    if (error != TN_CUDA_SUCCESS || current == device->context)
        return (struct tn_visit){ error, false };
    error = device->driver->push_context(device->context);
    return (struct tn_visit){ error, error == TN_CUDA_SUCCESS };
}

tarn_backend_result tn_visit_end(const struct tn_driver_device *device, struct tn_visit visit,
                                 tn_cuda_error error)
{
    void *popped;
    if (visit.is_pushed) (void)device->driver->pop_context(&popped);
    return tn_driver_result(device->driver, error);
}
