/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * cuda_answers: what CUDA answers to mistakes, one line each, "what was done: code".
 *
 * Over the simulated devices the lines are compared with cuda_answers.txt. On a machine with two
 * devices the same program asks the real CUDA, and the differences are where the face is wrong:
 *
 *     build/cuda/bin/tests/cuda_answers | diff tests/sim/cuda/cuda_answers.txt -
 *
 * Some mistakes break the device for the process, so each is made in a process of its own.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cuda.h> /* types alone */
#include <cuda_runtime_api.h>

#define MIB ((size_t)1 << 20)

/* What cannot be had ends the case: its line then tells of the wrong call, and shows a difference. */
static void must(int code)
{
    if (code == 0) return;
    printf("cannot be asked, a call before answers %d\n", code);
    exit(0);
}

static void *device_memory(size_t size_bytes)
{
    void *address = NULL;
    must((int)cudaMalloc(&address, size_bytes));
    return address;
}

static void *pinned_memory(void)
{
    void *address = NULL;
    must((int)cudaHostAlloc(&address, MIB, cudaHostAllocPortable | cudaHostAllocMapped));
    return address;
}

static cudaStream_t stream_of_device(int device)
{
    cudaStream_t stream;
    must((int)cudaSetDevice(device));
    must((int)cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    must((int)cudaSetDevice(0));
    return stream;
}

static cudaEvent_t event_of_device(int device)
{
    cudaEvent_t event;
    must((int)cudaSetDevice(device));
    must((int)cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    must((int)cudaSetDevice(0));
    return event;
}

/* --- the driver's functions -------------------------------------------------------------------- */

static void find_since(unsigned version, const char *name, void *function_out)
{
    enum cudaDriverEntryPointQueryResult found;
    void *function = NULL;
    must(
        (int)cudaGetDriverEntryPointByVersion(name, &function, version, cudaEnableDefault, &found));
    if (!function) must(-1);
    memcpy(function_out, &function, sizeof function);
}

static void find(const char *name, void *function_out)
{
    find_since(12000, name, function_out);
}

static int record_context(CUcontext context, cudaEvent_t event)
{
    CUresult (*call)(CUcontext, CUevent);
    find_since(12050, "cuCtxRecordEvent", &call);
    return (int)call(context, event);
}

static CUcontext current_context(void)
{
    CUcontext context = NULL;
    CUresult (*call)(CUcontext *);
    find("cuCtxGetCurrent", &call);
    must((int)call(&context));
    return context;
}

static CUmemAllocationProp memory_of_device(void)
{
    return (CUmemAllocationProp){
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 },
    };
}

static int reserve(size_t size_bytes, CUdeviceptr *address)
{
    CUresult (*call)(CUdeviceptr *, size_t, size_t, CUdeviceptr, unsigned long long);
    find("cuMemAddressReserve", &call);
    return (int)call(address, size_bytes, 0, 0, 0);
}

static int unreserve(CUdeviceptr address, size_t size_bytes)
{
    CUresult (*call)(CUdeviceptr, size_t);
    find("cuMemAddressFree", &call);
    return (int)call(address, size_bytes);
}

static int create(size_t size_bytes, CUmemGenericAllocationHandle *handle)
{
    CUresult (*call)(CUmemGenericAllocationHandle *, size_t, const CUmemAllocationProp *,
                     unsigned long long);
    CUmemAllocationProp memory = memory_of_device();
    find("cuMemCreate", &call);
    return (int)call(handle, size_bytes, &memory, 0);
}

static int release(CUmemGenericAllocationHandle handle)
{
    CUresult (*call)(CUmemGenericAllocationHandle);
    find("cuMemRelease", &call);
    return (int)call(handle);
}

static int map(CUdeviceptr address, size_t size_bytes, size_t offset_bytes,
               CUmemGenericAllocationHandle handle)
{
    CUresult (*call)(CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle, unsigned long long);
    find("cuMemMap", &call);
    return (int)call(address, size_bytes, offset_bytes, handle, 0);
}

static int unmap(CUdeviceptr address, size_t size_bytes)
{
    CUresult (*call)(CUdeviceptr, size_t);
    find("cuMemUnmap", &call);
    return (int)call(address, size_bytes);
}

static int set_access(CUdeviceptr address, size_t size_bytes)
{
    CUresult (*call)(CUdeviceptr, size_t, const CUmemAccessDesc *, size_t);
    CUmemAccessDesc access = { .location = memory_of_device().location,
                               .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    find("cuMemSetAccess", &call);
    return (int)call(address, size_bytes, &access, 1);
}

/* 16 MiB of addresses. */
static CUdeviceptr range(void)
{
    CUdeviceptr address = 0;
    must((int)cudaFree(NULL));
    must(reserve(16 * MIB, &address));
    return address;
}

/* 4 MiB of memory. */
static CUmemGenericAllocationHandle physical(void)
{
    CUmemGenericAllocationHandle handle = 0;
    must(create(4 * MIB, &handle));
    return handle;
}

static CUdeviceptr mapped_range(CUmemGenericAllocationHandle *handle)
{
    CUdeviceptr address = range();
    *handle = physical();
    must(map(address, 4 * MIB, 0, *handle));
    return address;
}

/* --- memory ------------------------------------------------------------------------------------ */

static int malloc_of_nothing(void)
{
    void *address = NULL;
    return (int)cudaMalloc(&address, 0);
}

static int malloc_of_too_much(void)
{
    void *address = NULL;
    return (int)cudaMalloc(&address, SIZE_MAX / 2);
}

static int managed_of_nothing(void)
{
    void *address = NULL;
    return (int)cudaMallocManaged(&address, 0, cudaMemAttachGlobal);
}

static int host_of_nothing(void)
{
    void *address = NULL;
    return (int)cudaHostAlloc(&address, 0, cudaHostAllocPortable);
}

static int free_of_host_memory(void)
{
    static char host[64];
    must((int)cudaFree(NULL));
    return (int)cudaFree(host);
}

static int free_inside(void)
{
    return (int)cudaFree((char *)device_memory(MIB) + 512);
}

static int free_twice(void)
{
    void *address = device_memory(MIB);
    must((int)cudaFree(address));
    return (int)cudaFree(address);
}

static int free_of_pinned(void)
{
    return (int)cudaFree(pinned_memory());
}

static int free_host_of_device(void)
{
    return (int)cudaFreeHost(device_memory(MIB));
}

static int free_host_inside(void)
{
    return (int)cudaFreeHost((char *)pinned_memory() + 4096);
}

static int free_of_another_device(void)
{
    void *address = device_memory(MIB);
    must((int)cudaSetDevice(1));
    return (int)cudaFree(address);
}

static int free_host_of_null(void)
{
    return (int)cudaFreeHost(NULL);
}

/* --- devices and errors ------------------------------------------------------------------------ */

static int set_device_99(void)
{
    return (int)cudaSetDevice(99);
}

static int set_device_minus_1(void)
{
    return (int)cudaSetDevice(-1);
}

static int last_error_after_success(void)
{
    (void)cudaSetDevice(99);
    must((int)cudaFree(NULL));
    return (int)cudaGetLastError();
}

static int last_error_twice(void)
{
    (void)cudaSetDevice(99);
    (void)cudaGetLastError();
    return (int)cudaGetLastError();
}

static int last_error_of_not_ready(void)
{
    cudaStream_t stream = stream_of_device(0);
    cudaEvent_t event = event_of_device(0);
    void *address = device_memory(1024 * MIB);
    must((int)cudaStreamSynchronize(stream));
    for (int i = 0; i < 64; i++)
        must((int)cudaMemsetAsync(address, i, 1024 * MIB, stream));
    must((int)cudaEventRecord(event, stream));
    cudaError_t queried = cudaEventQuery(event);
    if (queried != cudaErrorNotReady) must((int)queried + 10000);
    return (int)cudaGetLastError();
}

static int context_after_set_device(void)
{
    CUresult (*state)(CUdevice, unsigned *, int *);
    unsigned flags;
    int is_active = -1;
    must((int)cudaSetDevice(1));
    find("cuDevicePrimaryCtxGetState", &state);
    must((int)state(1, &flags, &is_active));
    return is_active;
}

static int context_of_the_other_device(void)
{
    CUresult (*state)(CUdevice, unsigned *, int *);
    unsigned flags;
    int is_active = -1;
    must((int)cudaSetDevice(1));
    find("cuDevicePrimaryCtxGetState", &state);
    must((int)state(0, &flags, &is_active));
    return is_active;
}

static int driver_device_without_context(void)
{
    CUresult (*device_of)(CUdevice *);
    CUdevice device;
    int current;
    must((int)cudaGetDevice(&current));
    find("cuCtxGetDevice", &device_of);
    return (int)device_of(&device);
}

static int driver_device_after_set_device(void)
{
    CUresult (*device_of)(CUdevice *);
    CUdevice device = -1;
    must((int)cudaSetDevice(1));
    find("cuCtxGetDevice", &device_of);
    must((int)device_of(&device));
    return device;
}

/* --- the driver's functions, in place of the runtime's -------------------------------------------- */

/* Declares `function`, a pointer to the driver's function of that name. */
#define DRIVER(name)            \
    __typeof__(name) *function; \
    find(#name, (void *)&function)

static CUcontext retain(int device)
{
    CUcontext context = NULL;
    DRIVER(cuDevicePrimaryCtxRetain);
    must((int)function(&context, device));
    return context;
}

static int push(CUcontext context)
{
    DRIVER(cuCtxPushCurrent);
    return (int)function(context);
}

static int pop(void)
{
    CUcontext context;
    DRIVER(cuCtxPopCurrent);
    return (int)function(&context);
}

static int release_primary(int device)
{
    DRIVER(cuDevicePrimaryCtxRelease);
    return (int)function(device);
}

static int reset_primary(int device)
{
    DRIVER(cuDevicePrimaryCtxReset);
    return (int)function(device);
}

static unsigned long long id_of(CUcontext context)
{
    unsigned long long id = 0;
    DRIVER(cuCtxGetId);
    must((int)function(context, &id));
    return id;
}

static int driver_alloc(size_t size_bytes)
{
    CUdeviceptr address = 0;
    DRIVER(cuMemAlloc);
    return (int)function(&address, size_bytes);
}

static int driver_free(const void *address)
{
    DRIVER(cuMemFree);
    return (int)function((CUdeviceptr)(uintptr_t)address);
}

static void use_primary(int device)
{
    must((int)cudaGetDeviceCount(&(int){ 0 }));
    must(push(retain(device)));
}

static int driver_malloc_without_context(void)
{
    must((int)cudaGetDeviceCount(&(int){ 0 }));
    return driver_alloc(MIB);
}

static int driver_malloc_of_nothing(void)
{
    use_primary(0);
    return driver_alloc(0);
}

static int driver_malloc_of_too_much(void)
{
    use_primary(0);
    return driver_alloc(SIZE_MAX / 2);
}

static int driver_managed_of_nothing(void)
{
    CUdeviceptr address = 0;
    use_primary(0);
    DRIVER(cuMemAllocManaged);
    return (int)function(&address, 0, CU_MEM_ATTACH_GLOBAL);
}

static int driver_host_of_nothing(void)
{
    void *address = NULL;
    use_primary(0);
    DRIVER(cuMemHostAlloc);
    return (int)function(&address, 0, CU_MEMHOSTALLOC_PORTABLE);
}

static int driver_free_inside(void)
{
    return driver_free((char *)device_memory(MIB) + 512);
}

static int driver_free_twice(void)
{
    void *address = device_memory(MIB);
    must(driver_free(address));
    return driver_free(address);
}

static int driver_free_of_pinned(void)
{
    return driver_free(pinned_memory());
}

static int driver_free_of_another_device(void)
{
    void *address = device_memory(MIB);
    use_primary(1);
    return driver_free(address);
}

/* An event of the current context, on a stream of another device. */
static int driver_record_on_another_device(void)
{
    cudaStream_t stream = stream_of_device(1);
    cudaEvent_t event = event_of_device(0);
    DRIVER(cuEventRecord);
    return (int)function(event, stream);
}

static int driver_fill_on_another_device(void)
{
    void *address = device_memory(MIB);
    cudaStream_t stream = stream_of_device(1);
    DRIVER(cuMemsetD8Async);
    return (int)function((CUdeviceptr)(uintptr_t)address, 1, MIB, stream);
}

static int driver_fill_of_host_memory(void)
{
    static char host[64];
    cudaStream_t stream = stream_of_device(0);
    DRIVER(cuMemsetD8Async);
    return (int)function((CUdeviceptr)(uintptr_t)host, 1, sizeof host, stream);
}

static int driver_id_of_stream(void)
{
    unsigned long long id = 0;
    cudaStream_t stream = stream_of_device(0);
    DRIVER(cuStreamGetId);
    return (int)function(stream, &id);
}

/* --- primary contexts ----------------------------------------------------------------------------- */

static int driver_context_is_the_runtimes(void)
{
    must((int)cudaSetDevice(0));
    return current_context() == retain(0);
}

static int driver_context_stays_without_one(void)
{
    use_primary(0);
    must(pop());
    return current_context() == NULL;
}

static int driver_release_of_what_is_not_retained(void)
{
    must((int)cudaGetDeviceCount(&(int){ 0 }));
    return release_primary(0);
}

static int driver_state_after_the_last_release(void)
{
    unsigned flags;
    int is_active = -1;
    must((int)cudaGetDeviceCount(&(int){ 0 }));
    (void)retain(0);
    must(release_primary(0));
    DRIVER(cuDevicePrimaryCtxGetState);
    must((int)function(0, &flags, &is_active));
    return is_active;
}

static int driver_push_after_a_reset(void)
{
    must((int)cudaGetDeviceCount(&(int){ 0 }));
    CUcontext context = retain(0);
    must(reset_primary(0));
    return push(context);
}

static int driver_id_after_a_reset(void)
{
    unsigned long long id = 0;
    must((int)cudaGetDeviceCount(&(int){ 0 }));
    CUcontext context = retain(0);
    must(reset_primary(0));
    DRIVER(cuCtxGetId);
    return (int)function(context, &id);
}

/* Whether the next context has another number. */
static int driver_id_of_the_next_context(void)
{
    must((int)cudaGetDeviceCount(&(int){ 0 }));
    unsigned long long id = id_of(retain(0));
    must(reset_primary(0));
    return id_of(retain(0)) != id;
}

/* --- streams and events ------------------------------------------------------------------------ */

static int query_of_never_recorded(void)
{
    return (int)cudaEventQuery(event_of_device(0));
}

static int query_of_null(void)
{
    must((int)cudaFree(NULL));
    return (int)cudaEventQuery(NULL);
}

static int record_on_another_device(void)
{
    return (int)cudaEventRecord(event_of_device(0), stream_of_device(1));
}

static int fill_on_another_device(void)
{
    return (int)cudaMemsetAsync(device_memory(MIB), 1, MIB, stream_of_device(1));
}

static int copy_on_another_device(void)
{
    static char host[64];
    return (int)cudaMemcpyAsync(device_memory(MIB), host, sizeof host, cudaMemcpyDefault,
                                stream_of_device(1));
}

static int wait_for_another_device(void)
{
    return (int)cudaStreamWaitEvent(stream_of_device(0), event_of_device(1), 0);
}

static int wait_on_another_device(void)
{
    return (int)cudaStreamWaitEvent(stream_of_device(1), event_of_device(0), 0);
}

static int synchronize_on_another_device(void)
{
    return (int)cudaStreamSynchronize(stream_of_device(1));
}

static int destroy_on_another_device(void)
{
    return (int)cudaStreamDestroy(stream_of_device(1));
}

static int query_on_another_device(void)
{
    return (int)cudaEventQuery(event_of_device(1));
}

/* --- data -------------------------------------------------------------------------------------- */

static int fill_of_nothing(void)
{
    return (int)cudaMemsetAsync(NULL, 1, 0, stream_of_device(0));
}

static int fill_of_host_memory(void)
{
    static char host[64];
    return (int)cudaMemsetAsync(host, 1, sizeof host, stream_of_device(0));
}

static int fill_of_pinned_memory(void)
{
    return (int)cudaMemsetAsync(pinned_memory(), 1, 64, stream_of_device(0));
}

static int fill_of_freed_memory(void)
{
    void *address = device_memory(64 * MIB);
    must((int)cudaFree(address));
    return (int)cudaMemsetAsync(address, 1, 64, stream_of_device(0));
}

static int copy_of_bad_kind(void)
{
    static char host[64];
    return (int)cudaMemcpyAsync(device_memory(MIB), host, 1, (enum cudaMemcpyKind)17,
                                stream_of_device(0));
}

/* --- virtual memory ---------------------------------------------------------------------------- */

static int granularity(void)
{
    CUresult (*call)(size_t *, const CUmemAllocationProp *, CUmemAllocationGranularity_flags);
    CUmemAllocationProp memory = memory_of_device();
    size_t bytes = 0;
    must((int)cudaFree(NULL));
    find("cuMemGetAllocationGranularity", &call);
    must((int)call(&bytes, &memory, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    return (int)bytes;
}

static int reserve_of_odd_size(void)
{
    CUdeviceptr address;
    must((int)cudaFree(NULL));
    return reserve(MIB, &address);
}

static int reserve_of_nothing(void)
{
    CUdeviceptr address;
    must((int)cudaFree(NULL));
    return reserve(0, &address);
}

static int reserve_of_too_much(void)
{
    CUdeviceptr address;
    must((int)cudaFree(NULL));
    return reserve((size_t)1 << 62, &address);
}

static int create_of_odd_size(void)
{
    CUmemGenericAllocationHandle handle;
    must((int)cudaFree(NULL));
    return create(MIB, &handle);
}

static int create_of_nothing(void)
{
    CUmemGenericAllocationHandle handle;
    must((int)cudaFree(NULL));
    return create(0, &handle);
}

static int create_of_too_much(void)
{
    CUmemGenericAllocationHandle handle;
    must((int)cudaFree(NULL));
    return create((size_t)1 << 45, &handle);
}

static int map_at_odd_address(void)
{
    CUdeviceptr address = range();
    return map(address + MIB, 4 * MIB, 0, physical());
}

static int map_a_part(void)
{
    CUdeviceptr address = range();
    return map(address, 2 * MIB, 0, physical());
}

static int map_with_an_offset(void)
{
    CUdeviceptr address = range();
    return map(address, 2 * MIB, 2 * MIB, physical());
}

static int map_too_much(void)
{
    CUdeviceptr address = range();
    return map(address, 8 * MIB, 0, physical());
}

static int map_over_a_mapping(void)
{
    CUmemGenericAllocationHandle handle;
    CUdeviceptr address = mapped_range(&handle);
    return map(address + 2 * MIB, 4 * MIB, 0, physical());
}

static int map_the_same_memory_twice(void)
{
    CUmemGenericAllocationHandle handle;
    CUdeviceptr address = mapped_range(&handle);
    return map(address + 8 * MIB, 4 * MIB, 0, handle);
}

static int map_beyond_the_range(void)
{
    CUdeviceptr address = range();
    return map(address + 14 * MIB, 4 * MIB, 0, physical());
}

static int map_where_nothing_is_reserved(void)
{
    CUdeviceptr address = range();
    must(unreserve(address, 16 * MIB));
    return map(address, 4 * MIB, 0, physical());
}

static int access_to_a_part(void)
{
    CUmemGenericAllocationHandle handle;
    return set_access(mapped_range(&handle), 2 * MIB);
}

static int access_to_nothing(void)
{
    return set_access(range(), 4 * MIB);
}

static int unmap_a_part(void)
{
    CUmemGenericAllocationHandle handle;
    return unmap(mapped_range(&handle), 2 * MIB);
}

static int unmap_two_at_once(void)
{
    CUmemGenericAllocationHandle handle;
    CUdeviceptr address = mapped_range(&handle);
    must(map(address + 4 * MIB, 4 * MIB, 0, physical()));
    return unmap(address, 8 * MIB);
}

static int unmap_with_a_gap(void)
{
    CUmemGenericAllocationHandle handle;
    CUdeviceptr address = mapped_range(&handle);
    must(map(address + 8 * MIB, 4 * MIB, 0, physical()));
    return unmap(address, 12 * MIB);
}

static int unmap_twice(void)
{
    CUmemGenericAllocationHandle handle;
    CUdeviceptr address = mapped_range(&handle);
    must(unmap(address, 4 * MIB));
    return unmap(address, 4 * MIB);
}

static int release_what_is_mapped(void)
{
    CUmemGenericAllocationHandle handle;
    (void)mapped_range(&handle);
    return release(handle);
}

static int map_what_was_released(void)
{
    CUmemGenericAllocationHandle handle;
    CUdeviceptr address = mapped_range(&handle);
    must(release(handle));
    return map(address + 8 * MIB, 4 * MIB, 0, handle);
}

static int release_twice(void)
{
    must((int)cudaFree(NULL));
    CUmemGenericAllocationHandle handle = physical();
    must(release(handle));
    return release(handle);
}

static int free_a_mapped_range(void)
{
    CUmemGenericAllocationHandle handle;
    return unreserve(mapped_range(&handle), 16 * MIB);
}

static int free_a_part_of_a_range(void)
{
    return unreserve(range(), 8 * MIB);
}

static int free_a_range_twice(void)
{
    CUdeviceptr address = range();
    must(unreserve(address, 16 * MIB));
    return unreserve(address, 16 * MIB);
}

static int fill_without_access(void)
{
    CUmemGenericAllocationHandle handle;
    CUdeviceptr address = mapped_range(&handle);
    cudaStream_t stream = stream_of_device(0);
    cudaError_t error = cudaMemsetAsync((void *)(uintptr_t)address, 1, 64, stream);
    if (error == cudaSuccess) error = cudaStreamSynchronize(stream);
    return (int)error;
}

static int free_of_a_mapping(void)
{
    CUmemGenericAllocationHandle handle;
    return (int)cudaFree((void *)(uintptr_t)mapped_range(&handle));
}

/* --- an event for all streams ------------------------------------------------------------------ */

static int record_context_once(void)
{
    cudaEvent_t event = event_of_device(0);
    return record_context(current_context(), event);
}

static int record_no_context(void)
{
    return record_context(NULL, event_of_device(0));
}

/* --- during a capture -------------------------------------------------------------------------- */

/* What there is before it begins. */
struct things {
    void *device_memory, *pinned_memory;
    cudaStream_t other_stream;
    cudaEvent_t event; /* recorded on the other stream */
    CUdeviceptr range, mapped_range;
    CUmemGenericAllocationHandle handle, mapped_handle;
};

static struct things make_things(void)
{
    struct things things = {
        .device_memory = device_memory(MIB),
        .pinned_memory = pinned_memory(),
        .other_stream = stream_of_device(0),
        .event = event_of_device(0),
        .range = range(),
        .handle = physical(),
    };
    things.mapped_range = mapped_range(&things.mapped_handle);
    must((int)cudaEventRecord(things.event, things.other_stream));
    must((int)cudaStreamSynchronize(things.other_stream));
    must((int)cudaEventSynchronize(things.event));
    return things;
}

/* The call's answer times 1000, plus that of ending the capture: 900901 is "not while capturing", and the
 * capture is spoilt. */
static int in_capture(int (*ask)(const struct things *things), enum cudaStreamCaptureMode mode)
{
    struct things things = make_things();
    cudaStream_t stream = stream_of_device(0);
    cudaGraph_t graph;
    must((int)cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    must((int)cudaThreadExchangeStreamCaptureMode(&mode));
    int answer = ask(&things);
    return answer * 1000 + (int)cudaStreamEndCapture(stream, &graph);
}

/* In the mode that each thread has at first, and in that in which it minds no capture. */
#define IN_CAPTURE(name)                                             \
    static int name##_in_capture(void)                               \
    {                                                                \
        return in_capture(ask_##name, cudaStreamCaptureModeGlobal);  \
    }                                                                \
    static int name##_in_capture_relaxed(void)                       \
    {                                                                \
        return in_capture(ask_##name, cudaStreamCaptureModeRelaxed); \
    }

static int ask_malloc(const struct things *things)
{
    void *address;
    return (int)cudaMalloc(&address, MIB);
}

static int ask_malloc_pinned(const struct things *things)
{
    void *address;
    return (int)cudaHostAlloc(&address, MIB, cudaHostAllocPortable);
}

static int ask_malloc_managed(const struct things *things)
{
    void *address;
    return (int)cudaMallocManaged(&address, MIB, cudaMemAttachGlobal);
}

static int ask_free(const struct things *things)
{
    return (int)cudaFree(things->device_memory);
}

static int ask_free_pinned(const struct things *things)
{
    return (int)cudaFreeHost(things->pinned_memory);
}

static int ask_free_of_null(const struct things *things)
{
    return (int)cudaFree(NULL);
}

static int ask_memory_info(const struct things *things)
{
    size_t free_bytes, total_bytes;
    return (int)cudaMemGetInfo(&free_bytes, &total_bytes);
}

static int ask_properties(const struct things *things)
{
    struct cudaDeviceProp properties;
    return (int)cudaGetDeviceProperties(&properties, 0);
}

static int ask_set_device(const struct things *things)
{
    return (int)cudaSetDevice(0);
}

static int ask_device_synchronize(const struct things *things)
{
    return (int)cudaDeviceSynchronize();
}

static int ask_stream_synchronize(const struct things *things)
{
    return (int)cudaStreamSynchronize(things->other_stream);
}

static int ask_record_context(const struct things *things)
{
    return record_context(current_context(), things->event);
}

static int ask_event_query(const struct things *things)
{
    return (int)cudaEventQuery(things->event);
}

static int ask_event_synchronize(const struct things *things)
{
    return (int)cudaEventSynchronize(things->event);
}

static int ask_reserve(const struct things *things)
{
    CUdeviceptr address;
    return reserve(16 * MIB, &address);
}

static int ask_create(const struct things *things)
{
    CUmemGenericAllocationHandle handle;
    return create(4 * MIB, &handle);
}

static int ask_map(const struct things *things)
{
    return map(things->range, 4 * MIB, 0, things->handle);
}

static int ask_set_access(const struct things *things)
{
    return set_access(things->mapped_range, 4 * MIB);
}

static int ask_unmap(const struct things *things)
{
    return unmap(things->mapped_range, 4 * MIB);
}

static int ask_release(const struct things *things)
{
    return release(things->mapped_handle);
}

static int ask_unreserve(const struct things *things)
{
    return unreserve(things->range, 16 * MIB);
}

IN_CAPTURE(malloc)
IN_CAPTURE(malloc_pinned)
IN_CAPTURE(malloc_managed)
IN_CAPTURE(free)
IN_CAPTURE(free_pinned)
IN_CAPTURE(free_of_null)
IN_CAPTURE(memory_info)
IN_CAPTURE(properties)
IN_CAPTURE(set_device)
IN_CAPTURE(device_synchronize)
IN_CAPTURE(stream_synchronize)
IN_CAPTURE(record_context)
IN_CAPTURE(event_query)
IN_CAPTURE(event_synchronize)
IN_CAPTURE(reserve)
IN_CAPTURE(create)
IN_CAPTURE(map)
IN_CAPTURE(set_access)
IN_CAPTURE(unmap)
IN_CAPTURE(release)
IN_CAPTURE(unreserve)

/* --- all of them ------------------------------------------------------------------------------- */

#define CASE(name)  \
    {               \
#name, name \
    }

static const struct {
    const char *name;
    int (*ask)(void);
} cases[] = {
    CASE(malloc_of_nothing),
    CASE(malloc_of_too_much),
    CASE(managed_of_nothing),
    CASE(host_of_nothing),
    CASE(free_of_host_memory),
    CASE(free_inside),
    CASE(free_twice),
    CASE(free_of_pinned),
    CASE(free_host_of_device),
    CASE(free_host_inside),
    CASE(free_of_another_device),
    CASE(free_host_of_null),
    CASE(set_device_99),
    CASE(set_device_minus_1),
    CASE(last_error_after_success),
    CASE(last_error_twice),
    CASE(last_error_of_not_ready),
    CASE(context_after_set_device),
    CASE(context_of_the_other_device),
    CASE(driver_device_without_context),
    CASE(driver_device_after_set_device),
    CASE(driver_malloc_without_context),
    CASE(driver_malloc_of_nothing),
    CASE(driver_malloc_of_too_much),
    CASE(driver_managed_of_nothing),
    CASE(driver_host_of_nothing),
    CASE(driver_free_inside),
    CASE(driver_free_twice),
    CASE(driver_free_of_pinned),
    CASE(driver_free_of_another_device),
    CASE(driver_record_on_another_device),
    CASE(driver_fill_on_another_device),
    CASE(driver_fill_of_host_memory),
    CASE(driver_id_of_stream),
    CASE(driver_context_is_the_runtimes),
    CASE(driver_context_stays_without_one),
    CASE(driver_release_of_what_is_not_retained),
    CASE(driver_state_after_the_last_release),
    CASE(driver_push_after_a_reset),
    CASE(driver_id_after_a_reset),
    CASE(driver_id_of_the_next_context),
    CASE(query_of_never_recorded),
    CASE(query_of_null),
    CASE(record_on_another_device),
    CASE(fill_on_another_device),
    CASE(copy_on_another_device),
    CASE(wait_for_another_device),
    CASE(wait_on_another_device),
    CASE(synchronize_on_another_device),
    CASE(destroy_on_another_device),
    CASE(query_on_another_device),
    CASE(fill_of_nothing),
    CASE(fill_of_host_memory),
    CASE(fill_of_pinned_memory),
    CASE(fill_of_freed_memory),
    CASE(copy_of_bad_kind),
    CASE(granularity),
    CASE(reserve_of_odd_size),
    CASE(reserve_of_nothing),
    CASE(reserve_of_too_much),
    CASE(create_of_odd_size),
    CASE(create_of_nothing),
    CASE(create_of_too_much),
    CASE(map_at_odd_address),
    CASE(map_a_part),
    CASE(map_with_an_offset),
    CASE(map_too_much),
    CASE(map_over_a_mapping),
    CASE(map_the_same_memory_twice),
    CASE(map_beyond_the_range),
    CASE(map_where_nothing_is_reserved),
    CASE(access_to_a_part),
    CASE(access_to_nothing),
    CASE(unmap_a_part),
    CASE(unmap_two_at_once),
    CASE(unmap_with_a_gap),
    CASE(unmap_twice),
    CASE(release_what_is_mapped),
    CASE(map_what_was_released),
    CASE(release_twice),
    CASE(free_a_mapped_range),
    CASE(free_a_part_of_a_range),
    CASE(free_a_range_twice),
    CASE(fill_without_access),
    CASE(free_of_a_mapping),
    CASE(malloc_in_capture),
    CASE(malloc_in_capture_relaxed),
    CASE(malloc_pinned_in_capture),
    CASE(malloc_pinned_in_capture_relaxed),
    CASE(malloc_managed_in_capture),
    CASE(malloc_managed_in_capture_relaxed),
    CASE(free_in_capture),
    CASE(free_in_capture_relaxed),
    CASE(free_pinned_in_capture),
    CASE(free_pinned_in_capture_relaxed),
    CASE(free_of_null_in_capture),
    CASE(free_of_null_in_capture_relaxed),
    CASE(memory_info_in_capture),
    CASE(memory_info_in_capture_relaxed),
    CASE(properties_in_capture),
    CASE(properties_in_capture_relaxed),
    CASE(set_device_in_capture),
    CASE(set_device_in_capture_relaxed),
    CASE(device_synchronize_in_capture),
    CASE(device_synchronize_in_capture_relaxed),
    CASE(stream_synchronize_in_capture),
    CASE(stream_synchronize_in_capture_relaxed),
    CASE(record_context_once),
    CASE(record_no_context),
    CASE(record_context_in_capture),
    CASE(record_context_in_capture_relaxed),
    CASE(event_query_in_capture),
    CASE(event_query_in_capture_relaxed),
    CASE(event_synchronize_in_capture),
    CASE(event_synchronize_in_capture_relaxed),
    CASE(reserve_in_capture),
    CASE(reserve_in_capture_relaxed),
    CASE(create_in_capture),
    CASE(create_in_capture_relaxed),
    CASE(map_in_capture),
    CASE(map_in_capture_relaxed),
    CASE(set_access_in_capture),
    CASE(set_access_in_capture_relaxed),
    CASE(unmap_in_capture),
    CASE(unmap_in_capture_relaxed),
    CASE(release_in_capture),
    CASE(release_in_capture_relaxed),
    CASE(unreserve_in_capture),
    CASE(unreserve_in_capture_relaxed),
};

/* In the child: nothing of CUDA has been used before. Leaving with _exit leaves out what it does at
 * the end of a process, which is not the question. */
static void ask(size_t i)
{
    printf("%s: ", cases[i].name);
    fflush(stdout);
    printf("%d\n", cases[i].ask());
    fflush(stdout);
    _exit(0);
}

int main(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pid_t child = fork();
        if (child < 0) return EXIT_FAILURE;
        if (child == 0) ask(i);
        int ended;
        if (waitpid(child, &ended, 0) != child) return EXIT_FAILURE;
        if (WIFSIGNALED(ended)) {
            printf("signal %d\n", WTERMSIG(ended));
            fflush(stdout);
        }
    }
    return EXIT_SUCCESS;
}
