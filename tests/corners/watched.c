/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* watched: a table of operations around two others. */
#include "watched.h"

#include <stdlib.h>
#include <string.h>

#include "finding.h"
#include "sim/sim_control.h"

/* A tarn_event that a pool has points to one. */
struct watched_event {
    tarn_event inner;
    tarn_stream stream;
    uint64_t serial; /* of its latest record; 0: none */
};

static const tarn_backend_result failed = { TARN_STATUS_VENDOR_ERROR, 4712, "made to fail" };

static const char *const fault_names[] = {
#define FAULT_NAME(name, text) text,
    FAULT_TABLE(FAULT_NAME)
#undef FAULT_NAME
};

const char *fault_name(enum fault fault)
{
    return fault_names[fault];
}

/* --- the device --------------------------------------------------------------------------------- */

bool device_init(struct device *device, tarn_backend inner, uint64_t seed, bool is_simulated)
{
    memset(device, 0, sizeof *device);
    device->checker = order_checker_create(&(struct order_checker_options){
        .inner = inner, .seed = seed, .has_synchronize = inner.operations->synchronize != NULL });
    if (!device->checker) return false;
    device->streams = order_checker_backend(device->checker);
    device->is_simulated = is_simulated;
    device->can_synchronize = device_synchronize(device);
    return true;
}

void device_fini(struct device *device)
{
    tarn_backend_close(&device->streams);
}

void device_begin_call(struct device *device)
{
    device->fired_count = 0;
    device->call_count = 0;
    device_disarm(device);
}

void device_arm(struct device *device, enum fault fault, unsigned after)
{
    device->armed = fault;
    device->armed_after = after;
}

void device_disarm(struct device *device)
{
    device->armed_after = 0;
}

/* Of the vendor's calls. False: it fails. */
static bool goes_well(struct device *device, enum fault fault)
{
    if (device->armed_after == 0 || device->armed != fault || --device->armed_after > 0)
        return true;
    device->fired_count++;
    if (fault == FAULT_EVENT_CREATE || fault == FAULT_RECORD) device->has_lost_record = true;
    note("    the vendor fails: %s", fault_name(fault));
    return false;
}

static void count_call(struct device *device)
{
    if (++device->call_count == CALLS_MAX)
        find(FINDING_ENDLESS, "%d calls of the vendor in one call of a pool", CALLS_MAX);
}

static struct hanging *find_hanging(struct device *device, tarn_stream stream)
{
    for (unsigned i = 0; i < device->hanging_count; i++) {
        if (device->hanging[i].stream == stream) return &device->hanging[i];
    }
    return NULL;
}

void device_hang(struct device *device, tarn_stream stream)
{
    if (find_hanging(device, stream) || device->hanging_count == HANGING_MAX) return;
    device->hanging[device->hanging_count++] = (struct hanging){ stream, device->serial };
}

void device_go_on(struct device *device, tarn_stream stream)
{
    struct hanging *hanging = find_hanging(device, stream);
    if (hanging) *hanging = device->hanging[--device->hanging_count];
}

bool device_synchronize(struct device *device)
{
    const tarn_backend_operations *operations = device->streams.operations;
    device->hanging_count = 0;
    return operations->synchronize &&
           operations->synchronize(device->streams.state).status == TARN_STATUS_OK;
}

bool device_is_capturing(const struct device *device)
{
    return device->captured_count > 0;
}

static bool is_captured(const struct device *device, tarn_stream stream)
{
    for (unsigned i = 0; i < device->captured_count; i++) {
        if (device->captured[i] == stream) return true;
    }
    return false;
}

void device_begin_capture(struct device *device, tarn_stream stream)
{
    if (device->is_simulated && device->captured_count == 0)
        sim_capture_begin(SIM_CAPTURE_MODE_GLOBAL);
    device->captured[device->captured_count++] = stream;
}

