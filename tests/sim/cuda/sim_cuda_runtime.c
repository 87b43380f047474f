/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * sim_cuda_runtime: libcudart's functions over the simulated devices.
 *
 * What is modelled of the runtime besides memory, streams and events:
 *
 *   - Each thread has a current device, 0 at first. Setting one creates its primary context, as from
 *     CUDA 12 on, and so does every call that needs a context.
 *   - Each thread has a last error. A call that fails overwrites it; one that succeeds, or answers that
 *     work is not ready, leaves it; cudaGetLastError takes it out.
 *   - Without a driver, every answer is cudaErrorInsufficientDriver, that of cudaGetLastError too.
 *   - A stream that is NULL is the current device's. A copy may go to a stream of another device, and
 *     a stream may wait for another device's event; all else on another device's stream is refused.
 *   - No call waits for pending work but those whose manual says so: cudaFree and cudaStreamDestroy
 *     do not.
 *   - While a stream is captured, what takes, gives back or looks at memory, and what waits for work or asks
 *     after it, is refused and spoils the capture, in threads whose mode is not relaxed; a wait for the
 *     device is refused in all. The manual names cudaMalloc and cudaEventQuery and says that there are more.
 *   - What is attached to the host (cudaMemAttachHost) is not there for work on streams, as on devices
 *     that do not share managed memory with the host.
 *
 * The default streams, legacy and per thread, wait for no other stream.
 */
#include <stdio.h>

#include "sim_cuda.h"

/* --- what a thread has -------------------------------------------------------------------------- */

static _Thread_local struct {
    unsigned generation; /* of the simulation when the rest was written */
    int device;
    cudaError_t last_error;
} of_thread;

static void renew_thread(void)
{
    unsigned generation = sim_generation();
    if (of_thread.generation == generation) return;
    of_thread.generation = generation;
    of_thread.device = 0;
    of_thread.last_error = cudaSuccess;
}

static int current_device(void)
{
    renew_thread();
    return of_thread.device;
}

/* --- errors ------------------------------------------------------------------------------------- */

cudaError_t sim_cuda_error_of(sim_status status)
{
    if (status > SIM_STATUS_COUNT) return (cudaError_t)(status - SIM_STATUS_COUNT);
    switch (status) {
    case SIM_STATUS_OK:
        return cudaSuccess;
    case SIM_STATUS_NOT_READY:
        return cudaErrorNotReady;
    case SIM_STATUS_OUT_OF_MEMORY:
    case SIM_STATUS_OUT_OF_HOST_MEMORY:
        return cudaErrorMemoryAllocation;
    case SIM_STATUS_INVALID_VALUE:
    case SIM_STATUS_INVALID_SIZE:
    case SIM_STATUS_INVALID_ALIGNMENT:
    case SIM_STATUS_INVALID_ADDRESS:
    case SIM_STATUS_ALREADY_MAPPED:
    case SIM_STATUS_NOT_MAPPED:
    case SIM_STATUS_STILL_MAPPED:
        return cudaErrorInvalidValue;
    case SIM_STATUS_INVALID_HANDLE:
    case SIM_STATUS_WRONG_DEVICE:
        return cudaErrorInvalidResourceHandle;
    case SIM_STATUS_INVALID_DEVICE:
        return cudaErrorInvalidDevice;
    case SIM_STATUS_NOT_SUPPORTED:
        return cudaErrorNotSupported;
    case SIM_STATUS_NO_DRIVER:
    case SIM_STATUS_DRIVER_TOO_OLD:
        return cudaErrorInsufficientDriver;
    case SIM_STATUS_NO_DEVICE:
        return cudaErrorNoDevice;
    case SIM_STATUS_UNLOADING:
        return cudaErrorCudartUnloading;
    case SIM_STATUS_DEVICE_LOST:
        return cudaErrorECCUncorrectable;
    case SIM_STATUS_CONTEXT_DESTROYED:
        return cudaErrorContextIsDestroyed;
    case SIM_STATUS_ACCESS_FAULT:
        return cudaErrorIllegalAddress;
    case SIM_STATUS_CAPTURING:
        return cudaErrorStreamCaptureUnsupported;
    case SIM_STATUS_HANG:
        return cudaErrorLaunchTimeout;
    case SIM_STATUS_UNKNOWN:
    case SIM_STATUS_COUNT:
        break;
    }
    return cudaErrorUnknown;
}

