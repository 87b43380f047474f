/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * sim_hip_runtime: the functions of AMD's HIP runtime over the simulated devices.
 *
 * What is modelled of the runtime besides memory, streams and events:
 *
 *   - Each thread has a current device, 0 at first. Setting one creates nothing.
 *   - Each thread has a last error. A call that fails overwrites it, NOT_READY included, as up to
 *     HIP 6; one that succeeds leaves it, as from HIP 7 on; hipGetLastError takes it out.
 *   - Without a driver or a device, hipGetDeviceCount answers NoDevice, versions are told, and every
 *     other answer is InvalidDevice, as in 5.2.
 *   - A stream that is NULL is the current device's. Work may go to another device's stream; a record
 *     may not.
 *   - A stream that is not there is ContextIsDestroyed, and InvalidHandle when it has to wait.
 *   - hipFree waits for the memory's device, as the manual says. hipHostFree and hipStreamDestroy do
 *     not, since it does not say so in every version.
 *   - While a stream is captured, what takes, gives back or looks at memory, and what waits for work or asks
 *     after it, is refused and spoils the capture, in threads whose mode is not relaxed; a wait for the
 *     device is refused in all. The runtimes up to 7 let ranges and hipMemGetInfo pass.
 *   - A fill or copy beyond the end of an allocation is refused at once.
 */
#include <stdint.h>
#include <stdio.h>

#include "sim_hip.h"

/* --- what a thread has -------------------------------------------------------------------------- */

static _Thread_local struct {
    unsigned generation; /* of the simulation when the rest was written */
    int device;
    hipError_t last_error;
} of_thread;

static void renew_thread(void)
{
    unsigned generation = sim_generation();
    if (of_thread.generation == generation) return;
    of_thread.generation = generation;
    of_thread.device = 0;
    of_thread.last_error = hipSuccess;
}

static int current_device(void)
{
    renew_thread();
    return of_thread.device;
}

/* --- errors ------------------------------------------------------------------------------------- */

static hipError_t error_of(sim_status status)
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

static hipError_t answer_error(hipError_t error)
{
    renew_thread();
    if (error != hipSuccess) of_thread.last_error = error;
    return error;
}

hipError_t sim_hip_answer(sim_status status)
{
    return answer_error(error_of(status));
}

/* The same for what is asked about a stream. */
static hipError_t answer_of_stream(sim_status status)
{
    if (status == SIM_STATUS_INVALID_HANDLE) return answer_error(hipErrorContextIsDestroyed);
    return sim_hip_answer(status);
}

/* OK when there is a device. */
static sim_status device_status(void)
{
    sim_driver driver = sim_get_settings().driver;
    if (driver == SIM_DRIVER_ABSENT) return SIM_STATUS_NO_DRIVER;
    if (driver == SIM_DRIVER_TOO_OLD) return SIM_STATUS_DRIVER_TOO_OLD;
    return sim_device_count() == 0 ? SIM_STATUS_NO_DEVICE : SIM_STATUS_OK;
}

hipError_t hipGetLastError(void)
{
    sim_note("hipGetLastError");
    if (device_status() != SIM_STATUS_OK) return error_of(device_status());
    renew_thread();
    hipError_t error = of_thread.last_error;
    of_thread.last_error = hipSuccess;
    return error;
}

hipError_t hipPeekAtLastError(void)
{
    sim_note("hipPeekAtLastError");
    if (device_status() != SIM_STATUS_OK) return error_of(device_status());
    renew_thread();
    return of_thread.last_error;
}

#define RUNTIME_ERRORS(X)         \
    X(hipSuccess)                 \
    X(hipErrorInvalidValue)       \
    X(hipErrorOutOfMemory)        \
    X(hipErrorDeinitialized)      \
    X(hipErrorInsufficientDriver) \
    X(hipErrorNoDevice)           \
    X(hipErrorInvalidDevice)      \
    X(hipErrorInvalidHandle)      \
    X(hipErrorNotReady)           \
    X(hipErrorIllegalAddress)     \
    X(hipErrorLaunchTimeOut)      \
    X(hipErrorContextIsDestroyed) \
    X(hipErrorMapFailed)          \
    X(hipErrorECCNotCorrectable)  \
    X(hipErrorNotSupported)       \
    X(hipErrorStreamCaptureUnsupported)

