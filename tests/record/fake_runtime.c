/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * fake_runtime: a library with the functions of three vendors that tarn-record stands in for. They hand out host memory,
 * nothing from 1 GiB on, and zero bytes as CUDA does, with success and NULL.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

struct pitched {
    void *address;
    size_t pitch, width, height;
};

struct extent {
    size_t width, height, depth;
};

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

ALLOC(cudaMalloc, void **address, size_t bytes)
ALLOC(cudaMallocManaged, void **address, size_t bytes, UNUSED unsigned flags)
ALLOC(cudaMallocAsync, void **address, size_t bytes, UNUSED void *stream)
ALLOC(cudaMallocAsync_ptsz, void **address, size_t bytes, UNUSED void *stream)
ALLOC(cudaMallocFromPoolAsync, void **address, size_t bytes, UNUSED void *pool, UNUSED void *stream)
ALLOC(cudaMallocHost, void **address, size_t bytes)
ALLOC(cudaHostAlloc, void **address, size_t bytes, UNUSED unsigned flags)
FREE(cudaFree, void *address)
FREE(cudaFreeAsync, void *address, UNUSED void *stream)
FREE(cudaFreeAsync_ptsz, void *address, UNUSED void *stream)
FREE(cudaFreeHost, void *address)

int cudaMallocPitch(void **address, size_t *pitch, size_t width, size_t height);
int cudaMallocPitch(void **address, size_t *pitch, size_t width, size_t height)
{
    *pitch = (width + 255) / 256 * 256;
    return give(address, *pitch * height);
}

int cudaMalloc3D(struct pitched *pitched, struct extent extent);
int cudaMalloc3D(struct pitched *pitched, struct extent extent)
{
    int error = cudaMallocPitch(&pitched->address, &pitched->pitch, extent.width,
                                extent.height * extent.depth);
    pitched->width = extent.width;
    pitched->height = extent.height;
    return error;
}

ALLOC(cuMemAlloc_v2, void **address, size_t bytes)
FREE(cuMemFree_v2, void *address)

/* HIP, over CUDA as it is on some machines: one call is one event all the same. */
int hipMalloc(void **address, size_t bytes);
int hipMalloc(void **address, size_t bytes)
{
    return cudaMalloc(address, bytes);
}

int hipFree(void *address);
int hipFree(void *address)
{
    return cudaFree(address);
}

ALLOC(hipExtMallocWithFlags, void **address, size_t bytes, UNUSED unsigned flags)
ALLOC(hipMallocManaged, void **address, size_t bytes, UNUSED unsigned flags)
ALLOC(hipMallocAsync, void **address, size_t bytes, UNUSED void *stream)
ALLOC(hipHostMalloc, void **address, size_t bytes, UNUSED unsigned flags)
FREE(hipFreeAsync, void *address, UNUSED void *stream)
FREE(hipHostFree, void *address)

ALLOC(zeMemAllocDevice, UNUSED void *context, UNUSED const void *description, size_t bytes,
      UNUSED size_t alignment, UNUSED void *device, void **address)
ALLOC(zeMemAllocShared, UNUSED void *context, UNUSED const void *device_description,
      UNUSED const void *host_description, size_t bytes, UNUSED size_t alignment,
      UNUSED void *device, void **address)
ALLOC(zeMemAllocHost, UNUSED void *context, UNUSED const void *description, size_t bytes,
      UNUSED size_t alignment, void **address)
FREE(zeMemFree, UNUSED void *context, void *address)
FREE(zeMemFreeExt, UNUSED void *context, UNUSED const void *description, void *address)