static cudaError_t answer_error(cudaError_t error)
{
    renew_thread();
    if (error != cudaSuccess && error != cudaErrorNotReady) of_thread.last_error = error;
    return error;
}

/* How every function of the runtime ends. */
cudaError_t sim_cuda_answer(sim_status status)
{
    return answer_error(sim_cuda_error_of(status));
}

static bool has_no_driver(void)
{
    sim_driver driver = sim_get_settings().driver;
    return driver == SIM_DRIVER_ABSENT || driver == SIM_DRIVER_TOO_OLD;
}

cudaError_t cudaGetLastError(void)
{
    sim_note("cudaGetLastError");
    if (has_no_driver()) return cudaErrorInsufficientDriver;
    renew_thread();
    cudaError_t error = of_thread.last_error;
    of_thread.last_error = cudaSuccess;
    return error;
}

cudaError_t cudaPeekAtLastError(void)
{
    sim_note("cudaPeekAtLastError");
    if (has_no_driver()) return cudaErrorInsufficientDriver;
    renew_thread();
    return of_thread.last_error;
}

#define RUNTIME_ERRORS(X)                \
    X(cudaSuccess)                       \
    X(cudaErrorInvalidValue)             \
    X(cudaErrorMemoryAllocation)         \
    X(cudaErrorCudartUnloading)          \
    X(cudaErrorInsufficientDriver)       \
    X(cudaErrorNoDevice)                 \
    X(cudaErrorInvalidDevice)            \
    X(cudaErrorInvalidMemcpyDirection)   \
    X(cudaErrorECCUncorrectable)         \
    X(cudaErrorInvalidResourceHandle)    \
    X(cudaErrorNotReady)                 \
    X(cudaErrorIllegalAddress)           \
    X(cudaErrorLaunchTimeout)            \
    X(cudaErrorContextIsDestroyed)       \
    X(cudaErrorNotSupported)             \
    X(cudaErrorStreamCaptureUnsupported) \
    X(cudaErrorStreamCaptureInvalidated) \
    X(cudaErrorUnknown)

const char *cudaGetErrorName(cudaError_t error)
{
    sim_note("cudaGetErrorName");
    switch ((int)error) {
#define CASE(code) \
    case code:     \
        return #code;
        RUNTIME_ERRORS(CASE)
#undef CASE
    default:
        return "unrecognized error code";
    }
}

const char *cudaGetErrorString(cudaError_t error)
{
    sim_note("cudaGetErrorString");
    switch ((int)error) {
#define CASE(code) \
    case code:     \
        return "simulated " #code;
        RUNTIME_ERRORS(CASE)
#undef CASE
    default:
        return "unrecognized error code";
    }
}

/* --- beginning a call --------------------------------------------------------------------------- */

/* What needs a device begins so: the current device's context is there afterwards. */
sim_status sim_cuda_begin(const char *name)
{
    sim_status status = sim_enter(name);
    if (status == SIM_STATUS_OK && sim_device_count() == 0) status = SIM_STATUS_NO_DEVICE;
    if (status == SIM_STATUS_OK) status = sim_context_activate(current_device());
    return status;
}

sim_status sim_cuda_begin_unsafe(const char *name)
{
    sim_status status = sim_cuda_begin(name);
    return status == SIM_STATUS_OK ? sim_capture_check(SIM_CAPTURE_RULE_UNSAFE) : status;
}

