/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * sim_ze_memory: memory and virtual memory, with the answers of Intel's driver where it is known.
 *
 * Memory belongs to a context: to ask after it in another one finds nothing, and to use or free it
 * there is misuse. A plain free does not wait, one with the blocking policy does.
 */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "sim_ze.h"

/* --- memory --------------------------------------------------------------------------------------- */

static sim_status enter_context(const char *name, ze_context_handle_t context)
{
    sim_status status = sim_ze_enter(name);
    return status == SIM_STATUS_OK ? sim_ze_check_context(context) : status;
}

/* The context, whose number has room for the part of the device. */
static const void *owner_of(ze_context_handle_t context, const struct sim_ze_device *device)
{
    return (const void *)((uintptr_t)context + (uintptr_t)(device->part + 1));
}

ze_context_handle_t sim_ze_context_of(const void *owner)
{
    return (ze_context_handle_t)((uintptr_t)owner & ~(uintptr_t)15);
}

static int part_of(const void *owner)
{
    return (int)((uintptr_t)owner & 15) - 1;
}

static bool asks_for_more(const void *extension)
{
    const ze_relaxed_allocation_limits_exp_desc_t *relaxed = extension;
    return relaxed && relaxed->stype == ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXP_DESC &&
           (relaxed->flags & ZE_RELAXED_ALLOCATION_LIMITS_EXP_FLAG_MAX_SIZE) != 0 &&
           sim_ze_has(SIM_ZE_RELAXED_LIMITS);
}

static sim_status allocate(ze_context_handle_t context, const struct sim_ze_device *device,
                           sim_memory_kind kind, const void *extension, size_t size,
                           size_t alignment, void **address)
{
    if (size > sim_ze_allocation_bytes_max() && !asks_for_more(extension))
        return SIM_STATUS_INVALID_SIZE;
    void *given;
    sim_status status = sim_alloc(device->number, kind, size, alignment, &given);
    if (status != SIM_STATUS_OK) return status;
    *address = given;
    return sim_memory_set_owner(given, owner_of(context, device));
}

ze_result_t zeMemAllocDevice(ze_context_handle_t context, const ze_device_mem_alloc_desc_t *desc,
                             size_t size, size_t alignment, ze_device_handle_t handle,
                             void **address)
{
    sim_status status = enter_context(__func__, context);
    const struct sim_ze_device *device = sim_ze_device_of(handle);
    if (status == SIM_STATUS_OK && !device) status = SIM_STATUS_INVALID_HANDLE;
    if (status == SIM_STATUS_OK) {
        status = allocate(context, device, SIM_MEMORY_KIND_DEVICE, desc->pNext, size, alignment,
                          address);
    }
    return sim_ze_answer(status);
}

ze_result_t zeMemAllocHost(ze_context_handle_t context, const ze_host_mem_alloc_desc_t *desc,
                           size_t size, size_t alignment, void **address)
{
    const struct sim_ze_device any = { .number = 0, .part = -1 };
    sim_status status = enter_context(__func__, context);
    if (status == SIM_STATUS_OK) {
        status =
            allocate(context, &any, SIM_MEMORY_KIND_PINNED, desc->pNext, size, alignment, address);
    }
    return sim_ze_answer(status);
}

ze_result_t zeMemAllocShared(ze_context_handle_t context, const ze_device_mem_alloc_desc_t *desc,
                             const ze_host_mem_alloc_desc_t *host_desc, size_t size,
                             size_t alignment, ze_device_handle_t handle, void **address)
{
    sim_status status = enter_context(__func__, context);
    const struct sim_ze_device *device = sim_ze_device_of(handle);
    if (status == SIM_STATUS_OK && !device) status = SIM_STATUS_INVALID_HANDLE;
    if (status == SIM_STATUS_OK) {
        status = allocate(context, device, SIM_MEMORY_KIND_SHARED, desc->pNext, size, alignment,
                          address);
    }
    return sim_ze_answer(status);
}

static void check_context(ze_context_handle_t context, const sim_memory *memory)
{
    if (sim_ze_context_of(memory->owner) != context)
        sim_misuse("memory was freed in another context than its own");
}

