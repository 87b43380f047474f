/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* sim_vendor_hip: what the tests over the simulated devices must know of HIP. */

#include <hip/hip_runtime_api.h>

#include "harness/claims.h"
#include "../sim_vendor.h"

#define ERROR(status, code)              \
    {                                    \
        SIM_STATUS_##status, code, #code \
    }

static const struct sim_vendor_error errors[] = {
    ERROR(OUT_OF_MEMORY, hipErrorOutOfMemory),
    ERROR(NO_DRIVER, hipErrorNoDevice),
    ERROR(DRIVER_TOO_OLD, hipErrorInsufficientDriver),
    ERROR(NO_DEVICE, hipErrorNoDevice),
    ERROR(WRONG_DEVICE, hipErrorInvalidHandle),
    ERROR(UNLOADING, hipErrorDeinitialized),
    ERROR(DEVICE_LOST, hipErrorECCNotCorrectable),
    ERROR(CONTEXT_DESTROYED, hipErrorContextIsDestroyed),
    ERROR(UNKNOWN, hipErrorUnknown),
    { 0, 0, NULL },
};

static const char *const optional_calls[] = {
    /* Sets the thread's device back, too, which may fail when the call itself went well. */
    "hipSetDevice",
    /* Without it the call is made all the same, and a capture may refuse it. */
    "hipThreadExchangeStreamCaptureMode",
    /* Memory that can be shared is tried out, and whatever goes wrong says that there is none. */
    "open: hipMemCreate",
    "open: hipMemExportToShareableHandle",
    "open: hipMemRelease",
    NULL,
};

static const char *take_last_error(void)
{
    int count = 0;
    hipError_t error = hipGetLastError();
    if (error == hipSuccess || hipGetDeviceCount(&count) != hipSuccess) return NULL;
    return hipGetErrorName(error);
}

static void set_current_device(int device)
{
    assert_int_equal(hipSetDevice(device), hipSuccess);
}

static int current_device(void)
{
    int device = -1;
    assert_int_equal(hipGetDevice(&device), hipSuccess);
    return device;
}

