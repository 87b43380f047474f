/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * host_backend: a device made of the machine's own memory.
 *
 * A piece is an anonymous private mapping without reserved swap. A large piece costs nothing until it
 * is touched, so the system would promise more memory than the machine has. This backend sets the limit:
 * pieces and mappings in ranges together never exceed the device's memory. That is the machine's memory,
 * unless the options set another size.
 *
 * Memory of each kind is this memory, under its own name, so that a program for a device runs as it is.
 *
 * Cost: acquire is one mmap. Release runs all tasks of all streams, since the frees of vendors wait
 * too, then one munmap. It searches the list of pieces, which is short.
 * Threads: any; each operation holds the device's one lock, also during calls of the system, but not while
 * tasks run.
 * Always true: used_bytes is the sum of mapped_bytes of all pieces and of the sizes of all mappings,
 * and at most memory_bytes.
 */
#include "tarn/host.h"

#include <errno.h>
#include <sys/mman.h>

#include "../backend_common/opening.h"
#include "../backend_common/operation.h"
#include "../backend_common/system_memory.h"
#include "../base/arith.h"
#include "../base/error.h"
#include "../base/host_memory.h"
#include "../base/struct_size.h"
#include "host_device.h"

/* A piece of memory that was acquired and not yet released. */
struct tn_host_piece {
    struct tn_host_piece *next;
    void *address;
    size_t size_bytes;   /* the size that was asked for */
    size_t mapped_bytes; /* that size in whole pages */
};

/* --- memory ------------------------------------------------------------------------------------ */

/* Maps the piece and adds it to used_bytes. Under the lock. */
static tarn_backend_result piece_map_locked(struct tn_host_device *device,
                                            struct tn_host_piece *piece)
{
    if (piece->mapped_bytes > device->memory_bytes - device->used_bytes)
        return tn_backend_result(TARN_STATUS_OUT_OF_MEMORY);
    void *address = mmap(NULL, piece->mapped_bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (address == MAP_FAILED) return tn_host_result(errno);

    piece->address = address;
    piece->next = device->pieces;
    device->pieces = piece;
    device->used_bytes += piece->mapped_bytes;
    return TARN_BACKEND_RESULT_OK;
}

static tarn_backend_result acquire(void *state, size_t size_bytes, void **address_out)
{
    struct tn_host_device *device = state;
    if (tn_host_is_forked(state)) return tn_backend_result(TARN_STATUS_FORKED);
    tarn_status status = tn_backend_check_acquire(&device->properties, size_bytes, address_out);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);
    size_t mapped_bytes;
    if (!tn_round_up_fits(size_bytes, device->properties.granularity_bytes, &mapped_bytes))
        return tn_backend_result(TARN_STATUS_OUT_OF_MEMORY);

    struct tn_host_piece *piece = tn_host_memory_alloc(sizeof *piece);
    if (!piece) return tn_backend_result(TARN_STATUS_OUT_OF_HOST_MEMORY);
    *piece = (struct tn_host_piece){ .size_bytes = size_bytes, .mapped_bytes = mapped_bytes };
    tn_mutex_lock(&device->lock);
    tarn_backend_result result = piece_map_locked(device, piece);
    tn_mutex_unlock(&device->lock);

    if (result.status == TARN_STATUS_OK) {
        *address_out = piece->address;
    } else {
        tn_host_memory_free(piece);
    }
    return result;
}

/* The link in the list of pieces that points to the piece with this address and size, or NULL. Under the
 * lock. */
static struct tn_host_piece **find_piece_locked(struct tn_host_device *device, const void *address,
                                                size_t size_bytes)
{
    struct tn_host_piece **link = &device->pieces;
    while (*link && (*link)->address != address)
        link = &(*link)->next;
    return *link && (*link)->size_bytes == size_bytes ? link : NULL;
}

static bool has_piece(struct tn_host_device *device, const void *address, size_t size_bytes)
{
    tn_mutex_lock(&device->lock);
    bool is_there = find_piece_locked(device, address, size_bytes) != NULL;
    tn_mutex_unlock(&device->lock);
    return is_there;
}

