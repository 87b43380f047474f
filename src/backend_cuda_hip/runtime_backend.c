/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * runtime_backend: the memory of one CUDA or HIP device, or host memory that it can reach.
 *
 *     DEVICE   cudaMalloc, hipMalloc
 *     PINNED   cudaHostAlloc, hipHostMalloc: for all devices of the process, at the same address on
 *              host and device. On AMD it is coherent: the host sees a kernel's writes while it runs.
 *     SHARED   cudaMallocManaged, hipMallocManaged: for all streams. Where the host may touch it while
 *              the device works, its pages move one by one. So it may be larger than the device's
 *              memory: the device's and the host's together are its limit here. CUDA grants more, up
 *              to 64 TiB on an H200 with 140 GiB, but that could not be used.
 *
 * Cost: that of the vendor's calls, microseconds to milliseconds. Release first waits until the device
 * has finished all its work. For cudaFree the manual says only that it "may" wait. For cudaFreeHost it
 * says nothing, and hipHostFree waits in newer versions alone.
 * Threads: any; the runtime does the locking.
 */
#include "runtime_device.h"

#include <string.h>

#include "../backend_common/opening.h"
#include "../backend_common/operation.h"
#include "../backend_common/system_memory.h"
#include "../base/host_memory.h"

/* CUDA's programming guide promises it of every address. Libraries over HIP rely on it; that runtime
 * hands out whole pages. */
#define ALIGNMENT_BYTES 256

/* Device memory is mapped in pages of this size. Smaller pieces share one, larger ones are rounded up. */
#define GRANULARITY_BYTES ((size_t)2 << 20)

/* --- memory ------------------------------------------------------------------------------------ */

static tn_runtime_error acquire_kind(tarn_memory_kind kind, size_t size_bytes, void **address_out)
{
    switch (kind) {
    case TARN_MEMORY_KIND_PINNED:
        return TN_RUNTIME_HOST_ALLOC(address_out, size_bytes, TN_RUNTIME_HOST_ALLOC_FLAGS);
    case TARN_MEMORY_KIND_SHARED:
        return TN_RUNTIME(MallocManaged)(address_out, size_bytes, TN_RUNTIME(MemAttachGlobal));
    case TARN_MEMORY_KIND_DEVICE:
    case TARN_MEMORY_KIND_HOST:
        break;
    }
    return TN_RUNTIME(Malloc)(address_out, size_bytes);
}

static tarn_backend_result make_acquire(struct tn_runtime_call *call)
{
    tarn_memory_kind kind = call->device->properties.kind;
    return tn_runtime_result(acquire_kind(kind, call->size_bytes, &call->address));
}

static tarn_backend_result acquire(void *state, size_t size_bytes, void **address_out)
{
    const struct tn_runtime_device *device = state;
    tarn_status status = tn_backend_check_acquire(&device->properties, size_bytes, address_out);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);
    struct tn_runtime_call call = { .make = make_acquire, .size_bytes = size_bytes };
    tarn_backend_result result = tn_runtime_make_take(device, &call);
    if (result.status == TARN_STATUS_OK) *address_out = call.address;
    return result;
}

static tarn_backend_result make_release(struct tn_runtime_call *call)
{
    tarn_backend_result result = tn_runtime_result(TN_RUNTIME(DeviceSynchronize)());
    if (result.status != TARN_STATUS_OK) return result;
    bool is_pinned = call->device->properties.kind == TARN_MEMORY_KIND_PINNED;
    return tn_runtime_result(is_pinned ? TN_RUNTIME_HOST_FREE(call->address)
                                       : TN_RUNTIME(Free)(call->address));
}

static tarn_backend_result release(void *state, void *address, size_t size_bytes)
{
    const struct tn_runtime_device *device = state;
    tarn_status status = tn_backend_check_release(address, size_bytes);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);
    struct tn_runtime_call call = { .make = make_release, .address = address };
    return tn_runtime_make_return(device, &call);
}

/* --- device ------------------------------------------------------------------------------------ */

static tarn_backend_result get_properties(void *state, tarn_device_properties *properties_out)
{
    const struct tn_runtime_device *device = state;
    if (tn_lifetime_is_forked(&device->lifetime)) return tn_backend_result(TARN_STATUS_FORKED);
    *properties_out = device->properties;
    return TARN_BACKEND_RESULT_OK;
}

static tarn_backend_result make_query_memory(struct tn_runtime_call *call)
{
    return tn_runtime_result(
        TN_RUNTIME(MemGetInfo)(&call->info.free_bytes, &call->info.total_bytes));
}

