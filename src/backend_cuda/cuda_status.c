/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * cuda_status: status codes, the driver's functions, and calls where another device is current.
 *
 * If another device is current in the calling thread, there are two cases:
 *
 *   1. That device has a context. The backend's device is set, and the other one is restored.
 *   2. That device has no context. The call is made in a new thread.
 *
 * The second case is for threads that never chose a device, and so have device 0, in a program that
 * uses another one. From CUDA 12 on, cudaSetDevice creates the context of its device. Restoring device
 * 0 would then take some hundred megabytes of it for nothing, in each process of the node. Leaving the
 * backend's device current would surprise the program. A new thread has no current device to restore.
 *
 * A call on cudaStreamPerThread cannot be made in another thread, since the stream is the calling
 * thread's. Such a call restores the other device and costs it the context.
 *
 * Only the driver knows whether a device has a context. If the runtime does not hand out its function
 * for that, every other device counts as one without.
 *
 * Cost: the first case adds two cudaSetDevice to the call, the second makes and joins a thread.
 * Threads: any.
 */
#include "cuda_device.h"

#include <pthread.h>
#include <string.h>

#include "../backend_common/operation.h"
#include "../base/sync.h"

/* --- what an answer means ---------------------------------------------------------------------- */

tarn_status tn_runtime_status_of(cudaError_t error)
{
    switch (error) {
    case cudaSuccess:
        return TARN_STATUS_OK;
    case cudaErrorMemoryAllocation:
        return TARN_STATUS_OUT_OF_MEMORY;
    case cudaErrorNotReady:
        return TARN_STATUS_NOT_READY;
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver: /* the answer without any driver */
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

tarn_backend_result tn_runtime_unloading(void)
{
    return (tarn_backend_result){ TARN_STATUS_VENDOR_ERROR, (int)cudaErrorCudartUnloading,
                                  "cudaErrorCudartUnloading" };
}

/* The driver numbers its errors as the runtime does. It keeps no last error. */
_Static_assert((int)CUDA_ERROR_OUT_OF_MEMORY == (int)cudaErrorMemoryAllocation, "one table");
_Static_assert((int)CUDA_ERROR_DEINITIALIZED == (int)cudaErrorCudartUnloading, "one table");
_Static_assert((int)CUDA_ERROR_NOT_READY == (int)cudaErrorNotReady, "one table");
_Static_assert((int)CUDA_ERROR_NO_DEVICE == (int)cudaErrorNoDevice, "one table");
_Static_assert((int)CUDA_ERROR_STUB_LIBRARY == (int)cudaErrorStubLibrary, "one table");
_Static_assert((int)CUDA_ERROR_INVALID_DEVICE == (int)cudaErrorInvalidDevice, "one table");
_Static_assert((int)CUDA_ERROR_INVALID_VALUE == (int)cudaErrorInvalidValue, "one table");
_Static_assert((int)CUDA_ERROR_INVALID_HANDLE == (int)cudaErrorInvalidResourceHandle, "one table");
_Static_assert((int)CUDA_ERROR_NOT_SUPPORTED == (int)cudaErrorNotSupported, "one table");

tarn_backend_result tn_cuda_driver_result(const struct tn_runtime_device *device, CUresult error)
{
    if (error == CUDA_SUCCESS) return TARN_BACKEND_RESULT_OK;
    const struct tn_cuda_driver *driver = tn_cuda_driver_of(device);
    const char *name = NULL;
    if (driver->get_error_name) driver->get_error_name(error, &name);
    return (tarn_backend_result){ tn_runtime_status_of((cudaError_t)error), (int)error, name };
}

/* --- the driver's functions -------------------------------------------------------------------- */

/* Writes the function's address to the pointer to a function that function_out points to. `version` is the CUDA version
 * that has the function, or 12000 for older ones. */
static void find_function_since(unsigned version, const char *name, void *function_out)
{
#if CUDART_VERSION >= 11030
    void *function = NULL;
#if CUDART_VERSION >= 12050
    enum cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
    cudaError_t error =
        cudaGetDriverEntryPointByVersion(name, &function, version, cudaEnableDefault, &found);
#elif CUDART_VERSION >= 12000
    enum cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
    cudaError_t error = cudaGetDriverEntryPoint(name, &function, cudaEnableDefault, &found);
#else
    cudaError_t error = cudaGetDriverEntryPoint(name, &function, cudaEnableDefault);
#endif
    /* The call also succeeds with NULL, if the driver is older than the function. */
    if (tn_runtime_result(error).status == TARN_STATUS_OK && function)
        memcpy(function_out, &function, sizeof function);
#else
    (void)name;
    (void)function_out;
#endif
#if CUDART_VERSION < 12050
    (void)version;
#endif
}

static void find_function(const char *name, void *function_out)
{
    find_function_since(12000, name, function_out);
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
    find_function("cuCtxGetCurrent", &driver_out->get_context);
    find_function_since(12050, "cuCtxRecordEvent", &driver_out->record_context);
}

/* --- the current device ------------------------------------------------------------------------ */

#if CUDART_VERSION >= 12000
static CUresult (*get_context_device)(CUdevice *device); /* NULL: the driver does not have it */
static struct tn_once get_context_device_once = TN_ONCE_INIT;

static void find_get_context_device(void)
{
    find_function("cuCtxGetDevice", &get_context_device);
}
#endif

/* The driver names the device of the thread's context faster: on an H100 in 12 to 36 ns, where cudaGetDevice takes 44
 * to 82. From CUDA 12 on cudaSetDevice makes the device's context current at once. So the two agree. A thread without a
 * context can ask the runtime alone. */
tarn_backend_result tn_runtime_find_current(int *device_out)
{
#if CUDART_VERSION >= 12000
    tn_once_call(&get_context_device_once, find_get_context_device);
    if (get_context_device && get_context_device(device_out) == CUDA_SUCCESS)
        return TARN_BACKEND_RESULT_OK;
#endif
    return tn_runtime_result(cudaGetDevice(device_out));
}

/* --- calls where another device is current ----------------------------------------------------- */

static bool has_context(const struct tn_cuda_driver *driver, int number)
{
#if CUDART_VERSION < 12000
    /* Setting a device does not create its context yet, so it does not matter. */
    (void)driver;
    (void)number;
    return true;
#else
    unsigned flags;
    int is_active = 0;
    return driver->get_context_state &&
           driver->get_context_state(number, &flags, &is_active) == CUDA_SUCCESS && is_active != 0;
#endif
}

struct thread_call {
    struct tn_runtime_call *call;
    tarn_backend_result result;
};

static void *thread_main(void *argument)
{
    struct thread_call *thread_call = argument;
    thread_call->result = tn_runtime_set_device_and_make(thread_call->call);
    return NULL;
}

static tarn_backend_result make_in_new_thread(struct tn_runtime_call *call)
{
    struct thread_call thread_call = { call, TARN_BACKEND_RESULT_OK };
    pthread_t thread;
    if (pthread_create(&thread, NULL, thread_main, &thread_call) != 0)
        return tn_backend_result(TARN_STATUS_OUT_OF_HOST_MEMORY);
    pthread_join(thread, NULL);
    return thread_call.result;
}

tarn_backend_result tn_runtime_make_elsewhere(struct tn_runtime_call *call, int current)
{
    bool is_bound_to_thread = call->stream == cudaStreamPerThread;
    if (is_bound_to_thread || has_context(tn_cuda_driver_of(call->device), current))
        return tn_runtime_make_and_set_back(call, current);
    return make_in_new_thread(call);
}
