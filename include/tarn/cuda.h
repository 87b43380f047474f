/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * tarn/cuda.h: the CUDA backend. Present when tarn was configured with TARN_BACKEND=CUDA.
 *
 * A tarn_stream is a cudaStream_t and a tarn_event is a cudaEvent_t, converted to void *; this header needs no
 * CUDA header. Only the runtime library is linked, never the driver: a program starts on a machine without a
 * driver and gets NO_DEVICE.
 *  - Memory comes from cudaMalloc, cudaHostAlloc or cudaMallocManaged. So GPU-aware MPI and IPC find plain
 *    allocations.
 *  - Ranges exist for DEVICE memory, with CUDA 11.3 and newer, if the driver has virtual memory. Memory in
 *    ranges is no plain allocation.
 *  - Streams. NULL and cudaStreamLegacy are one. cudaStreamPerThread is the calling thread's; operations on it
 *    make the backend's device current in that thread for a moment, so a device that was current without a
 *    context gets one. Streams have numbers (identifies_streams) from CUDA 12 on.
 *
 * While a stream is captured into a graph, in any mode and by any thread:
 *
 *     opening, acquire, range_reserve,     succeed, and the capture stays valid: two calls of
 *     range_map, query_memory              cudaThreadExchangeStreamCaptureMode relax the calling thread's
 *                                          capture mode meanwhile
 *     release, range_unmap                 wait for the device, which CUDA refuses (VENDOR_ERROR, code
 *                                          900); the capture is invalid then
 *     all others                           do what the vendor's call does in the thread's mode
 */
#ifndef TARN_CUDA_H
#define TARN_CUDA_H

#include "tarn/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Opens the CUDA backend on device number `device`, in the order of CUDA_VISIBLE_DEVICES, for DEVICE, PINNED
 * or SHARED memory. Creates the primary context of that device, and of no other, if there is none yet. Close
 * it with tarn_backend_close.
 * Status: those of tarn_backend_open. NOT_SUPPORTED: kind HOST; or SHARED on a device without managed memory.
 */
TARN_API tarn_status tarn_cuda_backend_open(int device, tarn_memory_kind kind,
                                            tarn_backend *backend_out);

#ifdef __cplusplus
}
#endif

#endif
