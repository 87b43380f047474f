/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * check_types: what run/hip and run/preload declare of the runtime is as in HIP's headers. It compiles, or not.
 *
 * Each function of the tables is called as the tables declare it: with that many arguments, among which the compiler
 * converts numbers and pointers without a word. All of them fit into a register, as the structures that are passed by their
 * value do not: those are compared below.
 */
#include <hip/hip_runtime_api.h>

#include "../../../run/preload/vendor.h"
#include "../../../src/backend_hip/hip_device.h"

#define SAME(ours, vendors) _Static_assert((long long)(ours) == (long long)(vendors), #vendors)
#define SAME_FIELD(our_type, our_field, type, field)            \
    SAME(offsetof(our_type, our_field), offsetof(type, field)); \
    SAME(sizeof(((our_type *)0)->our_field), sizeof(((type *)0)->field))

SAME(sizeof(tn_vendor_error), sizeof(hipError_t));
SAME(sizeof(tn_vendor_address), sizeof(hipDeviceptr_t));
SAME(sizeof(int), sizeof(hipDevice_t));
SAME(sizeof(uint64_t), sizeof(hipMemGenericAllocationHandle_t));
SAME(sizeof(uint64_t), sizeof(unsigned long long));

SAME(TN_ERROR_SUCCESS, hipSuccess);
SAME(TN_ERROR_INVALID_VALUE, hipErrorInvalidValue);
SAME(TN_ERROR_OUT_OF_MEMORY, hipErrorOutOfMemory);
SAME(TN_ERROR_NOT_INITIALIZED, hipErrorNotInitialized);
SAME(TN_ERROR_DEINITIALIZED, hipErrorDeinitialized);
SAME(TN_ERROR_NO_DEVICE, hipErrorNoDevice);
SAME(TN_ERROR_INVALID_DEVICE, hipErrorInvalidDevice);
SAME(TN_ERROR_INVALID_HANDLE, hipErrorInvalidHandle);
SAME(TN_ERROR_NOT_READY, hipErrorNotReady);
SAME(TN_ERROR_NOT_SUPPORTED, hipErrorNotSupported);
SAME(TN_ERROR_CAPTURE_WRONG_THREAD, hipErrorStreamCaptureWrongThread);
SAME(TN_ERROR_UNKNOWN, hipErrorUnknown);

SAME(TN_ERROR_INVALID_DEVICE_POINTER, hipErrorInvalidDevicePointer);
SAME(TN_ERROR_INSUFFICIENT_DRIVER, hipErrorInsufficientDriver);
SAME(TN_ERROR_MAP_FAILED, hipErrorMapFailed);

SAME(TN_HIP_TEXTURE_ALIGNMENT, hipDeviceAttributeTextureAlignment);
SAME(TN_HIP_CAN_MAP_HOST_MEMORY, hipDeviceAttributeCanMapHostMemory);
SAME(TN_HIP_CONCURRENT_MANAGED_ACCESS, hipDeviceAttributeConcurrentManagedAccess);
SAME(TN_HIP_INTEGRATED, hipDeviceAttributeIntegrated);
SAME(TN_HIP_MANAGED_MEMORY, hipDeviceAttributeManagedMemory);
SAME(3, hipHostMallocPortable | hipHostMallocMapped);
SAME(1, hipMemAttachGlobal);
SAME(2, hipStreamCaptureModeRelaxed);
SAME(TN_GRANULARITY_RECOMMENDED, hipMemAllocationGranularityRecommended);
SAME(11, HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR);
SAME(1, hipMemLocationTypeDevice);
SAME(1, hipMemAllocationTypePinned);
SAME(3, hipMemAccessFlagsProtReadWrite);
SAME(4, hipMemcpyDefault);
SAME(1, hipStreamNonBlocking);
SAME(2, hipEventDisableTiming);

SAME(sizeof(struct tn_gpu_location), sizeof(hipMemLocation));
SAME_FIELD(struct tn_gpu_location, type, hipMemLocation, type);
SAME_FIELD(struct tn_gpu_location, number, hipMemLocation, id);
SAME(sizeof(struct tn_gpu_access), sizeof(hipMemAccessDesc));
SAME_FIELD(struct tn_gpu_access, location, hipMemAccessDesc, location);
SAME_FIELD(struct tn_gpu_access, flags, hipMemAccessDesc, flags);

/* HIP 5.2 has another order in the structure, and answers that there are no ranges. */
#if HIP_VERSION_MAJOR > 5 || HIP_VERSION_MINOR >= 3
SAME(TN_HIP_VIRTUAL_MEMORY_MANAGEMENT, hipDeviceAttributeVirtualMemoryManagementSupported);
SAME(sizeof(struct tn_gpu_memory), sizeof(hipMemAllocationProp));
SAME_FIELD(struct tn_gpu_memory, type, hipMemAllocationProp, type);
SAME_FIELD(struct tn_gpu_memory, location, hipMemAllocationProp, location);
SAME_FIELD(struct tn_gpu_memory, unused, hipMemAllocationProp, win32HandleMetaData);
SAME(offsetof(struct tn_gpu_memory, flags), offsetof(hipMemAllocationProp, allocFlags));
#endif

SAME(sizeof(struct tn_hip_extent), sizeof(struct hipExtent));
SAME_FIELD(struct tn_hip_extent, width, struct hipExtent, width);
SAME_FIELD(struct tn_hip_extent, height, struct hipExtent, height);
SAME_FIELD(struct tn_hip_extent, depth, struct hipExtent, depth);
SAME(sizeof(struct tn_hip_pitched), sizeof(hipPitchedPtr));
SAME_FIELD(struct tn_hip_pitched, address, hipPitchedPtr, ptr);
SAME_FIELD(struct tn_hip_pitched, pitch, hipPitchedPtr, pitch);
SAME_FIELD(struct tn_hip_pitched, height, hipPitchedPtr, ysize);

/* Other structures by their value. */
#define hipMalloc3D(...)             0
#define hipMalloc3DArray(...)        0
#define hipMallocMipmappedArray(...) 0

/* Functions that the headers lack are not compared. */
#define VERSION_IS_BELOW(major, minor) \
    (HIP_VERSION_MAJOR < (major) || (HIP_VERSION_MAJOR == (major) && HIP_VERSION_MINOR < (minor)))
#if VERSION_IS_BELOW(5, 3)
#define hipStreamBeginCapture_spt(...) 0
#define hipStreamEndCapture_spt(...)   0
#endif
#if VERSION_IS_BELOW(6, 2)
#define hipGetProcAddress(...)            0
#define hipStreamBeginCaptureToGraph(...) 0
#endif
#if VERSION_IS_BELOW(7, 3)
#define hipGetProcAddress_spt(...)      0
#define hipMemSetMemPool(...)           0
#define hipGetDriverEntryPoint(...)     0
#define hipGetDriverEntryPoint_spt(...) 0
#endif

#ifdef __clang__
#pragma GCC diagnostic ignored "-Wunknown-warning-option"
#endif
#pragma GCC diagnostic ignored "-Wint-conversion"
#pragma GCC diagnostic ignored "-Wincompatible-pointer-types"
#pragma GCC diagnostic ignored "-Wdiscarded-qualifiers"
#pragma GCC diagnostic ignored "-Wenum-conversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

#define CALL(function, symbol, name, since, streams, parameters, arguments) \
    int check_##function parameters;                                        \
    int check_##function parameters                                         \
    {                                                                       \
        return (int)symbol arguments;                                       \
    }
TN_INTERCEPTED(CALL)
