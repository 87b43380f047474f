/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_backend: made-up addresses, each piece in a place of its own, lowest free place first. */
#include "harness/test_backend.h"

#include <fcntl.h>
#include <string.h>

#include "base/thread_number.h"

/* No system maps user memory here: x86-64 and arm64 addresses of this form are not canonical. */
#define FIRST_ADDRESS ((uintptr_t)1 << 56)
#define PLACE_BYTES   ((uintptr_t)1 << 22)

static tarn_backend_result answer(tarn_status status)
{
    return (tarn_backend_result){ status, status == TARN_STATUS_OK ? 0 : -7,
                                  status == TARN_STATUS_OK ? NULL : "testError" };
}

void test_backend_init(struct test_backend *state)
{
    memset(state, 0, sizeof *state);
    state->alignment_bytes = 256;
    state->granularity_bytes = 4096;
    state->allocation_bytes_max = SIZE_MAX / 4;
    state->failure = TARN_STATUS_OUT_OF_MEMORY;
    state->call_failure = TARN_STATUS_VENDOR_ERROR;
    state->next_address = FIRST_ADDRESS;
    pthread_mutex_init(&state->lock, NULL);
}

/* Under the lock. */
static tarn_status acquire_locked(struct test_backend *state, size_t size_bytes, void **address_out)
{
    if (state->acquire_count < sizeof state->asked_bytes / sizeof state->asked_bytes[0])
        state->asked_bytes[state->acquire_count] = size_bytes;
    state->acquire_count++;
    if (state->fail_acquire_at > 0 && --state->fail_acquire_at == 0) return state->failure;
    if (state->capacity_bytes > 0 && size_bytes > state->capacity_bytes - state->held_bytes)
        return TARN_STATUS_OUT_OF_MEMORY;
    if (state->piece_count == TEST_BACKEND_PIECES_MAX) return TARN_STATUS_OUT_OF_MEMORY;

    if (state->give_null || state->give_address) {
        *address_out = (void *)state->give_address;
        return TARN_STATUS_OK;
    }
    uintptr_t address = state->next_address + state->misalignment_bytes;
    state->next_address += (size_bytes / PLACE_BYTES + 2) * PLACE_BYTES;
    state->pieces[state->piece_count++] = (struct test_piece){ address, size_bytes, false };
    state->held_bytes += size_bytes;
    if (state->held_bytes > state->held_bytes_max) state->held_bytes_max = state->held_bytes;
    *address_out = (void *)address;
    return TARN_STATUS_OK;
}

static tarn_backend_result acquire(void *opaque, size_t size_bytes, void **address_out)
{
    struct test_backend *state = opaque;
    if (state->while_acquiring) state->while_acquiring(state->context);
    pthread_mutex_lock(&state->lock);
    tarn_status status = acquire_locked(state, size_bytes, address_out);
    pthread_mutex_unlock(&state->lock);
    return answer(status);
}

/* Under the lock. Takes back only what is out, whole. */
static tarn_status release_locked(struct test_backend *state, uintptr_t address, size_t size_bytes)
{
    state->release_count++;
    if (state->fail_release) return TARN_STATUS_VENDOR_ERROR;
    for (size_t i = 0; i < state->piece_count; i++) {
        if (state->pieces[i].address != address) continue;
        if (state->pieces[i].size_bytes != size_bytes) return TARN_STATUS_INVALID_ARGUMENT;
        state->held_bytes -= size_bytes;
        state->pieces[i] = state->pieces[--state->piece_count];
        return TARN_STATUS_OK;
    }
    return TARN_STATUS_INVALID_ARGUMENT;
}

static tarn_backend_result release(void *opaque, void *address, size_t size_bytes)
{
    struct test_backend *state = opaque;
    if (state->while_releasing) state->while_releasing(state->context);
    pthread_mutex_lock(&state->lock);
    tarn_status status = release_locked(state, (uintptr_t)address, size_bytes);
    pthread_mutex_unlock(&state->lock);
    return answer(status);
}

