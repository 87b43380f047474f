/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * sim_hip_runtime: the functions of AMD's HIP runtime over the simulated devices, as far as they are not as CUDA's.
 *
 * What is modelled of the runtime besides memory, streams and events:
 *
 *   - Setting the current device creates nothing.
 *   - A call that fails overwrites the last error, NOT_READY included, as up to HIP 6; one that succeeds leaves it, as
 *     from HIP 7 on.
 *   - Without a driver or a device, hipGetDeviceCount answers NoDevice, versions are told, and every
 *     other answer is InvalidDevice, as in 5.2.
 *   - A stream that is NULL is the current device's. Work may go to another device's stream; a record
 *     may not.
 *   - A stream that is not there is ContextIsDestroyed, and InvalidHandle when it has to wait.
 *   - hipFree waits for the memory's device, as the manual says. hipHostFree and hipStreamDestroy do
 *     not, since it does not say so in every version.
 *   - The runtimes up to 7 let ranges pass while a stream is captured; this one does not.
 *   - A fill or copy beyond the end of an allocation is refused at once.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "../sim_runtime.h"

/* --- errors ------------------------------------------------------------------------------------- */

hipError_t sim_runtime_error_of(sim_status status)
{
    if (status > SIM_STATUS_COUNT) return (hipError_t)(status - SIM_STATUS_COUNT);
    switch (status) {
    case SIM_STATUS_OK:
        return hipSuccess;
    case SIM_STATUS_NOT_READY:
        return hipErrorNotReady;
    case SIM_STATUS_OUT_OF_MEMORY:
    case SIM_STATUS_OUT_OF_HOST_MEMORY:
        return hipErrorOutOfMemory;
    case SIM_STATUS_INVALID_VALUE:
    case SIM_STATUS_INVALID_SIZE:
    case SIM_STATUS_INVALID_ALIGNMENT:
    case SIM_STATUS_INVALID_ADDRESS:
    case SIM_STATUS_ALREADY_MAPPED:
    case SIM_STATUS_NOT_MAPPED:
    case SIM_STATUS_STILL_MAPPED:
        return hipErrorInvalidValue;
    case SIM_STATUS_INVALID_HANDLE:
    case SIM_STATUS_WRONG_DEVICE:
        return hipErrorInvalidHandle;
    case SIM_STATUS_INVALID_DEVICE:
    case SIM_STATUS_NO_DRIVER:
    case SIM_STATUS_NO_DEVICE:
        return hipErrorInvalidDevice;
    case SIM_STATUS_NOT_SUPPORTED:
        return hipErrorNotSupported;
    case SIM_STATUS_DRIVER_TOO_OLD:
        return hipErrorInsufficientDriver;
    case SIM_STATUS_UNLOADING:
        return hipErrorDeinitialized;
    case SIM_STATUS_DEVICE_LOST:
        return hipErrorECCNotCorrectable;
    case SIM_STATUS_CONTEXT_DESTROYED:
        return hipErrorContextIsDestroyed;
    case SIM_STATUS_ACCESS_FAULT:
        return hipErrorIllegalAddress;
    case SIM_STATUS_CAPTURING:
        return hipErrorStreamCaptureUnsupported;
    case SIM_STATUS_HANG:
        return hipErrorLaunchTimeOut;
    case SIM_STATUS_UNKNOWN:
    case SIM_STATUS_COUNT:
        break;
    }
    return hipErrorUnknown;
}

hipError_t sim_runtime_missing(void)
{
    sim_driver driver = sim_get_settings().driver;
    if (driver == SIM_DRIVER_ABSENT) return sim_runtime_error_of(SIM_STATUS_NO_DRIVER);
    if (driver == SIM_DRIVER_TOO_OLD) return sim_runtime_error_of(SIM_STATUS_DRIVER_TOO_OLD);
    return sim_runtime_error_of(sim_device_count() == 0 ? SIM_STATUS_NO_DEVICE : SIM_STATUS_OK);
}

/* --- devices ------------------------------------------------------------------------------------ */

/* Driver and runtime are one, and its version is known without a device. */
static hipError_t get_version(const char *name, int *version)
{
    sim_status status = sim_enter_without_driver(name);
    if (status == SIM_STATUS_OK) *version = HIP_VERSION;
    return sim_runtime_answer(status);
}

hipError_t hipDriverGetVersion(int *version)
{
    return get_version("hipDriverGetVersion", version);
}

hipError_t hipRuntimeGetVersion(int *version)
{
    return get_version("hipRuntimeGetVersion", version);
}

hipError_t hipGetDeviceCount(int *count)
{
    sim_status status = sim_runtime_begin_without_context("hipGetDeviceCount");
    if (status == SIM_STATUS_OK) *count = sim_device_count();
    if (status == SIM_STATUS_NO_DRIVER || status == SIM_STATUS_NO_DEVICE)
        return sim_runtime_answer_error(hipErrorNoDevice);
    return sim_runtime_answer(status);
}

static bool is_device(int device)
{
    return device >= 0 && device < sim_device_count();
}

