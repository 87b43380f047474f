/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* check_types: what run/preload declares of the driver is as in cuda.h. It compiles, or not. */
#define __CUDA_API_VERSION_INTERNAL /* the older functions are declared as well */
#include <cuda.h>
#include <cudaTypedefs.h>

#include "../../../run/preload/vendor.h"

#define SAME(ours, vendors) _Static_assert((long long)(ours) == (long long)(vendors), #vendors)
#define SAME_FIELD(our_type, our_field, type, field)            \
    SAME(offsetof(our_type, our_field), offsetof(type, field)); \
    SAME(sizeof(((our_type *)0)->our_field), sizeof(((type *)0)->field))

SAME(sizeof(tn_cuda_error), sizeof(CUresult));
SAME(sizeof(tn_cuda_address), sizeof(CUdeviceptr));
SAME(sizeof(int), sizeof(CUdevice));
SAME(sizeof(uint64_t), sizeof(CUmemGenericAllocationHandle));
SAME(sizeof(uint64_t), sizeof(cuuint64_t));

SAME(TN_CUDA_SUCCESS, CUDA_SUCCESS);
SAME(TN_CUDA_INVALID_VALUE, CUDA_ERROR_INVALID_VALUE);
SAME(TN_CUDA_OUT_OF_MEMORY, CUDA_ERROR_OUT_OF_MEMORY);
SAME(TN_CUDA_NOT_INITIALIZED, CUDA_ERROR_NOT_INITIALIZED);
SAME(TN_CUDA_DEINITIALIZED, CUDA_ERROR_DEINITIALIZED);
SAME(TN_CUDA_NO_DEVICE, CUDA_ERROR_NO_DEVICE);
SAME(TN_CUDA_INVALID_DEVICE, CUDA_ERROR_INVALID_DEVICE);
SAME(TN_CUDA_INVALID_HANDLE, CUDA_ERROR_INVALID_HANDLE);
SAME(TN_CUDA_NOT_READY, CUDA_ERROR_NOT_READY);
SAME(TN_CUDA_NOT_SUPPORTED, CUDA_ERROR_NOT_SUPPORTED);
SAME(TN_CUDA_CAPTURE_WRONG_THREAD, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
SAME(TN_CUDA_UNKNOWN, CUDA_ERROR_UNKNOWN);

SAME(sizeof(struct tn_cuda_location), sizeof(CUmemLocation));
SAME_FIELD(struct tn_cuda_location, type, CUmemLocation, type);
SAME_FIELD(struct tn_cuda_location, number, CUmemLocation, id);
SAME(sizeof(struct tn_cuda_memory), sizeof(CUmemAllocationProp));
SAME_FIELD(struct tn_cuda_memory, type, CUmemAllocationProp, type);
SAME_FIELD(struct tn_cuda_memory, handle_types, CUmemAllocationProp, requestedHandleTypes);
SAME_FIELD(struct tn_cuda_memory, location, CUmemAllocationProp, location);
SAME_FIELD(struct tn_cuda_memory, unused, CUmemAllocationProp, win32HandleMetaData);
SAME_FIELD(struct tn_cuda_memory, flags, CUmemAllocationProp, allocFlags);
SAME(sizeof(struct tn_cuda_access), sizeof(CUmemAccessDesc));
SAME_FIELD(struct tn_cuda_access, location, CUmemAccessDesc, location);
SAME_FIELD(struct tn_cuda_access, flags, CUmemAccessDesc, flags);

/* The vendor has a type for each function, named after the version that the function came with. */
#define HAS_ALL(type)        SAME(sizeof(type), sizeof(void (*)(void)))
#define HAS_LEGACY(type)     HAS_ALL(type)
#define HAS_OF_THREADS(type) HAS_ALL(type##_ptsz)
#define HAS_VERSION(symbol, name, since, streams, parameters, arguments) \
    HAS_##streams(PFN_##name##_v##since);
#if CUDA_VERSION >= 13000
TN_INTERCEPTED(HAS_VERSION)
#endif
