/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * gpu_backend: the memory of one CUDA or HIP device, or host memory that it can reach.
 *
 *     DEVICE   cuMemAlloc, hipMalloc
 *     PINNED   cuMemHostAlloc, hipHostMalloc: for all devices of the process, at the same address on
 *              host and device. On AMD it is coherent: the host sees a kernel's writes while it runs.
 *     SHARED   cuMemAllocManaged, hipMallocManaged: for all streams. Where the host may touch it while
 *              the device works, its pages move one by one. So it may be larger than the device's
 *              memory: the device's and the host's together are its limit here. CUDA grants more, up
 *              to 64 TiB on an H200 with 140 GiB, but that could not be used.
 *
 * Cost: that of the vendor's calls, microseconds to milliseconds. Release first waits until the context
 * has finished all its work. For cudaFree the manual says only that it "may" wait. For cudaFreeHost it
 * says nothing, and hipHostFree waits in newer versions alone.
 * Threads: any; the vendor does the locking.
 */
#include "gpu_device.h"

#include "../backend_common/operation.h"
#include "../backend_common/system_memory.h"
#include "../base/host_memory.h"

/* CUDA's programming guide promises it of every address. Libraries over HIP rely on it; that runtime
 * hands out whole pages. */
#define ALIGNMENT_BYTES 256

/* Device memory is mapped in pages of this size. Smaller pieces share one, larger ones are rounded up. */
#define GRANULARITY_BYTES ((size_t)2 << 20)

#define HOST_PORTABLE_AND_MAPPED 3 /* for all contexts; at an address of the device's */
#define MANAGED_GLOBAL           1 /* for all streams */

/* --- memory ------------------------------------------------------------------------------------ */

static tn_gpu_error take(const struct tn_gpu_device *device, size_t size_bytes,
                         tn_gpu_address *address_out)
{
    const struct tn_gpu_table *table = device->table;
    void *host_address = NULL;
    if (device->properties.kind == TARN_MEMORY_KIND_DEVICE)
        return table->alloc(address_out, size_bytes);
    if (device->properties.kind == TARN_MEMORY_KIND_SHARED)
        return table->alloc_managed(address_out, size_bytes, MANAGED_GLOBAL);
    tn_gpu_error error =
        table->alloc_host_with_flags(&host_address, size_bytes, HOST_PORTABLE_AND_MAPPED);
    *address_out = (tn_gpu_address)host_address;
    return error;
}

static tarn_backend_result acquire(void *state, size_t size_bytes, void **address_out)
{
    const struct tn_gpu_device *device = state;
    tn_gpu_address address = 0;
    tarn_status status = tn_backend_check_acquire(&device->properties, size_bytes, address_out);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);
    struct tn_gpu_visit visit = tn_gpu_begin(device, TN_GPU_TAKE);
    if (visit.may_call) visit.error = take(device, size_bytes, &address);
    tarn_backend_result result = tn_gpu_end(&visit);
    if (result.status == TARN_STATUS_OK) *address_out = (void *)address;
    return result;
}

static tn_gpu_error wait_and_give(const struct tn_gpu_device *device, void *address)
{
    const struct tn_gpu_table *table = device->table;
    tn_gpu_error error = table->synchronize();
    if (error != TN_ERROR_SUCCESS) return error;
    bool is_pinned = device->properties.kind == TARN_MEMORY_KIND_PINNED;
    return is_pinned ? table->free_host(address) : table->free((tn_gpu_address)address);
}

static tarn_backend_result release(void *state, void *address, size_t size_bytes)
{
    tarn_status status = tn_backend_check_release(address, size_bytes);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);
    struct tn_gpu_visit visit = tn_gpu_begin(state, TN_GPU_GIVE);
    if (visit.may_call) visit.error = wait_and_give(visit.device, address);
    return tn_gpu_end(&visit);
}

/* --- device ------------------------------------------------------------------------------------ */

