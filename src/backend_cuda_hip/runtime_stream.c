/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * runtime_stream: streams and events of one CUDA or HIP device, and data in their order.
 *
 * A tarn_stream is a cudaStream_t or hipStream_t, a tarn_event a cudaEvent_t or hipEvent_t. Streams
 * that are created here and the default stream do not wait for each other. Events keep no time, which
 * makes recording and querying them cheaper.
 *
 * Cost: that of the vendor's calls.
 * Threads: any; the runtime does the locking.
 */
#include "runtime_device.h"

#include "../backend_common/operation.h"

/* --- streams ----------------------------------------------------------------------------------- */

static tarn_backend_result make_stream_create(struct tn_runtime_call *call)
{
    return tn_runtime_result(
        TN_RUNTIME(StreamCreateWithFlags)(&call->stream, TN_RUNTIME(StreamNonBlocking)));
}

tarn_backend_result tn_runtime_stream_create(void *state, tarn_stream *stream_out)
{
    struct tn_runtime_call call = { .make = make_stream_create };
    tarn_backend_result result = tn_runtime_make(state, &call);
    if (result.status == TARN_STATUS_OK) *stream_out = call.stream;
    return result;
}

/* The runtime's destroy does not wait. If the stream's work has failed, the stream is destroyed all the
 * same. */
static tarn_backend_result make_stream_destroy(struct tn_runtime_call *call)
{
    tn_runtime_error worked = TN_RUNTIME(StreamSynchronize)(call->stream);
    tn_runtime_error destroyed = TN_RUNTIME(StreamDestroy)(call->stream);
    return tn_runtime_result(worked != TN_RUNTIME(Success) ? worked : destroyed);
}

tarn_backend_result tn_runtime_stream_destroy(void *state, tarn_stream stream)
{
    if (!stream) return tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);
    struct tn_runtime_call call = { .make = make_stream_destroy, .stream = stream };
    return tn_runtime_make_return(state, &call);
}

/* The runtime refuses to record an event of one device on a stream of another. */
static tarn_backend_result make_stream_check(struct tn_runtime_call *call)
{
    tn_runtime_error created =
        TN_RUNTIME(EventCreateWithFlags)(&call->event, TN_RUNTIME(EventDisableTiming));
    if (created != TN_RUNTIME(Success)) return tn_runtime_result(created);
    tn_runtime_error recorded = TN_RUNTIME(EventRecord)(call->event, call->stream);
    tn_runtime_error destroyed = TN_RUNTIME(EventDestroy)(call->event);
    return tn_runtime_result(recorded != TN_RUNTIME(Success) ? recorded : destroyed);
}

tarn_backend_result tn_runtime_stream_check(void *state, tarn_stream stream)
{
    if (!stream) return TARN_BACKEND_RESULT_OK;
    struct tn_runtime_call call = { .make = make_stream_check, .stream = stream };
    return tn_runtime_make(state, &call);
}

#ifdef TN_RUNTIME_HAS_STREAM_IDS
static tarn_backend_result make_stream_id(struct tn_runtime_call *call)
{
    return tn_runtime_result(TN_RUNTIME(StreamGetId)(call->stream, &call->stream_id));
}

tarn_backend_result tn_runtime_stream_id(void *state, tarn_stream stream, uint64_t *id_out)
{
    struct tn_runtime_call call = { .make = make_stream_id, .stream = stream };
    tarn_backend_result result = tn_runtime_make(state, &call);
    if (result.status == TARN_STATUS_OK) *id_out = call.stream_id;
    return result;
}
#endif

static tarn_backend_result make_stream_synchronize(struct tn_runtime_call *call)
{
    return tn_runtime_result(TN_RUNTIME(StreamSynchronize)(call->stream));
}

tarn_backend_result tn_runtime_stream_synchronize(void *state, tarn_stream stream)
{
    struct tn_runtime_call call = { .make = make_stream_synchronize, .stream = stream };
    return tn_runtime_make(state, &call);
}

static tarn_backend_result make_stream_wait_event(struct tn_runtime_call *call)
{
    return tn_runtime_result(TN_RUNTIME(StreamWaitEvent)(call->stream, call->event, 0));
}

