/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * sim_ze_loader: functions that newer loaders have, for the library that stands in a loader's place.
 *
 * The vendor's loader of this machine may be too old for them. A program that links a loader meets this
 * one when LD_LIBRARY_PATH names its folder, and then all functions are the simulation's, without tables.
 */
#include "sim_ze.h"

#ifdef ZE_API_VERSION_CURRENT_M
#define VERSION_OF_HEADERS ZE_API_VERSION_CURRENT_M
#else
#define VERSION_OF_HEADERS ZE_MAKE_VERSION(1, 4)
#endif

#if VERSION_OF_HEADERS < ZE_MAKE_VERSION(1, 8)
ze_result_t zeDeviceGetRootDevice(ze_device_handle_t handle, ze_device_handle_t *root);
ze_result_t zeCommandListGetDeviceHandle(ze_command_list_handle_t handle,
                                         ze_device_handle_t *device);
#endif
#if VERSION_OF_HEADERS < ZE_MAKE_VERSION(1, 15)
typedef struct ze_event_counter_based_desc_t {
    ze_structure_type_t stype;
    const void *pNext;
    uint32_t flags;
    uint32_t signal;
    uint32_t wait;
} ze_event_counter_based_desc_t;
ze_result_t zeDeviceSynchronize(ze_device_handle_t handle);
ze_result_t zeEventCounterBasedCreate(ze_context_handle_t context, ze_device_handle_t handle,
                                      const ze_event_counter_based_desc_t *desc,
                                      ze_event_handle_t *created);
typedef struct ze_physical_mem_properties_t {
    ze_structure_type_t stype;
    void *pNext;
    uint64_t id;
    uint64_t size;
} ze_physical_mem_properties_t;
ze_result_t zePhysicalMemGetProperties(ze_context_handle_t context,
                                       ze_physical_mem_handle_t physical,
                                       ze_physical_mem_properties_t *properties);
#endif

/* A loader does not ask a driver that lacks the function. One that wraps handles answers so. */
static sim_status enter(const char *name)
{
    return sim_ze_has(SIM_ZE_NEWER) ? sim_ze_enter(name) : SIM_STATUS_NO_DRIVER;
}

/* What the headers number later than 1.4. */
#define TYPE_OF_COUNTER_BASED 0x2003A
#define TYPE_OF_PHYSICAL      0x20040
#define FLAG_IMMEDIATE        0x1
#define FLAG_HOST_VISIBLE     0x4

ze_result_t zeDeviceGetRootDevice(ze_device_handle_t handle, ze_device_handle_t *root)
{
    sim_status status = enter(__func__);
    const struct sim_ze_device *device = sim_ze_device_of(handle);
    if (status == SIM_STATUS_OK && !device) status = SIM_STATUS_INVALID_HANDLE;
    if (status == SIM_STATUS_OK)
        *root = device->part < 0 ? NULL : sim_ze_device_handle(device->number, -1);
    return sim_ze_answer(status);
}

ze_result_t zeDeviceSynchronize(ze_device_handle_t handle)
{
    sim_status status = enter(__func__);
    const struct sim_ze_device *device = sim_ze_device_of(handle);
    if (status == SIM_STATUS_OK && !device) status = SIM_STATUS_INVALID_HANDLE;
    return sim_ze_answer(status == SIM_STATUS_OK ? sim_device_synchronize(device->number) : status);
}

ze_result_t zeCommandListGetDeviceHandle(ze_command_list_handle_t handle,
                                         ze_device_handle_t *device)
{
    sim_status status = enter(__func__);
    const struct sim_ze_object *list = sim_ze_object_find(SIM_ZE_LIST, handle);
    if (status == SIM_STATUS_OK && !list) status = SIM_STATUS_INVALID_HANDLE;
    if (status == SIM_STATUS_OK) *device = sim_ze_device_handle(list->device, list->part);
    return sim_ze_answer(status);
}

ze_result_t zeEventCounterBasedCreate(ze_context_handle_t context, ze_device_handle_t handle,
                                      const ze_event_counter_based_desc_t *desc,
                                      ze_event_handle_t *created)
{
    sim_status status = enter(__func__);
    const struct sim_ze_device *device = sim_ze_device_of(handle);
    if (status == SIM_STATUS_OK) status = sim_ze_check_context(context);
    if (status == SIM_STATUS_OK && !device) status = SIM_STATUS_INVALID_HANDLE;
    if (status == SIM_STATUS_OK && !sim_ze_has(SIM_ZE_COUNTERS)) status = SIM_STATUS_NOT_SUPPORTED;
    if (status == SIM_STATUS_OK && ((int)desc->stype != TYPE_OF_COUNTER_BASED ||
                                    desc->flags != (FLAG_IMMEDIATE | FLAG_HOST_VISIBLE)))
        status = SIM_STATUS_INVALID_VALUE;
    if (status == SIM_STATUS_OK) {
        status = sim_ze_event_create((uintptr_t)context, device->number, SIM_EVENT_FORM_RECORDS, 0,
                                     created);
    }
    return sim_ze_answer(status);
}

ze_result_t zePhysicalMemGetProperties(ze_context_handle_t context,
                                       ze_physical_mem_handle_t physical,
                                       ze_physical_mem_properties_t *properties)
{
    int device;
    size_t size_bytes;
    sim_status status = enter(__func__);
    if (status == SIM_STATUS_OK) status = sim_ze_check_context(context);
    if (status == SIM_STATUS_OK && (int)properties->stype != TYPE_OF_PHYSICAL)
        status = SIM_STATUS_INVALID_VALUE;
    if (status == SIM_STATUS_OK)
        status = sim_physical_find((sim_physical *)physical, &device, &size_bytes);
    if (status == SIM_STATUS_OK) status = sim_ze_physical_export(physical, properties->pNext);
    if (status == SIM_STATUS_OK) properties->size = size_bytes;
    return sim_ze_answer(status);
}
