/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* sim_vendor_cuda: what the tests over the simulated devices must know of CUDA. */

#include <cuda_runtime_api.h>

#include "harness/claims.h"
#include "../sim_vendor.h"

#define ERROR(status, runtime, driver)                  \
    {                                                   \
        SIM_STATUS_##status, runtime, #runtime, #driver \
    }

static const struct sim_vendor_error errors[] = {
    ERROR(OUT_OF_MEMORY, cudaErrorMemoryAllocation, CUDA_ERROR_OUT_OF_MEMORY),
    ERROR(NO_DRIVER, cudaErrorInsufficientDriver, ),
    ERROR(DRIVER_TOO_OLD, cudaErrorInsufficientDriver, ),
    ERROR(NO_DEVICE, cudaErrorNoDevice, CUDA_ERROR_NO_DEVICE),
    ERROR(WRONG_DEVICE, cudaErrorInvalidResourceHandle, CUDA_ERROR_INVALID_HANDLE),
    ERROR(UNLOADING, cudaErrorCudartUnloading, CUDA_ERROR_DEINITIALIZED),
    ERROR(DEVICE_LOST, cudaErrorECCUncorrectable, CUDA_ERROR_ECC_UNCORRECTABLE),
    ERROR(CONTEXT_DESTROYED, cudaErrorContextIsDestroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED),
    ERROR(UNKNOWN, cudaErrorUnknown, CUDA_ERROR_UNKNOWN),
    { 0, 0, NULL, NULL },
};

static const char *const optional_calls[] = {
    /* Without the driver's functions there are no ranges, and other devices count as without
     * context. */
    "cudaGetDriverEntryPointByVersion",
    "cuDevicePrimaryCtxGetState",
    /* The runtime tells it, too. */
    "cuCtxGetDevice",
    /* Without them a free that waits waits for the device. */
    "cuCtxGetCurrent",
    "cuCtxRecordEvent",
    /* Sets the thread's device back, too, which may fail when the call itself went well. */
    "cudaSetDevice",
    /* Without it the call is made all the same, and a capture may refuse it. */
    "cudaThreadExchangeStreamCaptureMode",
    NULL,
};

static const char *take_last_error(void)
{
    cudaError_t error = cudaGetLastError();
    if (error == cudaSuccess || error == cudaErrorInsufficientDriver) return NULL;
    return cudaGetErrorName(error);
}

static void set_current_device(int device)
{
    assert_int_equal(cudaSetDevice(device), cudaSuccess);
}

static int current_device(void)
{
    int device = -1;
    assert_int_equal(cudaGetDevice(&device), cudaSuccess);
    return device;
}

