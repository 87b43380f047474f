/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * ze_driver: drivers and their devices, and the functions that the loader may not have.
 *
 * The application may have initialised the loader before. Initialising it again is harmless: all callers
 * in the process get the same drivers.
 *
 * Threads: any.
 */
#include "ze_device.h"

#include <dlfcn.h>
#include <string.h>

#include "../backend_common/opening.h"
#include "../backend_common/operation.h"
#include "../base/error.h"
#include "../base/host_memory.h"

/* No machine has as many. */
enum {
    DRIVER_COUNT_MAX = 16,
    DEVICE_COUNT_MAX = 256
};

/* --- newer functions --------------------------------------------------------------------------- */

/* Writes the function's address to the pointer to a function that function_out points to. C has no
 * conversion from an object pointer. */
static void find_function(void *loader, const char *name, void *function_out)
{
    void *entry = dlsym(loader, name);
    memcpy(function_out, &entry, sizeof entry);
}

/* The library is linked with the loader, so this call finds it and does not load it. */
static struct tn_ze_newer find_newer(void)
{
    struct tn_ze_newer newer = { .device_get_root = NULL };
    void *loader = dlopen("libze_loader.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (!loader) return newer;
    find_function(loader, "zeDeviceGetRootDevice", &newer.device_get_root);
    find_function(loader, "zeDeviceSynchronize", &newer.device_synchronize);
    find_function(loader, "zeCommandListGetDeviceHandle", &newer.list_get_device);
    find_function(loader, "zeEventCounterBasedCreate", &newer.event_counter_based_create);
    find_function(loader, "zePhysicalMemGetProperties", &newer.physical_get_properties);
    dlclose(loader);
    return newer;
}

/* --- drivers ----------------------------------------------------------------------------------- */

struct drivers {
    uint32_t count;
    ze_driver_handle_t handles[DRIVER_COUNT_MAX];
};

/* Newer loaders deprecate zeInit in favour of zeInitDrivers. But zeInitDrivers finds no driver that is
 * older than itself, and some loaders then answer success with no driver. zeInit finds all drivers. */
static ze_result_t find_drivers(struct drivers *drivers_out)
{
    drivers_out->count = DRIVER_COUNT_MAX;
    ze_result_t error = zeInit(ZE_INIT_FLAG_GPU_ONLY);
    if (error != ZE_RESULT_SUCCESS) return error;
    return zeDriverGet(&drivers_out->count, drivers_out->handles);
}

static bool has_name(const ze_driver_extension_properties_t *extensions, uint32_t count,
                     const char *name)
{
    uint32_t i = 0;
    while (i < count && strcmp(extensions[i].name, name) != 0)
        i++;
    return i < count;
}

tarn_backend_result tn_ze_find_extensions(ze_driver_handle_t driver,
                                          struct tn_ze_extensions *extensions_out)
{
    uint32_t count = 0;
    ze_result_t error = zeDriverGetExtensionProperties(driver, &count, NULL);
    if (error != ZE_RESULT_SUCCESS) return tn_ze_result(error);
    /* One more, since there may be none. */
    ze_driver_extension_properties_t *all = tn_host_memory_alloc_zeroed((count + 1) * sizeof *all);
    if (!all) return tn_backend_result(TARN_STATUS_OUT_OF_HOST_MEMORY);