const char *hipGetErrorName(hipError_t error)
{
    sim_note("hipGetErrorName");
    switch ((int)error) {
#define CASE(code) \
    case code:     \
        return #code;
        RUNTIME_ERRORS(CASE)
#undef CASE
    default:
        return "hipErrorUnknown";
    }
}

/* HIP's sentences were the names up to 5.2, and are sentences since. */
const char *hipGetErrorString(hipError_t error)
{
    sim_note("hipGetErrorString");
    switch ((int)error) {
#define CASE(code) \
    case code:     \
        return "simulated " #code;
        RUNTIME_ERRORS(CASE)
#undef CASE
    default:
        return "unknown error";
    }
}

/* --- beginning a call --------------------------------------------------------------------------- */

/* What needs a driver and a device, whichever. */
static sim_status begin(const char *name)
{
    sim_status status = sim_enter(name);
    if (status == SIM_STATUS_OK && sim_device_count() == 0) status = SIM_STATUS_NO_DEVICE;
    return status;
}

sim_status sim_hip_begin(const char *name)
{
    sim_status status = begin(name);
    if (status == SIM_STATUS_OK) status = sim_context_activate(current_device());
    return status;
}

sim_status sim_hip_begin_unsafe(const char *name)
{
    sim_status status = sim_hip_begin(name);
    return status == SIM_STATUS_OK ? sim_capture_check(SIM_CAPTURE_RULE_UNSAFE) : status;
}

/* --- devices ------------------------------------------------------------------------------------ */

/* Driver and runtime are one, and its version is known without a device. */
static hipError_t get_version(const char *name, int *version)
{
    sim_status status = sim_enter_without_driver(name);
    if (status == SIM_STATUS_OK) *version = HIP_VERSION;
    return sim_hip_answer(status);
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
    sim_status status = begin("hipGetDeviceCount");
    if (status == SIM_STATUS_OK) *count = sim_device_count();
    if (status == SIM_STATUS_NO_DRIVER || status == SIM_STATUS_NO_DEVICE)
        return answer_error(hipErrorNoDevice);
    return sim_hip_answer(status);
}

hipError_t hipGetDevice(int *device)
{
    sim_status status = begin("hipGetDevice");
    if (status == SIM_STATUS_OK) *device = current_device();
    return sim_hip_answer(status);
}

static bool is_device(int device)
{
    return device >= 0 && device < sim_device_count();
}

hipError_t hipSetDevice(int device)
{
    sim_status status = begin("hipSetDevice");
    if (status == SIM_STATUS_OK && !is_device(device)) status = SIM_STATUS_INVALID_DEVICE;
    renew_thread();
    if (status == SIM_STATUS_OK) of_thread.device = device;
    return sim_hip_answer(status);
}

hipError_t hipGetDeviceProperties(hipDeviceProp_t *properties, int device)
{
    sim_status status = begin("hipGetDeviceProperties");
    if (status == SIM_STATUS_OK) status = sim_device_check(device);
    if (status == SIM_STATUS_OK) {
        *properties = (hipDeviceProp_t){ .totalGlobalMem = sim_get_settings().memory_bytes };
        snprintf(properties->name, sizeof properties->name, "simulated HIP device %d", device);
    }
    return sim_hip_answer(status);
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
    sim_status status = begin("hipDeviceGetAttribute");
    if (status == SIM_STATUS_OK && !is_device(device)) status = SIM_STATUS_INVALID_DEVICE;
    if (status == SIM_STATUS_OK) status = get_attribute((int)attribute, device, value);
    return sim_hip_answer(status);
}

hipError_t hipMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
    sim_status status = sim_hip_begin_unsafe("hipMemGetInfo");
    if (status == SIM_STATUS_OK)
        status = sim_memory_info(current_device(), total_bytes, free_bytes);
    return sim_hip_answer(status);
}

hipError_t hipDeviceSynchronize(void)
{
    sim_status status = sim_hip_begin("hipDeviceSynchronize");
    if (status == SIM_STATUS_OK) status = sim_capture_check(SIM_CAPTURE_RULE_CONFLICTS);
    if (status == SIM_STATUS_OK) status = sim_device_synchronize(current_device());
    return sim_hip_answer(status);
}

