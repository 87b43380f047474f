/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * hip_range: ranges of a HIP device's addresses, and memory that is mapped into them.
 *
 * A mapping is the runtime's handle of one physical allocation. It is kept for as long as the memory
 * is mapped, since it is what other processes would be given. Access is set for exactly what one call
 * mapped, since runtimes refuse it for parts.
 *
 * A process pays for ranges in what is not its device's memory: reserved addresses take host memory,
 * and each mapping may take a file descriptor, of which there are often no more than 1024. So few
 * large mappings are better than many small ones.
 *
 * No attribute tells whether memory can be shared: ROCm 5 refuses to make such memory, and versions between make it
 * and may fail to export it. So that is tried out when the backend is opened.
 *
 * Cost: that of the vendor's calls. Unmapping waits until the device has finished all its work.
 * Threads: any; the runtime does the locking.
 */
#include "hip_device.h"

#include <unistd.h>

#include "../backend_common/operation.h"
#include "../base/arith.h"

/* The question whether a device has ranges has this number in every version. 5.2 had the calls and no
 * name for it; its runtime answers that it does not know the question, so there are none. */
#if HIP_VERSION_MAJOR == 5 && HIP_VERSION_MINOR < 3
#define ATTRIBUTE_HAS_RANGES ((hipDeviceAttribute_t)(hipDeviceAttributeMemoryPoolsSupported + 1))
#else
#define ATTRIBUTE_HAS_RANGES hipDeviceAttributeVirtualMemoryManagementSupported
#endif

/* --- what the runtime is told ------------------------------------------------------------------ */

static hipMemLocation location_of(const struct tn_hip_device *device)
{
    return (hipMemLocation){ .type = hipMemLocationTypeDevice, .id = device->number };
}

/* How the memory can be shared is settled when it is made. */
static hipMemAllocationProp memory_of(const struct tn_hip_device *device, bool is_shareable)
{
    hipMemAllocationProp memory = {
        .type = hipMemAllocationTypePinned, /* it stays on the device */
        .location = location_of(device),
    };
    if (is_shareable) memory.requestedHandleType = hipMemHandleTypePosixFileDescriptor;
    return memory;
}

/* --- reserving --------------------------------------------------------------------------------- */

/* The alignment has to be said: without, it may be that of the smaller granularity where there are two,
 * or of a page. */
static tarn_backend_result make_range_reserve(struct tn_hip_call *call)
{
    size_t alignment_bytes = call->device->properties.range_granularity_bytes;
    tarn_backend_result result = tn_hip_result(
        hipMemAddressReserve(&call->address, call->size_bytes, alignment_bytes, NULL, 0));
    /* The size was checked before, so all that the runtime can dislike is that it is so large. */
    if (result.status == TARN_STATUS_INVALID_ARGUMENT) result.status = TARN_STATUS_OUT_OF_MEMORY;
    return result;
}

tarn_backend_result tn_hip_range_reserve(void *state, size_t size_bytes, void **address_out)
{
    const struct tn_hip_device *device = state;
    tarn_status status =
        tn_backend_check_range_reserve(&device->properties, size_bytes, address_out);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);
    struct tn_hip_call call = { .make = make_range_reserve, .size_bytes = size_bytes };
    tarn_backend_result result = tn_hip_make_take(device, &call);
    if (result.status == TARN_STATUS_OK) *address_out = call.address;
    return result;
}

static tarn_backend_result make_range_release(struct tn_hip_call *call)
{
    return tn_hip_result(hipMemAddressFree(call->address, call->size_bytes));
}

tarn_backend_result tn_hip_range_release(void *state, void *address, size_t size_bytes)
{
    const struct tn_hip_device *device = state;
    tarn_status status = tn_backend_check_range(&device->properties, address, size_bytes);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);
    struct tn_hip_call call = {
        .make = make_range_release,
        .address = address,
        .size_bytes = size_bytes,
    };
    return tn_hip_make_return(device, &call);
}

/* --- mapping ----------------------------------------------------------------------------------- */

/* InvalidValue when nothing is mapped there. Asked before each unmapping, since runtimes up to 6.3 at
 * least crash on that; and they answer a hipMemMap that failed, for want of file descriptors, with
 * success, so that only setting the access fails. */
static hipError_t check_mapped(const void *address)
{
    hipPointerAttribute_t attributes;
    return hipPointerGetAttributes(&attributes, address);
}

/* Maps memory that is there already. What was done is undone when a later step fails. */
static hipError_t map_memory(const struct tn_hip_call *call)
{
    hipMemAccessDesc access = {
        .location = location_of(call->device),
        .flags = hipMemAccessFlagsProtReadWrite,
    };
    hipError_t error = hipMemMap(call->address, call->size_bytes, 0, call->mapping, 0);
    if (error != hipSuccess) return error;
    error = hipMemSetAccess(call->address, call->size_bytes, &access, 1);
    if (error == hipSuccess) return hipSuccess;
    hipError_t found = check_mapped(call->address);
    if (found == hipSuccess) (void)hipMemUnmap(call->address, call->size_bytes);
    return found == hipErrorInvalidValue ? hipErrorMapFailed : error;
}

static tarn_backend_result make_range_map(struct tn_hip_call *call)
{
    hipMemAllocationProp memory = memory_of(call->device, call->is_shareable);
    hipError_t error = hipMemCreate(&call->mapping, call->size_bytes, &memory, 0);
    if (error != hipSuccess) return tn_hip_result(error);
    error = map_memory(call);
    if (error != hipSuccess) (void)hipMemRelease(call->mapping);
    return tn_hip_result(error);
}