static tarn_backend_result get_properties(void *opaque, tarn_device_properties *properties_out)
{
    const struct test_backend *state = opaque;
    if (state->fail_properties) return answer(TARN_STATUS_VENDOR_ERROR);
    *properties_out = (tarn_device_properties){
        .device_name = "made-up addresses",
        .kind = TARN_MEMORY_KIND_DEVICE,
        .alignment_bytes = state->alignment_bytes,
        .granularity_bytes = state->granularity_bytes,
        .allocation_bytes_max = state->allocation_bytes_max,
        .range_granularity_bytes = state->range_granularity_bytes,
        .has_shareable_ranges = state->has_sharing,
        .thread_stream = state->thread_stream,
        .default_stream_alias = state->default_stream_alias,
    };
    return answer(TARN_STATUS_OK);
}

static tarn_backend_result query_memory(void *opaque, tarn_memory_info *info_out)
{
    struct test_backend *state = opaque;
    if (state->total_bytes == 0) return answer(TARN_STATUS_NOT_SUPPORTED);
    pthread_mutex_lock(&state->lock);
    size_t taken_bytes = state->held_bytes + state->foreign_bytes;
    pthread_mutex_unlock(&state->lock);
    *info_out = (tarn_memory_info){
        .total_bytes = state->total_bytes,
        .free_bytes = taken_bytes < state->total_bytes ? state->total_bytes - taken_bytes : 0,
    };
    return answer(TARN_STATUS_OK);
}

/* --- streams and events ------------------------------------------------------------------------- */

static bool has_ended(const struct test_backend *state, tarn_stream stream)
{
    for (unsigned i = 0; i < state->ended_stream_count; i++) {
        if (state->ended_streams[i] == stream) return true;
    }
    return false;
}

/* Under the lock. */
static void use_stream(struct test_backend *state, tarn_stream stream)
{
    state->misuse_count += has_ended(state, stream);
}

static void use_event(struct test_backend *state, const struct test_event *event)
{
    state->misuse_count += !event->is_there;
}

/* Counts the call. False: it fails. Under the lock. */
static bool begin_call(struct test_backend *state, enum test_call call)
{
    unsigned *fail_at = &state->fail_call_at[call];
    state->call_counts[call]++;
    if (*fail_at == 0) return true;
    if (*fail_at > 1) {
        --*fail_at;
        return true;
    }
    state->failed_count++;
    if (state->fail_call_count > 1) {
        state->fail_call_count--;
    } else {
        *fail_at = 0;
    }
    return false;
}

/* Begins a call and takes the lock; ANSWER gives both back. */
#define BEGIN(opaque, call)                \
    struct test_backend *state = (opaque); \
    pthread_mutex_lock(&state->lock);      \
    tarn_status status = begin_call(state, call) ? TARN_STATUS_OK : state->call_failure

static tarn_backend_result end_call(struct test_backend *state, tarn_status status)
{
    pthread_mutex_unlock(&state->lock);
    return answer(status);
}

static tarn_backend_result stream_check(void *opaque, tarn_stream stream)
{
    BEGIN(opaque, TEST_CALL_STREAM_CHECK);
    use_stream(state, stream);
    if (status == TARN_STATUS_OK && stream && stream == state->foreign_stream)
        status = TARN_STATUS_INVALID_ARGUMENT;
    return end_call(state, status);
}

static tarn_backend_result stream_id(void *opaque, tarn_stream stream, uint64_t *id_out)
{
    BEGIN(opaque, TEST_CALL_STREAM_ID);
    use_stream(state, stream);
    if (status == TARN_STATUS_OK) {
        uint64_t id = (uintptr_t)stream * TEST_BACKEND_WAITS_MAX;
        for (unsigned i = 0; i < state->begun_stream_count; i++)
            id += state->begun_streams[i] == stream;
        *id_out = id;
    }
    return end_call(state, status);
}

static tarn_backend_result synchronize(void *opaque)
{
    BEGIN(opaque, TEST_CALL_SYNCHRONIZE);
    for (unsigned i = 0; i < TEST_BACKEND_EVENTS_MAX && status == TARN_STATUS_OK; i++)
        state->events[i].is_complete = true;
    return end_call(state, status);
}

/* Under the lock. */
static void complete(struct test_backend *state, tarn_stream stream)
{
    for (unsigned i = 0; i < TEST_BACKEND_EVENTS_MAX; i++) {
        if (state->events[i].stream == stream) state->events[i].is_complete = true;
    }
}

