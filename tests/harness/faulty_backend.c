/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* faulty_backend: the real table with some functions in front of others. */
#include "harness/faulty_backend.h"

static const tarn_backend_operations *real;
static tarn_backend_operations table;

static unsigned countdown;
static unsigned failures_left;
static unsigned failed_count;
static bool is_for_one_call;
static enum faulty_call only_call, failed_call;
static unsigned call_counts[FAULTY_CALL_COUNT];
static tarn_event events[64];
static unsigned event_count;

static const tarn_backend_result failure = { TARN_STATUS_VENDOR_ERROR, FAULTY_VENDOR_CODE,
                                             FAULTY_VENDOR_NAME };

/* Counts the call. Whether it is to fail. */
static bool fails(enum faulty_call call)
{
    call_counts[call]++;
    if (countdown == 0 || (is_for_one_call && call != only_call)) return false;
    if (countdown > 1) {
        countdown--;
        return false;
    }
    if (--failures_left == 0) countdown = 0;
    failed_count++;
    failed_call = call;
    return true;
}

static tarn_backend_result acquire(void *state, size_t size_bytes, void **address_out)
{
    if (fails(FAULTY_CALL_ACQUIRE)) return failure;
    return real->acquire(state, size_bytes, address_out);
}

static tarn_backend_result stream_check(void *state, tarn_stream stream)
{
    return fails(FAULTY_CALL_STREAM_CHECK) ? failure : real->stream_check(state, stream);
}

static tarn_backend_result stream_id(void *state, tarn_stream stream, uint64_t *id_out)
{
    return fails(FAULTY_CALL_STREAM_ID) ? failure : real->stream_id(state, stream, id_out);
}

static tarn_backend_result stream_synchronize(void *state, tarn_stream stream)
{
    if (fails(FAULTY_CALL_STREAM_SYNCHRONIZE)) return failure;
    return real->stream_synchronize(state, stream);
}

static tarn_backend_result event_create(void *state, tarn_event *event_out)
{
    if (fails(FAULTY_CALL_EVENT_CREATE)) return failure;
    if (event_count == sizeof events / sizeof *events)
        return (tarn_backend_result){ TARN_STATUS_OUT_OF_HOST_MEMORY, 0, NULL };
    tarn_backend_result result = real->event_create(state, event_out);
    if (result.status == TARN_STATUS_OK) events[event_count++] = *event_out;
    return result;
}

static tarn_backend_result event_destroy(void *state, tarn_event event)
{
    for (unsigned i = 0; i < event_count; i++) {
        if (events[i] != event) continue;
        events[i] = events[--event_count];
        return real->event_destroy(state, event);
    }
    return (tarn_backend_result){ TARN_STATUS_INVALID_ARGUMENT, 0, NULL };
}

static tarn_backend_result event_record(void *state, tarn_event event, tarn_stream stream)
{
    if (fails(FAULTY_CALL_EVENT_RECORD)) return failure;
    return real->event_record(state, event, stream);
}

static tarn_backend_result event_synchronize(void *state, tarn_event event)
{
    return fails(FAULTY_CALL_EVENT_SYNCHRONIZE) ? failure : real->event_synchronize(state, event);
}

static tarn_backend_result fill(void *state, void *address, unsigned char value, size_t size_bytes,
                                tarn_stream stream)
{
    if (fails(FAULTY_CALL_FILL)) return failure;
    return real->fill(state, address, value, size_bytes, stream);
}

static tarn_backend_result copy(void *state, void *destination, const void *source,
                                size_t size_bytes, tarn_stream stream)
{
    if (fails(FAULTY_CALL_COPY)) return failure;
    return real->copy(state, destination, source, size_bytes, stream);
}

tarn_backend faulty_backend_open(const tarn_backend *backend)
{
    real = backend->operations;
    table = *real;
    table.acquire = acquire;
    table.stream_check = stream_check;
    table.stream_id = stream_id;
    table.stream_synchronize = stream_synchronize;
    table.event_create = event_create;
    table.event_destroy = event_destroy;
    table.event_record = event_record;
    table.event_synchronize = event_synchronize;
    table.fill = fill;
    table.copy = copy;
    faulty_backend_begin(0, 0);
    for (unsigned i = 0; i < FAULTY_CALL_COUNT; i++)
        call_counts[i] = 0;
    event_count = 0;
    return (tarn_backend){ &table, backend->state };
}

tarn_backend_operations *faulty_backend_operations(void)
{
    return &table;
}

void faulty_backend_begin(unsigned fail_at, unsigned count)
{
    countdown = fail_at;
    failures_left = count;
    failed_count = 0;
    is_for_one_call = false;
}

void faulty_backend_begin_call(enum faulty_call call, unsigned fail_at, unsigned count)
{
    faulty_backend_begin(fail_at, count);
    is_for_one_call = true;
    only_call = call;
}

unsigned faulty_backend_end(void)
{
    countdown = 0;
    return failed_count;
}

unsigned faulty_backend_failed_count(void)
{
    return failed_count;
}

enum faulty_call faulty_backend_failed_call(void)
{
    return failed_call;
}

unsigned faulty_backend_take_calls(enum faulty_call call)
{
    unsigned count = call_counts[call];
    call_counts[call] = 0;
    return count;
}

unsigned faulty_backend_event_count(void)
{
    return event_count;
}

void faulty_backend_destroy_events(void *state)
{
    while (event_count > 0)
        event_destroy(state, events[0]);
}