/* --- memory ------------------------------------------------------------------------------------- */

/* The flags are kept with the memory. */
static sim_status alloc(sim_memory_kind kind, size_t size_bytes, unsigned flags, void **address)
{
    if (size_bytes == 0) {
        *address = NULL;
        return SIM_STATUS_OK;
    }
    sim_status status = sim_alloc(current_device(), kind, size_bytes, 0, address);
    /* Too large is no reason of its own here. */
    if (status == SIM_STATUS_INVALID_SIZE) status = SIM_STATUS_OUT_OF_MEMORY;
    if (status == SIM_STATUS_OK)
        status = sim_memory_set_owner(*address, (const void *)(uintptr_t)flags);
    return status;
}

static unsigned flags_of(const sim_memory *memory)
{
    return (unsigned)(uintptr_t)memory->owner;
}

hipError_t hipMalloc(void **address, size_t size_bytes)
{
    sim_status status = sim_hip_begin_unsafe("hipMalloc");
    if (status == SIM_STATUS_OK) status = alloc(SIM_MEMORY_KIND_DEVICE, size_bytes, 0, address);
    return sim_hip_answer(status);
}

hipError_t hipHostMalloc(void **address, size_t size_bytes, unsigned flags)
{
    const unsigned both = hipHostMallocCoherent | hipHostMallocNonCoherent;
    sim_status status = sim_hip_begin_unsafe("hipHostMalloc");
    if (status == SIM_STATUS_OK && (flags & both) == both) status = SIM_STATUS_INVALID_VALUE;
    if (status == SIM_STATUS_OK) status = alloc(SIM_MEMORY_KIND_PINNED, size_bytes, flags, address);
    return sim_hip_answer(status);
}

hipError_t hipMallocManaged(void **address, size_t size_bytes, unsigned flags)
{
    sim_status status = sim_hip_begin_unsafe("hipMallocManaged");
    if (status == SIM_STATUS_OK &&
        (size_bytes == 0 || (flags != hipMemAttachGlobal && flags != hipMemAttachHost)))
        status = SIM_STATUS_INVALID_VALUE;
    if (status == SIM_STATUS_OK) status = alloc(SIM_MEMORY_KIND_SHARED, size_bytes, flags, address);
    return sim_hip_answer(status);
}

/* Each kind has its own function to free it; `pinned` says which this is. */
static sim_status find_kind(void *address, bool pinned, sim_memory *memory_out)
{
    if (!sim_memory_find(address, memory_out)) return SIM_STATUS_INVALID_ADDRESS;
    bool is_pinned = memory_out->kind == SIM_MEMORY_KIND_PINNED;
    return is_pinned == pinned ? SIM_STATUS_OK : SIM_STATUS_INVALID_ADDRESS;
}

hipError_t hipFree(void *address)
{
    sim_memory memory;
    sim_status status = sim_hip_begin_unsafe("hipFree");
    if (status != SIM_STATUS_OK || !address) return sim_hip_answer(status);
    status = find_kind(address, false, &memory);
    if (status == SIM_STATUS_OK) status = sim_device_synchronize(memory.device);
    if (status == SIM_STATUS_OK) status = sim_free(address);
    return sim_hip_answer(status);
}

hipError_t hipHostFree(void *address)
{
    sim_memory memory;
    sim_status status = sim_hip_begin_unsafe("hipHostFree");
    if (status != SIM_STATUS_OK || !address) return sim_hip_answer(status);
    status = find_kind(address, true, &memory);
    if (status == SIM_STATUS_OK) status = sim_free(address);
    return sim_hip_answer(status);
}

hipError_t hipHostGetFlags(unsigned *flags, void *address)
{
    sim_memory memory;
    sim_status status = sim_hip_begin("hipHostGetFlags");
    if (status == SIM_STATUS_OK) status = find_kind(address, true, &memory);
    if (status == SIM_STATUS_OK) *flags = flags_of(&memory);
    return sim_hip_answer(status);
}

/* The type has another name, and other numbers, from 6 on, and nobody here asks for it. */
hipError_t hipPointerGetAttributes(hipPointerAttribute_t *attributes, const void *address)
{
    sim_memory memory;
    sim_status status = sim_hip_begin("hipPointerGetAttributes");
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
    return sim_hip_answer(status);
}

