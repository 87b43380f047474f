/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* sim_range: addresses without memory, memory without addresses, and mappings that join the two. */
#define _GNU_SOURCE /* memfd_create */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sim_state.h"

struct range {
    struct range *next;
    uintptr_t start;
    size_t size_bytes;
    void *system_address;
    size_t system_bytes;
};

/* A sim_physical handle stands for one. */
struct physical {
    struct sim_handle handle;
    struct sim_content *content;
    size_t size_bytes;
    size_t mapping_count;
    unsigned reference_count; /* without any it goes with its last mapping */
    bool is_shareable;
};

static struct range *ranges;
static struct sim_table physicals;

/* --- sizes ------------------------------------------------------------------------------------- */

static bool is_whole(size_t value)
{
    return value % sim_machine.settings.range_granularity_bytes == 0;
}

static sim_status check_size(size_t size_bytes)
{
    if (!sim_machine.settings.has_ranges ||
        sim_machine.settings.driver == SIM_DRIVER_WITHOUT_EXTRAS)
        return SIM_STATUS_NOT_SUPPORTED;
    if (size_bytes == 0 || !is_whole(size_bytes)) return SIM_STATUS_INVALID_SIZE;
    return SIM_STATUS_OK;
}

static sim_status check_area(const void *address, size_t size_bytes)
{
    sim_status status = check_size(size_bytes);
    if (status != SIM_STATUS_OK) return status;
    return is_whole((uintptr_t)address) ? SIM_STATUS_OK : SIM_STATUS_INVALID_ALIGNMENT;
}

/* --- ranges ------------------------------------------------------------------------------------ */

static struct range *range_of(const void *address)
{
    struct range *range = ranges;
    while (range && (uintptr_t)address - range->start >= range->size_bytes)
        range = range->next;
    return range;
}

static sim_status reserve_locked(const void *hint, size_t size_bytes, size_t alignment,
                                 void **address_out)
{
    size_t granularity = sim_machine.settings.range_granularity_bytes;
    if (alignment == 0) alignment = granularity;
    sim_status status = check_size(size_bytes);
    if (status != SIM_STATUS_OK) return status;
    if (!sim_is_power_of_two(alignment)) return SIM_STATUS_INVALID_ALIGNMENT;
    if (alignment < granularity) alignment = granularity;
    if (size_bytes > SIZE_MAX / 4 || alignment > SIZE_MAX / 8) return SIM_STATUS_OUT_OF_MEMORY;

    struct range range = { .next = ranges, .size_bytes = size_bytes };
    void *address =
        sim_take_addresses(hint, size_bytes, alignment, &range.system_address, &range.system_bytes);
    if (!address) return SIM_STATUS_OUT_OF_MEMORY;
    range.start = (uintptr_t)address;
    ranges = sim_allocate(sizeof range);
    *ranges = range;
    *address_out = address;
    return SIM_STATUS_OK;
}

sim_status sim_range_reserve(const void *hint, size_t size_bytes, size_t alignment_bytes,
                             void **address_out)
{
    sim_lock();
    sim_status status = reserve_locked(hint, size_bytes, alignment_bytes, address_out);
    sim_unlock();
    return status;
}

/* The first mapping in the range; NULL: there is none. */
static struct sim_place *first_mapping_in(const struct range *range)
{
    struct sim_place *place = sim_place_from_locked(range->start);
    return place && place->start - range->start < range->size_bytes ? place : NULL;
}

static void mapping_destroy_locked(struct sim_place *place);

static void range_destroy_locked(struct range *range)
{
    struct sim_place *place;
    while ((place = first_mapping_in(range)) != NULL)
        mapping_destroy_locked(place);
    struct range **link = &ranges;
    while (*link != range)
        link = &(*link)->next;
    *link = range->next;
    munmap(range->system_address, range->system_bytes);
    free(range);
}

