/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* check_types: what run/cuda declares of the driver is as in cuda.h. It compiles, or not. */
#define __CUDA_API_VERSION_INTERNAL /* the older functions are declared as well */
#include <cuda.h>
#include <cudaTypedefs.h>

#include "../../../run/preload/vendor.h"
#include "../../../src/backend_cuda/cuda_device.h"

#define SAME(ours, vendors) _Static_assert((long long)(ours) == (long long)(vendors), #vendors)
#define SAME_FIELD(our_type, our_field, type, field)            \
    SAME(offsetof(our_type, our_field), offsetof(type, field)); \
    SAME(sizeof(((our_type *)0)->our_field), sizeof(((type *)0)->field))

SAME(sizeof(tn_vendor_error), sizeof(CUresult));
SAME(sizeof(tn_vendor_address), sizeof(CUdeviceptr));
SAME(sizeof(int), sizeof(CUdevice));
SAME(sizeof(uint64_t), sizeof(CUmemGenericAllocationHandle));
SAME(sizeof(uint64_t), sizeof(cuuint64_t));

SAME(TN_ERROR_SUCCESS, CUDA_SUCCESS);
SAME(TN_ERROR_INVALID_VALUE, CUDA_ERROR_INVALID_VALUE);
SAME(TN_ERROR_OUT_OF_MEMORY, CUDA_ERROR_OUT_OF_MEMORY);
SAME(TN_ERROR_NOT_INITIALIZED, CUDA_ERROR_NOT_INITIALIZED);
SAME(TN_ERROR_DEINITIALIZED, CUDA_ERROR_DEINITIALIZED);
SAME(TN_ERROR_NO_DEVICE, CUDA_ERROR_NO_DEVICE);
SAME(TN_ERROR_INVALID_DEVICE, CUDA_ERROR_INVALID_DEVICE);
SAME(TN_ERROR_INVALID_HANDLE, CUDA_ERROR_INVALID_HANDLE);
SAME(TN_ERROR_NOT_READY, CUDA_ERROR_NOT_READY);
SAME(TN_ERROR_NOT_SUPPORTED, CUDA_ERROR_NOT_SUPPORTED);
SAME(TN_ERROR_CAPTURE_WRONG_THREAD, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
SAME(TN_ERROR_UNKNOWN, CUDA_ERROR_UNKNOWN);

SAME(TN_ERROR_INVALID_CONTEXT, CUDA_ERROR_INVALID_CONTEXT);
SAME(TN_ERROR_STUB_LIBRARY, CUDA_ERROR_STUB_LIBRARY);
SAME(TN_ERROR_SYSTEM_NOT_READY, CUDA_ERROR_SYSTEM_NOT_READY);
SAME(TN_ERROR_SYSTEM_DRIVER_MISMATCH, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);

SAME(TN_CUDA_TEXTURE_ALIGNMENT, CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT);
SAME(TN_CUDA_INTEGRATED, CU_DEVICE_ATTRIBUTE_INTEGRATED);
SAME(TN_CUDA_CAN_MAP_HOST_MEMORY, CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY);
SAME(TN_CUDA_UNIFIED_ADDRESSING, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING);
SAME(TN_CUDA_MANAGED_MEMORY, CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY);
SAME(TN_CUDA_CONCURRENT_MANAGED_ACCESS, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS);
SAME(TN_CUDA_VIRTUAL_MEMORY_MANAGEMENT, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED);
SAME(TN_CUDA_HANDLE_IS_FILE_DESCRIPTOR,
     CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED);
SAME(TN_CUDA_RDMA_WITH_VIRTUAL_MEMORY, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED);
SAME(offsetof(struct tn_gpu_memory, flags) + 1,
     offsetof(CUmemAllocationProp, allocFlags.gpuDirectRDMACapable));
#ifndef __clang__ /* which takes no pointer for a constant */
SAME(TN_STREAM_LEGACY, CU_STREAM_LEGACY);
SAME(TN_STREAM_PER_THREAD, CU_STREAM_PER_THREAD);
#endif
SAME(11, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR);
SAME(3, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
SAME(1, CU_MEM_ATTACH_GLOBAL);
SAME(2, CU_STREAM_CAPTURE_MODE_RELAXED);

SAME(sizeof(struct tn_gpu_location), sizeof(CUmemLocation));
SAME_FIELD(struct tn_gpu_location, type, CUmemLocation, type);
SAME_FIELD(struct tn_gpu_location, number, CUmemLocation, id);
SAME(sizeof(struct tn_gpu_memory), sizeof(CUmemAllocationProp));
SAME_FIELD(struct tn_gpu_memory, type, CUmemAllocationProp, type);
SAME_FIELD(struct tn_gpu_memory, handle_types, CUmemAllocationProp, requestedHandleTypes);
SAME_FIELD(struct tn_gpu_memory, location, CUmemAllocationProp, location);
SAME_FIELD(struct tn_gpu_memory, unused, CUmemAllocationProp, win32HandleMetaData);
SAME_FIELD(struct tn_gpu_memory, flags, CUmemAllocationProp, allocFlags);
SAME(sizeof(struct tn_gpu_access), sizeof(CUmemAccessDesc));
SAME_FIELD(struct tn_gpu_access, location, CUmemAccessDesc, location);
SAME_FIELD(struct tn_gpu_access, flags, CUmemAccessDesc, flags);

/* The vendor has a type for each function, named after the version that the function came with. */
#define HAS_ALL(type)        SAME(sizeof(type), sizeof(void (*)(void)))
#define HAS_LEGACY(type)     HAS_ALL(type)
#define HAS_OF_THREADS(type) HAS_ALL(type##_ptsz)
#define HAS_VERSION(function, symbol, name, since, streams, parameters, arguments) \
    HAS_##streams(PFN_##name##_v##since);
#if CUDA_VERSION >= 13000
TN_INTERCEPTED(HAS_VERSION)
#endif