/* --- devices ------------------------------------------------------------------------------------ */

cudaError_t cudaDriverGetVersion(int *version)
{
    sim_status status = sim_enter_without_driver("cudaDriverGetVersion");
    if (status == SIM_STATUS_OK) {
        switch (sim_get_settings().driver) {
        case SIM_DRIVER_ABSENT:
            *version = 0;
            break;
        case SIM_DRIVER_TOO_OLD:
            *version = CUDART_VERSION - 2000;
            break;
        default:
            *version = CUDART_VERSION + 10; /* a driver may be newer than the runtime */
        }
    }
    return sim_cuda_answer(status);
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    sim_status status = sim_enter_without_driver("cudaRuntimeGetVersion");
    if (status == SIM_STATUS_OK) *version = CUDART_VERSION;
    return sim_cuda_answer(status);
}

cudaError_t cudaGetDeviceCount(int *count)
{
    sim_status status = sim_enter("cudaGetDeviceCount");
    if (status == SIM_STATUS_OK && sim_device_count() == 0) status = SIM_STATUS_NO_DEVICE;
    if (status == SIM_STATUS_OK) *count = sim_device_count();
    return sim_cuda_answer(status);
}

cudaError_t cudaGetDevice(int *device)
{
    sim_status status = sim_enter("cudaGetDevice");
    if (status == SIM_STATUS_OK && sim_device_count() == 0) status = SIM_STATUS_NO_DEVICE;
    if (status == SIM_STATUS_OK) *device = current_device();
    return sim_cuda_answer(status);
}

/* The device stays what it was when its context cannot be had. */
cudaError_t cudaSetDevice(int device)
{
    sim_status status = sim_enter("cudaSetDevice");
    if (status == SIM_STATUS_OK && sim_device_count() == 0) status = SIM_STATUS_NO_DEVICE;
    if (status == SIM_STATUS_OK) status = sim_context_activate(device);
    renew_thread();
    if (status == SIM_STATUS_OK) of_thread.device = device;
    return sim_cuda_answer(status);
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device)
{
    sim_status status = sim_enter("cudaGetDeviceProperties");
    if (status == SIM_STATUS_OK) status = sim_device_check(device);
    if (status == SIM_STATUS_OK) {
        sim_settings settings = sim_get_settings();
        bool is_poor = device == settings.poor_device;
        *properties = (struct cudaDeviceProp){
            .totalGlobalMem = settings.memory_bytes,
            .major = 9,
            .canMapHostMemory = settings.has_kind[SIM_MEMORY_KIND_PINNED] && !is_poor,
            .unifiedAddressing = settings.has_one_address,
            .managedMemory = settings.has_kind[SIM_MEMORY_KIND_SHARED] && !is_poor,
        };
        snprintf(properties->name, sizeof properties->name, "simulated CUDA device %d", device);
    }
    return sim_cuda_answer(status);
}

/* Those that somebody here asks for; of all others it says that there are none. */
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
    sim_status status = sim_enter("cudaDeviceGetAttribute");
    if (status == SIM_STATUS_OK) status = sim_device_check(device);
    if (status == SIM_STATUS_OK) {
        sim_settings settings = sim_get_settings();
        bool is_pinned = attribute == cudaDevAttrCanMapHostMemory;
        bool is_shared = attribute == cudaDevAttrManagedMemory;
        bool is_pool = attribute == cudaDevAttrMemoryPoolsSupported;
        bool has_kind = (is_pinned && settings.has_kind[SIM_MEMORY_KIND_PINNED]) ||
                        (is_shared && settings.has_kind[SIM_MEMORY_KIND_SHARED]);
        *value = (has_kind && device != settings.poor_device) || (is_pool && settings.has_pools);
    }
    return sim_cuda_answer(status);
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
    sim_status status = sim_cuda_begin_unsafe("cudaMemGetInfo");
    if (status == SIM_STATUS_OK)
        status = sim_memory_info(current_device(), total_bytes, free_bytes);
    return sim_cuda_answer(status);
}

