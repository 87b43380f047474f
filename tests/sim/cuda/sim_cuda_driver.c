/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * sim_cuda_driver: libcuda's functions over the simulated devices.
 *
 * What is modelled of the driver besides memory, streams and events:
 *
 *   - Nothing works before cuInit, which the runtime calls, too.
 *   - Each thread has a stack of contexts; most calls need one. A primary context is there while somebody retains it, as
 *     the runtime does once it has used it. A green context is a part of its device: what is recorded on it covers its own work
 *     alone.
 *   - The driver remembers no error, and its virtual memory calls neither need a context nor make one.
 *   - Without a driver's kernel module every call answers that there is no device.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../sim_runtime.h"

static CUresult answer(sim_status status)
{
    if (status == SIM_STATUS_NO_DRIVER) return CUDA_ERROR_NO_DEVICE;
    if (status == SIM_STATUS_DRIVER_TOO_OLD) return CUDA_ERROR_SYSTEM_DRIVER_MISMATCH;
    return (CUresult)sim_runtime_error_of(status);
}

/* --- contexts ----------------------------------------------------------------------------------- */

enum {
    DEVICES_MAX = 8,
    STACK_MAX = 16
};

struct context {
    int device;
    int use_count;
    bool is_there;
    bool is_retained_by_runtime;
    bool is_green;
    unsigned long long id;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct context
    contexts[2 * DEVICES_MAX]; /* the primary ones, and a green one of each device */
static unsigned contexts_generation;
static unsigned long long last_id;

static _Atomic unsigned initialized_generation; /* plus 1 */

static _Thread_local struct {
    unsigned generation;
    struct context *stack[STACK_MAX];
    int top; /* of the current context; NULL at the bottom */
} of_thread;

static void renew_thread(void)
{
    if (of_thread.generation == sim_generation()) return;
    memset(&of_thread, 0, sizeof of_thread);
    of_thread.generation = sim_generation();
}

static struct context *current(void)
{
    renew_thread();
    return of_thread.stack[of_thread.top];
}

static struct context *primary_of(int device)
{
    return &contexts[device];
}

static void renew_contexts_locked(void)
{
    if (contexts_generation == sim_generation()) return;
    contexts_generation = sim_generation();
    for (int i = 0; i < 2 * DEVICES_MAX; i++)
        contexts[i] = (struct context){ .device = i % DEVICES_MAX, .is_green = i >= DEVICES_MAX };
}

static void begin_locked(struct context *context)
{
    if (!context->is_there) context->id = ++last_id;
    context->is_there = true;
}

static sim_status retain(int device, bool for_runtime)
{
    sim_status status = sim_context_activate(device);
    if (status != SIM_STATUS_OK) return status;
    pthread_mutex_lock(&lock);
    renew_contexts_locked();
    struct context *context = primary_of(device);
    begin_locked(context);
    if (!for_runtime || !context->is_retained_by_runtime) context->use_count++;
    if (for_runtime) context->is_retained_by_runtime = true;
    pthread_mutex_unlock(&lock);
    return SIM_STATUS_OK;
}

int sim_cuda_current_device(void)
{
    struct context *context = current();
    return context ? context->device : -1;
}

void sim_cuda_initialize(void)
{
    atomic_store(&initialized_generation, sim_generation() + 1);
}

/* What the runtime does when its device is set, and in calls of a thread that has no context. */
sim_status sim_cuda_make_current(int device)
{
    sim_status status = retain(device, true);
    renew_thread();
    if (status != SIM_STATUS_OK) return status;
    if (of_thread.top == 0) of_thread.top = 1;
    of_thread.stack[of_thread.top] = primary_of(device);
    return status;
}

/* --- how calls begin ---------------------------------------------------------------------------- */

static sim_status enter(const char *name)
{
    sim_status status = sim_enter(name);
    bool is_initialized = atomic_load(&initialized_generation) == sim_generation() + 1;
    return status == SIM_STATUS_OK && !is_initialized
               ? SIM_STATUS_OF_VENDOR(CUDA_ERROR_NOT_INITIALIZED)
               : status;
}

static sim_status check_device(sim_status status, CUdevice device)
{
    bool is_there = device >= 0 && device < sim_device_count();
    return status == SIM_STATUS_OK && !is_there ? SIM_STATUS_INVALID_DEVICE : status;
}

/* Of calls that need a context. */
static sim_status begin(const char *name)
{
    sim_status status = enter(name);
    struct context *context = current();
    if (status == SIM_STATUS_OK && !context)
        status = SIM_STATUS_OF_VENDOR(CUDA_ERROR_INVALID_CONTEXT);
    if (status == SIM_STATUS_OK && !context->is_there) status = SIM_STATUS_CONTEXT_DESTROYED;
    return status == SIM_STATUS_OK ? sim_device_check(context->device) : status;
}

static sim_status check_safe(sim_status status)
{
    return status == SIM_STATUS_OK ? sim_capture_check(SIM_CAPTURE_RULE_UNSAFE) : status;
}

/* --- errors, devices ---------------------------------------------------------------------------- */

#define DRIVER_ERRORS(X)                     \
    X(CUDA_SUCCESS)                          \
    X(CUDA_ERROR_INVALID_VALUE)              \
    X(CUDA_ERROR_OUT_OF_MEMORY)              \
    X(CUDA_ERROR_NOT_INITIALIZED)            \
    X(CUDA_ERROR_DEINITIALIZED)              \
    X(CUDA_ERROR_STUB_LIBRARY)               \
    X(CUDA_ERROR_NO_DEVICE)                  \
    X(CUDA_ERROR_INVALID_DEVICE)             \
    X(CUDA_ERROR_INVALID_CONTEXT)            \
    X(CUDA_ERROR_ECC_UNCORRECTABLE)          \
    X(CUDA_ERROR_INVALID_HANDLE)             \
    X(CUDA_ERROR_NOT_READY)                  \
    X(CUDA_ERROR_ILLEGAL_ADDRESS)            \
    X(CUDA_ERROR_LAUNCH_TIMEOUT)             \
    X(CUDA_ERROR_CONTEXT_IS_DESTROYED)       \
    X(CUDA_ERROR_NOT_SUPPORTED)              \
    X(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH)     \
    X(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) \
    X(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED) \
    X(CUDA_ERROR_UNKNOWN)

CUresult cuGetErrorName(CUresult error, const char **name)
{
    sim_note("cuGetErrorName");
    switch ((int)error) {
#define CASE(code)     \
    case code:         \
        *name = #code; \
        return CUDA_SUCCESS;
        DRIVER_ERRORS(CASE)
#undef CASE
    default:
        *name = NULL;
        return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult cuGetErrorString(CUresult error, const char **text)
{
    const char *name;
    static _Thread_local char sentence[80];
    sim_note("cuGetErrorString");
    if (cuGetErrorName(error, &name) != CUDA_SUCCESS) return CUDA_ERROR_INVALID_VALUE;
    snprintf(sentence, sizeof sentence, "simulated %s", name);
    *text = sentence;
    return CUDA_SUCCESS;
}

CUresult cuInit(unsigned flags)
{
    sim_status status = sim_enter("cuInit");
    if (status == SIM_STATUS_OK && flags != 0) status = SIM_STATUS_INVALID_VALUE;
    if (status == SIM_STATUS_OK && sim_device_count() == 0) status = SIM_STATUS_NO_DEVICE;
    if (status == SIM_STATUS_OK) sim_cuda_initialize();
    return answer(status);
}

CUresult cuDriverGetVersion(int *version)
{
    sim_status status = sim_enter("cuDriverGetVersion");
    if (status == SIM_STATUS_OK) *version = CUDA_VERSION + 10; /* newer than the runtime */
    return answer(status);
}

CUresult cuDeviceGetCount(int *count)
{
    sim_status status = enter("cuDeviceGetCount");
    if (status == SIM_STATUS_OK) *count = sim_device_count();
    return answer(status);
}

CUresult cuDeviceGetName(char *name, int bytes, CUdevice device)
{
    sim_status status = check_device(enter("cuDeviceGetName"), device);
    if (status == SIM_STATUS_OK) snprintf(name, (size_t)bytes, "simulated CUDA device %d", device);
    return answer(status);
}

CUresult cuDeviceTotalMem(size_t *bytes, CUdevice device)
{
    sim_status status = check_device(enter("cuDeviceTotalMem"), device);
    if (status == SIM_STATUS_OK) *bytes = sim_get_settings().memory_bytes;
    return answer(status);
}

/* Those that somebody here asks for. */
static int attribute_of(CUdevice_attribute attribute, CUdevice device)
{
    sim_settings settings = sim_get_settings();
    bool is_rich = device != settings.poor_device;
    bool is_old = settings.driver == SIM_DRIVER_WITHOUT_EXTRAS;
    switch ((int)attribute) {
    case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
        return settings.has_kind[SIM_MEMORY_KIND_PINNED] && is_rich;
    case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
        return settings.has_one_address;
    case CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY:
        return settings.has_kind[SIM_MEMORY_KIND_SHARED] && is_rich;
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS:
        return settings.spills_to_host && is_rich;
    case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
        return settings.has_ranges && is_rich && !is_old;
    case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED:
        return settings.has_sharing && is_rich;
    case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED:
        return settings.has_rdma;
    case CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT:
        return 512;
    default:
        return 0;
    }
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    sim_status status = check_device(enter("cuDeviceGetAttribute"), device);
    if (status == SIM_STATUS_OK) *value = attribute_of(attribute, device);
    return answer(status);
}

/* --- contexts: the calls ------------------------------------------------------------------------ */

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *is_active)
{
    sim_status status = check_device(enter("cuDevicePrimaryCtxGetState"), device);
    if (status == SIM_STATUS_OK) {
        *flags = 0;
        *is_active = sim_context_is_active(device);
    }
    return answer(status);
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    sim_status status = check_device(enter("cuDevicePrimaryCtxRetain"), device);
    if (status == SIM_STATUS_OK) status = retain(device, false);
    if (status == SIM_STATUS_OK) *context = (CUcontext)(void *)primary_of(device);
    return answer(status);
}

#undef cuDevicePrimaryCtxRelease
CUresult cuDevicePrimaryCtxRelease(CUdevice device);
CUresult cuDevicePrimaryCtxRelease(CUdevice device)
{
    return cuDevicePrimaryCtxRelease_v2(device);
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    sim_status status = check_device(enter("cuDevicePrimaryCtxRelease"), device);
    if (status != SIM_STATUS_OK) return answer(status);
    pthread_mutex_lock(&lock);
    renew_contexts_locked();
    struct context *context = primary_of(device);
    bool is_retained = context->use_count > 0;
    bool is_last = is_retained && --context->use_count == 0;
    if (is_last) context->is_there = false;
    pthread_mutex_unlock(&lock);
    if (is_last) sim_context_deactivate(device);
    return is_retained ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

/* The context ends. Who has retained it has to release it all the same; the runtime has done so. */
CUresult cuDevicePrimaryCtxReset(CUdevice device)
{
    sim_status status = check_device(enter("cuDevicePrimaryCtxReset"), device);
    if (status != SIM_STATUS_OK) return answer(status);
    pthread_mutex_lock(&lock);
    renew_contexts_locked();
    struct context *context = primary_of(device);
    context->is_there = false;
    context->use_count -= context->is_retained_by_runtime;
    context->is_retained_by_runtime = false;
    pthread_mutex_unlock(&lock);
    sim_reset_device(device);
    return CUDA_SUCCESS;
}

CUresult cuCtxGetId(CUcontext handle, unsigned long long *id)
{
    const struct context *context = handle ? (const void *)handle : current();
    sim_status status = enter("cuCtxGetId");
    if (status == SIM_STATUS_OK && (!context || !context->is_there))
        status = SIM_STATUS_CONTEXT_DESTROYED;
    if (status == SIM_STATUS_OK) *id = context->id;
    return answer(status);
}

CUresult cuCtxGetDevice(CUdevice *device)
{
    sim_status status = enter("cuCtxGetDevice");
    if (status == SIM_STATUS_OK && !current()) return CUDA_ERROR_INVALID_CONTEXT;
    if (status == SIM_STATUS_OK) *device = current()->device;
    return answer(status);
}

CUresult cuCtxGetCurrent(CUcontext *context)
{
    sim_status status = enter("cuCtxGetCurrent");
    if (status == SIM_STATUS_OK) *context = (CUcontext)(void *)current();
    return answer(status);
}

CUresult cuCtxSetCurrent(CUcontext context)
{
    sim_status status = enter("cuCtxSetCurrent");
    renew_thread();
    if (status == SIM_STATUS_OK && of_thread.top == 0 && context) of_thread.top = 1;
    if (status == SIM_STATUS_OK && of_thread.top > 0)
        of_thread.stack[of_thread.top] = (struct context *)(void *)context;
    return answer(status);
}

CUresult cuCtxPushCurrent(CUcontext handle)
{
    struct context *context = (void *)handle;
    sim_status status = enter("cuCtxPushCurrent");
    renew_thread();
    if (status == SIM_STATUS_OK && (!context || of_thread.top + 1 == STACK_MAX))
        status = SIM_STATUS_OF_VENDOR(CUDA_ERROR_INVALID_CONTEXT);
    if (status == SIM_STATUS_OK) of_thread.stack[++of_thread.top] = context;
    return answer(status);
}

CUresult cuCtxPopCurrent(CUcontext *context)
{
    sim_note("cuCtxPopCurrent"); /* it cannot fail after a push */
    renew_thread();
    if (of_thread.top == 0) return CUDA_ERROR_INVALID_CONTEXT;
    *context = (CUcontext)(void *)of_thread.stack[of_thread.top--];
    return CUDA_SUCCESS;
}

/* One for each device, which has no resources here. */
CUresult cuGreenCtxCreate(CUgreenCtx *green, CUdevResourceDesc resources, CUdevice device,
                          unsigned flags)
{
    (void)resources, (void)flags;
    sim_status status = check_device(enter("cuGreenCtxCreate"), device);
    if (status == SIM_STATUS_OK) status = retain(device, false);
    if (status != SIM_STATUS_OK) return answer(status);
    pthread_mutex_lock(&lock);
    begin_locked(&contexts[DEVICES_MAX + device]);
    pthread_mutex_unlock(&lock);
    *green = (CUgreenCtx)(void *)&contexts[DEVICES_MAX + device];
    return CUDA_SUCCESS;
}

CUresult cuCtxFromGreenCtx(CUcontext *context, CUgreenCtx green)
{
    sim_status status = enter("cuCtxFromGreenCtx");
    if (status == SIM_STATUS_OK) *context = (CUcontext)(void *)green;
    return answer(status);
}

CUresult cuCtxSynchronize(void)
{
    sim_status status = begin("cuCtxSynchronize");
    if (status == SIM_STATUS_OK) status = sim_capture_check(SIM_CAPTURE_RULE_CONFLICTS);
    if (status == SIM_STATUS_OK) status = sim_device_synchronize(current()->device);
    return answer(status);
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    sim_status status = enter("cuThreadExchangeStreamCaptureMode");
    if (status == SIM_STATUS_OK && (unsigned)*mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        status = SIM_STATUS_INVALID_VALUE;
    if (status == SIM_STATUS_OK)
        *mode = (CUstreamCaptureMode)sim_capture_exchange_mode((sim_capture_mode)*mode);
    return answer(status);
}

/* --- memory ------------------------------------------------------------------------------------- */

static sim_status allocate(sim_status status, sim_memory_kind kind, size_t size_bytes,
                           unsigned flags, void **address)
{
    status = check_safe(status);
    if (status == SIM_STATUS_OK && size_bytes == 0) status = SIM_STATUS_INVALID_VALUE;
    return status == SIM_STATUS_OK ? sim_runtime_alloc(kind, size_bytes, flags, address) : status;
}

CUresult cuMemAlloc(CUdeviceptr *pointer, size_t size_bytes)
{
    void *address = NULL;
    sim_status status =
        allocate(begin("cuMemAlloc"), SIM_MEMORY_KIND_DEVICE, size_bytes, 0, &address);
    if (status == SIM_STATUS_OK) *pointer = (CUdeviceptr)(uintptr_t)address;
    return answer(status);
}

CUresult cuMemAllocManaged(CUdeviceptr *pointer, size_t size_bytes, unsigned flags)
{
    void *address = NULL;
    sim_status status = begin("cuMemAllocManaged");
    if (status == SIM_STATUS_OK && flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST)
        status = SIM_STATUS_INVALID_VALUE;
    status = allocate(status, SIM_MEMORY_KIND_SHARED, size_bytes, flags, &address);
    if (status == SIM_STATUS_OK) *pointer = (CUdeviceptr)(uintptr_t)address;
    return answer(status);
}

CUresult cuMemHostAlloc(void **address, size_t size_bytes, unsigned flags)
{
    const unsigned known =
        CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
    sim_status status = begin("cuMemHostAlloc");
    if (status == SIM_STATUS_OK && (flags & ~known) != 0) status = SIM_STATUS_INVALID_VALUE;
    if (status == SIM_STATUS_OK && size_bytes == 0) {
        *address = NULL;
        return CUDA_SUCCESS;
    }
    return answer(allocate(status, SIM_MEMORY_KIND_PINNED, size_bytes, flags, address));
}

static CUresult free_kind(const char *name, void *address, bool pinned)
{
    sim_memory memory;
    sim_status status = check_safe(begin(name));
    if (status == SIM_STATUS_OK) status = sim_runtime_find_kind(address, pinned, &memory);
    return answer(status == SIM_STATUS_OK ? sim_free(address) : status);
}

CUresult cuMemFree(CUdeviceptr pointer)
{
    return free_kind("cuMemFree", (void *)(uintptr_t)pointer, false);
}

CUresult cuMemFreeHost(void *address)
{
    return free_kind("cuMemFreeHost", address, true);
}

CUresult cuMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
    sim_status status = begin("cuMemGetInfo");
    if (status == SIM_STATUS_OK)
        status = sim_memory_info(current()->device, total_bytes, free_bytes);
    return answer(status);
}

/* --- streams, events ---------------------------------------------------------------------------- */

CUresult cuStreamCreate(CUstream *stream, unsigned flags)
{
    sim_stream *created;
    sim_status status = begin("cuStreamCreate");
    if (status == SIM_STATUS_OK && flags != CU_STREAM_DEFAULT && flags != CU_STREAM_NON_BLOCKING)
        status = SIM_STATUS_INVALID_VALUE;
    if (status == SIM_STATUS_OK) status = sim_stream_create(current()->device, &created);
    if (status == SIM_STATUS_OK) status = sim_stream_set_flags(created, flags);
    if (status == SIM_STATUS_OK) *stream = (CUstream)(void *)created;
    return answer(status);
}

CUresult cuStreamDestroy(CUstream stream)
{
    sim_status status = begin("cuStreamDestroy");
    if (status == SIM_STATUS_OK) status = sim_stream_destroy(sim_runtime_stream(stream));
    return answer(status);
}

CUresult cuStreamGetId(CUstream stream, unsigned long long *id)
{
    sim_status status = begin("cuStreamGetId");
    if (status == SIM_STATUS_OK) status = sim_stream_get_id(sim_runtime_stream(stream), id);
    return answer(status);
}

CUresult cuStreamSynchronize(CUstream stream)
{
    sim_status status = check_safe(begin("cuStreamSynchronize"));
    if (status == SIM_STATUS_OK) status = sim_stream_synchronize(sim_runtime_stream(stream));
    return answer(status);
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
    sim_status status = begin("cuStreamWaitEvent");
    if (status == SIM_STATUS_OK && flags != 0) status = SIM_STATUS_INVALID_VALUE;
    if (status == SIM_STATUS_OK)
        status = sim_stream_wait_event(sim_runtime_stream(stream), sim_runtime_event(event));
    return answer(status);
}

/* Above the flags of the call it is noted whether the event is a green context's. */
#define EVENT_IS_GREEN 0x100

CUresult cuEventCreate(CUevent *event, unsigned flags)
{
    const unsigned known = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING;
    sim_event *created;
    sim_status status = begin("cuEventCreate");
    if (status == SIM_STATUS_OK && (flags & ~known) != 0) status = SIM_STATUS_INVALID_VALUE;
    if (status == SIM_STATUS_OK)
        status = sim_event_create(current()->device, SIM_EVENT_FORM_RECORDS, &created);
    if (status == SIM_STATUS_OK)
        status = sim_event_set_flags(created, flags | (current()->is_green ? EVENT_IS_GREEN : 0));
    if (status == SIM_STATUS_OK) *event = (CUevent)(void *)created;
    return answer(status);
}

CUresult cuEventDestroy(CUevent event)
{
    sim_status status = begin("cuEventDestroy");
    if (status == SIM_STATUS_OK) status = sim_event_destroy(sim_runtime_event(event));
    return answer(status);
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
    sim_status status = begin("cuEventRecord");
    if (status == SIM_STATUS_OK)
        status = sim_event_record(sim_runtime_event(event), sim_runtime_stream(stream));
    return answer(status);
}

CUresult cuEventQuery(CUevent event)
{
    sim_status status = check_safe(begin("cuEventQuery"));
    if (status == SIM_STATUS_OK) status = sim_event_query(sim_runtime_event(event));
    return answer(status);
}

CUresult cuEventSynchronize(CUevent event)
{
    sim_status status = check_safe(begin("cuEventSynchronize"));
    if (status == SIM_STATUS_OK) status = sim_event_synchronize(sim_runtime_event(event));
    return answer(status);
}

/* No work is ever a green context's here. So an event that is recorded on one is done at once. */
static sim_status record_green(sim_event *event, int device)
{
    sim_stream *empty;
    sim_status status = sim_stream_create(device, &empty);
    if (status == SIM_STATUS_OK) status = sim_event_record(event, empty);
    return status == SIM_STATUS_OK ? sim_stream_destroy(empty) : status;
}

/* Not while any stream of the context is captured: then the captures are invalid. */
CUresult cuCtxRecordEvent(CUcontext handle, CUevent event)
{
    const struct context *context = (const void *)handle;
    unsigned flags = 0;
    sim_status status = enter("cuCtxRecordEvent");
    if (status == SIM_STATUS_OK) status = sim_capture_check(SIM_CAPTURE_RULE_CONFLICTS);
    if (status == SIM_STATUS_OK && !context) return CUDA_ERROR_INVALID_CONTEXT;
    if (status == SIM_STATUS_OK) status = sim_event_get_flags(sim_runtime_event(event), &flags);
    if (status == SIM_STATUS_OK && ((flags & EVENT_IS_GREEN) != 0) != context->is_green)
        status = SIM_STATUS_INVALID_HANDLE;
    if (status == SIM_STATUS_OK && context->is_green)
        return answer(record_green(sim_runtime_event(event), context->device));
    if (status == SIM_STATUS_OK) status = sim_event_record_device(sim_runtime_event(event));
    return answer(status);
}

/* --- data --------------------------------------------------------------------------------------- */

CUresult cuMemsetD8Async(CUdeviceptr pointer, unsigned char value, size_t size_bytes,
                         CUstream stream)
{
    void *address = (void *)(uintptr_t)pointer;
    sim_status status = begin("cuMemsetD8Async");
    if (status == SIM_STATUS_OK) status = sim_runtime_check_fill(stream, address, size_bytes);
    if (status == SIM_STATUS_OK)
        status = sim_fill(sim_runtime_stream(stream), address, &value, 1, size_bytes);
    return answer(status);
}

CUresult cuMemcpyAsync(CUdeviceptr destination, CUdeviceptr source, size_t size_bytes,
                       CUstream stream)
{
    void *to = (void *)(uintptr_t)destination;
    const void *from = (const void *)(uintptr_t)source;
    sim_status status = begin("cuMemcpyAsync");
    if (status == SIM_STATUS_OK) status = sim_runtime_check_copy(to, from, size_bytes);
    if (status == SIM_STATUS_OK)
        status = sim_copy(sim_runtime_stream(stream), to, from, size_bytes);
    return answer(status);
}

/* --- virtual memory ----------------------------------------------------------------------------- */

static sim_status check_memory(const CUmemAllocationProp *memory)
{
    if (memory->type != CU_MEM_ALLOCATION_TYPE_PINNED ||
        memory->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return SIM_STATUS_INVALID_VALUE;
    if (memory->requestedHandleTypes != CU_MEM_HANDLE_TYPE_NONE &&
        memory->requestedHandleTypes != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return SIM_STATUS_NOT_SUPPORTED;
    if (memory->allocFlags.gpuDirectRDMACapable && !sim_get_settings().has_rdma)
        return SIM_STATUS_INVALID_VALUE;
    return sim_device_check(memory->location.id);
}

CUresult cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *memory,
                                       CUmemAllocationGranularity_flags option)
{
    bool is_minimum = option == CU_MEM_ALLOC_GRANULARITY_MINIMUM;
    sim_status status = enter("cuMemGetAllocationGranularity");
    if (status == SIM_STATUS_OK) status = check_memory(memory);
    if (status == SIM_STATUS_OK && !sim_get_settings().has_ranges)
        status = SIM_STATUS_NOT_SUPPORTED;
    if (status == SIM_STATUS_OK)
        *granularity = sim_get_settings().range_granularity_bytes * (is_minimum ? 1 : 2);
    return answer(status);
}

CUresult cuMemAddressReserve(CUdeviceptr *pointer, size_t size_bytes, size_t alignment,
                             CUdeviceptr wanted, unsigned long long flags)
{
    void *address = NULL;
    sim_status status = enter("cuMemAddressReserve");
    if (status == SIM_STATUS_OK && flags != 0) status = SIM_STATUS_INVALID_VALUE;
    if (status == SIM_STATUS_OK)
        status =
            sim_range_reserve((const void *)(uintptr_t)wanted, size_bytes, alignment, &address);
    if (status == SIM_STATUS_OK) *pointer = (CUdeviceptr)(uintptr_t)address;
    return answer(status);
}

CUresult cuMemAddressFree(CUdeviceptr pointer, size_t size_bytes)
{
    sim_status status = enter("cuMemAddressFree");
    if (status == SIM_STATUS_OK) status = sim_range_free((void *)(uintptr_t)pointer, size_bytes);
    return answer(status);
}

static sim_physical *physical_of(CUmemGenericAllocationHandle handle)
{
    return (sim_physical *)(uintptr_t)handle;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size_bytes,
                     const CUmemAllocationProp *memory, unsigned long long flags)
{
    sim_physical *physical = NULL;
    sim_status status = enter("cuMemCreate");
    if (status == SIM_STATUS_OK && flags != 0) status = SIM_STATUS_INVALID_VALUE;
    if (status == SIM_STATUS_OK) status = check_memory(memory);
    if (status == SIM_STATUS_OK) {
        if (memory->allocFlags.gpuDirectRDMACapable) sim_note("cuMemCreate for RDMA");
        bool is_shareable = memory->requestedHandleTypes != CU_MEM_HANDLE_TYPE_NONE;
        status =
            sim_physical_create_shareable(memory->location.id, size_bytes, is_shareable, &physical);
    }
    if (status == SIM_STATUS_OK) *handle = (CUmemGenericAllocationHandle)(uintptr_t)physical;
    return answer(status);
}

/* Memory that is still mapped stays until it is unmapped. */
CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
    sim_status status = enter("cuMemRelease");
    if (status == SIM_STATUS_OK) status = sim_physical_release(physical_of(handle));
    if (status == SIM_STATUS_INVALID_HANDLE) status = SIM_STATUS_INVALID_VALUE;
    return answer(status);
}

CUresult cuMemExportToShareableHandle(void *shared, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType type, unsigned long long flags)
{
    sim_status status = enter("cuMemExportToShareableHandle");
    if (status == SIM_STATUS_OK && (flags != 0 || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR))
        status = SIM_STATUS_INVALID_VALUE;
    if (status == SIM_STATUS_OK) status = sim_physical_export(physical_of(handle), shared);
    if (status == SIM_STATUS_INVALID_HANDLE) status = SIM_STATUS_INVALID_VALUE;
    return answer(status);
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *shared,
                                        CUmemAllocationHandleType type)
{
    sim_physical *physical = NULL;
    sim_status status = check_safe(enter("cuMemImportFromShareableHandle"));
    if (status == SIM_STATUS_OK && type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        status = SIM_STATUS_INVALID_VALUE;
    if (status == SIM_STATUS_OK) status = sim_physical_import((int)(intptr_t)shared, &physical);
    if (status == SIM_STATUS_OK) *handle = (CUmemGenericAllocationHandle)(uintptr_t)physical;
    return answer(status);
}

/* Memory that is gone: driver 580 has crashed on its handle, and so does this. */
static void die_of_stale_handle(CUmemGenericAllocationHandle handle)
{
    int device;
    size_t size_bytes;
    if (sim_physical_find(physical_of(handle), &device, &size_bytes) == SIM_STATUS_INVALID_HANDLE)
        abort();
}

/* Whether all of the memory is asked for: parts are for other kinds of memory. */
static bool is_whole(CUmemGenericAllocationHandle handle, size_t size_bytes)
{
    int device;
    size_t whole_bytes;
    return sim_physical_find(physical_of(handle), &device, &whole_bytes) == SIM_STATUS_OK &&
           size_bytes == whole_bytes;
}

CUresult cuMemMap(CUdeviceptr pointer, size_t size_bytes, size_t offset_bytes,
                  CUmemGenericAllocationHandle handle, unsigned long long flags)
{
    sim_status status = enter("cuMemMap");
    if (status == SIM_STATUS_OK && flags != 0) status = SIM_STATUS_INVALID_VALUE;
    if (status == SIM_STATUS_OK) die_of_stale_handle(handle);
    if (status == SIM_STATUS_OK && (offset_bytes != 0 || !is_whole(handle, size_bytes)))
        status = SIM_STATUS_NOT_SUPPORTED;
    if (status == SIM_STATUS_OK)
        status = sim_map((void *)(uintptr_t)pointer, size_bytes, physical_of(handle), 0);
    return answer(status);
}

/* Unmaps what is mapped there, piece by piece. That there is nothing, or gaps, is no failure, as driver
 * 580 has it; a part of a piece is. */
static sim_status unmap_pieces(char *address, size_t size_bytes)
{
    size_t step_bytes = sim_get_settings().range_granularity_bytes;
    sim_status status = SIM_STATUS_OK;
    for (size_t done = 0; status == SIM_STATUS_OK && done < size_bytes; done += step_bytes) {
        void *start;
        size_t piece_bytes;
        if (!sim_mapping_find(address + done, &start, &piece_bytes, NULL)) continue;
        if (start != address + done || piece_bytes > size_bytes - done)
            return SIM_STATUS_INVALID_VALUE;
        status = sim_unmap(start, piece_bytes);
    }
    return status;
}

CUresult cuMemUnmap(CUdeviceptr pointer, size_t size_bytes)
{
    sim_status status = enter("cuMemUnmap");
    if (status == SIM_STATUS_OK) status = unmap_pieces((void *)(uintptr_t)pointer, size_bytes);
    return answer(status);
}

CUresult cuPointerGetAttribute(void *value, CUpointer_attribute attribute, CUdeviceptr pointer)
{
    sim_memory memory;
    sim_status status = enter("cuPointerGetAttribute");
    if (status == SIM_STATUS_OK && (attribute != CU_POINTER_ATTRIBUTE_RANGE_START_ADDR ||
                                    !sim_memory_find((void *)(uintptr_t)pointer, &memory)))
        status = SIM_STATUS_INVALID_VALUE;
    if (status == SIM_STATUS_OK) memcpy(value, &memory.address, sizeof memory.address);
    return answer(status);
}

static sim_access access_of(CUmemAccess_flags flags)
{
    if (flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE) return SIM_ACCESS_READ_WRITE;
    return flags == CU_MEM_ACCESS_FLAGS_PROT_READ ? SIM_ACCESS_READ : SIM_ACCESS_NONE;
}

CUresult cuMemSetAccess(CUdeviceptr pointer, size_t size_bytes, const CUmemAccessDesc *access,
                        size_t count)
{
    sim_status status = enter("cuMemSetAccess");
    for (size_t i = 0; status == SIM_STATUS_OK && i < count; i++) {
        if (access[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE)
            return answer(SIM_STATUS_INVALID_VALUE);
        status = sim_set_access((void *)(uintptr_t)pointer, size_bytes, access[i].location.id,
                                access_of(access[i].flags));
    }
    return answer(status);
}
