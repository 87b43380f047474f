/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * cuda_stream: streams and events of one CUDA device, and data in their order.
 *
 * A tarn_stream is a cudaStream_t, a tarn_event a cudaEvent_t. Streams that are made here do not
 * wait for the legacy default stream, nor it for them. Events keep no time, which makes them cheaper
 * to record and to ask after.
 *
 * Cost: that of the vendor's calls.
 * Threads: any; the runtime does the locking.
 */
#include "cuda_device.h"

#include "../backend_common/operation.h"

/* --- streams ----------------------------------------------------------------------------------- */

static tarn_backend_result make_stream_create(struct tn_cuda_call *call)
{
    return tn_cuda_result(cudaStreamCreateWithFlags(&call->stream, cudaStreamNonBlocking));
}

tarn_backend_result tn_cuda_stream_create(void *state, tarn_stream *stream_out)
{
    struct tn_cuda_call call = { .make = make_stream_create };
    tarn_backend_result result = tn_cuda_make(state, &call);
    if (result.status == TARN_STATUS_OK) *stream_out = call.stream;
    return result;
}

/* The runtime's destroy does not wait. Whether the work failed or not, the stream goes. */
static tarn_backend_result make_stream_destroy(struct tn_cuda_call *call)
{
    cudaError_t worked = cudaStreamSynchronize(call->stream);
    cudaError_t destroyed = cudaStreamDestroy(call->stream);
    return tn_cuda_result(worked != cudaSuccess ? worked : destroyed);
}

tarn_backend_result tn_cuda_stream_destroy(void *state, tarn_stream stream)
{
    if (!stream) return tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);
    struct tn_cuda_call call = { .make = make_stream_destroy, .stream = stream };
    return tn_cuda_make_return(state, &call);
}

/* The vendor tells it by refusing to record an event of one device on a stream of another. */
static tarn_backend_result make_stream_check(struct tn_cuda_call *call)
{
    cudaError_t created = cudaEventCreateWithFlags(&call->event, cudaEventDisableTiming);
    if (created != cudaSuccess) return tn_cuda_result(created);
    cudaError_t recorded = cudaEventRecord(call->event, call->stream);
    cudaError_t destroyed = cudaEventDestroy(call->event);
    return tn_cuda_result(recorded != cudaSuccess ? recorded : destroyed);
}

tarn_backend_result tn_cuda_stream_check(void *state, tarn_stream stream)
{
    if (!stream) return TARN_BACKEND_RESULT_OK;
    struct tn_cuda_call call = { .make = make_stream_check, .stream = stream };
    return tn_cuda_make(state, &call);
}

#if CUDART_VERSION >= 12000
static tarn_backend_result make_stream_id(struct tn_cuda_call *call)
{
    return tn_cuda_result(cudaStreamGetId(call->stream, &call->stream_id));
}

tarn_backend_result tn_cuda_stream_id(void *state, tarn_stream stream, uint64_t *id_out)
{
    struct tn_cuda_call call = { .make = make_stream_id, .stream = stream };
    tarn_backend_result result = tn_cuda_make(state, &call);
    if (result.status == TARN_STATUS_OK) *id_out = call.stream_id;
    return result;
}
#endif

static tarn_backend_result make_stream_synchronize(struct tn_cuda_call *call)
{
    return tn_cuda_result(cudaStreamSynchronize(call->stream));
}

tarn_backend_result tn_cuda_stream_synchronize(void *state, tarn_stream stream)
{
    struct tn_cuda_call call = { .make = make_stream_synchronize, .stream = stream };
    return tn_cuda_make(state, &call);
}

static tarn_backend_result make_stream_wait_event(struct tn_cuda_call *call)
{
    return tn_cuda_result(cudaStreamWaitEvent(call->stream, call->event, 0));
}

