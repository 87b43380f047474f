/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * fake_vendor: libcuda.so.1 over the simulated devices, as far as programs and the preloaded library call it.
 *
 * What is modelled besides memory, streams and events: contexts, primary and others, a stack of them in each thread; that
 * a context takes its memory and streams with it; which functions cuGetProcAddress hands out for a name, a version and
 * flags; that a capture becomes invalid by calls that it prohibits. cuMemFree waits for its device, as the driver does.
 *
 * The declarations are those of run/preload/intercepted.h; check_types.c compares them with cuda.h. An array's description is its
 * size here, a size_t.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../../../run/preload/vendor.h"

#include "../../sim/sim_device.h"

#define EXPORT      __attribute__((visibility("default")))
#define DEVICES_MAX 8
#define THINGS_MAX  4096

#define DECLARE(symbol, name, since, streams, parameters, arguments) EXPORT int symbol parameters;
TN_INTERCEPTED(DECLARE)
#undef DECLARE
#define DECLARE(field, symbol, is_required, parameters) EXPORT int symbol parameters;
TN_DRIVER_FUNCTIONS(DECLARE)
#undef DECLARE
EXPORT int cuInit(unsigned flags);
EXPORT int cuCtxCreate_v2(void **context, unsigned flags, int device);
EXPORT int cuCtxSetCurrent(void *context);
EXPORT int cuStreamQuery(void *stream);

/* --- answers ------------------------------------------------------------------------------------------ */

static int answer(sim_status status)
{
    if (status > SIM_STATUS_COUNT) return (int)(status - SIM_STATUS_COUNT);
    switch (status) {
    case SIM_STATUS_OK:
        return 0;
    case SIM_STATUS_NOT_READY:
        return TN_CUDA_NOT_READY;
    case SIM_STATUS_OUT_OF_MEMORY:
    case SIM_STATUS_OUT_OF_HOST_MEMORY:
        return TN_CUDA_OUT_OF_MEMORY;
    case SIM_STATUS_INVALID_VALUE:
    case SIM_STATUS_INVALID_SIZE:
    case SIM_STATUS_INVALID_ALIGNMENT:
    case SIM_STATUS_INVALID_ADDRESS:
    case SIM_STATUS_ALREADY_MAPPED:
    case SIM_STATUS_NOT_MAPPED:
    case SIM_STATUS_STILL_MAPPED:
        return TN_CUDA_INVALID_VALUE;
    case SIM_STATUS_INVALID_HANDLE:
    case SIM_STATUS_WRONG_DEVICE:
        return TN_CUDA_INVALID_HANDLE;
    case SIM_STATUS_INVALID_DEVICE:
        return TN_CUDA_INVALID_DEVICE;
    case SIM_STATUS_NOT_SUPPORTED:
        return TN_CUDA_NOT_SUPPORTED;
    case SIM_STATUS_CAPTURING:
        return 900; /* CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED */
    case SIM_STATUS_UNLOADING:
        return TN_CUDA_DEINITIALIZED;
    default:
        return TN_CUDA_UNKNOWN;
    }
}

/* After sim_enter: for calls that a capture prohibits. */
static sim_status enter(const char *name, sim_capture_rule rule)
{
    sim_status status = sim_enter(name);
    return status == SIM_STATUS_OK ? sim_capture_check(rule) : status;
}

/* --- contexts ----------------------------------------------------------------------------------------- */

struct context {
    int device;
    int use_count; /* 0: it is no context any more */
};

/* Memory or a stream, and the context that it goes with. */
struct thing {
    void *handle;
    struct context *context;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct context primaries[DEVICES_MAX], others[64];
static struct thing memory[THINGS_MAX], streams[THINGS_MAX];
static bool is_initialised;
static _Thread_local struct context *stack[16];
static _Thread_local int stack_top; /* of the current context, which is NULL at the bottom */

static struct context *current(void)
{
    return stack[stack_top];
}

static sim_status need_context(sim_status status)
{
    return status == SIM_STATUS_OK && (!current() || current()->use_count == 0)
               ? SIM_STATUS_OF_VENDOR(201) /* CUDA_ERROR_INVALID_CONTEXT */
               : status;
}

static void add(struct thing *things, void *handle)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < THINGS_MAX; i++) {
        if (things[i].handle) continue;
        things[i] = (struct thing){ handle, current() };
        break;
    }
    pthread_mutex_unlock(&lock);
}

