/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* hip_status: status codes, and calls where another device is current. */
#include "../backend_cuda_hip/runtime_device.h"

tarn_status tn_runtime_status_of(hipError_t error)
{
    switch (error) {
    case hipSuccess:
        return TARN_STATUS_OK;
    case hipErrorOutOfMemory:
        return TARN_STATUS_OUT_OF_MEMORY;
    case hipErrorNotReady:
        return TARN_STATUS_NOT_READY;
    case hipErrorNoDevice: /* also the answer without any driver */
    case hipErrorInsufficientDriver:
        return TARN_STATUS_NO_DEVICE;
    case hipErrorInvalidDevice:
        return TARN_STATUS_INVALID_DEVICE;
    case hipErrorInvalidValue:
    case hipErrorInvalidHandle:
    case hipErrorInvalidDevicePointer:
        return TARN_STATUS_INVALID_ARGUMENT;
    case hipErrorNotSupported:
        return TARN_STATUS_NOT_SUPPORTED;
    default:
        return TARN_STATUS_VENDOR_ERROR;
    }
}

tarn_backend_result tn_runtime_unloading(void)
{
    return (tarn_backend_result){ TARN_STATUS_VENDOR_ERROR, (int)hipErrorDeinitialized,
                                  "hipErrorDeinitialized" };
}

tarn_backend_result tn_runtime_find_current(int *device_out)
{
    return tn_runtime_result(hipGetDevice(device_out));
}

/* Setting an AMD device creates nothing on it. On NVIDIA's platform restoring the other device creates
 * its context, if it had none. */
tarn_backend_result tn_runtime_make_elsewhere(struct tn_runtime_call *call, int current)
{
    return tn_runtime_make_and_set_back(call, current);
}
