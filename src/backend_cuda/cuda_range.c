/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * cuda_range: ranges of a CUDA device's addresses, and memory that is mapped into them.
 *
 * Only the driver has these calls, so its functions are asked for while the program runs; where one
 * is missing there are no ranges. A mapping is the driver's handle of one physical allocation. It is
 * kept for as long as the memory is mapped, since it is what other processes would be given.
 *
 * Cost: that of the vendor's calls. Unmapping waits until the device has finished all its work,
 * which the driver's manual does not promise.
 * Threads: any; the driver does the locking.
 */
#include "cuda_device.h"

#include "../backend_common/operation.h"
#include "../base/arith.h"

/* --- what the driver is told ------------------------------------------------------------------- */

static CUdeviceptr pointer_of(const struct tn_cuda_call *call)
{
    return (CUdeviceptr)(uintptr_t)call->address;
}

static CUmemLocation location_of(const struct tn_cuda_device *device)
{
    return (CUmemLocation){ .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device->number };
}

/* How the memory can be shared is settled when it is made. */
static CUmemAllocationProp memory_of(const struct tn_cuda_device *device, bool is_shareable)
{
    CUmemAllocationProp memory = {
        .type = CU_MEM_ALLOCATION_TYPE_PINNED, /* the only type there is: it stays on the device */
        .location = location_of(device),
    };
    if (is_shareable) memory.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    return memory;
}

/* --- reserving --------------------------------------------------------------------------------- */

static tarn_backend_result make_range_reserve(struct tn_cuda_call *call)
{
    CUdeviceptr pointer = 0;
    CUresult error = call->device->driver.address_reserve(&pointer, call->size_bytes, 0, 0, 0);
    call->address = (void *)(uintptr_t)pointer;
    tarn_backend_result result = tn_cuda_driver_result(call->device, error);
    /* The size was checked before, so all that the driver can dislike is that it is so large. */
    if (result.status == TARN_STATUS_INVALID_ARGUMENT) result.status = TARN_STATUS_OUT_OF_MEMORY;
    return result;
}

tarn_backend_result tn_cuda_range_reserve(void *state, size_t size_bytes, void **address_out)
{
    const struct tn_cuda_device *device = state;
    tarn_status status =
        tn_backend_check_range_reserve(&device->properties, size_bytes, address_out);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);
    struct tn_cuda_call call = { .make = make_range_reserve, .size_bytes = size_bytes };
    tarn_backend_result result = tn_cuda_make_take(device, &call);
    if (result.status == TARN_STATUS_OK) *address_out = call.address;
    return result;
}

static tarn_backend_result make_range_release(struct tn_cuda_call *call)
{
    CUresult error = call->device->driver.address_free(pointer_of(call), call->size_bytes);
    return tn_cuda_driver_result(call->device, error);
}

tarn_backend_result tn_cuda_range_release(void *state, void *address, size_t size_bytes)
{
    const struct tn_cuda_device *device = state;
    tarn_status status = tn_backend_check_range(&device->properties, address, size_bytes);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);
    struct tn_cuda_call call = {
        .make = make_range_release,
        .address = address,
        .size_bytes = size_bytes,
    };
    return tn_cuda_make_return(device, &call);
}

/* --- mapping ----------------------------------------------------------------------------------- */

/* Maps memory that is there already. What was done is undone when a later step fails. */
static CUresult map_memory(const struct tn_cuda_call *call)
{
    const struct tn_cuda_driver *driver = &call->device->driver;
    CUmemAccessDesc access = {
        .location = location_of(call->device),
        .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
    };
    CUresult error = driver->map(pointer_of(call), call->size_bytes, 0, call->mapping, 0);
    if (error != CUDA_SUCCESS) return error;
    error = driver->set_access(pointer_of(call), call->size_bytes, &access, 1);
    if (error != CUDA_SUCCESS) driver->unmap(pointer_of(call), call->size_bytes);
    return error;
}

static tarn_backend_result make_range_map(struct tn_cuda_call *call)
{
    const struct tn_cuda_driver *driver = &call->device->driver;
    CUmemAllocationProp memory = memory_of(call->device, call->is_shareable);
    CUresult error = driver->create(&call->mapping, call->size_bytes, &memory, 0);
    if (error != CUDA_SUCCESS) return tn_cuda_driver_result(call->device, error);
    error = map_memory(call);
    if (error != CUDA_SUCCESS) driver->release(call->mapping);
    return tn_cuda_driver_result(call->device, error);
}

static tarn_backend_result range_map(const struct tn_cuda_device *device, void *address,
                                     size_t size_bytes, bool is_shareable,
                                     tarn_mapping *mapping_out)
{
    tarn_status status =
        tn_backend_check_range_map(&device->properties, address, size_bytes, mapping_out);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);
    struct tn_cuda_call call = {
        .make = make_range_map,
        .address = address,
        .size_bytes = size_bytes,
        .is_shareable = is_shareable,
    };
    tarn_backend_result result = tn_cuda_make_take(device, &call);
    if (result.status == TARN_STATUS_OK) *mapping_out = (tarn_mapping)(uintptr_t)call.mapping;
    return result;
}

tarn_backend_result tn_cuda_range_map(void *state, void *address, size_t size_bytes,
                                      tarn_mapping *mapping_out)
{
    return range_map(state, address, size_bytes, false, mapping_out);
}