static tarn_backend_result get_properties(void *state, tarn_device_properties *properties_out)
{
    const struct tn_gpu_device *device = state;
    if (tn_lifetime_is_forked(&device->lifetime)) return tn_backend_result(TARN_STATUS_FORKED);
    *properties_out = device->properties;
    return TARN_BACKEND_RESULT_OK;
}

/* Pinned memory is part of the host's memory, and shared memory may lie in either. */
static tarn_backend_result query_memory(void *state, tarn_memory_info *info_out)
{
    const struct tn_gpu_device *device = state;
    tarn_memory_info info = { 0, 0 };
    if (device->properties.kind == TARN_MEMORY_KIND_PINNED) {
        *info_out = tn_system_memory_info();
        return TARN_BACKEND_RESULT_OK;
    }
    struct tn_gpu_visit visit = tn_gpu_begin(device, TN_GPU_TAKE);
    if (visit.may_call) visit.error = device->table->get_info(&info.free_bytes, &info.total_bytes);
    tarn_backend_result result = tn_gpu_end(&visit);
    if (result.status != TARN_STATUS_OK) return result;
    *info_out = device->spills_to_host ? tn_system_memory_with_device(info) : info;
    return result;
}

static tarn_backend_result synchronize(void *state)
{
    struct tn_gpu_visit visit = tn_gpu_begin(state, TN_GPU_ORDER);
    if (visit.may_call) visit.error = visit.device->table->synchronize();
    return tn_gpu_end(&visit);
}

/* --- life -------------------------------------------------------------------------------------- */

static void close_device(void *state)
{
    struct tn_gpu_device *device = state;
    if (device->close_watch) device->close_watch(device);
    if (device->gives_context_back && !tn_lifetime_is_over(&device->lifetime))
        device->table->vendor->end_context(device);
    tn_host_memory_free(device);
}

static const tarn_backend_operations all_operations = {
    .struct_bytes = sizeof(tarn_backend_operations),
    .close = close_device,
    .acquire = acquire,
    .release = release,
    .range_reserve = tn_gpu_range_reserve,
    .range_release = tn_gpu_range_release,
    .range_map = tn_gpu_range_map,
    .range_unmap = tn_gpu_range_unmap,
    .get_properties = get_properties,
    .query_memory = query_memory,
    .synchronize = synchronize,
    .stream_create = tn_gpu_stream_create,
    .stream_destroy = tn_gpu_stream_destroy,
    .stream_check = tn_gpu_stream_check,
    .stream_id = tn_gpu_stream_id,
    .stream_synchronize = tn_gpu_stream_synchronize,
    .stream_wait_event = tn_gpu_stream_wait_event,
    .event_create = tn_gpu_event_create,
    .event_destroy = tn_gpu_event_destroy,
    .event_record = tn_gpu_event_record,
    .event_query = tn_gpu_event_query,
    .event_synchronize = tn_gpu_event_synchronize,
    .fill = tn_gpu_fill,
    .copy = tn_gpu_copy,
    .range_map_shareable = tn_gpu_range_map_shareable,
    .range_export = tn_gpu_range_export,
    .event_record_device = tn_gpu_event_record_device,
    .range_unmap_idle = tn_gpu_range_unmap_idle,
};

static tarn_backend_operations operations_of(const struct tn_gpu_table *table)
{
    tarn_backend_operations operations = all_operations;
    operations.name = table->vendor->backend_name;
    if (!table->stream_id) operations.stream_id = NULL;
    if (!table->record_context) operations.event_record_device = NULL;
    if (!table->vendor->unmaps_at_once) operations.range_unmap_idle = NULL;
    return operations;
}

tn_gpu_error tn_gpu_ask(const struct tn_gpu_table *table, int attribute, int number,
                        bool *is_so_out)
{
    int value = attribute == TN_GPU_TRUE;
    tn_gpu_error error =
        attribute < 0 ? TN_ERROR_SUCCESS : table->get_attribute(&value, attribute, number);
    if (error == TN_ERROR_INVALID_VALUE) { /* the library is older than the attribute */
        (void)table->vendor->take_error(table, error);
        error = TN_ERROR_SUCCESS;
        value = 0;
    }
    *is_so_out = value != 0;
    return error;
}