    if (count > 0) error = zeDriverGetExtensionProperties(driver, &count, all);
    *extensions_out = (struct tn_ze_extensions){
        .memory_free_policies = has_name(all, count, ZE_MEMORY_FREE_POLICIES_EXT_NAME),
        .usable_memory = has_name(all, count, TN_ZE_DEVICE_USABLEMEM_SIZE_EXT_NAME),
        .relaxed_limits_exp = has_name(all, count, ZE_RELAXED_ALLOCATION_LIMITS_EXP_NAME),
        .relaxed_limits_ext = has_name(all, count, TN_ZE_RELAXED_ALLOCATION_LIMITS_EXT_NAME),
    };
    tn_host_memory_free(all);
    return tn_ze_result(error);
}

/* --- devices ----------------------------------------------------------------------------------- */

/* The search for one device. */
struct search {
    ze_device_handle_t handle; /* NULL: the device with the number */
    int number;
    int count;                /* of devices so far */
    ze_device_handle_t found; /* NULL: not yet */
    ze_result_t error;        /* of the first driver that was skipped */
};

/* Drivers of other devices than GPUs answer too, if the application has initialised them. */
static ze_result_t is_gpu(ze_device_handle_t device, bool *is_gpu_out)
{
    ze_device_properties_t properties = { .stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES };
    ze_result_t error = zeDeviceGetProperties(device, &properties);
    *is_gpu_out = properties.type == ZE_DEVICE_TYPE_GPU;
    return error;
}

/* Searches the sub-devices of a device, and their sub-devices. */
static ze_result_t search_parts(struct search *search, ze_device_handle_t device, int depth)
{
    ze_device_handle_t parts[DEVICE_COUNT_MAX];
    uint32_t count = DEVICE_COUNT_MAX;
    ze_result_t error = zeDeviceGetSubDevices(device, &count, parts);
    for (uint32_t i = 0; error == ZE_RESULT_SUCCESS && i < count && !search->found; i++) {
        if (parts[i] == search->handle) {
            search->found = parts[i];
        } else if (depth > 1) {
            error = search_parts(search, parts[i], depth - 1);
        }
    }
    return error;
}

static ze_result_t search_device(struct search *search, ze_device_handle_t device)
{
    bool is_counted;
    if (search->handle) {
        if (device != search->handle) return search_parts(search, device, 2);
        search->found = device;
        return ZE_RESULT_SUCCESS;
    }
    ze_result_t error = is_gpu(device, &is_counted);
    if (error != ZE_RESULT_SUCCESS) return error;
    if (is_counted && search->count++ == search->number) search->found = device;
    return ZE_RESULT_SUCCESS;
}

/* A driver that fails to list its devices is skipped. If a device does not tell its type, the numbers of
 * the devices after it are unknown, so the search by number fails. A search by handle goes on. */
static ze_result_t search_driver(struct search *search, ze_driver_handle_t driver)
{
    ze_device_handle_t devices[DEVICE_COUNT_MAX];
    uint32_t count = DEVICE_COUNT_MAX;
    ze_result_t error = zeDeviceGet(driver, &count, devices);
    bool may_be_skipped = error != ZE_RESULT_SUCCESS || search->handle;
    for (uint32_t i = 0; error == ZE_RESULT_SUCCESS && i < count && !search->found; i++)
        error = search_device(search, devices[i]);
    if (!may_be_skipped) return error;
    if (search->error == ZE_RESULT_SUCCESS) search->error = error;
    return ZE_RESULT_SUCCESS;
}

/* Searches the drivers up to the one that has the device. Fails with the error of a skipped driver if the
 * skipped driver may have the device. */
static ze_result_t search_drivers(struct search *search, const struct drivers *drivers,
                                  ze_driver_handle_t *driver_out)
{
    ze_result_t error = ZE_RESULT_SUCCESS;
    for (uint32_t i = 0; error == ZE_RESULT_SUCCESS && i < drivers->count && !search->found; i++) {
        error = search_driver(search, drivers->handles[i]);
        *driver_out = drivers->handles[i];
    }
    bool is_blank = !search->found && (search->handle || search->count == 0);
    return error == ZE_RESULT_SUCCESS && is_blank ? search->error : error;
}

/* No driver, a driver that lacks a dependency and a driver that is too old: all are NO_DEVICE. */
static tarn_status fail_to_search(int number, ze_result_t error)
{
    tarn_backend_result result = tn_ze_result(error);
    if (error == ZE_RESULT_ERROR_UNINITIALIZED || error == ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE ||
        result.status == TARN_STATUS_NOT_SUPPORTED)
        result.status = TARN_STATUS_NO_DEVICE;
    return tn_backend_fail_open("Level Zero", number, result, NULL);
}

static tarn_status fail_to_find(const struct search *search)
{
    /* A driver without a device is reported like a missing driver, with the loader's error for that. */
    if (!search->handle && search->count == 0)
        return fail_to_search(search->number, ZE_RESULT_ERROR_UNINITIALIZED);
    if (!search->handle)
        return tn_backend_check_number("Level Zero", search->number, search->count);
    return tn_fail(TARN_STATUS_INVALID_DEVICE,
                   "the device %p of the options is no device of any Level Zero driver",
                   (void *)search->handle);
}

tarn_status tn_vendor_device_count(int *count_out)
{
    tarn_status status = tn_lifetime_check_open("Level Zero", 0, tn_ze_unloading());
    if (status != TARN_STATUS_OK) return status;
    struct search search = { .number = -1 }; /* counts all and finds none */
    struct drivers drivers;
    ze_driver_handle_t last;
    ze_result_t error = find_drivers(&drivers);
    if (error == ZE_RESULT_SUCCESS) error = search_drivers(&search, &drivers, &last);
    if (error == ZE_RESULT_SUCCESS && search.count == 0) error = ZE_RESULT_ERROR_UNINITIALIZED;
    if (error != ZE_RESULT_SUCCESS) return fail_to_search(0, error);
    *count_out = search.count;
    return TARN_STATUS_OK;
}

tarn_status tn_vendor_current_device(int *device_out)
{
    *device_out = 0;
    return TARN_STATUS_OK;
}

tarn_status tn_ze_find_device(int number, ze_device_handle_t handle, struct tn_ze_place *place_out)
{
    struct tn_ze_place place = { .newer = find_newer() };
    struct search search = { .handle = handle, .number = number };
    struct drivers drivers;
    ze_result_t error = find_drivers(&drivers);
    if (error == ZE_RESULT_SUCCESS) error = search_drivers(&search, &drivers, &place.driver);
    if (error != ZE_RESULT_SUCCESS) return fail_to_search(number, error);
    if (!search.found) return fail_to_find(&search);
    place.device = search.found;
    *place_out = place;
    return TARN_STATUS_OK;
}
