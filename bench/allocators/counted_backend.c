/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* counted_backend: a backend whose calls for streams are counted. */
#include "counted_backend.h"

#include <stdatomic.h>

static struct {
    tarn_backend_operations counted;
    const tarn_backend_operations *real;
    atomic_uint_least64_t record_count;
    atomic_uint_least64_t query_count;
    atomic_uint_least64_t wait_count;
    atomic_uint_least64_t block_count;
} the;

static tarn_backend_result synchronize(void *state)
{
    the.block_count++;
    return the.real->synchronize(state);
}

static tarn_backend_result stream_synchronize(void *state, tarn_stream stream)
{
    the.block_count++;
    return the.real->stream_synchronize(state, stream);
}

static tarn_backend_result stream_wait_event(void *state, tarn_stream stream, tarn_event event)
{
    the.wait_count++;
    return the.real->stream_wait_event(state, stream, event);
}

static tarn_backend_result event_record(void *state, tarn_event event, tarn_stream stream)
{
    the.record_count++;
    return the.real->event_record(state, event, stream);
}

static tarn_backend_result event_query(void *state, tarn_event event)
{
    the.query_count++;
    return the.real->event_query(state, event);
}

static tarn_backend_result event_synchronize(void *state, tarn_event event)
{
    the.block_count++;
    return the.real->event_synchronize(state, event);
}

tarn_backend tn_counted_backend_begin(const tarn_backend *backend)
{
    the.real = backend->operations;
    the.counted = *the.real;
    the.counted.synchronize = the.real->synchronize ? synchronize : NULL;
    the.counted.stream_synchronize = stream_synchronize;
    the.counted.stream_wait_event = stream_wait_event;
    the.counted.event_record = event_record;
    the.counted.event_query = event_query;
    the.counted.event_synchronize = event_synchronize;
    the.record_count = the.query_count = the.wait_count = the.block_count = 0;
    return (tarn_backend){ &the.counted, backend->state };
}

struct tn_stream_calls tn_counted_backend_calls(void)
{
    return (struct tn_stream_calls){ the.record_count, the.query_count, the.wait_count,
                                     the.block_count };
}
