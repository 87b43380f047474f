/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * hip_backend: the memory of one HIP device, or host memory that it can reach.
 *
 *     DEVICE   hipMalloc
 *     PINNED   hipHostMalloc, for all devices of the process, at the same address on host and device,
 *              and coherent: what a kernel writes the host sees while the kernel still runs
 *     SHARED   hipMallocManaged, for all streams
 *
 * Cost: that of the vendor's calls, microseconds to milliseconds. Release waits until the device has
 * finished all its work, whatever the kind: the manual promises it of hipFree, but of hipHostFree in
 * newer versions alone, so it is done here.
 * Threads: any; the runtime does the locking.
 */
#include "tarn/hip.h"

#include <string.h>

#include "../backend_common/opening.h"
#include "../backend_common/operation.h"
#include "../backend_common/system_memory.h"
#include "../base/host_memory.h"
#include "hip_device.h"

/* What libraries over HIP rely on of every address; the runtime hands out whole pages. */
#define ALIGNMENT_BYTES 256

/* Device memory is mapped in pages of this size; smaller pieces share one, larger are rounded up. */
#define GRANULARITY_BYTES ((size_t)2 << 20)

/* --- memory ------------------------------------------------------------------------------------ */

static hipError_t acquire_kind(tarn_memory_kind kind, size_t size_bytes, void **address_out)
{
    switch (kind) {
    case TARN_MEMORY_KIND_PINNED:
        return hipHostMalloc(address_out, size_bytes, hipHostMallocPortable | hipHostMallocMapped);
    case TARN_MEMORY_KIND_SHARED:
        return hipMallocManaged(address_out, size_bytes, hipMemAttachGlobal);
    case TARN_MEMORY_KIND_DEVICE:
    case TARN_MEMORY_KIND_HOST:
        break;
    }
    return hipMalloc(address_out, size_bytes);
}

static tarn_backend_result make_acquire(struct tn_hip_call *call)
{
    tarn_memory_kind kind = call->device->properties.kind;
    return tn_hip_result(acquire_kind(kind, call->size_bytes, &call->address));
}

static tarn_backend_result acquire(void *state, size_t size_bytes, void **address_out)
{
    const struct tn_hip_device *device = state;
    tarn_status status = tn_backend_check_acquire(&device->properties, size_bytes, address_out);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);
    struct tn_hip_call call = { .make = make_acquire, .size_bytes = size_bytes };
    tarn_backend_result result = tn_hip_make_take(device, &call);
    if (result.status == TARN_STATUS_OK) *address_out = call.address;
    return result;
}

static tarn_backend_result make_release(struct tn_hip_call *call)
{
    tarn_backend_result result = tn_hip_result(hipDeviceSynchronize());
    if (result.status != TARN_STATUS_OK) return result;
    bool is_pinned = call->device->properties.kind == TARN_MEMORY_KIND_PINNED;
    return tn_hip_result(is_pinned ? hipHostFree(call->address) : hipFree(call->address));
}

static tarn_backend_result release(void *state, void *address, size_t size_bytes)
{
    const struct tn_hip_device *device = state;
    tarn_status status = tn_backend_check_release(address, size_bytes);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);
    struct tn_hip_call call = { .make = make_release, .address = address };
    return tn_hip_make_return(device, &call);
}

/* --- device ------------------------------------------------------------------------------------ */

static tarn_backend_result get_properties(void *state, tarn_device_properties *properties_out)
{
    const struct tn_hip_device *device = state;
    if (tn_lifetime_is_forked(&device->lifetime)) return tn_backend_result(TARN_STATUS_FORKED);
    *properties_out = device->properties;
    return TARN_BACKEND_RESULT_OK;
}

static tarn_backend_result make_query_memory(struct tn_hip_call *call)
{
    return tn_hip_result(hipMemGetInfo(&call->info.free_bytes, &call->info.total_bytes));
}

/* Pinned memory is the host's. */
static tarn_backend_result query_memory(void *state, tarn_memory_info *info_out)
{
    const struct tn_hip_device *device = state;
    if (device->properties.kind == TARN_MEMORY_KIND_PINNED) {
        *info_out = tn_system_memory_info();
        return TARN_BACKEND_RESULT_OK;
    }
    struct tn_hip_call call = { .make = make_query_memory };
    tarn_backend_result result = tn_hip_make_take(device, &call);
    if (result.status == TARN_STATUS_OK) *info_out = call.info;
    return result;
}

static tarn_backend_result make_synchronize(struct tn_hip_call *call)
{
    (void)call;
    return tn_hip_result(hipDeviceSynchronize());
}

static tarn_backend_result synchronize(void *state)
{
    struct tn_hip_call call = { .make = make_synchronize };
    return tn_hip_make(state, &call);
}

/* --- life -------------------------------------------------------------------------------------- */

static void close_device(void *state)
{
    tn_host_memory_free(state);
}