/* --- streams ------------------------------------------------------------------------------------ */

sim_stream *sim_hip_stream(hipStream_t stream)
{
    if (stream == NULL) return sim_stream_default(current_device());
    if (stream == hipStreamPerThread) return sim_stream_of_thread(current_device());
#ifdef hipStreamLegacy
    if (stream == hipStreamLegacy) return sim_stream_default(current_device());
#endif
    return (sim_stream *)(void *)stream;
}

hipError_t hipStreamCreateWithFlags(hipStream_t *stream, unsigned flags)
{
    sim_stream *created;
    sim_status status = sim_hip_begin("hipStreamCreateWithFlags");
    if (status == SIM_STATUS_OK && flags != hipStreamDefault && flags != hipStreamNonBlocking)
        status = SIM_STATUS_INVALID_VALUE;
    if (status == SIM_STATUS_OK) status = sim_stream_create(current_device(), &created);
    if (status == SIM_STATUS_OK) status = sim_stream_set_flags(created, flags);
    if (status == SIM_STATUS_OK) *stream = (hipStream_t)(void *)created;
    return sim_hip_answer(status);
}

hipError_t hipStreamGetFlags(hipStream_t stream, unsigned *flags)
{
    sim_status status = sim_hip_begin("hipStreamGetFlags");
    if (status == SIM_STATUS_OK) status = sim_stream_get_flags(sim_hip_stream(stream), flags);
    return answer_of_stream(status);
}

#if HIP_VERSION >= 70200000
hipError_t hipStreamGetId(hipStream_t stream, unsigned long long *id)
{
    sim_status status = sim_hip_begin("hipStreamGetId");
    if (status == SIM_STATUS_OK) status = sim_stream_get_id(sim_hip_stream(stream), id);
    return answer_of_stream(status);
}
#endif

hipError_t hipStreamDestroy(hipStream_t stream)
{
    sim_status status = sim_hip_begin("hipStreamDestroy");
    if (status == SIM_STATUS_OK && !stream) return sim_hip_answer(SIM_STATUS_INVALID_HANDLE);
    if (status == SIM_STATUS_OK) status = sim_stream_destroy(sim_hip_stream(stream));
    return answer_of_stream(status);
}

hipError_t hipStreamSynchronize(hipStream_t stream)
{
    sim_status status = sim_hip_begin_unsafe("hipStreamSynchronize");
    if (status == SIM_STATUS_OK) status = sim_stream_synchronize(sim_hip_stream(stream));
    return answer_of_stream(status);
}

static sim_event *event_of(hipEvent_t event)
{
    return (sim_event *)(void *)event;
}

hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned flags)
{
    sim_status status = sim_hip_begin("hipStreamWaitEvent");
    if (status == SIM_STATUS_OK && flags != 0) status = SIM_STATUS_INVALID_VALUE;
    if (status == SIM_STATUS_OK)
        status = sim_stream_wait_event(sim_hip_stream(stream), event_of(event));
    return sim_hip_answer(status);
}

/* --- captures ----------------------------------------------------------------------------------- */

_Static_assert((int)SIM_CAPTURE_MODE_GLOBAL == (int)hipStreamCaptureModeGlobal, "one number");
_Static_assert((int)SIM_CAPTURE_MODE_THREAD_LOCAL == (int)hipStreamCaptureModeThreadLocal,
               "one number");
_Static_assert((int)SIM_CAPTURE_MODE_RELAXED == (int)hipStreamCaptureModeRelaxed, "one number");

hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode *mode)
{
    sim_status status = sim_hip_begin("hipThreadExchangeStreamCaptureMode");
    if (status == SIM_STATUS_OK && (unsigned)*mode > hipStreamCaptureModeRelaxed)
        status = SIM_STATUS_INVALID_VALUE;
    if (status == SIM_STATUS_OK)
        *mode = (hipStreamCaptureMode)sim_capture_exchange_mode((sim_capture_mode)*mode);
    return sim_hip_answer(status);
}

/* --- events ------------------------------------------------------------------------------------- */

