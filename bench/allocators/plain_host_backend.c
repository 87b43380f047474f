/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* plain_host_backend: the system's mmap and munmap as a backend, and streams that do nothing. */
#include "plain_host_backend.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static tarn_backend_result failure(int error)
{
    bool is_full = error == ENOMEM;
    return (tarn_backend_result){ is_full ? TARN_STATUS_OUT_OF_MEMORY : TARN_STATUS_VENDOR_ERROR,
                                  error, is_full ? "ENOMEM" : "errno" };
}

static tarn_backend_result acquire(void *state, size_t size_bytes, void **address_out)
{
    (void)state;
    void *address = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (address == MAP_FAILED) return failure(errno);
    *address_out = address;
    return TARN_BACKEND_RESULT_OK;
}

static tarn_backend_result release(void *state, void *address, size_t size_bytes)
{
    (void)state;
    return munmap(address, size_bytes) == 0 ? TARN_BACKEND_RESULT_OK : failure(errno);
}

/* Addresses without access. */
static tarn_backend_result reserve_at(void *place, int flags, size_t size_bytes, void **address_out)
{
    void *address = mmap(place, size_bytes, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
    if (address == MAP_FAILED) return failure(errno);
    *address_out = address;
    return TARN_BACKEND_RESULT_OK;
}

static tarn_backend_result range_reserve(void *state, size_t size_bytes, void **address_out)
{
    (void)state;
    return reserve_at(NULL, 0, size_bytes, address_out);
}

static tarn_backend_result range_map(void *state, void *address, size_t size_bytes,
                                     tarn_mapping *mapping_out)
{
    (void)state;
    if (mprotect(address, size_bytes, PROT_READ | PROT_WRITE) != 0) return failure(errno);
    *mapping_out = NULL;
    return TARN_BACKEND_RESULT_OK;
}

static tarn_backend_result range_unmap(void *state, void *address, size_t size_bytes,
                                       tarn_mapping mapping)
{
    (void)state;
    (void)mapping;
    void *same;
    return reserve_at(address, MAP_FIXED, size_bytes, &same);
}

/* Nothing ever runs on these streams, so every event has completed. */

static tarn_backend_result stream_create(void *state, tarn_stream *stream_out)
{
    (void)state;
    void *handle = malloc(1);
    if (!handle) return failure(ENOMEM);
    *stream_out = handle;
    return TARN_BACKEND_RESULT_OK;
}

static tarn_backend_result stream_destroy(void *state, tarn_stream stream)
{
    (void)state;
    free(stream);
    return TARN_BACKEND_RESULT_OK;
}

static tarn_backend_result stream_is_done(void *state, tarn_stream stream)
{
    (void)state;
    (void)stream;
    return TARN_BACKEND_RESULT_OK;
}

static tarn_backend_result stream_wait_event(void *state, tarn_stream stream, tarn_event event)
{
    (void)state;
    (void)stream;
    (void)event;
    return TARN_BACKEND_RESULT_OK;
}

static tarn_backend_result event_create(void *state, tarn_event *event_out)
{
    static char all_events;
    (void)state;
    *event_out = &all_events;
    return TARN_BACKEND_RESULT_OK;
}

static tarn_backend_result event_has_completed(void *state, tarn_event event)
{
    (void)state;
    (void)event;
    return TARN_BACKEND_RESULT_OK;
}

static tarn_backend_result event_record(void *state, tarn_event event, tarn_stream stream)
{
    (void)state;
    (void)event;
    (void)stream;
    return TARN_BACKEND_RESULT_OK;
}

static tarn_backend_result get_properties(void *state, tarn_device_properties *properties_out)
{
    (void)state;
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    *properties_out = (tarn_device_properties){
        .device_name = "host memory",
        .kind = TARN_MEMORY_KIND_HOST,
        .is_host_accessible = true,
        .alignment_bytes = page_bytes,
        .granularity_bytes = page_bytes,
        .allocation_bytes_max = SIZE_MAX / 2,
        .range_granularity_bytes = page_bytes,
    };
    return TARN_BACKEND_RESULT_OK;
}

static const tarn_backend_operations operations = {
    .struct_bytes = sizeof(tarn_backend_operations),
    .name = "host",
    .acquire = acquire,
    .release = release,
    .range_reserve = range_reserve,
    .range_release = release,
    .range_map = range_map,
    .range_unmap = range_unmap,
    .range_unmap_idle = range_unmap,
    .get_properties = get_properties,
    .stream_create = stream_create,
    .stream_destroy = stream_destroy,
    .stream_check = stream_is_done,
    .stream_synchronize = stream_is_done,
    .stream_wait_event = stream_wait_event,
    .event_create = event_create,
    .event_destroy = event_has_completed,
    .event_record = event_record,
    .event_record_device = event_has_completed,
    .event_query = event_has_completed,
    .event_synchronize = event_has_completed,
};

tarn_backend tn_plain_host_backend(void)
{
    return (tarn_backend){ &operations, NULL };
}
