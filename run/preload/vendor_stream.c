/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * vendor_stream: streams and events of a context, and data in their order. A tarn_stream is a CUstream, a tarn_event a
 * CUevent. Events keep no time.
 */
#include "vendor_backend.h"

#include "backend_common/operation.h"

#define STREAM_NON_BLOCKING  1
#define EVENT_DISABLE_TIMING 2

static const tarn_backend_result ok = { TARN_STATUS_OK, 0, NULL };

/* --- streams ----------------------------------------------------------------------------------------- */

tarn_backend_result tn_driver_stream_create(void *state, tarn_stream *stream_out)
{
    const struct tn_driver_device *device = state;
    void *stream = NULL;
    TN_REFUSE_LATE_TAKE(device);
    tarn_backend_result result =
        TN_VISIT(device, device->driver->stream_create(&stream, STREAM_NON_BLOCKING));
    if (result.status == TARN_STATUS_OK) *stream_out = stream;
    return result;
}

static tn_cuda_error finish_and_destroy(const struct tn_driver *driver, void *stream)
{
    tn_cuda_error worked = driver->stream_synchronize(stream);
    tn_cuda_error destroyed = TN_DRIVER_CALL(driver, cuStreamDestroy_v2)(stream);
    return worked != TN_CUDA_SUCCESS ? worked : destroyed;
}

tarn_backend_result tn_driver_stream_destroy(void *state, tarn_stream stream)
{
    const struct tn_driver_device *device = state;
    if (!stream) return tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);
    TN_SKIP_LATE_RETURN(device);
    return TN_VISIT(device, finish_and_destroy(device->driver, stream));
}

/* A driver before CUDA 9.2 does not tell: the stream is believed to be of the current context. */
static tn_cuda_error check_context(const struct tn_driver_device *device, void *stream)
{
    void *context = device->context;
    if (!device->driver->stream_context) return TN_CUDA_SUCCESS;
    tn_cuda_error error = device->driver->stream_context(stream, &context);
    if (error != TN_CUDA_SUCCESS) return error;
    return context == device->context ? TN_CUDA_SUCCESS : TN_CUDA_INVALID_HANDLE;
}

tarn_backend_result tn_driver_stream_check(void *state, tarn_stream stream)
{
    const struct tn_driver_device *device = state;
    if (!stream || stream == TN_CUDA_STREAM_LEGACY || stream == TN_CUDA_STREAM_PER_THREAD)
        return ok;
    TN_REFUSE_LATE_TAKE(device);
    return TN_VISIT(device, check_context(device, stream));
}

tarn_backend_result tn_driver_stream_id(void *state, tarn_stream stream, uint64_t *id_out)
{
    const struct tn_driver_device *device = state;
    unsigned long long id = 0;
    if (!device->driver->stream_id) return tn_backend_result(TARN_STATUS_NOT_SUPPORTED);
    TN_REFUSE_LATE_TAKE(device);
    tarn_backend_result result = TN_VISIT(device, device->driver->stream_id(stream, &id));
    if (result.status == TARN_STATUS_OK) *id_out = id;
    return result;
}

tarn_backend_result tn_driver_stream_synchronize(void *state, tarn_stream stream)
{
    const struct tn_driver_device *device = state;
    TN_REFUSE_LATE_TAKE(device);
    return TN_VISIT(device, device->driver->stream_synchronize(stream));
}

tarn_backend_result tn_driver_stream_wait_event(void *state, tarn_stream stream, tarn_event event)
{
    const struct tn_driver_device *device = state;
    if (!event) return tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);
    TN_REFUSE_LATE_TAKE(device);
    return TN_VISIT(device, device->driver->stream_wait_event(stream, event, 0));
}

/* --- events ------------------------------------------------------------------------------------------ */

tarn_backend_result tn_driver_event_create(void *state, tarn_event *event_out)
{
    const struct tn_driver_device *device = state;
    void *event = NULL;
    TN_REFUSE_LATE_TAKE(device);
    tarn_backend_result result =
        TN_VISIT(device, device->driver->event_create(&event, EVENT_DISABLE_TIMING));
    if (result.status == TARN_STATUS_OK) *event_out = event;
    return result;
}

tarn_backend_result tn_driver_event_destroy(void *state, tarn_event event)
{
    const struct tn_driver_device *device = state;
    if (!event) return tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);
    TN_SKIP_LATE_RETURN(device);
    return TN_VISIT(device, device->driver->event_destroy(event));
}

tarn_backend_result tn_driver_event_record(void *state, tarn_event event, tarn_stream stream)
{
    const struct tn_driver_device *device = state;
    if (!event) return tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);
    TN_REFUSE_LATE_TAKE(device);
    return TN_VISIT(device, device->driver->event_record(event, stream));
}

tarn_backend_result tn_driver_event_query(void *state, tarn_event event)
{
    const struct tn_driver_device *device = state;
    if (!event) return tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);
    TN_REFUSE_LATE_TAKE(device);
    return TN_VISIT(device, device->driver->event_query(event));
}

tarn_backend_result tn_driver_event_synchronize(void *state, tarn_event event)
{
    const struct tn_driver_device *device = state;
    if (!event) return tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);
    TN_REFUSE_LATE_TAKE(device);
    return TN_VISIT(device, device->driver->event_synchronize(event));
}

/* By cuCtxRecordEvent of CUDA 12.5 and newer. Without it a pool waits for the context instead. */
tarn_backend_result tn_driver_event_record_device(void *state, tarn_event event)
{
    const struct tn_driver_device *device = state;
    if (!event) return tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);
    if (!device->driver->record_context) return tn_backend_result(TARN_STATUS_NOT_SUPPORTED);
    TN_REFUSE_LATE_TAKE(device);
    return TN_VISIT(device, device->driver->record_context(device->context, event));
}

/* --- data -------------------------------------------------------------------------------------------- */

tarn_backend_result tn_driver_fill(void *state, void *address, unsigned char value,
                                   size_t size_bytes, tarn_stream stream)
{
    const struct tn_driver_device *device = state;
    if (size_bytes == 0) return ok;
    if (!address) return tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);
    TN_REFUSE_LATE_TAKE(device);
    return TN_VISIT(device,
                    device->driver->fill((tn_cuda_address)address, value, size_bytes, stream));
}

tarn_backend_result tn_driver_copy(void *state, void *destination, const void *source,
                                   size_t size_bytes, tarn_stream stream)
{
    const struct tn_driver_device *device = state;
    if (size_bytes == 0) return ok;
    if (!destination || !source) return tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);
    TN_REFUSE_LATE_TAKE(device);
    return TN_VISIT(device, device->driver->copy((tn_cuda_address)destination,
                                                 (tn_cuda_address)source, size_bytes, stream));
}