static struct context *remove_thing(struct thing *things, const void *handle)
{
    struct context *context = NULL;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < THINGS_MAX; i++) {
        if (things[i].handle != handle) continue;
        context = things[i].context;
        things[i].handle = NULL;
        break;
    }
    pthread_mutex_unlock(&lock);
    return context;
}

static struct context *context_of_stream(const void *stream)
{
    struct context *context = NULL;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < THINGS_MAX; i++) {
        if (streams[i].handle == stream) context = streams[i].context;
    }
    pthread_mutex_unlock(&lock);
    return context;
}

static void end_context(struct context *context)
{
    (void)sim_device_synchronize(context->device);
    context->use_count = 0;
    for (size_t i = 0; i < THINGS_MAX; i++) {
        if (memory[i].handle && memory[i].context == context) {
            (void)sim_free(memory[i].handle);
            memory[i].handle = NULL;
        }
        if (streams[i].handle && streams[i].context == context) {
            (void)sim_stream_destroy(streams[i].handle);
            streams[i].handle = NULL;
        }
    }
}

int cuInit(unsigned flags)
{
    is_initialised = flags == 0;
    return answer(sim_enter("cuInit"));
}

int cuCtxCreate_v2(void **context, unsigned flags, int device)
{
    sim_status status = sim_enter("cuCtxCreate_v2");
    if (status != SIM_STATUS_OK) return answer(status);
    if (!is_initialised || flags != 0) return TN_CUDA_NOT_INITIALIZED;
    struct context *made = others;
    while (made->use_count > 0)
        made++;
    *made = (struct context){ device, 1 };
    stack[++stack_top] = made;
    *context = made;
    return 0;
}

static int destroy_context(const char *name, struct context *context)
{
    sim_status status = sim_enter(name);
    if (status != SIM_STATUS_OK) return answer(status);
    if (!context || context->use_count == 0) return 201;
    if (stack_top > 0 && current() == context) stack_top--;
    end_context(context);
    return 0;
}

int cuCtxDestroy(void *context)
{
    return destroy_context("cuCtxDestroy", context);
}

int cuCtxDestroy_v2(void *context)
{
    return destroy_context("cuCtxDestroy_v2", context);
}

int cuCtxSetCurrent(void *context)
{
    if (stack_top == 0) stack_top = 1;
    stack[stack_top] = context;
    return answer(sim_enter("cuCtxSetCurrent"));
}

int cuCtxGetCurrent(void **context)
{
    sim_status status = sim_enter("cuCtxGetCurrent");
    if (status == SIM_STATUS_OK) *context = current();
    return answer(status);
}

int cuCtxGetDevice(int *device)
{
    sim_status status = need_context(sim_enter("cuCtxGetDevice"));
    if (status == SIM_STATUS_OK) *device = current()->device;
    return answer(status);
}

int cuCtxPushCurrent_v2(void *context)
{
    sim_status status = sim_enter("cuCtxPushCurrent_v2");
    if (status == SIM_STATUS_OK) stack[++stack_top] = context;
    return answer(status);
}

int cuCtxPopCurrent_v2(void **context)
{
    sim_note("cuCtxPopCurrent_v2"); /* cannot fail after a push */
    *context = current();
    stack_top--;
    return 0;
}

int cuCtxSynchronize(void)
{
    sim_status status = need_context(enter("cuCtxSynchronize", SIM_CAPTURE_RULE_CONFLICTS));
    return answer(status == SIM_STATUS_OK ? sim_device_synchronize(current()->device) : status);
}

int cuCtxRecordEvent(void *context, void *event)
{
    sim_status status = enter("cuCtxRecordEvent", SIM_CAPTURE_RULE_CONFLICTS);
    (void)context;
    return answer(status == SIM_STATUS_OK ? sim_event_record_device(event) : status);
}