/* Every operation begins by asking for the current device. */
static const struct sim_vendor_calls calls[] = {
    /* The driver's functions are asked for one by one; the free of NULL makes the context. */
    { "open",
      "cuDeviceGetAttribute 2, cuMemGetAllocationGranularity 1, cudaDriverGetVersion 1, cudaFree "
      "1, cudaGetDevice 2, cudaGetDeviceCount 1, cudaGetDeviceProperties 1, "
      "cudaGetDriverEntryPointByVersion 15, cudaRuntimeGetVersion 1, "
      "cudaThreadExchangeStreamCaptureMode 2" },
    { "create a pool", "none" },
    { "first allocation", "cudaGetDevice 1, cudaMalloc 1, cudaThreadExchangeStreamCaptureMode 2" },
    { "a thousand hits", "none" },
    { "growth", "cudaGetDevice 1, cudaMalloc 1, cudaThreadExchangeStreamCaptureMode 2" },
    { "frees that empty the pool", "none" },
    { "trim of one static pool", "cudaDeviceSynchronize 1, cudaFree 1, cudaGetDevice 1" },
    { "destroy a pool of one static pool", "cudaDeviceSynchronize 1, cudaFree 1, cudaGetDevice 1" },
    { "close", "none" },

    { "ten allocations that pass through",
      "cudaGetDevice 10, cudaMalloc 10, cudaThreadExchangeStreamCaptureMode 20" },
    { "ten frees that pass through", "cudaDeviceSynchronize 10, cudaFree 10, cudaGetDevice 10" },

    /* A pool's: one record and one wait hand over, and whether an older record is complete is asked
     * before. */
    { "first sight of a stream",
      "cudaEventCreateWithFlags 1, cudaEventDestroy 1, cudaEventRecord 1, cudaGetDevice 1" },
    { "hits on streams that need no wait", "none" },
    { "hit that another stream freed",
      "cudaEventCreateWithFlags 1, cudaEventRecord 1, cudaGetDevice 3, cudaStreamWaitEvent 1" },
    { "hit that another stream freed, on a third one",
      "cudaEventQuery 1, cudaGetDevice 2, cudaGetErrorName 1, cudaGetLastError 1, cudaStreamWaitEvent 1" },
    { "hit that another stream freed, whose work is done", "cudaEventQuery 1, cudaGetDevice 1" },
    { "retire a stream on which nothing was freed", "none" },
    { "retire a stream",
      "cudaEventQuery 1, cudaEventRecord 1, cudaGetDevice 2, cudaGetErrorName 1, cudaGetLastError 1" },
    { "hit that a retired stream freed",
      "cudaEventQuery 1, cudaGetDevice 2, cudaGetErrorName 1, cudaGetLastError 1, cudaStreamWaitEvent 1" },
    { "free on a thread's stream that another wants",
      "cudaEventCreateWithFlags 1, cudaEventRecord 1, cudaGetDevice 2" },
    { "create a pool that identifies streams", "cudaGetDevice 1, cudaStreamGetId 1" },
    { "first free in a pool that identifies streams",
      "cudaEventCreateWithFlags 1, cudaEventRecord 1, cudaGetDevice 3, cudaStreamGetId 1" },
    { "hit in a pool that identifies streams", "cudaGetDevice 1, cudaStreamGetId 1" },
    { "destroy a pool with an event",
      "cudaDeviceSynchronize 1, cudaEventDestroy 1, cudaFree 1, cudaGetDevice 2" },

    { "get_properties", "none" },
    { "acquire", "cudaGetDevice 1, cudaMalloc 1, cudaThreadExchangeStreamCaptureMode 2" },
    { "release", "cudaDeviceSynchronize 1, cudaFree 1, cudaGetDevice 1" },
    { "query_memory", "cudaGetDevice 1, cudaMemGetInfo 1, cudaThreadExchangeStreamCaptureMode 2" },
    { "acquire pinned", "cudaGetDevice 1, cudaHostAlloc 1, cudaThreadExchangeStreamCaptureMode 2" },
    { "release pinned", "cudaDeviceSynchronize 1, cudaFreeHost 1, cudaGetDevice 1" },
    { "query_memory pinned", "none" }, /* the host's, which the system tells */
    { "acquire shared",
      "cudaGetDevice 1, cudaMallocManaged 1, cudaThreadExchangeStreamCaptureMode 2" },
    { "release shared", "cudaDeviceSynchronize 1, cudaFree 1, cudaGetDevice 1" },
    { "query_memory shared",
      "cudaGetDevice 1, cudaMemGetInfo 1, cudaThreadExchangeStreamCaptureMode 2" },

    { "synchronize", "cudaDeviceSynchronize 1, cudaGetDevice 1" },
    { "stream_create", "cudaGetDevice 1, cudaStreamCreateWithFlags 1" },
    { "stream_check", "cudaEventCreateWithFlags 1, cudaEventDestroy 1, cudaEventRecord 1, "
                      "cudaGetDevice 1" },
    { "stream_check, the default stream", "none" },
    { "stream_id", "cudaGetDevice 1, cudaStreamGetId 1" },
    { "stream_synchronize", "cudaGetDevice 1, cudaStreamSynchronize 1" },
    { "stream_wait_event", "cudaGetDevice 1, cudaStreamWaitEvent 1" },
    { "stream_destroy", "cudaGetDevice 1, cudaStreamDestroy 1, cudaStreamSynchronize 1" },
    { "event_create", "cudaEventCreateWithFlags 1, cudaGetDevice 1" },
    { "event_record", "cudaEventRecord 1, cudaGetDevice 1" },
    { "event_record again", "cudaEventRecord 1, cudaGetDevice 1" },
    /* The last error is taken out, since NOT_READY would stay in it. */
    { "event_query, not ready",
      "cudaEventQuery 1, cudaGetDevice 1, cudaGetErrorName 1, cudaGetLastError 1" },
    { "event_query, complete", "cudaEventQuery 1, cudaGetDevice 1" },
    { "event_synchronize", "cudaEventSynchronize 1, cudaGetDevice 1" },
    { "event_record_device", "cuCtxGetCurrent 1, cuCtxRecordEvent 1, cudaGetDevice 1" },
    { "event_destroy", "cudaEventDestroy 1, cudaGetDevice 1" },
    { "fill", "cudaGetDevice 1, cudaMemsetAsync 1" },
    { "copy", "cudaGetDevice 1, cudaMemcpyAsync 1" },

    { "range_reserve",
      "cuMemAddressReserve 1, cudaGetDevice 1, cudaThreadExchangeStreamCaptureMode 2" },
    { "range_map", "cuMemCreate 1, cuMemMap 1, cuMemSetAccess 1, cudaGetDevice 1, "
                   "cudaThreadExchangeStreamCaptureMode 2" },
    { "range_map_shareable", "cuMemCreate 1, cuMemMap 1, cuMemSetAccess 1, cudaGetDevice 1, "
                             "cudaThreadExchangeStreamCaptureMode 2" },
    { "range_export",
      "cuMemExportToShareableHandle 1, cudaGetDevice 1, cudaThreadExchangeStreamCaptureMode 2" },
    { "range_unmap",
      "cuMemRelease 1, cuMemUnmap 1, cuPointerGetAttribute 1, cudaDeviceSynchronize 1, "
      "cudaGetDevice 1" },
    { "range_release", "cuMemAddressFree 1, cudaGetDevice 1" },

    /* cuda_status.c describes the two cases. */
    { "acquire, another device is current",
      "cuDevicePrimaryCtxGetState 1, cudaGetDevice 1, cudaMalloc 1, cudaSetDevice 2, "
      "cudaThreadExchangeStreamCaptureMode 2" },
    { "release, another device is current",
      "cuDevicePrimaryCtxGetState 1, cudaDeviceSynchronize 1, cudaFree 1, cudaGetDevice 1, "
      "cudaSetDevice 2" },
    { "acquire, a device without context is current",
      "cuDevicePrimaryCtxGetState 1, cudaGetDevice 1, cudaMalloc 1, cudaSetDevice 1, "
      "cudaThreadExchangeStreamCaptureMode 2" },
    { "release, a device without context is current",
      "cuDevicePrimaryCtxGetState 1, cudaDeviceSynchronize 1, cudaFree 1, cudaGetDevice 1, "
      "cudaSetDevice 1" },
    { NULL, NULL },
};

const struct sim_vendor sim_vendor = {
    .shares = true,
    .synchronizes = true,
    .name = "cuda",
    .errors = errors,
    .optional_calls = optional_calls,
    .calls = calls,
    .take_last_error = take_last_error,
    .set_current_device = set_current_device,
    .current_device = current_device,
};
