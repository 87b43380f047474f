/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* hip_over_cudart_pool: the runtime's own pools. */
#include "hip_over_cudart.h"

_Static_assert((int)hipMemPoolAttrReleaseThreshold == cudaMemPoolAttrReleaseThreshold,
               "one number");
_Static_assert((int)hipMemPoolAttrReservedMemCurrent == cudaMemPoolAttrReservedMemCurrent,
               "one number");
_Static_assert((int)hipMemPoolAttrReservedMemHigh == cudaMemPoolAttrReservedMemHigh, "one number");
_Static_assert((int)hipMemPoolAttrUsedMemCurrent == cudaMemPoolAttrUsedMemCurrent, "one number");
_Static_assert((int)hipMemPoolAttrUsedMemHigh == cudaMemPoolAttrUsedMemHigh, "one number");

static hipError_t answer(cudaError_t error)
{
    return hip_over_cudart_error((int)error);
}

static cudaMemPool_t pool_of(hipMemPool_t pool)
{
    return (cudaMemPool_t)(void *)pool;
}

static cudaStream_t stream_of(hipStream_t stream)
{
    return (cudaStream_t)(void *)stream;
}

hipError_t hipMemPoolCreate(hipMemPool_t *pool, const hipMemPoolProps *properties)
{
    if (properties->allocType != hipMemAllocationTypePinned ||
        properties->handleTypes != hipMemHandleTypeNone ||
        properties->location.type != hipMemLocationTypeDevice)
        return hipErrorNotSupported;
    struct cudaMemPoolProps wanted = { 0 };
    wanted.allocType = cudaMemAllocationTypePinned;
    wanted.location.type = cudaMemLocationTypeDevice;
    wanted.location.id = properties->location.id;
    cudaMemPool_t created;
    cudaError_t error = cudaMemPoolCreate(&created, &wanted);
    if (error == cudaSuccess) *pool = (hipMemPool_t)(void *)created;
    return answer(error);
}

hipError_t hipMemPoolDestroy(hipMemPool_t pool)
{
    return answer(cudaMemPoolDestroy(pool_of(pool)));
}

hipError_t hipMemPoolSetAttribute(hipMemPool_t pool, hipMemPoolAttr attribute, void *value)
{
    return answer(cudaMemPoolSetAttribute(pool_of(pool), (enum cudaMemPoolAttr)attribute, value));
}

hipError_t hipMemPoolGetAttribute(hipMemPool_t pool, hipMemPoolAttr attribute, void *value)
{
    return answer(cudaMemPoolGetAttribute(pool_of(pool), (enum cudaMemPoolAttr)attribute, value));
}

hipError_t hipMemPoolTrimTo(hipMemPool_t pool, size_t keep_bytes)
{
    return answer(cudaMemPoolTrimTo(pool_of(pool), keep_bytes));
}

hipError_t hipDeviceGetMemPool(hipMemPool_t *pool, int device)
{
    cudaMemPool_t current;
    cudaError_t error = cudaDeviceGetMemPool(&current, device);
    if (error == cudaSuccess) *pool = (hipMemPool_t)(void *)current;
    return answer(error);
}

hipError_t hipDeviceSetMemPool(int device, hipMemPool_t pool)
{
    return answer(cudaDeviceSetMemPool(device, pool_of(pool)));
}

hipError_t hipMallocAsync(void **address, size_t size_bytes, hipStream_t stream)
{
    return answer(cudaMallocAsync(address, size_bytes, stream_of(stream)));
}

hipError_t hipMallocFromPoolAsync(void **address, size_t size_bytes, hipMemPool_t pool,
                                  hipStream_t stream)
{
    return answer(cudaMallocFromPoolAsync(address, size_bytes, pool_of(pool), stream_of(stream)));
}

hipError_t hipFreeAsync(void *address, hipStream_t stream)
{
    return answer(cudaFreeAsync(address, stream_of(stream)));
}