int cuCtxFromGreenCtx(void **context, void *green_context)
{
    *context = green_context; /* any context can be one here */
    return answer(sim_enter("cuCtxFromGreenCtx"));
}

int cuCtxEnablePeerAccess(void *other, unsigned flags)
{
    (void)other, (void)flags;
    return answer(need_context(sim_enter("cuCtxEnablePeerAccess")));
}

int cuDevicePrimaryCtxRetain(void **context, int device)
{
    sim_status status = sim_enter("cuDevicePrimaryCtxRetain");
    if (status != SIM_STATUS_OK) return answer(status);
    primaries[device].device = device;
    primaries[device].use_count++;
    *context = &primaries[device];
    return 0;
}

static int release_primary(const char *name, int device)
{
    sim_status status = sim_enter(name);
    if (status != SIM_STATUS_OK) return answer(status);
    if (primaries[device].use_count == 0) return 201;
    if (--primaries[device].use_count == 0) end_context(&primaries[device]);
    return 0;
}

int cuDevicePrimaryCtxRelease(int device)
{
    return release_primary("cuDevicePrimaryCtxRelease", device);
}

int cuDevicePrimaryCtxRelease_v2(int device)
{
    return release_primary("cuDevicePrimaryCtxRelease_v2", device);
}

/* The context begins anew for those that retain it. */
static int reset_primary(const char *name, int device)
{
    sim_status status = sim_enter(name);
    if (status != SIM_STATUS_OK) return answer(status);
    int use_count = primaries[device].use_count;
    end_context(&primaries[device]);
    primaries[device].use_count = use_count;
    return 0;
}

int cuDevicePrimaryCtxReset(int device)
{
    return reset_primary("cuDevicePrimaryCtxReset", device);
}

int cuDevicePrimaryCtxReset_v2(int device)
{
    return reset_primary("cuDevicePrimaryCtxReset_v2", device);
}

int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *is_active)
{
    sim_status status = sim_enter("cuDevicePrimaryCtxGetState");
    if (status == SIM_STATUS_OK) {
        *flags = 0;
        *is_active = primaries[device].use_count > 0;
    }
    return answer(status);
}

/* --- devices ------------------------------------------------------------------------------------------ */

int cuDriverGetVersion(int *version)
{
    *version = 13000;
    return answer(sim_enter("cuDriverGetVersion"));
}

int cuGetErrorName(int error, const char **name)
{
    sim_note("cuGetErrorName");
    *name = error == TN_CUDA_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_UNKNOWN";
    return 0;
}

int cuDeviceGetName(char *name, int bytes, int device)
{
    (void)device;
    strncpy(name, "simulated", (size_t)bytes);
    return answer(sim_enter("cuDeviceGetName"));
}

int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    (void)device;
    *bytes = sim_get_settings().memory_bytes;
    return answer(sim_enter("cuDeviceTotalMem_v2"));
}

int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    (void)device;
    *value = attribute == 14 ? 512 : attribute == 102 ? sim_get_settings().has_ranges : 0;
    return answer(sim_enter("cuDeviceGetAttribute"));
}

/* --- memory ------------------------------------------------------------------------------------------- */

static sim_status allocate(sim_status status, sim_memory_kind kind, size_t size_bytes,
                           tn_cuda_address *address)
{
    void *allocated = NULL;
    status = need_context(status);
    if (status == SIM_STATUS_OK && !address) status = SIM_STATUS_INVALID_VALUE;
    if (status == SIM_STATUS_OK && size_bytes > sim_get_settings().memory_bytes)
        status = SIM_STATUS_OUT_OF_MEMORY;
    if (status == SIM_STATUS_OK)
        status = sim_alloc(current()->device, kind, size_bytes, 0, &allocated);
    if (status != SIM_STATUS_OK) return status;
    add(memory, allocated);
    *address = (tn_cuda_address)allocated;
    return SIM_STATUS_OK;
}

