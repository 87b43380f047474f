/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * host_range: ranges of addresses, and memory that is mapped into them.
 *
 *     reserved    pages that may not be touched: a program that does crashes at once
 *     mapped      pages to read and write, which the system fills with zeros at the first touch
 *
 * Mapping changes the protection of reserved pages. Unmapping replaces the pages by new reserved ones,
 * which gives the old ones back to the system. Mapping must not replace pages: the system would first
 * remove the reserved pages, and could then refuse the memory.
 *
 * Shareable memory is a file without a name, which lives while any process has it open or mapped. Its
 * pages do replace the reserved ones. The system counts no memory for them, so it can only refuse for
 * want of mappings; then reserved pages are put back.
 *
 * Cost: one call of the system, and a search of two short lists. Unmapping runs all tasks of all
 * streams.
 * Threads: any; each operation holds the device's one lock, also during calls of the system, but not while
 * tasks run.
 * Always true: mappings lie in their range and do not overlap.
 */
#include "host_device.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../backend_common/operation.h"
#include "../base/host_memory.h"

/* A tarn_mapping points to such a struct. */
struct tn_host_mapping {
    struct tn_host_mapping *next; /* in the range's list */
    uintptr_t start;
    size_t size_bytes;
    int file; /* the file of the pages, or NO_FILE */
};

#define NO_FILE (-1)

struct tn_host_range {
    struct tn_host_range *next; /* in the device's list */
    uintptr_t start;
    size_t size_bytes;
    struct tn_host_mapping *mappings;
};

/* --- reserving --------------------------------------------------------------------------------- */

static tarn_backend_result range_reserve_locked(struct tn_host_device *device,
                                                struct tn_host_range *range)
{
    void *address = mmap(NULL, range->size_bytes, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    /* The size was checked before, so it can only be too large. valgrind answers EINVAL then. */
    if (address == MAP_FAILED) return tn_host_result(errno == EINVAL ? ENOMEM : errno);
    range->start = (uintptr_t)address;
    range->next = device->ranges;
    device->ranges = range;
    return TARN_BACKEND_RESULT_OK;
}

tarn_backend_result tn_host_range_reserve(void *state, size_t size_bytes, void **address_out)
{
    struct tn_host_device *device = state;
    if (tn_host_is_forked(state)) return tn_backend_result(TARN_STATUS_FORKED);
    tarn_status status =
        tn_backend_check_range_reserve(&device->properties, size_bytes, address_out);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);

    struct tn_host_range *range = tn_host_memory_alloc(sizeof *range);
    if (!range) return tn_backend_result(TARN_STATUS_OUT_OF_HOST_MEMORY);
    *range = (struct tn_host_range){ .size_bytes = size_bytes };
    tn_mutex_lock(&device->lock);
    tarn_backend_result result = range_reserve_locked(device, range);
    tn_mutex_unlock(&device->lock);

    if (result.status == TARN_STATUS_OK) {
        *address_out = (void *)range->start;
    } else {
        tn_host_memory_free(range);
    }
    return result;
}

/* Gives the addresses back to the system. */
static tarn_backend_result range_release_locked(struct tn_host_range **link)
{
    struct tn_host_range *range = *link;
    if (munmap((void *)range->start, range->size_bytes) != 0)
        return tn_host_result_of_return(errno);
    *link = range->next;
    tn_host_memory_free(range);
    return TARN_BACKEND_RESULT_OK;
}

tarn_backend_result tn_host_range_release(void *state, void *address, size_t size_bytes)
{
    struct tn_host_device *device = state;
    if (tn_host_is_forked(state)) return TARN_BACKEND_RESULT_OK;
    tarn_status status = tn_backend_check_range(&device->properties, address, size_bytes);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);

    tarn_backend_result result = tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);
    tn_mutex_lock(&device->lock);
    struct tn_host_range **link = &device->ranges;
    while (*link && (*link)->start != (uintptr_t)address)
        link = &(*link)->next;
    if (*link && (*link)->size_bytes == size_bytes && !(*link)->mappings)
        result = range_release_locked(link);
    tn_mutex_unlock(&device->lock);
    return result;
}

/* --- mapping ----------------------------------------------------------------------------------- */

/* The range that contains all of the addresses, or NULL. Under the lock. */
static struct tn_host_range *range_around_locked(struct tn_host_device *device, uintptr_t start,
                                                 size_t size_bytes)
{
    struct tn_host_range *range = device->ranges;
    while (range && (start < range->start || start + size_bytes > range->start + range->size_bytes))
        range = range->next;
    return range;
}

