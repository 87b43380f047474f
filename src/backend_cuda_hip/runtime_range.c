/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * runtime_range: ranges of one CUDA or HIP device's addresses, and memory that is mapped into them.
 *
 * A mapping is the vendor's handle of one physical allocation. It is kept as long as the memory is
 * mapped, since exporting the memory needs it. The single steps are the vendor's own: see
 * cuda_range.c and hip_range.c.
 *
 * Cost: that of the vendor's calls. Unmapping first waits until the device has finished all its work,
 * which CUDA's manual does not promise.
 * Threads: any; the vendor does the locking.
 */
#include "runtime_device.h"

#include "../backend_common/operation.h"
#include "../base/arith.h"

/* --- reserving --------------------------------------------------------------------------------- */

static tarn_backend_result make_range_reserve(struct tn_runtime_call *call)
{
    tarn_backend_result result = tn_runtime_addresses_reserve(call);
    /* The size was checked before, so the vendor can only find it too large. */
    if (result.status == TARN_STATUS_INVALID_ARGUMENT) result.status = TARN_STATUS_OUT_OF_MEMORY;
    return result;
}

tarn_backend_result tn_runtime_range_reserve(void *state, size_t size_bytes, void **address_out)
{
    const struct tn_runtime_device *device = state;
    tarn_status status =
        tn_backend_check_range_reserve(&device->properties, size_bytes, address_out);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);
    struct tn_runtime_call call = { .make = make_range_reserve, .size_bytes = size_bytes };
    tarn_backend_result result = tn_runtime_make_take(device, &call);
    if (result.status == TARN_STATUS_OK) *address_out = call.address;
    return result;
}

tarn_backend_result tn_runtime_range_release(void *state, void *address, size_t size_bytes)
{
    const struct tn_runtime_device *device = state;
    tarn_status status = tn_backend_check_range(&device->properties, address, size_bytes);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);
    struct tn_runtime_call call = {
        .make = tn_runtime_addresses_release,
        .address = address,
        .size_bytes = size_bytes,
    };
    return tn_runtime_make_return(device, &call);
}

/* --- mapping ----------------------------------------------------------------------------------- */

static tarn_backend_result make_range_map(struct tn_runtime_call *call)
{
    tarn_backend_result result = tn_runtime_memory_create(call);
    if (result.status != TARN_STATUS_OK) return result;
    result = tn_runtime_memory_map(call);
    if (result.status != TARN_STATUS_OK) (void)tn_runtime_memory_destroy(call);
    return result;
}

static tarn_backend_result range_map(const struct tn_runtime_device *device, void *address,
                                     size_t size_bytes, bool is_shareable,
                                     tarn_mapping *mapping_out)
{
    tarn_status status =
        tn_backend_check_range_map(&device->properties, address, size_bytes, mapping_out);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);
    struct tn_runtime_call call = {
        .make = make_range_map,
        .address = address,
        .size_bytes = size_bytes,
        .is_shareable = is_shareable,
    };
    tarn_backend_result result = tn_runtime_make_take(device, &call);
    if (result.status == TARN_STATUS_OK) *mapping_out = call.mapping;
    return result;
}

tarn_backend_result tn_runtime_range_map(void *state, void *address, size_t size_bytes,
                                         tarn_mapping *mapping_out)
{
    return range_map(state, address, size_bytes, false, mapping_out);
}

/* If the memory cannot be destroyed, it is mapped again, so that nothing has changed. But if the vendor
 * does not know the mapping, it is not mapped: CUDA's driver would crash. */
static tarn_backend_result make_range_unmap(struct tn_runtime_call *call)
{
    tarn_backend_result result = tn_runtime_result(TN_RUNTIME(DeviceSynchronize)());
    if (result.status != TARN_STATUS_OK) return result;
    result = tn_runtime_memory_unmap(call);
    if (result.status != TARN_STATUS_OK) return result;
    result = tn_runtime_memory_destroy(call);
    bool is_unknown = result.vendor_code == (int)TN_RUNTIME(ErrorInvalidValue);
    if (result.status != TARN_STATUS_OK && !is_unknown) (void)tn_runtime_memory_map(call);
    return result;
}

tarn_backend_result tn_runtime_range_unmap(void *state, void *address, size_t size_bytes,
                                           tarn_mapping mapping)
{
    const struct tn_runtime_device *device = state;
    tarn_status status = tn_backend_check_range(&device->properties, address, size_bytes);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);
    struct tn_runtime_call call = {
        .make = make_range_unmap,
        .address = address,
        .size_bytes = size_bytes,
        .mapping = mapping,
    };
    return tn_runtime_make_return(device, &call);
}

/* --- sharing ----------------------------------------------------------------------------------- */

tarn_backend_result tn_runtime_range_map_shareable(void *state, void *address, size_t size_bytes,
                                                   tarn_mapping *mapping_out)
{
    const struct tn_runtime_device *device = state;
    tarn_status status = tn_backend_check_shareable(&device->properties);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);
    return range_map(device, address, size_bytes, true, mapping_out);
}

tarn_backend_result tn_runtime_range_export(void *state, void *address, size_t size_bytes,
                                            tarn_mapping mapping, int *file_descriptor_out)
{
    const struct tn_runtime_device *device = state;
    tarn_status status = tn_backend_check_range_export(&device->properties, address, size_bytes,
                                                       file_descriptor_out);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);
    struct tn_runtime_call call = { .make = tn_runtime_memory_export, .mapping = mapping };
    tarn_backend_result result = tn_runtime_make_take(device, &call);
    if (result.status == TARN_STATUS_OK) *file_descriptor_out = call.file_descriptor;
    return result;
}

/* --- whether there are any --------------------------------------------------------------------- */

tarn_backend_result tn_runtime_find_ranges(struct tn_runtime_device *device)
{
    if (device->properties.kind != TARN_MEMORY_KIND_DEVICE) return TARN_BACKEND_RESULT_OK;
    struct tn_runtime_call call = { .make = NULL };
    tarn_backend_result result = tn_runtime_ask_for_ranges(device, &call);
    if (result.status == TARN_STATUS_NOT_SUPPORTED) return TARN_BACKEND_RESULT_OK;
    if (result.status == TARN_STATUS_OK && tn_is_power_of_two(call.size_bytes)) {
        device->properties.range_granularity_bytes = call.size_bytes;
        device->properties.has_shareable_ranges = call.is_shareable;
    }
    return result;
}