ze_result_t zeMemFree(ze_context_handle_t context, void *address)
{
    sim_memory memory;
    sim_status status = enter_context(__func__, context);
    if (status != SIM_STATUS_OK) return sim_ze_answer(status);
    if (sim_memory_find(address, &memory)) check_context(context, &memory);
    return sim_ze_answer(sim_free(address));
}

/* Pinned memory may be in use by any device. */
static sim_status wait_for_work_on(const sim_memory *memory)
{
    sim_status status = SIM_STATUS_OK;
    if (memory->kind != SIM_MEMORY_KIND_PINNED) return sim_device_synchronize(memory->device);
    for (int device = 0; status == SIM_STATUS_OK && device < sim_device_count(); device++)
        status = sim_device_synchronize(device);
    return status;
}

ze_result_t zeMemFreeExt(ze_context_handle_t context, const ze_memory_free_ext_desc_t *desc,
                         void *address)
{
    sim_memory memory;
    sim_status status = enter_context(__func__, context);
    if (status == SIM_STATUS_OK &&
        (desc->freePolicy != ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_BLOCKING_FREE ||
         !sim_ze_has(SIM_ZE_BLOCKING_FREE)))
        status = SIM_STATUS_NOT_SUPPORTED;
    if (status == SIM_STATUS_OK && sim_memory_find(address, &memory)) {
        check_context(context, &memory);
        if (memory.address == address) status = wait_for_work_on(&memory);
    }
    return sim_ze_answer(status == SIM_STATUS_OK ? sim_free(address) : status);
}