/* Pinned memory is part of the host's memory, and shared memory may lie in either. */
static tarn_backend_result query_memory(void *state, tarn_memory_info *info_out)
{
    const struct tn_runtime_device *device = state;
    if (device->properties.kind == TARN_MEMORY_KIND_PINNED) {
        *info_out = tn_system_memory_info();
        return TARN_BACKEND_RESULT_OK;
    }
    struct tn_runtime_call call = { .make = make_query_memory };
    tarn_backend_result result = tn_runtime_make_take(device, &call);
    if (result.status != TARN_STATUS_OK) return result;
    *info_out = device->spills_to_host ? tn_system_memory_with_device(call.info) : call.info;
    return result;
}

static tarn_backend_result make_synchronize(struct tn_runtime_call *call)
{
    (void)call;
    return tn_runtime_result(TN_RUNTIME(DeviceSynchronize)());
}

static tarn_backend_result synchronize(void *state)
{
    struct tn_runtime_call call = { .make = make_synchronize };
    return tn_runtime_make(state, &call);
}

/* --- life -------------------------------------------------------------------------------------- */

static void close_device(void *state)
{
#ifdef TN_RUNTIME_HAS_WATCH
    tn_runtime_watch_fini(state);
#endif
    tn_host_memory_free(state);
}

static const tarn_backend_operations operations = {
    .struct_bytes = sizeof(tarn_backend_operations),
    .name = TN_RUNTIME_BACKEND_NAME,
    .close = close_device,
    .acquire = acquire,
    .release = release,
    .range_reserve = tn_runtime_range_reserve,
    .range_release = tn_runtime_range_release,
    .range_map = tn_runtime_range_map,
    .range_unmap = tn_runtime_range_unmap,
    .get_properties = get_properties,
    .query_memory = query_memory,
    .synchronize = synchronize,
    .stream_create = tn_runtime_stream_create,
    .stream_destroy = tn_runtime_stream_destroy,
    .stream_check = tn_runtime_stream_check,
#ifdef TN_RUNTIME_HAS_STREAM_IDS
    .stream_id = tn_runtime_stream_id,
#endif
    .stream_synchronize = tn_runtime_stream_synchronize,
    .stream_wait_event = tn_runtime_stream_wait_event,
    .event_create = tn_runtime_event_create,
    .event_destroy = tn_runtime_event_destroy,
    .event_record = tn_runtime_event_record,
    .event_query = tn_runtime_event_query,
    .event_synchronize = tn_runtime_event_synchronize,
    .fill = tn_runtime_fill,
    .copy = tn_runtime_copy,
#ifdef TN_RUNTIME_HAS_WATCH
    .watch_begin = tn_runtime_watch_begin,
    .watch_end = tn_runtime_watch_end,
    .watch_allow = tn_runtime_watch_allow,
    .watch_forbid = tn_runtime_watch_forbid,
#endif
    .range_map_shareable = tn_runtime_range_map_shareable,
    .range_export = tn_runtime_range_export,
#ifdef TN_RUNTIME_HAS_DEVICE_EVENTS
    .event_record_device = tn_runtime_event_record_device,
#endif
};

static tarn_status open_failed(int number, tarn_backend_result result)
{
    return tn_backend_fail_open(TN_RUNTIME_VENDOR, number, result,
                                TN_RUNTIME(GetErrorString)((tn_runtime_error)result.vendor_code));
}

static tarn_backend_result count_devices(int *count_out)
{
    int count = 0; /* the call does not write it without a driver */
    tarn_backend_result result = tn_runtime_result(TN_RUNTIME(GetDeviceCount)(&count));
    if (result.status == TARN_STATUS_OK && count == 0)
        result = tn_runtime_result(TN_RUNTIME(ErrorNoDevice));
    if (result.status == TARN_STATUS_OK) *count_out = count;
    return result;
}

static tarn_status check_number(int number)
{
    int count;
    tarn_backend_result result = count_devices(&count);
    if (result.status != TARN_STATUS_OK) return open_failed(number, result);
    return tn_backend_check_number(TN_RUNTIME_VENDOR, number, count);
}

tarn_status tn_vendor_device_count(int *count_out)
{
    tarn_status status = tn_lifetime_check_open(TN_RUNTIME_VENDOR, 0, tn_runtime_unloading());
    if (status != TARN_STATUS_OK) return status;
    tarn_backend_result result = count_devices(count_out);
    return result.status == TARN_STATUS_OK ? TARN_STATUS_OK : open_failed(0, result);
}

tarn_status tn_vendor_current_device(int *device_out)
{
    tarn_status status = tn_lifetime_check_open(TN_RUNTIME_VENDOR, 0, tn_runtime_unloading());
    if (status != TARN_STATUS_OK) return status;
    int current, count;
    tarn_backend_result result = tn_runtime_find_current(&current);
    if (result.status != TARN_STATUS_OK) {
        /* Without a device HIP 5 calls the current one invalid. */
        tarn_backend_result counted = count_devices(&count);
        return open_failed(0, counted.status != TARN_STATUS_OK ? counted : result);
    }
    *device_out = current;
    return TARN_STATUS_OK;
}

