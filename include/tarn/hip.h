/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * tarn/hip.h: the HIP backend. Present when tarn was configured with TARN_BACKEND=HIP or ALL.
 *
 * It calls AMD's runtime, libamdhip64, which it loads when a backend is first opened, or finds in the program: the library
 * needs no SDK to be built. A tarn_stream is a hipStream_t and a tarn_event is a hipEvent_t, converted to void *; this
 * header needs no HIP header. A program starts on a machine without a runtime or a device and gets NO_DEVICE. The backend
 * has run on NVIDIA devices, over a HIP runtime that is made of CUDA's, and on simulated ones, on no AMD device yet.
 *  - Memory comes from hipMalloc, hipHostMalloc or hipMallocManaged. So GPU-aware MPI and IPC find plain
 *    allocations.
 *  - Versions: HIP 5.2 to 7.2, libamdhip64.so.5 to .7: the one that the program has, else the newest there is.
 *  - Errors. The runtime keeps an error for hipGetLastError. One of tarn's calls is taken out at once. An earlier one of
 *    the program's is lost with it, since the runtime keeps only one and nobody can put it back; before HIP 7 it is lost
 *    by a call that succeeds, too.
 *  - Ranges exist from HIP 6.1 on, if the runtime has them.
 *  - Streams. NULL and hipStreamLegacy are one from HIP 7 on. hipStreamPerThread is the calling thread's.
 *    Streams have numbers (identifies_streams) from HIP 7.2 on.
 *  - HIP programs on NVIDIA's platform are CUDA programs: tarn/cuda.h serves them.
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