hipError_t hipSetDevice(int device)
{
    sim_status status = sim_runtime_begin_without_context("hipSetDevice");
    if (status == SIM_STATUS_OK && !is_device(device)) status = SIM_STATUS_INVALID_DEVICE;
    if (status == SIM_STATUS_OK) sim_runtime_set_device(device);
    return sim_runtime_answer(status);
}

hipError_t hipDeviceGetName(char *name, int bytes, int device)
{
    sim_status status = sim_runtime_begin_without_context("hipDeviceGetName");
    if (status == SIM_STATUS_OK) status = sim_device_check(device);
    if (status == SIM_STATUS_OK) snprintf(name, (size_t)bytes, "simulated HIP device %d", device);
    return sim_runtime_answer(status);
}

hipError_t hipDeviceTotalMem(size_t *bytes, int device)
{
    sim_status status = sim_runtime_begin_without_context("hipDeviceTotalMem");
    if (status == SIM_STATUS_OK) status = sim_device_check(device);
    if (status == SIM_STATUS_OK) *bytes = sim_get_settings().memory_bytes;
    return sim_runtime_answer(status);
}

/* Whether there are ranges has no name in 5.2, and is the next after this one. */
#define ATTRIBUTE_HAS_RANGES ((int)hipDeviceAttributeMemoryPoolsSupported + 1)

static sim_status get_attribute(int attribute, int device, int *value)
{
    sim_settings settings = sim_get_settings();
    if (attribute == (int)hipDeviceAttributeCanMapHostMemory) {
        *value = settings.has_kind[SIM_MEMORY_KIND_PINNED];
    } else if (attribute == (int)hipDeviceAttributeManagedMemory) {
        *value = settings.has_kind[SIM_MEMORY_KIND_SHARED];
    } else if (attribute == (int)hipDeviceAttributeConcurrentManagedAccess) {
        *value = settings.spills_to_host;
    } else if (attribute == (int)hipDeviceAttributeIntegrated) {
        *value = 0;
    } else if (attribute == (int)hipDeviceAttributeMemoryPoolsSupported) {
        *value = settings.has_pools;
    } else if (attribute == ATTRIBUTE_HAS_RANGES && settings.driver != SIM_DRIVER_WITHOUT_EXTRAS) {
        *value = settings.has_ranges;
    } else {
        return SIM_STATUS_INVALID_VALUE;
    }
    if (device == settings.poor_device) *value = 0;
    return SIM_STATUS_OK;
}

hipError_t hipDeviceGetAttribute(int *value, hipDeviceAttribute_t attribute, int device)
{
    sim_status status = sim_runtime_begin_without_context("hipDeviceGetAttribute");
    if (status == SIM_STATUS_OK && !is_device(device)) status = SIM_STATUS_INVALID_DEVICE;
    if (status == SIM_STATUS_OK) status = get_attribute((int)attribute, device, value);
    return sim_runtime_answer(status);
}

/* --- memory ------------------------------------------------------------------------------------- */

hipError_t hipHostMalloc(void **address, size_t size_bytes, unsigned flags)
{
    const unsigned both = hipHostMallocCoherent | hipHostMallocNonCoherent;
    sim_status status = sim_runtime_begin_unsafe("hipHostMalloc");
    if (status == SIM_STATUS_OK && (flags & both) == both) status = SIM_STATUS_INVALID_VALUE;
    if (status == SIM_STATUS_OK)
        status = sim_runtime_alloc(SIM_MEMORY_KIND_PINNED, size_bytes, flags, address);
    return sim_runtime_answer(status);
}

hipError_t hipMallocManaged(void **address, size_t size_bytes, unsigned flags)
{
    sim_status status = sim_runtime_begin_unsafe("hipMallocManaged");
    if (status == SIM_STATUS_OK &&
        (size_bytes == 0 || (flags != hipMemAttachGlobal && flags != hipMemAttachHost)))
        status = SIM_STATUS_INVALID_VALUE;
    if (status == SIM_STATUS_OK)
        status = sim_runtime_alloc(SIM_MEMORY_KIND_SHARED, size_bytes, flags, address);
    return sim_runtime_answer(status);
}

hipError_t hipFree(void *address)
{
    sim_memory memory;
    sim_status status = sim_runtime_begin_unsafe("hipFree");
    if (status != SIM_STATUS_OK || !address) return sim_runtime_answer(status);
    status = sim_runtime_find_kind(address, false, &memory);
    if (status == SIM_STATUS_OK) status = sim_device_synchronize(memory.device);
    if (status == SIM_STATUS_OK) status = sim_free(address);
    return sim_runtime_answer(status);
}

hipError_t hipHostFree(void *address)
{
    sim_memory memory;
    sim_status status = sim_runtime_begin_unsafe("hipHostFree");
    if (status != SIM_STATUS_OK || !address) return sim_runtime_answer(status);
    status = sim_runtime_find_kind(address, true, &memory);
    if (status == SIM_STATUS_OK) status = sim_free(address);
    return sim_runtime_answer(status);
}

