/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fake_vendor: the functions that CUDA and HIP have alike. */
#include "fake_vendor.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define THINGS_MAX 4096

/* Numbers of attributes. */
#define FAKE_TEXTURE_ALIGNMENT (TN_RUN_HIP ? 81 : 14)
#define FAKE_HAS_RANGES        (TN_RUN_HIP ? 89 : 102)

/* --- answers ------------------------------------------------------------------------------------------ */

static int error_of(sim_status status)
{
    if (status > SIM_STATUS_COUNT) return (int)(status - SIM_STATUS_COUNT);
    switch (status) {
    case SIM_STATUS_OK:
        return 0;
    case SIM_STATUS_NOT_READY:
        return TN_ERROR_NOT_READY;
    case SIM_STATUS_OUT_OF_MEMORY:
    case SIM_STATUS_OUT_OF_HOST_MEMORY:
        return TN_ERROR_OUT_OF_MEMORY;
    case SIM_STATUS_INVALID_VALUE:
    case SIM_STATUS_INVALID_SIZE:
    case SIM_STATUS_INVALID_ALIGNMENT:
    case SIM_STATUS_INVALID_ADDRESS:
    case SIM_STATUS_ALREADY_MAPPED:
    case SIM_STATUS_NOT_MAPPED:
    case SIM_STATUS_STILL_MAPPED:
        return TN_ERROR_INVALID_VALUE;
    case SIM_STATUS_INVALID_HANDLE:
    case SIM_STATUS_WRONG_DEVICE:
        return TN_ERROR_INVALID_HANDLE;
    case SIM_STATUS_INVALID_DEVICE:
        return TN_ERROR_INVALID_DEVICE;
    case SIM_STATUS_NOT_SUPPORTED:
        return TN_ERROR_NOT_SUPPORTED;
    case SIM_STATUS_CAPTURING:
        return 900; /* CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED */
    case SIM_STATUS_UNLOADING:
        return TN_ERROR_DEINITIALIZED;
    default:
        return TN_ERROR_UNKNOWN;
    }
}

int fake_answer(sim_status status)
{
    return fake_settle(error_of(status));
}

/* After sim_enter: for calls that a capture prohibits. */
sim_status fake_enter(const char *name, sim_capture_rule rule)
{
    sim_status status = sim_enter(name);
    return status == SIM_STATUS_OK ? sim_capture_check(rule) : status;
}

/* --- contexts ----------------------------------------------------------------------------------------- */

/* Memory or a stream, and the context that it goes with. */
struct thing {
    void *handle;
    struct fake_context *context;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct thing memory[THINGS_MAX], streams[THINGS_MAX];

static void add(struct thing *things, void *handle)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < THINGS_MAX; i++) {
        if (things[i].handle) continue;
        things[i] = (struct thing){ handle, fake_current() };
        break;
    }
    pthread_mutex_unlock(&lock);
}

static struct fake_context *remove_thing(struct thing *things, const void *handle)
{
    struct fake_context *context = NULL;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < THINGS_MAX; i++) {
        if (things[i].handle != handle) continue;
        context = things[i].context;
        things[i].handle = NULL;
        break;
    }
    pthread_mutex_unlock(&lock);
    return context;
}

struct fake_context *fake_context_of_stream(const void *stream)
{
    struct fake_context *context = NULL;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < THINGS_MAX; i++) {
        if (streams[i].handle == stream) context = streams[i].context;
    }
    pthread_mutex_unlock(&lock);
    return context;
}

void fake_end_context(struct fake_context *context)
{
    (void)sim_device_synchronize(context->device);
    context->use_count = 0;
    for (size_t i = 0; i < THINGS_MAX; i++) {
        if (memory[i].handle && memory[i].context == context) {
            (void)sim_free(memory[i].handle);
            memory[i].handle = NULL;
        }
        if (streams[i].handle && streams[i].context == context) {
            (void)sim_stream_destroy(streams[i].handle);
            streams[i].handle = NULL;
        }
    }
}

/* --- devices ------------------------------------------------------------------------------------------ */

int fake_get_version(int *version)
{
    *version = 13000;
    return fake_answer(sim_enter("get_version"));
}

int fake_get_device_count(int *count)
{
    *count = sim_device_count();
    return fake_answer(sim_enter("get_device_count"));
}