/* Unmaps the piece and takes it from used_bytes. If the system refuses, the piece stays. Under the
 * lock. */
static tarn_backend_result piece_unmap_locked(struct tn_host_device *device,
                                              struct tn_host_piece **link)
{
    struct tn_host_piece *piece = *link;
    if (munmap(piece->address, piece->mapped_bytes) != 0) return tn_host_result_of_return(errno);
    *link = piece->next;
    device->used_bytes -= piece->mapped_bytes;
    tn_host_memory_free(piece);
    return TARN_BACKEND_RESULT_OK;
}

static tarn_backend_result release(void *state, void *address, size_t size_bytes)
{
    struct tn_host_device *device = state;
    if (tn_host_is_forked(state)) return TARN_BACKEND_RESULT_OK;
    tarn_status status = tn_backend_check_release(address, size_bytes);
    if (status != TARN_STATUS_OK) return tn_backend_result(status);

    tarn_backend_result result = tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);
    if (has_piece(device, address, size_bytes)) result = tn_host_synchronize(state);
    if (result.status != TARN_STATUS_OK) return result;
    tn_mutex_lock(&device->lock);
    struct tn_host_piece **link = find_piece_locked(device, address, size_bytes);
    result = link ? piece_unmap_locked(device, link)
                  : tn_backend_result(TARN_STATUS_INVALID_ARGUMENT); /* released meanwhile */
    tn_mutex_unlock(&device->lock);
    return result;
}

/* --- device ------------------------------------------------------------------------------------ */

static tarn_backend_result get_properties(void *state, tarn_device_properties *properties_out)
{
    const struct tn_host_device *device = state;
    if (tn_host_is_forked(state)) return tn_backend_result(TARN_STATUS_FORKED);
    *properties_out = device->properties;
    return TARN_BACKEND_RESULT_OK;
}

/* Other programs use the machine's memory too, so less may be free than the pieces leave. */
static tarn_backend_result query_memory(void *state, tarn_memory_info *info_out)
{
    struct tn_host_device *device = state;
    if (tn_host_is_forked(state)) return tn_backend_result(TARN_STATUS_FORKED);
    tn_mutex_lock(&device->lock);
    size_t left_bytes = device->memory_bytes - device->used_bytes;
    tn_mutex_unlock(&device->lock);

    if (!device->is_memory_pretended)
        left_bytes = tn_min(left_bytes, tn_system_memory_info().free_bytes);
    *info_out = (tarn_memory_info){ device->memory_bytes, left_bytes };
    return TARN_BACKEND_RESULT_OK;
}

/* --- life -------------------------------------------------------------------------------------- */

/* In a forked child nothing is freed: a thread of the parent may have been changing the state. */
static void close_device(void *state)
{
    struct tn_host_device *device = state;
    if (tn_host_is_forked(state)) return;
    (void)tn_host_synchronize(state);
    TN_ASSERT(!device->pieces);
    TN_ASSERT(!device->ranges);
    tn_mutex_fini(&device->lock);
    tn_host_memory_free(device);
}

static const tarn_backend_operations operations = {
    .struct_bytes = sizeof(tarn_backend_operations),
    .name = "host",
    .close = close_device,
    .acquire = acquire,
    .release = release,
    .range_reserve = tn_host_range_reserve,
    .range_release = tn_host_range_release,
    .range_map = tn_host_range_map,
    .range_unmap = tn_host_range_unmap,
    .get_properties = get_properties,
    .query_memory = query_memory,
    .synchronize = tn_host_synchronize,
    .stream_create = tn_host_stream_create,
    .stream_destroy = tn_host_stream_destroy,
    .stream_check = tn_host_stream_check,
    .stream_id = tn_host_stream_id,
    .stream_synchronize = tn_host_stream_synchronize,
    .stream_wait_event = tn_host_stream_wait_event,
    .event_create = tn_host_event_create,
    .event_destroy = tn_host_event_destroy,
    .event_record = tn_host_event_record,
    .event_query = tn_host_event_query,
    .event_synchronize = tn_host_event_synchronize,
    .fill = tn_host_fill,
    .copy = tn_host_copy,
    .range_map_shareable = tn_host_range_map_shareable,
    .range_export = tn_host_range_export,
};

