/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * sim_ze_device: drivers, their devices, contexts.
 *
 * Of several drivers each has one device, and the last has the rest.
 *
 * Each device has two parts, which share its memory, and each of them two again. With
 * ZE_FLAT_DEVICE_HIERARCHY=FLAT the larger parts are what the driver gives as devices, as Intel's does.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim_ze.h"

enum {
    DEVICES_MAX = 8,
    PART_COUNT = 2,
    PARTS_MAX = PART_COUNT + PART_COUNT * PART_COUNT, /* of both sizes */
    TYPE_OF_USABLE_MEMORY = 0x20041                   /* newer than the headers */
};

/* Of the driver, and of Level Zero: what has lists in order, and what has all that is modelled. */
#define DRIVER_VERSION  0x01031234
#define API_VERSION_OLD ZE_MAKE_VERSION(1, 4)
#define API_VERSION_NEW ZE_MAKE_VERSION(1, 15)

static _Atomic bool is_initialised;
static int drivers[DEVICES_MAX]; /* their addresses are the handles */

/* --- what the driver has ------------------------------------------------------------------------ */

bool sim_ze_has(enum sim_ze_feature feature)
{
    static const char *const names[SIM_ZE_FEATURE_COUNT] = {
        "order", "blocking_free", "usable_memory", "relaxed_limits", "counters", "newer",
    };
    if (sim_get_settings().driver == SIM_DRIVER_WITHOUT_EXTRAS && feature != SIM_ZE_USABLE_MEMORY)
        return false;
    const char *lacks = getenv("TARN_SIM_ZE_LACKS");
    return !lacks || !strstr(lacks, names[feature]);
}

size_t sim_ze_allocation_bytes_max(void)
{
    size_t most = sim_get_settings().allocation_bytes_max;
    const char *text = getenv("TARN_SIM_ZE_ALLOCATION_MAX");
    size_t wanted = text ? strtoull(text, NULL, 0) : most;
    return wanted < most ? wanted : most;
}

static int number_of_environment(const char *name, int otherwise)
{
    const char *text = getenv(name);
    return text ? (int)strtol(text, NULL, 0) : otherwise;
}

static int driver_count(void)
{
    return number_of_environment("TARN_SIM_ZE_DRIVERS", 1);
}

static int driver_of(int device_number)
{
    return device_number < driver_count() ? device_number : driver_count() - 1;
}

/* --- answers ------------------------------------------------------------------------------------- */

ze_result_t sim_ze_answer(sim_status status)
{
    switch (status) {
    case SIM_STATUS_OK:
        return ZE_RESULT_SUCCESS;
    case SIM_STATUS_NOT_READY:
        return ZE_RESULT_NOT_READY;
    case SIM_STATUS_OUT_OF_MEMORY:
        return ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
    case SIM_STATUS_OUT_OF_HOST_MEMORY:
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    case SIM_STATUS_INVALID_SIZE:
        return ZE_RESULT_ERROR_UNSUPPORTED_SIZE;
    case SIM_STATUS_INVALID_ALIGNMENT:
        return ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT;
    case SIM_STATUS_INVALID_VALUE:
    case SIM_STATUS_INVALID_ADDRESS:
    case SIM_STATUS_INVALID_DEVICE:
    case SIM_STATUS_ALREADY_MAPPED:
    case SIM_STATUS_NOT_MAPPED:
    case SIM_STATUS_STILL_MAPPED:
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    case SIM_STATUS_INVALID_HANDLE:
        return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    case SIM_STATUS_WRONG_DEVICE:
        return ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT;
    case SIM_STATUS_NOT_SUPPORTED:
        return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
    case SIM_STATUS_DRIVER_TOO_OLD:
        return ZE_RESULT_ERROR_UNSUPPORTED_VERSION;
    case SIM_STATUS_NO_DRIVER:
    case SIM_STATUS_NO_DEVICE:
    case SIM_STATUS_UNLOADING:
        return ZE_RESULT_ERROR_UNINITIALIZED;
    case SIM_STATUS_DEVICE_LOST:
    case SIM_STATUS_CONTEXT_DESTROYED:
    case SIM_STATUS_ACCESS_FAULT:
    case SIM_STATUS_HANG:
        return ZE_RESULT_ERROR_DEVICE_LOST;
    case SIM_STATUS_CAPTURING: /* there are no captures here */
    case SIM_STATUS_UNKNOWN:
    case SIM_STATUS_COUNT:
        break;
    }
    return ZE_RESULT_ERROR_UNKNOWN;
}

