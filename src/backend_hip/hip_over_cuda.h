/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * hip_over_cuda: HIP on NVIDIA's platform, for CUDA 13.
 *
 * HIP's own headers for that platform (hip/nvidia_detail, last in HIP 5.7) turn each call of HIP into a
 * call of CUDA. They were written for CUDA 11 and use names that CUDA 13 no longer has. They lack the
 * calls for ranges, or have them with other types. So this file has, in this order:
 *
 *     1. CUDA's headers, so that HIP's headers do not read them again
 *     2. replacements for changed calls, under CUDA's old names
 *     3. HIP's headers, after which the old names are undefined
 *     4. AMD's calls for ranges, over those of CUDA's driver, and other names that HIP 5.2 lacks
 *
 * With TARN_HIP_PLATFORM=nvidia the build makes the compiler read this file before any other. Calls that
 * the backend does not use (textures, launches) compile, and answer NotSupported.
 */
#ifndef TN_HIP_OVER_CUDA_H
#define TN_HIP_OVER_CUDA_H

#include <stdint.h>
#include <string.h>

#include <cuda.h> /* types of the driver's functions; none of them is linked */
#include <cuda_fp16.h>
#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>

/* --- replacements ------------------------------------------------------------------------------ */

/* CUDA 13 takes a struct cudaMemLocation instead of a device's number. */
static inline struct cudaMemLocation tn_location_of(int device)
{
    enum cudaMemLocationType type =
        device == cudaCpuDeviceId ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice;
    return (struct cudaMemLocation){ .type = type, .id = device };
}

static inline cudaError_t tn_mem_advise(const void *address, size_t size_bytes,
                                        enum cudaMemoryAdvise advice, int device)
{
    return cudaMemAdvise(address, size_bytes, advice, tn_location_of(device));
}

static inline cudaError_t tn_mem_prefetch(const void *address, size_t size_bytes, int device,
                                          cudaStream_t stream)
{
    return cudaMemPrefetchAsync(address, size_bytes, tn_location_of(device), 0, stream);
}

/* The device properties that HIP's headers copy. CUDA 13 lacks some of them. The backend uses the name and
 * the size of the memory. The others are 0. */
struct tn_device_properties {
    char name[256];
    size_t totalGlobalMem;
    size_t memPitch, sharedMemPerBlock, sharedMemPerMultiprocessor, textureAlignment;
    size_t texturePitchAlignment, totalConstMem;
    int maxGridSize[3], maxTexture2D[2], maxTexture3D[3], maxThreadsDim[3];
    int ECCEnabled, canMapHostMemory, clockRate, computeMode, concurrentKernels, cooperativeLaunch;
    int cooperativeMultiDeviceLaunch, integrated, isMultiGpuBoard, kernelExecTimeoutEnabled;
    int l2CacheSize, major, maxTexture1D, maxThreadsPerBlock, maxThreadsPerMultiProcessor;
    int memoryBusWidth, memoryClockRate, minor, multiProcessorCount, pciBusID, pciDeviceID;
    int pciDomainID, regsPerBlock, tccDriver, warpSize;
};

static inline cudaError_t tn_get_device_properties(struct tn_device_properties *properties_out,
                                                   int device)
{
    struct cudaDeviceProp properties;
    memset(properties_out, 0, sizeof *properties_out);
    cudaError_t error = cudaGetDeviceProperties(&properties, device);
    if (error != cudaSuccess) return error;
    memcpy(properties_out->name, properties.name, sizeof properties_out->name);
    properties_out->totalGlobalMem = properties.totalGlobalMem;
    return cudaSuccess;
}

#define cudaMemAdvise                               tn_mem_advise
#define cudaMemPrefetchAsync                        tn_mem_prefetch
#define cudaDeviceProp                              tn_device_properties
#define cudaGetDeviceProperties                     tn_get_device_properties
#define cudaDevAttrCooperativeMultiDeviceLaunch     cudaDevAttrCooperativeLaunch
#define cudaChooseDevice(...)                       cudaErrorNotSupported
#define cudaBindTexture(...)                        cudaErrorNotSupported
#define cudaBindTexture2D(...)                      cudaErrorNotSupported
#define cudaGetTextureAlignmentOffset(...)          cudaErrorNotSupported
#define cudaLaunchCooperativeKernelMultiDevice(...) cudaErrorNotSupported
#undef cuCtxCreate
#define cuCtxCreate(...)          CUDA_ERROR_NOT_SUPPORTED
#define cuDeviceGetAttribute(...) CUDA_ERROR_NOT_SUPPORTED