tarn_backend_result tn_cuda_stream_wait_event(void *state, tarn_stream stream, tarn_event event)
{
    if (!event) return tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);
    struct tn_cuda_call call = { .make = make_stream_wait_event, .stream = stream, .event = event };
    return tn_cuda_make(state, &call);
}

/* --- events ------------------------------------------------------------------------------------ */

static tarn_backend_result make_event_create(struct tn_cuda_call *call)
{
    return tn_cuda_result(cudaEventCreateWithFlags(&call->event, cudaEventDisableTiming));
}

tarn_backend_result tn_cuda_event_create(void *state, tarn_event *event_out)
{
    struct tn_cuda_call call = { .make = make_event_create };
    tarn_backend_result result = tn_cuda_make(state, &call);
    if (result.status == TARN_STATUS_OK) *event_out = call.event;
    return result;
}

/* A record that is still pending, and waits for it, stay: the runtime keeps what they need. */
static tarn_backend_result make_event_destroy(struct tn_cuda_call *call)
{
    return tn_cuda_result(cudaEventDestroy(call->event));
}

tarn_backend_result tn_cuda_event_destroy(void *state, tarn_event event)
{
    if (!event) return tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);
    struct tn_cuda_call call = { .make = make_event_destroy, .event = event };
    return tn_cuda_make_return(state, &call);
}

static tarn_backend_result make_event_record(struct tn_cuda_call *call)
{
    return tn_cuda_result(cudaEventRecord(call->event, call->stream));
}

tarn_backend_result tn_cuda_event_record(void *state, tarn_event event, tarn_stream stream)
{
    if (!event) return tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);
    struct tn_cuda_call call = { .make = make_event_record, .event = event, .stream = stream };
    return tn_cuda_make(state, &call);
}

static tarn_backend_result make_event_query(struct tn_cuda_call *call)
{
    return tn_cuda_result(cudaEventQuery(call->event));
}

tarn_backend_result tn_cuda_event_query(void *state, tarn_event event)
{
    if (!event) return tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);
    struct tn_cuda_call call = { .make = make_event_query, .event = event };
    return tn_cuda_make(state, &call);
}

static tarn_backend_result make_event_synchronize(struct tn_cuda_call *call)
{
    return tn_cuda_result(cudaEventSynchronize(call->event));
}

tarn_backend_result tn_cuda_event_synchronize(void *state, tarn_event event)
{
    if (!event) return tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);
    struct tn_cuda_call call = { .make = make_event_synchronize, .event = event };
    return tn_cuda_make(state, &call);
}

/* --- data -------------------------------------------------------------------------------------- */

static tarn_backend_result make_fill(struct tn_cuda_call *call)
{
    return tn_cuda_result(
        cudaMemsetAsync(call->address, call->value, call->size_bytes, call->stream));
}

tarn_backend_result tn_cuda_fill(void *state, void *address, unsigned char value, size_t size_bytes,
                                 tarn_stream stream)
{
    if (size_bytes == 0) return TARN_BACKEND_RESULT_OK;
    if (!address) return tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);
    struct tn_cuda_call call = {
        .make = make_fill,
        .address = address,
        .value = value,
        .size_bytes = size_bytes,
        .stream = stream,
    };
    return tn_cuda_make(state, &call);
}

static tarn_backend_result make_copy(struct tn_cuda_call *call)
{
    return tn_cuda_result(cudaMemcpyAsync(call->address, call->source, call->size_bytes,
                                          cudaMemcpyDefault, call->stream));
}

tarn_backend_result tn_cuda_copy(void *state, void *destination, const void *source,
                                 size_t size_bytes, tarn_stream stream)
{
    if (size_bytes == 0) return TARN_BACKEND_RESULT_OK;
    if (!destination || !source) return tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);
    struct tn_cuda_call call = {
        .make = make_copy,
        .address = destination,
        .source = source,
        .size_bytes = size_bytes,
        .stream = stream,
    };
    return tn_cuda_make(state, &call);
}
