/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * hip_stream: streams and events of one HIP device, and data in their order.
 *
 * A tarn_stream is a hipStream_t, a tarn_event a hipEvent_t. Streams that are made here do not wait
 * for the null stream, nor it for them. Events keep no time, which makes them cheaper to record and to
 * ask after.
 *
 * Cost: that of the vendor's calls.
 * Threads: any; the runtime does the locking.
 */
#include "hip_device.h"

#include "../backend_common/operation.h"

/* --- streams ----------------------------------------------------------------------------------- */

static tarn_backend_result make_stream_create(struct tn_hip_call *call)
{
    return tn_hip_result(hipStreamCreateWithFlags(&call->stream, hipStreamNonBlocking));
}

tarn_backend_result tn_hip_stream_create(void *state, tarn_stream *stream_out)
{
    struct tn_hip_call call = { .make = make_stream_create };
    tarn_backend_result result = tn_hip_make(state, &call);
    if (result.status == TARN_STATUS_OK) *stream_out = call.stream;
    return result;
}

/* The runtime's destroy does not wait. Whether the work failed or not, the stream goes. */
static tarn_backend_result make_stream_destroy(struct tn_hip_call *call)
{
    hipError_t worked = hipStreamSynchronize(call->stream);
    hipError_t destroyed = hipStreamDestroy(call->stream);
    return tn_hip_result(worked != hipSuccess ? worked : destroyed);
}

tarn_backend_result tn_hip_stream_destroy(void *state, tarn_stream stream)
{
    if (!stream) return tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);
    struct tn_hip_call call = { .make = make_stream_destroy, .stream = stream };
    return tn_hip_make_return(state, &call);
}

/* The vendor tells it by refusing to record an event of one device on a stream of another. */
static tarn_backend_result make_stream_check(struct tn_hip_call *call)
{
    hipError_t created = hipEventCreateWithFlags(&call->event, hipEventDisableTiming);
    if (created != hipSuccess) return tn_hip_result(created);
    hipError_t recorded = hipEventRecord(call->event, call->stream);
    hipError_t destroyed = hipEventDestroy(call->event);
    return tn_hip_result(recorded != hipSuccess ? recorded : destroyed);
}

tarn_backend_result tn_hip_stream_check(void *state, tarn_stream stream)
{
    if (!stream) return TARN_BACKEND_RESULT_OK;
    struct tn_hip_call call = { .make = make_stream_check, .stream = stream };
    return tn_hip_make(state, &call);
}

#ifdef TN_HIP_NUMBERS_STREAMS
static tarn_backend_result make_stream_id(struct tn_hip_call *call)
{
    return tn_hip_result(hipStreamGetId(call->stream, &call->stream_id));
}

tarn_backend_result tn_hip_stream_id(void *state, tarn_stream stream, uint64_t *id_out)
{
    struct tn_hip_call call = { .make = make_stream_id, .stream = stream };
    tarn_backend_result result = tn_hip_make(state, &call);
    if (result.status == TARN_STATUS_OK) *id_out = call.stream_id;
    return result;
}
#endif

static tarn_backend_result make_stream_synchronize(struct tn_hip_call *call)
{
    return tn_hip_result(hipStreamSynchronize(call->stream));
}

tarn_backend_result tn_hip_stream_synchronize(void *state, tarn_stream stream)
{
    struct tn_hip_call call = { .make = make_stream_synchronize, .stream = stream };
    return tn_hip_make(state, &call);
}

static tarn_backend_result make_stream_wait_event(struct tn_hip_call *call)
{
    return tn_hip_result(hipStreamWaitEvent(call->stream, call->event, 0));
}

tarn_backend_result tn_hip_stream_wait_event(void *state, tarn_stream stream, tarn_event event)
{
    if (!event) return tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);
    struct tn_hip_call call = { .make = make_stream_wait_event, .stream = stream, .event = event };
    return tn_hip_make(state, &call);
}

/* --- events ------------------------------------------------------------------------------------ */

static tarn_backend_result make_event_create(struct tn_hip_call *call)
{
    return tn_hip_result(hipEventCreateWithFlags(&call->event, hipEventDisableTiming));
}

tarn_backend_result tn_hip_event_create(void *state, tarn_event *event_out)
{
    struct tn_hip_call call = { .make = make_event_create };
    tarn_backend_result result = tn_hip_make(state, &call);
    if (result.status == TARN_STATUS_OK) *event_out = call.event;
    return result;
}

/* A record that is still pending, and waits for it, stay: the runtime keeps what they need. */
static tarn_backend_result make_event_destroy(struct tn_hip_call *call)
{
    return tn_hip_result(hipEventDestroy(call->event));
}

tarn_backend_result tn_hip_event_destroy(void *state, tarn_event event)
{
    if (!event) return tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);
    struct tn_hip_call call = { .make = make_event_destroy, .event = event };
    return tn_hip_make_return(state, &call);
}

static tarn_backend_result make_event_record(struct tn_hip_call *call)
{
    return tn_hip_result(hipEventRecord(call->event, call->stream));
}

tarn_backend_result tn_hip_event_record(void *state, tarn_event event, tarn_stream stream)
{
    if (!event) return tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);
    struct tn_hip_call call = { .make = make_event_record, .event = event, .stream = stream };
    return tn_hip_make(state, &call);
}

static tarn_backend_result make_event_query(struct tn_hip_call *call)
{
    return tn_hip_result(hipEventQuery(call->event));
}

tarn_backend_result tn_hip_event_query(void *state, tarn_event event)
{
    if (!event) return tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);
    struct tn_hip_call call = { .make = make_event_query, .event = event };
    return tn_hip_make(state, &call);
}

static tarn_backend_result make_event_synchronize(struct tn_hip_call *call)
{
    return tn_hip_result(hipEventSynchronize(call->event));
}

tarn_backend_result tn_hip_event_synchronize(void *state, tarn_event event)
{
    if (!event) return tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);
    struct tn_hip_call call = { .make = make_event_synchronize, .event = event };
    return tn_hip_make(state, &call);
}

/* --- data -------------------------------------------------------------------------------------- */

static tarn_backend_result make_fill(struct tn_hip_call *call)
{
    return tn_hip_result(
        hipMemsetAsync(call->address, call->value, call->size_bytes, call->stream));
}

tarn_backend_result tn_hip_fill(void *state, void *address, unsigned char value, size_t size_bytes,
                                tarn_stream stream)
{
    if (size_bytes == 0) return TARN_BACKEND_RESULT_OK;
    if (!address) return tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);
    struct tn_hip_call call = {
        .make = make_fill,
        .address = address,
        .value = value,
        .size_bytes = size_bytes,
        .stream = stream,
    };
    return tn_hip_make(state, &call);
}

static tarn_backend_result make_copy(struct tn_hip_call *call)
{
    return tn_hip_result(hipMemcpyAsync(call->address, call->source, call->size_bytes,
                                        hipMemcpyDefault, call->stream));
}

tarn_backend_result tn_hip_copy(void *state, void *destination, const void *source,
                                size_t size_bytes, tarn_stream stream)
{
    if (size_bytes == 0) return TARN_BACKEND_RESULT_OK;
    if (!destination || !source) return tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);
    struct tn_hip_call call = {
        .make = make_copy,
        .address = destination,
        .source = source,
        .size_bytes = size_bytes,
        .stream = stream,
    };
    return tn_hip_make(state, &call);
}