/* Every operation begins by asking for the current device. */
static const struct sim_vendor_calls calls[] = {
    { "open",
      "hipDeviceGetAttribute 1, hipDeviceGetName 1, hipDeviceTotalMem 1, hipDriverGetVersion 1, hipGetDevice 1, hipGetDeviceCount 1, hipMemCreate 1, hipMemExportToShareableHandle 1, hipMemGetAllocationGranularity 1, hipMemRelease 1, hipRuntimeGetVersion 1, hipThreadExchangeStreamCaptureMode 2" },
    { "create a pool", "none" },
    { "first allocation", "hipGetDevice 1, hipMalloc 1, hipThreadExchangeStreamCaptureMode 2" },
    { "a thousand hits", "none" },
    { "growth", "hipGetDevice 1, hipMalloc 1, hipThreadExchangeStreamCaptureMode 2" },
    { "frees that empty the pool", "none" },
    { "trim of one static pool", "hipDeviceSynchronize 1, hipFree 1, hipGetDevice 1" },
    { "destroy a pool of one static pool", "hipDeviceSynchronize 1, hipFree 1, hipGetDevice 1" },
    { "close", "none" },

    { "ten allocations that pass through",
      "hipGetDevice 10, hipMalloc 10, hipThreadExchangeStreamCaptureMode 20" },
    { "ten frees that pass through", "hipDeviceSynchronize 10, hipFree 10, hipGetDevice 10" },

    /* A pool's: one record and one wait hand over, and whether an older record is complete is asked
     * before. */
    { "first sight of a stream",
      "hipEventCreateWithFlags 1, hipEventDestroy 1, hipEventRecord 1, hipGetDevice 1" },
    { "hits on streams that need no wait", "none" },
    { "hit that another stream freed",
      "hipEventCreateWithFlags 1, hipEventRecord 1, hipGetDevice 3, hipStreamWaitEvent 1" },
    { "hit that another stream freed, on a third one",
      "hipEventQuery 1, hipGetDevice 2, hipGetErrorName 1, hipGetLastError 1, hipStreamWaitEvent 1" },
    { "hit that another stream freed, whose work is done", "hipEventQuery 1, hipGetDevice 1" },
    { "retire a stream on which nothing was freed", "none" },
    { "retire a stream",
      "hipEventQuery 1, hipEventRecord 1, hipGetDevice 2, hipGetErrorName 1, hipGetLastError 1" },
    { "hit that a retired stream freed",
      "hipEventQuery 1, hipGetDevice 2, hipGetErrorName 1, hipGetLastError 1, hipStreamWaitEvent 1" },
    { "free on a thread's stream that another wants",
      "hipEventCreateWithFlags 1, hipEventRecord 1, hipGetDevice 2" },
    { "create a pool that identifies streams", "hipGetDevice 1, hipStreamGetId 1" },
    { "first free in a pool that identifies streams",
      "hipEventCreateWithFlags 1, hipEventRecord 1, hipGetDevice 3, hipStreamGetId 1" },
    { "hit in a pool that identifies streams", "hipGetDevice 1, hipStreamGetId 1" },
    { "destroy a pool with an event",
      "hipDeviceSynchronize 1, hipEventDestroy 1, hipFree 1, hipGetDevice 2" },

    { "get_properties", "none" },
    { "acquire", "hipGetDevice 1, hipMalloc 1, hipThreadExchangeStreamCaptureMode 2" },
    { "release", "hipDeviceSynchronize 1, hipFree 1, hipGetDevice 1" },
    { "query_memory", "hipGetDevice 1, hipMemGetInfo 1, hipThreadExchangeStreamCaptureMode 2" },
    { "acquire pinned", "hipGetDevice 1, hipHostMalloc 1, hipThreadExchangeStreamCaptureMode 2" },
    { "release pinned", "hipDeviceSynchronize 1, hipGetDevice 1, hipHostFree 1" },
    { "query_memory pinned", "none" },
    { "acquire shared",
      "hipGetDevice 1, hipMallocManaged 1, hipThreadExchangeStreamCaptureMode 2" },
    { "release shared", "hipDeviceSynchronize 1, hipFree 1, hipGetDevice 1" },
    { "query_memory shared",
      "hipGetDevice 1, hipMemGetInfo 1, hipThreadExchangeStreamCaptureMode 2" },

    { "synchronize", "hipDeviceSynchronize 1, hipGetDevice 1" },
    { "stream_create", "hipGetDevice 1, hipStreamCreateWithFlags 1" },
    { "stream_check", "hipEventCreateWithFlags 1, hipEventDestroy 1, hipEventRecord 1, "
                      "hipGetDevice 1" },
    { "stream_check, the default stream", "none" },
    { "stream_id", "hipGetDevice 1, hipStreamGetId 1" },
    { "stream_synchronize", "hipGetDevice 1, hipStreamSynchronize 1" },
    { "stream_wait_event", "hipGetDevice 1, hipStreamWaitEvent 1" },
    { "stream_destroy", "hipGetDevice 1, hipStreamDestroy 1, hipStreamSynchronize 1" },
    { "event_create", "hipEventCreateWithFlags 1, hipGetDevice 1" },
    { "event_record", "hipEventRecord 1, hipGetDevice 1" },
    { "event_record again", "hipEventRecord 1, hipGetDevice 1" },
    /* The last error is taken out, since NOT_READY would stay in it. */
    { "event_query, not ready",
      "hipEventQuery 1, hipGetDevice 1, hipGetErrorName 1, hipGetLastError 1" },
    { "event_query, complete", "hipEventQuery 1, hipGetDevice 1" },
    { "event_synchronize", "hipEventSynchronize 1, hipGetDevice 1" },
    { "event_destroy", "hipEventDestroy 1, hipGetDevice 1" },
    { "fill", "hipGetDevice 1, hipMemsetD8Async 1" },
    { "copy", "hipGetDevice 1, hipMemcpyAsync 1" },

    { "range_reserve",
      "hipGetDevice 1, hipMemAddressReserve 1, hipThreadExchangeStreamCaptureMode 2" },
    { "range_map", "hipGetDevice 1, hipMemCreate 1, hipMemMap 1, hipMemSetAccess 1, "
                   "hipThreadExchangeStreamCaptureMode 2" },
    { "range_map_shareable", "hipGetDevice 1, hipMemCreate 1, hipMemMap 1, hipMemSetAccess 1, "
                             "hipThreadExchangeStreamCaptureMode 2" },
    { "range_export",
      "hipGetDevice 1, hipMemExportToShareableHandle 1, hipThreadExchangeStreamCaptureMode 2" },
    { "range_unmap", "hipDeviceSynchronize 1, hipGetDevice 1, hipMemRelease 1, hipMemUnmap 1, "
                     "hipPointerGetAttribute 1" },
    { "range_release", "hipGetDevice 1, hipMemAddressFree 1" },

    { "acquire, another device is current",
      "hipGetDevice 1, hipMalloc 1, hipSetDevice 2, hipThreadExchangeStreamCaptureMode 2" },
    { "release, another device is current",
      "hipDeviceSynchronize 1, hipFree 1, hipGetDevice 1, hipSetDevice 2" },
    { "acquire, a device without context is current",
      "hipGetDevice 1, hipMalloc 1, hipSetDevice 2, hipThreadExchangeStreamCaptureMode 2" },
    { "release, a device without context is current",
      "hipDeviceSynchronize 1, hipFree 1, hipGetDevice 1, hipSetDevice 2" },
    { NULL, NULL },
};

const struct sim_vendor sim_vendor = {
    .shares = true,
    .synchronizes = true,
    .name = "hip",
    .errors = errors,
    .optional_calls = optional_calls,
    .calls = calls,
    .take_last_error = take_last_error,
    .set_current_device = set_current_device,
    .current_device = current_device,
};
