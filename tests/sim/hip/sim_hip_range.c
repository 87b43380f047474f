/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * sim_hip_range: HIP's virtual memory calls over the simulated devices.
 *
 * What differs from CUDA's, or from version to version, and is modelled as its weakest:
 *
 *   - A size that is no multiple of the granularity is OutOfMemory when reserving.
 *   - The recommended granularity is larger than the smallest, and addresses are multiples of the
 *     smallest where nobody says how they are to be aligned.
 *   - One unmapping undoes one mapping, whole; several at once are refused.
 *   - Access is set for one mapping, whole.
 *   - Up to 6.3 a mapping that the system refuses, for want of file descriptors, is answered with
 *     success. A test has hipMemMap fail so by scripting it OUT_OF_HOST_MEMORY.
 *   - What is not mapped must not be unmapped: the runtime crashes, and here it counts as misuse.
 */
#include "../sim_runtime.h"

/* hipMemAllocationProp from 5.3 on, whichever headers there are: it had another order before, and no runtime had ranges. */
struct properties {
    int type, handle_type;
    hipMemLocation location;
};

static const struct properties *properties_of(const hipMemAllocationProp *memory)
{
    return (const void *)memory;
}

static sim_status check_memory(const struct properties *memory)
{
    if (memory->type != hipMemAllocationTypePinned ||
        memory->location.type != hipMemLocationTypeDevice)
        return SIM_STATUS_INVALID_VALUE;
    if (memory->handle_type != hipMemHandleTypeNone &&
        memory->handle_type != hipMemHandleTypePosixFileDescriptor)
        return SIM_STATUS_NOT_SUPPORTED;
    if (memory->location.id < 0 || memory->location.id >= sim_device_count())
        return SIM_STATUS_INVALID_VALUE;
    return sim_device_check(memory->location.id);
}

static sim_physical *physical_of(hipMemGenericAllocationHandle_t handle)
{
    return (sim_physical *)(void *)handle;
}

hipError_t hipMemGetAllocationGranularity(size_t *granularity_bytes,
                                          const hipMemAllocationProp *memory,
                                          hipMemAllocationGranularity_flags option)
{
    bool is_minimum = option == hipMemAllocationGranularityMinimum;
    sim_status status = sim_runtime_begin("hipMemGetAllocationGranularity");
    if (status == SIM_STATUS_OK) status = check_memory(properties_of(memory));
    if (status == SIM_STATUS_OK && !sim_get_settings().has_ranges)
        status = SIM_STATUS_NOT_SUPPORTED;
    if (status == SIM_STATUS_OK)
        *granularity_bytes = sim_get_settings().range_granularity_bytes * (is_minimum ? 1 : 2);
    return sim_runtime_answer(status);
}

hipError_t hipMemAddressReserve(void **address, size_t size_bytes, size_t alignment_bytes,
                                void *wanted, unsigned long long flags)
{
    sim_status status = sim_runtime_begin_unsafe("hipMemAddressReserve");
    if (status == SIM_STATUS_OK && flags != 0) status = SIM_STATUS_INVALID_VALUE;
    if (status == SIM_STATUS_OK)
        status = sim_range_reserve(wanted, size_bytes, alignment_bytes, address);
    return sim_runtime_answer(status == SIM_STATUS_INVALID_SIZE ? SIM_STATUS_OUT_OF_MEMORY
                                                                : status);
}

hipError_t hipMemAddressFree(void *address, size_t size_bytes)
{
    sim_status status = sim_runtime_begin_unsafe("hipMemAddressFree");
    if (status == SIM_STATUS_OK) status = sim_range_free(address, size_bytes);
    return sim_runtime_answer(status);
}

hipError_t hipMemCreate(hipMemGenericAllocationHandle_t *handle, size_t size_bytes,
                        const hipMemAllocationProp *memory, unsigned long long flags)
{
    sim_physical *physical = NULL;
    sim_status status = sim_runtime_begin_unsafe("hipMemCreate");
    if (status == SIM_STATUS_OK && flags != 0) status = SIM_STATUS_INVALID_VALUE;
    if (status == SIM_STATUS_OK) status = check_memory(properties_of(memory));
    if (status == SIM_STATUS_OK) {
        bool is_shareable = properties_of(memory)->handle_type != hipMemHandleTypeNone;
        status = sim_physical_create_shareable(properties_of(memory)->location.id, size_bytes,
                                               is_shareable, &physical);
    }
    if (status == SIM_STATUS_OK) *handle = (hipMemGenericAllocationHandle_t)(void *)physical;
    return sim_runtime_answer(status);
}

