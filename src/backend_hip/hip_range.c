/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * hip_range: the steps of ranges, by calls of the runtime.
 *
 * Access is set for exactly the piece that one call mapped, since runtimes refuse it for parts.
 *
 * Ranges also cost the process other things than device memory: reserved addresses take host memory,
 * and each mapping may take a file descriptor, often one of at most 1024. So a few large mappings are
 * better than many small ones.
 *
 * No attribute tells whether memory can be shared. ROCm 5 refuses to create such memory. Later versions
 * create it, and some of them fail to export it. So the backend tries it out when it is opened.
 */
#include <unistd.h>

#include "../backend_cuda_hip/runtime_device.h"

/* The attribute that tells whether a device has ranges has this number in every version. HIP 5.2 has the
 * calls and no name for it. Its runtime does not know the attribute, so there are no ranges. */
#if HIP_VERSION_MAJOR == 5 && HIP_VERSION_MINOR < 3
#define ATTRIBUTE_HAS_RANGES ((hipDeviceAttribute_t)(hipDeviceAttributeMemoryPoolsSupported + 1))
#else
#define ATTRIBUTE_HAS_RANGES hipDeviceAttributeVirtualMemoryManagementSupported
#endif

/* --- what the runtime is told ------------------------------------------------------------------ */

static hipMemLocation location_of(const struct tn_runtime_device *device)
{
    return (hipMemLocation){ .type = hipMemLocationTypeDevice, .id = device->number };
}

/* Whether the memory can be shared is settled when it is created. */
static hipMemAllocationProp memory_of(const struct tn_runtime_device *device, bool is_shareable)
{
    hipMemAllocationProp memory = {
        .type = hipMemAllocationTypePinned, /* it stays on the device */
        .location = location_of(device),
    };
    if (is_shareable) memory.requestedHandleType = hipMemHandleTypePosixFileDescriptor;
    return memory;
}

/* --- reserving --------------------------------------------------------------------------------- */

/* Without an alignment the runtime may align to a page, or to the smaller granularity where there are
 * two. */
tarn_backend_result tn_runtime_addresses_reserve(struct tn_runtime_call *call)
{
    size_t alignment_bytes = call->device->properties.range_granularity_bytes;
    return tn_runtime_result(
        hipMemAddressReserve(&call->address, call->size_bytes, alignment_bytes, NULL, 0));
}

tarn_backend_result tn_runtime_addresses_release(struct tn_runtime_call *call)
{
    return tn_runtime_result(hipMemAddressFree(call->address, call->size_bytes));
}

/* --- mapping ----------------------------------------------------------------------------------- */

tarn_backend_result tn_runtime_memory_create(struct tn_runtime_call *call)
{
    hipMemAllocationProp memory = memory_of(call->device, call->is_shareable);
    hipMemGenericAllocationHandle_t handle = NULL;
    hipError_t error = hipMemCreate(&handle, call->size_bytes, &memory, 0);
    call->mapping = handle;
    return tn_runtime_result(error);
}

tarn_backend_result tn_runtime_memory_destroy(struct tn_runtime_call *call)
{
    return tn_runtime_result(hipMemRelease(call->mapping));
}

/* InvalidValue if nothing is mapped there. */
static hipError_t check_mapped(const void *address)
{
    hipPointerAttribute_t attributes;
    return hipPointerGetAttributes(&attributes, address);
}

/* Runtimes up to 6.3 at least answer a hipMemMap that failed for want of file descriptors with success,
 * so that only setting the access fails. */
tarn_backend_result tn_runtime_memory_map(struct tn_runtime_call *call)
{
    hipMemAccessDesc access = {
        .location = location_of(call->device),
        .flags = hipMemAccessFlagsProtReadWrite,
    };
    hipError_t error = hipMemMap(call->address, call->size_bytes, 0, call->mapping, 0);
    if (error != hipSuccess) return tn_runtime_result(error);
    error = hipMemSetAccess(call->address, call->size_bytes, &access, 1);
    if (error == hipSuccess) return TARN_BACKEND_RESULT_OK;
    hipError_t found = check_mapped(call->address);
    if (found == hipSuccess) (void)hipMemUnmap(call->address, call->size_bytes);
    return tn_runtime_result(found == hipErrorInvalidValue ? hipErrorMapFailed : error);
}

/* First asks whether memory is mapped there: runtimes up to 6.3 at least crash on an unmapping of
 * nothing. */
tarn_backend_result tn_runtime_memory_unmap(struct tn_runtime_call *call)
{
    hipError_t error = check_mapped(call->address);
    if (error == hipSuccess) error = hipMemUnmap(call->address, call->size_bytes);
    return tn_runtime_result(error);
}

tarn_backend_result tn_runtime_memory_export(struct tn_runtime_call *call)
{
    return tn_runtime_result(hipMemExportToShareableHandle(&call->file_descriptor, call->mapping,
                                                           hipMemHandleTypePosixFileDescriptor, 0));
}

/* --- whether there are any --------------------------------------------------------------------- */

/* Whether memory can be created and exported. Any failure means that it cannot. */
static bool can_share(const struct tn_runtime_device *device, size_t size_bytes)
{
    struct tn_runtime_call call = {
        .device = device,
        .size_bytes = size_bytes,
        .is_shareable = true,
    };
    if (tn_runtime_memory_create(&call).status != TARN_STATUS_OK) return false;
    bool is_exported = tn_runtime_memory_export(&call).status == TARN_STATUS_OK;
    if (is_exported) close(call.file_descriptor);
    return tn_runtime_memory_destroy(&call).status == TARN_STATUS_OK && is_exported;
}

/* The recommended granularity is the larger where there are two, which makes for larger mappings. */
static tarn_backend_result make_ask_for_ranges(struct tn_runtime_call *call)
{
    const struct tn_runtime_device *device = call->device;
    hipMemAllocationProp memory = memory_of(device, false);
    int has_ranges = 0;
    hipError_t error = hipDeviceGetAttribute(&has_ranges, ATTRIBUTE_HAS_RANGES, device->number);
    bool is_unknown_attribute = error == hipErrorInvalidValue;
    if (is_unknown_attribute || (error == hipSuccess && !has_ranges)) error = hipErrorNotSupported;
    if (error == hipSuccess) {
        error = hipMemGetAllocationGranularity(&call->size_bytes, &memory,
                                               hipMemAllocationGranularityRecommended);
    }
    call->is_shareable = error == hipSuccess && can_share(device, call->size_bytes);
    return tn_runtime_result(error);
}

tarn_backend_result tn_runtime_ask_for_ranges(const struct tn_runtime_device *device,
                                              struct tn_runtime_call *call)
{
    call->make = make_ask_for_ranges;
    return tn_runtime_make_take(device, call);
}
