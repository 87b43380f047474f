/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * sim_cuda_driver: those functions of the driver that cudaGetDriverEntryPointByVersion hands out.
 *
 * They are no symbols of the library, as a program has no libcuda. The driver remembers no error, and
 * its virtual memory calls neither need a context nor make one.
 */
#include <stdlib.h>
#include <string.h>

#include "../sim_runtime.h"

static CUresult answer(sim_status status)
{
    return (CUresult)sim_runtime_error_of(status);
}

static sim_status enter_unsafe(const char *name)
{
    sim_status status = sim_enter(name);
    return status == SIM_STATUS_OK ? sim_capture_check(SIM_CAPTURE_RULE_UNSAFE) : status;
}

/* --- errors, devices ---------------------------------------------------------------------------- */

#define DRIVER_ERRORS(X)                     \
    X(CUDA_SUCCESS)                          \
    X(CUDA_ERROR_INVALID_VALUE)              \
    X(CUDA_ERROR_OUT_OF_MEMORY)              \
    X(CUDA_ERROR_DEINITIALIZED)              \
    X(CUDA_ERROR_NO_DEVICE)                  \
    X(CUDA_ERROR_INVALID_DEVICE)             \
    X(CUDA_ERROR_ECC_UNCORRECTABLE)          \
    X(CUDA_ERROR_INVALID_HANDLE)             \
    X(CUDA_ERROR_NOT_READY)                  \
    X(CUDA_ERROR_ILLEGAL_ADDRESS)            \
    X(CUDA_ERROR_LAUNCH_TIMEOUT)             \
    X(CUDA_ERROR_CONTEXT_IS_DESTROYED)       \
    X(CUDA_ERROR_NOT_SUPPORTED)              \
    X(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) \
    X(CUDA_ERROR_UNKNOWN)

static CUresult get_error_name(CUresult error, const char **name)
{
    sim_note("cuGetErrorName");
    switch ((int)error) {
#define CASE(code)     \
    case code:         \
        *name = #code; \
        return CUDA_SUCCESS;
        DRIVER_ERRORS(CASE)
#undef CASE
    default:
        *name = NULL;
        return CUDA_ERROR_INVALID_VALUE;
    }
}

static CUresult get_error_string(CUresult error, const char **text)
{
    sim_note("cuGetErrorString");
    *text = cudaGetErrorString((cudaError_t)error);
    return CUDA_SUCCESS;
}

static CUresult get_context_state(CUdevice device, unsigned *flags, int *is_active)
{
    sim_status status = sim_enter("cuDevicePrimaryCtxGetState");
    if (status == SIM_STATUS_OK && (device < 0 || device >= sim_device_count()))
        status = SIM_STATUS_INVALID_DEVICE;
    if (status == SIM_STATUS_OK) {
        *flags = 0;
        *is_active = sim_context_is_active(device);
    }
    return answer(status);
}

/* The thread's context is that of its device, if there is one. */
static CUresult get_context_device(CUdevice *device)
{
    sim_status status = sim_enter("cuCtxGetDevice");
    if (status != SIM_STATUS_OK) return answer(status);
    if (!sim_context_is_active(sim_runtime_device())) return CUDA_ERROR_INVALID_CONTEXT;
    *device = sim_runtime_device();
    return CUDA_SUCCESS;
}

/* A thread has the context of its device from cudaSetDevice on; here also before. */
static CUresult get_context(CUcontext *context)
{
    sim_status status = sim_enter("cuCtxGetCurrent");
    static char contexts[8];
    int device = sim_runtime_device();
    if (status == SIM_STATUS_OK)
        *context = sim_context_is_active(device) ? (CUcontext)&contexts[device] : NULL;
    return answer(status);
}

/* Not while any stream of the context is captured: then the captures are invalid. */
static CUresult record_context(CUcontext context, CUevent event)
{
    sim_status status = sim_enter("cuCtxRecordEvent");
    if (status == SIM_STATUS_OK) status = sim_capture_check(SIM_CAPTURE_RULE_CONFLICTS);
    if (status == SIM_STATUS_OK && !context) return CUDA_ERROR_INVALID_CONTEXT;
    if (status == SIM_STATUS_OK) status = sim_event_record_device((sim_event *)event);
    return answer(status);
}