/* The type has another name, and other numbers, from 6 on, and nobody here asks for it. */
hipError_t hipPointerGetAttributes(hipPointerAttribute_t *attributes, const void *address)
{
    sim_memory memory;
    sim_status status = sim_runtime_begin("hipPointerGetAttributes");
    if (status == SIM_STATUS_OK && !sim_memory_find(address, &memory))
        status = SIM_STATUS_INVALID_VALUE;
    if (status == SIM_STATUS_OK) {
        *attributes = (hipPointerAttribute_t){
            .device = memory.device,
            .devicePointer = (void *)(uintptr_t)address,
            .isManaged = memory.kind == SIM_MEMORY_KIND_SHARED,
        };
        if (memory.kind != SIM_MEMORY_KIND_DEVICE)
            attributes->hostPointer = (void *)(uintptr_t)address;
    }
    return sim_runtime_answer(status);
}

/* The only attribute that somebody asks for. */
hipError_t hipPointerGetAttribute(void *value, hipPointer_attribute attribute,
                                  hipDeviceptr_t address)
{
    sim_memory memory;
    sim_status status = sim_runtime_begin("hipPointerGetAttribute");
    if (status == SIM_STATUS_OK &&
        (attribute != HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR || !sim_memory_find(address, &memory)))
        status = SIM_STATUS_INVALID_VALUE;
    if (status == SIM_STATUS_OK) memcpy(value, &memory.address, sizeof memory.address);
    return sim_runtime_answer(status);
}

/* --- streams ------------------------------------------------------------------------------------ */

hipError_t hipStreamDestroy(hipStream_t stream)
{
    sim_status status = sim_runtime_begin("hipStreamDestroy");
    if (status == SIM_STATUS_OK && !stream) return sim_runtime_answer(SIM_STATUS_INVALID_HANDLE);
    if (status == SIM_STATUS_OK) status = sim_stream_destroy(sim_runtime_stream(stream));
    return sim_runtime_answer_of_stream(status);
}

/* --- events ------------------------------------------------------------------------------------- */

hipError_t hipEventDestroy(hipEvent_t event)
{
    sim_status status = sim_runtime_begin("hipEventDestroy");
    if (status == SIM_STATUS_OK && !event) return sim_runtime_answer(SIM_STATUS_INVALID_HANDLE);
    if (status == SIM_STATUS_OK) status = sim_event_destroy(sim_runtime_event(event));
    return sim_runtime_answer_of_stream(status);
}

hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream)
{
    int device;
    sim_status status = sim_runtime_begin("hipEventRecord");
    if (status == SIM_STATUS_OK) status = sim_stream_find(sim_runtime_stream(stream), &device);
    if (status == SIM_STATUS_INVALID_HANDLE) return sim_runtime_answer_of_stream(status);
    if (status == SIM_STATUS_OK)
        status = sim_event_record(sim_runtime_event(event), sim_runtime_stream(stream));
    return sim_runtime_answer(status);
}

/* --- data --------------------------------------------------------------------------------------- */

/* Memory that the runtime knows is large enough. What is mapped it knows as one with its range. */
static sim_status check_end(const void *address, size_t size_bytes)
{
    sim_memory memory;
    if (!sim_memory_find(address, &memory) || memory.is_mapping) return SIM_STATUS_OK;
    size_t offset_bytes = (size_t)((uintptr_t)address - (uintptr_t)memory.address);
    return size_bytes <= memory.size_bytes - offset_bytes ? SIM_STATUS_OK
                                                          : SIM_STATUS_INVALID_VALUE;
}

static hipError_t fill(const char *name, void *address, unsigned char byte, size_t size_bytes,
                       hipStream_t stream)
{
    sim_memory memory;
    sim_status status = sim_runtime_begin(name);
    if (status == SIM_STATUS_OK && size_bytes > 0 && !sim_memory_find(address, &memory))
        status = SIM_STATUS_INVALID_ADDRESS;
    if (status == SIM_STATUS_OK) status = check_end(address, size_bytes);
    if (status == SIM_STATUS_OK)
        status = sim_fill(sim_runtime_stream(stream), address, &byte, 1, size_bytes);
    return sim_runtime_answer(status);
}

hipError_t hipMemsetD8Async(hipDeviceptr_t address, unsigned char value, size_t size_bytes,
                            hipStream_t stream)
{
    return fill("hipMemsetD8Async", address, value, size_bytes, stream);
}

hipError_t hipMemsetAsync(void *address, int value, size_t size_bytes, hipStream_t stream)
{
    return fill("hipMemsetAsync", address, (unsigned char)value, size_bytes, stream);
}

hipError_t hipMemcpyAsync(void *destination, const void *source, size_t size_bytes,
                          hipMemcpyKind kind, hipStream_t stream)
{
    sim_status status = sim_runtime_begin("hipMemcpyAsync");
    if (status == SIM_STATUS_OK && (unsigned)kind > hipMemcpyDefault)
        status = SIM_STATUS_INVALID_VALUE;
    if (status == SIM_STATUS_OK) status = check_end(destination, size_bytes);
    if (status == SIM_STATUS_OK) status = check_end(source, size_bytes);
    if (status == SIM_STATUS_OK)
        status = sim_copy(sim_runtime_stream(stream), destination, source, size_bytes);
    return sim_runtime_answer(status);
}