static sim_status give_back(sim_status status, tn_cuda_address address)
{
    if (status == SIM_STATUS_OK) status = sim_free((void *)address);
    if (status == SIM_STATUS_OK) (void)remove_thing(memory, (void *)address);
    return status;
}

int cuMemAlloc_v2(tn_cuda_address *address, size_t size_bytes)
{
    return answer(allocate(enter("cuMemAlloc_v2", SIM_CAPTURE_RULE_UNSAFE), SIM_MEMORY_KIND_DEVICE,
                           size_bytes, address));
}

/* Addresses have no room in 32 bits. */
/* NOLINTNEXTLINE(readability-non-const-parameter): the vendor's type */
int cuMemAlloc(unsigned *address, unsigned size_bytes)
{
    (void)address, (void)size_bytes;
    sim_note("cuMemAlloc");
    return TN_CUDA_OUT_OF_MEMORY;
}

int cuMemFree_v2(tn_cuda_address address)
{
    sim_memory found;
    sim_status status = enter("cuMemFree_v2", SIM_CAPTURE_RULE_UNSAFE);
    if (status != SIM_STATUS_OK || address == 0) return answer(status);
    if (sim_memory_find((void *)address, &found)) (void)sim_device_synchronize(found.device);
    return answer(give_back(status, address));
}

static sim_stream *stream_of(void *stream)
{
    int device = current() ? current()->device : 0;
    if (!stream || stream == TN_CUDA_STREAM_LEGACY) return sim_stream_default(device);
    return stream == TN_CUDA_STREAM_PER_THREAD ? sim_stream_of_thread(device) : stream;
}

int cuMemAllocAsync(tn_cuda_address *address, size_t size_bytes, void *stream)
{
    (void)stream;
    return answer(
        allocate(sim_enter("cuMemAllocAsync"), SIM_MEMORY_KIND_DEVICE, size_bytes, address));
}

int cuMemAllocAsync_ptsz(tn_cuda_address *address, size_t size_bytes, void *stream)
{
    (void)stream;
    return answer(
        allocate(sim_enter("cuMemAllocAsync_ptsz"), SIM_MEMORY_KIND_DEVICE, size_bytes, address));
}

int cuMemFreeAsync(tn_cuda_address address, void *stream)
{
    sim_status status = sim_enter("cuMemFreeAsync");
    if (status == SIM_STATUS_OK) status = sim_stream_synchronize(stream_of(stream));
    return answer(give_back(status, address));
}

int cuMemFreeAsync_ptsz(tn_cuda_address address, void *stream)
{
    sim_status status = sim_enter("cuMemFreeAsync_ptsz");
    if (!stream) stream = TN_CUDA_STREAM_PER_THREAD;
    if (status == SIM_STATUS_OK) status = sim_stream_synchronize(stream_of(stream));
    return answer(give_back(status, address));
}

int cuMemAllocFromPoolAsync(tn_cuda_address *address, size_t size_bytes, void *pool, void *stream)
{
    (void)pool, (void)stream;
    return answer(allocate(sim_enter("cuMemAllocFromPoolAsync"), SIM_MEMORY_KIND_DEVICE, size_bytes,
                           address));
}

int cuMemAllocFromPoolAsync_ptsz(tn_cuda_address *address, size_t size_bytes, void *pool,
                                 void *stream)
{
    (void)pool, (void)stream;
    return answer(allocate(sim_enter("cuMemAllocFromPoolAsync_ptsz"), SIM_MEMORY_KIND_DEVICE,
                           size_bytes, address));
}

int cuMemAllocManaged(tn_cuda_address *address, size_t size_bytes, unsigned flags)
{
    (void)flags;
    return answer(
        allocate(sim_enter("cuMemAllocManaged"), SIM_MEMORY_KIND_SHARED, size_bytes, address));
}

int cuMemAllocPitch_v2(tn_cuda_address *address, size_t *pitch, size_t width, size_t height,
                       unsigned element)
{
    (void)element;
    *pitch = (width + 511) / 512 * 512;
    return answer(allocate(sim_enter("cuMemAllocPitch_v2"), SIM_MEMORY_KIND_DEVICE, *pitch * height,
                           address));
}