/* What was mapped from a device that was lost is in nobody's way. */
static sim_status range_free_locked(const void *address, size_t size_bytes)
{
    struct range *range = range_of(address);
    if (!range || range->start != (uintptr_t)address) return SIM_STATUS_INVALID_ADDRESS;
    if (range->size_bytes != size_bytes) return SIM_STATUS_INVALID_SIZE;
    const struct sim_place *first = first_mapping_in(range);
    if (first && !first->is_gone) return SIM_STATUS_STILL_MAPPED;
    range_destroy_locked(range);
    return SIM_STATUS_OK;
}

sim_status sim_range_free(void *address, size_t size_bytes)
{
    sim_lock();
    sim_status status = range_free_locked(address, size_bytes);
    sim_unlock();
    return status;
}

bool sim_range_find(const void *address, void **start_out, size_t *size_bytes_out)
{
    sim_lock();
    const struct range *range = range_of(address);
    if (range) {
        *start_out = (void *)range->start;
        *size_bytes_out = range->size_bytes;
    }
    sim_unlock();
    return range != NULL;
}

size_t sim_range_count_locked(void)
{
    size_t count = 0;
    for (const struct range *range = ranges; range; range = range->next)
        count++;
    return count;
}

/* --- physical objects -------------------------------------------------------------------------- */

/* A handle that was released is as good as before until the last mapping goes, but for releasing it. */
static struct physical *physical_of(const sim_physical *handle)
{
    return sim_table_find_locked(&physicals, handle);
}

static sim_status physical_create_locked(int device, size_t size_bytes, bool is_shareable,
                                         sim_physical **physical_out)
{
    sim_status status = sim_device_check_locked(device);
    if (status == SIM_STATUS_OK) status = check_size(size_bytes);
    if (status == SIM_STATUS_OK && is_shareable && !sim_machine.settings.has_sharing)
        status = SIM_STATUS_NOT_SUPPORTED;
    if (status != SIM_STATUS_OK) return status;
    if (size_bytes > SIZE_MAX / 4) return SIM_STATUS_OUT_OF_MEMORY;
    struct sim_content *content;
    status = sim_content_create_locked(device, SIM_MEMORY_KIND_DEVICE, size_bytes, &content);
    if (status != SIM_STATUS_OK) return status;
    struct physical *physical = sim_allocate(sizeof *physical);
    physical->content = content;
    physical->size_bytes = size_bytes;
    physical->reference_count = 1;
    physical->is_shareable = is_shareable;
    *physical_out = sim_table_insert_locked(&physicals, &physical->handle, device);
    return SIM_STATUS_OK;
}

sim_status sim_physical_create(int device, size_t size_bytes, sim_physical **physical_out)
{
    return sim_physical_create_shareable(device, size_bytes, false, physical_out);
}

sim_status sim_physical_create_shareable(int device, size_t size_bytes, bool is_shareable,
                                         sim_physical **physical_out)
{
    sim_lock();
    sim_status status = physical_create_locked(device, size_bytes, is_shareable, physical_out);
    sim_unlock();
    return status;
}

/* The descriptor is of a file that holds the handle. */
static sim_status write_handle(const sim_physical *handle, int *file_descriptor_out)
{
    int file = memfd_create("sim", MFD_CLOEXEC);
    if (file < 0) return SIM_STATUS_UNKNOWN;
    if (write(file, &handle, sizeof handle) != (ssize_t)sizeof handle) {
        close(file);
        return SIM_STATUS_UNKNOWN;
    }
    *file_descriptor_out = file;
    return SIM_STATUS_OK;
}

sim_status sim_physical_export(const sim_physical *handle, int *file_descriptor_out)
{
    sim_lock();
    const struct physical *physical = physical_of(handle);
    sim_status status = physical ? SIM_STATUS_OK : SIM_STATUS_INVALID_HANDLE;
    if (status == SIM_STATUS_OK) status = sim_device_check_locked(physical->handle.device);
    if (status == SIM_STATUS_OK && !physical->is_shareable) status = SIM_STATUS_INVALID_VALUE;
    if (status == SIM_STATUS_OK) status = write_handle(handle, file_descriptor_out);
    sim_unlock();
    return status;
}