int fake_get_device_name(char *name, int bytes, int device)
{
    (void)device;
    strncpy(name, "simulated", (size_t)bytes);
    return fake_answer(sim_enter("get_device_name"));
}

int fake_get_total_bytes(size_t *bytes, int device)
{
    (void)device;
    *bytes = sim_get_settings().memory_bytes;
    return fake_answer(sim_enter("get_total_bytes"));
}

int fake_get_attribute(int *value, int attribute, int device)
{
    (void)device;
    *value = attribute == FAKE_TEXTURE_ALIGNMENT ? 512
             : attribute == FAKE_HAS_RANGES      ? sim_get_settings().has_ranges
                                                 : 0;
    return fake_answer(sim_enter("get_attribute"));
}

int fake_synchronize(void)
{
    sim_status status = fake_need_context(fake_enter("synchronize", SIM_CAPTURE_RULE_CONFLICTS));
    return fake_answer(status == SIM_STATUS_OK ? sim_device_synchronize(fake_current()->device)
                                               : status);
}

/* --- memory ------------------------------------------------------------------------------------------- */

sim_status fake_allocate(sim_status status, sim_memory_kind kind, size_t size_bytes,
                         tn_vendor_address *address)
{
    void *allocated = NULL;
    status = fake_need_context(status);
    if (status == SIM_STATUS_OK && !address) status = SIM_STATUS_INVALID_VALUE;
    if (TN_RUN_HIP && status == SIM_STATUS_OK && size_bytes == 0) {
        *address = 0;
        return SIM_STATUS_OK;
    }
    if (status == SIM_STATUS_OK && size_bytes > sim_get_settings().memory_bytes)
        status = SIM_STATUS_OUT_OF_MEMORY;
    if (status == SIM_STATUS_OK)
        status = sim_alloc(fake_current()->device, kind, size_bytes, 0, &allocated);
    if (status != SIM_STATUS_OK) return status;
    add(memory, allocated);
    *address = (tn_vendor_address)allocated;
    return SIM_STATUS_OK;
}

sim_status fake_give_back(sim_status status, tn_vendor_address address)
{
    if (status == SIM_STATUS_OK) status = sim_free((void *)address);
    if (status == SIM_STATUS_OK) (void)remove_thing(memory, (void *)address);
    return status;
}

int fake_alloc(tn_vendor_address *address, size_t size_bytes)
{
    return fake_answer(fake_allocate(fake_enter("alloc", SIM_CAPTURE_RULE_UNSAFE),
                                     SIM_MEMORY_KIND_DEVICE, size_bytes, address));
}

int fake_free(tn_vendor_address address)
{
    sim_memory found;
    sim_status status = fake_enter("free", SIM_CAPTURE_RULE_UNSAFE);
    if (status != SIM_STATUS_OK || address == 0) return fake_answer(status);
    if (sim_memory_find((void *)address, &found)) (void)sim_device_synchronize(found.device);
    return fake_answer(fake_give_back(status, address));
}

sim_stream *fake_stream_of(void *stream)
{
    int device = fake_current() ? fake_current()->device : 0;
    if (!stream || stream == TN_STREAM_LEGACY) return sim_stream_default(device);
    return stream == TN_STREAM_PER_THREAD ? sim_stream_of_thread(device) : stream;
}

int fake_alloc_async(tn_vendor_address *address, size_t size_bytes, void *stream)
{
    (void)stream;
    return fake_answer(
        fake_allocate(sim_enter("alloc_async"), SIM_MEMORY_KIND_DEVICE, size_bytes, address));
}

int fake_free_async(tn_vendor_address address, void *stream)
{
    sim_status status = sim_enter("free_async");
    if (status == SIM_STATUS_OK) status = sim_stream_synchronize(fake_stream_of(stream));
    return fake_answer(fake_give_back(status, address));
}

int fake_alloc_from_pool(tn_vendor_address *address, size_t size_bytes, void *pool, void *stream)
{
    (void)pool, (void)stream;
    return fake_answer(
        fake_allocate(sim_enter("alloc_from_pool"), SIM_MEMORY_KIND_DEVICE, size_bytes, address));
}

int fake_alloc_managed(tn_vendor_address *address, size_t size_bytes, unsigned flags)
{
    (void)flags;
    return fake_answer(
        fake_allocate(sim_enter("alloc_managed"), SIM_MEMORY_KIND_SHARED, size_bytes, address));
}

