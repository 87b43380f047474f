/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * tarn/cuda.h: the CUDA backend. Present when tarn was configured with TARN_BACKEND=CUDA.
 *
 * A tarn_stream is a cudaStream_t and a tarn_event is a cudaEvent_t, converted to void *; this
 * header needs no CUDA header. Memory comes from cudaMalloc, cudaHostAlloc or cudaMallocManaged, so
 * that what GPU-aware MPI and IPC expect of plain allocations holds. Ranges are there for DEVICE
 * memory, with CUDA 11.3 and newer, where the driver has virtual memory; what is mapped into them is
 * no plain allocation. Only the runtime library is linked, never the driver, whose functions the
 * runtime hands out: a program built so starts on a machine without one and gets NO_DEVICE.
 *
 * Special streams: NULL and cudaStreamLegacy are one. cudaStreamPerThread is the calling thread's; operations on it
 * are made with the backend's device current in that thread, so where another device without a context was current
 * they cost that device a context. Numbers of streams (identifies_streams) are there from CUDA 12 on.
 *
 * While a stream is captured into a graph, in whatever mode and by whatever thread:
 *
 *     opening, acquire, range_reserve,     succeed as ever and leave the capture whole: the calling thread's
 *     range_map, query_memory              capture mode is relaxed around the vendor's calls, by two calls of
 *                                          cudaThreadExchangeStreamCaptureMode, and then what it was
 *     release, range_unmap                 wait for the device, which CUDA refuses (a VENDOR_ERROR with code
 *                                          900), and the capture is spoilt
 *     all others                           as the vendor's call in the thread's own mode
 */
#ifndef TARN_CUDA_H
#define TARN_CUDA_H

#include "tarn/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Opens the CUDA backend on device number `device` (in the order of CUDA_VISIBLE_DEVICES), for
 * DEVICE, PINNED or SHARED memory. Creates the device's primary context if there is none yet, on no
 * other device. Close it with tarn_backend_close.
 * Errors: INVALID_ARGUMENT, NO_DEVICE, INVALID_DEVICE, NOT_SUPPORTED (kind HOST, or SHARED on a
 * device without managed memory), OUT_OF_MEMORY (no room for the context), OUT_OF_HOST_MEMORY,
 * VENDOR_ERROR.
 */
TARN_API tarn_status tarn_cuda_backend_open(int device, tarn_memory_kind kind,
                                            tarn_backend *backend_out);

#ifdef __cplusplus
}
#endif

#endif
