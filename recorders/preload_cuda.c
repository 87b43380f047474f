/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * preload_cuda: the functions of libcudart that allocate or free memory, and those of the driver's library,
 * for programs that link it.
 *
 * The declarations here match CUDA's: an error is an int, a stream a pointer. Functions that end in _ptsz are
 * those for per-thread default streams; there the handle NULL means that stream.
 */
#include <stddef.h>

#include "preload_calls.h"

static const char source[] = "calls of CUDA's runtime or driver, by tarn-record";

static const void *thread_stream(const void *stream)
{
    return stream ? stream : TN_VENDOR_THREAD_STREAM;
}

/* --- the runtime -------------------------------------------------------------------------------------- */

ALLOC(cudaMalloc, (void **address, size_t size_bytes), (address, size_bytes), size_bytes, NULL)
ALLOC(cudaMallocManaged, (void **address, size_t size_bytes, unsigned flags),
      (address, size_bytes, flags), size_bytes, NULL)
ALLOC(cudaMallocPitch, (void **address, size_t *pitch, size_t width, size_t height),
      (address, pitch, width, height), *pitch *height, NULL)
ALLOC(cudaMallocAsync, (void **address, size_t size_bytes, void *stream),
      (address, size_bytes, stream), size_bytes, stream)
ALLOC(cudaMallocAsync_ptsz, (void **address, size_t size_bytes, void *stream),
      (address, size_bytes, stream), size_bytes, thread_stream(stream))
ALLOC(cudaMallocFromPoolAsync, (void **address, size_t size_bytes, void *pool, void *stream),
      (address, size_bytes, pool, stream), size_bytes, stream)
ALLOC(cudaMallocFromPoolAsync_ptsz, (void **address, size_t size_bytes, void *pool, void *stream),
      (address, size_bytes, pool, stream), size_bytes, thread_stream(stream))
ALLOC_HOST(cudaMallocHost, (void **address, size_t size_bytes), (address, size_bytes))
ALLOC_HOST(cudaHostAlloc, (void **address, size_t size_bytes, unsigned flags),
           (address, size_bytes, flags))
FREE(cudaFree, (void *address), (address), NULL)
FREE(cudaFreeAsync, (void *address, void *stream), (address, stream), stream)
FREE(cudaFreeAsync_ptsz, (void *address, void *stream), (address, stream), thread_stream(stream))
FREE(cudaFreeHost, (void *address), (address), NULL)

struct pitched {
    void *address;
    size_t pitch, width, height;
};

struct extent {
    size_t width, height, depth;
};

EXPORT int cudaMalloc3D(struct pitched *pitched, struct extent extent);
EXPORT int cudaMalloc3D(struct pitched *pitched, struct extent extent)
{
    FIND_NEXT(cudaMalloc3D, NO_RUNTIME);
    struct tn_vendor_call call = tn_vendor_call_begin(source);
    int error = next(pitched, extent);
    tn_vendor_call_end_alloc(call, error == 0, error == 0 ? pitched->address : NULL,
                             error == 0 ? pitched->pitch * extent.height * extent.depth : 0, NULL);
    return error;
}

/* --- the driver --------------------------------------------------------------------------------------- */

/* The driver's device addresses are numbers of a pointer's size. */
ALLOC(cuMemAlloc_v2, (void **address, size_t size_bytes), (address, size_bytes), size_bytes, NULL)
ALLOC(cuMemAllocManaged, (void **address, size_t size_bytes, unsigned flags),
      (address, size_bytes, flags), size_bytes, NULL)
ALLOC(cuMemAllocPitch_v2,
      (void **address, size_t *pitch, size_t width, size_t height, unsigned element_bytes),
      (address, pitch, width, height, element_bytes), *pitch *height, NULL)
ALLOC(cuMemAllocAsync, (void **address, size_t size_bytes, void *stream),
      (address, size_bytes, stream), size_bytes, stream)
ALLOC(cuMemAllocAsync_ptsz, (void **address, size_t size_bytes, void *stream),
      (address, size_bytes, stream), size_bytes, thread_stream(stream))
ALLOC(cuMemAllocFromPoolAsync, (void **address, size_t size_bytes, void *pool, void *stream),
      (address, size_bytes, pool, stream), size_bytes, stream)
ALLOC(cuMemAllocFromPoolAsync_ptsz, (void **address, size_t size_bytes, void *pool, void *stream),
      (address, size_bytes, pool, stream), size_bytes, thread_stream(stream))
ALLOC_HOST(cuMemAllocHost_v2, (void **address, size_t size_bytes), (address, size_bytes))
ALLOC_HOST(cuMemHostAlloc, (void **address, size_t size_bytes, unsigned flags),
           (address, size_bytes, flags))
FREE(cuMemFree_v2, (void *address), (address), NULL)
FREE(cuMemFreeAsync, (void *address, void *stream), (address, stream), stream)
FREE(cuMemFreeAsync_ptsz, (void *address, void *stream), (address, stream), thread_stream(stream))
FREE(cuMemFreeHost, (void *address), (address), NULL)
