/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * ze_backend: the memory of one Level Zero device, or host memory that it can reach.
 *
 *     DEVICE   zeMemAllocDevice
 *     PINNED   zeMemAllocHost, for all devices of the context, at the same address on host and device
 *     SHARED   zeMemAllocShared, with the device as its home. If the device is not a part of the host, all
 *              pieces together may be larger than its memory. The driver limits one piece.
 *
 * DEVICE and PINNED memory is made resident at once: kernels may reach it through pointers in other
 * memory, which the driver does not see. SHARED memory is not, since it would then have to move to the
 * device before every kernel.
 *
 * Cost: that of the vendor's calls, microseconds to milliseconds. Acquire makes two calls (SHARED: one).
 * Release makes one call if the driver itself waits for the work on the memory. Else it first waits for
 * all streams.
 * Threads: any; the vendor does the locking.
 */
#include "tarn/ze.h"

#include <string.h>

#include "../backend_common/opening.h"
#include "../backend_common/operation.h"
#include "../backend_common/system_memory.h"
#include "../base/arith.h"
#include "../base/error.h"
#include "../base/host_memory.h"
#include "../base/struct_size.h"
#include "ze_device.h"

/* Each allocation is aligned to a page, so that no chunk is lost to alignment. */
#define ALIGNMENT_BYTES 4096

/* The largest pages of device memory. Smaller pieces share a page. */
#define GRANULARITY_BYTES ((size_t)2 << 20)

/* --- memory ------------------------------------------------------------------------------------ */

static tn_ze_result_t allocate(const struct tn_ze_device *device, size_t size_bytes,
                               void **address_out)
{
    const tn_ze_device_mem_alloc_desc_t on_device = {
        .stype = TN_ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC,
        .pNext = device->allocation_extension,
    };
    const tn_ze_host_mem_alloc_desc_t on_host = {
        .stype = TN_ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC,
        .pNext = device->properties.kind == TARN_MEMORY_KIND_PINNED ? device->allocation_extension
                                                                    : NULL,
    };
    switch (device->properties.kind) {
    case TARN_MEMORY_KIND_PINNED:
        return device->ze.MemAllocHost(device->context, &on_host, size_bytes, ALIGNMENT_BYTES,
                                       address_out);
    case TARN_MEMORY_KIND_SHARED:
        return device->ze.MemAllocShared(device->context, &on_device, &on_host, size_bytes,
                                         ALIGNMENT_BYTES, device->handle, address_out);
    case TARN_MEMORY_KIND_DEVICE:
    case TARN_MEMORY_KIND_HOST:
        break;
    }
    return device->ze.MemAllocDevice(device->context, &on_device, size_bytes, ALIGNMENT_BYTES,
                                     device->handle, address_out);
}

static tn_ze_result_t make_resident(const struct tn_ze_device *device, void *address,
                                    size_t size_bytes)
{
    if (device->properties.kind == TARN_MEMORY_KIND_SHARED) return TN_ZE_RESULT_SUCCESS;
    return device->ze.ContextMakeMemoryResident(device->context, device->handle, address,
                                                size_bytes);
}

static tarn_backend_result acquire(void *state, size_t size_bytes, void **address_out)
{
    const struct tn_ze_device *device = state;
    if (tn_ze_is_over(state)) return tn_ze_refusal(state);
    tarn_status status = tn_backend_check_acquire(&device->properties, size_bytes, address_out);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);

    void *address = NULL;
    tn_ze_result_t error = allocate(device, size_bytes, &address);
    if (error == TN_ZE_RESULT_SUCCESS) {
        /* The driver may have allocated more than there is, and notice it here. */
        error = make_resident(device, address, size_bytes);
        if (error == TN_ZE_RESULT_SUCCESS) {
            *address_out = address;
        } else {
            device->ze.MemFree(device->context, address);
        }
    }
    return tn_ze_result_of_acquire(error, device->properties.kind);
}

/* The driver waits for the work on this memory and frees it before the call returns, so that the next
 * allocation can use it. */
