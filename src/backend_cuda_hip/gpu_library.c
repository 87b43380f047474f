/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gpu_library: over the system's loader. */
#include "gpu_device.h"

#include <dlfcn.h>

#include "../backend_common/opening.h"
#include "../backend_common/operation.h"
#include "../base/error.h"
#include "../base/host_memory.h"

/* --- loading ----------------------------------------------------------------------------------- */

static void *open_first(const char *const *names, int flags)
{
    void *library = NULL;
    for (; *names && !library; names++)
        library = dlopen(*names, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE | flags);
    return library;
}

static tarn_status fail(const struct tn_gpu_library *library, const char *fault)
{
    return tn_fail(TARN_STATUS_NO_DEVICE, "there is no %s device: %s%s", library->vendor->name,
                   library->names[0], fault);
}

/* The library stays in the process from now on. One that is not there is not looked for again: in the child of a fork the
 * loader's lock may be held for ever. All look-ups come before the lock here: they take the loader's, which another thread
 * may hold while it waits for this one. */
static tarn_status load(struct tn_gpu_library *library)
{
    struct tn_gpu_table table = { .vendor = NULL };
    if (atomic_load(&library->is_missing)) return fail(library, " is not found");
    void *file = open_first(library->names, RTLD_NOLOAD);
    if (!file) file = open_first(library->names, 0);
    if (!file) {
        atomic_store(&library->is_missing, true);
        return fail(library, " is not found");
    }
    if (tn_gpu_table_fill(&table, library->vendor, dlsym, file))
        return fail(library, " is too old for tarn, or another library");
    tn_mutex_lock(&library->lock);
    if (!atomic_load(&library->found)) {
        library->table = table;
        atomic_store(&library->found, &library->table);
    }
    tn_mutex_unlock(&library->lock);
    return TARN_STATUS_OK;
}

static const struct tn_gpu_table *table_of(struct tn_gpu_library *library)
{
    return atomic_load_explicit(&library->found, memory_order_acquire);
}

/* --- devices ----------------------------------------------------------------------------------- */

static tarn_status open_failed(const struct tn_gpu_table *table, int number,
                               tarn_backend_result result)
{
    return tn_backend_fail_open(table->vendor->name, number, result,
                                table->vendor->error_text(table, result.vendor_code));
}

static tn_gpu_error count_devices(const struct tn_gpu_table *table, int *count_out)
{
    int count = 0;
    tn_gpu_error error = table->init ? table->init(0) : TN_ERROR_SUCCESS;
    if (error == TN_ERROR_SUCCESS) error = table->get_device_count(&count);
    if (error == TN_ERROR_SUCCESS && count == 0) error = TN_ERROR_NO_DEVICE;
    if (error == TN_ERROR_SUCCESS) *count_out = count;
    return error;
}

static tarn_status find_count(struct tn_gpu_library *library, int number, int *count_out)
{
    tarn_status status =
        tn_lifetime_check_open(library->vendor->name, number, tn_gpu_unloading(library->vendor));
    if (status == TARN_STATUS_OK && !table_of(library)) status = load(library);
    if (status != TARN_STATUS_OK) return status;
    const struct tn_gpu_table *table = table_of(library);
    tn_gpu_error error = count_devices(table, count_out);
    return error == TN_ERROR_SUCCESS ? TARN_STATUS_OK
                                     : open_failed(table, number, tn_gpu_result(table, error));
}

tarn_status tn_gpu_device_count(struct tn_gpu_library *library, int *count_out)
{
    return find_count(library, 0, count_out);
}

/* CUDA's runtime makes the context of a device current when the device is set, from CUDA 12 on; before that at the thread's
 * next call. A thread in which no context is current has the first device. */
static bool find_current(const struct tn_gpu_table *table, int *device_out)
{
    int current = 0;
    tn_gpu_error error = table->get_device(&current);
    if (!tn_gpu_succeeds(table, error) && error != TN_ERROR_INVALID_CONTEXT) return false;
    *device_out = error == TN_ERROR_SUCCESS ? current : 0;
    return true;
}

tarn_status tn_gpu_current_device(struct tn_gpu_library *library, int *device_out)
{
    const struct tn_gpu_table *table = table_of(library);
    int count;
    tarn_status status =
        tn_lifetime_check_open(library->vendor->name, 0, tn_gpu_unloading(library->vendor));
    if (status != TARN_STATUS_OK || (table && find_current(table, device_out))) return status;
    status =
        find_count(library, 0, &count); /* the first call of the process, or there is no device */
    if (status != TARN_STATUS_OK) return status;
    table = table_of(library);
    if (find_current(table, device_out)) return status;
    return open_failed(table, 0, tn_gpu_result(table, table->get_device(&count)));
}

/* --- opening ----------------------------------------------------------------------------------- */

static tn_gpu_error find_kind(const struct tn_gpu_table *table, int number, tarn_memory_kind kind,
                              bool *has_kind_out)
{
    const struct tn_gpu_vendor *vendor = table->vendor;
    *has_kind_out = kind == TARN_MEMORY_KIND_DEVICE;
    if (kind == TARN_MEMORY_KIND_SHARED)
        return tn_gpu_ask(table, vendor->has_managed, number, has_kind_out);
    if (kind != TARN_MEMORY_KIND_PINNED) return TN_ERROR_SUCCESS;
    tn_gpu_error error = tn_gpu_ask(table, vendor->can_map_host, number, has_kind_out);
    if (error != TN_ERROR_SUCCESS || !*has_kind_out) return error;
    return tn_gpu_ask(table, vendor->has_one_address, number, has_kind_out);
}

static tarn_backend_result open_device(struct tn_gpu_device *device, tarn_memory_kind kind,
                                       tarn_backend *backend_out)
{
    const struct tn_gpu_vendor *vendor = device->table->vendor;
    tn_gpu_error error = vendor->begin_context(device);
    if (error != TN_ERROR_SUCCESS) return tn_gpu_result(device->table, error);
    tarn_backend_result result = tn_gpu_open_context(device, kind, backend_out);
    if (result.status != TARN_STATUS_OK) vendor->end_context(device);
    device->gives_context_back = true;
    return result;
}

tarn_status tn_gpu_open(struct tn_gpu_library *library, const char *function, int number,
                        tarn_memory_kind kind, tarn_backend *backend_out)
{
    const char *vendor = library->vendor->name;
    int count = 0;
    bool has_kind = false;
    tarn_status status = tn_backend_check_open(function, kind, backend_out);
    if (status == TARN_STATUS_OK) status = find_count(library, number, &count);
    if (status == TARN_STATUS_OK) status = tn_backend_check_number(vendor, number, count);
    if (status != TARN_STATUS_OK) return status;
    const struct tn_gpu_table *table = table_of(library);
    tn_gpu_error error = find_kind(table, number, kind, &has_kind);
    if (error != TN_ERROR_SUCCESS) return open_failed(table, number, tn_gpu_result(table, error));
    if (!has_kind) return tn_backend_fail_kind(vendor, number, kind);

    struct tn_gpu_device *device = tn_host_memory_alloc_zeroed(sizeof *device);
    if (!device) return tn_backend_fail_host_memory(vendor, sizeof *device);
    device->table = table;
    device->number = number;
    device->open_watch = library->open_watch;
    tarn_backend_result result = open_device(device, kind, backend_out);
    if (result.status != TARN_STATUS_OK) {
        tn_host_memory_free(device);
        return open_failed(table, number, result);
    }
    tn_lifetime_note_vendor();
    return TARN_STATUS_OK;
}
