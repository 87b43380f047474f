/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * host_calls: the public calls for streams. They check their arguments, call the operations of host_stream.c, and report
 * what those answer.
 */
#include "tarn/host.h"

#include "../backend_common/operation.h"
#include "../base/error.h"
#include "host_device.h"

static tarn_status fail_for_null(const char *call, const char *argument)
{
    return tn_fail(TARN_STATUS_INVALID_ARGUMENT, "%s: %s is NULL", call, argument);
}

/* The message for the answer of an operation whose arguments were checked. */
static tarn_status report(const char *call, tarn_backend_result result)
{
    switch (result.status) {
    case TARN_STATUS_OUT_OF_HOST_MEMORY:
        return tn_fail(result.status, "%s: the host has no memory for it", call);
    case TARN_STATUS_FORKED:
        return tn_fail(result.status, "%s: the event or the work is of the parent process", call);
    case TARN_STATUS_INVALID_ARGUMENT:
        return tn_fail(result.status, "%s: a function that runs on a stream cannot wait for work",
                       call);
    default: /* OK, or NOT_READY, which is no error */
        return result.status;
    }
}

static tarn_status begin(const char *call)
{
    if (tn_host_streams_begin()) return TARN_STATUS_OK;
    return tn_fail(TARN_STATUS_OUT_OF_HOST_MEMORY, "%s: no host memory to watch for forks", call);
}

static tarn_status check_stream(const char *call, tarn_stream stream)
{
    tarn_status status = begin(call);
    if (status != TARN_STATUS_OK) return status;
    tarn_backend_result result = tn_host_stream_check(NULL, stream);
    if (result.status != TARN_STATUS_INVALID_ARGUMENT) return report(call, result);
    if (tn_host_streams_are_inherited()) {
        return tn_fail(TARN_STATUS_FORKED,
                       "%s: stream %p is of the parent process, or is no stream", call, stream);
    }
    return tn_fail(TARN_STATUS_INVALID_ARGUMENT, "%s: %p is no stream of the host", call, stream);
}

/* --- streams ----------------------------------------------------------------------------------- */

tarn_status tarn_host_stream_create(tarn_stream *stream_out)
{
    if (!stream_out) return fail_for_null(__func__, "stream_out");
    tarn_status status = begin(__func__);
    if (status != TARN_STATUS_OK) return status;
    return report(__func__, tn_host_stream_create(NULL, stream_out));
}

tarn_status tarn_host_stream_destroy(tarn_stream stream)
{
    if (!stream || stream == TARN_HOST_STREAM_DEFAULT || stream == TARN_HOST_STREAM_PER_THREAD) {
        return tn_fail(TARN_STATUS_INVALID_ARGUMENT,
                       "%s: %p is the default stream or a thread's own", __func__, stream);
    }
    tarn_status status = check_stream(__func__, stream);
    if (status == TARN_STATUS_FORKED) return TARN_STATUS_OK;
    if (status != TARN_STATUS_OK) return status;
    return report(__func__, tn_host_stream_destroy(NULL, stream));
}

tarn_status tarn_host_stream_synchronize(tarn_stream stream)
{
    tarn_status status = check_stream(__func__, stream);
    if (status != TARN_STATUS_OK) return status;
    return report(__func__, tn_host_stream_synchronize(NULL, stream));
}

tarn_status tarn_host_synchronize(void)
{
    return report(__func__, tn_host_synchronize(NULL));
}

/* --- work -------------------------------------------------------------------------------------- */

tarn_status tarn_host_launch(void (*function)(void *argument), const void *argument,
                             size_t argument_bytes, tarn_stream stream)
{
    if (!function) return fail_for_null(__func__, "function");
    if (!argument && argument_bytes > 0) return fail_for_null(__func__, "argument");
    tarn_status status = check_stream(__func__, stream);
    if (status != TARN_STATUS_OK) return status;
    return report(__func__, tn_host_launch(function, argument, argument_bytes, stream));
}

tarn_status tarn_host_copy(void *destination, const void *source, size_t size_bytes,
                           tarn_stream stream)
{
    if (!destination && size_bytes > 0) return fail_for_null(__func__, "destination");
    if (!source && size_bytes > 0) return fail_for_null(__func__, "source");
    tarn_status status = check_stream(__func__, stream);
    if (status != TARN_STATUS_OK) return status;
    return report(__func__, tn_host_copy(NULL, destination, source, size_bytes, stream));
}

tarn_status tarn_host_fill(void *address, unsigned char value, size_t size_bytes,
                           tarn_stream stream)
{
    if (!address && size_bytes > 0) return fail_for_null(__func__, "address");
    tarn_status status = check_stream(__func__, stream);
    if (status != TARN_STATUS_OK) return status;
    return report(__func__, tn_host_fill(NULL, address, value, size_bytes, stream));
}

/* --- events ------------------------------------------------------------------------------------ */

tarn_status tarn_host_event_create(tarn_event *event_out)
{
    if (!event_out) return fail_for_null(__func__, "event_out");
    tarn_status status = begin(__func__);
    if (status != TARN_STATUS_OK) return status;
    return report(__func__, tn_host_event_create(NULL, event_out));
}

tarn_status tarn_host_event_destroy(tarn_event event)
{
    if (!event) return fail_for_null(__func__, "event");
    return report(__func__, tn_host_event_destroy(NULL, event));
}

tarn_status tarn_host_event_record(tarn_event event, tarn_stream stream)
{
    if (!event) return fail_for_null(__func__, "event");
    tarn_status status = check_stream(__func__, stream);
    if (status != TARN_STATUS_OK) return status;
    return report(__func__, tn_host_event_record(NULL, event, stream));
}

tarn_status tarn_host_stream_wait_event(tarn_stream stream, tarn_event event)
{
    if (!event) return fail_for_null(__func__, "event");
    tarn_status status = check_stream(__func__, stream);
    if (status != TARN_STATUS_OK) return status;
    return report(__func__, tn_host_stream_wait_event(NULL, stream, event));
}

tarn_status tarn_host_event_synchronize(tarn_event event)
{
    if (!event) return fail_for_null(__func__, "event");
    return report(__func__, tn_host_event_synchronize(NULL, event));
}

tarn_status tarn_host_event_query(tarn_event event)
{
    if (!event) return fail_for_null(__func__, "event");
    return report(__func__, tn_host_event_query(NULL, event));
}