int fake_alloc_rows(tn_vendor_address *address, size_t *pitch, size_t width, size_t height,
                    unsigned element)
{
    (void)element;
    *pitch = (width + 511) / 512 * 512;
    return fake_answer(
        fake_allocate(sim_enter("alloc_rows"), SIM_MEMORY_KIND_DEVICE, *pitch * height, address));
}

/* --- memory of the host ------------------------------------------------------------------------------ */

int fake_alloc_host(void **address, size_t size_bytes)
{
    *address = malloc(size_bytes);
    return fake_answer(*address ? SIM_STATUS_OK : SIM_STATUS_OUT_OF_MEMORY);
}

int fake_alloc_host_with_flags(void **address, size_t size_bytes, unsigned flags)
{
    (void)flags;
    return fake_alloc_host(address, size_bytes);
}

int fake_free_host(void *address)
{
    free(address);
    return fake_answer(SIM_STATUS_OK);
}

int fake_make_array(const char *name, void **array, const void *description)
{
    tn_vendor_address address = 0;
    size_t size_bytes;
    memcpy(&size_bytes, description, sizeof size_bytes);
    sim_status status =
        fake_allocate(sim_enter(name), SIM_MEMORY_KIND_DEVICE, size_bytes, &address);
    if (status == SIM_STATUS_OK) *array = (void *)address;
    return fake_answer(status);
}

int fake_create_array(void **array, const void *description)
{
    return fake_make_array("create_array", array, description);
}

int fake_create_array_3d(void **array, const void *description)
{
    return fake_make_array("create_array_3d", array, description);
}

int fake_create_mipmapped_array(void **array, const void *description, unsigned level_count)
{
    (void)level_count;
    return fake_make_array("create_mipmapped_array", array, description);
}

int fake_get_info(size_t *free_bytes, size_t *total_bytes)
{
    size_t free_now, total;
    sim_status status = fake_need_context(sim_enter("get_info"));
    if (status == SIM_STATUS_OK)
        status = sim_memory_info(fake_current()->device, &total, &free_now);
    if (status != SIM_STATUS_OK) return fake_answer(status);
    if (free_bytes) *free_bytes = free_now;
    if (total_bytes) *total_bytes = total;
    return 0;
}

static int find_range(const char *call, tn_vendor_address *base, size_t *size_bytes,
                      tn_vendor_address address)
{
    sim_memory found;
    sim_status status = sim_enter(call);
    if (status != SIM_STATUS_OK) return fake_answer(status);
    if (!sim_memory_find((void *)address, &found)) return TN_ERROR_INVALID_VALUE;
    if (base) *base = (tn_vendor_address)found.address;
    if (size_bytes) *size_bytes = found.size_bytes;
    return 0;
}

int fake_get_range(tn_vendor_address *base, size_t *size_bytes, tn_vendor_address address)
{
    return find_range("get_range", base, size_bytes, address);
}

int fake_get_pointer_attribute(void *value, int attribute, tn_vendor_address address)
{
    (void)attribute; /* the start of the range, the only one that is asked for */
    return find_range("get_pointer_attribute", value, NULL, address);
}

int fake_get_ipc_handle(void *handle, tn_vendor_address address)
{
    return find_range("get_ipc_handle", handle, NULL, address);
}

int fake_set_pool(int device, void *pool)
{
    (void)device, (void)pool;
    return fake_answer(sim_enter("set_pool"));
}

int fake_set_pool_access(void *pool, const void *descriptions, size_t count)
{
    (void)pool, (void)descriptions, (void)count;
    return fake_answer(sim_enter("set_pool_access"));
}

/* --- ranges ------------------------------------------------------------------------------------------- */

int fake_get_granularity(size_t *bytes, const struct tn_gpu_memory *of, int option)
{
    (void)of, (void)option;
    *bytes = sim_get_settings().range_granularity_bytes;
    return fake_answer(sim_enter("get_granularity"));
}

int fake_address_reserve(tn_vendor_address *address, size_t size_bytes, size_t alignment_bytes,
                         tn_vendor_address wanted, uint64_t flags)
{
    void *reserved = NULL;
    sim_status status = sim_enter("address_reserve");
    (void)flags;
    if (status == SIM_STATUS_OK)
        status = sim_range_reserve((void *)wanted, size_bytes, alignment_bytes, &reserved);
    if (status == SIM_STATUS_OK) *address = (tn_vendor_address)reserved;
    return fake_answer(status);
}