sim_status sim_physical_import(int file_descriptor, sim_physical **physical_out)
{
    sim_physical *handle;
    if (pread(file_descriptor, &handle, sizeof handle, 0) != (ssize_t)sizeof handle)
        return SIM_STATUS_INVALID_HANDLE;
    sim_lock();
    struct physical *physical = physical_of(handle);
    if (physical) {
        physical->reference_count++;
        *physical_out = handle;
    }
    sim_unlock();
    return physical ? SIM_STATUS_OK : SIM_STATUS_INVALID_HANDLE;
}

static void physical_destroy_if_unused_locked(struct physical *physical)
{
    if (physical->reference_count > 0 || physical->mapping_count > 0) return;
    sim_table_remove_locked(&physicals, &physical->handle);
    sim_content_destroy_locked(physical->content);
    free(physical);
}

static sim_status physical_release_locked(const sim_physical *handle)
{
    struct physical *physical = physical_of(handle);
    if (!physical || physical->reference_count == 0) return SIM_STATUS_INVALID_HANDLE;
    sim_status status = sim_device_check_locked(physical->handle.device);
    if (status == SIM_STATUS_DEVICE_LOST) return status;
    physical->reference_count--;
    physical_destroy_if_unused_locked(physical);
    return SIM_STATUS_OK;
}

sim_status sim_physical_release(sim_physical *handle)
{
    sim_lock();
    sim_status status = physical_release_locked(handle);
    sim_unlock();
    return status;
}

size_t sim_physical_mapping_count(const sim_physical *handle)
{
    sim_lock();
    const struct physical *physical = physical_of(handle);
    size_t count = physical ? physical->mapping_count : 0;
    sim_unlock();
    return count;
}

sim_status sim_physical_find(const sim_physical *handle, int *device_out, size_t *size_bytes_out)
{
    sim_lock();
    const struct physical *physical = physical_of(handle);
    if (physical) {
        *device_out = physical->handle.device;
        *size_bytes_out = physical->size_bytes;
    }
    sim_unlock();
    return physical ? SIM_STATUS_OK : SIM_STATUS_INVALID_HANDLE;
}

size_t sim_physical_count_locked(void)
{
    size_t count = 0;
    for (size_t i = 0; i < physicals.count; i++) {
        const struct physical *physical = (const struct physical *)physicals.items[i];
        if (!physical->handle.is_gone) count += physical->reference_count;
    }
    return count;
}

void sim_physicals_mark_gone_locked(int device)
{
    sim_table_mark_gone_locked(&physicals, device);
}

/* --- mappings ---------------------------------------------------------------------------------- */

static sim_status check_mapping(const void *address, size_t size_bytes,
                                const struct physical *physical, size_t offset_bytes)
{
    sim_status status = check_area(address, size_bytes);
    if (status != SIM_STATUS_OK) return status;
    if (!physical) return SIM_STATUS_INVALID_HANDLE;
    status = sim_device_check_locked(physical->handle.device);
    if (status == SIM_STATUS_DEVICE_LOST) return status;
    if (!is_whole(offset_bytes)) return SIM_STATUS_INVALID_SIZE;
    if (offset_bytes > physical->size_bytes || size_bytes > physical->size_bytes - offset_bytes)
        return SIM_STATUS_INVALID_VALUE;
    const struct range *range = range_of(address);
    if (!range || size_bytes > range->size_bytes - ((uintptr_t)address - range->start))
        return SIM_STATUS_INVALID_ADDRESS;
    if (sim_place_find_locked(address)) return SIM_STATUS_ALREADY_MAPPED;
    const struct sim_place *next = sim_place_from_locked((uintptr_t)address);
    if (next && next->start - (uintptr_t)address < size_bytes) return SIM_STATUS_ALREADY_MAPPED;
    return SIM_STATUS_OK;
}

sim_status sim_map(void *address, size_t size_bytes, sim_physical *handle, size_t offset_bytes)
{
    sim_lock();
    struct physical *physical = physical_of(handle);
    sim_status status = check_mapping(address, size_bytes, physical, offset_bytes);
    if (status == SIM_STATUS_OK) {
        struct sim_place *place = sim_allocate(sizeof *place);
        *place = (struct sim_place){
            .start = (uintptr_t)address,
            .size_bytes = size_bytes,
            .content = physical->content,
            .offset_bytes = offset_bytes,
            .physical = handle,
        };
        sim_place_insert_locked(place);
        physical->mapping_count++;
    }
    sim_unlock();
    return status;
}

