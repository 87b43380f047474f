/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * tarn/hip.h: the HIP backend. Present when tarn was configured with TARN_BACKEND=HIP.
 *
 * A tarn_stream is a hipStream_t and a tarn_event is a hipEvent_t, converted to void *; this header needs no
 * HIP header. A program starts on a machine without a device and gets NO_DEVICE. The backend has run on NVIDIA
 * devices and on simulated ones, on no AMD device yet.
 *  - Memory comes from hipMalloc, hipHostMalloc or hipMallocManaged. So GPU-aware MPI and IPC find plain
 *    allocations.
 *  - Versions: HIP 5.2 to 7.2. The major version must be that of the build, because each one of libamdhip64
 *    has another binary interface and another name.
 *  - Ranges exist from HIP 6.1 on, if the driver has them.
 *  - Streams. NULL and hipStreamLegacy, if HIP has it, are one. hipStreamPerThread is the calling thread's.
 *    Streams have numbers (identifies_streams) from HIP 7.2 on.
 *
 * While a stream is captured into a graph, in any mode and by any thread:
 *
 *     opening, acquire, range_reserve,     succeed, and the capture stays valid: two calls of
 *     range_map, query_memory              hipThreadExchangeStreamCaptureMode relax the calling thread's
 *                                          capture mode meanwhile; but HIP 7 may refuse SHARED
 *                                          memory in any mode
 *     release, range_unmap                 wait for the device, which HIP may refuse (VENDOR_ERROR, code
 *                                          900); the capture is invalid then
 *     all others                           do what the vendor's call does in the thread's mode
 *
 * TARN_HIP_PLATFORM=nvidia builds this backend over CUDA 13, with HIP's own headers for NVIDIA. It is for
 * trying HIP programs on such a machine; TARN_BACKEND=CUDA is the better choice there.
 */
#ifndef TARN_HIP_H
#define TARN_HIP_H

#include "tarn/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Opens the HIP backend on device number `device`, as hipSetDevice counts, for DEVICE, PINNED or SHARED
 * memory. That order is of ROCR_VISIBLE_DEVICES and HIP_VISIBLE_DEVICES; a card may be several devices. Close
 * it with tarn_backend_close.
 * Status: those of tarn_backend_open. NOT_SUPPORTED: kind HOST; or SHARED on a device without managed memory.
 */
TARN_API tarn_status tarn_hip_backend_open(int device, tarn_memory_kind kind,
                                           tarn_backend *backend_out);

#ifdef __cplusplus
}
#endif

#endif
