/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * cuda_backend: the memory of one CUDA device, or host memory that it can reach.
 *
 *     DEVICE   cudaMalloc
 *     PINNED   cudaHostAlloc, for all devices of the process, at the same address on host and device
 *     SHARED   cudaMallocManaged, for all streams
 *
 * Cost: that of the vendor's calls, microseconds to milliseconds. Release waits until the device has
 * finished all its work, whatever the kind: for cudaFree the runtime's manual says that it "may"
 * wait, and for cudaFreeHost nothing, so it is done here.
 * Threads: any; the runtime does the locking.
 */
#include "tarn/cuda.h"

#include <string.h>
#include <unistd.h>

#include "../base/arith.h"
#include "../base/error.h"
#include "../base/host_memory.h"
#include "cuda_device.h"

/* What the programming guide promises of every address. */
#define ALIGNMENT_BYTES 256

/* Device memory is mapped in pages of this size; smaller pieces share one, larger are rounded up. */
#define GRANULARITY_BYTES ((size_t)2 << 20)

/* --- memory ------------------------------------------------------------------------------------ */

static cudaError_t make_acquire(struct tn_cuda_call *call)
{
    switch (call->kind) {
    case TARN_MEMORY_KIND_PINNED:
        return cudaHostAlloc(&call->address, call->size_bytes,
                             cudaHostAllocPortable | cudaHostAllocMapped);
    case TARN_MEMORY_KIND_SHARED:
        return cudaMallocManaged(&call->address, call->size_bytes, cudaMemAttachGlobal);
    case TARN_MEMORY_KIND_DEVICE:
    case TARN_MEMORY_KIND_HOST:
        break;
    }
    return cudaMalloc(&call->address, call->size_bytes);
}

/* The largest size is checked here because the vendor does not: managed memory may be larger than
 * the device's, and host memory is pinned until nothing else on the machine runs. */
static tarn_backend_result acquire(void *state, size_t size_bytes, void **address_out)
{
    const struct tn_cuda_device *device = state;
    if (size_bytes == 0 || !address_out)
        return tn_cuda_result_of_status(TARN_STATUS_INVALID_ARGUMENT);
    if (size_bytes > device->properties.allocation_bytes_max)
        return tn_cuda_result_of_status(TARN_STATUS_OUT_OF_MEMORY);

    struct tn_cuda_call call = {
        .make = make_acquire,
        .kind = device->properties.kind,
        .size_bytes = size_bytes,
    };
    tarn_backend_result result = tn_cuda_make(device, &call);
    if (result.status == TARN_STATUS_OK) *address_out = call.address;
    return result;
}

static cudaError_t make_release(struct tn_cuda_call *call)
{
    cudaError_t error = cudaDeviceSynchronize();
    if (error != cudaSuccess) return error;
    if (call->kind == TARN_MEMORY_KIND_PINNED) return cudaFreeHost(call->address);
    return cudaFree(call->address);
}

static tarn_backend_result release(void *state, void *address, size_t size_bytes)
{
    const struct tn_cuda_device *device = state;
    if (size_bytes == 0 || !address) return tn_cuda_result_of_status(TARN_STATUS_INVALID_ARGUMENT);
    struct tn_cuda_call call = {
        .make = make_release,
        .kind = device->properties.kind,
        .address = address,
    };
    return tn_cuda_make_return(device, &call);
}

/* --- device ------------------------------------------------------------------------------------ */

static tarn_backend_result get_properties(void *state, tarn_device_properties *properties_out)
{
    const struct tn_cuda_device *device = state;
    *properties_out = device->properties;
    return TARN_BACKEND_RESULT_OK;
}

/* A number of pages that the system tells, in bytes; SIZE_MAX when it does not tell. */
static size_t system_bytes(int name, size_t page_bytes)
{
    long page_count = sysconf(name);
    size_t bytes;
    if (page_count < 0 || !tn_multiply_fits((size_t)page_count, page_bytes, &bytes))
        return SIZE_MAX;
    return bytes;
}

