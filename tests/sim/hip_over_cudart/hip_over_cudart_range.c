/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* hip_over_cudart_range: ranges, over the driver's functions. */
#include "hip_over_cudart.h"

#include <stdbool.h>
#include <stdint.h>

/* Declares `function`, a pointer to the driver's function of that name, or returns why there is none. */
#define DRIVER_FUNCTION(name)                                           \
    __typeof__(name) *function;                                         \
    hipError_t function_error = hip_over_cudart_find(#name, &function); \
    if (function_error != hipSuccess) return function_error

static hipError_t answer(CUresult error)
{
    return hip_over_cudart_error((int)error);
}

static CUdeviceptr pointer_of(const void *address)
{
    return (CUdeviceptr)(uintptr_t)address;
}

static CUmemGenericAllocationHandle handle_of(hipMemGenericAllocationHandle_t handle)
{
    return (CUmemGenericAllocationHandle)(uintptr_t)handle;
}

static CUmemLocation location_of(const hipMemLocation *location)
{
    return (CUmemLocation){ .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = location->id };
}

/* From HIP 5.3 on it is as CUDA's. It had another order before, and no runtime had ranges. */
static const CUmemAllocationProp *memory_of(const hipMemAllocationProp *memory)
{
    return (const void *)memory;
}

hipError_t hipMemGetAllocationGranularity(size_t *granularity_bytes,
                                          const hipMemAllocationProp *memory,
                                          hipMemAllocationGranularity_flags option)
{
    DRIVER_FUNCTION(cuMemGetAllocationGranularity);
    bool is_minimum = option == hipMemAllocationGranularityMinimum;
    return answer(function(granularity_bytes, memory_of(memory),
                           is_minimum ? CU_MEM_ALLOC_GRANULARITY_MINIMUM
                                      : CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
}

hipError_t hipMemAddressReserve(void **address, size_t size_bytes, size_t alignment_bytes,
                                void *wanted, unsigned long long flags)
{
    DRIVER_FUNCTION(cuMemAddressReserve);
    CUdeviceptr pointer = 0;
    CUresult error = function(&pointer, size_bytes, alignment_bytes, pointer_of(wanted), flags);
    if (error == CUDA_SUCCESS) *address = (void *)(uintptr_t)pointer;
    return answer(error);
}

hipError_t hipMemAddressFree(void *address, size_t size_bytes)
{
    DRIVER_FUNCTION(cuMemAddressFree);
    return answer(function(pointer_of(address), size_bytes));
}

hipError_t hipMemCreate(hipMemGenericAllocationHandle_t *handle, size_t size_bytes,
                        const hipMemAllocationProp *memory, unsigned long long flags)
{
    DRIVER_FUNCTION(cuMemCreate);
    CUmemGenericAllocationHandle created = 0;
    CUresult error = function(&created, size_bytes, memory_of(memory), flags);
    if (error == CUDA_SUCCESS) *handle = (hipMemGenericAllocationHandle_t)(uintptr_t)created;
    return answer(error);
}

hipError_t hipMemRelease(hipMemGenericAllocationHandle_t handle)
{
    DRIVER_FUNCTION(cuMemRelease);
    return answer(function(handle_of(handle)));
}

hipError_t hipMemExportToShareableHandle(void *shared, hipMemGenericAllocationHandle_t handle,
                                         hipMemAllocationHandleType type, unsigned long long flags)
{
    DRIVER_FUNCTION(cuMemExportToShareableHandle);
    if (type != hipMemHandleTypePosixFileDescriptor) return hipErrorNotSupported;
    return answer(
        function(shared, handle_of(handle), CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, flags));
}

hipError_t hipMemMap(void *address, size_t size_bytes, size_t offset_bytes,
                     hipMemGenericAllocationHandle_t handle, unsigned long long flags)
{
    DRIVER_FUNCTION(cuMemMap);
    return answer(
        function(pointer_of(address), size_bytes, offset_bytes, handle_of(handle), flags));
}

hipError_t hipMemUnmap(void *address, size_t size_bytes)
{
    DRIVER_FUNCTION(cuMemUnmap);
    return answer(function(pointer_of(address), size_bytes));
}

hipError_t hipMemSetAccess(void *address, size_t size_bytes, const hipMemAccessDesc *access,
                           size_t count)
{
    DRIVER_FUNCTION(cuMemSetAccess);
    if (count != 1 || access->flags != hipMemAccessFlagsProtReadWrite) return hipErrorNotSupported;
    CUmemAccessDesc descriptor = {
        .location = location_of(&access->location),
        .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
    };
    return answer(function(pointer_of(address), size_bytes, &descriptor, 1));
}
