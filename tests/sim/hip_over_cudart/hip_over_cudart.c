/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* hip_over_cudart: memory, streams, events, and what answers mean. */
#include "hip_over_cudart.h"

#include <stdio.h>
#include <string.h>

/* --- errors ------------------------------------------------------------------------------------- */

#define ERRORS(X)                                                          \
    X(hipSuccess, cudaSuccess)                                             \
    X(hipErrorInvalidValue, cudaErrorInvalidValue)                         \
    X(hipErrorOutOfMemory, cudaErrorMemoryAllocation)                      \
    X(hipErrorNotInitialized, cudaErrorInitializationError)                \
    X(hipErrorDeinitialized, cudaErrorCudartUnloading)                     \
    X(hipErrorInvalidDevicePointer, cudaErrorInvalidDevicePointer)         \
    X(hipErrorInvalidMemcpyDirection, cudaErrorInvalidMemcpyDirection)     \
    X(hipErrorInsufficientDriver, cudaErrorInsufficientDriver)             \
    X(hipErrorNoDevice, cudaErrorNoDevice)                                 \
    X(hipErrorInvalidDevice, cudaErrorInvalidDevice)                       \
    X(hipErrorInvalidContext, cudaErrorDeviceUninitialized)                \
    X(hipErrorMapFailed, cudaErrorMapBufferObjectFailed)                   \
    X(hipErrorUnmapFailed, cudaErrorUnmapBufferObjectFailed)               \
    X(hipErrorECCNotCorrectable, cudaErrorECCUncorrectable)                \
    X(hipErrorOperatingSystem, cudaErrorOperatingSystem)                   \
    X(hipErrorInvalidHandle, cudaErrorInvalidResourceHandle)               \
    X(hipErrorNotFound, cudaErrorSymbolNotFound)                           \
    X(hipErrorNotReady, cudaErrorNotReady)                                 \
    X(hipErrorIllegalAddress, cudaErrorIllegalAddress)                     \
    X(hipErrorLaunchOutOfResources, cudaErrorLaunchOutOfResources)         \
    X(hipErrorLaunchTimeOut, cudaErrorLaunchTimeout)                       \
    X(hipErrorContextIsDestroyed, cudaErrorContextIsDestroyed)             \
    X(hipErrorLaunchFailure, cudaErrorLaunchFailure)                       \
    X(hipErrorNotSupported, cudaErrorNotSupported)                         \
    X(hipErrorStreamCaptureUnsupported, cudaErrorStreamCaptureUnsupported) \
    X(hipErrorStreamCaptureInvalidated, cudaErrorStreamCaptureInvalidated) \
    X(hipErrorStreamCaptureImplicit, cudaErrorStreamCaptureImplicit)       \
    X(hipErrorCapturedEvent, cudaErrorCapturedEvent)                       \
    X(hipErrorStreamCaptureWrongThread, cudaErrorStreamCaptureWrongThread)

hipError_t hip_over_cudart_error(int cuda_error)
{
    switch (cuda_error) {
#define CASE(hip, cuda) \
    case cuda:          \
        return hip;
        ERRORS(CASE)
#undef CASE
    default:
        return hipErrorUnknown;
    }
}

static hipError_t answer(cudaError_t error)
{
    return hip_over_cudart_error((int)error);
}

const char *hipGetErrorName(hipError_t error)
{
    switch ((int)error) {
#define CASE(hip, cuda) \
    case hip:           \
        return #hip;
        ERRORS(CASE)
#undef CASE
    default:
        return "hipErrorUnknown";
    }
}

/* CUDA's sentence, since it is CUDA that has something to say. */
const char *hipGetErrorString(hipError_t error)
{
    switch ((int)error) {
#define CASE(hip, cuda) \
    case hip:           \
        return cudaGetErrorString(cuda);
        ERRORS(CASE)
#undef CASE
    default:
        return "unknown error";
    }
}

hipError_t hipGetLastError(void)
{
    return answer(cudaGetLastError());
}

hipError_t hipPeekAtLastError(void)
{
    return answer(cudaPeekAtLastError());
}

/* --- devices ------------------------------------------------------------------------------------ */

hipError_t hipDriverGetVersion(int *version)
{
    return answer(cudaDriverGetVersion(version));
}

hipError_t hipRuntimeGetVersion(int *version)
{
    return answer(cudaRuntimeGetVersion(version));
}

hipError_t hipGetDeviceCount(int *count)
{
    return answer(cudaGetDeviceCount(count));
}

