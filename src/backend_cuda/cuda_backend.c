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

#include "../backend_common/opening.h"
#include "../backend_common/operation.h"
#include "../backend_common/system_memory.h"
#include "../base/host_memory.h"
#include "cuda_device.h"

/* What the programming guide promises of every address. */
#define ALIGNMENT_BYTES 256

/* Device memory is mapped in pages of this size; smaller pieces share one, larger are rounded up. */
#define GRANULARITY_BYTES ((size_t)2 << 20)

/* --- memory ------------------------------------------------------------------------------------ */

static cudaError_t acquire_kind(tarn_memory_kind kind, size_t size_bytes, void **address_out)
{
    switch (kind) {
    case TARN_MEMORY_KIND_PINNED:
        return cudaHostAlloc(address_out, size_bytes, cudaHostAllocPortable | cudaHostAllocMapped);
    case TARN_MEMORY_KIND_SHARED:
        return cudaMallocManaged(address_out, size_bytes, cudaMemAttachGlobal);
    case TARN_MEMORY_KIND_DEVICE:
    case TARN_MEMORY_KIND_HOST:
        break;
    }
    return cudaMalloc(address_out, size_bytes);
}

static tarn_backend_result make_acquire(struct tn_cuda_call *call)
{
    tarn_memory_kind kind = call->device->properties.kind;
    return tn_cuda_result(acquire_kind(kind, call->size_bytes, &call->address));
}

static tarn_backend_result acquire(void *state, size_t size_bytes, void **address_out)
{
    const struct tn_cuda_device *device = state;
    tarn_status status = tn_backend_check_acquire(&device->properties, size_bytes, address_out);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);
    struct tn_cuda_call call = { .make = make_acquire, .size_bytes = size_bytes };
    tarn_backend_result result = tn_cuda_make_take(device, &call);
    if (result.status == TARN_STATUS_OK) *address_out = call.address;
    return result;
}

static tarn_backend_result make_release(struct tn_cuda_call *call)
{
    tarn_backend_result result = tn_cuda_result(cudaDeviceSynchronize());
    if (result.status != TARN_STATUS_OK) return result;
    bool is_pinned = call->device->properties.kind == TARN_MEMORY_KIND_PINNED;
    return tn_cuda_result(is_pinned ? cudaFreeHost(call->address) : cudaFree(call->address));
}

static tarn_backend_result release(void *state, void *address, size_t size_bytes)
{
    const struct tn_cuda_device *device = state;
    tarn_status status = tn_backend_check_release(address, size_bytes);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);
    struct tn_cuda_call call = { .make = make_release, .address = address };
    return tn_cuda_make_return(device, &call);
}

/* --- device ------------------------------------------------------------------------------------ */

static tarn_backend_result get_properties(void *state, tarn_device_properties *properties_out)
{
    const struct tn_cuda_device *device = state;
    if (tn_lifetime_is_forked(&device->lifetime)) return tn_backend_result(TARN_STATUS_FORKED);
    *properties_out = device->properties;
    return TARN_BACKEND_RESULT_OK;
}

static tarn_backend_result make_query_memory(struct tn_cuda_call *call)
{
    return tn_cuda_result(cudaMemGetInfo(&call->info.free_bytes, &call->info.total_bytes));
}

/* Pinned memory is the host's. */
static tarn_backend_result query_memory(void *state, tarn_memory_info *info_out)
{
    const struct tn_cuda_device *device = state;
    if (device->properties.kind == TARN_MEMORY_KIND_PINNED) {
        *info_out = tn_system_memory_info();
        return TARN_BACKEND_RESULT_OK;
    }
    struct tn_cuda_call call = { .make = make_query_memory };
    tarn_backend_result result = tn_cuda_make_take(device, &call);
    if (result.status == TARN_STATUS_OK) *info_out = call.info;
    return result;
}

static tarn_backend_result make_synchronize(struct tn_cuda_call *call)
{
    (void)call;
    return tn_cuda_result(cudaDeviceSynchronize());
}

static tarn_backend_result synchronize(void *state)
{
    struct tn_cuda_call call = { .make = make_synchronize };
    return tn_cuda_make(state, &call);
}

/* --- life -------------------------------------------------------------------------------------- */

static void close_device(void *state)
{
    tn_cuda_watch_fini(state);
    tn_host_memory_free(state);
}