int fake_address_free(tn_vendor_address address, size_t size_bytes)
{
    sim_status status = sim_enter("address_free");
    return fake_answer(status == SIM_STATUS_OK ? sim_range_free((void *)address, size_bytes)
                                               : status);
}

int fake_create_memory(uint64_t *handle, size_t size_bytes, const void *properties, uint64_t flags)
{
    sim_physical *physical = NULL;
    sim_status status = fake_enter("create_memory", SIM_CAPTURE_RULE_UNSAFE);
    const struct tn_gpu_memory *asked = properties;
    (void)flags;
    if (status == SIM_STATUS_OK)
        status = sim_physical_create(asked->location.number, size_bytes, &physical);
    if (status == SIM_STATUS_OK) *handle = (uint64_t)(uintptr_t)physical;
    return fake_answer(status);
}

/* Memory of the pools here is for no other process. */
int fake_export_memory(void *shared, uint64_t handle, int type, uint64_t flags)
{
    (void)shared, (void)handle, (void)type, (void)flags;
    sim_note("export_memory");
    return fake_answer(SIM_STATUS_NOT_SUPPORTED);
}

int fake_release(uint64_t handle)
{
    sim_status status = fake_enter("release", SIM_CAPTURE_RULE_UNSAFE);
    if (status == SIM_STATUS_OK) status = sim_physical_release((sim_physical *)(uintptr_t)handle);
    return fake_answer(status);
}

int fake_map(tn_vendor_address address, size_t size_bytes, size_t offset_bytes, uint64_t handle,
             uint64_t flags)
{
    sim_status status = sim_enter("map");
    (void)flags;
    /* HIP up to 6.3 at least: a mapping that fails for want of file descriptors is no error. */
    if (TN_RUN_HIP && status == SIM_STATUS_UNKNOWN) return fake_answer(SIM_STATUS_OK);
    if (status == SIM_STATUS_OK)
        status =
            sim_map((void *)address, size_bytes, (sim_physical *)(uintptr_t)handle, offset_bytes);
    return fake_answer(status);
}

int fake_unmap(tn_vendor_address address, size_t size_bytes)
{
    sim_status status = fake_enter("unmap", SIM_CAPTURE_RULE_UNSAFE);
    sim_access access;
    /* HIP up to 6.3 at least. */
    if (TN_RUN_HIP && sim_get_access((void *)address, 0, &access) != SIM_STATUS_OK) abort();
    return fake_answer(status == SIM_STATUS_OK ? sim_unmap((void *)address, size_bytes) : status);
}

int fake_set_access(tn_vendor_address address, size_t size_bytes,
                    const struct tn_gpu_access *access, size_t count)
{
    sim_status status = sim_enter("set_access");
    if (status == SIM_STATUS_OK && count == 1)
        status = sim_set_access((void *)address, size_bytes, access->location.number,
                                SIM_ACCESS_READ_WRITE);
    return fake_answer(status);
}

/* --- streams, events ---------------------------------------------------------------------------------- */

int fake_stream_create(void **stream, unsigned flags)
{
    sim_stream *made = NULL;
    sim_status status = fake_need_context(sim_enter("stream_create"));
    (void)flags;
    if (status == SIM_STATUS_OK) status = sim_stream_create(fake_current()->device, &made);
    if (status != SIM_STATUS_OK) return fake_answer(status);
    add(streams, made);
    *stream = made;
    return 0;
}

int fake_end_stream(const char *name, void *stream)
{
    sim_status status = sim_enter(name);
    if (status == SIM_STATUS_OK) status = sim_stream_destroy(stream);
    if (status == SIM_STATUS_OK) (void)remove_thing(streams, stream);
    return fake_answer(status);
}

int fake_destroy_stream(void *stream)
{
    return fake_end_stream("destroy_stream", stream);
}

int fake_stream_id(void *stream, unsigned long long *id)
{
    sim_status status = sim_enter("stream_id");
    return fake_answer(status == SIM_STATUS_OK ? sim_stream_get_id(fake_stream_of(stream), id)
                                               : status);
}

