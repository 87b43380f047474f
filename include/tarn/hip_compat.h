/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * tarn/hip_compat.h: tarn by calls that look like HIP's, for programs that move from hipMalloc. Needs the header of HIP's
 * runtime, and its library. The same CHECK macro serves both:
 *
 *     #include <tarn/hip_compat.h>
 *
 *     double *field;
 *     CHECK(tarn_hipMalloc(&field, 1000 * sizeof *field));       in C: (void **)&field
 *     kernel<<<blocks, threads, 0, stream>>>(field);
 *     CHECK(tarn_hipFree(field));
 *
 *     tarn_hipMalloc(&p, n)              hipMalloc           memory that waits for nothing
 *     tarn_hipFree(p)                    hipFree             waits for the device
 *     tarn_hipMallocAsync(&p, n, s)      hipMallocAsync      for use on stream s
 *     tarn_hipFreeAsync(p, s)            hipFreeAsync        at once free for s; others wait for s
 *     tarn_hipMallocManaged(&p, n)       hipMallocManaged    attached globally
 *     tarn_hipHostMalloc(&p, n)          hipHostMalloc       page-locked memory of the host
 *     tarn_hipHostFree(p)                hipHostFree
 *     tarn_hipError(status)              the error for a status of another call of tarn
 *
 *  - Memory is that of the process-wide pools, so tarn_free and tarn_pool_find take these addresses, too. The environment
 *    sets their options.
 *  - tarn_hipFree waits for the device, as HIP has no event for all streams. tarn_hipFreeAsync does not: see "Frees that
 *    wait".
 *  - The frees pass an address that is in no pool on to HIP, so a program can move part by part. HIP's frees know nothing
 *    of tarn's addresses.
 *  - Errors: hipErrorOutOfMemory also above the pool's limit; the vendor's own code if one of its calls failed;
 *    hipErrorInvalidValue for the rest, such as a second free. tarn_last_error has a sentence.
 *  - Nothing here sets HIP's last error. Zero bytes give NULL, as hipMalloc does.
 *  - While a stream is captured, use tarn_capture_begin: these calls are no nodes of the graph.
 */
#ifndef TARN_HIP_COMPAT_H
#define TARN_HIP_COMPAT_H

#include <hip/hip_runtime_api.h>

#define TARN_OWN_CALL(name)    tarn_hip##name
#define TARN_VENDOR_CALL(name) hip##name
#ifdef HIP_API_PER_THREAD_DEFAULT_STREAM /* then stream 0 is the thread's own */
#define TARN_VENDOR_STREAM(stream) ((tarn_stream)((stream) ? (stream) : hipStreamPerThread))
#else
#define TARN_VENDOR_STREAM(stream) ((tarn_stream)(stream))
#endif
#define TARN_VENDOR_OUT_OF_MEMORY hipErrorOutOfMemory
#define TARN_VENDOR_HOST_FREE     hipHostFree
#include "tarn/vendor_compat.h"

#endif