/* The headers have "auto x = y" of C++, where C assumes an int. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wimplicit-int"
#include <hip/hip_runtime_api.h>
#pragma GCC diagnostic pop

#undef cudaMemAdvise
#undef cudaMemPrefetchAsync
#undef cudaDeviceProp
#undef cudaGetDeviceProperties
#undef cudaDevAttrCooperativeMultiDeviceLaunch
#undef cudaChooseDevice
#undef cudaBindTexture
#undef cudaBindTexture2D
#undef cudaGetTextureAlignmentOffset
#undef cudaLaunchCooperativeKernelMultiDevice
#undef cuCtxCreate
#undef cuDeviceGetAttribute

/* --- ranges: the calls that the backend uses, with AMD's names and types ----------------------- */

/* Writes the function's address to the pointer to a function that function_out points to. The driver is
 * not linked, so each call asks the runtime for the driver's function: calls for ranges are rare. */
static inline hipError_t tn_find_driver_function(const char *name, void *function_out)
{
    enum cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
    void *function = NULL;
    cudaError_t error =
        cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &found);
    hipError_t answer = hipCUDAErrorTohipError(error);
    if (answer == hipSuccess && !function) answer = hipErrorNotSupported; /* the driver is older */
    if (answer == hipSuccess) memcpy(function_out, &function, sizeof function);
    return answer;
}

