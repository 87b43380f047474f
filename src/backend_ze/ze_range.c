/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * ze_range: ranges of addresses, and memory that is mapped into them.
 *
 * Each mapping has a physical object of its own, mapped from its start: Intel's driver maps an object of
 * device memory only once, and takes no offset on devices with several tiles. A tarn_mapping is a
 * tn_ze_physical_mem_handle_t. The driver chooses the page size by the requested size. The granularity is
 * the page size of the largest requests.
 *
 * Intel's driver does not refuse to map over mapped memory, to unmap where nothing is mapped, or to
 * release a range with mappings. So the backend keeps a table of the mappings.
 *
 * A driver may have the calls and still fail to map. So opening the backend tries a range out; if that
 * fails, there are no ranges. If the loader has the call for a file descriptor, opening also tries out
 * shareable memory.
 *
 * The file descriptor belongs to the driver: Intel's gives the same one each time. So the backend copies
 * it and does not close it.
 *
 * Cost: that of the vendor's calls, and moving the later entries of the table. Unmapping first waits as
 * tn_ze_streams_finish does.
 * Threads: any. The device's lock guards the table. It is not held during the vendor's calls.
 */
#include "ze_device.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "../backend_common/operation.h"
#include "../base/arith.h"
#include "../base/host_memory.h"

/* --- the table of mappings --------------------------------------------------------------------- */

/* The index of the first mapping that starts at the address or after it. */
static uint32_t mapping_from_locked(const struct tn_ze_mappings *mappings, uintptr_t address)
{
    uint32_t first = 0, count = mappings->count;
    while (count > 0) {
        uint32_t half = count / 2;
        if (mappings->items[first + half].start < address) {
            first += half + 1;
            count -= half + 1;
        } else {
            count = half;
        }
    }
    return first;
}

static bool is_mapped_locked(const struct tn_ze_mappings *mappings, uintptr_t start,
                             size_t size_bytes)
{
    uint32_t next = mapping_from_locked(mappings, start);
    const struct tn_ze_mapping *items = mappings->items;
    return (next < mappings->count && items[next].start - start < size_bytes) ||
           (next > 0 && start - items[next - 1].start < items[next - 1].size_bytes);
}

static tarn_status mapping_insert_locked(struct tn_ze_mappings *mappings, uintptr_t start,
                                         size_t size_bytes)
{
    if (is_mapped_locked(mappings, start, size_bytes)) return TARN_STATUS_INVALID_ARGUMENT;
    if (!tn_host_memory_grow_array((void **)&mappings->items, &mappings->capacity, mappings->count,
                                   mappings->count + 1, sizeof *mappings->items))
        return TARN_STATUS_OUT_OF_HOST_MEMORY;
    uint32_t place = mapping_from_locked(mappings, start);
    struct tn_ze_mapping *item = &mappings->items[place];
    memmove(item + 1, item, (mappings->count - place) * sizeof *item);
    *item = (struct tn_ze_mapping){ .start = start, .size_bytes = size_bytes };
    mappings->count++;
    return TARN_STATUS_OK;
}

/* Enters the addresses in the table, so that no other thread maps there meanwhile. */
static tarn_status mapping_begin(struct tn_ze_device *device, const void *address,
                                 size_t size_bytes)
{
    tn_mutex_lock(&device->lock);
    tarn_status status = mapping_insert_locked(&device->mappings, (uintptr_t)address, size_bytes);
    tn_mutex_unlock(&device->lock);
    return status;
}

/* Completes the entry with its memory. NULL: removes the entry. */
static void mapping_end(struct tn_ze_device *device, const void *address,
                        tn_ze_physical_mem_handle_t physical)
{
    tn_mutex_lock(&device->lock);
    struct tn_ze_mappings *mappings = &device->mappings;
    uint32_t place = mapping_from_locked(mappings, (uintptr_t)address);
    struct tn_ze_mapping *item = &mappings->items[place];
    item->physical = physical;
    if (!physical) {
        mappings->count--;
        memmove(item, item + 1, (mappings->count - place) * sizeof *item);
    }
    tn_mutex_unlock(&device->lock);
}