static tarn_backend_result range_map(const struct tn_hip_device *device, void *address,
                                     size_t size_bytes, bool is_shareable,
                                     tarn_mapping *mapping_out)
{
    tarn_status status =
        tn_backend_check_range_map(&device->properties, address, size_bytes, mapping_out);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);
    struct tn_hip_call call = {
        .make = make_range_map,
        .address = address,
        .size_bytes = size_bytes,
        .is_shareable = is_shareable,
    };
    tarn_backend_result result = tn_hip_make_take(device, &call);
    if (result.status == TARN_STATUS_OK) *mapping_out = call.mapping;
    return result;
}

tarn_backend_result tn_hip_range_map(void *state, void *address, size_t size_bytes,
                                     tarn_mapping *mapping_out)
{
    return range_map(state, address, size_bytes, false, mapping_out);
}

/* When the memory cannot be given back it is mapped again, so that nothing has changed; but not when the
 * mapping is none. */
static tarn_backend_result make_range_unmap(struct tn_hip_call *call)
{
    tarn_backend_result result = tn_hip_result(hipDeviceSynchronize());
    if (result.status != TARN_STATUS_OK) return result;
    hipError_t error = check_mapped(call->address);
    if (error == hipSuccess) error = hipMemUnmap(call->address, call->size_bytes);
    if (error != hipSuccess) return tn_hip_result(error);
    error = hipMemRelease(call->mapping);
    if (error != hipSuccess && error != hipErrorInvalidValue) (void)map_memory(call);
    return tn_hip_result(error);
}

tarn_backend_result tn_hip_range_unmap(void *state, void *address, size_t size_bytes,
                                       tarn_mapping mapping)
{
    const struct tn_hip_device *device = state;
    tarn_status status = tn_backend_check_range(&device->properties, address, size_bytes);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);
    struct tn_hip_call call = {
        .make = make_range_unmap,
        .address = address,
        .size_bytes = size_bytes,
        .mapping = mapping,
    };
    return tn_hip_make_return(device, &call);
}

/* --- sharing ----------------------------------------------------------------------------------- */

tarn_backend_result tn_hip_range_map_shareable(void *state, void *address, size_t size_bytes,
                                               tarn_mapping *mapping_out)
{
    const struct tn_hip_device *device = state;
    tarn_status status = tn_backend_check_shareable(&device->properties);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);
    return range_map(device, address, size_bytes, true, mapping_out);
}

static hipError_t export_mapping(hipMemGenericAllocationHandle_t mapping, int *file_descriptor_out)
{
    return hipMemExportToShareableHandle(file_descriptor_out, mapping,
                                         hipMemHandleTypePosixFileDescriptor, 0);
}

static tarn_backend_result make_range_export(struct tn_hip_call *call)
{
    return tn_hip_result(export_mapping(call->mapping, &call->file_descriptor));
}

tarn_backend_result tn_hip_range_export(void *state, void *address, size_t size_bytes,
                                        tarn_mapping mapping, int *file_descriptor_out)
{
    const struct tn_hip_device *device = state;
    tarn_status status = tn_backend_check_range_export(&device->properties, address, size_bytes,
                                                       file_descriptor_out);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);
    struct tn_hip_call call = { .make = make_range_export, .mapping = mapping };
    tarn_backend_result result = tn_hip_make_take(device, &call);
    if (result.status == TARN_STATUS_OK) *file_descriptor_out = call.file_descriptor;
    return result;
}

/* Whether memory can be made and exported. Whatever goes wrong here says that it cannot. */
static bool can_share(const struct tn_hip_device *device, size_t size_bytes)
{
    hipMemAllocationProp memory = memory_of(device, true);
    hipMemGenericAllocationHandle_t mapping;
    int file_descriptor;
    hipError_t error = hipMemCreate(&mapping, size_bytes, &memory, 0);
    if (error == hipSuccess) {
        error = export_mapping(mapping, &file_descriptor);
        if (error == hipSuccess) close(file_descriptor);
        hipError_t released = hipMemRelease(mapping);
        if (error == hipSuccess) error = released;
    }
    return tn_hip_result(error).status == TARN_STATUS_OK;
}

/* --- whether there are any --------------------------------------------------------------------- */

/* The recommended granularity is the larger where there are two, which makes for larger mappings. */
static tarn_backend_result make_find_ranges(struct tn_hip_call *call)
{
    const struct tn_hip_device *device = call->device;
    hipMemAllocationProp memory = memory_of(device, false);
    int has_ranges = 0;
    hipError_t error = hipDeviceGetAttribute(&has_ranges, ATTRIBUTE_HAS_RANGES, device->number);
    bool is_unknown_question = error == hipErrorInvalidValue;
    if (is_unknown_question || (error == hipSuccess && !has_ranges)) error = hipErrorNotSupported;
    if (error == hipSuccess) {
        error = hipMemGetAllocationGranularity(&call->size_bytes, &memory,
                                               hipMemAllocationGranularityRecommended);
    }
    call->is_shareable = error == hipSuccess && can_share(device, call->size_bytes);
    return tn_hip_result(error);
}

/* That there are none is no failure. */
tarn_backend_result tn_hip_find_ranges(struct tn_hip_device *device)
{
    if (device->properties.kind != TARN_MEMORY_KIND_DEVICE) return TARN_BACKEND_RESULT_OK;
    struct tn_hip_call call = { .make = make_find_ranges };
    tarn_backend_result result = tn_hip_make_take(device, &call);
    if (result.status == TARN_STATUS_NOT_SUPPORTED) return TARN_BACKEND_RESULT_OK;
    if (result.status == TARN_STATUS_OK && tn_is_power_of_two(call.size_bytes)) {
        device->properties.range_granularity_bytes = call.size_bytes;
        device->properties.has_shareable_ranges = call.is_shareable;
    }
    return result;
}
