/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* preload_hip: the functions of libamdhip64 that allocate or free memory, with HIP's own signatures. */
#include "preload_calls.h"

static const char source[] = "calls of HIP's runtime, by tarn-record";

ALLOC(hipMalloc, (void **address, size_t size_bytes), (address, size_bytes), size_bytes, NULL)
ALLOC(hipExtMallocWithFlags, (void **address, size_t size_bytes, unsigned flags),
      (address, size_bytes, flags), size_bytes, NULL)
ALLOC(hipMallocManaged, (void **address, size_t size_bytes, unsigned flags),
      (address, size_bytes, flags), size_bytes, NULL)
ALLOC(hipMallocPitch, (void **address, size_t *pitch, size_t width, size_t height),
      (address, pitch, width, height), *pitch *height, NULL)
ALLOC(hipMallocAsync, (void **address, size_t size_bytes, void *stream),
      (address, size_bytes, stream), size_bytes, stream)
ALLOC(hipMallocFromPoolAsync, (void **address, size_t size_bytes, void *pool, void *stream),
      (address, size_bytes, pool, stream), size_bytes, stream)
ALLOC_HOST(hipMallocHost, (void **address, size_t size_bytes), (address, size_bytes))
ALLOC_HOST(hipHostMalloc, (void **address, size_t size_bytes, unsigned flags),
           (address, size_bytes, flags))
ALLOC_HOST(hipHostAlloc, (void **address, size_t size_bytes, unsigned flags),
           (address, size_bytes, flags))
FREE(hipFree, (void *address), (address), NULL)
FREE(hipFreeAsync, (void *address, void *stream), (address, stream), stream)
FREE(hipHostFree, (void *address), (address), NULL)
FREE(hipFreeHost, (void *address), (address), NULL)
