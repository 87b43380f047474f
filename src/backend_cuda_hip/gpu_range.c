/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * gpu_range: ranges of one CUDA or HIP device's addresses, and memory that is mapped into them. If the vendor's library
 * lacks one of the functions for it, there are no ranges.
 *
 * A mapping is the vendor's handle of one physical allocation. It is kept as long as the memory is mapped, since exporting
 * the memory needs it. Access is set for exactly the piece that one call mapped, since HIP refuses it for parts.
 *
 * Ranges also cost the process other things than device memory: reserved addresses take host memory, and with HIP each
 * mapping may take a file descriptor, often one of at most 1024. So a few large mappings are better than many small ones.
 *
 * Cost: that of the vendor's calls. Unmapping first waits until the context has finished all its work, which the manuals do
 * not promise; unmapping memory whose work is done waits for nothing.
 * Threads: any; the vendor does the locking.
 */
#include "gpu_device.h"

#include "../backend_common/operation.h"
#include "../base/arith.h"

#define ATTRIBUTE_RANGE_START     11
#define LOCATION_DEVICE           1
#define ALLOCATION_PINNED         1 /* it stays on the device */
#define ACCESS_READ_WRITE         3
#define HANDLE_IS_FILE_DESCRIPTOR 1

/* --- what the vendor is told ------------------------------------------------------------------- */

static struct tn_gpu_location location_of(const struct tn_gpu_device *device)
{
    return (struct tn_gpu_location){ .type = LOCATION_DEVICE, .number = device->number };
}

/* Whether the memory can be shared is settled when it is created. */
static struct tn_gpu_memory memory_of(const struct tn_gpu_device *device, bool is_shareable)
{
    struct tn_gpu_memory memory = { .type = ALLOCATION_PINNED, .location = location_of(device) };
    if (is_shareable) memory.handle_types = HANDLE_IS_FILE_DESCRIPTOR;
    memory.flags[1] = device->has_rdma;
    return memory;
}

static uint64_t handle_of(tarn_mapping mapping)
{
    return (uint64_t)(uintptr_t)mapping;
}

/* --- reserving --------------------------------------------------------------------------------- */

static tn_gpu_error reserve(const struct tn_gpu_device *device, size_t size_bytes,
                            tn_gpu_address *address_out)
{
    const struct tn_gpu_table *table = device->table;
    size_t alignment_bytes =
        table->vendor->aligns_reservations ? 0 : device->properties.range_granularity_bytes;
    return table->address_reserve(address_out, size_bytes, alignment_bytes, 0, 0);
}

tarn_backend_result tn_gpu_range_reserve(void *state, size_t size_bytes, void **address_out)
{
    const struct tn_gpu_device *device = state;
    tn_gpu_address address = 0;
    tarn_status status =
        tn_backend_check_range_reserve(&device->properties, size_bytes, address_out);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);
    struct tn_gpu_visit visit = tn_gpu_begin(device, TN_GPU_TAKE);
    if (visit.may_call) visit.error = reserve(device, size_bytes, &address);
    tarn_backend_result result = tn_gpu_end(&visit);
    if (result.status == TARN_STATUS_OK) *address_out = (void *)address;
    /* The size was checked before, so the vendor can only find it too large. */
    if (result.status == TARN_STATUS_INVALID_ARGUMENT) result.status = TARN_STATUS_OUT_OF_MEMORY;
    return result;
}

tarn_backend_result tn_gpu_range_release(void *state, void *address, size_t size_bytes)
{
    const struct tn_gpu_device *device = state;
    tarn_status status = tn_backend_check_range(&device->properties, address, size_bytes);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);
    struct tn_gpu_visit visit = tn_gpu_begin(device, TN_GPU_GIVE);
    if (visit.may_call)
        visit.error = device->table->address_free((tn_gpu_address)address, size_bytes);
    return tn_gpu_end(&visit);
}

/* --- mapping ----------------------------------------------------------------------------------- */

tn_gpu_error tn_gpu_create_memory(const struct tn_gpu_device *device, size_t size_bytes,
                                  bool is_shareable, uint64_t *handle_out)
{
    struct tn_gpu_memory memory = memory_of(device, is_shareable);
    return device->table->create_memory(handle_out, size_bytes, &memory, 0);
}

