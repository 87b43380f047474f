/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* sim_vendor_cuda: what the tests over the simulated devices must know of CUDA. */

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "harness/claims.h"
#include "../sim_vendor.h"

#define ERROR(status, code)              \
    {                                    \
        SIM_STATUS_##status, code, #code \
    }

static const struct sim_vendor_error errors[] = {
    ERROR(OUT_OF_MEMORY, CUDA_ERROR_OUT_OF_MEMORY),
    ERROR(NO_DRIVER, CUDA_ERROR_NO_DEVICE),
    ERROR(DRIVER_TOO_OLD, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH),
    ERROR(NO_DEVICE, CUDA_ERROR_NO_DEVICE),
    ERROR(WRONG_DEVICE, CUDA_ERROR_INVALID_HANDLE),
    ERROR(UNLOADING, CUDA_ERROR_DEINITIALIZED),
    ERROR(DEVICE_LOST, CUDA_ERROR_ECC_UNCORRECTABLE),
    ERROR(CONTEXT_DESTROYED, CUDA_ERROR_CONTEXT_IS_DESTROYED),
    ERROR(UNKNOWN, CUDA_ERROR_UNKNOWN),
    { 0, 0, NULL },
};

static const char *const optional_calls[] = {
    /* The device is closed with or without it; a context whose number is not known is given back. */
    "cuDevicePrimaryCtxRelease",
    /* Without it a free that waits waits for the device. */
    "cuCtxRecordEvent",
    /* Without it the call is made all the same, and a capture may refuse it. */
    "cuThreadExchangeStreamCaptureMode",
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

/* Every operation begins by asking for the current context. */
static const struct sim_vendor_calls calls[] = {
    /* Which properties, and which ranges. */
    { "open",
      "cuCtxGetCurrent 1, cuDeviceGetAttribute 3, cuDeviceGetCount 1, cuDeviceGetName 1, cuDevicePrimaryCtxRetain 1, cuDeviceTotalMem 1, cuDriverGetVersion 1, cuInit 1, cuMemGetAllocationGranularity 1, cuThreadExchangeStreamCaptureMode 2" },
    { "create a pool", "none" },
    { "first allocation", "cuCtxGetCurrent 1, cuMemAlloc 1, cuThreadExchangeStreamCaptureMode 2" },
    { "a thousand hits", "none" },
    { "growth", "cuCtxGetCurrent 1, cuMemAlloc 1, cuThreadExchangeStreamCaptureMode 2" },
    { "frees that empty the pool", "none" },
    { "trim of one static pool", "cuCtxGetCurrent 1, cuCtxSynchronize 1, cuMemFree 1" },
    { "destroy a pool of one static pool", "cuCtxGetCurrent 1, cuCtxSynchronize 1, cuMemFree 1" },
    { "close", "cuDevicePrimaryCtxRelease 1" },

    { "ten allocations that pass through",
      "cuCtxGetCurrent 10, cuMemAlloc 10, cuThreadExchangeStreamCaptureMode 20" },
    { "ten frees that pass through", "cuCtxGetCurrent 10, cuCtxSynchronize 10, cuMemFree 10" },

    /* A pool's: one record and one wait hand over, and whether an older record is complete is asked
     * before. */
    { "first sight of a stream",
      "cuCtxGetCurrent 1, cuEventCreate 1, cuEventDestroy 1, cuEventRecord 1" },
    { "hits on streams that need no wait", "none" },
    { "hit that another stream freed",
      "cuCtxGetCurrent 3, cuEventCreate 1, cuEventRecord 1, cuStreamWaitEvent 1" },
    { "hit that another stream freed, on a third one",
      "cuCtxGetCurrent 2, cuEventQuery 1, cuGetErrorName 1, cuStreamWaitEvent 1" },
    { "hit that another stream freed, whose work is done", "cuCtxGetCurrent 1, cuEventQuery 1" },
    { "retire a stream on which nothing was freed", "none" },
    { "retire a stream", "cuCtxGetCurrent 2, cuEventQuery 1, cuEventRecord 1, cuGetErrorName 1" },
    { "hit that a retired stream freed",
      "cuCtxGetCurrent 2, cuEventQuery 1, cuGetErrorName 1, cuStreamWaitEvent 1" },
    { "free on a thread's stream that another wants",
      "cuCtxGetCurrent 2, cuEventCreate 1, cuEventRecord 1" },
    { "create a pool that identifies streams", "cuCtxGetCurrent 1, cuStreamGetId 1" },
    { "first free in a pool that identifies streams",
      "cuCtxGetCurrent 3, cuEventCreate 1, cuEventRecord 1, cuStreamGetId 1" },
    { "hit in a pool that identifies streams", "cuCtxGetCurrent 1, cuStreamGetId 1" },
    { "destroy a pool with an event",
      "cuCtxGetCurrent 2, cuCtxSynchronize 1, cuEventDestroy 1, cuMemFree 1" },

    { "get_properties", "none" },
    { "acquire", "cuCtxGetCurrent 1, cuMemAlloc 1, cuThreadExchangeStreamCaptureMode 2" },
    { "release", "cuCtxGetCurrent 1, cuCtxSynchronize 1, cuMemFree 1" },
    { "query_memory", "cuCtxGetCurrent 1, cuMemGetInfo 1, cuThreadExchangeStreamCaptureMode 2" },
    { "acquire pinned",
      "cuCtxGetCurrent 1, cuMemHostAlloc 1, cuThreadExchangeStreamCaptureMode 2" },
    { "release pinned", "cuCtxGetCurrent 1, cuCtxSynchronize 1, cuMemFreeHost 1" },
    { "query_memory pinned", "none" }, /* the host's, which the system tells */
    { "acquire shared",
      "cuCtxGetCurrent 1, cuMemAllocManaged 1, cuThreadExchangeStreamCaptureMode 2" },
    { "release shared", "cuCtxGetCurrent 1, cuCtxSynchronize 1, cuMemFree 1" },
    { "query_memory shared",
      "cuCtxGetCurrent 1, cuMemGetInfo 1, cuThreadExchangeStreamCaptureMode 2" },

    { "synchronize", "cuCtxGetCurrent 1, cuCtxSynchronize 1" },
    { "stream_create", "cuCtxGetCurrent 1, cuStreamCreate 1" },
    { "stream_check", "cuCtxGetCurrent 1, cuEventCreate 1, cuEventDestroy 1, cuEventRecord 1" },
    { "stream_check, the default stream", "none" },
    { "stream_id", "cuCtxGetCurrent 1, cuStreamGetId 1" },
    { "stream_synchronize", "cuCtxGetCurrent 1, cuStreamSynchronize 1" },
    { "stream_wait_event", "cuCtxGetCurrent 1, cuStreamWaitEvent 1" },
    { "stream_destroy", "cuCtxGetCurrent 1, cuStreamDestroy 1, cuStreamSynchronize 1" },
    { "event_create", "cuCtxGetCurrent 1, cuEventCreate 1" },
    { "event_record", "cuCtxGetCurrent 1, cuEventRecord 1" },
    { "event_record again", "cuCtxGetCurrent 1, cuEventRecord 1" },
    { "event_query, not ready", "cuCtxGetCurrent 1, cuEventQuery 1, cuGetErrorName 1" },
    { "event_query, complete", "cuCtxGetCurrent 1, cuEventQuery 1" },
    { "event_synchronize", "cuCtxGetCurrent 1, cuEventSynchronize 1" },
    { "event_record_device", "cuCtxGetCurrent 1, cuCtxRecordEvent 1" },
    { "event_destroy", "cuCtxGetCurrent 1, cuEventDestroy 1" },
    { "fill", "cuCtxGetCurrent 1, cuMemsetD8Async 1" },
    { "copy", "cuCtxGetCurrent 1, cuMemcpyAsync 1" },

    { "range_reserve",
      "cuCtxGetCurrent 1, cuMemAddressReserve 1, cuThreadExchangeStreamCaptureMode 2" },
    { "range_map",
      "cuCtxGetCurrent 1, cuMemCreate 1, cuMemMap 1, cuMemSetAccess 1, cuThreadExchangeStreamCaptureMode 2" },
    { "range_map_shareable",
      "cuCtxGetCurrent 1, cuMemCreate 1, cuMemMap 1, cuMemSetAccess 1, cuThreadExchangeStreamCaptureMode 2" },
    { "range_export",
      "cuCtxGetCurrent 1, cuMemExportToShareableHandle 1, cuThreadExchangeStreamCaptureMode 2" },
    { "range_unmap",
      "cuCtxGetCurrent 1, cuCtxSynchronize 1, cuMemRelease 1, cuMemUnmap 1, cuPointerGetAttribute 1" },
    { "range_unmap_idle",
      "cuCtxGetCurrent 1, cuMemRelease 1, cuMemUnmap 1, cuPointerGetAttribute 1" },
    { "range_release", "cuCtxGetCurrent 1, cuMemAddressFree 1" },

    /* In both cases the context is pushed and popped. */
    { "acquire, another device is current",
      "cuCtxGetCurrent 1, cuCtxPopCurrent 1, cuCtxPushCurrent 1, cuMemAlloc 1, cuThreadExchangeStreamCaptureMode 2" },
    { "release, another device is current",
      "cuCtxGetCurrent 1, cuCtxPopCurrent 1, cuCtxPushCurrent 1, cuCtxSynchronize 1, cuMemFree 1" },
    { "acquire, a device without context is current",
      "cuCtxGetCurrent 1, cuCtxPopCurrent 1, cuCtxPushCurrent 1, cuMemAlloc 1, cuThreadExchangeStreamCaptureMode 2" },
    { "release, a device without context is current",
      "cuCtxGetCurrent 1, cuCtxPopCurrent 1, cuCtxPushCurrent 1, cuCtxSynchronize 1, cuMemFree 1" },
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