static tn_ze_result_t free_when_idle(const struct tn_ze_device *device, void *address)
{
    const tn_ze_memory_free_ext_desc_t desc = {
        .stype = TN_ZE_STRUCTURE_TYPE_MEMORY_FREE_EXT_DESC,
        .freePolicy = TN_ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_BLOCKING_FREE,
    };
    if (!device->extensions.memory_free_policies) return TN_ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
    return device->ze.MemFreeExt(device->context, &desc, address);
}

static tarn_backend_result release(void *state, void *address, size_t size_bytes)
{
    struct tn_ze_device *device = state;
    if (tn_ze_is_over(state)) return TARN_BACKEND_RESULT_OK;
    tarn_status status = tn_backend_check_release(address, size_bytes);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);
    tn_ze_result_t error = free_when_idle(device, address);
    if (!tn_ze_is_lacking(error)) return tn_ze_result(error);

    tarn_backend_result result = tn_ze_streams_finish(device);
    if (result.status == TARN_STATUS_OK)
        result = tn_ze_result(device->ze.MemFree(device->context, address));
    return tn_ze_return(result);
}

/* --- device ------------------------------------------------------------------------------------ */

static tarn_backend_result get_properties(void *state, tarn_device_properties *properties_out)
{
    const struct tn_ze_device *device = state;
    if (tn_lifetime_is_forked(&device->lifetime)) return tn_ze_refusal(state);
    *properties_out = device->properties;
    return TARN_BACKEND_RESULT_OK;
}

/* If a layer of the loader is older than the extension, it answers with an invalid argument. */
static tarn_backend_result query_device_memory(const struct tn_ze_device *device,
                                               tarn_memory_info *info_out)
{
    tn_ze_device_usablemem_size_ext_properties_t usable = {
        .stype = TN_ZE_STRUCTURE_TYPE_DEVICE_USABLEMEM_SIZE_EXT_PROPERTIES,
    };
    tn_ze_device_properties_t vendor = {
        .stype = TN_ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES,
        .pNext = &usable,
    };
    tarn_backend_result result =
        tn_ze_result(device->ze.DeviceGetProperties(device->handle, &vendor));
    if (result.status == TARN_STATUS_INVALID_ARGUMENT) result.status = TARN_STATUS_NOT_SUPPORTED;
    if (result.status == TARN_STATUS_OK) {
        *info_out = (tarn_memory_info){
            .total_bytes = device->memory_bytes,
            .free_bytes = tn_min((size_t)usable.currUsableMemSize, device->memory_bytes),
        };
    }
    return result;
}

static tarn_backend_result query_memory(void *state, tarn_memory_info *info_out)
{
    const struct tn_ze_device *device = state;
    tarn_memory_info of_device;
    if (tn_ze_is_over(state)) return tn_ze_refusal(state);
    if (device->properties.kind == TARN_MEMORY_KIND_PINNED) {
        *info_out = tn_system_memory_info();
        return TARN_BACKEND_RESULT_OK;
    }
    if (!device->extensions.usable_memory) return tn_backend_result(TARN_STATUS_NOT_SUPPORTED);
    tarn_backend_result result = query_device_memory(device, &of_device);
    if (result.status != TARN_STATUS_OK) return result;
    *info_out = device->spills_to_host ? tn_system_memory_with_device(of_device) : of_device;
    return result;
}

/* Without the vendor's call this is not supported: the backend does not know the application's lists. */
static tarn_backend_result synchronize(void *state)
{
    const struct tn_ze_device *device = state;
    if (tn_ze_is_over(state)) return tn_ze_refusal(state);
    if (!device->ze.DeviceSynchronize) return tn_backend_result(TARN_STATUS_NOT_SUPPORTED);
    tn_ze_result_t error = device->ze.DeviceSynchronize(device->handle);
    if (tn_ze_is_lacking(error)) return tn_backend_result(TARN_STATUS_NOT_SUPPORTED);
    return tn_ze_result(error);
}

/* --- life -------------------------------------------------------------------------------------- */

/* The context is not destroyed while work may be pending in it. */
static void device_fini(struct tn_ze_device *device, bool is_over)
{
    if (device->owns_context && is_over) device->ze.ContextDestroy(device->context);
    tn_mutex_fini(&device->streams_lock);
    tn_mutex_fini(&device->lock);
}

