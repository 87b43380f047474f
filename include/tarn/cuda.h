/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * tarn/cuda.h: the CUDA backend. Present when tarn was configured with TARN_BACKEND=CUDA or ALL.
 *
 * It calls the driver, libcuda.so.1, which it loads when a backend is first opened: the library needs no CUDA toolkit,
 * neither to be built nor to run. Without a driver a program starts and gets NO_DEVICE. Any version of CUDA's runtime
 * may be in the program, or none: a tarn_stream is a cudaStream_t, which is a CUstream, and a tarn_event is a
 * cudaEvent_t, a CUevent, converted to void *. This header needs no CUDA header.
 *  - Context. All calls are made in the primary context of the device, that of cudaSetDevice, also while another
 *    context is current, such as a green one. Open backends keep it; the last of all who do ends it. After a call the
 *    thread has the context that it had, or none. A program that creates contexts by cuCtxCreate and uses the memory
 *    there has to enable access between the two. cudaDeviceReset ends the context: open another backend then.
 *  - Errors. The runtime's last error is not touched.
 *  - Memory comes from cuMemAlloc, cuMemHostAlloc or cuMemAllocManaged, as that of cudaMalloc does. So GPU-aware MPI
 *    and IPC find plain allocations.
 *  - Ranges exist for DEVICE memory, if the driver and the device have virtual memory: from CUDA 11.3 on. Memory in
 *    ranges is no plain allocation. Where the device can, it is created for GPUDirect RDMA.
 *  - Streams. NULL and cudaStreamLegacy are one. cudaStreamPerThread is the calling thread's. Streams have numbers
 *    (identifies_streams) with a driver of CUDA 12 or newer.
 *  - The current device is that of the thread's current context; without one it is device 0. With CUDA 11's runtime
 *    cudaSetDevice makes no context current before the thread's next call of the runtime.
 *
 * While a stream is captured into a graph, in any mode and by any thread:
 *
 *     opening, acquire, range_reserve,     succeed, and the capture stays valid: two calls of
 *     range_map, query_memory              cuThreadExchangeStreamCaptureMode relax the calling thread's
 *                                          capture mode meanwhile
 *     release, range_unmap                 wait for the device, which CUDA refuses (VENDOR_ERROR, code
 *                                          900); the capture is invalid then
 *     range_unmap_idle                     succeeds, and the capture stays valid
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