void device_end_capture(struct device *device, tarn_stream stream)
{
    unsigned i = 0;
    while (device->captured[i] != stream)
        i++;
    device->captured[i] = device->captured[--device->captured_count];
    if (!device->is_simulated || device->captured_count > 0) return;
    FIND_UNLESS(sim_capture_end() == SIM_CAPTURE_VALID, FINDING_CAPTURE_CALL,
                "the vendor has called the capture off");
}

/* What CUDA calls a capture off for. Where that is ignored the host does as it is told, and a vendor fails. */
static bool is_borne(struct device *device, const char *call)
{
    count_call(device);
    if (!device_is_capturing(device)) return true;
    find(FINDING_CAPTURE_CALL, "%s is called while a stream is being captured", call);
    device->fired_count += device->is_simulated;
    return !device->is_simulated;
}

static bool is_borne_on(struct device *device, const char *call, tarn_stream stream)
{
    count_call(device);
    if (!is_captured(device, stream)) return true;
    find(FINDING_CAPTURE_CALL, "%s is called for a stream that is being captured", call);
    device->fired_count += device->is_simulated;
    return !device->is_simulated;
}

int device_relax(const struct device *device)
{
    return device->is_simulated ? (int)sim_capture_exchange_mode(SIM_CAPTURE_MODE_RELAXED) : 0;
}

void device_end_relaxing(const struct device *device, int mode)
{
    if (device->is_simulated) sim_capture_exchange_mode((sim_capture_mode)mode);
}

void device_order(struct device *device, tarn_stream after, tarn_stream before)
{
    const tarn_backend_operations *operations = device->streams.operations;
    void *state = device->streams.state;
    tarn_event event;
    if (after == before) return;
    int mode = device_relax(device);
    if (operations->event_create(state, &event).status != TARN_STATUS_OK ||
        operations->event_record(state, event, before).status != TARN_STATUS_OK ||
        operations->stream_wait_event(state, after, event).status != TARN_STATUS_OK)
        abort();
    operations->event_destroy(state, event);
    device_end_relaxing(device, mode);
}

/* --- memory ------------------------------------------------------------------------------------- */

