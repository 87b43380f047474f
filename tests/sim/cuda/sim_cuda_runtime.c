/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * sim_cuda_runtime: libcudart's functions over the simulated devices, as far as they are not as HIP's.
 *
 * What is modelled of the runtime besides memory, streams and events:
 *
 *   - Setting the current device creates its primary context, as from CUDA 12 on, and so does every call that needs a
 *     context.
 *   - A call that fails overwrites the last error; one that succeeds, or answers that work is not ready, leaves it.
 *   - Without a driver, every answer is cudaErrorInsufficientDriver, that of cudaGetLastError too.
 *   - A stream that is NULL is the current device's. A copy may go to a stream of another device, and
 *     a stream may wait for another device's event; all else on another device's stream is refused.
 *   - No call waits for pending work but those whose manual says so: cudaFree and cudaStreamDestroy
 *     do not.
 *   - What a capture prohibits is what driver 580 refuses: cuda_answers.txt. It lets ranges pass.
 *   - What is attached to the host (cudaMemAttachHost) is not there for work on streams, as on devices
 *     that do not share managed memory with the host.
 *
 * The default streams, legacy and per thread, wait for no other stream.
 */
#include <dlfcn.h>
#include <stdio.h>

#include "../sim_runtime.h"

/* --- errors ------------------------------------------------------------------------------------- */

cudaError_t sim_runtime_error_of(sim_status status)
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

cudaError_t sim_runtime_missing(void)
{
    sim_driver driver = sim_get_settings().driver;
    bool has_none = driver == SIM_DRIVER_ABSENT || driver == SIM_DRIVER_TOO_OLD;
    return has_none ? cudaErrorInsufficientDriver : cudaSuccess;
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
    return sim_runtime_answer(status);
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    sim_status status = sim_enter_without_driver("cudaRuntimeGetVersion");
    if (status == SIM_STATUS_OK) *version = CUDART_VERSION;
    return sim_runtime_answer(status);
}

cudaError_t cudaGetDeviceCount(int *count)
{
    sim_status status = sim_runtime_begin_without_context("cudaGetDeviceCount");
    if (status == SIM_STATUS_OK) *count = sim_device_count();
    return sim_runtime_answer(status);
}

/* The device stays what it was when its context cannot be had. */
cudaError_t cudaSetDevice(int device)
{
    sim_status status = sim_runtime_begin_without_context("cudaSetDevice");
    if (status == SIM_STATUS_OK) status = sim_cuda_make_current(device);
    if (status == SIM_STATUS_OK) sim_runtime_set_device(device);
    return sim_runtime_answer(status);
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
            .concurrentManagedAccess = settings.spills_to_host && !is_poor,
        };
        snprintf(properties->name, sizeof properties->name, "simulated CUDA device %d", device);
    }
    return sim_runtime_answer(status);
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
        bool is_spilling = attribute == cudaDevAttrConcurrentManagedAccess;
        bool is_pool = attribute == cudaDevAttrMemoryPoolsSupported;
        bool has_kind = (is_pinned && settings.has_kind[SIM_MEMORY_KIND_PINNED]) ||
                        (is_shared && settings.has_kind[SIM_MEMORY_KIND_SHARED]) ||
                        (is_spilling && settings.spills_to_host);
        *value = (has_kind && device != settings.poor_device) || (is_pool && settings.has_pools);
    }
    return sim_runtime_answer(status);
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *name, void **function, unsigned version,
                                             unsigned long long flags,
                                             enum cudaDriverEntryPointQueryResult *found)
{
    sim_status status = sim_enter("cudaGetDriverEntryPointByVersion");
    if (status == SIM_STATUS_OK && version > CUDART_VERSION) status = SIM_STATUS_INVALID_VALUE;
    if (status == SIM_STATUS_OK) {
        char newer[64];
        snprintf(newer, sizeof newer, "%s_v2", name);
        *function = dlsym(RTLD_DEFAULT, newer);
        if (!*function) *function = dlsym(RTLD_DEFAULT, name);
        if (found)
            *found = *function ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
    }
    return sim_runtime_answer(status);
}

/* --- memory ------------------------------------------------------------------------------------- */

cudaError_t cudaHostAlloc(void **address, size_t size_bytes, unsigned flags)
{
    const unsigned known = cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
    sim_status status = sim_runtime_begin_unsafe("cudaHostAlloc");
    if (status == SIM_STATUS_OK && (flags & ~known) != 0) status = SIM_STATUS_INVALID_VALUE;
    if (status == SIM_STATUS_OK)
        status = sim_runtime_alloc(SIM_MEMORY_KIND_PINNED, size_bytes, flags, address);
    return sim_runtime_answer(status);
}

cudaError_t cudaMallocManaged(void **address, size_t size_bytes, unsigned flags)
{
    sim_status status = sim_runtime_begin_unsafe("cudaMallocManaged");
    if (status == SIM_STATUS_OK && flags != cudaMemAttachGlobal && flags != cudaMemAttachHost)
        status = SIM_STATUS_INVALID_VALUE;
    if (status == SIM_STATUS_OK)
        status = sim_runtime_alloc(SIM_MEMORY_KIND_SHARED, size_bytes, flags, address);
    return sim_runtime_answer(status);
}

static cudaError_t free_kind(const char *name, void *address, bool pinned)
{
    sim_memory memory;
    sim_status status = sim_runtime_begin_unsafe(name);
    if (status != SIM_STATUS_OK || !address) return sim_runtime_answer(status);
    status = sim_runtime_find_kind(address, pinned, &memory);
    return sim_runtime_answer(status == SIM_STATUS_OK ? sim_free(address) : status);
}

