/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * ze_range: addresses that are reserved first, and memory that is mapped into them piece by piece.
 *
 * Each mapping has a physical object of its own, mapped from its start: Intel's driver maps an object of
 * device memory once, and takes no offset on devices of several tiles. A tarn_mapping is a
 * ze_physical_mem_handle_t. Pages are as large as the size that is asked for makes them, so the
 * granularity is what the largest sizes have.
 *
 * Not every driver that has the calls can map, and one that cannot says so late. So a range is tried out
 * when the backend is opened, and a driver that fails has none.
 *
 * Cost: that of the vendor's calls. Unmap waits until the work is done that the backend can wait for.
 * Threads: any; the vendor does the locking.
 */
#include "ze_device.h"

#include "../backend_common/operation.h"
#include "../base/arith.h"

/* --- reserving --------------------------------------------------------------------------------- */

tarn_backend_result tn_ze_range_reserve(void *state, size_t size_bytes, void **address_out)
{
    const struct tn_ze_device *device = state;
    tarn_status status =
        tn_backend_check_range_reserve(&device->properties, size_bytes, address_out);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);

    void *address = NULL;
    ze_result_t error = zeVirtualMemReserve(device->context, NULL, size_bytes, &address);
    if (error == ZE_RESULT_SUCCESS) *address_out = address;
    return tn_ze_result_of_acquire(error, TARN_MEMORY_KIND_PINNED);
}

tarn_backend_result tn_ze_range_release(void *state, void *address, size_t size_bytes)
{
    const struct tn_ze_device *device = state;
    tarn_status status = tn_backend_check_range(&device->properties, address, size_bytes);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);
    return tn_ze_return(tn_ze_result(zeVirtualMemFree(device->context, address, size_bytes)));
}

/* --- mapping ----------------------------------------------------------------------------------- */

/* The access that is given here needs no second call. */
static ze_result_t map_physical(const struct tn_ze_device *device, void *address, size_t size_bytes,
                                ze_physical_mem_handle_t physical)
{
    ze_result_t error = zeVirtualMemMap(device->context, address, size_bytes, physical, 0,
                                        ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE);
    /* Intel's driver maps first, then makes the memory resident, and when the second fails the first
     * stays. But an argument that it refuses may mean that something else is mapped there. */
    if (error != ZE_RESULT_SUCCESS && tn_ze_result(error).status != TARN_STATUS_INVALID_ARGUMENT)
        zeVirtualMemUnmap(device->context, address, size_bytes);
    return error;
}

static tarn_backend_result map(const struct tn_ze_device *device, void *address, size_t size_bytes,
                               ze_physical_mem_handle_t *physical_out)
{
    ze_physical_mem_desc_t desc = {
        .stype = ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC,
        .size = size_bytes,
    };
    ze_physical_mem_handle_t physical;
    ze_result_t error = zePhysicalMemCreate(device->context, device->handle, &desc, &physical);
    if (error != ZE_RESULT_SUCCESS) return tn_ze_result_of_acquire(error, TARN_MEMORY_KIND_DEVICE);
    error = map_physical(device, address, size_bytes, physical);
    if (error != ZE_RESULT_SUCCESS) {
        zePhysicalMemDestroy(device->context, physical);
        return tn_ze_result(error);
    }
    *physical_out = physical;
    return TARN_BACKEND_RESULT_OK;
}

/* Asked before each unmapping: Intel's driver calls unmapping what is not mapped a success, and then
 * the memory would be destroyed that is mapped elsewhere, or was destroyed before. */
static tarn_backend_result check_mapped(const struct tn_ze_device *device, const void *address)
{
    ze_memory_allocation_properties_t properties = {
        .stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES,
    };
    ze_result_t error = zeMemGetAllocProperties(device->context, address, &properties, NULL);
    if (error != ZE_RESULT_SUCCESS) return tn_ze_result(error);
    bool is_mapped = properties.type != ZE_MEMORY_TYPE_UNKNOWN;
    return tn_backend_result(is_mapped ? TARN_STATUS_OK : TARN_STATUS_INVALID_ARGUMENT);
}