/* In a forked child nothing is freed: a thread of the parent may have been changing the state. At the end
 * of the process the vendor's objects are not destroyed. */
static void close_device(void *state)
{
    struct tn_ze_device *device = state;
    if (tn_lifetime_is_forked(&device->lifetime)) return;
    device_fini(device, tn_ze_streams_fini(device));
    tn_host_memory_free(device->mappings.items);
    tn_host_memory_free(device);
}

static const tarn_backend_operations operations = {
    .struct_bytes = sizeof(tarn_backend_operations),
    .name = "ze",
    .close = close_device,
    .acquire = acquire,
    .release = release,
    .range_reserve = tn_ze_range_reserve,
    .range_release = tn_ze_range_release,
    .range_map = tn_ze_range_map,
    .range_unmap = tn_ze_range_unmap,
    .get_properties = get_properties,
    .query_memory = query_memory,
    .synchronize = synchronize,
    .stream_create = tn_ze_stream_create,
    .stream_destroy = tn_ze_stream_destroy,
    .stream_check = tn_ze_stream_check,
    .stream_synchronize = tn_ze_stream_synchronize,
    .stream_wait_event = tn_ze_stream_wait_event,
    .event_create = tn_ze_event_create,
    .event_destroy = tn_ze_event_destroy,
    .event_record = tn_ze_event_record,
    .event_query = tn_ze_event_query,
    .event_synchronize = tn_ze_event_synchronize,
    .fill = tn_ze_fill,
    .copy = tn_ze_copy,
    .range_map_shareable = tn_ze_range_map_shareable,
    .range_export = tn_ze_range_export,
};

static tn_ze_result_t find_kind(const struct tn_ze_place *place, tarn_memory_kind kind,
                                bool *has_out)
{
    tn_ze_device_memory_access_properties_t access = {
        .stype = TN_ZE_STRUCTURE_TYPE_DEVICE_MEMORY_ACCESS_PROPERTIES,
    };
    tn_ze_result_t error = place->ze.DeviceGetMemoryAccessProperties(place->device, &access);
    uint32_t can = 0;
    switch (kind) {
    case TARN_MEMORY_KIND_DEVICE:
        can = access.deviceAllocCapabilities;
        break;
    case TARN_MEMORY_KIND_PINNED:
        can = access.hostAllocCapabilities;
        break;
    case TARN_MEMORY_KIND_SHARED:
        can = access.sharedSingleDeviceAllocCapabilities;
        break;
    case TARN_MEMORY_KIND_HOST:
        break;
    }
    *has_out = (can & TN_ZE_MEMORY_ACCESS_CAP_FLAG_RW) != 0;
    return error;
}

/* Allocations come from the first memory that the device lists. */
static tn_ze_result_t find_memory(struct tn_ze_device *device)
{
    tn_ze_device_memory_properties_t memory = { .stype =
                                                    TN_ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES };
    uint32_t count = 1;
    tn_ze_result_t error = device->ze.DeviceGetMemoryProperties(device->handle, &count, &memory);
    device->memory_bytes = memory.totalSize;
    return error;
}

/* Lists are created for the first group of engines that computes and copies. */
static tn_ze_result_t find_queue_group(struct tn_ze_device *device)
{
    enum {
        GROUP_COUNT_MAX = 32
    };
    const uint32_t needed = TN_ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE |
                            TN_ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY;
    tn_ze_command_queue_group_properties_t groups[GROUP_COUNT_MAX] = { 0 };
    uint32_t count = GROUP_COUNT_MAX;
    for (uint32_t i = 0; i < count; i++)
        groups[i].stype = TN_ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES;
    tn_ze_result_t error =
        device->ze.DeviceGetCommandQueueGroupProperties(device->handle, &count, groups);
    if (error != TN_ZE_RESULT_SUCCESS) return error;
    for (uint32_t i = 0; i < count; i++) {
        if ((groups[i].flags & needed) != needed) continue;
        device->queue_group = i;
        return TN_ZE_RESULT_SUCCESS;
    }
    return TN_ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
}