hipError_t hipGetDevice(int *device)
{
    return answer(cudaGetDevice(device));
}

hipError_t hipSetDevice(int device)
{
    return answer(cudaSetDevice(device));
}

hipError_t hipDeviceGetName(char *name, int bytes, hipDevice_t device)
{
    struct cudaDeviceProp found;
    cudaError_t error = cudaGetDeviceProperties(&found, device);
    if (error == cudaSuccess) snprintf(name, (size_t)bytes, "%s", found.name);
    return answer(error);
}

hipError_t hipDeviceTotalMem(size_t *bytes, hipDevice_t device)
{
    struct cudaDeviceProp found;
    cudaError_t error = cudaGetDeviceProperties(&found, device);
    if (error == cudaSuccess) *bytes = found.totalGlobalMem;
    return answer(error);
}

/* Only the driver has a name for it. */
static hipError_t has_ranges(int *value, int device)
{
    __typeof__(cuDeviceGetAttribute) *get_attribute;
    hipError_t error = hip_over_cudart_find("cuDeviceGetAttribute", &get_attribute);
    if (error != hipSuccess) return error;
    return hip_over_cudart_error(
        (int)get_attribute(value, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, device));
}

hipError_t hipDeviceGetAttribute(int *value, hipDeviceAttribute_t attribute, int device)
{
    switch ((int)attribute) {
    case hipDeviceAttributeCanMapHostMemory:
        return answer(cudaDeviceGetAttribute(value, cudaDevAttrCanMapHostMemory, device));
    case hipDeviceAttributeManagedMemory:
        return answer(cudaDeviceGetAttribute(value, cudaDevAttrManagedMemory, device));
    case hipDeviceAttributeConcurrentManagedAccess:
        return answer(cudaDeviceGetAttribute(value, cudaDevAttrConcurrentManagedAccess, device));
    case hipDeviceAttributeIntegrated:
        return answer(cudaDeviceGetAttribute(value, cudaDevAttrIntegrated, device));
    case hipDeviceAttributeMemoryPoolsSupported:
        return answer(cudaDeviceGetAttribute(value, cudaDevAttrMemoryPoolsSupported, device));
    case hipDeviceAttributeMemoryPoolsSupported + 1: /* has no name in 5.2 */
        return has_ranges(value, device);
    default:
        return hipErrorInvalidValue;
    }
}

hipError_t hipMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
    return answer(cudaMemGetInfo(free_bytes, total_bytes));
}

hipError_t hipDeviceSynchronize(void)
{
    return answer(cudaDeviceSynchronize());
}

hipError_t hip_over_cudart_find(const char *name, void *function_out)
{
    enum cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
    void *function = NULL;
    cudaError_t error =
        cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &found);
    if (error != cudaSuccess) return answer(error);
    if (!function) return hipErrorNotSupported;
    memcpy(function_out, &function, sizeof function);
    return hipSuccess;
}

/* --- captures ----------------------------------------------------------------------------------- */

_Static_assert((int)hipStreamCaptureModeGlobal == cudaStreamCaptureModeGlobal, "one number");
_Static_assert((int)hipStreamCaptureModeThreadLocal == cudaStreamCaptureModeThreadLocal,
               "one number");
_Static_assert((int)hipStreamCaptureModeRelaxed == cudaStreamCaptureModeRelaxed, "one number");

hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode *mode)
{
    enum cudaStreamCaptureMode exchanged = (enum cudaStreamCaptureMode) * mode;
    cudaError_t error = cudaThreadExchangeStreamCaptureMode(&exchanged);
    if (error == cudaSuccess) *mode = (hipStreamCaptureMode)exchanged;
    return answer(error);
}

/* --- memory ------------------------------------------------------------------------------------- */

_Static_assert(hipHostMallocPortable == cudaHostAllocPortable, "one flag");
_Static_assert(hipHostMallocMapped == cudaHostAllocMapped, "one flag");
_Static_assert(hipMemAttachGlobal == cudaMemAttachGlobal, "one flag");

hipError_t hipMalloc(void **address, size_t size_bytes)
{
    return answer(cudaMalloc(address, size_bytes));
}

hipError_t hipHostMalloc(void **address, size_t size_bytes, unsigned flags)
{
    if (flags & ~(unsigned)(hipHostMallocPortable | hipHostMallocMapped))
        return hipErrorNotSupported;
    return answer(cudaHostAlloc(address, size_bytes, flags));
}

