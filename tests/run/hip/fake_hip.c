/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * fake_hip: the functions that CUDA's driver does not have, or has in another form. The look-up asks dlsym, as that of ROCm
 * 6.1 and newer does.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../preload/fake_vendor.h"

#define DEVICES_MAX 8

EXPORT int hipInit(unsigned flags);

/* --- devices ------------------------------------------------------------------------------------------ */

static struct fake_context devices[DEVICES_MAX] = { { 0, 1 }, { 1, 1 }, { 2, 1 }, { 3, 1 },
                                                    { 4, 1 }, { 5, 1 }, { 6, 1 }, { 7, 1 } };
static _Thread_local int current_device;
static _Thread_local int last_error;

struct fake_context *fake_current(void)
{
    return &devices[current_device];
}

sim_status fake_need_context(sim_status status)
{
    return status;
}

/* As in HIP 7: a success leaves an earlier error. */
int fake_settle(int error)
{
    if (error != TN_ERROR_SUCCESS) last_error = error;
    return error;
}

int fake_get_last_error(void)
{
    int error = last_error;
    sim_note("get_last_error");
    last_error = TN_ERROR_SUCCESS;
    return error;
}

const char *fake_get_error_name(int error)
{
    sim_note("get_error_name");
    return error == TN_ERROR_OUT_OF_MEMORY ? "hipErrorOutOfMemory" : "hipErrorUnknown";
}

const char *fake_get_error_text(int error)
{
    return fake_get_error_name(error);
}

int fake_get_runtime_version(int *version)
{
    *version = 70200000;
    return fake_answer(sim_enter("get_runtime_version"));
}

int hipInit(unsigned flags)
{
    (void)flags;
    return fake_answer(sim_enter("hipInit"));
}

int fake_get_device(int *device)
{
    sim_status status = sim_enter("get_device");
    if (status == SIM_STATUS_OK) *device = current_device;
    return fake_answer(status);
}

int fake_set_device(int device)
{
    sim_status status = sim_enter("set_device");
    if (status == SIM_STATUS_OK && (device < 0 || device >= sim_get_settings().device_count))
        status = SIM_STATUS_INVALID_DEVICE;
    if (status == SIM_STATUS_OK) current_device = device;
    return fake_answer(status);
}

int fake_reset_device(void)
{
    sim_status status = sim_enter("reset_device");
    if (status == SIM_STATUS_OK) fake_end_context(fake_current());
    return fake_answer(status);
}

int fake_enable_peer(int other, unsigned flags)
{
    (void)other, (void)flags;
    return fake_answer(sim_enter("enable_peer"));
}

int fake_enable_peer_of_context(void *other, unsigned flags)
{
    (void)other, (void)flags;
    return fake_answer(sim_enter("enable_peer_of_context"));
}

/* --- memory ------------------------------------------------------------------------------------------- */

int fake_alloc_with_flags(tn_vendor_address *address, size_t size_bytes, unsigned flags)
{
    (void)flags;
    return fake_answer(
        fake_allocate(sim_enter("alloc_with_flags"), SIM_MEMORY_KIND_DEVICE, size_bytes, address));
}

int fake_alloc_pitch(tn_vendor_address *address, size_t *pitch, size_t width, size_t height)
{
    *pitch = (width + 511) / 512 * 512;
    return fake_answer(
        fake_allocate(sim_enter("alloc_pitch"), SIM_MEMORY_KIND_DEVICE, *pitch * height, address));
}

int fake_alloc_3d(struct tn_hip_pitched *pitched, struct tn_hip_extent extent)
{
    tn_vendor_address address = 0;
    size_t pitch = (extent.width + 511) / 512 * 512;
    sim_status status = fake_allocate(sim_enter("alloc_3d"), SIM_MEMORY_KIND_DEVICE,
                                      pitch * extent.height * extent.depth, &address);
    if (status == SIM_STATUS_OK)
        *pitched = (struct tn_hip_pitched){ (void *)address, pitch, extent.width, extent.height };
    return fake_answer(status);
}

int fake_alloc_host_2(void **address, size_t size_bytes, unsigned flags)
{
    return fake_alloc_host_with_flags(address, size_bytes, flags);
}

int fake_free_host_2(void *address)
{
    return fake_free_host(address);
}

int fake_alloc_array(void **array, const void *format, size_t width, size_t height, unsigned flags)
{
    size_t size_bytes = width * (height > 0 ? height : 1);
    (void)format, (void)flags;
    return fake_make_array("alloc_array", array, &size_bytes);
}