int fake_stream_synchronize(void *stream)
{
    sim_status status = sim_enter("stream_synchronize");
    return fake_answer(status == SIM_STATUS_OK ? sim_stream_synchronize(fake_stream_of(stream))
                                               : status);
}

int fake_stream_wait_event(void *stream, void *event, unsigned flags)
{
    sim_status status = sim_enter("stream_wait_event");
    (void)flags;
    return fake_answer(
        status == SIM_STATUS_OK ? sim_stream_wait_event(fake_stream_of(stream), event) : status);
}

int fake_event_create(void **event, unsigned flags)
{
    sim_event *made = NULL;
    sim_status status = fake_need_context(sim_enter("event_create"));
    (void)flags;
    if (status == SIM_STATUS_OK)
        status = sim_event_create(fake_current()->device, SIM_EVENT_FORM_RECORDS, &made);
    if (status == SIM_STATUS_OK) *event = made;
    return fake_answer(status);
}

int fake_event_destroy(void *event)
{
    sim_status status = sim_enter("event_destroy");
    return fake_answer(status == SIM_STATUS_OK ? sim_event_destroy(event) : status);
}

/* The event is of the current context, and the stream must be. */
int fake_event_record(void *event, void *stream)
{
    sim_status status = sim_enter("event_record");
    const struct fake_context *context = fake_context_of_stream(stream);
    if (status == SIM_STATUS_OK && context && context != fake_current())
        status = SIM_STATUS_INVALID_HANDLE;
    return fake_answer(status == SIM_STATUS_OK ? sim_event_record(event, fake_stream_of(stream))
                                               : status);
}

int fake_event_query(void *event)
{
    sim_status status = fake_enter("event_query", SIM_CAPTURE_RULE_UNSAFE);
    return fake_answer(status == SIM_STATUS_OK ? sim_event_query(event) : status);
}

int fake_event_synchronize(void *event)
{
    sim_status status = fake_enter("event_synchronize", SIM_CAPTURE_RULE_UNSAFE);
    return fake_answer(status == SIM_STATUS_OK ? sim_event_synchronize(event) : status);
}

int fake_fill(tn_vendor_address address, unsigned char value, size_t size_bytes, void *stream)
{
    sim_status status = sim_enter("fill");
    if (status == SIM_STATUS_OK)
        status = sim_fill(fake_stream_of(stream), (void *)address, &value, 1, size_bytes);
    return fake_answer(status);
}

/* --- captures ----------------------------------------------------------------------------------------- */

int fake_exchange_capture_mode(int *mode)
{
    sim_status status = sim_enter("exchange_capture_mode");
    if (status == SIM_STATUS_OK) *mode = (int)sim_capture_exchange_mode((sim_capture_mode)*mode);
    return fake_answer(status);
}

int fake_start_capture(const char *name, int mode)
{
    sim_status status = sim_enter(name);
    if (status != SIM_STATUS_OK) return fake_answer(status);
    return sim_capture_begin((sim_capture_mode)mode) ? 0 : TN_ERROR_INVALID_VALUE;
}

int fake_begin_capture(void *stream, int mode)
{
    (void)stream;
    return fake_start_capture("begin_capture", mode);
}

int fake_begin_capture_of_thread(void *stream, int mode)
{
    (void)stream;
    return fake_start_capture("begin_capture_of_thread", mode);
}

int fake_begin_capture_to_graph(void *stream, void *graph, const void *nodes, const void *edges,
                                size_t count, int mode)
{
    (void)stream, (void)graph, (void)nodes, (void)edges, (void)count;
    return fake_start_capture("begin_capture_to_graph", mode);
}

static int end_capture(const char *name, void **graph)
{
    sim_status status = sim_enter(name);
    if (status != SIM_STATUS_OK) return fake_answer(status);
    sim_capture_state state = sim_capture_end();
    *graph = state == SIM_CAPTURE_VALID ? &lock : NULL;
    return state == SIM_CAPTURE_VALID ? 0 : 901; /* CUDA_ERROR_STREAM_CAPTURE_INVALIDATED */
}

int fake_end_capture(void *stream, void **graph)
{
    (void)stream;
    return end_capture("end_capture", graph);
}

int fake_end_capture_of_thread(void *stream, void **graph)
{
    (void)stream;
    return end_capture("end_capture_of_thread", graph);
}