/* A mapping at an address inside; NULL for an allocation, too. */
static struct sim_place *mapping_of(const void *address)
{
    struct sim_place *place = sim_place_find_locked(address);
    return place && place->physical ? place : NULL;
}

bool sim_mapping_find(const void *address, void **start_out, size_t *size_bytes_out,
                      sim_physical **physical_out)
{
    sim_lock();
    const struct sim_place *place = mapping_of(address);
    if (place) {
        if (start_out) *start_out = (void *)place->start;
        if (size_bytes_out) *size_bytes_out = place->size_bytes;
        if (physical_out) *physical_out = place->physical;
    }
    sim_unlock();
    return place != NULL;
}

/* Whether whole mappings fill the area without gaps, on devices that can be used. */
static sim_status check_mappings(const void *address, size_t size_bytes)
{
    sim_status status = check_area(address, size_bytes);
    if (status != SIM_STATUS_OK) return status;
    size_t covered = 0;
    while (covered < size_bytes) {
        const struct sim_place *place = mapping_of((const char *)address + covered);
        if (!place || place->start != (uintptr_t)address + covered) return SIM_STATUS_NOT_MAPPED;
        if (place->is_gone) return SIM_STATUS_DEVICE_LOST;
        covered += place->size_bytes;
    }
    return covered == size_bytes ? SIM_STATUS_OK : SIM_STATUS_NOT_MAPPED;
}

sim_status sim_set_access(void *address, size_t size_bytes, int device, sim_access access)
{
    sim_lock();
    sim_status status = check_mappings(address, size_bytes);
    if (status == SIM_STATUS_OK && (device < 0 || device >= sim_machine.settings.device_count))
        status = SIM_STATUS_INVALID_DEVICE;
    for (size_t done = 0; status == SIM_STATUS_OK && done < size_bytes;) {
        struct sim_place *place = mapping_of((char *)address + done);
        place->access[device] = access;
        done += place->size_bytes;
    }
    sim_unlock();
    return status;
}

sim_status sim_get_access(const void *address, int device, sim_access *access_out)
{
    sim_lock();
    const struct sim_place *place = mapping_of(address);
    sim_status status = place ? SIM_STATUS_OK : SIM_STATUS_NOT_MAPPED;
    if (status == SIM_STATUS_OK && (device < 0 || device >= sim_machine.settings.device_count))
        status = SIM_STATUS_INVALID_DEVICE;
    if (status == SIM_STATUS_OK) *access_out = place->access[device];
    sim_unlock();
    return status;
}

static void mapping_destroy_locked(struct sim_place *place)
{
    struct physical *physical = sim_table_find_locked(&physicals, place->physical);
    sim_place_remove_locked(place);
    free(place);
    physical->mapping_count--;
    physical_destroy_if_unused_locked(physical);
}

sim_status sim_unmap(void *address, size_t size_bytes)
{
    sim_lock();
    sim_status status = check_mappings(address, size_bytes);
    if (status == SIM_STATUS_OK) {
        if (sim_spoil_work_on_locked((uintptr_t)address, size_bytes))
            sim_misuse_locked("memory was unmapped under pending work");
        for (size_t done = 0; done < size_bytes;) {
            struct sim_place *place = mapping_of((char *)address + done);
            done += place->size_bytes;
            mapping_destroy_locked(place);
        }
    }
    sim_unlock();
    return status;
}

/* --- the end ----------------------------------------------------------------------------------- */

void sim_range_reset_locked(void)
{
    while (ranges)
        range_destroy_locked(ranges);
    while (physicals.count > 0) {
        struct physical *physical = (struct physical *)physicals.items[physicals.count - 1];
        physical->reference_count = 0;
        physical_destroy_if_unused_locked(physical);
    }
    free(physicals.items);
    physicals = (struct sim_table){ 0 };
}