/* INVALID_VALUE if nothing is mapped there. */
static tn_gpu_error check_mapped(const struct tn_gpu_table *table, tn_gpu_address address)
{
    tn_gpu_address start;
    return table->get_pointer_attribute(&start, ATTRIBUTE_RANGE_START, address);
}

/* Maps the memory and lets the device use it. On failure nothing is mapped. HIP's runtimes up to 6.3 at least answer a
 * mapping that failed for want of file descriptors with success, so that only setting the access fails. */
static tn_gpu_error map(const struct tn_gpu_device *device, tn_gpu_address address,
                        size_t size_bytes, uint64_t handle)
{
    const struct tn_gpu_table *table = device->table;
    struct tn_gpu_access access = { location_of(device), ACCESS_READ_WRITE };
    tn_gpu_error error = table->map(address, size_bytes, 0, handle, 0);
    if (error != TN_ERROR_SUCCESS) return error;
    error = table->set_access(address, size_bytes, &access, 1);
    if (error == TN_ERROR_SUCCESS) return error;
    tn_gpu_error found =
        table->vendor->may_unmap_nothing ? TN_ERROR_SUCCESS : check_mapped(table, address);
    if (found == TN_ERROR_SUCCESS) (void)table->unmap(address, size_bytes);
    return found == TN_ERROR_INVALID_VALUE ? TN_ERROR_MAP_FAILED : error;
}

static tn_gpu_error create_and_map(const struct tn_gpu_device *device, tn_gpu_address address,
                                   size_t size_bytes, bool is_shareable, uint64_t *handle_out)
{
    tn_gpu_error error = tn_gpu_create_memory(device, size_bytes, is_shareable, handle_out);
    if (error != TN_ERROR_SUCCESS) return error;
    error = map(device, address, size_bytes, *handle_out);
    if (error != TN_ERROR_SUCCESS) (void)device->table->release(*handle_out);
    return error;
}

static tarn_backend_result range_map(const struct tn_gpu_device *device, void *address,
                                     size_t size_bytes, bool is_shareable,
                                     tarn_mapping *mapping_out)
{
    uint64_t handle = 0;
    tarn_status status =
        tn_backend_check_range_map(&device->properties, address, size_bytes, mapping_out);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);
    struct tn_gpu_visit visit = tn_gpu_begin(device, TN_GPU_TAKE);
    if (visit.may_call)
        visit.error =
            create_and_map(device, (tn_gpu_address)address, size_bytes, is_shareable, &handle);
    tarn_backend_result result = tn_gpu_end(&visit);
    if (result.status == TARN_STATUS_OK) *mapping_out = (tarn_mapping)(uintptr_t)handle;
    return result;
}

tarn_backend_result tn_gpu_range_map(void *state, void *address, size_t size_bytes,
                                     tarn_mapping *mapping_out)
{
    return range_map(state, address, size_bytes, false, mapping_out);
}

/* First asks whether memory is mapped there: CUDA's driver 580 answers an unmapping of nothing with success, and crashes when
 * memory that it no longer knows is mapped; HIP's runtimes up to 6.3 at least crash at once. If the memory cannot be
 * released, it is mapped again, so that nothing has changed; but not if the vendor does not know it. */
static tn_gpu_error unmap(const struct tn_gpu_device *device, tn_gpu_address address,
                          size_t size_bytes, uint64_t handle)
{
    const struct tn_gpu_table *table = device->table;
    tn_gpu_error error = check_mapped(table, address);
    if (error == TN_ERROR_SUCCESS) error = table->unmap(address, size_bytes);
    if (error != TN_ERROR_SUCCESS) return error;
    error = table->release(handle);
    if (error != TN_ERROR_SUCCESS && error != TN_ERROR_INVALID_VALUE)
        (void)map(device, address, size_bytes, handle);
    return error;
}