/* An address of which nothing is known is no error. */
ze_result_t zeMemGetAllocProperties(ze_context_handle_t context, const void *address,
                                    ze_memory_allocation_properties_t *properties,
                                    ze_device_handle_t *device)
{
    static const ze_memory_type_t types[] = { ZE_MEMORY_TYPE_DEVICE, ZE_MEMORY_TYPE_HOST,
                                              ZE_MEMORY_TYPE_SHARED };
    sim_memory memory;
    sim_status status = enter_context(__func__, context);
    if (status != SIM_STATUS_OK) return sim_ze_answer(status);
    properties->type = ZE_MEMORY_TYPE_UNKNOWN;
    if (device) *device = NULL;
    if (!sim_memory_find(address, &memory) || sim_ze_context_of(memory.owner) != context)
        return ZE_RESULT_SUCCESS;
    properties->type = types[memory.kind];
    properties->id = memory.id;
    properties->pageSize = sim_get_settings().granularity_bytes;
    if (device && memory.kind != SIM_MEMORY_KIND_PINNED)
        *device = sim_ze_device_handle(memory.device, part_of(memory.owner));
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeMemGetAddressRange(ze_context_handle_t context, const void *address, void **base,
                                 size_t *size)
{
    sim_memory memory;
    sim_status status = enter_context(__func__, context);
    if (status != SIM_STATUS_OK) return sim_ze_answer(status);
    if (!sim_memory_find(address, &memory))
        return (ze_result_t)0x78000021; /* ADDRESS_NOT_FOUND, newer than the headers */
    if (base) *base = memory.address;
    if (size) *size = memory.size_bytes;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeContextMakeMemoryResident(ze_context_handle_t context, ze_device_handle_t handle,
                                        void *address, size_t size)
{
    sim_memory memory;
    sim_status status = enter_context(__func__, context);
    const struct sim_ze_device *device = sim_ze_device_of(handle);
    if (status == SIM_STATUS_OK && !device) status = SIM_STATUS_INVALID_HANDLE;
    if (status == SIM_STATUS_OK) status = sim_device_check(device->number);
    if (status == SIM_STATUS_OK && (!sim_memory_find(address, &memory) || size > memory.size_bytes))
        status = SIM_STATUS_INVALID_ADDRESS;
    return sim_ze_answer(status);
}

/* --- sharing --------------------------------------------------------------------------------------- */

/* The driver gives one descriptor for an object, again and again, and closes it with the object. */
struct descriptor {
    struct descriptor *next;
    const void *physical;
    int file_descriptor;
};

static struct descriptor *descriptors;
static pthread_mutex_t descriptors_lock = PTHREAD_MUTEX_INITIALIZER;

static sim_status find_descriptor(const sim_physical *physical, int *file_descriptor_out)
{
    sim_status status = SIM_STATUS_OK;
    pthread_mutex_lock(&descriptors_lock);
    struct descriptor *found = descriptors;
    while (found && found->physical != physical)
        found = found->next;
    if (!found) {
        int file_descriptor;
        status = sim_physical_export(physical, &file_descriptor);
        if (status == SIM_STATUS_OK) {
            found = malloc(sizeof *found);
            if (!found) abort();
            *found = (struct descriptor){ descriptors, physical, file_descriptor };
            descriptors = found;
        }
    }
    if (found) *file_descriptor_out = found->file_descriptor;
    pthread_mutex_unlock(&descriptors_lock);
    return status;
}

static void close_descriptor(const void *physical)
{
    pthread_mutex_lock(&descriptors_lock);
    struct descriptor **link = &descriptors;
    while (*link && (*link)->physical != physical)
        link = &(*link)->next;
    struct descriptor *found = *link;
    if (found) {
        *link = found->next;
        close(found->file_descriptor);
        free(found);
    }
    pthread_mutex_unlock(&descriptors_lock);
}

/* Of the extension that asks for a descriptor; one that asks for another type gets none. */
sim_status sim_ze_physical_export(ze_physical_mem_handle_t physical, void *extension)
{
    ze_external_memory_export_fd_t *wanted = extension;
    if (!wanted || wanted->stype != ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_FD)
        return SIM_STATUS_OK;
    if (wanted->flags != ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD) return SIM_STATUS_INVALID_VALUE;
    return find_descriptor((sim_physical *)physical, &wanted->fd);
}

/* --- virtual memory -------------------------------------------------------------------------------- */

static sim_status enter_ranges(const char *name, ze_context_handle_t context)
{
    sim_status status = enter_context(name, context);
    if (status == SIM_STATUS_OK &&
        (!sim_get_settings().has_ranges || sim_get_settings().driver == SIM_DRIVER_WITHOUT_EXTRAS))
        status = SIM_STATUS_NOT_SUPPORTED;
    return status;
}

/* Small sizes have small pages, of which nothing else here takes any: the trap for whoever asks with
 * another size than the real one. */
ze_result_t zeVirtualMemQueryPageSize(ze_context_handle_t context, ze_device_handle_t handle,
                                      size_t size, size_t *page_bytes)
{
    const size_t small_bytes = 65536;
    sim_status status = enter_ranges(__func__, context);
    if (status == SIM_STATUS_OK && !sim_ze_device_of(handle)) status = SIM_STATUS_INVALID_HANDLE;
    if (status == SIM_STATUS_OK) {
        size_t large_bytes = sim_get_settings().range_granularity_bytes;
        *page_bytes = size < large_bytes && small_bytes < large_bytes ? small_bytes : large_bytes;
    }
    return sim_ze_answer(status);
}

ze_result_t zeVirtualMemReserve(ze_context_handle_t context, const void *start, size_t size,
                                void **address)
{
    sim_status status = enter_ranges(__func__, context);
    if (status != SIM_STATUS_OK) return sim_ze_answer(status);
    status = sim_range_reserve(start, size, 0, address);
    return status == SIM_STATUS_OUT_OF_MEMORY ? ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY
                                              : sim_ze_answer(status);
}

ze_result_t zeVirtualMemFree(ze_context_handle_t context, const void *address, size_t size)
{
    sim_status status = enter_ranges(__func__, context);
    if (status == SIM_STATUS_OK) status = sim_range_free((void *)(uintptr_t)address, size);
    if (status == SIM_STATUS_STILL_MAPPED)
        sim_misuse("a range was freed with something mapped in it");
    return status == SIM_STATUS_INVALID_SIZE ? ZE_RESULT_ERROR_INVALID_ARGUMENT
                                             : sim_ze_answer(status);
}

ze_result_t zePhysicalMemCreate(ze_context_handle_t context, ze_device_handle_t handle,
                                ze_physical_mem_desc_t *desc, ze_physical_mem_handle_t *physical)
{
    sim_physical *created;
    sim_status status = enter_ranges(__func__, context);
    const struct sim_ze_device *device = sim_ze_device_of(handle);
    if (status == SIM_STATUS_OK && !device) status = SIM_STATUS_INVALID_HANDLE;
    const ze_external_memory_export_desc_t *exported = desc->pNext;
    bool is_shareable =
        exported && exported->stype == ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_DESC;
    if (status == SIM_STATUS_OK && is_shareable &&
        exported->flags != ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD)
        status = SIM_STATUS_INVALID_VALUE;
    if (status == SIM_STATUS_OK)
        status = sim_physical_create_shareable(device->number, desc->size, is_shareable, &created);
    if (status == SIM_STATUS_OK) *physical = (ze_physical_mem_handle_t)created;
    return sim_ze_answer(status);
}

ze_result_t zePhysicalMemDestroy(ze_context_handle_t context, ze_physical_mem_handle_t physical)
{
    sim_status status = enter_ranges(__func__, context);
    if (status == SIM_STATUS_OK && sim_physical_mapping_count((sim_physical *)physical) > 0)
        sim_misuse("physical memory was destroyed while it was mapped");
    if (status == SIM_STATUS_OK) status = sim_physical_release((sim_physical *)physical);
    if (status == SIM_STATUS_OK) close_descriptor(physical);
    if (status != SIM_STATUS_INVALID_HANDLE) return sim_ze_answer(status);
    sim_misuse("physical memory was destroyed that is none");
    return ZE_RESULT_SUCCESS;
}

static sim_access access_of(ze_memory_access_attribute_t attribute)
{
    if (attribute == ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE) return SIM_ACCESS_READ_WRITE;
    return attribute == ZE_MEMORY_ACCESS_ATTRIBUTE_READONLY ? SIM_ACCESS_READ : SIM_ACCESS_NONE;
}

/* An object of device memory is mapped once. Whether something is mapped where it goes, Intel's driver
 * notices when it starts at the same address, and not otherwise. */
ze_result_t zeVirtualMemMap(ze_context_handle_t context, const void *address, size_t size,
                            ze_physical_mem_handle_t physical, size_t offset,
                            ze_memory_access_attribute_t attribute)
{
    int device;
    size_t object_bytes;
    void *start = (void *)(uintptr_t)address;
    sim_status status = enter_ranges(__func__, context);
    if (status == SIM_STATUS_OK)
        status = sim_physical_find((sim_physical *)physical, &device, &object_bytes);
    if (status == SIM_STATUS_OK && sim_physical_mapping_count((sim_physical *)physical) > 0)
        status = SIM_STATUS_ALREADY_MAPPED;
    if (status == SIM_STATUS_OK) {
        status = sim_map(start, size, (sim_physical *)physical, offset);
        if (status == SIM_STATUS_ALREADY_MAPPED) sim_misuse("memory was mapped over other memory");
    }
    if (status == SIM_STATUS_OK) status = sim_set_access(start, size, device, access_of(attribute));
    return sim_ze_answer(status);
}

/* One mapping, whole. */
static sim_status find_mapping(const void *address, size_t size, int *device_out)
{
    void *start;
    size_t size_bytes, object_bytes;
    sim_physical *physical;
    if (!sim_mapping_find(address, &start, &size_bytes, &physical) || start != address ||
        size_bytes != size)
        return SIM_STATUS_NOT_MAPPED;
    /* An object that was destroyed already is no reason not to unmap. */
    *device_out = 0;
    sim_physical_find(physical, device_out, &object_bytes);
    return SIM_STATUS_OK;
}

/* That nothing is mapped there is no error. It may be so after a map that failed. */
ze_result_t zeVirtualMemUnmap(ze_context_handle_t context, const void *address, size_t size)
{
    int device;
    sim_status status = enter_ranges(__func__, context);
    if (status != SIM_STATUS_OK) return sim_ze_answer(status);
    status = find_mapping(address, size, &device);
    if (status == SIM_STATUS_OK) return sim_ze_answer(sim_unmap((void *)(uintptr_t)address, size));
    if (sim_fault_count() == 0) sim_misuse("memory was unmapped that is not mapped");
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeVirtualMemSetAccessAttribute(ze_context_handle_t context, const void *address,
                                           size_t size, ze_memory_access_attribute_t attribute)
{
    int device;
    sim_status status = enter_ranges(__func__, context);
    if (status == SIM_STATUS_OK) status = find_mapping(address, size, &device);
    if (status == SIM_STATUS_OK)
        status = sim_set_access((void *)(uintptr_t)address, size, device, access_of(attribute));
    return sim_ze_answer(status);
}
