/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* sim_calls_nvidia: which calls of CUDA each step makes, where HIP is built over it. The driver's
 * functions are asked for by each call for ranges. */
#include "sim_hip_calls.h"

/* Every operation begins by asking for the current device. */
const struct sim_vendor_calls sim_hip_calls[] = {
    { "open",
      "cuDeviceGetAttribute 1, cuMemCreate 1, cuMemExportToShareableHandle 1, "
      "cuMemGetAllocationGranularity 1, cuMemRelease 1, cudaDriverGetVersion 1, cudaFree 1, "
      "cudaGetDevice 2, cudaGetDeviceCount 1, cudaGetDeviceProperties 1, "
      "cudaGetDriverEntryPointByVersion 5, cudaRuntimeGetVersion 1, "
      "cudaThreadExchangeStreamCaptureMode 4" },
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
    { "query_memory pinned", "none" },
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
    { "event_destroy", "cudaEventDestroy 1, cudaGetDevice 1" },
    { "fill", "cudaGetDevice 1, cudaMemsetAsync 1" },
    { "copy", "cudaGetDevice 1, cudaMemcpyAsync 1" },

    { "range_reserve",
      "cuMemAddressReserve 1, cudaGetDevice 1, cudaGetDriverEntryPointByVersion 1, "
      "cudaThreadExchangeStreamCaptureMode 2" },
    { "range_map", "cuMemCreate 1, cuMemMap 1, cuMemSetAccess 1, cudaGetDevice 1, "
                   "cudaGetDriverEntryPointByVersion 3, cudaThreadExchangeStreamCaptureMode 2" },
    { "range_map_shareable",
      "cuMemCreate 1, cuMemMap 1, cuMemSetAccess 1, cudaGetDevice 1, "
      "cudaGetDriverEntryPointByVersion 3, cudaThreadExchangeStreamCaptureMode 2" },
    { "range_export", "cuMemExportToShareableHandle 1, cudaGetDevice 1, "
                      "cudaGetDriverEntryPointByVersion 1, cudaThreadExchangeStreamCaptureMode 2" },
    { "range_unmap", "cuMemRelease 1, cuMemUnmap 1, cudaDeviceSynchronize 1, cudaGetDevice 1, "
                     "cudaGetDriverEntryPointByVersion 2, cudaPointerGetAttributes 1" },
    { "range_release", "cuMemAddressFree 1, cudaGetDevice 1, cudaGetDriverEntryPointByVersion 1" },

    { "acquire, another device is current",
      "cudaGetDevice 1, cudaMalloc 1, cudaSetDevice 2, cudaThreadExchangeStreamCaptureMode 2" },
    { "release, another device is current",
      "cudaDeviceSynchronize 1, cudaFree 1, cudaGetDevice 1, cudaSetDevice 2" },
    { "acquire, a device without context is current",
      "cudaGetDevice 1, cudaMalloc 1, cudaSetDevice 2, cudaThreadExchangeStreamCaptureMode 2" },
    { "release, a device without context is current",
      "cudaDeviceSynchronize 1, cudaFree 1, cudaGetDevice 1, cudaSetDevice 2" },
    { NULL, NULL },
};