static CUresult get_attribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    sim_status status = sim_enter("cuDeviceGetAttribute");
    if (status == SIM_STATUS_OK && (device < 0 || device >= sim_device_count()))
        status = SIM_STATUS_INVALID_DEVICE;
    if (status == SIM_STATUS_OK) {
        sim_settings settings = sim_get_settings();
        bool is_rich = device != settings.poor_device;
        *value = 0;
        if (attribute == CU_DEVICE_ATTRIBUTE_VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED)
            *value = settings.has_ranges && is_rich;
        if (attribute == CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED)
            *value = settings.has_sharing && is_rich;
    }
    return answer(status);
}

/* --- virtual memory ----------------------------------------------------------------------------- */

static sim_status check_memory(const CUmemAllocationProp *memory)
{
    if (memory->type != CU_MEM_ALLOCATION_TYPE_PINNED ||
        memory->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return SIM_STATUS_INVALID_VALUE;
    if (memory->requestedHandleTypes != CU_MEM_HANDLE_TYPE_NONE &&
        memory->requestedHandleTypes != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return SIM_STATUS_NOT_SUPPORTED;
    return sim_device_check(memory->location.id);
}

static CUresult get_granularity(size_t *granularity, const CUmemAllocationProp *memory,
                                CUmemAllocationGranularity_flags option)
{
    bool is_minimum = option == CU_MEM_ALLOC_GRANULARITY_MINIMUM;
    sim_status status = sim_enter("cuMemGetAllocationGranularity");
    if (status == SIM_STATUS_OK) status = check_memory(memory);
    if (status == SIM_STATUS_OK && !sim_get_settings().has_ranges)
        status = SIM_STATUS_NOT_SUPPORTED;
    if (status == SIM_STATUS_OK)
        *granularity = sim_get_settings().range_granularity_bytes * (is_minimum ? 1 : 2);
    return answer(status);
}

static CUresult address_reserve(CUdeviceptr *pointer, size_t size_bytes, size_t alignment,
                                CUdeviceptr wanted, unsigned long long flags)
{
    void *address = NULL;
    sim_status status = enter_unsafe("cuMemAddressReserve");
    if (status == SIM_STATUS_OK && flags != 0) status = SIM_STATUS_INVALID_VALUE;
    if (status == SIM_STATUS_OK)
        status =
            sim_range_reserve((const void *)(uintptr_t)wanted, size_bytes, alignment, &address);
    if (status == SIM_STATUS_OK) *pointer = (CUdeviceptr)(uintptr_t)address;
    return answer(status);
}

static CUresult address_free(CUdeviceptr pointer, size_t size_bytes)
{
    sim_status status = enter_unsafe("cuMemAddressFree");
    if (status == SIM_STATUS_OK) status = sim_range_free((void *)(uintptr_t)pointer, size_bytes);
    return answer(status);
}

static sim_physical *physical_of(CUmemGenericAllocationHandle handle)
{
    return (sim_physical *)(uintptr_t)handle;
}

static CUresult create(CUmemGenericAllocationHandle *handle, size_t size_bytes,
                       const CUmemAllocationProp *memory, unsigned long long flags)
{
    sim_physical *physical = NULL;
    sim_status status = enter_unsafe("cuMemCreate");
    if (status == SIM_STATUS_OK && flags != 0) status = SIM_STATUS_INVALID_VALUE;
    if (status == SIM_STATUS_OK) status = check_memory(memory);
    if (status == SIM_STATUS_OK) {
        bool is_shareable = memory->requestedHandleTypes != CU_MEM_HANDLE_TYPE_NONE;
        status =
            sim_physical_create_shareable(memory->location.id, size_bytes, is_shareable, &physical);
    }
    if (status == SIM_STATUS_OK) *handle = (CUmemGenericAllocationHandle)(uintptr_t)physical;
    return answer(status);
}

/* Memory that is still mapped stays until it is unmapped. */
static CUresult release(CUmemGenericAllocationHandle handle)
{
    sim_status status = enter_unsafe("cuMemRelease");
    if (status == SIM_STATUS_OK) status = sim_physical_release(physical_of(handle));
    if (status == SIM_STATUS_INVALID_HANDLE) status = SIM_STATUS_INVALID_VALUE;
    return answer(status);
}

static CUresult export_to_handle(void *shared, CUmemGenericAllocationHandle handle,
                                 CUmemAllocationHandleType type, unsigned long long flags)
{
    sim_status status = sim_enter("cuMemExportToShareableHandle");
    if (status == SIM_STATUS_OK && (flags != 0 || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR))
        status = SIM_STATUS_INVALID_VALUE;
    if (status == SIM_STATUS_OK) status = sim_physical_export(physical_of(handle), shared);
    if (status == SIM_STATUS_INVALID_HANDLE) status = SIM_STATUS_INVALID_VALUE;
    return answer(status);
}

static CUresult import_from_handle(CUmemGenericAllocationHandle *handle, void *shared,
                                   CUmemAllocationHandleType type)
{
    sim_physical *physical = NULL;
    sim_status status = enter_unsafe("cuMemImportFromShareableHandle");
    if (status == SIM_STATUS_OK && type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        status = SIM_STATUS_INVALID_VALUE;
    if (status == SIM_STATUS_OK) status = sim_physical_import((int)(intptr_t)shared, &physical);
    if (status == SIM_STATUS_OK) *handle = (CUmemGenericAllocationHandle)(uintptr_t)physical;
    return answer(status);
}

/* Memory that is gone: driver 580 has crashed on its handle, and so does this. */
static void die_of_stale_handle(CUmemGenericAllocationHandle handle)
{
    int device;
    size_t size_bytes;
    if (sim_physical_find(physical_of(handle), &device, &size_bytes) == SIM_STATUS_INVALID_HANDLE)
        abort();
}

/* Whether all of the memory is asked for: parts are for other kinds of memory. */
static bool is_whole(CUmemGenericAllocationHandle handle, size_t size_bytes)
{
    int device;
    size_t whole_bytes;
    return sim_physical_find(physical_of(handle), &device, &whole_bytes) == SIM_STATUS_OK &&
           size_bytes == whole_bytes;
}

static CUresult map(CUdeviceptr pointer, size_t size_bytes, size_t offset_bytes,
                    CUmemGenericAllocationHandle handle, unsigned long long flags)
{
    sim_status status = enter_unsafe("cuMemMap");
    if (status == SIM_STATUS_OK && flags != 0) status = SIM_STATUS_INVALID_VALUE;
    if (status == SIM_STATUS_OK) die_of_stale_handle(handle);
    if (status == SIM_STATUS_OK && (offset_bytes != 0 || !is_whole(handle, size_bytes)))
        status = SIM_STATUS_NOT_SUPPORTED;
    if (status == SIM_STATUS_OK)
        status = sim_map((void *)(uintptr_t)pointer, size_bytes, physical_of(handle), 0);
    return answer(status);
}

/* Unmaps what is mapped there, piece by piece. That there is nothing, or gaps, is no failure, as driver
 * 580 has it; a part of a piece is. */
static sim_status unmap_pieces(char *address, size_t size_bytes)
{
    size_t step_bytes = sim_get_settings().range_granularity_bytes;
    sim_status status = SIM_STATUS_OK;
    for (size_t done = 0; status == SIM_STATUS_OK && done < size_bytes; done += step_bytes) {
        void *start;
        size_t piece_bytes;
        if (!sim_mapping_find(address + done, &start, &piece_bytes, NULL)) continue;
        if (start != address + done || piece_bytes > size_bytes - done)
            return SIM_STATUS_INVALID_VALUE;
        status = sim_unmap(start, piece_bytes);
    }
    return status;
}

static CUresult unmap(CUdeviceptr pointer, size_t size_bytes)
{
    sim_status status = enter_unsafe("cuMemUnmap");
    if (status == SIM_STATUS_OK) status = unmap_pieces((void *)(uintptr_t)pointer, size_bytes);
    return answer(status);
}

static CUresult get_pointer_attribute(void *value, CUpointer_attribute attribute,
                                      CUdeviceptr pointer)
{
    sim_memory memory;
    sim_status status = sim_enter("cuPointerGetAttribute");
    if (status == SIM_STATUS_OK && (attribute != CU_POINTER_ATTRIBUTE_RANGE_START_ADDR ||
                                    !sim_memory_find((void *)(uintptr_t)pointer, &memory)))
        status = SIM_STATUS_INVALID_VALUE;
    if (status == SIM_STATUS_OK) memcpy(value, &memory.address, sizeof memory.address);
    return answer(status);
}

static sim_access access_of(CUmemAccess_flags flags)
{
    if (flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE) return SIM_ACCESS_READ_WRITE;
    return flags == CU_MEM_ACCESS_FLAGS_PROT_READ ? SIM_ACCESS_READ : SIM_ACCESS_NONE;
}

static CUresult set_access(CUdeviceptr pointer, size_t size_bytes, const CUmemAccessDesc *access,
                           size_t count)
{
    sim_status status = enter_unsafe("cuMemSetAccess");
    for (size_t i = 0; status == SIM_STATUS_OK && i < count; i++) {
        if (access[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE)
            return answer(SIM_STATUS_INVALID_VALUE);
        status = sim_set_access((void *)(uintptr_t)pointer, size_bytes, access[i].location.id,
                                access_of(access[i].flags));
    }
    return answer(status);
}

/* --- by name ------------------------------------------------------------------------------------ */

/* A difference in type between the vendor's function and ours does not compile. */
#define CHECK(vendors, ours) \
    _Static_assert(__builtin_types_compatible_p(__typeof__(vendors), __typeof__(ours)), #vendors)
CHECK(cuGetErrorName, get_error_name);
CHECK(cuGetErrorString, get_error_string);
CHECK(cuDevicePrimaryCtxGetState, get_context_state);
CHECK(cuCtxGetDevice, get_context_device);
CHECK(cuCtxGetCurrent, get_context);
CHECK(cuCtxRecordEvent, record_context);
CHECK(cuDeviceGetAttribute, get_attribute);
CHECK(cuMemGetAllocationGranularity, get_granularity);
CHECK(cuMemAddressReserve, address_reserve);
CHECK(cuMemAddressFree, address_free);
CHECK(cuMemCreate, create);
CHECK(cuMemRelease, release);
CHECK(cuMemExportToShareableHandle, export_to_handle);
CHECK(cuMemImportFromShareableHandle, import_from_handle);
CHECK(cuMemMap, map);
CHECK(cuMemUnmap, unmap);
CHECK(cuMemSetAccess, set_access);
CHECK(cuPointerGetAttribute, get_pointer_attribute);

typedef void (*any_function)(void);

static const struct {
    const char *name;
    any_function function;
    bool is_extra; /* which an old driver lacks */
} functions[] = {
    { "cuGetErrorName", (any_function)get_error_name, false },
    { "cuGetErrorString", (any_function)get_error_string, false },
    { "cuDevicePrimaryCtxGetState", (any_function)get_context_state, true },
    { "cuCtxGetDevice", (any_function)get_context_device, false },
    { "cuCtxGetCurrent", (any_function)get_context, false },
    { "cuCtxRecordEvent", (any_function)record_context, true },
    { "cuDeviceGetAttribute", (any_function)get_attribute, false },
    { "cuMemGetAllocationGranularity", (any_function)get_granularity, true },
    { "cuMemAddressReserve", (any_function)address_reserve, true },
    { "cuMemAddressFree", (any_function)address_free, true },
    { "cuMemCreate", (any_function)create, true },
    { "cuMemRelease", (any_function)release, true },
    { "cuMemExportToShareableHandle", (any_function)export_to_handle, true },
    { "cuMemImportFromShareableHandle", (any_function)import_from_handle, true },
    { "cuMemMap", (any_function)map, true },
    { "cuMemUnmap", (any_function)unmap, true },
    { "cuMemSetAccess", (any_function)set_access, true },
    { "cuPointerGetAttribute", (any_function)get_pointer_attribute, false },
};

void *sim_cuda_find_driver_function(const char *name)
{
    bool is_old = sim_get_settings().driver == SIM_DRIVER_WITHOUT_EXTRAS;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (strcmp(functions[i].name, name) != 0) continue;
        if (is_old && functions[i].is_extra) return NULL;
        void *function;
        memcpy(&function, &functions[i].function, sizeof function);
        return function;
    }
    return NULL;
}
