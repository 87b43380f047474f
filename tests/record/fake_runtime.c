/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * fake_runtime: a library with the functions that tarn-record stands in for, of one vendor: CUDA's driver, HIP's runtime, or
 * Level Zero's loader. They hand out host memory, nothing from 1 GiB on, and zero bytes with success and NULL.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define TOO_MUCH ((size_t)1 << 30)

static int give(void **address, size_t size_bytes)
{
    if (size_bytes >= TOO_MUCH) return 2;
    *address = size_bytes > 0 ? malloc(size_bytes) : NULL;
    return 0;
}

static int take(void *address)
{
    free(address);
    return 0;
}

#define ALLOC(function, ...)         \
    int function(__VA_ARGS__);       \
    int function(__VA_ARGS__)        \
    {                                \
        return give(address, bytes); \
    }
#define FREE(function, ...)    \
    int function(__VA_ARGS__); \
    int function(__VA_ARGS__)  \
    {                          \
        return take(address);  \
    }
#define UNUSED __attribute__((unused))

#if defined(FAKES_CUDA)
ALLOC(cuMemAlloc_v2, void **address, size_t bytes)
ALLOC(cuMemAllocManaged, void **address, size_t bytes, UNUSED unsigned flags)
ALLOC(cuMemAllocAsync, void **address, size_t bytes, UNUSED void *stream)
ALLOC(cuMemAllocAsync_ptsz, void **address, size_t bytes, UNUSED void *stream)
ALLOC(cuMemAllocFromPoolAsync, void **address, size_t bytes, UNUSED void *pool, UNUSED void *stream)
ALLOC(cuMemAllocHost_v2, void **address, size_t bytes)
ALLOC(cuMemHostAlloc, void **address, size_t bytes, UNUSED unsigned flags)
FREE(cuMemFree_v2, void *address)
FREE(cuMemFreeAsync, void *address, UNUSED void *stream)
FREE(cuMemFreeAsync_ptsz, void *address, UNUSED void *stream)
FREE(cuMemFreeHost, void *address)

int cuMemAllocPitch_v2(void **address, size_t *pitch, size_t width, size_t height,
                       unsigned element);
int cuMemAllocPitch_v2(void **address, size_t *pitch, size_t width, size_t height,
                       UNUSED unsigned element)
{
    *pitch = (width + 255) / 256 * 256;
    return give(address, *pitch * height);
}
#elif defined(FAKES_HIP)
ALLOC(hipMalloc, void **address, size_t bytes)
ALLOC(hipExtMallocWithFlags, void **address, size_t bytes, UNUSED unsigned flags)
ALLOC(hipMallocManaged, void **address, size_t bytes, UNUSED unsigned flags)
ALLOC(hipMallocAsync, void **address, size_t bytes, UNUSED void *stream)
ALLOC(hipHostMalloc, void **address, size_t bytes, UNUSED unsigned flags)
FREE(hipFree, void *address)
FREE(hipFreeAsync, void *address, UNUSED void *stream)
FREE(hipHostFree, void *address)
#else
ALLOC(zeMemAllocDevice, UNUSED void *context, UNUSED const void *description, size_t bytes,
      UNUSED size_t alignment, UNUSED void *device, void **address)
ALLOC(zeMemAllocShared, UNUSED void *context, UNUSED const void *device_description,
      UNUSED const void *host_description, size_t bytes, UNUSED size_t alignment,
      UNUSED void *device, void **address)
ALLOC(zeMemAllocHost, UNUSED void *context, UNUSED const void *description, size_t bytes,
      UNUSED size_t alignment, void **address)
FREE(zeMemFree, UNUSED void *context, void *address)
FREE(zeMemFreeExt, UNUSED void *context, UNUSED const void *description, void *address)
#endif