static int create_array(const char *name, void **array, const void *description)
{
    tn_cuda_address address = 0;
    size_t size_bytes;
    memcpy(&size_bytes, description, sizeof size_bytes);
    sim_status status = allocate(sim_enter(name), SIM_MEMORY_KIND_DEVICE, size_bytes, &address);
    if (status == SIM_STATUS_OK) *array = (void *)address;
    return answer(status);
}

int cuArrayCreate_v2(void **array, const void *description)
{
    return create_array("cuArrayCreate_v2", array, description);
}

int cuArray3DCreate_v2(void **array, const void *description)
{
    return create_array("cuArray3DCreate_v2", array, description);
}

int cuMipmappedArrayCreate(void **array, const void *description, unsigned level_count)
{
    (void)level_count;
    return create_array("cuMipmappedArrayCreate", array, description);
}

int cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes)
{
    size_t free_now, total;
    sim_status status = need_context(sim_enter("cuMemGetInfo_v2"));
    if (status == SIM_STATUS_OK) status = sim_memory_info(current()->device, &total, &free_now);
    if (status != SIM_STATUS_OK) return answer(status);
    if (free_bytes) *free_bytes = free_now;
    if (total_bytes) *total_bytes = total;
    return 0;
}

static int find_range(const char *call, tn_cuda_address *base, size_t *size_bytes,
                      tn_cuda_address address)
{
    sim_memory found;
    sim_status status = sim_enter(call);
    if (status != SIM_STATUS_OK) return answer(status);
    if (!sim_memory_find((void *)address, &found)) return TN_CUDA_INVALID_VALUE;
    if (base) *base = (tn_cuda_address)found.address;
    if (size_bytes) *size_bytes = found.size_bytes;
    return 0;
}

int cuMemGetAddressRange_v2(tn_cuda_address *base, size_t *size_bytes, tn_cuda_address address)
{
    return find_range("cuMemGetAddressRange_v2", base, size_bytes, address);
}

int cuPointerGetAttribute(void *value, int attribute, tn_cuda_address address)
{
    (void)attribute; /* the start of the range, the only one that is asked for */
    return find_range("cuPointerGetAttribute", value, NULL, address);
}

int cuIpcGetMemHandle(void *handle, tn_cuda_address address)
{
    return find_range("cuIpcGetMemHandle", handle, NULL, address);
}

int cuDeviceSetMemPool(int device, void *pool)
{
    (void)device, (void)pool;
    return answer(sim_enter("cuDeviceSetMemPool"));
}

int cuMemSetMemPool(void *location, int type, void *pool)
{
    (void)location, (void)type, (void)pool;
    return answer(sim_enter("cuMemSetMemPool"));
}

int cuMemPoolSetAccess(void *pool, const void *descriptions, size_t count)
{
    (void)pool, (void)descriptions, (void)count;
    return answer(sim_enter("cuMemPoolSetAccess"));
}

/* --- ranges ------------------------------------------------------------------------------------------- */

int cuMemGetAllocationGranularity(size_t *bytes, const struct tn_cuda_memory *of, int option)
{
    (void)of, (void)option;
    *bytes = sim_get_settings().range_granularity_bytes;
    return answer(sim_enter("cuMemGetAllocationGranularity"));
}

int cuMemAddressReserve(tn_cuda_address *address, size_t size_bytes, size_t alignment_bytes,
                        tn_cuda_address wanted, uint64_t flags)
{
    void *reserved = NULL;
    sim_status status = sim_enter("cuMemAddressReserve");
    (void)flags;
    if (status == SIM_STATUS_OK)
        status = sim_range_reserve((void *)wanted, size_bytes, alignment_bytes, &reserved);
    if (status == SIM_STATUS_OK) *address = (tn_cuda_address)reserved;
    return answer(status);
}

int cuMemAddressFree(tn_cuda_address address, size_t size_bytes)
{
    sim_status status = sim_enter("cuMemAddressFree");
    return answer(status == SIM_STATUS_OK ? sim_range_free((void *)address, size_bytes) : status);
}

