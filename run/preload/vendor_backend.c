/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * vendor_backend: memory and properties of a context.
 *
 * Cost: that of the driver's calls. A release first waits until the context has finished all its work.
 */
#include "vendor_backend.h"

#include "backend_common/operation.h"
#include "backend_common/opening.h"
#include "base/host_memory.h"

#define ALIGNMENT_BYTES   256
#define GRANULARITY_BYTES ((size_t)2 << 20)

#define ATTRIBUTE_TEXTURE_ALIGNMENT 14

/* --- memory ------------------------------------------------------------------------------------------ */

static tarn_backend_result acquire(void *state, size_t size_bytes, void **address_out)
{
    const struct tn_driver_device *device = state;
    tn_cuda_address address = 0;
    tarn_status status = tn_backend_check_acquire(&device->properties, size_bytes, address_out);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);
    TN_REFUSE_LATE_TAKE(device);
    tarn_backend_result result =
        TN_VISIT(device, TN_DRIVER_CALL(device->driver, cuMemAlloc_v2)(&address, size_bytes));
    if (result.status == TARN_STATUS_OK) *address_out = (void *)address;
    return result;
}

static tn_cuda_error wait_and_free(const struct tn_driver *driver, tn_cuda_address address)
{
    tn_cuda_error error = driver->synchronize();
    return error == TN_CUDA_SUCCESS ? TN_DRIVER_CALL(driver, cuMemFree_v2)(address) : error;
}

static tarn_backend_result release(void *state, void *address, size_t size_bytes)
{
    const struct tn_driver_device *device = state;
    tarn_status status = tn_backend_check_release(address, size_bytes);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);
    TN_SKIP_LATE_RETURN(device);
    return TN_VISIT(device, wait_and_free(device->driver, (tn_cuda_address)address));
}

/* --- device ------------------------------------------------------------------------------------------ */

static tarn_backend_result get_properties(void *state, tarn_device_properties *properties_out)
{
    const struct tn_driver_device *device = state;
    if (tn_lifetime_is_forked(&device->lifetime)) return tn_backend_result(TARN_STATUS_FORKED);
    *properties_out = device->properties;
    return TARN_BACKEND_RESULT_OK;
}

static tarn_backend_result query_memory(void *state, tarn_memory_info *info_out)
{
    const struct tn_driver_device *device = state;
    size_t free_bytes = 0, total_bytes = 0;
    TN_REFUSE_LATE_TAKE(device);
    tarn_backend_result result = TN_VISIT(
        device, TN_DRIVER_CALL(device->driver, cuMemGetInfo_v2)(&free_bytes, &total_bytes));
    if (result.status == TARN_STATUS_OK) *info_out = (tarn_memory_info){ total_bytes, free_bytes };
    return result;
}

static tarn_backend_result synchronize(void *state)
{
    const struct tn_driver_device *device = state;
    TN_REFUSE_LATE_TAKE(device);
    return TN_VISIT(device, device->driver->synchronize());
}

/* --- life -------------------------------------------------------------------------------------------- */

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
    .range_reserve = tn_driver_range_reserve,
    .range_release = tn_driver_range_release,
    .range_map = tn_driver_range_map,
    .range_unmap = tn_driver_range_unmap,
    .get_properties = get_properties,
    .query_memory = query_memory,
    .synchronize = synchronize,
    .stream_create = tn_driver_stream_create,
    .stream_destroy = tn_driver_stream_destroy,
    .stream_check = tn_driver_stream_check,
    .stream_id = tn_driver_stream_id,
    .stream_synchronize = tn_driver_stream_synchronize,
    .stream_wait_event = tn_driver_stream_wait_event,
    .event_create = tn_driver_event_create,
    .event_destroy = tn_driver_event_destroy,
    .event_record = tn_driver_event_record,
    .event_query = tn_driver_event_query,
    .event_synchronize = tn_driver_event_synchronize,
    .fill = tn_driver_fill,
    .copy = tn_driver_copy,
    .event_record_device = tn_driver_event_record_device,
};

static tn_cuda_error find_properties(struct tn_driver_device *device)
{
    const struct tn_driver *driver = device->driver;
    tarn_device_properties *properties = &device->properties;
    size_t total_bytes = 0;
    int alignment_bytes = ALIGNMENT_BYTES;
    tn_cuda_error error = driver->get_context_device(&device->number);
    if (error == TN_CUDA_SUCCESS)
        error = driver->get_device_name(device->name, sizeof device->name, device->number);
    if (error == TN_CUDA_SUCCESS) error = driver->get_total_bytes(&total_bytes, device->number);
    if (error == TN_CUDA_SUCCESS) error = driver->get_version(&properties->driver_version);
    if (error == TN_CUDA_SUCCESS)
        error =
            driver->get_attribute(&alignment_bytes, ATTRIBUTE_TEXTURE_ALIGNMENT, device->number);
    if (error != TN_CUDA_SUCCESS) return error;
    device->texture_alignment_bytes = (size_t)alignment_bytes;
    properties->device_name = device->name;
    properties->kind = TARN_MEMORY_KIND_DEVICE;
    properties->alignment_bytes = ALIGNMENT_BYTES;
    properties->granularity_bytes = GRANULARITY_BYTES;
    properties->allocation_bytes_max = total_bytes;
    properties->range_granularity_bytes = tn_driver_range_granularity(device);
    properties->memory_id = (uint64_t)device->number + 1;
    properties->thread_stream = TN_CUDA_STREAM_PER_THREAD;
    properties->default_stream_alias = TN_CUDA_STREAM_LEGACY;
    return TN_CUDA_SUCCESS;
}

tarn_backend_result tn_driver_backend_open(const struct tn_driver *driver, void *context,
                                           tarn_backend *backend_out)
{
    if (!tn_process_watch_forks()) return tn_backend_result(TARN_STATUS_OUT_OF_HOST_MEMORY);
    struct tn_driver_device *device = tn_host_memory_alloc_zeroed(sizeof *device);
    if (!device) return tn_backend_result(TARN_STATUS_OUT_OF_HOST_MEMORY);
    device->driver = driver;
    device->context = context;
    device->lifetime = tn_lifetime_begin();
    tn_cuda_error error = find_properties(device);
    if (error != TN_CUDA_SUCCESS) {
        tn_host_memory_free(device);
        return tn_driver_result(driver, error);
    }
    tn_process_watch_end();
    *backend_out = (tarn_backend){ &operations, device };
    return TARN_BACKEND_RESULT_OK;
}