static tn_ze_result_t find_driver(struct tn_ze_device *device)
{
    tn_ze_driver_properties_t vendor = { .stype = TN_ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES };
    uint32_t version = TN_ZE_API_VERSION_1_0;
    tn_ze_result_t error = device->ze.DriverGetProperties(device->driver, &vendor);
    if (error == TN_ZE_RESULT_SUCCESS)
        error = device->ze.DriverGetApiVersion(device->driver, &version);
    device->lists_are_in_order = version >= TN_ZE_API_VERSION_WITH_ORDER;
    device->properties.driver_version = (int)vendor.driverVersion;
    device->properties.runtime_version = (int)version;
    return error;
}

/* Finds the root of a sub-device. The root of any other device is the device itself. */
static void find_root(struct tn_ze_device *device)
{
    tn_ze_device_handle_t root = NULL;
    if (!device->ze.DeviceGetRootDevice ||
        device->ze.DeviceGetRootDevice(device->handle, &root) != TN_ZE_RESULT_SUCCESS)
        return;
    device->root = root ? root : device->handle;
}

/* The struct for allocations beyond the limit. Two extensions have one; Intel's driver knows only the older
 * extension. NULL: the driver has neither. */
static const void *relaxed_limits(const struct tn_ze_extensions *extensions)
{
    static const tn_ze_relaxed_allocation_limits_exp_desc_t exp = {
        .stype = TN_ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXP_DESC,
        .flags = TN_ZE_RELAXED_ALLOCATION_LIMITS_EXP_FLAG_MAX_SIZE,
    };
    static const tn_ze_relaxed_allocation_limits_exp_desc_t ext = {
        .stype = TN_ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXT_DESC,
        .flags = TN_ZE_RELAXED_ALLOCATION_LIMITS_EXP_FLAG_MAX_SIZE,
    };
    if (extensions->relaxed_limits_exp) return &exp;
    return extensions->relaxed_limits_ext ? &ext : NULL;
}

/* Policies of freeing count if the driver lists the extension: Intel's driver lists it and reports no
 * policy, but has them. */
static tarn_backend_result find_extensions(struct tn_ze_device *device, bool wants_relaxed_limits)
{
    tarn_backend_result result = tn_ze_find_extensions(device);
    if (result.status != TARN_STATUS_OK || !wants_relaxed_limits) return result;
    device->allocation_extension = relaxed_limits(&device->extensions);
    return device->allocation_extension ? result
                                        : tn_ze_result(TN_ZE_RESULT_ERROR_UNSUPPORTED_FEATURE);
}

static tn_ze_result_t find_properties(struct tn_ze_device *device, tarn_memory_kind kind)
{
    tn_ze_device_properties_t vendor = { .stype = TN_ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES };
    tn_ze_result_t error = device->ze.DeviceGetProperties(device->handle, &vendor);
    memcpy(device->name, vendor.name, sizeof device->name - 1);

    bool is_pinned = kind == TARN_MEMORY_KIND_PINNED;
    tarn_memory_info memory = { device->memory_bytes, 0 };
    if (is_pinned) memory = tn_system_memory_info();
    device->spills_to_host = kind == TARN_MEMORY_KIND_SHARED &&
                             (vendor.flags & TN_ZE_DEVICE_PROPERTY_FLAG_INTEGRATED) == 0;
    if (device->spills_to_host) memory = tn_system_memory_with_device(memory);
    tarn_device_properties *properties = &device->properties;
    properties->device_name = device->name;
    properties->kind = kind;
    properties->is_host_accessible = kind != TARN_MEMORY_KIND_DEVICE;
    properties->alignment_bytes = ALIGNMENT_BYTES;
    properties->granularity_bytes = is_pinned ? tn_system_page_bytes() : GRANULARITY_BYTES;
    properties->memory_id = is_pinned ? TARN_MEMORY_ID_HOST : (uint64_t)(uintptr_t)device->handle;
    properties->allocation_bytes_max = device->allocation_extension
                                           ? memory.total_bytes
                                           : tn_min(vendor.maxMemAllocSize, memory.total_bytes);
    return error;
}