static tarn_backend_result stream_synchronize(void *opaque, tarn_stream stream)
{
    BEGIN(opaque, TEST_CALL_STREAM_SYNCHRONIZE);
    use_stream(state, stream);
    if (status == TARN_STATUS_OK) complete(state, stream);
    return end_call(state, status);
}

static tarn_backend_result stream_wait_event(void *opaque, tarn_stream stream, tarn_event event)
{
    BEGIN(opaque, TEST_CALL_STREAM_WAIT_EVENT);
    const struct test_event *awaited = event;
    use_stream(state, stream);
    use_event(state, awaited);
    if (status == TARN_STATUS_OK) {
        if (state->wait_count < TEST_BACKEND_WAITS_MAX)
            state->waits[state->wait_count] =
                (struct test_wait){ stream, awaited->stream, tn_thread_number(), awaited->thread };
        state->wait_count++;
    }
    return end_call(state, status);
}

/* Under the lock. */
static struct test_event *find_unused_event(struct test_backend *state)
{
    for (unsigned i = 0; i < TEST_BACKEND_EVENTS_MAX; i++) {
        if (!state->events[i].is_there) return &state->events[i];
    }
    return NULL;
}

static tarn_backend_result event_create(void *opaque, tarn_event *event_out)
{
    BEGIN(opaque, TEST_CALL_EVENT_CREATE);
    struct test_event *event = find_unused_event(state);
    if (!event) status = TARN_STATUS_OUT_OF_HOST_MEMORY;
    if (status == TARN_STATUS_OK) {
        *event = (struct test_event){ .is_there = true, .is_complete = true };
        state->event_count++;
        *event_out = event;
    }
    return end_call(state, status);
}

static tarn_backend_result event_destroy(void *opaque, tarn_event event)
{
    BEGIN(opaque, TEST_CALL_EVENT_DESTROY);
    struct test_event *destroyed = event;
    use_event(state, destroyed);
    destroyed->is_there = false;
    state->event_count--;
    return end_call(state, status);
}

static tarn_backend_result event_record(void *opaque, tarn_event event, tarn_stream stream)
{
    BEGIN(opaque, TEST_CALL_EVENT_RECORD);
    struct test_event *recorded = event;
    use_stream(state, stream);
    use_event(state, recorded);
    if (status == TARN_STATUS_OK) {
        recorded->is_complete = false;
        recorded->query_count = 0;
        recorded->stream = stream;
        recorded->thread = tn_thread_number();
    }
    return end_call(state, status);
}

static tarn_backend_result event_record_device(void *opaque, tarn_event event)
{
    BEGIN(opaque, TEST_CALL_EVENT_RECORD_DEVICE);
    struct test_event *recorded = event;
    use_event(state, recorded);
    if (status == TARN_STATUS_OK) {
        recorded->is_complete = false;
        recorded->query_count = 0;
        recorded->stream = TEST_BACKEND_DEVICE;
    }
    return end_call(state, status);
}

static tarn_backend_result event_query(void *opaque, tarn_event event)
{
    BEGIN(opaque, TEST_CALL_EVENT_QUERY);
    struct test_event *queried = event;
    use_event(state, queried);
    if (status == TARN_STATUS_OK && ++queried->query_count == state->completes_after)
        queried->is_complete = true;
    if (status == TARN_STATUS_OK && !queried->is_complete) status = TARN_STATUS_NOT_READY;
    return end_call(state, status);
}

void test_backend_complete(struct test_backend *state, tarn_stream stream)
{
    pthread_mutex_lock(&state->lock);
    complete(state, stream);
    pthread_mutex_unlock(&state->lock);
}

void test_backend_end_stream(struct test_backend *state, tarn_stream stream)
{
    state->ended_streams[state->ended_stream_count++] = stream;
}

void test_backend_begin_stream(struct test_backend *state, tarn_stream stream)
{
    state->begun_streams[state->begun_stream_count++] = stream;
    for (unsigned i = 0; i < state->ended_stream_count; i++) {
        if (state->ended_streams[i] != stream) continue;
        state->ended_streams[i] = state->ended_streams[--state->ended_stream_count];
        return;
    }
}