static cudaError_t make_query_memory(struct tn_cuda_call *call)
{
    return cudaMemGetInfo(&call->info.free_bytes, &call->info.total_bytes);
}

/* Pinned memory is the host's. The system's figure of what is left leaves out what its file cache
 * holds and would give up. */
static tarn_backend_result query_memory(void *state, tarn_memory_info *info_out)
{
    const struct tn_cuda_device *device = state;
    if (device->properties.kind == TARN_MEMORY_KIND_PINNED) {
        size_t total_bytes = device->properties.allocation_bytes_max;
        size_t left_bytes = system_bytes(_SC_AVPHYS_PAGES, device->page_bytes);
        *info_out = (tarn_memory_info){ total_bytes, tn_min(left_bytes, total_bytes) };
        return TARN_BACKEND_RESULT_OK;
    }
    struct tn_cuda_call call = { .make = make_query_memory };
    tarn_backend_result result = tn_cuda_make(device, &call);
    if (result.status == TARN_STATUS_OK) *info_out = call.info;
    return result;
}

/* --- life -------------------------------------------------------------------------------------- */

static void close_device(void *state)
{
    tn_host_memory_free(state);
}

static const tarn_backend_operations operations = {
    .struct_bytes = sizeof(tarn_backend_operations),
    .name = "cuda",
    .close = close_device,
    .acquire = acquire,
    .release = release,
    .get_properties = get_properties,
    .query_memory = query_memory,
    .stream_create = tn_cuda_stream_create,
    .stream_destroy = tn_cuda_stream_destroy,
    .stream_synchronize = tn_cuda_stream_synchronize,
    .stream_wait_event = tn_cuda_stream_wait_event,
    .event_create = tn_cuda_event_create,
    .event_destroy = tn_cuda_event_destroy,
    .event_record = tn_cuda_event_record,
    .event_query = tn_cuda_event_query,
    .event_synchronize = tn_cuda_event_synchronize,
    .fill = tn_cuda_fill,
    .copy = tn_cuda_copy,
};

static tarn_status open_failed(int number, tarn_backend_result result)
{
    return tn_fail_vendor(result.status, result.vendor_code, result.vendor_name,
                          "cannot open CUDA device %d: %s (CUDA: %s)", number,
                          tarn_status_sentence(result.status),
                          cudaGetErrorString((cudaError_t)result.vendor_code));
}

static tarn_status check_number(int number)
{
    int count = 0; /* not written when there is no driver */
    tarn_backend_result result = tn_cuda_result(cudaGetDeviceCount(&count));
    if (result.status == TARN_STATUS_OK && count == 0) result = tn_cuda_result(cudaErrorNoDevice);
    if (result.status != TARN_STATUS_OK) return open_failed(number, result);
    if (number < 0 || number >= count) {
        return tn_fail(TARN_STATUS_INVALID_DEVICE,
                       "there is no CUDA device %d; the number of devices is %d", number, count);
    }
    return TARN_STATUS_OK;
}

static bool has_kind(const struct cudaDeviceProp *vendor, tarn_memory_kind kind)
{
    switch (kind) {
    case TARN_MEMORY_KIND_DEVICE:
        return true;
    case TARN_MEMORY_KIND_PINNED:
        return vendor->canMapHostMemory && vendor->unifiedAddressing;
    case TARN_MEMORY_KIND_SHARED:
        return vendor->managedMemory;
    case TARN_MEMORY_KIND_HOST:
        break;
    }
    return false;
}

static const char *kind_name(tarn_memory_kind kind)
{
    static const char *const names[] = { "device", "pinned", "managed", "plain host" };
    return names[kind];
}

static tarn_device_properties properties_of(const struct tn_cuda_device *device,
                                            const struct cudaDeviceProp *vendor,
                                            tarn_memory_kind kind)
{
    bool is_pinned = kind == TARN_MEMORY_KIND_PINNED;
    return (tarn_device_properties){
        .device_name = device->name,
        .kind = kind,
        .is_host_accessible = kind != TARN_MEMORY_KIND_DEVICE,
        .alignment_bytes = ALIGNMENT_BYTES,
        .granularity_bytes = is_pinned ? device->page_bytes : GRANULARITY_BYTES,
        .allocation_bytes_max =
            is_pinned ? system_bytes(_SC_PHYS_PAGES, device->page_bytes) : vendor->totalGlobalMem,
    };
}