static tarn_backend_result range_unmap(const struct tn_gpu_device *device, void *address,
                                       size_t size_bytes, tarn_mapping mapping, bool waits)
{
    tarn_status status = tn_backend_check_range(&device->properties, address, size_bytes);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);
    struct tn_gpu_visit visit = tn_gpu_begin(device, TN_GPU_GIVE);
    if (visit.may_call && waits) visit.error = device->table->synchronize();
    if (visit.may_call && visit.error == TN_ERROR_SUCCESS)
        visit.error = unmap(device, (tn_gpu_address)address, size_bytes, handle_of(mapping));
    return tn_gpu_end(&visit);
}

tarn_backend_result tn_gpu_range_unmap(void *state, void *address, size_t size_bytes,
                                       tarn_mapping mapping)
{
    return range_unmap(state, address, size_bytes, mapping, true);
}

tarn_backend_result tn_gpu_range_unmap_idle(void *state, void *address, size_t size_bytes,
                                            tarn_mapping mapping)
{
    return range_unmap(state, address, size_bytes, mapping, false);
}

/* --- sharing ----------------------------------------------------------------------------------- */

tarn_backend_result tn_gpu_range_map_shareable(void *state, void *address, size_t size_bytes,
                                               tarn_mapping *mapping_out)
{
    const struct tn_gpu_device *device = state;
    tarn_status status = tn_backend_check_shareable(&device->properties);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);
    return range_map(device, address, size_bytes, true, mapping_out);
}

tn_gpu_error tn_gpu_export_memory(const struct tn_gpu_table *table, uint64_t handle,
                                  int *file_descriptor_out)
{
    return table->export_memory(file_descriptor_out, handle, HANDLE_IS_FILE_DESCRIPTOR, 0);
}

tarn_backend_result tn_gpu_range_export(void *state, void *address, size_t size_bytes,
                                        tarn_mapping mapping, int *file_descriptor_out)
{
    const struct tn_gpu_device *device = state;
    int file_descriptor = -1;
    tarn_status status = tn_backend_check_range_export(&device->properties, address, size_bytes,
                                                       file_descriptor_out);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);
    struct tn_gpu_visit visit = tn_gpu_begin(device, TN_GPU_TAKE);
    if (visit.may_call)
        visit.error = tn_gpu_export_memory(device->table, handle_of(mapping), &file_descriptor);
    tarn_backend_result result = tn_gpu_end(&visit);
    if (result.status == TARN_STATUS_OK) *file_descriptor_out = file_descriptor;
    return result;
}

/* --- whether there are any --------------------------------------------------------------------- */

static bool has_functions(const struct tn_gpu_table *table)
{
    return table->get_granularity && table->address_reserve && table->address_free &&
           table->create_memory && table->release && table->map && table->unmap &&
           table->set_access && table->get_pointer_attribute;
}

tn_gpu_error tn_gpu_find_ranges(struct tn_gpu_device *device)
{
    const struct tn_gpu_table *table = device->table;
    const struct tn_gpu_vendor *vendor = table->vendor;
    bool has_ranges = false;
    size_t granularity_bytes = 0;
    if (!has_functions(table)) return TN_ERROR_SUCCESS;
    tn_gpu_error error = tn_gpu_ask(table, vendor->has_ranges, device->number, &has_ranges);
    if (error == TN_ERROR_SUCCESS && has_ranges)
        error = tn_gpu_ask(table, vendor->has_rdma, device->number, &device->has_rdma);
    if (error != TN_ERROR_SUCCESS || !has_ranges) return error;
    struct tn_gpu_memory memory = memory_of(device, false);
    error = table->get_granularity(&granularity_bytes, &memory, vendor->granularity);
    if (error == TN_ERROR_NOT_SUPPORTED) (void)table->vendor->take_error(table, error);
    if (error == TN_ERROR_NOT_SUPPORTED) return TN_ERROR_SUCCESS;
    if (error != TN_ERROR_SUCCESS || !tn_is_power_of_two(granularity_bytes)) return error;
    device->properties.range_granularity_bytes = granularity_bytes;
    if (!table->export_memory) return TN_ERROR_SUCCESS;
    return vendor->find_sharing(device, granularity_bytes,
                                &device->properties.has_shareable_ranges);
}