int fake_alloc_array_3d(void **array, const void *format, struct tn_hip_extent extent,
                        unsigned flags)
{
    size_t size_bytes = extent.width * extent.height * extent.depth;
    (void)format, (void)flags;
    return fake_make_array("alloc_array_3d", array, &size_bytes);
}

int fake_alloc_mipmapped_array(void **array, const void *format, struct tn_hip_extent extent,
                               unsigned level_count, unsigned flags)
{
    size_t size_bytes = extent.width * extent.height * extent.depth;
    (void)format, (void)level_count, (void)flags;
    return fake_make_array("alloc_mipmapped_array", array, &size_bytes);
}

int fake_set_pool_of_location(void *location, int type, void *pool)
{
    (void)location, (void)type, (void)pool;
    return fake_answer(sim_enter("set_pool_of_location"));
}

int fake_get_size(tn_vendor_address address, size_t *size_bytes)
{
    sim_memory found;
    sim_status status = sim_enter("get_size");
    if (status == SIM_STATUS_OK && !sim_memory_find((void *)address, &found))
        status = SIM_STATUS_INVALID_VALUE;
    if (status == SIM_STATUS_OK) *size_bytes = found.size_bytes;
    return fake_answer(status);
}

/* --- streams, data ------------------------------------------------------------------------------------ */

int fake_copy_kind(tn_vendor_address destination, tn_vendor_address source, size_t size_bytes,
                   int kind, void *stream)
{
    sim_status status = sim_enter("copy");
    if (status == SIM_STATUS_OK && kind != 4) status = SIM_STATUS_INVALID_VALUE;
    if (status == SIM_STATUS_OK)
        status =
            sim_copy(fake_stream_of(stream), (void *)destination, (const void *)source, size_bytes);
    return fake_answer(status);
}

/* --- by name ------------------------------------------------------------------------------------------ */

/* With TARN_FAKE_DRIVER=direct the look-up does not ask dlsym. */
static void *find_symbol(const char *symbol)
{
    const char *setting = getenv("TARN_FAKE_DRIVER");
    Dl_info own;
    if (!setting || strcmp(setting, "direct") != 0) {
        if (!dladdr(devices, &own)) return NULL;
        void *library = dlopen(own.dli_fname, RTLD_NOW | RTLD_NOLOAD);
        return library ? dlsym(library, symbol) : NULL;
    }
#define FIND(function, text, name, since, streams, parameters, arguments) \
    if (strcmp(symbol, #text) == 0) return (void *)(uintptr_t)fake_##function;
    TN_INTERCEPTED(FIND)
#undef FIND
#define FIND(result, field, text, is_required, parameters) \
    if (strcmp(symbol, text) == 0) return (void *)(uintptr_t)fake_##field;
#define FIND_BOTH(result, field, cuda, hip, is_required, parameters) \
    FIND(result, field, hip, is_required, parameters)
    TN_GPU_FUNCTIONS(FIND_BOTH)
    TN_HIP_FUNCTIONS(FIND)
#undef FIND_BOTH
#undef FIND
    return strcmp(symbol, "hipInit") == 0 ? (void *)(uintptr_t)hipInit : NULL;
}

static int get_address(const char *name, void **function, bool is_of_threads, int *found)
{
    char symbol[256];
    sim_status status = sim_enter("get_address");
    if (status != SIM_STATUS_OK) return fake_answer(status);
    snprintf(symbol, sizeof symbol, "%s_spt", name);
    *function = is_of_threads ? find_symbol(symbol) : NULL;
    if (!*function) *function = find_symbol(name);
    if (found) *found = *function ? 0 : 1;
    return fake_answer(*function ? SIM_STATUS_OK : SIM_STATUS_INVALID_VALUE);
}

int fake_get_entry_point(const char *name, void **function, uint64_t flags, int *found)
{
    (void)flags;
    return get_address(name, function, false, found);
}

int fake_get_entry_point_of_thread(const char *name, void **function, uint64_t flags, int *found)
{
    (void)flags;
    return get_address(name, function, true, found);
}

int fake_get_address(const char *name, void **function, int version, uint64_t flags, int *found)
{
    (void)version, (void)flags;
    return get_address(name, function, false, found);
}

int fake_get_address_of_thread(const char *name, void **function, int version, uint64_t flags,
                               int *found)
{
    (void)version, (void)flags;
    return get_address(name, function, true, found);
}
