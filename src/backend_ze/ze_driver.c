/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * ze_driver: drivers and their devices.
 *
 * The application may have initialised the loader before. Initialising it again is harmless: all callers
 * in the process get the same drivers.
 *
 * Threads: any.
 */
#include "ze_device.h"

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

/* --- drivers ----------------------------------------------------------------------------------- */

struct drivers {
    uint32_t count;
    tn_ze_driver_handle_t handles[DRIVER_COUNT_MAX];
};

/* Newer loaders deprecate zeInit in favour of zeInitDrivers. But zeInitDrivers finds no driver that is
 * older than itself, and some loaders then answer success with no driver. zeInit finds all drivers. */
static tn_ze_result_t find_drivers(const struct tn_ze_table *ze, struct drivers *drivers_out)
{
    drivers_out->count = DRIVER_COUNT_MAX;
    tn_ze_result_t error = ze->Init(TN_ZE_INIT_FLAG_GPU_ONLY);
    if (error != TN_ZE_RESULT_SUCCESS) return error;
    return ze->DriverGet(&drivers_out->count, drivers_out->handles);
}

static bool has_name(const tn_ze_driver_extension_properties_t *extensions, uint32_t count,
                     const char *name)
{
    uint32_t i = 0;
    while (i < count && strcmp(extensions[i].name, name) != 0)
        i++;
    return i < count;
}

tarn_backend_result tn_ze_find_extensions(struct tn_ze_device *device)
{
    uint32_t count = 0;
    tn_ze_result_t error = device->ze.DriverGetExtensionProperties(device->driver, &count, NULL);
    if (error != TN_ZE_RESULT_SUCCESS) return tn_ze_result(error);
    /* One more, since there may be none. */
    tn_ze_driver_extension_properties_t *all =
        tn_host_memory_alloc_zeroed((count + 1) * sizeof *all);
    if (!all) return tn_backend_result(TARN_STATUS_OUT_OF_HOST_MEMORY);

    if (count > 0) error = device->ze.DriverGetExtensionProperties(device->driver, &count, all);
    device->extensions = (struct tn_ze_extensions){
        .memory_free_policies = has_name(all, count, TN_ZE_MEMORY_FREE_POLICIES_EXT_NAME),
        .usable_memory = has_name(all, count, TN_ZE_DEVICE_USABLEMEM_SIZE_PROPERTIES_EXT_NAME),
        .relaxed_limits_exp = has_name(all, count, TN_ZE_RELAXED_ALLOCATION_LIMITS_EXP_NAME),
        .relaxed_limits_ext = has_name(all, count, TN_ZE_RELAXED_ALLOCATION_LIMITS_EXT_NAME),
    };
    tn_host_memory_free(all);
    return tn_ze_result(error);
}

/* --- devices ----------------------------------------------------------------------------------- */

/* The search for one device. */
struct search {
    const struct tn_ze_table *ze;
    tn_ze_device_handle_t handle; /* NULL: the device with the number */
    int number;
    int count;                   /* of devices so far */
    tn_ze_device_handle_t found; /* NULL: not yet */
    tn_ze_result_t error;        /* of the first driver that was skipped */
};

/* Drivers of other devices than GPUs answer too, if the application has initialised them. */
static tn_ze_result_t is_gpu(const struct tn_ze_table *ze, tn_ze_device_handle_t device,
                             bool *is_gpu_out)
{
    tn_ze_device_properties_t properties = { .stype = TN_ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES };
    tn_ze_result_t error = ze->DeviceGetProperties(device, &properties);
    *is_gpu_out = properties.type == TN_ZE_DEVICE_TYPE_GPU;
    return error;
}

/* Searches the sub-devices of a device, and their sub-devices. */
static tn_ze_result_t search_parts(struct search *search, tn_ze_device_handle_t device, int depth)
{
    tn_ze_device_handle_t parts[DEVICE_COUNT_MAX];
    uint32_t count = DEVICE_COUNT_MAX;
    tn_ze_result_t error = search->ze->DeviceGetSubDevices(device, &count, parts);
    for (uint32_t i = 0; error == TN_ZE_RESULT_SUCCESS && i < count && !search->found; i++) {
        if (parts[i] == search->handle) {
            search->found = parts[i];
        } else if (depth > 1) {
            error = search_parts(search, parts[i], depth - 1);
        }
    }
    return error;
}

static tn_ze_result_t search_device(struct search *search, tn_ze_device_handle_t device)
{
    bool is_counted;
    if (search->handle) {
        if (device != search->handle) return search_parts(search, device, 2);
        search->found = device;
        return TN_ZE_RESULT_SUCCESS;
    }
    tn_ze_result_t error = is_gpu(search->ze, device, &is_counted);
    if (error != TN_ZE_RESULT_SUCCESS) return error;
    if (is_counted && search->count++ == search->number) search->found = device;
    return TN_ZE_RESULT_SUCCESS;
}

