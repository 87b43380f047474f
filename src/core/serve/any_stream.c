/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* any_stream: operations on streams that may be made up. */
#include "any_stream.h"

static const tarn_backend_result not_supported = { TARN_STATUS_NOT_SUPPORTED, 0, NULL };

bool tn_any_stream_has_operations(const tarn_backend_operations *operations)
{
    return operations->event_create && operations->event_destroy && operations->event_record &&
           operations->event_query && operations->stream_wait_event && operations->synchronize;
}

tarn_backend_result tn_any_stream_check(const tarn_backend *backend, tarn_stream stream)
{
    const tarn_backend_operations *operations = backend->operations;
    if (tn_is_any_stream(stream) && !tn_any_stream_has_operations(operations))
        return (tarn_backend_result){ TARN_STATUS_INVALID_ARGUMENT, 0, NULL };
    if (tn_is_any_stream(stream) || !operations->stream_check) return TARN_BACKEND_RESULT_OK;
    return operations->stream_check(backend->state, stream);
}

static tarn_backend_result synchronize_device(const tarn_backend *backend)
{
    if (!backend->operations->synchronize) return not_supported;
    return backend->operations->synchronize(backend->state);
}

tarn_backend_result tn_any_stream_synchronize(const tarn_backend *backend, tarn_stream stream)
{
    if (tn_is_any_stream(stream)) return synchronize_device(backend);
    if (!backend->operations->stream_synchronize) return not_supported;
    return backend->operations->stream_synchronize(backend->state, stream);
}

tarn_backend_result tn_any_stream_record_device(const tarn_backend *backend, tarn_event event)
{
    const tarn_backend_operations *operations = backend->operations;
    const size_t bytes_with_it = offsetof(tarn_backend_operations, event_record_device) +
                                 sizeof operations->event_record_device;
    if (operations->struct_bytes < bytes_with_it || !operations->event_record_device)
        return not_supported;
    return operations->event_record_device(backend->state, event);
}

/* After the wait for the device, an event on any stream covers its earlier work. */
tarn_backend_result tn_any_stream_record(const tarn_backend *backend, tarn_event event,
                                         tarn_stream stream, bool *has_waited_out)
{
    const tarn_backend_operations *operations = backend->operations;
    *has_waited_out = false;
    if (!tn_is_any_stream(stream)) return operations->event_record(backend->state, event, stream);
    tarn_backend_result result = tn_any_stream_record_device(backend, event);
    if (result.status != TARN_STATUS_NOT_SUPPORTED) return result;
    *has_waited_out = true;
    result = synchronize_device(backend);
    if (result.status != TARN_STATUS_OK) return result;
    return operations->event_record(backend->state, event, NULL);
}

bool tn_any_stream_is_supported(const tarn_backend *backend)
{
    const tarn_backend_operations *operations = backend->operations;
    tarn_event event;
    if (operations->event_create(backend->state, &event).status != TARN_STATUS_OK) return true;
    bool has_waited;
    tarn_status status =
        tn_any_stream_record(backend, event, TN_ANY_STREAM_FREES, &has_waited).status;
    (void)operations->event_destroy(backend->state, event);
    return status != TARN_STATUS_NOT_SUPPORTED;
}
