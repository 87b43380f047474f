/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * runtime_status: making a call on the right device.
 *
 * The runtime works on the calling thread's current device. If that is the backend's device, the call
 * is simply made. A program that uses one device always has this case. If another device is current,
 * the vendor decides how the call is made: see cuda_status.c and hip_status.c.
 *
 * Cost: one cudaGetDevice or hipGetDevice besides the call. A call that takes memory adds two of
 * cudaThreadExchangeStreamCaptureMode or hipThreadExchangeStreamCaptureMode.
 * Threads: any.
 */
#include "runtime_device.h"

/* --- what an answer means ---------------------------------------------------------------------- */

/* The runtime keeps an error for the application's next check of a kernel launch, which must not find
 * this one. So it is cleared. Before HIP 7, NotReady is kept too, and a call that succeeds clears an
 * earlier error, which no caller can prevent. */
tarn_backend_result tn_runtime_result(tn_runtime_error error)
{
    if (error == TN_RUNTIME(Success)) return TARN_BACKEND_RESULT_OK;
    (void)TN_RUNTIME(GetLastError)();
    return (tarn_backend_result){ tn_runtime_status_of(error), (int)error,
                                  TN_RUNTIME(GetErrorName)(error) };
}

/* --- how a call is made ------------------------------------------------------------------------ */

static tarn_backend_result make_relaxed(struct tn_runtime_call *call)
{
    tn_runtime_capture_mode mode = TN_RUNTIME(StreamCaptureModeRelaxed);
    tn_runtime_error exchanged = TN_RUNTIME(ThreadExchangeStreamCaptureMode)(&mode);
    bool is_exchanged = tn_runtime_result(exchanged).status == TARN_STATUS_OK;
    tarn_backend_result result = call->make(call);
    if (is_exchanged) (void)tn_runtime_result(TN_RUNTIME(ThreadExchangeStreamCaptureMode)(&mode));
    return result;
}

static tarn_backend_result make(struct tn_runtime_call *call)
{
    return call->is_relaxed ? make_relaxed(call) : call->make(call);
}

/* --- on which device a call is made ------------------------------------------------------------ */

tarn_backend_result tn_runtime_set_device_and_make(struct tn_runtime_call *call)
{
    tarn_backend_result result = tn_runtime_result(TN_RUNTIME(SetDevice)(call->device->number));
    if (result.status != TARN_STATUS_OK) return result;
    return make(call);
}

tarn_backend_result tn_runtime_make_and_set_back(struct tn_runtime_call *call, int current)
{
    tarn_backend_result result = tn_runtime_set_device_and_make(call);
    /* The device was current before, so it can be again. If a kernel has failed there, this may answer
     * with that kernel's error. The call itself is made, and the application learns of the kernel from
     * its own calls. */
    (void)tn_runtime_result(TN_RUNTIME(SetDevice)(current));
    return result;
}

tarn_backend_result tn_runtime_make(const struct tn_runtime_device *device,
                                    struct tn_runtime_call *call)
{
    int current;
    if (tn_lifetime_is_over(&device->lifetime))
        return tn_lifetime_refusal(&device->lifetime, tn_runtime_unloading());
    tarn_backend_result result = tn_runtime_result(TN_RUNTIME(GetDevice)(&current));
    if (result.status != TARN_STATUS_OK) return result;
    call->device = device;
    return current == device->number ? make(call) : tn_runtime_make_elsewhere(call, current);
}

tarn_backend_result tn_runtime_make_take(const struct tn_runtime_device *device,
                                         struct tn_runtime_call *call)
{
    call->is_relaxed = true;
    return tn_runtime_make(device, call);
}

tarn_backend_result tn_runtime_make_return(const struct tn_runtime_device *device,
                                           struct tn_runtime_call *call)
{
    if (tn_lifetime_is_over(&device->lifetime)) return TARN_BACKEND_RESULT_OK;
    tarn_backend_result result = tn_runtime_make(device, call);
    bool is_unloading = result.vendor_code == tn_runtime_unloading().vendor_code;
    return is_unloading ? TARN_BACKEND_RESULT_OK : result;
}