static tn_gpu_error find_spilling(struct tn_gpu_device *device, tarn_memory_kind kind)
{
    const struct tn_gpu_vendor *vendor = device->table->vendor;
    bool is_concurrent = false, is_integrated = false;
    if (kind != TARN_MEMORY_KIND_SHARED) return TN_ERROR_SUCCESS;
    tn_gpu_error error =
        tn_gpu_ask(device->table, vendor->has_concurrent_managed, device->number, &is_concurrent);
    if (error == TN_ERROR_SUCCESS)
        error = tn_gpu_ask(device->table, vendor->is_integrated, device->number, &is_integrated);
    device->spills_to_host = is_concurrent && !is_integrated;
    return error;
}

static size_t bytes_max_of(const struct tn_gpu_device *device, tarn_memory_kind kind,
                           size_t total_bytes)
{
    tarn_memory_info memory = { total_bytes, 0 };
    if (kind == TARN_MEMORY_KIND_PINNED) memory = tn_system_memory_info();
    if (device->spills_to_host) memory = tn_system_memory_with_device(memory);
    return memory.total_bytes;
}

static tn_gpu_error find_properties(struct tn_gpu_device *device, tarn_memory_kind kind)
{
    const struct tn_gpu_table *table = device->table;
    bool is_pinned = kind == TARN_MEMORY_KIND_PINNED;
    size_t total_bytes = 0;
    int driver_version = 0, runtime_version = 0;
    tn_gpu_error error = table->get_device_name(device->name, sizeof device->name, device->number);
    if (error == TN_ERROR_SUCCESS) error = table->get_total_bytes(&total_bytes, device->number);
    if (error == TN_ERROR_SUCCESS) error = table->get_version(&driver_version);
    if (error == TN_ERROR_SUCCESS)
        error = table->vendor->get_runtime_version(table, &runtime_version);
    if (error == TN_ERROR_SUCCESS) error = find_spilling(device, kind);
    device->properties = (tarn_device_properties){
        .device_name = device->name,
        .kind = kind,
        .is_host_accessible = kind != TARN_MEMORY_KIND_DEVICE,
        .alignment_bytes = ALIGNMENT_BYTES,
        .granularity_bytes = is_pinned ? tn_system_page_bytes() : GRANULARITY_BYTES,
        .allocation_bytes_max = bytes_max_of(device, kind, total_bytes),
        .memory_id = is_pinned ? TARN_MEMORY_ID_HOST : (uint64_t)device->number + 1,
        .driver_version = driver_version,
        .runtime_version = runtime_version,
        .thread_stream = TN_STREAM_PER_THREAD,
    };
    if (runtime_version >= table->vendor->has_legacy_stream_since)
        device->properties.default_stream_alias = TN_STREAM_LEGACY;
    if (error == TN_ERROR_SUCCESS && kind == TARN_MEMORY_KIND_DEVICE)
        error = tn_gpu_find_ranges(device);
    return error;
}

tarn_backend_result tn_gpu_open_context(struct tn_gpu_device *device, tarn_memory_kind kind,
                                        tarn_backend *backend_out)
{
    device->lifetime = tn_lifetime_begin();
    device->operations = operations_of(device->table);
    struct tn_gpu_visit visit = tn_gpu_begin(device, TN_GPU_TAKE);
    if (visit.may_call) visit.error = find_properties(device, kind);
    if (visit.may_call && visit.error == TN_ERROR_SUCCESS && device->open_watch)
        device->open_watch(device);
    tarn_backend_result result = tn_gpu_end(&visit);
    if (result.status == TARN_STATUS_OK)
        *backend_out = (tarn_backend){ &device->operations, device };
    return result;
}
