/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* vendor_range: ranges of addresses. They are there if the driver has all functions for them and the device says so. */
#include "vendor_backend.h"

#include "backend_common/operation.h"

#define ATTRIBUTE_HAS_RANGES  102 /* CU_DEVICE_ATTRIBUTE_VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED */
#define ATTRIBUTE_RANGE_START 11  /* CU_POINTER_ATTRIBUTE_RANGE_START_ADDR */
#define LOCATION_DEVICE       1
#define ALLOCATION_PINNED     1
#define GRANULARITY_MINIMUM   0
#define ACCESS_READ_WRITE     3

static struct tn_cuda_location location_of(const struct tn_driver_device *device)
{
    return (struct tn_cuda_location){ .type = LOCATION_DEVICE, .number = device->number };
}

static struct tn_cuda_memory memory_of(const struct tn_driver_device *device)
{
    return (struct tn_cuda_memory){ .type = ALLOCATION_PINNED, .location = location_of(device) };
}

size_t tn_driver_range_granularity(const struct tn_driver_device *device)
{
    const struct tn_driver *driver = device->driver;
    struct tn_cuda_memory memory = memory_of(device);
    int has_ranges = 0;
    size_t granularity_bytes = 0;
    if (!driver->get_granularity || !driver->address_reserve || !driver->address_free ||
        !driver->release || !driver->map || !driver->unmap || !driver->set_access ||
        !TN_DRIVER_HAS(driver, cuMemCreate))
        return 0;
    tn_cuda_error error = driver->get_attribute(&has_ranges, ATTRIBUTE_HAS_RANGES, device->number);
    if (error != TN_CUDA_SUCCESS || !has_ranges) return 0;
    error = driver->get_granularity(&granularity_bytes, &memory, GRANULARITY_MINIMUM);
    return error == TN_CUDA_SUCCESS && tn_is_power_of_two(granularity_bytes) ? granularity_bytes
                                                                             : 0;
}

tarn_backend_result tn_driver_range_reserve(void *state, size_t size_bytes, void **address_out)
{
    const struct tn_driver_device *device = state;
    tn_cuda_address address = 0;
    tarn_status status =
        tn_backend_check_range_reserve(&device->properties, size_bytes, address_out);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);
    TN_REFUSE_LATE_TAKE(device);
    tarn_backend_result result =
        TN_VISIT(device, device->driver->address_reserve(&address, size_bytes, 0, 0, 0));
    if (result.status == TARN_STATUS_OK) *address_out = (void *)address;
    return result;
}

tarn_backend_result tn_driver_range_release(void *state, void *address, size_t size_bytes)
{
    const struct tn_driver_device *device = state;
    tarn_status status = tn_backend_check_range(&device->properties, address, size_bytes);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);
    TN_SKIP_LATE_RETURN(device);
    return TN_VISIT(device, device->driver->address_free((tn_cuda_address)address, size_bytes));
}

static tn_cuda_error map(const struct tn_driver_device *device, tn_cuda_address address,
                         size_t size_bytes, uint64_t handle)
{
    const struct tn_driver *driver = device->driver;
    struct tn_cuda_access access = { location_of(device), ACCESS_READ_WRITE };
    tn_cuda_error error = driver->map(address, size_bytes, 0, handle, 0);
    if (error != TN_CUDA_SUCCESS) return error;
    error = driver->set_access(address, size_bytes, &access, 1);
    if (error != TN_CUDA_SUCCESS) (void)driver->unmap(address, size_bytes);
    return error;
}

static tn_cuda_error create_and_map(const struct tn_driver_device *device, tn_cuda_address address,
                                    size_t size_bytes, uint64_t *handle_out)
{
    struct tn_cuda_memory memory = memory_of(device);
    tn_cuda_error error =
        TN_DRIVER_CALL(device->driver, cuMemCreate)(handle_out, size_bytes, &memory, 0);
    if (error != TN_CUDA_SUCCESS) return error;
    error = map(device, address, size_bytes, *handle_out);
    if (error != TN_CUDA_SUCCESS) (void)device->driver->release(*handle_out);
    return error;
}

tarn_backend_result tn_driver_range_map(void *state, void *address, size_t size_bytes,
                                        tarn_mapping *mapping_out)
{
    const struct tn_driver_device *device = state;
    uint64_t handle = 0;
    tarn_status status =
        tn_backend_check_range_map(&device->properties, address, size_bytes, mapping_out);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);
    TN_REFUSE_LATE_TAKE(device);
    tarn_backend_result result =
        TN_VISIT(device, create_and_map(device, (tn_cuda_address)address, size_bytes, &handle));
    if (result.status == TARN_STATUS_OK) *mapping_out = (tarn_mapping)(uintptr_t)handle;
    return result;
}

/* First asks whether memory is mapped there: driver 580 answers an unmapping of nothing with success, and crashes when
 * memory that it no longer knows is mapped. If the memory cannot be released, it is mapped again, so that nothing has
 * changed. */
static tn_cuda_error unmap(const struct tn_driver_device *device, tn_cuda_address address,
                           size_t size_bytes, uint64_t handle)
{
    const struct tn_driver *driver = device->driver;
    tn_cuda_address start;
    tn_cuda_error error = driver->synchronize();
    if (error == TN_CUDA_SUCCESS)
        error = driver->get_pointer_attribute(&start, ATTRIBUTE_RANGE_START, address);
    if (error == TN_CUDA_SUCCESS) error = driver->unmap(address, size_bytes);
    if (error != TN_CUDA_SUCCESS) return error;
    error = driver->release(handle);
    if (error != TN_CUDA_SUCCESS && error != TN_CUDA_INVALID_VALUE)
        (void)map(device, address, size_bytes, handle);
    return error;
}

tarn_backend_result tn_driver_range_unmap(void *state, void *address, size_t size_bytes,
                                          tarn_mapping mapping)
{
    const struct tn_driver_device *device = state;
    tarn_status status = tn_backend_check_range(&device->properties, address, size_bytes);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);
    TN_SKIP_LATE_RETURN(device);
    return TN_VISIT(
        device, unmap(device, (tn_cuda_address)address, size_bytes, (uint64_t)(uintptr_t)mapping));
}