int cuMemCreate(uint64_t *handle, size_t size_bytes, const void *properties, uint64_t flags)
{
    sim_physical *physical = NULL;
    sim_status status = enter("cuMemCreate", SIM_CAPTURE_RULE_UNSAFE);
    const struct tn_cuda_memory *asked = properties;
    (void)flags;
    if (status == SIM_STATUS_OK)
        status = sim_physical_create(asked->location.number, size_bytes, &physical);
    if (status == SIM_STATUS_OK) *handle = (uint64_t)(uintptr_t)physical;
    return answer(status);
}

int cuMemRelease(uint64_t handle)
{
    sim_status status = enter("cuMemRelease", SIM_CAPTURE_RULE_UNSAFE);
    if (status == SIM_STATUS_OK) status = sim_physical_release((sim_physical *)(uintptr_t)handle);
    return answer(status);
}

int cuMemMap(tn_cuda_address address, size_t size_bytes, size_t offset_bytes, uint64_t handle,
             uint64_t flags)
{
    sim_status status = sim_enter("cuMemMap");
    (void)flags;
    if (status == SIM_STATUS_OK)
        status =
            sim_map((void *)address, size_bytes, (sim_physical *)(uintptr_t)handle, offset_bytes);
    return answer(status);
}

int cuMemUnmap(tn_cuda_address address, size_t size_bytes)
{
    sim_status status = enter("cuMemUnmap", SIM_CAPTURE_RULE_UNSAFE);
    return answer(status == SIM_STATUS_OK ? sim_unmap((void *)address, size_bytes) : status);
}

int cuMemSetAccess(tn_cuda_address address, size_t size_bytes, const struct tn_cuda_access *access,
                   size_t count)
{
    sim_status status = sim_enter("cuMemSetAccess");
    if (status == SIM_STATUS_OK && count == 1)
        status = sim_set_access((void *)address, size_bytes, access->location.number,
                                SIM_ACCESS_READ_WRITE);
    return answer(status);
}

/* --- streams, events ---------------------------------------------------------------------------------- */

int cuStreamCreate(void **stream, unsigned flags)
{
    sim_stream *made = NULL;
    sim_status status = need_context(sim_enter("cuStreamCreate"));
    (void)flags;
    if (status == SIM_STATUS_OK) status = sim_stream_create(current()->device, &made);
    if (status != SIM_STATUS_OK) return answer(status);
    add(streams, made);
    *stream = made;
    return 0;
}

static int destroy_stream(const char *name, void *stream)
{
    sim_status status = sim_enter(name);
    if (status == SIM_STATUS_OK) status = sim_stream_destroy(stream);
    if (status == SIM_STATUS_OK) (void)remove_thing(streams, stream);
    return answer(status);
}

int cuStreamDestroy(void *stream)
{
    return destroy_stream("cuStreamDestroy", stream);
}

int cuStreamDestroy_v2(void *stream)
{
    return destroy_stream("cuStreamDestroy_v2", stream);
}

int cuStreamGetCtx(void *stream, void **context)
{
    sim_status status = sim_enter("cuStreamGetCtx");
    if (status != SIM_STATUS_OK) return answer(status);
    struct context *found = context_of_stream(stream);
    if (!found) return TN_CUDA_INVALID_HANDLE;
    *context = found;
    return 0;
}

int cuStreamGetId(void *stream, unsigned long long *id)
{
    sim_status status = sim_enter("cuStreamGetId");
    return answer(status == SIM_STATUS_OK ? sim_stream_get_id(stream_of(stream), id) : status);
}

int cuStreamSynchronize(void *stream)
{
    sim_status status = sim_enter("cuStreamSynchronize");
    return answer(status == SIM_STATUS_OK ? sim_stream_synchronize(stream_of(stream)) : status);
}

int cuStreamQuery(void *stream)
{
    sim_status status = sim_enter("cuStreamQuery");
    return answer(status == SIM_STATUS_OK ? sim_stream_query(stream_of(stream)) : status);
}