static size_t total_bytes_of(const struct tn_runtime_device *device,
                             const tn_runtime_properties *vendor, tarn_memory_kind kind)
{
    tarn_memory_info memory = { vendor->totalGlobalMem, 0 };
    if (kind == TARN_MEMORY_KIND_PINNED) memory = tn_system_memory_info();
    if (device->spills_to_host) memory = tn_system_memory_with_device(memory);
    return memory.total_bytes;
}

static tarn_device_properties properties_of(const struct tn_runtime_device *device,
                                            const tn_runtime_properties *vendor,
                                            tarn_memory_kind kind)
{
    bool is_pinned = kind == TARN_MEMORY_KIND_PINNED;
    return (tarn_device_properties){
        .device_name = device->name,
        .kind = kind,
        .is_host_accessible = kind != TARN_MEMORY_KIND_DEVICE,
        .alignment_bytes = ALIGNMENT_BYTES,
        .granularity_bytes = is_pinned ? tn_system_page_bytes() : GRANULARITY_BYTES,
        .allocation_bytes_max = total_bytes_of(device, vendor, kind),
        .memory_id = is_pinned ? TARN_MEMORY_ID_HOST : (uint64_t)device->number + 1,
        .thread_stream = TN_RUNTIME(StreamPerThread),
        .default_stream_alias = TN_RUNTIME_STREAM_LEGACY,
    };
}

/* The first call that needs a context creates it. */
static tarn_backend_result make_context(struct tn_runtime_call *call)
{
    (void)call;
    return tn_runtime_result(TN_RUNTIME(Free)(NULL));
}

static tarn_backend_result device_init(struct tn_runtime_device *device, int number,
                                       tarn_memory_kind kind, const tn_runtime_properties *vendor)
{
    device->number = number;
    device->lifetime = tn_lifetime_begin();
    memcpy(device->name, vendor->name, sizeof device->name - 1);
    tn_runtime_error error = TN_RUNTIME(Success);
    if (kind == TARN_MEMORY_KIND_SHARED)
        error = tn_runtime_find_spilling(number, vendor, &device->spills_to_host);
    device->properties = properties_of(device, vendor, kind);
    int *runtime_version = &device->properties.runtime_version;
    if (error == TN_RUNTIME(Success))
        error = TN_RUNTIME(DriverGetVersion)(&device->properties.driver_version);
    if (error == TN_RUNTIME(Success)) error = TN_RUNTIME(RuntimeGetVersion)(runtime_version);
    if (error != TN_RUNTIME(Success)) return tn_runtime_result(error);

    tn_runtime_own_init(device);
    struct tn_runtime_call call = { .make = make_context };
    tarn_backend_result result = tn_runtime_make_take(device, &call);
    if (result.status == TARN_STATUS_OK) result = tn_runtime_find_ranges(device);
#ifdef TN_RUNTIME_HAS_WATCH
    if (result.status == TARN_STATUS_OK) tn_runtime_watch_init(device);
#endif
    return result;
}

static tarn_status open_device(size_t device_bytes, int number, tarn_memory_kind kind,
                               const tn_runtime_properties *vendor, tarn_backend *backend_out)
{
    struct tn_runtime_device *device = tn_host_memory_alloc_zeroed(device_bytes);
    if (!device) return tn_backend_fail_host_memory(TN_RUNTIME_VENDOR, device_bytes);
    tarn_backend_result result = device_init(device, number, kind, vendor);
    if (result.status != TARN_STATUS_OK) {
        tn_host_memory_free(device);
        return open_failed(number, result);
    }
    tn_lifetime_note_vendor();
    *backend_out = (tarn_backend){ &operations, device };
    return TARN_STATUS_OK;
}

tarn_status tn_runtime_open(const char *function, size_t device_bytes, int number,
                            tarn_memory_kind kind, tarn_backend *backend_out)
{
    tarn_status status = tn_backend_check_open(function, kind, backend_out);
    if (status == TARN_STATUS_OK)
        status = tn_lifetime_check_open(TN_RUNTIME_VENDOR, number, tn_runtime_unloading());
    if (status == TARN_STATUS_OK) status = check_number(number);
    if (status != TARN_STATUS_OK) return status;
    tn_runtime_properties vendor;
    bool has_kind = false;
    tn_runtime_error error = TN_RUNTIME(GetDeviceProperties)(&vendor, number);
    if (error == TN_RUNTIME(Success))
        error = tn_runtime_find_kind(number, &vendor, kind, &has_kind);
    if (error != TN_RUNTIME(Success)) return open_failed(number, tn_runtime_result(error));
    if (!has_kind) return tn_backend_fail_kind(TN_RUNTIME_VENDOR, number, kind);
    return open_device(device_bytes, number, kind, &vendor, backend_out);
}