/* Memory that is still mapped stays until it is unmapped. */
hipError_t hipMemRelease(hipMemGenericAllocationHandle_t handle)
{
    sim_status status = sim_runtime_begin_unsafe("hipMemRelease");
    if (status == SIM_STATUS_OK && !handle) status = SIM_STATUS_INVALID_VALUE;
    if (status == SIM_STATUS_OK) status = sim_physical_release(physical_of(handle));
    return sim_runtime_answer(status);
}

hipError_t hipMemExportToShareableHandle(void *shared, hipMemGenericAllocationHandle_t handle,
                                         hipMemAllocationHandleType type, unsigned long long flags)
{
    sim_status status = sim_runtime_begin("hipMemExportToShareableHandle");
    if (status == SIM_STATUS_OK && (flags != 0 || type != hipMemHandleTypePosixFileDescriptor))
        status = SIM_STATUS_INVALID_VALUE;
    if (status == SIM_STATUS_OK) status = sim_physical_export(physical_of(handle), shared);
    if (status == SIM_STATUS_INVALID_HANDLE) status = SIM_STATUS_INVALID_VALUE;
    return sim_runtime_answer(status);
}

hipError_t hipMemMap(void *address, size_t size_bytes, size_t offset_bytes,
                     hipMemGenericAllocationHandle_t handle, unsigned long long flags)
{
    sim_status status = sim_runtime_begin_unsafe("hipMemMap");
    if (status == SIM_STATUS_OUT_OF_HOST_MEMORY) return sim_runtime_answer(SIM_STATUS_OK);
    if (status == SIM_STATUS_OK && (flags != 0 || offset_bytes != 0))
        status = SIM_STATUS_INVALID_VALUE;
    if (status == SIM_STATUS_OK) status = sim_map(address, size_bytes, physical_of(handle), 0);
    return sim_runtime_answer(status);
}

/* Whether exactly one mapping starts at the address and has the size. */
static bool is_one_mapping(const void *address, size_t size_bytes)
{
    void *start;
    size_t mapped_bytes;
    return sim_mapping_find(address, &start, &mapped_bytes, NULL) && start == address &&
           mapped_bytes == size_bytes;
}

hipError_t hipMemUnmap(void *address, size_t size_bytes)
{
    sim_status status = sim_runtime_begin_unsafe("hipMemUnmap");
    if (status == SIM_STATUS_OK && !sim_mapping_find(address, NULL, NULL, NULL))
        sim_misuse("hipMemUnmap of what is not mapped");
    if (status == SIM_STATUS_OK && !is_one_mapping(address, size_bytes))
        status = SIM_STATUS_NOT_MAPPED;
    if (status == SIM_STATUS_OK) status = sim_unmap(address, size_bytes);
    return sim_runtime_answer(status);
}

static sim_access access_of(hipMemAccessFlags flags)
{
    if (flags == hipMemAccessFlagsProtReadWrite) return SIM_ACCESS_READ_WRITE;
    return flags == hipMemAccessFlagsProtRead ? SIM_ACCESS_READ : SIM_ACCESS_NONE;
}

hipError_t hipMemSetAccess(void *address, size_t size_bytes, const hipMemAccessDesc *access,
                           size_t count)
{
    sim_status status = sim_runtime_begin_unsafe("hipMemSetAccess");
    if (status == SIM_STATUS_OK && !is_one_mapping(address, size_bytes))
        status = SIM_STATUS_NOT_MAPPED;
    for (size_t i = 0; status == SIM_STATUS_OK && i < count; i++)
        status =
            sim_set_access(address, size_bytes, access[i].location.id, access_of(access[i].flags));
    return sim_runtime_answer(status);
}
