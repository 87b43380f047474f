/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * cuda_status: making a call on the right device, and what its answer means.
 *
 * The runtime works on the calling thread's current device, and the backend has one device of its
 * own. There are three cases:
 *
 *   1. The thread's current device is the backend's: the call is made, and that is all. A program
 *      that uses one device always comes here.
 *   2. It is another one, which has a context: the device is set, and set back afterwards.
 *   3. It is another one, which has no context: the call is made in a thread of its own.
 *
 * The third is for threads that never chose a device, and so have device 0, in a program that uses
 * another one. From CUDA 12 on cudaSetDevice creates the context of the device that it sets, so
 * setting 0 back would take some hundred megabytes of device 0 for nothing, for each process of the
 * node. Leaving the backend's device set instead would be a surprise. A new thread's current
 * device is nobody's business, so there is nothing to set back. What works on cudaStreamPerThread is the exception:
 * that means the calling thread's and no other's, so then it costs the context. Whether a device has a context only
 * the driver knows, and the runtime hands out its function that tells; when it does not, every other
 * device counts as one without.
 *
 * Cost: the first case adds a cudaGetDevice to the call, the second two cudaSetDevice besides, the
 * third making and joining a thread. What takes memory adds two cudaThreadExchangeStreamCaptureMode.
 * Threads: any.
 */
#include "cuda_device.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "../backend_common/operation.h"

/* --- what an answer means ---------------------------------------------------------------------- */

static tarn_status status_of(cudaError_t error)
{
    switch (error) {
    case cudaSuccess:
        return TARN_STATUS_OK;
    case cudaErrorMemoryAllocation:
        return TARN_STATUS_OUT_OF_MEMORY;
    case cudaErrorNotReady:
        return TARN_STATUS_NOT_READY;
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver: /* the answer when there is no driver at all */
    case cudaErrorStubLibrary:
        return TARN_STATUS_NO_DEVICE;
    case cudaErrorInvalidDevice:
        return TARN_STATUS_INVALID_DEVICE;
    case cudaErrorInvalidValue:
    case cudaErrorInvalidResourceHandle:
        return TARN_STATUS_INVALID_ARGUMENT;
    case cudaErrorNotSupported:
        return TARN_STATUS_NOT_SUPPORTED;
    default:
        return TARN_STATUS_VENDOR_ERROR;
    }
}

/* The runtime keeps the error for the application's next check of a kernel launch, which must not
 * find it: so it is taken out. */
tarn_backend_result tn_cuda_result(cudaError_t error)
{
    if (error == cudaSuccess) return TARN_BACKEND_RESULT_OK;
    cudaGetLastError();
    return (tarn_backend_result){ status_of(error), (int)error, cudaGetErrorName(error) };
}

tarn_backend_result tn_cuda_unloading(void)
{
    return (tarn_backend_result){ TARN_STATUS_VENDOR_ERROR, (int)cudaErrorCudartUnloading,
                                  "cudaErrorCudartUnloading" };
}

/* The driver numbers its errors as the runtime does, and remembers none. */
_Static_assert((int)CUDA_ERROR_OUT_OF_MEMORY == (int)cudaErrorMemoryAllocation, "one table");
_Static_assert((int)CUDA_ERROR_DEINITIALIZED == (int)cudaErrorCudartUnloading, "one table");
_Static_assert((int)CUDA_ERROR_NOT_READY == (int)cudaErrorNotReady, "one table");
_Static_assert((int)CUDA_ERROR_NO_DEVICE == (int)cudaErrorNoDevice, "one table");
_Static_assert((int)CUDA_ERROR_STUB_LIBRARY == (int)cudaErrorStubLibrary, "one table");
_Static_assert((int)CUDA_ERROR_INVALID_DEVICE == (int)cudaErrorInvalidDevice, "one table");
_Static_assert((int)CUDA_ERROR_INVALID_VALUE == (int)cudaErrorInvalidValue, "one table");
_Static_assert((int)CUDA_ERROR_INVALID_HANDLE == (int)cudaErrorInvalidResourceHandle, "one table");
_Static_assert((int)CUDA_ERROR_NOT_SUPPORTED == (int)cudaErrorNotSupported, "one table");

tarn_backend_result tn_cuda_driver_result(const struct tn_cuda_device *device, CUresult error)
{
    if (error == CUDA_SUCCESS) return TARN_BACKEND_RESULT_OK;
    const char *name = NULL;
    if (device->driver.get_error_name) device->driver.get_error_name(error, &name);
    return (tarn_backend_result){ status_of((cudaError_t)error), (int)error, name };
}

/* --- the driver's functions -------------------------------------------------------------------- */

/* Writes the function's address to the pointer to a function that function_out points to. */
static void find_function(const char *name, void *function_out)
{
#if CUDART_VERSION >= 11030
    void *function = NULL;
#if CUDART_VERSION >= 12050
    enum cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
    cudaError_t error =
        cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &found);
#elif CUDART_VERSION >= 12000
    enum cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
    cudaError_t error = cudaGetDriverEntryPoint(name, &function, cudaEnableDefault, &found);
#else
    cudaError_t error = cudaGetDriverEntryPoint(name, &function, cudaEnableDefault);
