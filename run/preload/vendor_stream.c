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

tarn_backend_result tn_vendor_stream_create(void *state, tarn_stream *stream_out)
{
    const struct tn_vendor_device *device = state;
    void *stream = NULL;
    TN_REFUSE_LATE_TAKE(device);
    tarn_backend_result result =
        TN_VISIT(device, ORDER, device->vendor->stream_create(&stream, STREAM_NON_BLOCKING));
    if (result.status == TARN_STATUS_OK) *stream_out = stream;
    return result;
}

static tn_vendor_error finish_and_destroy(const struct tn_vendor *vendor, void *stream)
{
    tn_vendor_error worked = vendor->stream_synchronize(stream);
    tn_vendor_error destroyed = TN_VENDOR_CALL(vendor, destroy_stream)(stream);
    return worked != TN_ERROR_SUCCESS ? worked : destroyed;
}

tarn_backend_result tn_vendor_stream_destroy(void *state, tarn_stream stream)
{
    const struct tn_vendor_device *device = state;
    if (!stream) return tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);
    TN_SKIP_LATE_RETURN(device);
    return TN_VISIT(device, ORDER, finish_and_destroy(device->vendor, stream));
}

/* If the vendor does not tell, the stream is believed to be of the backend's context. */
static tn_vendor_error check_context(const struct tn_vendor_device *device, void *stream)
{
    void *context = device->context;
    tn_vendor_error error = tn_vendor_find_stream_context(device->vendor, stream, &context);
    if (error != TN_ERROR_SUCCESS) return error;
    return context == device->context ? TN_ERROR_SUCCESS : TN_ERROR_INVALID_HANDLE;
}

tarn_backend_result tn_vendor_stream_check(void *state, tarn_stream stream)
{
    const struct tn_vendor_device *device = state;
    if (!stream || stream == TN_STREAM_LEGACY || stream == TN_STREAM_PER_THREAD) return ok;
    TN_REFUSE_LATE_TAKE(device);
    return TN_VISIT(device, ORDER, check_context(device, stream));
}

tarn_backend_result tn_vendor_stream_id(void *state, tarn_stream stream, uint64_t *id_out)
{
    const struct tn_vendor_device *device = state;
    unsigned long long id = 0;
    if (!device->vendor->stream_id) return tn_backend_result(TARN_STATUS_NOT_SUPPORTED);
    TN_REFUSE_LATE_TAKE(device);
    tarn_backend_result result = TN_VISIT(device, ORDER, device->vendor->stream_id(stream, &id));
    if (result.status == TARN_STATUS_OK) *id_out = id;
    return result;
}

tarn_backend_result tn_vendor_stream_synchronize(void *state, tarn_stream stream)
{
    const struct tn_vendor_device *device = state;
    TN_REFUSE_LATE_TAKE(device);
    return TN_VISIT(device, ORDER, device->vendor->stream_synchronize(stream));
}

tarn_backend_result tn_vendor_stream_wait_event(void *state, tarn_stream stream, tarn_event event)
{
    const struct tn_vendor_device *device = state;
    if (!event) return tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);
    TN_REFUSE_LATE_TAKE(device);
    return TN_VISIT(device, ORDER, device->vendor->stream_wait_event(stream, event, 0));
}

/* --- events ------------------------------------------------------------------------------------------ */

tarn_backend_result tn_vendor_event_create(void *state, tarn_event *event_out)
{
    const struct tn_vendor_device *device = state;
    void *event = NULL;
    TN_REFUSE_LATE_TAKE(device);
    tarn_backend_result result =
        TN_VISIT(device, ORDER, device->vendor->event_create(&event, EVENT_DISABLE_TIMING));
    if (result.status == TARN_STATUS_OK) *event_out = event;
    return result;
}

tarn_backend_result tn_vendor_event_destroy(void *state, tarn_event event)
{
    const struct tn_vendor_device *device = state;
    if (!event) return tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);
    TN_SKIP_LATE_RETURN(device);
    return TN_VISIT(device, ORDER, device->vendor->event_destroy(event));
}

tarn_backend_result tn_vendor_event_record(void *state, tarn_event event, tarn_stream stream)
{
    const struct tn_vendor_device *device = state;
    if (!event) return tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);
    TN_REFUSE_LATE_TAKE(device);
    return TN_VISIT(device, ORDER, device->vendor->event_record(event, stream));
}

tarn_backend_result tn_vendor_event_query(void *state, tarn_event event)
{
    const struct tn_vendor_device *device = state;
    if (!event) return tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);
    TN_REFUSE_LATE_TAKE(device);
    return TN_VISIT(device, ORDER, device->vendor->event_query(event));
}

tarn_backend_result tn_vendor_event_synchronize(void *state, tarn_event event)
{
    const struct tn_vendor_device *device = state;
    if (!event) return tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);
    TN_REFUSE_LATE_TAKE(device);
    return TN_VISIT(device, ORDER, device->vendor->event_synchronize(event));
}

/* --- data -------------------------------------------------------------------------------------------- */

tarn_backend_result tn_vendor_fill(void *state, void *address, unsigned char value,
                                   size_t size_bytes, tarn_stream stream)
{
    const struct tn_vendor_device *device = state;
    if (size_bytes == 0) return ok;
    if (!address) return tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);
    TN_REFUSE_LATE_TAKE(device);
    return TN_VISIT(device, ORDER,
                    device->vendor->fill((tn_vendor_address)address, value, size_bytes, stream));
}

tarn_backend_result tn_vendor_copy(void *state, void *destination, const void *source,
                                   size_t size_bytes, tarn_stream stream)
{
    const struct tn_vendor_device *device = state;
    if (size_bytes == 0) return ok;
    if (!destination || !source) return tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);
    TN_REFUSE_LATE_TAKE(device);
    return TN_VISIT(device, ORDER,
                    tn_vendor_copy_async(device->vendor, (tn_vendor_address)destination,
                                         (tn_vendor_address)source, size_bytes, stream));
}
