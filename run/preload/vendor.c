/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* vendor: over the system's loader. */
#include "vendor.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "backend_common/operation.h"
#include "backend_cuda_hip/gpu_device.h"
#include "base/host_memory.h"
#include "base/sync.h"

#include "notes.h"
#include "system_symbols.h"

static struct tn_vendor the_vendor;
static const struct tn_vendor *_Atomic found_vendor;
static struct tn_mutex publishing = TN_MUTEX_INIT;

static const char *file_name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool tn_vendor_is_in_library(const void *address, const char *begin)
{
    Dl_info info;
    if (!dladdr(address, &info) || !info.dli_fname) return false;
    return strncmp(file_name_of(info.dli_fname), begin, strlen(begin)) == 0;
}

bool tn_vendor_is_own(const void *address)
{
    Dl_info own, other;
    return dladdr(&the_vendor, &own) && dladdr(address, &other) && own.dli_fbase == other.dli_fbase;
}

static void note_call(bool is_of_memory)
{
    tn_notes_vendor_call(is_of_memory ? TN_PURPOSE_MEMORY : TN_PURPOSE_ORDER);
}

static void find_functions(struct tn_vendor *vendor, void *library)
{
    for (enum tn_call call = 0; call < TN_CALL_COUNT; call++) {
        void *function = tn_system_symbols.dlsym(library, tn_intercepted[call].symbol);
        memcpy(&vendor->intercepted[call], &function, sizeof function);
    }
    vendor->table.note = note_call;
    vendor->is_complete =
        !tn_gpu_table_fill(&vendor->table, &TN_VENDOR_OF_TABLE, tn_system_symbols.dlsym, library);
    vendor->table.export_memory = NULL; /* these pools are not shared: HIP need not try it out */
}

/* The library stays in the process from now on, since the pools call it until the end. All look-ups come before the lock:
 * they take the loader's, which another thread may hold while it waits for this one. */
static const struct tn_vendor *find_in_file(const char *path)
{
    struct tn_vendor candidate = { .is_complete = false };
    if (!tn_system_symbols_find()) return NULL;
    void *library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
    if (!library) return NULL;
    find_functions(&candidate, library);
    tn_mutex_lock(&publishing);
    if (!atomic_load(&found_vendor)) {
        the_vendor = candidate;
        atomic_store(&found_vendor, &the_vendor);
    }
    tn_mutex_unlock(&publishing);
    return &the_vendor;
}

static bool is_of_vendor(const char *path)
{
    return strncmp(file_name_of(path), TN_VENDOR_LIBRARY, strlen(TN_VENDOR_LIBRARY)) == 0;
}

/* Copies the path of the vendor's library, whichever version of it there is. */
static int note_path(struct dl_phdr_info *info, size_t size_bytes, void *argument)
{
    (void)size_bytes;
    if (!info->dlpi_name || !is_of_vendor(info->dlpi_name)) return 0;
    snprintf(argument, PATH_MAX, "%s", info->dlpi_name);
    return 1;
}

const struct tn_vendor *tn_vendor_find(void)
{
    char path[PATH_MAX];
    const struct tn_vendor *vendor = atomic_load_explicit(&found_vendor, memory_order_acquire);
    if (vendor) return vendor;
    return dl_iterate_phdr(note_path, path) ? find_in_file(path) : NULL;
}

bool tn_vendor_note_library(const void *address)
{
    Dl_info info;
    if (!dladdr(address, &info) || !info.dli_fname || !is_of_vendor(info.dli_fname)) return false;
    if (atomic_load_explicit(&found_vendor, memory_order_acquire)) return true;
    return find_in_file(info.dli_fname) != NULL;
}

/* --- contexts ------------------------------------------------------------------------------------------ */

tarn_backend_result tn_vendor_open(const struct tn_vendor *vendor, void *context,
                                   tarn_backend *backend_out)
{
    if (!tn_process_watch_forks()) return tn_backend_result(TARN_STATUS_OUT_OF_HOST_MEMORY);
    struct tn_gpu_device *device = tn_host_memory_alloc_zeroed(sizeof *device);
    if (!device) return tn_backend_result(TARN_STATUS_OUT_OF_HOST_MEMORY);
    device->table = &vendor->table;
    device->context = context;
    tn_vendor_error error = vendor->table.get_device(&device->number);
    tarn_backend_result result =
        error == TN_ERROR_SUCCESS
            ? tn_gpu_open_context(device, TARN_MEMORY_KIND_DEVICE, backend_out)
            : tn_gpu_result(&vendor->table, error);
    if (result.status == TARN_STATUS_OK)
        tn_process_watch_end();
    else
        tn_host_memory_free(device);
    return result;
}

/* The runtime keeps an error for the program, which is not its own: the visit takes it out. */
void tn_vendor_wait(const struct tn_vendor *vendor, void *context)
{
    struct tn_gpu_device device = {
        .table = &vendor->table,
        .context = context,
        .lifetime = tn_lifetime_begin(),
    };
    struct tn_gpu_visit visit = tn_gpu_begin(&device, TN_GPU_ORDER);
    if (visit.may_call) visit.error = vendor->table.synchronize();
    (void)tn_gpu_end(&visit);
}