/* Declares `function`, a pointer to the driver's function of that name, or returns the error. */
#define TN_DRIVER_FUNCTION(name)                                           \
    __typeof__(name) *function;                                            \
    hipError_t function_error = tn_find_driver_function(#name, &function); \
    if (function_error != hipSuccess) return function_error

typedef struct tn_mapping_handle *tn_mapping_handle; /* a CUmemGenericAllocationHandle, converted */

typedef struct tn_allocation_properties {
    enum cudaMemAllocationType type;
    CUmemAllocationHandleType requestedHandleType;
    hipMemLocation location;
} tn_allocation_properties;

typedef struct tn_access {
    hipMemLocation location;
    CUmemAccess_flags flags;
} tn_access;

static inline CUmemLocation tn_driver_location(const hipMemLocation *location)
{
    return (CUmemLocation){ .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = location->id };
}

static inline CUmemAllocationProp tn_driver_properties(const tn_allocation_properties *properties)
{
    return (CUmemAllocationProp){
        .type = (CUmemAllocationType)properties->type, /* one numbering */
        .requestedHandleTypes = properties->requestedHandleType,
        .location = tn_driver_location(&properties->location),
    };
}

static inline hipError_t tn_mem_get_granularity(size_t *granularity_bytes_out,
                                                const tn_allocation_properties *properties,
                                                CUmemAllocationGranularity_flags option)
{
    TN_DRIVER_FUNCTION(cuMemGetAllocationGranularity);
    CUmemAllocationProp driver_properties = tn_driver_properties(properties);
    return hipCUResultTohipError(function(granularity_bytes_out, &driver_properties, option));
}

static inline hipError_t tn_mem_address_reserve(void **address_out, size_t size_bytes,
                                                size_t alignment_bytes, void *wanted,
                                                unsigned long long flags)
{
    TN_DRIVER_FUNCTION(cuMemAddressReserve);
    CUdeviceptr address = 0;
    CUresult error =
        function(&address, size_bytes, alignment_bytes, (CUdeviceptr)(uintptr_t)wanted, flags);
    if (error == CUDA_SUCCESS) *address_out = (void *)(uintptr_t)address;
    return hipCUResultTohipError(error);
}

static inline hipError_t tn_mem_address_free(void *address, size_t size_bytes)
{
    TN_DRIVER_FUNCTION(cuMemAddressFree);
    return hipCUResultTohipError(function((CUdeviceptr)(uintptr_t)address, size_bytes));
}

static inline hipError_t tn_mem_create(tn_mapping_handle *mapping_out, size_t size_bytes,
                                       const tn_allocation_properties *properties,
                                       unsigned long long flags)
{
    TN_DRIVER_FUNCTION(cuMemCreate);
    CUmemAllocationProp driver_properties = tn_driver_properties(properties);
    CUmemGenericAllocationHandle mapping = 0;
    CUresult error = function(&mapping, size_bytes, &driver_properties, flags);
    if (error == CUDA_SUCCESS) *mapping_out = (tn_mapping_handle)(uintptr_t)mapping;
    return hipCUResultTohipError(error);
}

static inline hipError_t tn_mem_release(tn_mapping_handle mapping)
{
    TN_DRIVER_FUNCTION(cuMemRelease);
    return hipCUResultTohipError(function((CUmemGenericAllocationHandle)(uintptr_t)mapping));
}

static inline hipError_t tn_mem_export(void *shared_out, tn_mapping_handle mapping,
                                       CUmemAllocationHandleType type, unsigned long long flags)
{
    TN_DRIVER_FUNCTION(cuMemExportToShareableHandle);
    return hipCUResultTohipError(
        function(shared_out, (CUmemGenericAllocationHandle)(uintptr_t)mapping, type, flags));
}

static inline hipError_t tn_mem_map(void *address, size_t size_bytes, size_t offset_bytes,
                                    tn_mapping_handle mapping, unsigned long long flags)
{
    TN_DRIVER_FUNCTION(cuMemMap);
    return hipCUResultTohipError(function((CUdeviceptr)(uintptr_t)address, size_bytes, offset_bytes,
                                          (CUmemGenericAllocationHandle)(uintptr_t)mapping, flags));
}

static inline hipError_t tn_mem_unmap(void *address, size_t size_bytes)
{
    TN_DRIVER_FUNCTION(cuMemUnmap);
    return hipCUResultTohipError(function((CUdeviceptr)(uintptr_t)address, size_bytes));
}

/* For one device only: the backend needs no more. */
static inline hipError_t tn_mem_set_access(void *address, size_t size_bytes,
                                           const tn_access *access, size_t count)
{
    TN_DRIVER_FUNCTION(cuMemSetAccess);
    if (count != 1) return hipErrorNotSupported;
    CUmemAccessDesc driver_access = {
        .location = tn_driver_location(&access->location),
        .flags = access->flags,
    };
    return hipCUResultTohipError(
        function((CUdeviceptr)(uintptr_t)address, size_bytes, &driver_access, 1));
}

/* HIP 5.2 has no name for this attribute; see hip_range.c. */
static inline hipError_t tn_device_get_attribute(int *value_out, hipDeviceAttribute_t attribute,
                                                 int device)
{
    if ((int)attribute != (int)hipDeviceAttributeMemoryPoolsSupported + 1)
        return hipDeviceGetAttribute(value_out, attribute, device);
    TN_DRIVER_FUNCTION(cuDeviceGetAttribute);
    return hipCUResultTohipError(
        function(value_out, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, device));
}

#undef TN_DRIVER_FUNCTION

#undef hipMemGenericAllocationHandle_t
#undef hipMemAllocationTypePinned
#undef hipMemHandleTypePosixFileDescriptor
#undef hipMemLocationTypeDevice
#undef hipMemAccessFlagsProtReadWrite
#define hipMemGenericAllocationHandle_t        tn_mapping_handle
#define hipMemAllocationProp                   tn_allocation_properties
#define hipMemAccessDesc                       tn_access
#define hipMemAllocationTypePinned             cudaMemAllocationTypePinned
#define hipMemHandleTypePosixFileDescriptor    CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
#define hipMemLocationTypeDevice               cudaMemLocationTypeDevice
#define hipMemAccessFlagsProtReadWrite         CU_MEM_ACCESS_FLAGS_PROT_READWRITE
#define hipMemAllocationGranularityRecommended CU_MEM_ALLOC_GRANULARITY_RECOMMENDED
#define hipMemGetAllocationGranularity         tn_mem_get_granularity
#define hipMemAddressReserve                   tn_mem_address_reserve
#define hipMemAddressFree                      tn_mem_address_free
#define hipMemCreate                           tn_mem_create
#define hipMemRelease                          tn_mem_release
#define hipMemExportToShareableHandle          tn_mem_export
#define hipMemMap                              tn_mem_map
#define hipMemUnmap                            tn_mem_unmap
#define hipMemSetAccess                        tn_mem_set_access
#define hipDeviceGetAttribute                  tn_device_get_attribute

/* --- streams: names that 5.2 lacks --------------------------------------------------------------- */

static inline hipError_t tn_stream_get_id(hipStream_t stream, unsigned long long *id_out)
{
    return hipCUDAErrorTohipError(cudaStreamGetId(stream, id_out));
}

#define hipStreamGetId  tn_stream_get_id
#define hipStreamLegacy cudaStreamLegacy

/* --- captures ---------------------------------------------------------------------------------- */

static inline hipError_t tn_exchange_capture_mode(enum cudaStreamCaptureMode *mode)
{
    return hipCUDAErrorTohipError(cudaThreadExchangeStreamCaptureMode(mode));
}

#define hipThreadExchangeStreamCaptureMode tn_exchange_capture_mode

/* --- CUDA's own pool, for the benchmark: names that 5.2 lacks ----------------------------------- */

#undef hipMemPoolAttrReleaseThreshold
#undef hipMemPoolAttrReservedMemCurrent
#undef hipMemPoolAttrReservedMemHigh
#define hipMemPoolAttrReleaseThreshold   cudaMemPoolAttrReleaseThreshold
#define hipMemPoolAttrReservedMemCurrent cudaMemPoolAttrReservedMemCurrent
#define hipMemPoolAttrReservedMemHigh    cudaMemPoolAttrReservedMemHigh

#endif