#endif
    /* It is NULL, too, when the driver is older than the function. */
    if (tn_cuda_result(error).status == TARN_STATUS_OK && function)
        memcpy(function_out, &function, sizeof function);
#else
    (void)name;
    (void)function_out;
#endif
}

void tn_cuda_find_driver(struct tn_cuda_driver *driver_out)
{
    *driver_out = (struct tn_cuda_driver){ .get_error_name = NULL };
    find_function("cuGetErrorName", &driver_out->get_error_name);
    find_function("cuDevicePrimaryCtxGetState", &driver_out->get_context_state);
    find_function("cuDeviceGetAttribute", &driver_out->get_attribute);
    find_function("cuMemGetAllocationGranularity", &driver_out->get_granularity);
    find_function("cuMemAddressReserve", &driver_out->address_reserve);
    find_function("cuMemAddressFree", &driver_out->address_free);
    find_function("cuMemCreate", &driver_out->create);
    find_function("cuMemRelease", &driver_out->release);
    find_function("cuMemMap", &driver_out->map);
    find_function("cuMemUnmap", &driver_out->unmap);
    find_function("cuMemSetAccess", &driver_out->set_access);
    find_function("cuPointerGetAttribute", &driver_out->get_pointer_attribute);
    find_function("cuMemExportToShareableHandle", &driver_out->export_mapping);
}

/* --- how a call is made ------------------------------------------------------------------------ */

static tarn_backend_result make_relaxed(struct tn_cuda_call *call)
{
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    tarn_status exchanged = tn_cuda_result(cudaThreadExchangeStreamCaptureMode(&mode)).status;
    tarn_backend_result result = call->make(call);
    if (exchanged == TARN_STATUS_OK)
        (void)tn_cuda_result(cudaThreadExchangeStreamCaptureMode(&mode));
    return result;
}

static tarn_backend_result make(struct tn_cuda_call *call)
{
    return call->is_relaxed ? make_relaxed(call) : call->make(call);
}

/* --- on which device a call is made ------------------------------------------------------------ */

static bool has_context(const struct tn_cuda_device *device, int number)
{
#if CUDART_VERSION < 12000
    /* Setting a device does not create its context yet, so it does not matter. */
    (void)device;
    (void)number;
    return true;
#else
    unsigned flags;
    int is_active = 0;
    return device->driver.get_context_state &&
           device->driver.get_context_state(number, &flags, &is_active) == CUDA_SUCCESS &&
           is_active != 0;
#endif
}

static tarn_backend_result set_device_and_make(const struct tn_cuda_device *device,
                                               struct tn_cuda_call *call)
{
    tarn_backend_result result = tn_cuda_result(cudaSetDevice(device->number));
    if (result.status != TARN_STATUS_OK) return result;
    return make(call);
}

static tarn_backend_result make_and_set_back(const struct tn_cuda_device *device,
                                             struct tn_cuda_call *call, int current)
{
    tarn_backend_result result = set_device_and_make(device, call);
    /* It was current before, so it can be again. When a kernel has failed there this may answer
     * with that kernel's error, but the call did what it did, and the application hears of the
     * kernel by its own calls. */
    (void)tn_cuda_result(cudaSetDevice(current));
    return result;
}

struct thread_call {
    const struct tn_cuda_device *device;
    struct tn_cuda_call *call;
    tarn_backend_result result;
};

static void *thread_main(void *argument)
{
    struct thread_call *thread_call = argument;
    thread_call->result = set_device_and_make(thread_call->device, thread_call->call);
    return NULL;
}

static tarn_backend_result make_in_new_thread(const struct tn_cuda_device *device,
                                              struct tn_cuda_call *call)
{
    struct thread_call thread_call = { device, call, TARN_BACKEND_RESULT_OK };
    pthread_t thread;
    if (pthread_create(&thread, NULL, thread_main, &thread_call) != 0)
        return tn_backend_result(TARN_STATUS_OUT_OF_HOST_MEMORY);
    pthread_join(thread, NULL);
    return thread_call.result;
}

tarn_backend_result tn_cuda_make(const struct tn_cuda_device *device, struct tn_cuda_call *call)
{
    int current;
    if (tn_lifetime_is_over(&device->lifetime))
        return tn_lifetime_refusal(&device->lifetime, tn_cuda_unloading());
    tarn_backend_result result = tn_cuda_result(cudaGetDevice(&current));
    if (result.status != TARN_STATUS_OK) return result;
    call->device = device;
    if (current == device->number) return make(call);
    if (call->stream == cudaStreamPerThread || has_context(device, current))
        return make_and_set_back(device, call, current);
    return make_in_new_thread(device, call);
}

tarn_backend_result tn_cuda_make_take(const struct tn_cuda_device *device,
                                      struct tn_cuda_call *call)
{
    call->is_relaxed = true;
    return tn_cuda_make(device, call);
}

tarn_backend_result tn_cuda_make_return(const struct tn_cuda_device *device,
                                        struct tn_cuda_call *call)
{
    if (tn_lifetime_is_over(&device->lifetime)) return TARN_BACKEND_RESULT_OK;
    tarn_backend_result result = tn_cuda_make(device, call);
    return result.vendor_code == (int)cudaErrorCudartUnloading ? TARN_BACKEND_RESULT_OK : result;
}