sim_status sim_ze_enter(const char *name)
{
    sim_status status = sim_enter(name);
    return status == SIM_STATUS_OK && !is_initialised ? SIM_STATUS_NO_DRIVER : status;
}

/* --- the driver ----------------------------------------------------------------------------------- */

ze_result_t zeInit(ze_init_flags_t flags)
{
    sim_status status = sim_enter(__func__);
    if (status == SIM_STATUS_OK) is_initialised = true;
    return sim_ze_answer(status);
}

ze_result_t zeDriverGet(uint32_t *count, ze_driver_handle_t *handles)
{
    sim_status status = sim_ze_enter(__func__);
    if (status != SIM_STATUS_OK) return sim_ze_answer(status);
    uint32_t there = (uint32_t)driver_count();
    for (uint32_t i = 0; handles && i < there && i < *count; i++)
        handles[i] = (ze_driver_handle_t)&drivers[i];
    *count = handles && *count != 0 && *count < there ? *count : there;
    return ZE_RESULT_SUCCESS;
}

static int driver_number(ze_driver_handle_t driver)
{
    int number = 0;
    while (number < driver_count() && driver != (ze_driver_handle_t)&drivers[number])
        number++;
    return number;
}

static sim_status enter_driver(const char *name, ze_driver_handle_t driver)
{
    sim_status status = sim_ze_enter(name);
    if (status == SIM_STATUS_OK && driver_number(driver) == driver_count())
        status = SIM_STATUS_INVALID_HANDLE;
    return status;
}

ze_result_t zeDriverGetApiVersion(ze_driver_handle_t driver, ze_api_version_t *version)
{
    sim_status status = enter_driver(__func__, driver);
    if (status == SIM_STATUS_OK)
        *version = (ze_api_version_t)(sim_ze_has(SIM_ZE_ORDER) ? API_VERSION_NEW : API_VERSION_OLD);
    return sim_ze_answer(status);
}

/* Says nothing of how it frees, though it lists the extension: so does Intel's. */
ze_result_t zeDriverGetProperties(ze_driver_handle_t driver, ze_driver_properties_t *properties)
{
    sim_status status = enter_driver(__func__, driver);
    if (status != SIM_STATUS_OK) return sim_ze_answer(status);
    properties->driverVersion = DRIVER_VERSION;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeDriverGetExtensionProperties(ze_driver_handle_t driver, uint32_t *count,
                                           ze_driver_extension_properties_t *extensions)
{
    static const struct {
        const char *name;
        enum sim_ze_feature feature;
    } all[] = {
        { ZE_MEMORY_FREE_POLICIES_EXT_NAME, SIM_ZE_BLOCKING_FREE },
        { ZE_RELAXED_ALLOCATION_LIMITS_EXP_NAME, SIM_ZE_RELAXED_LIMITS },
        { "ZE_extension_device_usablemem_size_properties", SIM_ZE_USABLE_MEMORY },
    };
    sim_status status = enter_driver(__func__, driver);
    if (status != SIM_STATUS_OK) return sim_ze_answer(status);
    uint32_t there = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (!sim_ze_has(all[i].feature)) continue;
        if (extensions && there < *count) {
            snprintf(extensions[there].name, sizeof extensions[there].name, "%s", all[i].name);
            extensions[there].version = ZE_MAKE_VERSION(1, 0);
        }
        there++;
    }
    *count = extensions && *count < there ? *count : there;
    return ZE_RESULT_SUCCESS;
}

/* --- devices -------------------------------------------------------------------------------------- */

/* clang-format off */
#define DEVICE(n) { { n, -1 }, { n, 0 }, { n, 1 }, { n, 2 }, { n, 3 }, { n, 4 }, { n, 5 } }
/* clang-format on */
static struct sim_ze_device devices[DEVICES_MAX][1 + PARTS_MAX] = {
    DEVICE(0), DEVICE(1), DEVICE(2), DEVICE(3), DEVICE(4), DEVICE(5), DEVICE(6), DEVICE(7),
};

ze_device_handle_t sim_ze_device_handle(int number, int part)
{
    return (ze_device_handle_t)&devices[number][1 + part];
}