static const tarn_backend_operations operations = {
    .struct_bytes = sizeof(tarn_backend_operations),
    .name = "hip",
    .close = close_device,
    .acquire = acquire,
    .release = release,
    .range_reserve = tn_hip_range_reserve,
    .range_release = tn_hip_range_release,
    .range_map = tn_hip_range_map,
    .range_unmap = tn_hip_range_unmap,
    .get_properties = get_properties,
    .query_memory = query_memory,
    .synchronize = synchronize,
    .stream_create = tn_hip_stream_create,
    .stream_destroy = tn_hip_stream_destroy,
    .stream_check = tn_hip_stream_check,
#ifdef TN_HIP_NUMBERS_STREAMS
    .stream_id = tn_hip_stream_id,
#endif
    .stream_synchronize = tn_hip_stream_synchronize,
    .stream_wait_event = tn_hip_stream_wait_event,
    .event_create = tn_hip_event_create,
    .event_destroy = tn_hip_event_destroy,
    .event_record = tn_hip_event_record,
    .event_query = tn_hip_event_query,
    .event_synchronize = tn_hip_event_synchronize,
    .fill = tn_hip_fill,
    .copy = tn_hip_copy,
    .range_map_shareable = tn_hip_range_map_shareable,
    .range_export = tn_hip_range_export,
};

static tarn_status open_failed(int number, tarn_backend_result result)
{
    return tn_backend_fail_open("HIP", number, result,
                                hipGetErrorString((hipError_t)result.vendor_code));
}

static tarn_status check_number(int number)
{
    int count = 0; /* not written when there is no driver */
    tarn_backend_result result = tn_hip_result(hipGetDeviceCount(&count));
    if (result.status == TARN_STATUS_OK && count == 0) result = tn_hip_result(hipErrorNoDevice);
    if (result.status != TARN_STATUS_OK) return open_failed(number, result);
    return tn_backend_check_number("HIP", number, count);
}

/* Asked for one by one, since the properties' fields that tell it differ from version to version, and
 * some are never written on NVIDIA's platform. */
static hipError_t has_kind(int number, tarn_memory_kind kind, int *has_kind_out)
{
    switch (kind) {
    case TARN_MEMORY_KIND_DEVICE:
        *has_kind_out = 1;
        return hipSuccess;
    case TARN_MEMORY_KIND_PINNED:
        return hipDeviceGetAttribute(has_kind_out, hipDeviceAttributeCanMapHostMemory, number);
    case TARN_MEMORY_KIND_SHARED:
        return hipDeviceGetAttribute(has_kind_out, hipDeviceAttributeManagedMemory, number);
    case TARN_MEMORY_KIND_HOST:
        break;
    }
    *has_kind_out = 0;
    return hipSuccess;
}

static tarn_device_properties properties_of(const struct tn_hip_device *device,
                                            const hipDeviceProp_t *vendor, tarn_memory_kind kind)
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
        .thread_stream = hipStreamPerThread,
#ifdef hipStreamLegacy
        .default_stream_alias = hipStreamLegacy,
#endif
    };
}

/* The first call that needs a context creates it. */
static tarn_backend_result make_context(struct tn_hip_call *call)
{
    (void)call;
    return tn_hip_result(hipFree(NULL));
}

static tarn_backend_result device_init(struct tn_hip_device *device, int number,
                                       tarn_memory_kind kind, const hipDeviceProp_t *vendor)
{
    *device = (struct tn_hip_device){ .number = number, .lifetime = tn_lifetime_begin() };
    memcpy(device->name, vendor->name, sizeof device->name - 1);
    device->properties = properties_of(device, vendor, kind);
    hipError_t error = hipDriverGetVersion(&device->properties.driver_version);
    if (error == hipSuccess) error = hipRuntimeGetVersion(&device->properties.runtime_version);
    if (error != hipSuccess) return tn_hip_result(error);

    struct tn_hip_call call = { .make = make_context };
    tarn_backend_result result = tn_hip_make_take(device, &call);
    if (result.status != TARN_STATUS_OK) return result;
    return tn_hip_find_ranges(device);
}

static tarn_status open_device(int number, tarn_memory_kind kind, const hipDeviceProp_t *vendor,
                               tarn_backend *backend_out)
{
    struct tn_hip_device *device = tn_host_memory_alloc(sizeof *device);
    if (!device) return tn_backend_fail_host_memory("HIP", sizeof *device);
    tarn_backend_result result = device_init(device, number, kind, vendor);
    if (result.status != TARN_STATUS_OK) {
        tn_host_memory_free(device);
        return open_failed(number, result);
    }
    tn_lifetime_note_vendor();
    *backend_out = (tarn_backend){ &operations, device };
    return TARN_STATUS_OK;
}

tarn_status tarn_hip_backend_open(int device, tarn_memory_kind kind, tarn_backend *backend_out)
{
    tarn_status status = tn_backend_check_open("tarn_hip_backend_open", kind, backend_out);
    if (status == TARN_STATUS_OK)
        status = tn_lifetime_check_open("HIP", device, tn_hip_unloading());
    if (status != TARN_STATUS_OK) return status;
    status = check_number(device);
    if (status != TARN_STATUS_OK) return status;
    hipDeviceProp_t vendor;
    int is_there;
    hipError_t error = hipGetDeviceProperties(&vendor, device);
    if (error == hipSuccess) error = has_kind(device, kind, &is_there);
    if (error != hipSuccess) return open_failed(device, tn_hip_result(error));
    if (!is_there) return tn_backend_fail_kind("HIP", device, kind);
    return open_device(device, kind, &vendor, backend_out);
}
