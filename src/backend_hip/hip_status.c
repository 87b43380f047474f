/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * hip_status: making a call on the right device, and what its answer means.
 *
 * The runtime works on the calling thread's current device, and the backend has one device of its
 * own. There are two cases:
 *
 *   1. The thread's current device is the backend's: the call is made, and that is all. A program
 *      that uses one device always comes here.
 *   2. It is another one: the device is set, and set back afterwards.
 *
 * Setting an AMD device creates nothing on it, so there is no third case as there is with CUDA. On
 * NVIDIA's platform setting back gives the other device its context, if it had none.
 *
 * Cost: the first case adds a hipGetDevice to the call, the second two hipSetDevice besides. What takes
 * memory adds two hipThreadExchangeStreamCaptureMode.
 * Threads: any.
 */
#include "hip_device.h"

/* --- what an answer means ---------------------------------------------------------------------- */

static tarn_status status_of(hipError_t error)
{
    switch (error) {
    case hipSuccess:
        return TARN_STATUS_OK;
    case hipErrorOutOfMemory:
        return TARN_STATUS_OUT_OF_MEMORY;
    case hipErrorNotReady:
        return TARN_STATUS_NOT_READY;
    case hipErrorNoDevice: /* also the answer when there is no driver at all */
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

/* The runtime keeps the error for the application's next check of a kernel launch, which must not
 * find it: so it is taken out. Before HIP 7 that holds for NotReady too, and a call that succeeds
 * wipes out what was there, which no caller can help. */
tarn_backend_result tn_hip_result(hipError_t error)
{
    if (error == hipSuccess) return TARN_BACKEND_RESULT_OK;
    (void)hipGetLastError();
    return (tarn_backend_result){ status_of(error), (int)error, hipGetErrorName(error) };
}

tarn_backend_result tn_hip_unloading(void)
{
    return (tarn_backend_result){ TARN_STATUS_VENDOR_ERROR, (int)hipErrorDeinitialized,
                                  "hipErrorDeinitialized" };
}

/* --- how a call is made ------------------------------------------------------------------------ */

static tarn_backend_result make_relaxed(struct tn_hip_call *call)
{
    hipStreamCaptureMode mode = hipStreamCaptureModeRelaxed;
    tarn_status exchanged = tn_hip_result(hipThreadExchangeStreamCaptureMode(&mode)).status;
    tarn_backend_result result = call->make(call);
    if (exchanged == TARN_STATUS_OK) (void)tn_hip_result(hipThreadExchangeStreamCaptureMode(&mode));
    return result;
}

static tarn_backend_result make(struct tn_hip_call *call)
{
    return call->is_relaxed ? make_relaxed(call) : call->make(call);
}

/* --- on which device a call is made ------------------------------------------------------------ */

static tarn_backend_result set_device_and_make(const struct tn_hip_device *device,
                                               struct tn_hip_call *call)
{
    tarn_backend_result result = tn_hip_result(hipSetDevice(device->number));
    if (result.status != TARN_STATUS_OK) return result;
    return make(call);
}

static tarn_backend_result make_and_set_back(const struct tn_hip_device *device,
                                             struct tn_hip_call *call, int current)
{
    tarn_backend_result result = set_device_and_make(device, call);
    /* It was current before, so it can be again. */
    (void)tn_hip_result(hipSetDevice(current));
    return result;
}

tarn_backend_result tn_hip_make(const struct tn_hip_device *device, struct tn_hip_call *call)
{
    int current;
    if (tn_lifetime_is_over(&device->lifetime))
        return tn_lifetime_refusal(&device->lifetime, tn_hip_unloading());
    tarn_backend_result result = tn_hip_result(hipGetDevice(&current));
    if (result.status != TARN_STATUS_OK) return result;
    call->device = device;
    if (current == device->number) return make(call);
    return make_and_set_back(device, call, current);
}

tarn_backend_result tn_hip_make_take(const struct tn_hip_device *device, struct tn_hip_call *call)
{
    call->is_relaxed = true;
    return tn_hip_make(device, call);
}

tarn_backend_result tn_hip_make_return(const struct tn_hip_device *device, struct tn_hip_call *call)
{
    if (tn_lifetime_is_over(&device->lifetime)) return TARN_BACKEND_RESULT_OK;
    tarn_backend_result result = tn_hip_make(device, call);
    return result.vendor_code == (int)hipErrorDeinitialized ? TARN_BACKEND_RESULT_OK : result;
}