unsigned test_backend_take_calls(struct test_backend *state)
{
    unsigned count = 0;
    for (unsigned call = 0; call < TEST_CALL_COUNT; call++) {
        count += state->call_counts[call];
        state->call_counts[call] = 0;
    }
    return count;
}

/* --- ranges ------------------------------------------------------------------------------------- */

static bool is_whole(const struct test_backend *state, uintptr_t address, size_t size_bytes)
{
    size_t granularity = state->range_granularity_bytes;
    return size_bytes > 0 && address % granularity == 0 && size_bytes % granularity == 0;
}

static bool shares_bytes(const struct test_piece *piece, uintptr_t address, size_t size_bytes)
{
    return address < piece->address + piece->size_bytes && piece->address < address + size_bytes;
}

/* How many of the mapped pieces share a byte with these addresses. */
static size_t count_mapped(const struct test_backend *state, uintptr_t address, size_t size_bytes)
{
    size_t count = 0;
    for (size_t i = 0; i < state->piece_count; i++)
        count += shares_bytes(&state->pieces[i], address, size_bytes);
    return count;
}

static bool is_in_a_range(const struct test_backend *state, uintptr_t address, size_t size_bytes)
{
    for (unsigned i = 0; i < state->range_count; i++) {
        const struct test_piece *range = &state->ranges[i];
        if (address >= range->address && address + size_bytes <= range->address + range->size_bytes)
            return true;
    }
    return false;
}

static tarn_status misused(struct test_backend *state)
{
    state->misuse_count++;
    return TARN_STATUS_INVALID_ARGUMENT;
}

static tarn_backend_result range_reserve(void *opaque, size_t size_bytes, void **address_out)
{
    BEGIN(opaque, TEST_CALL_RANGE_RESERVE);
    bool is_too_large = state->range_bytes_max > 0 && size_bytes > state->range_bytes_max;
    if (!is_whole(state, 0, size_bytes)) status = misused(state);
    if (is_too_large || state->range_count == TEST_BACKEND_RANGES_MAX)
        status = TARN_STATUS_OUT_OF_MEMORY;
    if (status == TARN_STATUS_OK) {
        uintptr_t address = state->next_address + state->misalignment_bytes;
        state->next_address += (size_bytes / PLACE_BYTES + 2) * PLACE_BYTES;
        state->ranges[state->range_count++] = (struct test_piece){ address, size_bytes, false };
        *address_out = (void *)address;
    }
    return end_call(state, status);
}

static tarn_backend_result range_release(void *opaque, void *address, size_t size_bytes)
{
    BEGIN(opaque, TEST_CALL_RANGE_RELEASE);
    unsigned i = 0;
    while (i < state->range_count && (state->ranges[i].address != (uintptr_t)address ||
                                      state->ranges[i].size_bytes != size_bytes))
        i++;
    if (i == state->range_count || count_mapped(state, (uintptr_t)address, size_bytes) > 0)
        status = misused(state);
    if (status == TARN_STATUS_OK) state->ranges[i] = state->ranges[--state->range_count];
    return end_call(state, status);
}

static tarn_backend_result map(void *opaque, enum test_call call, void *address, size_t size_bytes,
                               tarn_mapping *mapping_out)
{
    struct test_backend *waiting = opaque;
    if (waiting->while_acquiring) waiting->while_acquiring(waiting->context);
    BEGIN(opaque, call);
    if (!is_whole(state, (uintptr_t)address, size_bytes) ||
        !is_in_a_range(state, (uintptr_t)address, size_bytes) ||
        count_mapped(state, (uintptr_t)address, size_bytes) > 0)
        status = misused(state);
    bool is_full =
        state->capacity_bytes > 0 && size_bytes > state->capacity_bytes - state->held_bytes;
    if (is_full || state->piece_count == TEST_BACKEND_PIECES_MAX)
        status = TARN_STATUS_OUT_OF_MEMORY;
    if (status == TARN_STATUS_OK) {
        state->pieces[state->piece_count++] =
            (struct test_piece){ (uintptr_t)address, size_bytes,
                                 call == TEST_CALL_RANGE_MAP_SHAREABLE };
        state->held_bytes += size_bytes;
        if (state->held_bytes > state->held_bytes_max) state->held_bytes_max = state->held_bytes;
        *mapping_out = (tarn_mapping)((uintptr_t)address + 1);
    }
    return end_call(state, status);
}