cudaError_t cudaFree(void *address)
{
    return free_kind("cudaFree", address, false);
}

cudaError_t cudaFreeHost(void *address)
{
    return free_kind("cudaFreeHost", address, true);
}

static enum cudaMemoryType type_of(sim_memory_kind kind)
{
    if (kind == SIM_MEMORY_KIND_PINNED) return cudaMemoryTypeHost;
    return kind == SIM_MEMORY_KIND_SHARED ? cudaMemoryTypeManaged : cudaMemoryTypeDevice;
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *address)
{
    sim_status status = sim_runtime_begin("cudaPointerGetAttributes");
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
    return sim_runtime_answer(status);
}

/* --- streams ------------------------------------------------------------------------------------ */

/* What works on the current device wants a stream of it. */
static sim_status check_stream_is_current(cudaStream_t stream)
{
    int device;
    sim_status status = sim_stream_find(sim_runtime_stream(stream), &device);
    if (status == SIM_STATUS_OK && device != sim_runtime_device()) status = SIM_STATUS_WRONG_DEVICE;
    return status;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    sim_status status = sim_runtime_begin("cudaStreamDestroy");
    if (status == SIM_STATUS_OK) status = sim_stream_destroy(sim_runtime_stream(stream));
    return sim_runtime_answer(status);
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    sim_status status = sim_runtime_begin_unsafe("cudaStreamQuery");
    if (status == SIM_STATUS_OK) status = sim_stream_query(sim_runtime_stream(stream));
    return sim_runtime_answer(status);
}

/* --- captures ----------------------------------------------------------------------------------- */

/* Which stream it is does not matter here. */
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    sim_status status = sim_runtime_begin("cudaStreamBeginCapture");
    if (status == SIM_STATUS_OK && !sim_capture_begin((sim_capture_mode)mode))
        status = SIM_STATUS_INVALID_VALUE;
    return sim_runtime_answer(status);
}

/* The graph is always none. */
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    sim_status status = sim_runtime_begin("cudaStreamEndCapture");
    if (status != SIM_STATUS_OK) return sim_runtime_answer(status);
    *graph = NULL;
    switch (sim_capture_end()) {
    case SIM_CAPTURE_NONE:
        return sim_runtime_answer(SIM_STATUS_INVALID_VALUE);
    case SIM_CAPTURE_SPOILT:
        return sim_runtime_answer_error(cudaErrorStreamCaptureInvalidated);
    case SIM_CAPTURE_VALID:
        break;
    }
    return cudaSuccess;
}

/* --- events ------------------------------------------------------------------------------------- */

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    sim_status status = sim_runtime_begin("cudaEventDestroy");
    if (status == SIM_STATUS_OK) status = sim_event_destroy(sim_runtime_event(event));
    return sim_runtime_answer(status);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    sim_status status = sim_runtime_begin("cudaEventRecord");
    if (status == SIM_STATUS_OK)
        status = sim_event_record(sim_runtime_event(event), sim_runtime_stream(stream));
    return sim_runtime_answer(status);
}

/* --- data --------------------------------------------------------------------------------------- */

static bool is_attached_to_host(const void *address)
{
    sim_memory memory;
    return sim_memory_find(address, &memory) && memory.kind == SIM_MEMORY_KIND_SHARED &&
           sim_runtime_flags(&memory) == cudaMemAttachHost;
}

/* Memory that the current device may write, as far as is known before the work runs. */
static bool may_write(const void *address)
{
    sim_memory memory;
    sim_access access = SIM_ACCESS_READ_WRITE;
    if (!sim_memory_find(address, &memory) || is_attached_to_host(address)) return false;
    if (memory.is_mapping) sim_get_access(address, sim_runtime_device(), &access);
    return access == SIM_ACCESS_READ_WRITE;
}

sim_status sim_runtime_check_fill(cudaStream_t stream, const void *address, size_t size_bytes)
{
    sim_status status = check_stream_is_current(stream);
    if (status == SIM_STATUS_WRONG_DEVICE ||
        (status == SIM_STATUS_OK && size_bytes > 0 && !may_write(address)))
        status = SIM_STATUS_INVALID_VALUE;
    return status;
}

sim_status sim_runtime_check_copy(const void *destination, const void *source, size_t size_bytes)
{
    bool is_wrong =
        size_bytes > 0 && (is_attached_to_host(destination) || is_attached_to_host(source));
    return is_wrong ? SIM_STATUS_INVALID_VALUE : SIM_STATUS_OK;
}

cudaError_t cudaMemsetAsync(void *address, int value, size_t size_bytes, cudaStream_t stream)
{
    unsigned char byte = (unsigned char)value;
    sim_status status = sim_runtime_begin("cudaMemsetAsync");
    if (status == SIM_STATUS_OK) status = sim_runtime_check_fill(stream, address, size_bytes);
    if (status == SIM_STATUS_OK)
        status = sim_fill(sim_runtime_stream(stream), address, &byte, 1, size_bytes);
    return sim_runtime_answer(status);
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
    sim_status status = sim_runtime_begin("cudaMemcpyAsync");
    if (status == SIM_STATUS_OK && (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault))
        return sim_runtime_answer_error(cudaErrorInvalidMemcpyDirection);
    if (status == SIM_STATUS_OK && size_bytes > 0 && !is_direction(kind, destination, source))
        status = SIM_STATUS_INVALID_VALUE;
    if (status == SIM_STATUS_OK) status = sim_runtime_check_copy(destination, source, size_bytes);
    if (status == SIM_STATUS_OK)
        status = sim_copy(sim_runtime_stream(stream), destination, source, size_bytes);
    return sim_runtime_answer(status);
}