static const char *device_name(tarn_memory_kind kind)
{
    switch (kind) {
    case TARN_MEMORY_KIND_DEVICE:
        return "host memory as device memory";
    case TARN_MEMORY_KIND_PINNED:
        return "host memory as pinned memory";
    case TARN_MEMORY_KIND_SHARED:
        return "host memory as shared memory";
    case TARN_MEMORY_KIND_HOST:
        break;
    }
    return "host memory";
}

static tarn_device_properties properties_of(const tarn_host_options *options, tarn_memory_kind kind,
                                            size_t memory_bytes)
{
    size_t page_bytes = tn_system_page_bytes();
    /* A piece is whole pages, so in a device smaller than a page none can be had. But 0 may not be reported
     * as the largest size. */
    size_t largest_bytes = tn_max(tn_round_down(memory_bytes, page_bytes), page_bytes);
    if (options->allocation_bytes_max != 0)
        largest_bytes = tn_min(largest_bytes, options->allocation_bytes_max);
    return (tarn_device_properties){
        .device_name = device_name(kind),
        .kind = kind,
        .is_host_accessible = true,
        .alignment_bytes = page_bytes,
        .granularity_bytes = page_bytes,
        .allocation_bytes_max = largest_bytes,
        .range_granularity_bytes = page_bytes,
        .memory_id = options->memory_bytes != 0 ? 0 : TARN_MEMORY_ID_HOST,
        .has_shareable_ranges = tn_host_has_shareable_ranges(),
        .thread_stream = TARN_HOST_STREAM_PER_THREAD,
        .default_stream_alias = TARN_HOST_STREAM_DEFAULT,
    };
}

static void device_init(struct tn_host_device *device, const tarn_host_options *options,
                        tarn_memory_kind kind)
{
    bool is_memory_pretended = options->memory_bytes != 0;
    size_t memory_bytes =
        is_memory_pretended ? options->memory_bytes : tn_system_memory_info().total_bytes;
    *device = (struct tn_host_device){
        .lifetime = tn_lifetime_begin(),
        .properties = properties_of(options, kind, memory_bytes),
        .memory_bytes = memory_bytes,
        .is_memory_pretended = is_memory_pretended,
    };
    tn_mutex_init(&device->lock);
}

static tarn_status open_device(const tarn_host_options *options, tarn_memory_kind kind,
                               tarn_backend *backend_out)
{
    struct tn_host_device *device = NULL;
    if (tn_host_streams_begin()) device = tn_host_memory_alloc(sizeof *device);
    if (!device) return tn_backend_fail_host_memory("host", sizeof *device);
    device_init(device, options, kind);
    *backend_out = (tarn_backend){ &operations, device };
    return TARN_STATUS_OK;
}

static const tarn_host_options defaults = TARN_HOST_OPTIONS_INIT;

tarn_status tn_host_open_kind(tarn_memory_kind kind, tarn_backend *backend_out)
{
    return open_device(&defaults, kind, backend_out);
}

tarn_status tarn_host_backend_open(const tarn_host_options *options, tarn_backend *backend_out)
{
    tarn_status status =
        tn_backend_check_open("tarn_host_backend_open", TARN_MEMORY_KIND_HOST, backend_out);
    if (status != TARN_STATUS_OK) return status;
    if (options) {
        status = tn_check_struct_bytes("tarn_host_options", options->struct_bytes, sizeof *options,
                                       sizeof *options, TARN_STATUS_INVALID_ARGUMENT);
    }
    if (status != TARN_STATUS_OK) return status;
    return open_device(options ? options : &defaults, TARN_MEMORY_KIND_HOST, backend_out);
}