#define MEMORY(watched, operation, ...) \
    (watched)->memory.operations->operation((watched)->memory.state, ##__VA_ARGS__)

static void add_piece(struct watched *watched, struct piece piece)
{
    if (watched->piece_count == PIECES_MAX)
        find(FINDING_ENDLESS, "%d pieces of the vendor are out", PIECES_MAX);
    if (watched->piece_count == PIECES_MAX) abort();
    watched->pieces[watched->piece_count++] = piece;
    watched->held_bytes += piece.size_bytes;
}

/* The piece must be there, whole. */
static struct piece *piece_of(struct watched *watched, const void *address, size_t size_bytes)
{
    for (size_t i = 0; i < watched->piece_count; i++) {
        struct piece *piece = &watched->pieces[i];
        if (piece->start == (uintptr_t)address && piece->size_bytes == size_bytes) return piece;
    }
    find(FINDING_LEAK, "%zu bytes at %p are given back, and are not out", size_bytes, address);
    abort();
}

static void remove_piece(struct watched *watched, struct piece *piece)
{
    watched->held_bytes -= piece->size_bytes;
    *piece = watched->pieces[--watched->piece_count];
}

static tarn_backend_result watched_acquire(void *state, size_t size_bytes, void **address_out)
{
    struct watched *watched = state;
    count_call(watched->device);
    if (!goes_well(watched->device, FAULT_ACQUIRE))
        return (tarn_backend_result){ TARN_STATUS_OUT_OF_MEMORY, 4713, "made to have no memory" };
    if (!goes_well(watched->device, FAULT_ACQUIRE_ERROR)) return failed;
    void *address;
    tarn_backend_result result = MEMORY(watched, acquire, size_bytes, &address);
    if (result.status != TARN_STATUS_OK) return result;
    add_piece(watched, (struct piece){ .start = (uintptr_t)address, .size_bytes = size_bytes });
    *address_out = address;
    return result;
}

/* Work that the device has on the memory is done, as a vendor's own call would see to. */
static void finish_work(struct watched *watched)
{
    const tarn_backend *streams = &watched->device->streams;
    if (streams->operations->synchronize) streams->operations->synchronize(streams->state);
}

static tarn_backend_result watched_release(void *state, void *address, size_t size_bytes)
{
    struct watched *watched = state;
    struct piece *piece = piece_of(watched, address, size_bytes);
    if (!is_borne(watched->device, "release") || !goes_well(watched->device, FAULT_RELEASE)) {
        piece->is_refused = true;
        return failed;
    }
    if (watched->is_of_other_device) finish_work(watched);
    tarn_backend_result result = MEMORY(watched, release, address, size_bytes);
    if (result.status != TARN_STATUS_OK) abort();
    order_checker_give_back(watched->device->checker, address, size_bytes);
    remove_piece(watched, piece);
    return result;
}

static tarn_backend_result watched_range_reserve(void *state, size_t size_bytes, void **address_out)
{
    struct watched *watched = state;
    count_call(watched->device);
    if (!goes_well(watched->device, FAULT_RESERVE)) return failed;
    if (watched->range_count == RANGES_MAX) return failed;
    tarn_backend_result result = MEMORY(watched, range_reserve, size_bytes, address_out);
    if (result.status == TARN_STATUS_OK)
        watched->ranges[watched->range_count++] =
            (struct piece){ .start = (uintptr_t)*address_out, .size_bytes = size_bytes };
    return result;
}

static tarn_backend_result watched_range_release(void *state, void *address, size_t size_bytes)
{
    struct watched *watched = state;
    if (!is_borne(watched->device, "range_release")) return failed;
    tarn_backend_result result = MEMORY(watched, range_release, address, size_bytes);
    for (unsigned i = 0; i < watched->range_count && result.status == TARN_STATUS_OK; i++) {
        if (watched->ranges[i].start != (uintptr_t)address) continue;
        watched->ranges[i] = watched->ranges[--watched->range_count];
        break;
    }
    return result;
}

static tarn_backend_result watched_range_map(void *state, void *address, size_t size_bytes,
                                             tarn_mapping *mapping_out)
{
    struct watched *watched = state;
    count_call(watched->device);
    if (!goes_well(watched->device, FAULT_ACQUIRE))
        return (tarn_backend_result){ TARN_STATUS_OUT_OF_MEMORY, 4713, "made to have no memory" };
    if (!goes_well(watched->device, FAULT_MAP)) return failed;
    tarn_backend_result result = MEMORY(watched, range_map, address, size_bytes, mapping_out);
    if (result.status == TARN_STATUS_OK)
        add_piece(watched,
                  (struct piece){ (uintptr_t)address, size_bytes, *mapping_out, true, false });
    return result;
}

static tarn_backend_result watched_range_unmap(void *state, void *address, size_t size_bytes,
                                               tarn_mapping mapping)
{
    struct watched *watched = state;
    struct piece *piece = piece_of(watched, address, size_bytes);
    if (!is_borne(watched->device, "range_unmap") || !goes_well(watched->device, FAULT_UNMAP)) {
        piece->is_refused = true;
        return failed;
    }
    if (watched->is_of_other_device) finish_work(watched);
    tarn_backend_result result = MEMORY(watched, range_unmap, address, size_bytes, mapping);
    if (result.status != TARN_STATUS_OK) abort();
    order_checker_give_back(watched->device->checker, address, size_bytes);
    remove_piece(watched, piece);
    return result;
}

static tarn_backend_result watched_get_properties(void *state,
                                                  tarn_device_properties *properties_out)
{
    struct watched *watched = state;
    tarn_backend_result result = MEMORY(watched, get_properties, properties_out);
    properties_out->thread_stream = NULL;
    properties_out->default_stream_alias = NULL;
    properties_out->has_shareable_ranges = false;
    if (watched->is_of_other_device) {
        properties_out->kind = TARN_MEMORY_KIND_SHARED;
        properties_out->is_host_accessible = false; /* so that the address sanitizer is not told */
    }
    if (watched->told_memory_id != 0) properties_out->memory_id = watched->told_memory_id;
    return result;
}

static tarn_backend_result watched_query_memory(void *state, tarn_memory_info *info_out)
{
    struct watched *watched = state;
    count_call(watched->device);
    return MEMORY(watched, query_memory, info_out);
}

/* --- streams and events ------------------------------------------------------------------------- */

#define STREAMS(watched, operation, ...)                                               \
    (watched)->device->streams.operations->operation((watched)->device->streams.state, \
                                                     ##__VA_ARGS__)

static tarn_backend_result watched_synchronize(void *state)
{
    struct watched *watched = state;
    if (!is_borne(watched->device, "synchronize")) return failed;
    if (!goes_well(watched->device, FAULT_SYNCHRONIZE)) return failed;
    watched->device->hanging_count = 0;
    return STREAMS(watched, synchronize);
}

static tarn_backend_result watched_stream_check(void *state, tarn_stream stream)
{
    struct watched *watched = state;
    count_call(watched->device);
    if (!goes_well(watched->device, FAULT_STREAM_CHECK)) return failed;
    return STREAMS(watched, stream_check, stream);
}

static tarn_backend_result watched_stream_id(void *state, tarn_stream stream, uint64_t *id_out)
{
    struct watched *watched = state;
    count_call(watched->device);
    if (!goes_well(watched->device, FAULT_STREAM_ID)) return failed;
    return STREAMS(watched, stream_id, stream, id_out);
}

static tarn_backend_result watched_stream_synchronize(void *state, tarn_stream stream)
{
    struct watched *watched = state;
    if (!is_borne(watched->device, "stream_synchronize")) return failed;
    if (!goes_well(watched->device, FAULT_SYNCHRONIZE)) return failed;
    device_go_on(watched->device, stream);
    return STREAMS(watched, stream_synchronize, stream);
}

static tarn_backend_result watched_stream_wait_event(void *state, tarn_stream stream,
                                                     tarn_event event)
{
    struct watched *watched = state;
    const struct watched_event *awaited = event;
    if (!is_borne_on(watched->device, "stream_wait_event", stream)) return failed;
    if (!goes_well(watched->device, FAULT_WAIT)) return failed;
    if (finding_is_verbose()) note("    vendor: %p waits for %p", stream, awaited->stream);
    return STREAMS(watched, stream_wait_event, stream, awaited->inner);
}

static tarn_backend_result watched_event_create(void *state, tarn_event *event_out)
{
    struct watched *watched = state;
    count_call(watched->device);
    if (!goes_well(watched->device, FAULT_EVENT_CREATE)) return failed;
    struct watched_event *event = calloc(1, sizeof *event);
    if (!event) abort();
    tarn_backend_result result = STREAMS(watched, event_create, &event->inner);
    if (result.status != TARN_STATUS_OK) {
        free(event);
        return result;
    }
    *event_out = event;
    return result;
}

static tarn_backend_result watched_event_destroy(void *state, tarn_event event)
{
    struct watched *watched = state;
    struct watched_event *destroyed = event;
    count_call(watched->device);
    tarn_backend_result result = STREAMS(watched, event_destroy, destroyed->inner);
    free(destroyed);
    return result;
}

static tarn_backend_result watched_event_record(void *state, tarn_event event, tarn_stream stream)
{
    struct watched *watched = state;
    struct watched_event *recorded = event;
    if (!is_borne_on(watched->device, "event_record", stream)) return failed;
    if (!goes_well(watched->device, FAULT_RECORD)) return failed;
    if (finding_is_verbose()) note("    vendor: record on %p", stream);
    tarn_backend_result result = STREAMS(watched, event_record, recorded->inner, stream);
    if (result.status != TARN_STATUS_OK) return result;
    recorded->stream = stream;
    recorded->serial = ++watched->device->serial;
    return result;
}

static tarn_backend_result watched_event_query(void *state, tarn_event event)
{
    struct watched *watched = state;
    const struct watched_event *queried = event;
    if (!is_borne(watched->device, "event_query")) return failed;
    if (!goes_well(watched->device, FAULT_QUERY)) return failed;
    const struct hanging *hanging = find_hanging(watched->device, queried->stream);
    if (hanging && queried->serial > hanging->serial)
        return (tarn_backend_result){ TARN_STATUS_NOT_READY, 0, NULL };
    tarn_backend_result result = STREAMS(watched, event_query, queried->inner);
    if (finding_is_verbose() && result.status == TARN_STATUS_OK)
        note("    vendor: %p is done", queried->stream);
    return result;
}

/* --- data --------------------------------------------------------------------------------------- */

static tarn_backend_result watched_fill(void *state, void *address, unsigned char value,
                                        size_t size_bytes, tarn_stream stream)
{
    struct watched *watched = state;
    if (!is_borne_on(watched->device, "fill", stream)) return failed;
    return STREAMS(watched, fill, address, value, size_bytes, stream);
}

static tarn_backend_result watched_copy(void *state, void *destination, const void *source,
                                        size_t size_bytes, tarn_stream stream)
{
    struct watched *watched = state;
    if (!is_borne_on(watched->device, "copy", stream)) return failed;
    return STREAMS(watched, copy, destination, source, size_bytes, stream);
}

/* --- life --------------------------------------------------------------------------------------- */

void watched_init(struct watched *watched, struct device *device, tarn_backend memory)
{
    memset(watched, 0, sizeof *watched);
    watched->device = device;
    watched->memory = memory;
    watched->operations = (tarn_backend_operations){
        .struct_bytes = sizeof watched->operations,
        .name = "watched",
        .acquire = watched_acquire,
        .release = watched_release,
        .range_reserve = watched_range_reserve,
        .range_release = watched_range_release,
        .range_map = watched_range_map,
        .range_unmap = watched_range_unmap,
        .get_properties = watched_get_properties,
        .query_memory = watched_query_memory,
        .synchronize = device->streams.operations->synchronize ? watched_synchronize : NULL,
        .stream_check = watched_stream_check,
        .stream_id = watched_stream_id,
        .stream_synchronize = watched_stream_synchronize,
        .stream_wait_event = watched_stream_wait_event,
        .event_create = watched_event_create,
        .event_destroy = watched_event_destroy,
        .event_record = watched_event_record,
        .event_query = watched_event_query,
        .fill = watched_fill,
        .copy = watched_copy,
    };
}

tarn_backend watched_backend(struct watched *watched)
{
    return (tarn_backend){ &watched->operations, watched };
}

void watched_fini(struct watched *watched)
{
    if (watched->is_of_other_device) finish_work(watched);
    while (watched->piece_count > 0) {
        struct piece *piece = &watched->pieces[watched->piece_count - 1];
        void *address = (void *)piece->start;
        order_checker_give_back(watched->device->checker, address, piece->size_bytes);
        if (piece->is_mapped) {
            MEMORY(watched, range_unmap, address, piece->size_bytes, piece->mapping);
        } else {
            MEMORY(watched, release, address, piece->size_bytes);
        }
        remove_piece(watched, piece);
    }
    while (watched->range_count > 0) {
        const struct piece *range = &watched->ranges[--watched->range_count];
        MEMORY(watched, range_release, (void *)range->start, range->size_bytes);
    }
}

size_t watched_refused_bytes(const struct watched *watched)
{
    size_t bytes = 0;
    for (size_t i = 0; i < watched->piece_count; i++) {
        if (watched->pieces[i].is_refused) bytes += watched->pieces[i].size_bytes;
    }
    return bytes;
}

const struct piece *watched_find(const struct watched *watched, const void *address)
{
    for (size_t i = 0; i < watched->piece_count; i++) {
        const struct piece *piece = &watched->pieces[i];
        if ((uintptr_t)address - piece->start < piece->size_bytes) return piece;
    }
    return NULL;
}