/* Asks the runtime for the driver's function that tells whether a device has a context. That there
 * is none is no failure: see cuda_status.c. */
static void find_context_state(struct tn_cuda_device *device)
{
#if CUDART_VERSION >= 12000
    static const char name[] = "cuDevicePrimaryCtxGetState";
    enum cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
    void *entry = NULL;
#if CUDART_VERSION >= 12050
    cudaError_t error =
        cudaGetDriverEntryPointByVersion(name, &entry, 12000, cudaEnableDefault, &found);
#else
    cudaError_t error = cudaGetDriverEntryPoint(name, &entry, cudaEnableDefault, &found);
#endif
    if (tn_cuda_result(error).status == TARN_STATUS_OK && found == cudaDriverEntryPointSuccess)
        memcpy(&device->get_context_state, &entry, sizeof entry);
#else
    (void)device;
#endif
}

/* The first call that needs a context creates it. */
static cudaError_t make_context(struct tn_cuda_call *call)
{
    (void)call;
    return cudaFree(NULL);
}

static tarn_backend_result device_init(struct tn_cuda_device *device, int number,
                                       tarn_memory_kind kind, const struct cudaDeviceProp *vendor)
{
    *device = (struct tn_cuda_device){
        .number = number,
        .page_bytes = (size_t)sysconf(_SC_PAGESIZE),
    };
    memcpy(device->name, vendor->name, sizeof device->name - 1);
    device->properties = properties_of(device, vendor, kind);
    cudaError_t error = cudaDriverGetVersion(&device->properties.driver_version);
    if (error == cudaSuccess) error = cudaRuntimeGetVersion(&device->properties.runtime_version);
    if (error != cudaSuccess) return tn_cuda_result(error);

    find_context_state(device);
    struct tn_cuda_call call = { .make = make_context };
    return tn_cuda_make(device, &call);
}

static tarn_status open_device(int number, tarn_memory_kind kind,
                               const struct cudaDeviceProp *vendor, tarn_backend *backend_out)
{
    struct tn_cuda_device *device = tn_host_memory_alloc(sizeof *device);
    if (!device) {
        return tn_fail(TARN_STATUS_OUT_OF_HOST_MEMORY,
                       "no host memory for the %zu bytes that describe a CUDA backend",
                       sizeof *device);
    }
    tarn_backend_result result = device_init(device, number, kind, vendor);
    if (result.status != TARN_STATUS_OK) {
        tn_host_memory_free(device);
        return open_failed(number, result);
    }
    *backend_out = (tarn_backend){ &operations, device };
    return TARN_STATUS_OK;
}

tarn_status tarn_cuda_backend_open(int device, tarn_memory_kind kind, tarn_backend *backend_out)
{
    if (!backend_out)
        return tn_fail(TARN_STATUS_INVALID_ARGUMENT, "tarn_cuda_backend_open: backend_out is NULL");
    if ((int)kind < TARN_MEMORY_KIND_DEVICE || (int)kind > TARN_MEMORY_KIND_HOST) {
        return tn_fail(TARN_STATUS_INVALID_ARGUMENT,
                       "tarn_cuda_backend_open: %d is no kind of memory", (int)kind);
    }
    tarn_status status = check_number(device);
    if (status != TARN_STATUS_OK) return status;
    struct cudaDeviceProp vendor;
    tarn_backend_result result = tn_cuda_result(cudaGetDeviceProperties(&vendor, device));
    if (result.status != TARN_STATUS_OK) return open_failed(device, result);
    if (!has_kind(&vendor, kind)) {
        return tn_fail(TARN_STATUS_NOT_SUPPORTED, "CUDA device %d has no %s memory", device,
                       kind_name(kind));
    }
    return open_device(device, kind, &vendor, backend_out);
}
