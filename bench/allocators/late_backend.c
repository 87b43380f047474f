/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* late_backend: a backend whose events complete late. */
#include "late_backend.h"

#include <stdint.h>
#include <stdlib.h>

/* An event of this backend. */
struct late_event {
    tarn_event real;
    uint64_t recorded_bytes; /* on the clock; 0: never */
};

static struct {
    tarn_backend_operations late;
    const tarn_backend_operations *real;
    uint64_t lag_bytes;
    uint64_t
        clock_bytes; /* a wait counts as a byte, so that what is recorded after it is told apart */
    uint64_t waited_bytes; /* what was recorded until then has completed, since the host waited */
} the;

static tarn_backend_result catch_up(tarn_backend_result result)
{
    if (result.status == TARN_STATUS_OK) the.waited_bytes = the.clock_bytes++;
    return result;
}

/* Each late backend can be waited for, since each device can. */
static tarn_backend_result synchronize(void *state)
{
    return catch_up(the.real->synchronize ? the.real->synchronize(state) : TARN_BACKEND_RESULT_OK);
}

static tarn_backend_result stream_synchronize(void *state, tarn_stream stream)
{
    return catch_up(the.real->stream_synchronize(state, stream));
}

static tarn_backend_result stream_wait_event(void *state, tarn_stream stream, tarn_event event)
{
    return the.real->stream_wait_event(state, stream, ((struct late_event *)event)->real);
}

static tarn_backend_result event_create(void *state, tarn_event *event_out)
{
    struct late_event *event = calloc(1, sizeof *event);
    if (!event) return (tarn_backend_result){ TARN_STATUS_OUT_OF_HOST_MEMORY, 0, NULL };
    tarn_backend_result result = the.real->event_create(state, &event->real);
    if (result.status == TARN_STATUS_OK)
        *event_out = event;
    else
        free(event);
    return result;
}

static tarn_backend_result event_destroy(void *state, tarn_event event)
{
    tarn_event real = ((struct late_event *)event)->real;
    free(event);
    return the.real->event_destroy(state, real);
}

static tarn_backend_result event_record(void *state, tarn_event event, tarn_stream stream)
{
    struct late_event *late = event;
    late->recorded_bytes = the.clock_bytes;
    return the.real->event_record(state, late->real, stream);
}

static tarn_backend_result event_record_device(void *state, tarn_event event)
{
    struct late_event *late = event;
    late->recorded_bytes = the.clock_bytes;
    return the.real->event_record_device(state, late->real);
}

static tarn_backend_result event_query(void *state, tarn_event event)
{
    const struct late_event *late = event;
    bool has_completed = late->recorded_bytes <= the.waited_bytes ||
                         the.clock_bytes - late->recorded_bytes >= the.lag_bytes;
    if (!has_completed) return (tarn_backend_result){ TARN_STATUS_NOT_READY, 0, NULL };
    return the.real->event_query(state, late->real);
}

static tarn_backend_result event_synchronize(void *state, tarn_event event)
{
    return catch_up(the.real->event_synchronize(state, ((struct late_event *)event)->real));
}

tarn_backend tn_late_backend_begin(const tarn_backend *backend, size_t lag_bytes)
{
    the.real = backend->operations;
    the.late = *the.real;
    the.late.synchronize = synchronize;
    the.late.stream_synchronize = stream_synchronize;
    the.late.stream_wait_event = stream_wait_event;
    the.late.event_create = event_create;
    the.late.event_destroy = event_destroy;
    the.late.event_record = event_record;
    the.late.event_query = event_query;
    the.late.event_synchronize = event_synchronize;
    the.late.event_record_device = the.real->event_record_device ? event_record_device : NULL;
    the.lag_bytes = lag_bytes;
    the.waited_bytes = 0;
    the.clock_bytes = 1;
    return (tarn_backend){ &the.late, backend->state };
}

void tn_late_backend_advance(size_t size_bytes)
{
    the.clock_bytes += size_bytes;
}
