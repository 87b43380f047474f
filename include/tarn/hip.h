/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * tarn/hip.h: the HIP backend. Present when tarn was configured with TARN_BACKEND=HIP.
 *
 * A tarn_stream is a hipStream_t and a tarn_event is a hipEvent_t, converted to void *; this header
 * needs no HIP header. Memory comes from hipMalloc, hipHostMalloc or hipMallocManaged, so that what
 * GPU-aware MPI and IPC expect of plain allocations holds. A program built so starts on a machine
 * without a device and gets NO_DEVICE.
 *
 * HIP 5.2 to 7.2, whose major version must be that of the build: libamdhip64 breaks its binary
 * interface, and changes its name, with each. Ranges are there from HIP 6.1 on, where the driver has
 * them.
 *
 * Special streams: hipStreamPerThread is the calling thread's. NULL and hipStreamLegacy, where HIP has it, are one.
 * Numbers of streams (identifies_streams) are there from HIP 7.2 on.
 *
 * While a stream is captured into a graph, in whatever mode and by whatever thread:
 *
 *     opening, acquire, range_reserve,     succeed as ever and leave the capture whole: the calling thread's
 *     range_map, query_memory              capture mode is relaxed around the vendor's calls, by two calls of
 *                                          hipThreadExchangeStreamCaptureMode, and then what it was; but HIP 7
 *                                          may refuse SHARED memory in any mode
 *     release, range_unmap                 wait for the device, which HIP may refuse (a VENDOR_ERROR with
 *                                          code 900), and the capture is spoilt
 *     all others                           as the vendor's call in the thread's own mode
 *
 * TARN_HIP_PLATFORM=nvidia builds the same backend over CUDA 13 with HIP's own headers for NVIDIA. It
 * is there to try HIP programs on such a machine; TARN_BACKEND=CUDA is the better one to use there.
 */
#ifndef TARN_HIP_H
#define TARN_HIP_H

#include "tarn/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Opens the HIP backend on device number `device` (as hipSetDevice counts: in the order of
 * ROCR_VISIBLE_DEVICES and HIP_VISIBLE_DEVICES, and a card may be several devices), for DEVICE,
 * PINNED or SHARED memory. Close it with tarn_backend_close.
 * Errors: INVALID_ARGUMENT, NO_DEVICE, INVALID_DEVICE, NOT_SUPPORTED (kind HOST, or SHARED on a
 * device without managed memory), OUT_OF_MEMORY, OUT_OF_HOST_MEMORY, VENDOR_ERROR.
 */
TARN_API tarn_status tarn_hip_backend_open(int device, tarn_memory_kind kind,
                                           tarn_backend *backend_out);

#ifdef __cplusplus
}
#endif

#endif
