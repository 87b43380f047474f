/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * vendor_backend: memory and properties of a context.
 *
 * Cost: that of the vendor's calls. A release first waits until the context has finished all its work.
 */
#include "vendor_backend.h"

#include "backend_common/operation.h"
#include "backend_common/opening.h"
#include "base/host_memory.h"

#define ALIGNMENT_BYTES   256
#define GRANULARITY_BYTES ((size_t)2 << 20)

/* --- memory ------------------------------------------------------------------------------------------ */

static tarn_backend_result acquire(void *state, size_t size_bytes, void **address_out)
{
    const struct tn_vendor_device *device = state;
    tn_vendor_address address = 0;
    tarn_status status = tn_backend_check_acquire(&device->properties, size_bytes, address_out);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);
    TN_REFUSE_LATE_TAKE(device);
    tarn_backend_result result =
        TN_VISIT(device, MEMORY, TN_VENDOR_CALL(device->vendor, alloc)(&address, size_bytes));
    if (result.status == TARN_STATUS_OK) *address_out = (void *)address;
    return result;
}

static tn_vendor_error wait_and_free(const struct tn_vendor *vendor, tn_vendor_address address)
{
    tn_vendor_error error = vendor->synchronize();
    return error == TN_ERROR_SUCCESS ? TN_VENDOR_CALL(vendor, free)(address) : error;
}

static tarn_backend_result release(void *state, void *address, size_t size_bytes)
{
    const struct tn_vendor_device *device = state;
    tarn_status status = tn_backend_check_release(address, size_bytes);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);
    TN_SKIP_LATE_RETURN(device);
    return TN_VISIT(device, MEMORY, wait_and_free(device->vendor, (tn_vendor_address)address));
}

/* --- device ------------------------------------------------------------------------------------------ */

static tarn_backend_result get_properties(void *state, tarn_device_properties *properties_out)
{
    const struct tn_vendor_device *device = state;
    if (tn_lifetime_is_forked(&device->lifetime)) return tn_backend_result(TARN_STATUS_FORKED);
    *properties_out = device->properties;
    return TARN_BACKEND_RESULT_OK;
}

static tarn_backend_result query_memory(void *state, tarn_memory_info *info_out)
{
    const struct tn_vendor_device *device = state;
    size_t free_bytes = 0, total_bytes = 0;
    TN_REFUSE_LATE_TAKE(device);
    tarn_backend_result result = TN_VISIT(
        device, MEMORY, TN_VENDOR_CALL(device->vendor, get_info)(&free_bytes, &total_bytes));
    if (result.status == TARN_STATUS_OK) *info_out = (tarn_memory_info){ total_bytes, free_bytes };
    return result;
}

static tarn_backend_result synchronize(void *state)
{
    const struct tn_vendor_device *device = state;
    TN_REFUSE_LATE_TAKE(device);
    return TN_VISIT(device, ORDER, device->vendor->synchronize());
}

/* --- life -------------------------------------------------------------------------------------------- */

static void close_device(void *state)
{
    tn_host_memory_free(state);
}

static const tarn_backend_operations operations = {
    .struct_bytes = sizeof(tarn_backend_operations),
    .name = TN_VENDOR_BACKEND,
    .close = close_device,
    .acquire = acquire,
    .release = release,
    .range_reserve = tn_vendor_range_reserve,
    .range_release = tn_vendor_range_release,
    .range_map = tn_vendor_range_map,
    .range_unmap = tn_vendor_range_unmap,
    .get_properties = get_properties,
    .query_memory = query_memory,
    .synchronize = synchronize,
    .stream_create = tn_vendor_stream_create,
    .stream_destroy = tn_vendor_stream_destroy,
    .stream_check = tn_vendor_stream_check,
    .stream_id = tn_vendor_stream_id,
    .stream_synchronize = tn_vendor_stream_synchronize,
    .stream_wait_event = tn_vendor_stream_wait_event,
    .event_create = tn_vendor_event_create,
    .event_destroy = tn_vendor_event_destroy,
    .event_record = tn_vendor_event_record,
    .event_query = tn_vendor_event_query,
    .event_synchronize = tn_vendor_event_synchronize,
    .fill = tn_vendor_fill,
    .copy = tn_vendor_copy,
    .event_record_device = TN_EVENT_RECORD_DEVICE,
};

static tn_vendor_error find_properties(struct tn_vendor_device *device)
{
    const struct tn_vendor *vendor = device->vendor;
    tarn_device_properties *properties = &device->properties;
    size_t total_bytes = 0;
    int alignment_bytes = ALIGNMENT_BYTES;
    tn_vendor_error error = tn_vendor_get_device(vendor, &device->number);
    if (error == TN_ERROR_SUCCESS)
        error = vendor->get_device_name(device->name, sizeof device->name, device->number);
    if (error == TN_ERROR_SUCCESS) error = vendor->get_total_bytes(&total_bytes, device->number);
    if (error == TN_ERROR_SUCCESS) error = vendor->get_version(&properties->driver_version);
    if (error == TN_ERROR_SUCCESS)
        error =
            vendor->get_attribute(&alignment_bytes, TN_ATTRIBUTE_TEXTURE_ALIGNMENT, device->number);
    if (error != TN_ERROR_SUCCESS) return error;
    device->texture_alignment_bytes = (size_t)alignment_bytes;
    properties->device_name = device->name;
    properties->kind = TARN_MEMORY_KIND_DEVICE;
    properties->alignment_bytes = ALIGNMENT_BYTES;
    properties->granularity_bytes = GRANULARITY_BYTES;
    properties->allocation_bytes_max = total_bytes;
    properties->range_granularity_bytes = tn_vendor_range_granularity(device);
    properties->memory_id = (uint64_t)device->number + 1;
    properties->thread_stream = TN_STREAM_PER_THREAD;
    properties->default_stream_alias = TN_STREAM_LEGACY;
    return TN_ERROR_SUCCESS;
}

tarn_backend_result tn_vendor_backend_open(const struct tn_vendor *vendor, void *context,
                                           tarn_backend *backend_out)
{
    if (!tn_process_watch_forks()) return tn_backend_result(TARN_STATUS_OUT_OF_HOST_MEMORY);
    struct tn_vendor_device *device = tn_host_memory_alloc_zeroed(sizeof *device);
    if (!device) return tn_backend_result(TARN_STATUS_OUT_OF_HOST_MEMORY);
    device->vendor = vendor;
    device->context = context;
    device->lifetime = tn_lifetime_begin();
    tn_vendor_error error = find_properties(device);
    if (error != TN_ERROR_SUCCESS) {
        tn_host_memory_free(device);
        return tn_vendor_result(vendor, error);
    }
    tn_process_watch_end();
    *backend_out = (tarn_backend){ &operations, device };
    return TARN_BACKEND_RESULT_OK;
}