static tarn_backend_result range_map(void *opaque, void *address, size_t size_bytes,
                                     tarn_mapping *mapping_out)
{
    return map(opaque, TEST_CALL_RANGE_MAP, address, size_bytes, mapping_out);
}

static tarn_backend_result range_map_shareable(void *opaque, void *address, size_t size_bytes,
                                               tarn_mapping *mapping_out)
{
    return map(opaque, TEST_CALL_RANGE_MAP_SHAREABLE, address, size_bytes, mapping_out);
}

static tarn_backend_result range_export(void *opaque, void *address, size_t size_bytes,
                                        tarn_mapping mapping, int *file_descriptor_out)
{
    BEGIN(opaque, TEST_CALL_RANGE_EXPORT);
    size_t i = 0;
    while (i < state->piece_count && state->pieces[i].address != (uintptr_t)address)
        i++;
    if (i == state->piece_count || state->pieces[i].size_bytes != size_bytes ||
        !state->pieces[i].is_shareable || mapping != (tarn_mapping)((uintptr_t)address + 1))
        status = misused(state);
    if (status == TARN_STATUS_OK) *file_descriptor_out = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return end_call(state, status);
}

static tarn_backend_result unmap(void *opaque, enum test_call call, void *address,
                                 size_t size_bytes, tarn_mapping mapping)
{
    struct test_backend *waiting = opaque;
    if (waiting->while_releasing) waiting->while_releasing(waiting->context);
    BEGIN(opaque, call);
    size_t i = 0;
    while (i < state->piece_count && state->pieces[i].address != (uintptr_t)address)
        i++;
    if (i == state->piece_count || state->pieces[i].size_bytes != size_bytes ||
        mapping != (tarn_mapping)((uintptr_t)address + 1))
        status = misused(state);
    if (status == TARN_STATUS_OK) {
        state->pieces[i] = state->pieces[--state->piece_count];
        state->held_bytes -= size_bytes;
    }
    return end_call(state, status);
}

static tarn_backend_result range_unmap(void *opaque, void *address, size_t size_bytes,
                                       tarn_mapping mapping)
{
    return unmap(opaque, TEST_CALL_RANGE_UNMAP, address, size_bytes, mapping);
}

static tarn_backend_result range_unmap_idle(void *opaque, void *address, size_t size_bytes,
                                            tarn_mapping mapping)
{
    return unmap(opaque, TEST_CALL_RANGE_UNMAP_IDLE, address, size_bytes, mapping);
}

/* --- opening ------------------------------------------------------------------------------------ */

tarn_backend test_backend_open(struct test_backend *state)
{
    state->operations = (tarn_backend_operations){
        .struct_bytes = sizeof state->operations,
        .name = "test",
        .acquire = acquire,
        .release = release,
        .get_properties = get_properties,
        .query_memory = query_memory,
    };
    if (state->has_streams) {
        state->operations.stream_check = stream_check;
        state->operations.stream_synchronize = stream_synchronize;
        state->operations.stream_wait_event = stream_wait_event;
        state->operations.event_create = event_create;
        state->operations.event_destroy = event_destroy;
        state->operations.event_record = event_record;
        state->operations.event_query = event_query;
    }
    if (state->has_device_events) state->operations.event_record_device = event_record_device;
    if (state->has_ids) state->operations.stream_id = stream_id;
    if (state->has_synchronize) state->operations.synchronize = synchronize;
    if (state->range_granularity_bytes > 0) {
        state->operations.range_reserve = range_reserve;
        state->operations.range_release = range_release;
        state->operations.range_map = range_map;
        state->operations.range_unmap = range_unmap;
        if (state->has_idle_unmaps) state->operations.range_unmap_idle = range_unmap_idle;
        state->operations.range_map_shareable = range_map_shareable;
        state->operations.range_export = range_export;
    }
    return (tarn_backend){ &state->operations, state };
}