/* INVALID_VALUE when nothing is mapped there. Asked before each unmapping: driver 580 calls unmapping
 * what is not mapped a success, and dies when memory that it no longer knows is mapped. */
static CUresult check_mapped(const struct tn_cuda_call *call)
{
    CUdeviceptr start;
    return call->device->driver.get_pointer_attribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                                      pointer_of(call));
}

/* When the memory cannot be given back it is mapped again, so that nothing has changed; but not when the
 * mapping is none, which the driver does not survive. */
static tarn_backend_result make_range_unmap(struct tn_cuda_call *call)
{
    const struct tn_cuda_driver *driver = &call->device->driver;
    tarn_backend_result result = tn_cuda_result(cudaDeviceSynchronize());
    if (result.status != TARN_STATUS_OK) return result;
    CUresult error = check_mapped(call);
    if (error == CUDA_SUCCESS) error = driver->unmap(pointer_of(call), call->size_bytes);
    if (error != CUDA_SUCCESS) return tn_cuda_driver_result(call->device, error);
    error = driver->release(call->mapping);
    if (error != CUDA_SUCCESS && error != CUDA_ERROR_INVALID_VALUE) map_memory(call);
    return tn_cuda_driver_result(call->device, error);
}

tarn_backend_result tn_cuda_range_unmap(void *state, void *address, size_t size_bytes,
                                        tarn_mapping mapping)
{
    const struct tn_cuda_device *device = state;
    tarn_status status = tn_backend_check_range(&device->properties, address, size_bytes);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);
    struct tn_cuda_call call = {
        .make = make_range_unmap,
        .address = address,
        .size_bytes = size_bytes,
        .mapping = (CUmemGenericAllocationHandle)(uintptr_t)mapping,
    };
    return tn_cuda_make_return(device, &call);
}

/* --- sharing ----------------------------------------------------------------------------------- */

tarn_backend_result tn_cuda_range_map_shareable(void *state, void *address, size_t size_bytes,
                                                tarn_mapping *mapping_out)
{
    const struct tn_cuda_device *device = state;
    tarn_status status = tn_backend_check_shareable(&device->properties);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);
    return range_map(device, address, size_bytes, true, mapping_out);
}

static tarn_backend_result make_range_export(struct tn_cuda_call *call)
{
    CUresult error = call->device->driver.export_mapping(
        &call->file_descriptor, call->mapping, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    return tn_cuda_driver_result(call->device, error);
}

tarn_backend_result tn_cuda_range_export(void *state, void *address, size_t size_bytes,
                                         tarn_mapping mapping, int *file_descriptor_out)
{
    const struct tn_cuda_device *device = state;
    tarn_status status = tn_backend_check_range_export(&device->properties, address, size_bytes,
                                                       file_descriptor_out);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);
    struct tn_cuda_call call = {
        .make = make_range_export,
        .mapping = (CUmemGenericAllocationHandle)(uintptr_t)mapping,
    };
    tarn_backend_result result = tn_cuda_make_take(device, &call);
    if (result.status == TARN_STATUS_OK) *file_descriptor_out = call.file_descriptor;
    return result;
}

/* --- whether there are any --------------------------------------------------------------------- */

static bool has_functions(const struct tn_cuda_driver *driver)
{
    return driver->get_attribute && driver->get_granularity && driver->address_reserve &&
           driver->address_free && driver->create && driver->release && driver->map &&
           driver->unmap && driver->set_access && driver->get_pointer_attribute;
}

/* A driver that is older than the question does not know it. */
static CUresult ask_whether_shareable(const struct tn_cuda_device *device, bool *is_shareable_out)
{
    int can_export = 0;
    CUresult error = device->driver.get_attribute(
        &can_export, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED,
        device->number);
    *is_shareable_out = error == CUDA_SUCCESS && can_export && device->driver.export_mapping;
    return error == CUDA_ERROR_INVALID_VALUE ? CUDA_SUCCESS : error;
}

static tarn_backend_result make_find_ranges(struct tn_cuda_call *call)
{
    const struct tn_cuda_device *device = call->device;
    CUmemAllocationProp memory = memory_of(device, false);
    int has_ranges = 0;
    CUresult error = device->driver.get_attribute(
        &has_ranges, CU_DEVICE_ATTRIBUTE_VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED, device->number);
    if (error == CUDA_SUCCESS && !has_ranges) error = CUDA_ERROR_NOT_SUPPORTED;
    if (error == CUDA_SUCCESS) {
        error = device->driver.get_granularity(&call->size_bytes, &memory,
                                               CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    }
    if (error == CUDA_SUCCESS) error = ask_whether_shareable(device, &call->is_shareable);
    return tn_cuda_driver_result(device, error);
}

/* That there are none is no failure. */
tarn_backend_result tn_cuda_find_ranges(struct tn_cuda_device *device)
{
    if (device->properties.kind != TARN_MEMORY_KIND_DEVICE || !has_functions(&device->driver))
        return TARN_BACKEND_RESULT_OK;
    struct tn_cuda_call call = { .make = make_find_ranges };
    tarn_backend_result result = tn_cuda_make(device, &call);
    if (result.status == TARN_STATUS_NOT_SUPPORTED) return TARN_BACKEND_RESULT_OK;
    if (result.status == TARN_STATUS_OK && tn_is_power_of_two(call.size_bytes)) {
        device->properties.range_granularity_bytes = call.size_bytes;
        device->properties.has_shareable_ranges = call.is_shareable;
    }
    return result;
}