/* A driver that fails to list its devices is skipped. If a device does not tell its type, the numbers of
 * the devices after it are unknown, so the search by number fails. A search by handle goes on. */
static tn_ze_result_t search_driver(struct search *search, tn_ze_driver_handle_t driver)
{
    tn_ze_device_handle_t devices[DEVICE_COUNT_MAX];
    uint32_t count = DEVICE_COUNT_MAX;
    tn_ze_result_t error = search->ze->DeviceGet(driver, &count, devices);
    bool may_be_skipped = error != TN_ZE_RESULT_SUCCESS || search->handle;
    for (uint32_t i = 0; error == TN_ZE_RESULT_SUCCESS && i < count && !search->found; i++)
        error = search_device(search, devices[i]);
    if (!may_be_skipped) return error;
    if (search->error == TN_ZE_RESULT_SUCCESS) search->error = error;
    return TN_ZE_RESULT_SUCCESS;
}

/* Searches the drivers up to the one that has the device. Fails with the error of a skipped driver if the
 * skipped driver may have the device. */
static tn_ze_result_t search_drivers(struct search *search, const struct drivers *drivers,
                                     tn_ze_driver_handle_t *driver_out)
{
    tn_ze_result_t error = TN_ZE_RESULT_SUCCESS;
    for (uint32_t i = 0; error == TN_ZE_RESULT_SUCCESS && i < drivers->count && !search->found;
         i++) {
        error = search_driver(search, drivers->handles[i]);
        *driver_out = drivers->handles[i];
    }
    bool is_blank = !search->found && (search->handle || search->count == 0);
    return error == TN_ZE_RESULT_SUCCESS && is_blank ? search->error : error;
}

/* No driver, a driver that lacks a dependency and a driver that is too old: all are NO_DEVICE. */
static tarn_status fail_to_search(int number, tn_ze_result_t error)
{
    tarn_backend_result result = tn_ze_result(error);
    if (error == TN_ZE_RESULT_ERROR_UNINITIALIZED ||
        error == TN_ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE ||
        result.status == TARN_STATUS_NOT_SUPPORTED)
        result.status = TARN_STATUS_NO_DEVICE;
    return tn_backend_fail_open("Level Zero", number, result, NULL);
}

static tarn_status fail_to_find(const struct search *search)
{
    /* A driver without a device is reported like a missing driver, with the loader's error for that. */
    if (!search->handle && search->count == 0)
        return fail_to_search(search->number, TN_ZE_RESULT_ERROR_UNINITIALIZED);
    if (!search->handle)
        return tn_backend_check_number("Level Zero", search->number, search->count);
    return tn_fail(TARN_STATUS_INVALID_DEVICE,
                   "the device %p of the options is no device of any Level Zero driver",
                   (void *)search->handle);
}

tarn_status tn_vendor_device_count(int *count_out)
{
    struct tn_ze_table ze;
    tarn_status status = tn_lifetime_check_open("Level Zero", 0, tn_ze_unloading());
    if (status == TARN_STATUS_OK) status = tn_ze_table_load(0, &ze);
    if (status != TARN_STATUS_OK) return status;
    struct search search = { .ze = &ze, .number = -1 }; /* counts all and finds none */
    struct drivers drivers;
    tn_ze_driver_handle_t last;
    tn_ze_result_t error = find_drivers(&ze, &drivers);
    if (error == TN_ZE_RESULT_SUCCESS) error = search_drivers(&search, &drivers, &last);
    if (error == TN_ZE_RESULT_SUCCESS && search.count == 0)
        error = TN_ZE_RESULT_ERROR_UNINITIALIZED;
    if (error != TN_ZE_RESULT_SUCCESS) return fail_to_search(0, error);
    *count_out = search.count;
    return TARN_STATUS_OK;
}

tarn_status tn_vendor_current_device(int *device_out)
{
    *device_out = 0;
    return TARN_STATUS_OK;
}

tarn_status tn_ze_find_device(int number, tn_ze_device_handle_t handle,
                              struct tn_ze_place *place_out)
{
    struct tn_ze_place place;
    tarn_status status = tn_ze_table_load(number, &place.ze);
    if (status != TARN_STATUS_OK) return status;
    struct search search = { .ze = &place.ze, .handle = handle, .number = number };
    struct drivers drivers;
    tn_ze_result_t error = find_drivers(&place.ze, &drivers);
    if (error == TN_ZE_RESULT_SUCCESS) error = search_drivers(&search, &drivers, &place.driver);
    if (error != TN_ZE_RESULT_SUCCESS) return fail_to_search(number, error);
    if (!search.found) return fail_to_find(&search);
    place.device = search.found;
    *place_out = place;
    return TARN_STATUS_OK;
}