/* Claims the mapping with exactly this address, size and memory, so that no other thread unmaps it
 * meanwhile. False: there is no such mapping. */
static bool mapping_take(struct tn_ze_device *device, const void *address, size_t size_bytes,
                         tn_ze_physical_mem_handle_t physical)
{
    tn_mutex_lock(&device->lock);
    const struct tn_ze_mappings *mappings = &device->mappings;
    uint32_t place = mapping_from_locked(mappings, (uintptr_t)address);
    struct tn_ze_mapping *item = place < mappings->count ? &mappings->items[place] : NULL;
    bool is_it = item && item->start == (uintptr_t)address && item->size_bytes == size_bytes &&
                 item->physical == physical && physical;
    if (is_it) item->physical = NULL;
    tn_mutex_unlock(&device->lock);
    return is_it;
}

static bool has_mappings(struct tn_ze_device *device, const void *address, size_t size_bytes)
{
    tn_mutex_lock(&device->lock);
    bool has = is_mapped_locked(&device->mappings, (uintptr_t)address, size_bytes);
    tn_mutex_unlock(&device->lock);
    return has;
}

/* --- reserving --------------------------------------------------------------------------------- */

tarn_backend_result tn_ze_range_reserve(void *state, size_t size_bytes, void **address_out)
{
    const struct tn_ze_device *device = state;
    if (tn_ze_is_over(state)) return tn_ze_refusal(state);
    tarn_status status =
        tn_backend_check_range_reserve(&device->properties, size_bytes, address_out);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);

    void *address = NULL;
    tn_ze_result_t error =
        device->ze.VirtualMemReserve(device->context, NULL, size_bytes, &address);
    if (error == TN_ZE_RESULT_SUCCESS) *address_out = address;
    return tn_ze_result_of_acquire(error, TARN_MEMORY_KIND_PINNED);
}

tarn_backend_result tn_ze_range_release(void *state, void *address, size_t size_bytes)
{
    struct tn_ze_device *device = state;
    if (tn_ze_is_over(state)) return TARN_BACKEND_RESULT_OK;
    tarn_status status = tn_backend_check_range(&device->properties, address, size_bytes);
    if (status == TARN_STATUS_OK && has_mappings(device, address, size_bytes))
        status = TARN_STATUS_INVALID_ARGUMENT;
    if (status != TARN_STATUS_OK) return tn_backend_result(status);
    return tn_ze_return(
        tn_ze_result(device->ze.VirtualMemFree(device->context, address, size_bytes)));
}

/* --- mapping ----------------------------------------------------------------------------------- */

/* Mapping also grants access, so no second call is needed. */
static tn_ze_result_t map_physical(const struct tn_ze_device *device, void *address,
                                   size_t size_bytes, tn_ze_physical_mem_handle_t physical)
{
    tn_ze_result_t error = device->ze.VirtualMemMap(device->context, address, size_bytes, physical,
                                                    0, TN_ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE);
    /* Intel's driver maps first and then makes the memory resident. If the second step fails, the memory
     * stays mapped. */
    if (error != TN_ZE_RESULT_SUCCESS)
        device->ze.VirtualMemUnmap(device->context, address, size_bytes);
    return error;
}