static bool is_mapped_locked(const struct tn_host_range *range, uintptr_t start, size_t size_bytes)
{
    const struct tn_host_mapping *mapping = range->mappings;
    while (mapping &&
           (start >= mapping->start + mapping->size_bytes || start + size_bytes <= mapping->start))
        mapping = mapping->next;
    return mapping != NULL;
}

/* The system may keep the pages as several mappings, and may have changed the first ones when it
 * refuses. */
static int make_usable(const struct tn_host_mapping *mapping)
{
    if (mprotect((void *)mapping->start, mapping->size_bytes, PROT_READ | PROT_WRITE) == 0)
        return 0;
    int error = errno;
    mprotect((void *)mapping->start, mapping->size_bytes, PROT_NONE);
    return error;
}

/* Replaces the pages by reserved ones. */
static int make_reserved(const struct tn_host_mapping *mapping)
{
    void *address = mmap((void *)mapping->start, mapping->size_bytes, PROT_NONE,
                         MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return address == MAP_FAILED ? errno : 0;
}

/* Replaces the reserved pages by those of the file. */
static int put_file_in_place(const struct tn_host_mapping *mapping)
{
    if (mmap((void *)mapping->start, mapping->size_bytes, PROT_READ | PROT_WRITE,
             MAP_FIXED | MAP_SHARED, mapping->file, 0) != MAP_FAILED)
        return 0;
    int error = errno;
    (void)make_reserved(mapping);
    return error;
}

/* Maps the pages and adds them to used_bytes. Under the lock. */
static tarn_backend_result mapping_map_locked(struct tn_host_device *device,
                                              struct tn_host_mapping *mapping)
{
    struct tn_host_range *range = range_around_locked(device, mapping->start, mapping->size_bytes);
    if (!range || is_mapped_locked(range, mapping->start, mapping->size_bytes))
        return tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);
    if (mapping->size_bytes > device->memory_bytes - device->used_bytes)
        return tn_backend_result(TARN_STATUS_OUT_OF_MEMORY);
    int error = mapping->file == NO_FILE ? make_usable(mapping) : put_file_in_place(mapping);
    if (error != 0) return tn_host_result(error);

    mapping->next = range->mappings;
    range->mappings = mapping;
    device->used_bytes += mapping->size_bytes;
    return TARN_BACKEND_RESULT_OK;
}

/* Maps pages of the file, or plain memory for NO_FILE. */
static tarn_backend_result map(struct tn_host_device *device, void *address, size_t size_bytes,
                               int file, tarn_mapping *mapping_out)
{
    struct tn_host_mapping *mapping = tn_host_memory_alloc(sizeof *mapping);
    if (!mapping) return tn_backend_result(TARN_STATUS_OUT_OF_HOST_MEMORY);
    *mapping = (struct tn_host_mapping){ .start = (uintptr_t)address,
                                         .size_bytes = size_bytes,
                                         .file = file };
    tn_mutex_lock(&device->lock);
    tarn_backend_result result = mapping_map_locked(device, mapping);
    tn_mutex_unlock(&device->lock);

    if (result.status == TARN_STATUS_OK) {
        *mapping_out = mapping;
    } else {
        tn_host_memory_free(mapping);
    }
    return result;
}

tarn_backend_result tn_host_range_map(void *state, void *address, size_t size_bytes,
                                      tarn_mapping *mapping_out)
{
    struct tn_host_device *device = state;
    if (tn_host_is_forked(state)) return tn_backend_result(TARN_STATUS_FORKED);
    tarn_status status =
        tn_backend_check_range_map(&device->properties, address, size_bytes, mapping_out);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);
    return map(device, address, size_bytes, NO_FILE, mapping_out);
}

/* The link in the range's list that points to the mapping, or the last link, which is NULL. Under the
 * lock. */
static struct tn_host_mapping **mapping_link_locked(struct tn_host_range *range,
                                                    const struct tn_host_mapping *mapping)
{
    struct tn_host_mapping **link = &range->mappings;
    while (*link && *link != mapping)
        link = &(*link)->next;
    return link;
}

/* The link that points to the mapping, if it has exactly this address and size; else NULL. Under the
 * lock. */
static struct tn_host_mapping **find_mapping_locked(struct tn_host_device *device, void *address,
                                                    size_t size_bytes,
                                                    const struct tn_host_mapping *mapping)
{
    struct tn_host_range *range = range_around_locked(device, (uintptr_t)address, size_bytes);
    struct tn_host_mapping **link = range ? mapping_link_locked(range, mapping) : NULL;
    bool is_it =
        link && *link && (*link)->start == (uintptr_t)address && (*link)->size_bytes == size_bytes;
    return is_it ? link : NULL;
}