cudaError_t cudaDeviceSynchronize(void)
{
    sim_status status = sim_cuda_begin("cudaDeviceSynchronize");
    if (status == SIM_STATUS_OK) status = sim_capture_check(SIM_CAPTURE_RULE_CONFLICTS);
    if (status == SIM_STATUS_OK) status = sim_device_synchronize(current_device());
    return sim_cuda_answer(status);
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *name, void **function, unsigned version,
                                             unsigned long long flags,
                                             enum cudaDriverEntryPointQueryResult *found)
{
    sim_status status = sim_enter("cudaGetDriverEntryPointByVersion");
    if (status == SIM_STATUS_OK && version > CUDART_VERSION) status = SIM_STATUS_INVALID_VALUE;
    if (status == SIM_STATUS_OK) {
        *function = sim_cuda_find_driver_function(name);
        if (found) {
            *found = *function ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
        }
    }
    return sim_cuda_answer(status);
}

/* --- memory ------------------------------------------------------------------------------------- */

/* The flags are kept with the memory. */
static sim_status alloc(sim_memory_kind kind, size_t size_bytes, unsigned flags, void **address)
{
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

cudaError_t cudaMalloc(void **address, size_t size_bytes)
{
    sim_status status = sim_cuda_begin_unsafe("cudaMalloc");
    if (status == SIM_STATUS_OK && size_bytes == 0) {
        *address = NULL;
        return cudaSuccess;
    }
    if (status == SIM_STATUS_OK) status = alloc(SIM_MEMORY_KIND_DEVICE, size_bytes, 0, address);
    return sim_cuda_answer(status);
}

cudaError_t cudaHostAlloc(void **address, size_t size_bytes, unsigned flags)
{
    const unsigned known = cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
    sim_status status = sim_cuda_begin_unsafe("cudaHostAlloc");
    if (status == SIM_STATUS_OK && (flags & ~known) != 0) status = SIM_STATUS_INVALID_VALUE;
    if (status == SIM_STATUS_OK && size_bytes == 0) {
        *address = NULL;
        return cudaSuccess;
    }
    if (status == SIM_STATUS_OK) status = alloc(SIM_MEMORY_KIND_PINNED, size_bytes, flags, address);
    return sim_cuda_answer(status);
}

cudaError_t cudaMallocManaged(void **address, size_t size_bytes, unsigned flags)
{
    sim_status status = sim_cuda_begin_unsafe("cudaMallocManaged");
    if (status == SIM_STATUS_OK && flags != cudaMemAttachGlobal && flags != cudaMemAttachHost)
        status = SIM_STATUS_INVALID_VALUE;
    if (status == SIM_STATUS_OK && size_bytes == 0) {
        *address = NULL;
        return cudaSuccess;
    }
    if (status == SIM_STATUS_OK) status = alloc(SIM_MEMORY_KIND_SHARED, size_bytes, flags, address);
    return sim_cuda_answer(status);
}

/* Each kind has its own function to free it; `pinned` says which this is. */
static sim_status free_kind(void *address, bool pinned)
{
    sim_memory memory;
    if (!address) return SIM_STATUS_OK;
    if (!sim_memory_find(address, &memory)) return SIM_STATUS_INVALID_ADDRESS;
    if ((memory.kind == SIM_MEMORY_KIND_PINNED) != pinned) return SIM_STATUS_INVALID_ADDRESS;
    return sim_free(address);
}

cudaError_t cudaFree(void *address)
{
    sim_status status = sim_cuda_begin_unsafe("cudaFree");
    if (status == SIM_STATUS_OK) status = free_kind(address, false);
    return sim_cuda_answer(status);
}

cudaError_t cudaFreeHost(void *address)
{
    sim_status status = sim_cuda_begin_unsafe("cudaFreeHost");
    if (status == SIM_STATUS_OK) status = free_kind(address, true);
    return sim_cuda_answer(status);
}

cudaError_t cudaHostGetFlags(unsigned *flags, void *address)
{
    sim_memory memory;
    sim_status status = sim_cuda_begin("cudaHostGetFlags");
    if (status == SIM_STATUS_OK &&
        (!sim_memory_find(address, &memory) || memory.kind != SIM_MEMORY_KIND_PINNED))
        status = SIM_STATUS_INVALID_VALUE;
    if (status == SIM_STATUS_OK) *flags = flags_of(&memory);
    return sim_cuda_answer(status);
}

static enum cudaMemoryType type_of(sim_memory_kind kind)
{
    if (kind == SIM_MEMORY_KIND_PINNED) return cudaMemoryTypeHost;
    return kind == SIM_MEMORY_KIND_SHARED ? cudaMemoryTypeManaged : cudaMemoryTypeDevice;
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *address)
{
    sim_status status = sim_cuda_begin("cudaPointerGetAttributes");
    if (status == SIM_STATUS_OK) {
        sim_memory memory;
        *attributes = (struct cudaPointerAttributes){ .type = cudaMemoryTypeUnregistered,
                                                      .device = cudaInvalidDeviceId };
        if (sim_memory_find(address, &memory)) {
            attributes->type = type_of(memory.kind);
            attributes->device = memory.device;
            attributes->devicePointer = (void *)(uintptr_t)address;
        }
        if (attributes->type != cudaMemoryTypeDevice)
            attributes->hostPointer = (void *)(uintptr_t)address;
    }
    return sim_cuda_answer(status);
}

/* --- streams ------------------------------------------------------------------------------------ */

sim_stream *sim_cuda_stream(cudaStream_t stream)
{
    if (stream == NULL || stream == cudaStreamLegacy) return sim_stream_default(current_device());
    if (stream == cudaStreamPerThread) return sim_stream_of_thread(current_device());
    return (sim_stream *)(void *)stream;
}

/* What works on the current device wants a stream of it. */
static sim_status check_stream_is_current(cudaStream_t stream)
{
    int device;
    sim_status status = sim_stream_find(sim_cuda_stream(stream), &device);
    if (status == SIM_STATUS_OK && device != current_device()) status = SIM_STATUS_WRONG_DEVICE;
    return status;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    sim_stream *created;
    sim_status status = sim_cuda_begin("cudaStreamCreateWithFlags");
    if (status == SIM_STATUS_OK && flags != cudaStreamDefault && flags != cudaStreamNonBlocking)
        status = SIM_STATUS_INVALID_VALUE;
    if (status == SIM_STATUS_OK) status = sim_stream_create(current_device(), &created);
    if (status == SIM_STATUS_OK) status = sim_stream_set_flags(created, flags);
    if (status == SIM_STATUS_OK) *stream = (cudaStream_t)(void *)created;
    return sim_cuda_answer(status);
}

cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned *flags)
{
    sim_status status = sim_cuda_begin("cudaStreamGetFlags");
    if (status == SIM_STATUS_OK) status = sim_stream_get_flags(sim_cuda_stream(stream), flags);
    return sim_cuda_answer(status);
}

