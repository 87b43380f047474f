/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * cuda_range: the steps of ranges, by the driver's functions.
 *
 * Only the driver has these calls. If it lacks one of them, there are no ranges.
 */
#include "cuda_device.h"

#include "../backend_common/operation.h"

/* --- what the driver is told ------------------------------------------------------------------- */

static CUdeviceptr pointer_of(const struct tn_runtime_call *call)
{
    return (CUdeviceptr)(uintptr_t)call->address;
}

static CUmemGenericAllocationHandle handle_of(const struct tn_runtime_call *call)
{
    return (CUmemGenericAllocationHandle)(uintptr_t)call->mapping;
}

static CUmemLocation location_of(const struct tn_runtime_device *device)
{
    return (CUmemLocation){ .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device->number };
}

/* Whether the memory can be shared is settled when it is created. */
static CUmemAllocationProp memory_of(const struct tn_runtime_device *device, bool is_shareable)
{
    CUmemAllocationProp memory = {
        .type = CU_MEM_ALLOCATION_TYPE_PINNED, /* the only type there is: it stays on the device */
        .location = location_of(device),
    };
    if (is_shareable) memory.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    return memory;
}

/* --- reserving --------------------------------------------------------------------------------- */

tarn_backend_result tn_runtime_addresses_reserve(struct tn_runtime_call *call)
{
    const struct tn_cuda_driver *driver = tn_cuda_driver_of(call->device);
    CUdeviceptr pointer = 0;
    CUresult error = driver->address_reserve(&pointer, call->size_bytes, 0, 0, 0);
    call->address = (void *)(uintptr_t)pointer;
    return tn_cuda_driver_result(call->device, error);
}

tarn_backend_result tn_runtime_addresses_release(struct tn_runtime_call *call)
{
    const struct tn_cuda_driver *driver = tn_cuda_driver_of(call->device);
    CUresult error = driver->address_free(pointer_of(call), call->size_bytes);
    return tn_cuda_driver_result(call->device, error);
}

/* --- mapping ----------------------------------------------------------------------------------- */

tarn_backend_result tn_runtime_memory_create(struct tn_runtime_call *call)
{
    const struct tn_cuda_driver *driver = tn_cuda_driver_of(call->device);
    CUmemAllocationProp memory = memory_of(call->device, call->is_shareable);
    CUmemGenericAllocationHandle handle = 0;
    CUresult error = driver->create(&handle, call->size_bytes, &memory, 0);
    call->mapping = (tarn_mapping)(uintptr_t)handle;
    return tn_cuda_driver_result(call->device, error);
}

tarn_backend_result tn_runtime_memory_destroy(struct tn_runtime_call *call)
{
    const struct tn_cuda_driver *driver = tn_cuda_driver_of(call->device);
    return tn_cuda_driver_result(call->device, driver->release(handle_of(call)));
}

tarn_backend_result tn_runtime_memory_map(struct tn_runtime_call *call)
{
    const struct tn_cuda_driver *driver = tn_cuda_driver_of(call->device);
    CUmemAccessDesc access = {
        .location = location_of(call->device),
        .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
    };
    CUresult error = driver->map(pointer_of(call), call->size_bytes, 0, handle_of(call), 0);
    if (error != CUDA_SUCCESS) return tn_cuda_driver_result(call->device, error);
    error = driver->set_access(pointer_of(call), call->size_bytes, &access, 1);
    if (error != CUDA_SUCCESS) driver->unmap(pointer_of(call), call->size_bytes);
    return tn_cuda_driver_result(call->device, error);
}

/* First asks whether memory is mapped there: driver 580 answers an unmapping of nothing with success,
 * and crashes when memory that it no longer knows is mapped. */
tarn_backend_result tn_runtime_memory_unmap(struct tn_runtime_call *call)
{
    const struct tn_cuda_driver *driver = tn_cuda_driver_of(call->device);
    CUdeviceptr start;
    CUresult error = driver->get_pointer_attribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                                   pointer_of(call));
    if (error == CUDA_SUCCESS) error = driver->unmap(pointer_of(call), call->size_bytes);
    return tn_cuda_driver_result(call->device, error);
}

tarn_backend_result tn_runtime_memory_export(struct tn_runtime_call *call)
{
    const struct tn_cuda_driver *driver = tn_cuda_driver_of(call->device);
    CUresult error = driver->export_mapping(&call->file_descriptor, handle_of(call),
                                            CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    return tn_cuda_driver_result(call->device, error);
}

/* --- whether there are any --------------------------------------------------------------------- */

static bool has_functions(const struct tn_cuda_driver *driver)
{
    return driver->get_attribute && driver->get_granularity && driver->address_reserve &&
           driver->address_free && driver->create && driver->release && driver->map &&
           driver->unmap && driver->set_access && driver->get_pointer_attribute;
}

/* A driver that is older than the attribute does not know it. */
static CUresult ask_whether_shareable(const struct tn_runtime_device *device,
                                      bool *is_shareable_out)
{
    const struct tn_cuda_driver *driver = tn_cuda_driver_of(device);
    int can_export = 0;
    CUresult error = driver->get_attribute(
        &can_export, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED,
        device->number);
    *is_shareable_out = error == CUDA_SUCCESS && can_export && driver->export_mapping;
    return error == CUDA_ERROR_INVALID_VALUE ? CUDA_SUCCESS : error;
}

static tarn_backend_result make_ask_for_ranges(struct tn_runtime_call *call)
{
    const struct tn_runtime_device *device = call->device;
    const struct tn_cuda_driver *driver = tn_cuda_driver_of(device);
    CUmemAllocationProp memory = memory_of(device, false);
    int has_ranges = 0;
    CUresult error = driver->get_attribute(
        &has_ranges, CU_DEVICE_ATTRIBUTE_VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED, device->number);
    if (error == CUDA_SUCCESS && !has_ranges) error = CUDA_ERROR_NOT_SUPPORTED;
    if (error == CUDA_SUCCESS) {
        error =
            driver->get_granularity(&call->size_bytes, &memory, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    }
    if (error == CUDA_SUCCESS) error = ask_whether_shareable(device, &call->is_shareable);
    return tn_cuda_driver_result(device, error);
}

tarn_backend_result tn_runtime_ask_for_ranges(const struct tn_runtime_device *device,
                                              struct tn_runtime_call *call)
{
    if (!has_functions(tn_cuda_driver_of(device)))
        return tn_backend_result(TARN_STATUS_NOT_SUPPORTED);
    call->make = make_ask_for_ranges;
    return tn_runtime_make(device, call);
}