static bool has_mapping(struct tn_host_device *device, void *address, size_t size_bytes,
                        const struct tn_host_mapping *mapping)
{
    tn_mutex_lock(&device->lock);
    bool is_there = find_mapping_locked(device, address, size_bytes, mapping) != NULL;
    tn_mutex_unlock(&device->lock);
    return is_there;
}

/* Replaces the mapping's pages by reserved ones and takes it from used_bytes. Under the lock. */
static tarn_backend_result mapping_unmap_locked(struct tn_host_device *device,
                                                struct tn_host_mapping **link)
{
    struct tn_host_mapping *mapping = *link;
    int error = make_reserved(mapping);
    if (error != 0) return tn_host_result_of_return(error);
    if (mapping->file != NO_FILE) close(mapping->file);
    *link = mapping->next;
    device->used_bytes -= mapping->size_bytes;
    tn_host_memory_free(mapping);
    return TARN_BACKEND_RESULT_OK;
}

tarn_backend_result tn_host_range_unmap(void *state, void *address, size_t size_bytes,
                                        tarn_mapping mapping)
{
    struct tn_host_device *device = state;
    if (tn_host_is_forked(state)) return TARN_BACKEND_RESULT_OK;
    tarn_status status = tn_backend_check_range(&device->properties, address, size_bytes);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);

    tarn_backend_result result = tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);
    if (has_mapping(device, address, size_bytes, mapping)) result = tn_host_synchronize(state);
    if (result.status != TARN_STATUS_OK) return result;
    tn_mutex_lock(&device->lock);
    struct tn_host_mapping **link = find_mapping_locked(device, address, size_bytes, mapping);
    result = link ? mapping_unmap_locked(device, link)
                  : tn_backend_result(TARN_STATUS_INVALID_ARGUMENT); /* unmapped meanwhile */
    tn_mutex_unlock(&device->lock);
    return result;
}

/* --- sharing ----------------------------------------------------------------------------------- */

#ifdef MFD_CLOEXEC

bool tn_host_has_shareable_ranges(void)
{
    return true;
}

/* If a file exceeds the process's limit, the system does not refuse: it ends the process by a signal. */
static bool is_within_limit(size_t size_bytes)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
           size_bytes <= limit.rlim_cur;
}

/* Returns a negative number and sets errno on failure. */
static int create_file(size_t size_bytes)
{
    if (!is_within_limit(size_bytes)) {
        errno = EFBIG;
        return -1;
    }
    int file = memfd_create("tarn", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, (off_t)size_bytes) == 0) return file;
    int error = errno;
    close(file);
    errno = error;
    return -1;
}

#else

bool tn_host_has_shareable_ranges(void)
{
    return false;
}

static int create_file(size_t size_bytes)
{
    (void)size_bytes;
    errno = ENOSYS;
    return -1;
}

#endif

tarn_backend_result tn_host_range_map_shareable(void *state, void *address, size_t size_bytes,
                                                tarn_mapping *mapping_out)
{
    struct tn_host_device *device = state;
    if (tn_host_is_forked(state)) return tn_backend_result(TARN_STATUS_FORKED);
    tarn_status status = tn_backend_check_shareable(&device->properties);
    if (status == TARN_STATUS_OK)
        status = tn_backend_check_range_map(&device->properties, address, size_bytes, mapping_out);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);

    int file = create_file(size_bytes);
    if (file < 0) return tn_host_result(errno);
    tarn_backend_result result = map(device, address, size_bytes, file, mapping_out);
    if (result.status != TARN_STATUS_OK) close(file);
    return result;
}

tarn_backend_result tn_host_range_export(void *state, void *address, size_t size_bytes,
                                         tarn_mapping mapping, int *file_descriptor_out)
{
    struct tn_host_device *device = state;
    if (tn_host_is_forked(state)) return tn_backend_result(TARN_STATUS_FORKED);
    tarn_status status = tn_backend_check_range_export(&device->properties, address, size_bytes,
                                                       file_descriptor_out);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);

    tarn_backend_result result = tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);
    tn_mutex_lock(&device->lock);
    struct tn_host_mapping **link = find_mapping_locked(device, address, size_bytes, mapping);
    if (link && (*link)->file != NO_FILE) {
        int copy = fcntl((*link)->file, F_DUPFD_CLOEXEC, 0);
        result = tn_host_result(copy < 0 ? errno : 0);
        if (copy >= 0) *file_descriptor_out = copy;
    }
    tn_mutex_unlock(&device->lock);
    return result;
}