#if CUDART_VERSION >= 12000
cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long *id)
{
    sim_status status = sim_cuda_begin("cudaStreamGetId");
    if (status == SIM_STATUS_OK) status = sim_stream_get_id(sim_cuda_stream(stream), id);
    return sim_cuda_answer(status);
}
#endif

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    sim_status status = sim_cuda_begin("cudaStreamDestroy");
    if (status == SIM_STATUS_OK) status = sim_stream_destroy(sim_cuda_stream(stream));
    return sim_cuda_answer(status);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    sim_status status = sim_cuda_begin_unsafe("cudaStreamSynchronize");
    if (status == SIM_STATUS_OK) status = sim_stream_synchronize(sim_cuda_stream(stream));
    return sim_cuda_answer(status);
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    sim_status status = sim_cuda_begin_unsafe("cudaStreamQuery");
    if (status == SIM_STATUS_OK) status = sim_stream_query(sim_cuda_stream(stream));
    return sim_cuda_answer(status);
}

static sim_event *event_of(cudaEvent_t event)
{
    return (sim_event *)(void *)event;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    sim_status status = sim_cuda_begin("cudaStreamWaitEvent");
    if (status == SIM_STATUS_OK && flags != 0) status = SIM_STATUS_INVALID_VALUE;
    if (status == SIM_STATUS_OK)
        status = sim_stream_wait_event(sim_cuda_stream(stream), event_of(event));
    return sim_cuda_answer(status);
}