/* Whether the memory can be shared is settled when it is created. */
static tarn_backend_result map(const struct tn_ze_device *device, void *address, size_t size_bytes,
                               bool is_shareable, tn_ze_physical_mem_handle_t *physical_out)
{
    const tn_ze_external_memory_export_desc_t shareable = {
        .stype = TN_ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_DESC,
        .flags = TN_ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD,
    };
    tn_ze_physical_mem_desc_t desc = {
        .stype = TN_ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC,
        .pNext = is_shareable ? &shareable : NULL,
        .size = size_bytes,
    };
    tn_ze_physical_mem_handle_t physical;
    tn_ze_result_t error =
        device->ze.PhysicalMemCreate(device->context, device->handle, &desc, &physical);
    if (error != TN_ZE_RESULT_SUCCESS)
        return tn_ze_result_of_acquire(error, TARN_MEMORY_KIND_DEVICE);
    error = map_physical(device, address, size_bytes, physical);
    if (error != TN_ZE_RESULT_SUCCESS) {
        device->ze.PhysicalMemDestroy(device->context, physical);
        return tn_ze_result(error);
    }
    *physical_out = physical;
    return TARN_BACKEND_RESULT_OK;
}

/* If the memory cannot be destroyed, it is mapped again, so that nothing has changed. */
static tarn_backend_result unmap(const struct tn_ze_device *device, void *address,
                                 size_t size_bytes, tn_ze_physical_mem_handle_t physical)
{
    tn_ze_result_t error = device->ze.VirtualMemUnmap(device->context, address, size_bytes);
    if (error != TN_ZE_RESULT_SUCCESS) return tn_ze_result(error);
    error = device->ze.PhysicalMemDestroy(device->context, physical);
    if (error != TN_ZE_RESULT_SUCCESS) map_physical(device, address, size_bytes, physical);
    return tn_ze_result(error);
}

static tarn_backend_result range_map(struct tn_ze_device *device, void *address, size_t size_bytes,
                                     bool is_shareable, tarn_mapping *mapping_out)
{
    tarn_status status =
        tn_backend_check_range_map(&device->properties, address, size_bytes, mapping_out);
    if (status == TARN_STATUS_OK) status = mapping_begin(device, address, size_bytes);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);

    tn_ze_physical_mem_handle_t physical = NULL;
    tarn_backend_result result = map(device, address, size_bytes, is_shareable, &physical);
    mapping_end(device, address, physical);
    if (result.status == TARN_STATUS_OK) *mapping_out = physical;
    return result;
}

tarn_backend_result tn_ze_range_map(void *state, void *address, size_t size_bytes,
                                    tarn_mapping *mapping_out)
{
    if (tn_ze_is_over(state)) return tn_ze_refusal(state);
    return range_map(state, address, size_bytes, false, mapping_out);
}

tarn_backend_result tn_ze_range_unmap(void *state, void *address, size_t size_bytes,
                                      tarn_mapping mapping)
{
    struct tn_ze_device *device = state;
    if (tn_ze_is_over(state)) return TARN_BACKEND_RESULT_OK;
    tarn_status status = tn_backend_check_range(&device->properties, address, size_bytes);
    if (status == TARN_STATUS_OK && !mapping_take(device, address, size_bytes, mapping))
        status = TARN_STATUS_INVALID_ARGUMENT;
    if (status != TARN_STATUS_OK) return tn_backend_result(status);

    tarn_backend_result result = tn_ze_streams_finish(device);
    if (result.status == TARN_STATUS_OK) result = unmap(device, address, size_bytes, mapping);
    result = tn_ze_return(result);
    mapping_end(device, address, result.status == TARN_STATUS_OK ? NULL : mapping);
    return result;
}

/* --- sharing ----------------------------------------------------------------------------------- */

tarn_backend_result tn_ze_range_map_shareable(void *state, void *address, size_t size_bytes,
                                              tarn_mapping *mapping_out)
{
    struct tn_ze_device *device = state;
    if (tn_ze_is_over(state)) return tn_ze_refusal(state);
    tarn_status status = tn_backend_check_shareable(&device->properties);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);
    return range_map(device, address, size_bytes, true, mapping_out);
}