tarn_backend_result tn_runtime_stream_wait_event(void *state, tarn_stream stream, tarn_event event)
{
    if (!event) return tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);
    struct tn_runtime_call call = { .make = make_stream_wait_event,
                                    .stream = stream,
                                    .event = event };
    return tn_runtime_make(state, &call);
}

/* --- events ------------------------------------------------------------------------------------ */

static tarn_backend_result make_event_create(struct tn_runtime_call *call)
{
    return tn_runtime_result(
        TN_RUNTIME(EventCreateWithFlags)(&call->event, TN_RUNTIME(EventDisableTiming)));
}

tarn_backend_result tn_runtime_event_create(void *state, tarn_event *event_out)
{
    struct tn_runtime_call call = { .make = make_event_create };
    tarn_backend_result result = tn_runtime_make(state, &call);
    if (result.status == TARN_STATUS_OK) *event_out = call.event;
    return result;
}

/* A pending record and the waits for it outlive the event: the runtime keeps what they need. */
static tarn_backend_result make_event_destroy(struct tn_runtime_call *call)
{
    return tn_runtime_result(TN_RUNTIME(EventDestroy)(call->event));
}

tarn_backend_result tn_runtime_event_destroy(void *state, tarn_event event)
{
    if (!event) return tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);
    struct tn_runtime_call call = { .make = make_event_destroy, .event = event };
    return tn_runtime_make_return(state, &call);
}

static tarn_backend_result make_event_record(struct tn_runtime_call *call)
{
    return tn_runtime_result(TN_RUNTIME(EventRecord)(call->event, call->stream));
}

tarn_backend_result tn_runtime_event_record(void *state, tarn_event event, tarn_stream stream)
{
    if (!event) return tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);
    struct tn_runtime_call call = { .make = make_event_record, .event = event, .stream = stream };
    return tn_runtime_make(state, &call);
}

static tarn_backend_result make_event_query(struct tn_runtime_call *call)
{
    return tn_runtime_result(TN_RUNTIME(EventQuery)(call->event));
}

tarn_backend_result tn_runtime_event_query(void *state, tarn_event event)
{
    if (!event) return tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);
    struct tn_runtime_call call = { .make = make_event_query, .event = event };
    return tn_runtime_make(state, &call);
}

static tarn_backend_result make_event_synchronize(struct tn_runtime_call *call)
{
    return tn_runtime_result(TN_RUNTIME(EventSynchronize)(call->event));
}

tarn_backend_result tn_runtime_event_synchronize(void *state, tarn_event event)
{
    if (!event) return tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);
    struct tn_runtime_call call = { .make = make_event_synchronize, .event = event };
    return tn_runtime_make(state, &call);
}

/* --- data -------------------------------------------------------------------------------------- */

static tarn_backend_result make_fill(struct tn_runtime_call *call)
{
    return tn_runtime_result(
        TN_RUNTIME(MemsetAsync)(call->address, call->value, call->size_bytes, call->stream));
}

tarn_backend_result tn_runtime_fill(void *state, void *address, unsigned char value,
                                    size_t size_bytes, tarn_stream stream)
{
    if (size_bytes == 0) return TARN_BACKEND_RESULT_OK;
    if (!address) return tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);
    struct tn_runtime_call call = {
        .make = make_fill,
        .address = address,
        .value = value,
        .size_bytes = size_bytes,
        .stream = stream,
    };
    return tn_runtime_make(state, &call);
}

static tarn_backend_result make_copy(struct tn_runtime_call *call)
{
    return tn_runtime_result(TN_RUNTIME(MemcpyAsync)(call->address, call->source, call->size_bytes,
                                                     TN_RUNTIME(MemcpyDefault), call->stream));
}

tarn_backend_result tn_runtime_copy(void *state, void *destination, const void *source,
                                    size_t size_bytes, tarn_stream stream)
{
    if (size_bytes == 0) return TARN_BACKEND_RESULT_OK;
    if (!destination || !source) return tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);
    struct tn_runtime_call call = {
        .make = make_copy,
        .address = destination,
        .source = source,
        .size_bytes = size_bytes,
        .stream = stream,
    };
    return tn_runtime_make(state, &call);
}