/* --- captures ----------------------------------------------------------------------------------- */

_Static_assert((int)SIM_CAPTURE_MODE_GLOBAL == (int)cudaStreamCaptureModeGlobal, "one number");
_Static_assert((int)SIM_CAPTURE_MODE_THREAD_LOCAL == (int)cudaStreamCaptureModeThreadLocal,
               "one number");
_Static_assert((int)SIM_CAPTURE_MODE_RELAXED == (int)cudaStreamCaptureModeRelaxed, "one number");

cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
    sim_status status = sim_cuda_begin("cudaThreadExchangeStreamCaptureMode");
    if (status == SIM_STATUS_OK && (unsigned)*mode > cudaStreamCaptureModeRelaxed)
        status = SIM_STATUS_INVALID_VALUE;
    if (status == SIM_STATUS_OK) {
        *mode = (enum cudaStreamCaptureMode)sim_capture_exchange_mode((sim_capture_mode)*mode);
    }
    return sim_cuda_answer(status);
}

/* Which stream it is does not matter here. */
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    sim_status status = sim_cuda_begin("cudaStreamBeginCapture");
    if (status == SIM_STATUS_OK && !sim_capture_begin((sim_capture_mode)mode))
        status = SIM_STATUS_INVALID_VALUE;
    return sim_cuda_answer(status);
}

/* The graph is always none. */
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    sim_status status = sim_cuda_begin("cudaStreamEndCapture");
    if (status != SIM_STATUS_OK) return sim_cuda_answer(status);
    *graph = NULL;
    switch (sim_capture_end()) {
    case SIM_CAPTURE_NONE:
        return sim_cuda_answer(SIM_STATUS_INVALID_VALUE);
    case SIM_CAPTURE_SPOILT:
        return answer_error(cudaErrorStreamCaptureInvalidated);
    case SIM_CAPTURE_VALID:
        break;
    }
    return cudaSuccess;
}

/* --- events ------------------------------------------------------------------------------------- */

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    const unsigned known = cudaEventBlockingSync | cudaEventDisableTiming;
    sim_event *created;
    sim_status status = sim_cuda_begin("cudaEventCreateWithFlags");
    if (status == SIM_STATUS_OK && (flags & ~known) != 0) status = SIM_STATUS_INVALID_VALUE;
    if (status == SIM_STATUS_OK)
        status = sim_event_create(current_device(), SIM_EVENT_FORM_RECORDS, &created);
    if (status == SIM_STATUS_OK) status = sim_event_set_flags(created, flags);
    if (status == SIM_STATUS_OK) *event = (cudaEvent_t)(void *)created;
    return sim_cuda_answer(status);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    sim_status status = sim_cuda_begin("cudaEventDestroy");
    if (status == SIM_STATUS_OK) status = sim_event_destroy(event_of(event));
    return sim_cuda_answer(status);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    sim_status status = sim_cuda_begin("cudaEventRecord");
    if (status == SIM_STATUS_OK)
        status = sim_event_record(event_of(event), sim_cuda_stream(stream));
    return sim_cuda_answer(status);
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    sim_status status = sim_cuda_begin_unsafe("cudaEventQuery");
    if (status == SIM_STATUS_OK) status = sim_event_query(event_of(event));
    return sim_cuda_answer(status);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    sim_status status = sim_cuda_begin_unsafe("cudaEventSynchronize");
    if (status == SIM_STATUS_OK) status = sim_event_synchronize(event_of(event));
    return sim_cuda_answer(status);
}