const struct sim_ze_device *sim_ze_device_of(ze_device_handle_t handle)
{
    for (int number = 0; number < sim_device_count(); number++) {
        for (int part = -1; part < PARTS_MAX; part++) {
            if (handle == (ze_device_handle_t)&devices[number][1 + part])
                return &devices[number][1 + part];
        }
    }
    return NULL;
}

static bool parts_are_devices(void)
{
    const char *hierarchy = getenv("ZE_FLAT_DEVICE_HIERARCHY");
    return hierarchy && strcmp(hierarchy, "FLAT") == 0;
}

ze_result_t zeDeviceGet(ze_driver_handle_t driver, uint32_t *count, ze_device_handle_t *handles)
{
    sim_status status = enter_driver(__func__, driver);
    if (status != SIM_STATUS_OK) return sim_ze_answer(status);
    int first_part = parts_are_devices() ? 0 : -1;
    int end_part = parts_are_devices() ? PART_COUNT : 0;
    uint32_t there = 0;
    for (int number = 0; number < sim_device_count(); number++) {
        if (driver_of(number) != driver_number(driver)) continue;
        for (int part = first_part; part < end_part; part++, there++) {
            if (handles && there < *count) handles[there] = sim_ze_device_handle(number, part);
        }
    }
    *count = handles && *count != 0 && *count < there ? *count : there;
    return ZE_RESULT_SUCCESS;
}

/* What the driver says about a device goes on when the device is lost, as far as it is known. */
static sim_status enter_device(const char *name, ze_device_handle_t handle)
{
    sim_status status = sim_ze_enter(name);
    return status == SIM_STATUS_OK && !sim_ze_device_of(handle) ? SIM_STATUS_INVALID_HANDLE
                                                                : status;
}

ze_result_t zeDeviceGetSubDevices(ze_device_handle_t handle, uint32_t *count,
                                  ze_device_handle_t *parts)
{
    sim_status status = enter_device(__func__, handle);
    if (status != SIM_STATUS_OK) return sim_ze_answer(status);
    const struct sim_ze_device *device = sim_ze_device_of(handle);
    int first_part = (device->part + 1) * PART_COUNT;
    uint32_t there = first_part < PARTS_MAX && !parts_are_devices() ? PART_COUNT : 0;
    for (uint32_t i = 0; parts && i < there && i < *count; i++)
        parts[i] = sim_ze_device_handle(device->number, first_part + (int)i);
    *count = parts && *count != 0 && *count < there ? *count : there;
    return ZE_RESULT_SUCCESS;
}

struct usable_memory {
    ze_structure_type_t stype;
    void *pNext;
    uint64_t bytes;
};

ze_result_t zeDeviceGetProperties(ze_device_handle_t handle, ze_device_properties_t *properties)
{
    size_t total_bytes, free_bytes = 0;
    sim_status status = enter_device(__func__, handle);
    if (status != SIM_STATUS_OK) return sim_ze_answer(status);
    const struct sim_ze_device *device = sim_ze_device_of(handle);
    properties->type = device->number < number_of_environment("TARN_SIM_ZE_OTHERS", 0)
                           ? ZE_DEVICE_TYPE_FPGA
                           : ZE_DEVICE_TYPE_GPU;
    properties->flags = device->part < 0 ? 0 : ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE;
    if (!sim_get_settings().spills_to_host) properties->flags |= ZE_DEVICE_PROPERTY_FLAG_INTEGRATED;
    properties->maxMemAllocSize = sim_ze_allocation_bytes_max();
    snprintf(properties->name, sizeof properties->name, "Simulated GPU %d", device->number);

    struct usable_memory *usable = properties->pNext;
    if (!usable || (int)usable->stype != TYPE_OF_USABLE_MEMORY || !sim_ze_has(SIM_ZE_USABLE_MEMORY))
        return ZE_RESULT_SUCCESS;
    status = sim_memory_info(device->number, &total_bytes, &free_bytes);
    const char *pretended = getenv("TARN_SIM_ZE_USABLE_MEMORY");
    if (status == SIM_STATUS_OK)
        usable->bytes = pretended ? strtoull(pretended, NULL, 0) : free_bytes;
    return sim_ze_answer(status);
}