hipError_t hipEventCreateWithFlags(hipEvent_t *event, unsigned flags)
{
    const unsigned known = hipEventBlockingSync | hipEventDisableTiming;
    sim_event *created;
    sim_status status = sim_hip_begin("hipEventCreateWithFlags");
    if (status == SIM_STATUS_OK && (flags & ~known) != 0) status = SIM_STATUS_INVALID_VALUE;
    if (status == SIM_STATUS_OK)
        status = sim_event_create(current_device(), SIM_EVENT_FORM_RECORDS, &created);
    if (status == SIM_STATUS_OK) status = sim_event_set_flags(created, flags);
    if (status == SIM_STATUS_OK) *event = (hipEvent_t)(void *)created;
    return sim_hip_answer(status);
}

hipError_t hipEventDestroy(hipEvent_t event)
{
    sim_status status = sim_hip_begin("hipEventDestroy");
    if (status == SIM_STATUS_OK && !event) return sim_hip_answer(SIM_STATUS_INVALID_HANDLE);
    if (status == SIM_STATUS_OK) status = sim_event_destroy(event_of(event));
    return answer_of_stream(status);
}

hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream)
{
    int device;
    sim_status status = sim_hip_begin("hipEventRecord");
    if (status == SIM_STATUS_OK) status = sim_stream_find(sim_hip_stream(stream), &device);
    if (status == SIM_STATUS_INVALID_HANDLE) return answer_of_stream(status);
    if (status == SIM_STATUS_OK) status = sim_event_record(event_of(event), sim_hip_stream(stream));
    return sim_hip_answer(status);
}

hipError_t hipEventQuery(hipEvent_t event)
{
    sim_status status = sim_hip_begin_unsafe("hipEventQuery");
    if (status == SIM_STATUS_OK) status = sim_event_query(event_of(event));
    return sim_hip_answer(status);
}

hipError_t hipEventSynchronize(hipEvent_t event)
{
    sim_status status = sim_hip_begin_unsafe("hipEventSynchronize");
    if (status == SIM_STATUS_OK) status = sim_event_synchronize(event_of(event));
    return sim_hip_answer(status);
}

/* Time does not pass here. Events that keep none are refused. */
hipError_t hipEventElapsedTime(float *milliseconds, hipEvent_t start, hipEvent_t end)
{
    unsigned start_flags = 0, end_flags = 0;
    sim_status status = sim_hip_begin("hipEventElapsedTime");
    if (status == SIM_STATUS_OK) status = sim_event_get_flags(event_of(start), &start_flags);
    if (status == SIM_STATUS_OK) status = sim_event_get_flags(event_of(end), &end_flags);
    if (status == SIM_STATUS_OK && ((start_flags | end_flags) & hipEventDisableTiming) != 0)
        status = SIM_STATUS_INVALID_HANDLE;
    if (status == SIM_STATUS_OK) *milliseconds = 0;
    return sim_hip_answer(status);
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

hipError_t hipMemsetAsync(void *address, int value, size_t size_bytes, hipStream_t stream)
{
    unsigned char byte = (unsigned char)value;
    sim_memory memory;
    sim_status status = sim_hip_begin("hipMemsetAsync");
    if (status == SIM_STATUS_OK && size_bytes > 0 && !sim_memory_find(address, &memory))
        status = SIM_STATUS_INVALID_ADDRESS;
    if (status == SIM_STATUS_OK) status = check_end(address, size_bytes);
    if (status == SIM_STATUS_OK)
        status = sim_fill(sim_hip_stream(stream), address, &byte, 1, size_bytes);
    return sim_hip_answer(status);
}

hipError_t hipMemcpyAsync(void *destination, const void *source, size_t size_bytes,
                          hipMemcpyKind kind, hipStream_t stream)
{
    sim_status status = sim_hip_begin("hipMemcpyAsync");
    if (status == SIM_STATUS_OK && (unsigned)kind > hipMemcpyDefault)
        status = SIM_STATUS_INVALID_VALUE;
    if (status == SIM_STATUS_OK) status = check_end(destination, size_bytes);
    if (status == SIM_STATUS_OK) status = check_end(source, size_bytes);
    if (status == SIM_STATUS_OK)
        status = sim_copy(sim_hip_stream(stream), destination, source, size_bytes);
    return sim_hip_answer(status);
}