hipError_t hipMallocManaged(void **address, size_t size_bytes, unsigned flags)
{
    if (flags != hipMemAttachGlobal) return hipErrorNotSupported;
    return answer(cudaMallocManaged(address, size_bytes, flags));
}

hipError_t hipFree(void *address)
{
    return answer(cudaFree(address));
}

hipError_t hipHostFree(void *address)
{
    return answer(cudaFreeHost(address));
}

/* The device and the addresses; the type has other names and numbers in each version. */
hipError_t hipPointerGetAttributes(hipPointerAttribute_t *attributes, const void *address)
{
    struct cudaPointerAttributes found;
    cudaError_t error = cudaPointerGetAttributes(&found, address);
    if (error != cudaSuccess) return answer(error);
    if (found.type == cudaMemoryTypeUnregistered) return hipErrorInvalidValue;
    memset(attributes, 0, sizeof *attributes);
    attributes->device = found.device;
    attributes->devicePointer = found.devicePointer;
    attributes->hostPointer = found.hostPointer;
    attributes->isManaged = found.type == cudaMemoryTypeManaged;
    return hipSuccess;
}

/* The only attribute that is asked for: where the allocation or the mapping begins. */
hipError_t hipPointerGetAttribute(void *value, hipPointer_attribute attribute,
                                  hipDeviceptr_t address)
{
    __typeof__(cuPointerGetAttribute) *get_attribute;
    hipError_t error = hip_over_cudart_find("cuPointerGetAttribute", &get_attribute);
    if (error != hipSuccess) return error;
    if (attribute != HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR) return hipErrorNotSupported;
    return hip_over_cudart_error((int)get_attribute(value, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                                    (CUdeviceptr)(uintptr_t)address));
}

/* --- streams ------------------------------------------------------------------------------------ */

_Static_assert(hipStreamDefault == cudaStreamDefault, "one flag");
_Static_assert(hipStreamNonBlocking == cudaStreamNonBlocking, "one flag");

static cudaStream_t stream_of(hipStream_t stream)
{
    return (cudaStream_t)(void *)stream;
}

static cudaEvent_t event_of(hipEvent_t event)
{
    return (cudaEvent_t)(void *)event;
}

hipError_t hipStreamCreateWithFlags(hipStream_t *stream, unsigned flags)
{
    cudaStream_t created;
    cudaError_t error = cudaStreamCreateWithFlags(&created, flags);
    if (error == cudaSuccess) *stream = (hipStream_t)(void *)created;
    return answer(error);
}

hipError_t hipStreamDestroy(hipStream_t stream)
{
    return answer(cudaStreamDestroy(stream_of(stream)));
}

hipError_t hipStreamSynchronize(hipStream_t stream)
{
    return answer(cudaStreamSynchronize(stream_of(stream)));
}

hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned flags)
{
    return answer(cudaStreamWaitEvent(stream_of(stream), event_of(event), flags));
}

/* --- events ------------------------------------------------------------------------------------- */

_Static_assert(hipEventDisableTiming == cudaEventDisableTiming, "one flag");

hipError_t hipEventCreateWithFlags(hipEvent_t *event, unsigned flags)
{
    cudaEvent_t created;
    if (flags & ~(unsigned)hipEventDisableTiming) return hipErrorNotSupported;
    cudaError_t error = cudaEventCreateWithFlags(&created, flags);
    if (error == cudaSuccess) *event = (hipEvent_t)(void *)created;
    return answer(error);
}

hipError_t hipEventDestroy(hipEvent_t event)
{
    return answer(cudaEventDestroy(event_of(event)));
}

hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream)
{
    return answer(cudaEventRecord(event_of(event), stream_of(stream)));
}

hipError_t hipEventQuery(hipEvent_t event)
{
    return answer(cudaEventQuery(event_of(event)));
}

hipError_t hipEventSynchronize(hipEvent_t event)
{
    return answer(cudaEventSynchronize(event_of(event)));
}

/* --- data --------------------------------------------------------------------------------------- */

hipError_t hipMemsetD8Async(hipDeviceptr_t address, unsigned char value, size_t size_bytes,
                            hipStream_t stream)
{
    return answer(cudaMemsetAsync(address, value, size_bytes, stream_of(stream)));
}

hipError_t hipMemcpyAsync(void *destination, const void *source, size_t size_bytes,
                          hipMemcpyKind kind, hipStream_t stream)
{
    if (kind != hipMemcpyDefault) return hipErrorNotSupported;
    return answer(
        cudaMemcpyAsync(destination, source, size_bytes, cudaMemcpyDefault, stream_of(stream)));
}