int cuStreamWaitEvent(void *stream, void *event, unsigned flags)
{
    sim_status status = sim_enter("cuStreamWaitEvent");
    (void)flags;
    return answer(status == SIM_STATUS_OK ? sim_stream_wait_event(stream_of(stream), event)
                                          : status);
}

int cuEventCreate(void **event, unsigned flags)
{
    sim_event *made = NULL;
    sim_status status = need_context(sim_enter("cuEventCreate"));
    (void)flags;
    if (status == SIM_STATUS_OK)
        status = sim_event_create(current()->device, SIM_EVENT_FORM_RECORDS, &made);
    if (status == SIM_STATUS_OK) *event = made;
    return answer(status);
}

int cuEventDestroy_v2(void *event)
{
    sim_status status = sim_enter("cuEventDestroy_v2");
    return answer(status == SIM_STATUS_OK ? sim_event_destroy(event) : status);
}

int cuEventRecord(void *event, void *stream)
{
    sim_status status = sim_enter("cuEventRecord");
    return answer(status == SIM_STATUS_OK ? sim_event_record(event, stream_of(stream)) : status);
}

int cuEventQuery(void *event)
{
    sim_status status = enter("cuEventQuery", SIM_CAPTURE_RULE_UNSAFE);
    return answer(status == SIM_STATUS_OK ? sim_event_query(event) : status);
}

int cuEventSynchronize(void *event)
{
    sim_status status = enter("cuEventSynchronize", SIM_CAPTURE_RULE_UNSAFE);
    return answer(status == SIM_STATUS_OK ? sim_event_synchronize(event) : status);
}

int cuMemsetD8Async(tn_cuda_address address, unsigned char value, size_t size_bytes, void *stream)
{
    sim_status status = sim_enter("cuMemsetD8Async");
    if (status == SIM_STATUS_OK)
        status = sim_fill(stream_of(stream), (void *)address, &value, 1, size_bytes);
    return answer(status);
}

int cuMemcpyAsync(tn_cuda_address destination, tn_cuda_address source, size_t size_bytes,
                  void *stream)
{
    sim_status status = sim_enter("cuMemcpyAsync");
    if (status == SIM_STATUS_OK)
        status = sim_copy(stream_of(stream), (void *)destination, (const void *)source, size_bytes);
    return answer(status);
}

/* --- captures ----------------------------------------------------------------------------------------- */

static int begin_capture(const char *name, int mode)
{
    sim_status status = sim_enter(name);
    if (status != SIM_STATUS_OK) return answer(status);
    return sim_capture_begin((sim_capture_mode)mode) ? 0 : TN_CUDA_INVALID_VALUE;
}

int cuStreamBeginCapture(void *stream)
{
    (void)stream;
    return begin_capture("cuStreamBeginCapture", 0);
}

int cuStreamBeginCapture_ptsz(void *stream)
{
    (void)stream;
    return begin_capture("cuStreamBeginCapture_ptsz", 0);
}

int cuStreamBeginCapture_v2(void *stream, int mode)
{
    (void)stream;
    return begin_capture("cuStreamBeginCapture_v2", mode);
}

int cuStreamBeginCapture_v2_ptsz(void *stream, int mode)
{
    (void)stream;
    return begin_capture("cuStreamBeginCapture_v2_ptsz", mode);
}

int cuStreamBeginCaptureToGraph(void *stream, void *graph, const void *nodes, const void *edges,
                                size_t count, int mode)
{
    (void)stream, (void)graph, (void)nodes, (void)edges, (void)count;
    return begin_capture("cuStreamBeginCaptureToGraph", mode);
}

int cuStreamBeginCaptureToGraph_ptsz(void *stream, void *graph, const void *nodes,
                                     const void *edges, size_t count, int mode)
{
    (void)stream, (void)graph, (void)nodes, (void)edges, (void)count;
    return begin_capture("cuStreamBeginCaptureToGraph_ptsz", mode);
}