/* When the memory cannot be given back it is mapped again, so that nothing has changed. */
static tarn_backend_result unmap(const struct tn_ze_device *device, void *address,
                                 size_t size_bytes, ze_physical_mem_handle_t physical)
{
    ze_result_t error = zeVirtualMemUnmap(device->context, address, size_bytes);
    if (error != ZE_RESULT_SUCCESS) return tn_ze_result(error);
    error = zePhysicalMemDestroy(device->context, physical);
    if (error != ZE_RESULT_SUCCESS) map_physical(device, address, size_bytes, physical);
    return tn_ze_result(error);
}

tarn_backend_result tn_ze_range_map(void *state, void *address, size_t size_bytes,
                                    tarn_mapping *mapping_out)
{
    const struct tn_ze_device *device = state;
    tarn_status status =
        tn_backend_check_range_map(&device->properties, address, size_bytes, mapping_out);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);

    ze_physical_mem_handle_t physical = NULL;
    tarn_backend_result result = map(device, address, size_bytes, &physical);
    if (result.status == TARN_STATUS_OK) *mapping_out = physical;
    return result;
}

tarn_backend_result tn_ze_range_unmap(void *state, void *address, size_t size_bytes,
                                      tarn_mapping mapping)
{
    struct tn_ze_device *device = state;
    tarn_status status = tn_backend_check_range(&device->properties, address, size_bytes);
    if (status == TARN_STATUS_OK && !mapping) status = TARN_STATUS_INVALID_ARGUMENT;
    if (status != TARN_STATUS_OK) return tn_backend_result(status);

    tarn_backend_result result = tn_ze_streams_finish(device);
    if (result.status == TARN_STATUS_OK) result = check_mapped(device, address);
    if (result.status == TARN_STATUS_OK) result = unmap(device, address, size_bytes, mapping);
    return tn_ze_return(result);
}

/* --- whether there are any --------------------------------------------------------------------- */

/* Of the smallest and the largest sizes that may be asked for; 0 when the driver does not tell. */
static size_t page_bytes(const struct tn_ze_device *device)
{
    const size_t sizes[] = { 1, device->properties.granularity_bytes,
                             device->properties.allocation_bytes_max };
    size_t largest_bytes = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t bytes = 0;
        ze_result_t error =
            zeVirtualMemQueryPageSize(device->context, device->handle, sizes[i], &bytes);
        if (error != ZE_RESULT_SUCCESS || !tn_is_power_of_two(bytes)) return 0;
        largest_bytes = tn_max(largest_bytes, bytes);
    }
    return largest_bytes;
}

/* Whether memory can be mapped and unmapped again. Nothing has worked on it, so nothing is waited for. */
static bool can_map(const struct tn_ze_device *device, size_t size_bytes)
{
    void *address;
    ze_physical_mem_handle_t physical = NULL;
    if (zeVirtualMemReserve(device->context, NULL, size_bytes, &address) != ZE_RESULT_SUCCESS)
        return false;
    bool is_good = map(device, address, size_bytes, &physical).status == TARN_STATUS_OK &&
                   unmap(device, address, size_bytes, physical).status == TARN_STATUS_OK;
    return zeVirtualMemFree(device->context, address, size_bytes) == ZE_RESULT_SUCCESS && is_good;
}

/* Whatever goes wrong here says that there are none. */
size_t tn_ze_range_granularity(const struct tn_ze_device *device)
{
    if (device->properties.kind != TARN_MEMORY_KIND_DEVICE) return 0;
    size_t granularity_bytes = page_bytes(device);
    return granularity_bytes != 0 && can_map(device, granularity_bytes) ? granularity_bytes : 0;
}