/* Asks the driver for the file descriptor. A driver that cannot share does not write it. */
static tn_ze_result_t find_descriptor(const struct tn_ze_device *device,
                                      tn_ze_physical_mem_handle_t physical,
                                      int *file_descriptor_out)
{
    tn_ze_external_memory_export_fd_t shared = {
        .stype = TN_ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_FD,
        .flags = TN_ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD,
        .fd = -1,
    };
    tn_ze_physical_mem_properties_t properties = {
        .stype = TN_ZE_STRUCTURE_TYPE_PHYSICAL_MEM_PROPERTIES,
        .pNext = &shared,
    };
    tn_ze_result_t error =
        device->ze.PhysicalMemGetProperties(device->context, physical, &properties);
    if (error == TN_ZE_RESULT_SUCCESS && shared.fd < 0)
        error = TN_ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
    *file_descriptor_out = shared.fd;
    return error;
}

tarn_backend_result tn_ze_range_export(void *state, void *address, size_t size_bytes,
                                       tarn_mapping mapping, int *file_descriptor_out)
{
    const struct tn_ze_device *device = state;
    if (tn_ze_is_over(state)) return tn_ze_refusal(state);
    tarn_status status = tn_backend_check_range_export(&device->properties, address, size_bytes,
                                                       file_descriptor_out);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);
    int file_descriptor;
    tn_ze_result_t error = find_descriptor(device, mapping, &file_descriptor);
    if (error != TN_ZE_RESULT_SUCCESS) return tn_ze_result(error);
    int copy = fcntl(file_descriptor, F_DUPFD_CLOEXEC, 0);
    if (copy < 0) return (tarn_backend_result){ TARN_STATUS_VENDOR_ERROR, errno, "errno" };
    *file_descriptor_out = copy;
    return TARN_BACKEND_RESULT_OK;
}

/* --- whether there are any --------------------------------------------------------------------- */

/* The largest page size of several request sizes, from 1 byte to the largest. 0: the driver does not
 * tell. */
static size_t page_bytes(const struct tn_ze_device *device)
{
    const size_t sizes[] = { 1, device->properties.granularity_bytes,
                             device->properties.allocation_bytes_max };
    size_t largest_bytes = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t bytes = 0;
        tn_ze_result_t error =
            device->ze.VirtualMemQueryPageSize(device->context, device->handle, sizes[i], &bytes);
        if (error != TN_ZE_RESULT_SUCCESS || !tn_is_power_of_two(bytes)) return 0;
        largest_bytes = tn_max(largest_bytes, bytes);
    }
    return largest_bytes;
}

/* Whether memory can be mapped, exported if it is shareable, and unmapped. No work has used it, so this
 * does not wait. Memory that cannot be unmapped is lost with its range. */
static bool can_map(const struct tn_ze_device *device, size_t size_bytes, bool is_shareable)
{
    void *address;
    tn_ze_physical_mem_handle_t physical = NULL;
    int file_descriptor;
    if (device->ze.VirtualMemReserve(device->context, NULL, size_bytes, &address) !=
        TN_ZE_RESULT_SUCCESS)
        return false;
    bool is_mapped =
        map(device, address, size_bytes, is_shareable, &physical).status == TARN_STATUS_OK;
    bool is_good =
        is_mapped && (!is_shareable ||
                      find_descriptor(device, physical, &file_descriptor) == TN_ZE_RESULT_SUCCESS);
    if (is_mapped && unmap(device, address, size_bytes, physical).status != TARN_STATUS_OK)
        return false;
    tn_ze_result_t error = device->ze.VirtualMemFree(device->context, address, size_bytes);
    return is_good && error == TN_ZE_RESULT_SUCCESS;
}

/* Any failure means that there are no ranges, or that they cannot be shared. */
void tn_ze_find_ranges(struct tn_ze_device *device)
{
    if (device->properties.kind != TARN_MEMORY_KIND_DEVICE) return;
    size_t granularity_bytes = page_bytes(device);
    if (granularity_bytes == 0 || !can_map(device, granularity_bytes, false)) return;
    device->properties.range_granularity_bytes = granularity_bytes;
    device->properties.has_shareable_ranges =
        device->ze.PhysicalMemGetProperties && can_map(device, granularity_bytes, true);
}
