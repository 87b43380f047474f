/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* vendor_range: ranges of addresses. They are there if the vendor has all functions for them and the device says so. */
#include "vendor_backend.h"

#include "backend_common/operation.h"

#define ATTRIBUTE_RANGE_START \
    11 /* CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR */
#define LOCATION_DEVICE   1
#define ALLOCATION_PINNED 1
#define ACCESS_READ_WRITE 3

static struct tn_vendor_location location_of(const struct tn_vendor_device *device)
{
    return (struct tn_vendor_location){ .type = LOCATION_DEVICE, .number = device->number };
}

static struct tn_vendor_memory memory_of(const struct tn_vendor_device *device)
{
    return (struct tn_vendor_memory){ .type = ALLOCATION_PINNED, .location = location_of(device) };
}

size_t tn_vendor_range_granularity(const struct tn_vendor_device *device)
{
    const struct tn_vendor *vendor = device->vendor;
    struct tn_vendor_memory memory = memory_of(device);
    int has_ranges = 0;
    size_t granularity_bytes = 0;
    if (!vendor->get_granularity || !vendor->address_reserve || !vendor->address_free ||
        !vendor->release || !vendor->map || !vendor->unmap || !vendor->set_access ||
        !vendor->get_pointer_attribute || !TN_VENDOR_HAS(vendor, create_memory))
        return 0;
    tn_vendor_error error =
        vendor->get_attribute(&has_ranges, TN_ATTRIBUTE_HAS_RANGES, device->number);
    if (error != TN_ERROR_SUCCESS || !has_ranges) return 0;
    error = vendor->get_granularity(&granularity_bytes, &memory, TN_GRANULARITY);
    return error == TN_ERROR_SUCCESS && tn_is_power_of_two(granularity_bytes) ? granularity_bytes
                                                                              : 0;
}

tarn_backend_result tn_vendor_range_reserve(void *state, size_t size_bytes, void **address_out)
{
    const struct tn_vendor_device *device = state;
    tn_vendor_address address = 0;
    tarn_status status =
        tn_backend_check_range_reserve(&device->properties, size_bytes, address_out);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);
    TN_REFUSE_LATE_TAKE(device);
    tarn_backend_result result = TN_VISIT(
        device, MEMORY,
        device->vendor->address_reserve(&address, size_bytes, TN_RESERVE_ALIGNMENT(device), 0, 0));
    if (result.status == TARN_STATUS_OK) *address_out = (void *)address;
    return result;
}

tarn_backend_result tn_vendor_range_release(void *state, void *address, size_t size_bytes)
{
    const struct tn_vendor_device *device = state;
    tarn_status status = tn_backend_check_range(&device->properties, address, size_bytes);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);
    TN_SKIP_LATE_RETURN(device);
    return TN_VISIT(device, MEMORY,
                    device->vendor->address_free((tn_vendor_address)address, size_bytes));
}

/* Asked before an unmapping: CUDA's driver 580 answers an unmapping of nothing with success, and crashes when memory
 * that it no longer knows is mapped. HIP's runtime crashes at once. */
static tn_vendor_error check_mapped(const struct tn_vendor *vendor, tn_vendor_address address)
{
    tn_vendor_address start;
    return vendor->get_pointer_attribute(&start, ATTRIBUTE_RANGE_START, address);
}

static tn_vendor_error map(const struct tn_vendor_device *device, tn_vendor_address address,
                           size_t size_bytes, uint64_t handle)
{
    const struct tn_vendor *vendor = device->vendor;
    struct tn_vendor_access access = { location_of(device), ACCESS_READ_WRITE };
    tn_vendor_error error = vendor->map(address, size_bytes, 0, handle, 0);
    if (error != TN_ERROR_SUCCESS) return error;
    error = vendor->set_access(address, size_bytes, &access, 1);
    if (error != TN_ERROR_SUCCESS &&
        (TN_MAY_UNMAP_NOTHING || check_mapped(vendor, address) == TN_ERROR_SUCCESS))
        (void)vendor->unmap(address, size_bytes);
    return error;
}

static tn_vendor_error create_and_map(const struct tn_vendor_device *device,
                                      tn_vendor_address address, size_t size_bytes,
                                      uint64_t *handle_out)
{
    struct tn_vendor_memory memory = memory_of(device);
    tn_vendor_error error =
        TN_VENDOR_CALL(device->vendor, create_memory)(handle_out, size_bytes, &memory, 0);
    if (error != TN_ERROR_SUCCESS) return error;
    error = map(device, address, size_bytes, *handle_out);
    if (error != TN_ERROR_SUCCESS) (void)device->vendor->release(*handle_out);
    return error;
}

tarn_backend_result tn_vendor_range_map(void *state, void *address, size_t size_bytes,
                                        tarn_mapping *mapping_out)
{
    const struct tn_vendor_device *device = state;
    uint64_t handle = 0;
    tarn_status status =
        tn_backend_check_range_map(&device->properties, address, size_bytes, mapping_out);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);
    TN_REFUSE_LATE_TAKE(device);
    tarn_backend_result result = TN_VISIT(
        device, MEMORY, create_and_map(device, (tn_vendor_address)address, size_bytes, &handle));
    if (result.status == TARN_STATUS_OK) *mapping_out = (tarn_mapping)(uintptr_t)handle;
    return result;
}

/* If the memory cannot be released, it is mapped again, so that nothing has changed. */
static tn_vendor_error unmap(const struct tn_vendor_device *device, tn_vendor_address address,
                             size_t size_bytes, uint64_t handle)
{
    const struct tn_vendor *vendor = device->vendor;
    tn_vendor_error error = vendor->synchronize();
    if (error == TN_ERROR_SUCCESS) error = check_mapped(vendor, address);
    if (error == TN_ERROR_SUCCESS) error = vendor->unmap(address, size_bytes);
    if (error != TN_ERROR_SUCCESS) return error;
    error = vendor->release(handle);
    if (error != TN_ERROR_SUCCESS && error != TN_ERROR_INVALID_VALUE)
        (void)map(device, address, size_bytes, handle);
    return error;
}

tarn_backend_result tn_vendor_range_unmap(void *state, void *address, size_t size_bytes,
                                          tarn_mapping mapping)
{
    const struct tn_vendor_device *device = state;
    tarn_status status = tn_backend_check_range(&device->properties, address, size_bytes);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);
    TN_SKIP_LATE_RETURN(device);
    return TN_VISIT(
        device, MEMORY,
        unmap(device, (tn_vendor_address)address, size_bytes, (uint64_t)(uintptr_t)mapping));
}