/* Time does not pass here. Events that keep none are refused. */
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end)
{
    unsigned start_flags = 0, end_flags = 0;
    sim_status status = sim_cuda_begin("cudaEventElapsedTime");
    if (status == SIM_STATUS_OK) status = sim_event_get_flags(event_of(start), &start_flags);
    if (status == SIM_STATUS_OK) status = sim_event_get_flags(event_of(end), &end_flags);
    if (status == SIM_STATUS_OK && ((start_flags | end_flags) & cudaEventDisableTiming) != 0)
        status = SIM_STATUS_INVALID_HANDLE;
    if (status == SIM_STATUS_OK) *milliseconds = 0;
    return sim_cuda_answer(status);
}

/* --- data --------------------------------------------------------------------------------------- */

static bool is_attached_to_host(const void *address)
{
    sim_memory memory;
    return sim_memory_find(address, &memory) && memory.kind == SIM_MEMORY_KIND_SHARED &&
           flags_of(&memory) == cudaMemAttachHost;
}

/* Memory that the current device may write, as far as is known before the work runs. */
static bool may_write(const void *address)
{
    sim_memory memory;
    sim_access access = SIM_ACCESS_READ_WRITE;
    if (!sim_memory_find(address, &memory) || is_attached_to_host(address)) return false;
    if (memory.is_mapping) sim_get_access(address, current_device(), &access);
    return access == SIM_ACCESS_READ_WRITE;
}

cudaError_t cudaMemsetAsync(void *address, int value, size_t size_bytes, cudaStream_t stream)
{
    unsigned char byte = (unsigned char)value;
    sim_status status = sim_cuda_begin("cudaMemsetAsync");
    if (status == SIM_STATUS_OK) status = check_stream_is_current(stream);
    if (status == SIM_STATUS_WRONG_DEVICE ||
        (status == SIM_STATUS_OK && size_bytes > 0 && !may_write(address)))
        status = SIM_STATUS_INVALID_VALUE;
    if (status == SIM_STATUS_OK)
        status = sim_fill(sim_cuda_stream(stream), address, &byte, 1, size_bytes);
    return sim_cuda_answer(status);
}

/* Pinned and shared memory is the host's and the device's. */
static bool lies_on(bool device, const void *address)
{
    sim_memory memory;
    if (!sim_memory_find(address, &memory)) return !device;
    return device || memory.kind != SIM_MEMORY_KIND_DEVICE;
}

/* Whether the memory lies where the kind of copy says, as far as it says so. */
static bool is_direction(enum cudaMemcpyKind kind, const void *destination, const void *source)
{
    if (kind == cudaMemcpyDefault) return true;
    bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    return lies_on(to_device, destination) && lies_on(from_device, source);
}

cudaError_t cudaMemcpyAsync(void *destination, const void *source, size_t size_bytes,
                            enum cudaMemcpyKind kind, cudaStream_t stream)
{
    sim_status status = sim_cuda_begin("cudaMemcpyAsync");
    if (status == SIM_STATUS_OK && (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault))
        return answer_error(cudaErrorInvalidMemcpyDirection);
    if (status == SIM_STATUS_OK && size_bytes > 0 &&
        (!is_direction(kind, destination, source) || is_attached_to_host(destination) ||
         is_attached_to_host(source)))
        status = SIM_STATUS_INVALID_VALUE;
    if (status == SIM_STATUS_OK)
        status = sim_copy(sim_cuda_stream(stream), destination, source, size_bytes);
    return sim_cuda_answer(status);
}