static const tarn_backend_operations operations = {
    .struct_bytes = sizeof(tarn_backend_operations),
    .name = "cuda",
    .close = close_device,
    .acquire = acquire,
    .release = release,
    .range_reserve = tn_cuda_range_reserve,
    .range_release = tn_cuda_range_release,
    .range_map = tn_cuda_range_map,
    .range_unmap = tn_cuda_range_unmap,
    .get_properties = get_properties,
    .query_memory = query_memory,
    .synchronize = synchronize,
    .stream_create = tn_cuda_stream_create,
    .stream_destroy = tn_cuda_stream_destroy,
    .stream_check = tn_cuda_stream_check,
#if CUDART_VERSION >= 12000
    .stream_id = tn_cuda_stream_id,
#endif
    .stream_synchronize = tn_cuda_stream_synchronize,
    .stream_wait_event = tn_cuda_stream_wait_event,
    .event_create = tn_cuda_event_create,
    .event_destroy = tn_cuda_event_destroy,
    .event_record = tn_cuda_event_record,
    .event_query = tn_cuda_event_query,
    .event_synchronize = tn_cuda_event_synchronize,
    .fill = tn_cuda_fill,
    .copy = tn_cuda_copy,
    .watch_begin = tn_cuda_watch_begin,
    .watch_end = tn_cuda_watch_end,
    .watch_allow = tn_cuda_watch_allow,
    .watch_forbid = tn_cuda_watch_forbid,
    .range_map_shareable = tn_cuda_range_map_shareable,
    .range_export = tn_cuda_range_export,
};

static tarn_status open_failed(int number, tarn_backend_result result)
{
    return tn_backend_fail_open("CUDA", number, result,
                                cudaGetErrorString((cudaError_t)result.vendor_code));
}

static tarn_status check_number(int number)
{
    int count = 0; /* not written when there is no driver */
    tarn_backend_result result = tn_cuda_result(cudaGetDeviceCount(&count));
    if (result.status == TARN_STATUS_OK && count == 0) result = tn_cuda_result(cudaErrorNoDevice);
    if (result.status != TARN_STATUS_OK) return open_failed(number, result);
    return tn_backend_check_number("CUDA", number, count);
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
        .granularity_bytes = is_pinned ? tn_system_page_bytes() : GRANULARITY_BYTES,
        .allocation_bytes_max =
            is_pinned ? tn_system_memory_info().total_bytes : vendor->totalGlobalMem,
        .memory_id = is_pinned ? TARN_MEMORY_ID_HOST : (uint64_t)device->number + 1,
        .thread_stream = cudaStreamPerThread,
        .default_stream_alias = cudaStreamLegacy,
    };
}

/* The first call that needs a context creates it. */
static tarn_backend_result make_context(struct tn_cuda_call *call)
{
    (void)call;
    return tn_cuda_result(cudaFree(NULL));
}

static tarn_backend_result device_init(struct tn_cuda_device *device, int number,
                                       tarn_memory_kind kind, const struct cudaDeviceProp *vendor)
{
    *device = (struct tn_cuda_device){ .number = number, .lifetime = tn_lifetime_begin() };
    memcpy(device->name, vendor->name, sizeof device->name - 1);
    device->properties = properties_of(device, vendor, kind);
    cudaError_t error = cudaDriverGetVersion(&device->properties.driver_version);
    if (error == cudaSuccess) error = cudaRuntimeGetVersion(&device->properties.runtime_version);
    if (error != cudaSuccess) return tn_cuda_result(error);

    tn_cuda_find_driver(&device->driver);
    struct tn_cuda_call call = { .make = make_context };
    tarn_backend_result result = tn_cuda_make_take(device, &call);
    if (result.status == TARN_STATUS_OK) result = tn_cuda_find_ranges(device);
    if (result.status == TARN_STATUS_OK) tn_cuda_watch_init(device);
    return result;
}

static tarn_status open_device(int number, tarn_memory_kind kind,
                               const struct cudaDeviceProp *vendor, tarn_backend *backend_out)
{
    struct tn_cuda_device *device = tn_host_memory_alloc(sizeof *device);
    if (!device) return tn_backend_fail_host_memory("CUDA", sizeof *device);
    tarn_backend_result result = device_init(device, number, kind, vendor);
    if (result.status != TARN_STATUS_OK) {
        tn_host_memory_free(device);
        return open_failed(number, result);
    }
    tn_lifetime_note_vendor();
    *backend_out = (tarn_backend){ &operations, device };
    return TARN_STATUS_OK;
}

tarn_status tarn_cuda_backend_open(int device, tarn_memory_kind kind, tarn_backend *backend_out)
{
    tarn_status status = tn_backend_check_open("tarn_cuda_backend_open", kind, backend_out);
    if (status == TARN_STATUS_OK)
        status = tn_lifetime_check_open("CUDA", device, tn_cuda_unloading());
    if (status != TARN_STATUS_OK) return status;
    status = check_number(device);
    if (status != TARN_STATUS_OK) return status;
    struct cudaDeviceProp vendor;
    tarn_backend_result result = tn_cuda_result(cudaGetDeviceProperties(&vendor, device));
    if (result.status != TARN_STATUS_OK) return open_failed(device, result);
    if (!has_kind(&vendor, kind)) return tn_backend_fail_kind("CUDA", device, kind);
    return open_device(device, kind, &vendor, backend_out);
}