static tn_ze_result_t find_context(struct tn_ze_device *device, tn_ze_context_handle_t given)
{
    device->context = given;
    device->owns_context = !given;
    if (given) return TN_ZE_RESULT_SUCCESS;
    const tn_ze_context_desc_t desc = { .stype = TN_ZE_STRUCTURE_TYPE_CONTEXT_DESC };
    return device->ze.ContextCreate(device->driver, &desc, &device->context);
}

/* Asks for everything that needs no object of the vendor. */
static tarn_backend_result find_out(struct tn_ze_device *device, tarn_memory_kind kind,
                                    bool wants_relaxed_limits)
{
    tn_ze_result_t error = find_driver(device);
    if (error != TN_ZE_RESULT_SUCCESS) return tn_ze_result(error);
    tarn_backend_result result = find_extensions(device, wants_relaxed_limits);
    if (result.status != TARN_STATUS_OK) return result;
    error = find_memory(device);
    if (error == TN_ZE_RESULT_SUCCESS) error = find_properties(device, kind);
    if (error == TN_ZE_RESULT_SUCCESS) error = find_queue_group(device);
    find_root(device);
    return tn_ze_result(error);
}

static tarn_backend_result device_init(struct tn_ze_device *device, const struct tn_ze_place *place,
                                       tarn_memory_kind kind, const tarn_ze_options *options)
{
    *device = (struct tn_ze_device){
        .lifetime = tn_lifetime_begin(),
        .driver = place->driver,
        .handle = place->device,
        .ze = place->ze,
    };
    tarn_backend_result result = find_out(device, kind, options->has_relaxed_limits);
    if (result.status != TARN_STATUS_OK) return result;
    result = tn_ze_result(find_context(device, options->context));
    if (result.status != TARN_STATUS_OK) return result;

    tn_mutex_init(&device->lock);
    tn_mutex_init(&device->streams_lock);
    result = tn_ze_streams_init(device);
    if (result.status == TARN_STATUS_OK) {
        tn_ze_find_ranges(device);
    } else {
        device_fini(device, true);
    }
    return result;
}

static tarn_status open_device(int number, tarn_memory_kind kind, const struct tn_ze_place *place,
                               const tarn_ze_options *options, tarn_backend *backend_out)
{
    struct tn_ze_device *device = tn_host_memory_alloc(sizeof *device);
    if (!device) return tn_backend_fail_host_memory("Level Zero", sizeof *device);
    tarn_backend_result result = device_init(device, place, kind, options);
    if (result.status != TARN_STATUS_OK) {
        tn_host_memory_free(device);
        return tn_backend_fail_open("Level Zero", number, result, NULL);
    }
    tn_lifetime_note_vendor();
    *backend_out = (tarn_backend){ &operations, device };
    return TARN_STATUS_OK;
}

tarn_status tarn_ze_backend_open(int device, tarn_memory_kind kind, const tarn_ze_options *options,
                                 tarn_backend *backend_out)
{
    static const tarn_ze_options defaults = TARN_ZE_OPTIONS_INIT;
    tarn_status status = tn_backend_check_open("tarn_ze_backend_open", kind, backend_out);
    if (status != TARN_STATUS_OK) return status;
    if (options) {
        status = tn_check_struct_bytes("tarn_ze_options", options->struct_bytes, sizeof *options,
                                       sizeof *options, TARN_STATUS_INVALID_ARGUMENT);
    }
    if (status != TARN_STATUS_OK) return status;
    if (!options) options = &defaults;

    struct tn_ze_place place;
    status = tn_lifetime_check_open("Level Zero", device, tn_ze_unloading());
    if (status == TARN_STATUS_OK) status = tn_ze_find_device(device, options->device, &place);
    if (status != TARN_STATUS_OK) return status;
    bool has;
    tarn_backend_result result = tn_ze_result(find_kind(&place, kind, &has));
    if (result.status != TARN_STATUS_OK)
        return tn_backend_fail_open("Level Zero", device, result, NULL);
    if (!has) return tn_backend_fail_kind("Level Zero", device, kind);
    return open_device(device, kind, &place, options, backend_out);
}
