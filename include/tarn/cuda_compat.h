/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * tarn/cuda_compat.h: tarn by calls that look like CUDA's, for programs that move from cudaMalloc. Needs the header of
 * CUDA's runtime, and its library. The same CHECK macro serves both:
 *
 *     #include <tarn/cuda_compat.h>
 *
 *     double *field;
 *     CHECK(tarn_cudaMalloc(&field, 1000 * sizeof *field));      in C: (void **)&field
 *     kernel<<<blocks, threads, 0, stream>>>(field);
 *     CHECK(tarn_cudaFree(field));
 *
 *     tarn_cudaMalloc(&p, n)             cudaMalloc          memory that waits for nothing
 *     tarn_cudaFree(p)                   cudaFree            reused after all work so far, on any stream
 *     tarn_cudaMallocAsync(&p, n, s)     cudaMallocAsync     for use on stream s
 *     tarn_cudaFreeAsync(p, s)           cudaFreeAsync       at once free for s; others wait for s
 *     tarn_cudaMallocManaged(&p, n)      cudaMallocManaged   attached globally
 *     tarn_cudaHostMalloc(&p, n)         cudaMallocHost      page-locked memory of the host
 *     tarn_cudaHostFree(p)               cudaFreeHost
 *     tarn_cudaError(status)             the error for a status of another call of tarn
 *
 *  - Memory is that of the process-wide pools, so tarn_free and tarn_pool_find take these addresses, too. The environment
 *    sets their options.
 *  - tarn_cudaFree does not stop the host where CUDA has an event for all streams, from 12.5 on. So it is no wait for
 *    the device: a program that reads results after cudaFree without a wait of its own must now wait itself.
 *    tarn_cudaFreeAsync costs less, see "Frees that wait".
 *  - The frees pass an address that is in no pool on to CUDA, so a program can move part by part. CUDA's frees know
 *    nothing of tarn's addresses.
 *  - Errors: cudaErrorMemoryAllocation also above the pool's limit; the vendor's own code if one of its calls failed;
 *    cudaErrorInvalidValue for the rest, such as a second free. tarn_last_error has a sentence.
 *  - Nothing here sets CUDA's last error. Zero bytes give NULL, as cudaMalloc does.
 *  - While a stream is captured, use tarn_capture_begin: these calls are no nodes of the graph.
 */
#ifndef TARN_CUDA_COMPAT_H
#define TARN_CUDA_COMPAT_H

#ifdef __cplusplus
#include <cuda_runtime.h> /* CUDA's own calls take pointers of any type, too */
#else
#include <cuda_runtime_api.h>
#endif

#define TARN_OWN_CALL(name)    tarn_cuda##name
#define TARN_VENDOR_CALL(name) cuda##name
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM /* then stream 0 is the thread's own */
#define TARN_VENDOR_STREAM(stream) ((tarn_stream)((stream) ? (stream) : cudaStreamPerThread))
#else
#define TARN_VENDOR_STREAM(stream) ((tarn_stream)(stream))
#endif
#define TARN_VENDOR_OUT_OF_MEMORY cudaErrorMemoryAllocation
#define TARN_VENDOR_HOST_FREE     cudaFreeHost
#include "tarn/vendor_compat.h"

#endif