ze_result_t zeDeviceGetMemoryProperties(ze_device_handle_t handle, uint32_t *count,
                                        ze_device_memory_properties_t *properties)
{
    sim_status status = enter_device(__func__, handle);
    if (status != SIM_STATUS_OK) return sim_ze_answer(status);
    if (properties && *count >= 1) {
        properties->totalSize = sim_get_settings().memory_bytes;
        snprintf(properties->name, sizeof properties->name, "simulated");
    }
    *count = 1;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeDeviceGetMemoryAccessProperties(ze_device_handle_t handle,
                                              ze_device_memory_access_properties_t *properties)
{
    sim_status status = enter_device(__func__, handle);
    if (status != SIM_STATUS_OK) return sim_ze_answer(status);
    sim_settings settings = sim_get_settings();
    properties->deviceAllocCapabilities =
        settings.has_kind[SIM_MEMORY_KIND_DEVICE] ? ZE_MEMORY_ACCESS_CAP_FLAG_RW : 0;
    properties->hostAllocCapabilities =
        settings.has_kind[SIM_MEMORY_KIND_PINNED] ? ZE_MEMORY_ACCESS_CAP_FLAG_RW : 0;
    properties->sharedSingleDeviceAllocCapabilities =
        settings.has_kind[SIM_MEMORY_KIND_SHARED] ? ZE_MEMORY_ACCESS_CAP_FLAG_RW : 0;
    properties->sharedCrossDeviceAllocCapabilities = 0;
    properties->sharedSystemAllocCapabilities = 0;
    return ZE_RESULT_SUCCESS;
}

/* First engines that only copy, so that whoever takes group 0 unseen is found out. */
ze_result_t zeDeviceGetCommandQueueGroupProperties(ze_device_handle_t handle, uint32_t *count,
                                                   ze_command_queue_group_properties_t *groups)
{
    static const ze_command_queue_group_property_flags_t flags[] = {
        ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY,
        ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE | ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY,
    };
    const uint32_t there = sizeof flags / sizeof *flags;
    sim_status status = enter_device(__func__, handle);
    if (status != SIM_STATUS_OK) return sim_ze_answer(status);
    for (uint32_t i = 0; groups && i < there && i < *count; i++) {
        groups[i].flags = flags[i];
        groups[i].maxMemoryFillPatternSize = i == 0 ? 1 : 128;
        groups[i].numQueues = 1;
    }
    *count = groups && *count != 0 && *count < there ? *count : there;
    return ZE_RESULT_SUCCESS;
}

/* --- contexts ------------------------------------------------------------------------------------- */

ze_result_t zeContextCreate(ze_driver_handle_t driver, const ze_context_desc_t *desc,
                            ze_context_handle_t *context)
{
    sim_status status = enter_driver(__func__, driver);
    if (status != SIM_STATUS_OK) return sim_ze_answer(status);
    *context =
        (ze_context_handle_t)sim_ze_object_create(SIM_ZE_CONTEXT, 0, driver_number(driver))->number;
    sim_alive_change(SIM_THING_CONTEXT, 1);
    return ZE_RESULT_SUCCESS;
}

sim_status sim_ze_check_context(ze_context_handle_t handle)
{
    return sim_ze_object_find(SIM_ZE_CONTEXT, handle) ? SIM_STATUS_OK : SIM_STATUS_DEVICE_LOST;
}

sim_status sim_ze_check_context_of(ze_context_handle_t handle, const struct sim_ze_device *device)
{
    const struct sim_ze_object *context = sim_ze_object_find(SIM_ZE_CONTEXT, handle);
    return context && context->device == driver_of(device->number) ? SIM_STATUS_OK
                                                                   : SIM_STATUS_DEVICE_LOST;
}

ze_result_t zeContextDestroy(ze_context_handle_t context)
{
    sim_status status = sim_ze_enter(__func__);
    if (status == SIM_STATUS_OK) status = sim_ze_check_context(context);
    if (status != SIM_STATUS_OK) return sim_ze_answer(status);
    if (sim_ze_object_count_children((uintptr_t)context, NULL) > 0)
        sim_misuse("a context was destroyed before what was made in it");
    sim_ze_object_destroy(sim_ze_object_find(SIM_ZE_CONTEXT, context));
    sim_alive_change(SIM_THING_CONTEXT, -1);
    return ZE_RESULT_SUCCESS;
}