static int end_capture(const char *name, void **graph)
{
    sim_status status = sim_enter(name);
    if (status != SIM_STATUS_OK) return answer(status);
    sim_capture_state state = sim_capture_end();
    *graph = state == SIM_CAPTURE_VALID ? &lock : NULL;
    return state == SIM_CAPTURE_VALID ? 0 : 901; /* CUDA_ERROR_STREAM_CAPTURE_INVALIDATED */
}

int cuStreamEndCapture(void *stream, void **graph)
{
    (void)stream;
    return end_capture("cuStreamEndCapture", graph);
}

int cuStreamEndCapture_ptsz(void *stream, void **graph)
{
    (void)stream;
    return end_capture("cuStreamEndCapture_ptsz", graph);
}

/* --- by name ------------------------------------------------------------------------------------------ */

static const struct {
    const char *symbol, *name;
    int since;
    enum tn_default_stream streams;
    tn_any_function function;
} functions[] = {
#define ENTRY(symbol, name, since, streams, parameters, arguments) \
    { #symbol, #name, since, TN_STREAMS_##streams, (tn_any_function)(symbol) },
    TN_INTERCEPTED(ENTRY)
#undef ENTRY
#define ENTRY(field, symbol, is_required, parameters) \
    { #symbol, NULL, 2000, TN_STREAMS_ALL, (tn_any_function)(symbol) },
        TN_DRIVER_FUNCTIONS(ENTRY)
#undef ENTRY
            { "cuInit", NULL, 2000, TN_STREAMS_ALL, (tn_any_function)cuInit },
    { "cuCtxCreate_v2", NULL, 3020, TN_STREAMS_ALL, (tn_any_function)cuCtxCreate_v2 },
    { "cuCtxSetCurrent", NULL, 4000, TN_STREAMS_ALL, (tn_any_function)cuCtxSetCurrent },
    { "cuStreamQuery", NULL, 2000, TN_STREAMS_ALL, (tn_any_function)cuStreamQuery },
};

static bool has_name(size_t i, const char *name)
{
    size_t length = strlen(functions[i].symbol), name_length = strlen(name);
    if (functions[i].name) return strcmp(functions[i].name, name) == 0;
    bool has_suffix = length > 3 && strcmp(functions[i].symbol + length - 3, "_v2") == 0;
    if (has_suffix) length -= 3;
    return length == name_length && strncmp(functions[i].symbol, name, length) == 0;
}

/* A driver may hand out other addresses than those of its symbols. With TARN_FAKE_DRIVER=thunks this one does. */
static int thunk_of_mem_alloc(tn_cuda_address *address, size_t size_bytes)
{
    return cuMemAlloc_v2(address, size_bytes);
}

static tn_any_function find_function(const char *name, int version, bool is_of_threads)
{
    enum tn_default_stream other = is_of_threads ? TN_STREAMS_LEGACY : TN_STREAMS_OF_THREADS;
    const char *setting = getenv("TARN_FAKE_DRIVER");
    tn_any_function found = NULL;
    int since = 0;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (!has_name(i, name) || functions[i].since > version || functions[i].since <= since ||
            functions[i].streams == other)
            continue;
        found = functions[i].function;
        since = functions[i].since;
    }
    if (setting && strcmp(setting, "thunks") == 0 && found == (tn_any_function)cuMemAlloc_v2)
        found = (tn_any_function)thunk_of_mem_alloc;
    return found;
}

static int get_address(const char *name, void **function, int version, uint64_t flags, int *found)
{
    sim_status status = sim_enter("cuGetProcAddress");
    if (status != SIM_STATUS_OK) return answer(status);
    tn_any_function pointer = find_function(name, version, (flags & 2) != 0);
    memcpy(function, &pointer, sizeof pointer);
    if (found) *found = pointer ? 0 : 1;
    return pointer ? 0 : 500; /* CUDA_ERROR_NOT_FOUND */
}

int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *found)
{
    return get_address(name, function, version, flags, found);
}

int cuGetProcAddress(const char *name, void **function, int version, uint64_t flags)
{
    return get_address(name, function, version, flags, NULL);
}
