/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * ze_stream: streams and events of one device, and data in their order.
 *
 * A tarn_stream is a tn_ze_command_list_handle_t: an immediate list, whose commands run when they are
 * appended, one after the other. Level Zero 1.4 has no call that waits for a list. Later versions have
 * one, but two threads may not make it at once. So the backend puts a record at the end of the list and
 * waits for the record.
 *
 * A tarn_event refers to the record of its latest place in a list. A wait refers to the record that was
 * the latest when the wait was submitted. Recording the event again or destroying it does not change the
 * wait; see ze_record.c.
 *
 * Drivers before 1.7 have no lists that run in order. With them a barrier follows each fill and copy.
 * Records and waits are barriers in any case.
 *
 * Cost: fill, copy, record and wait are one append each.
 * Threads: any. Two threads may not use a list at once, so each append is made under the list's lock.
 * Destroying a stream waits for other threads that wait for all streams.
 */
#include "ze_device.h"

#include "../backend_common/operation.h"
#include "../base/host_memory.h"

/* A tarn_event points to such a struct. */
struct tn_ze_event {
    struct tn_ze_record *record; /* the latest; NULL: never recorded */
};

/* --- lists ------------------------------------------------------------------------------------- */

static tn_ze_command_list_handle_t list_of(const struct tn_ze_device *device, tarn_stream stream)
{
    return stream ? (tn_ze_command_list_handle_t)stream : device->default_stream.list;
}

/* Intel's driver reads the handle also when it fails, so it must be initialised. */
static tn_ze_result_t list_create(const struct tn_ze_device *device, bool is_in_order,
                                  tn_ze_command_list_handle_t *list_out)
{
    const tn_ze_command_queue_desc_t desc = {
        .stype = TN_ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
        .ordinal = device->queue_group,
        .flags = is_in_order ? TN_ZE_COMMAND_QUEUE_FLAG_IN_ORDER : 0,
        .mode = TN_ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS,
        .priority = TN_ZE_COMMAND_QUEUE_PRIORITY_NORMAL,
    };
    *list_out = NULL;
    return device->ze.CommandListCreateImmediate(device->context, device->handle, &desc, list_out);
}

/* --- streams ----------------------------------------------------------------------------------- */

static tarn_backend_result stream_init(struct tn_ze_device *device, struct tn_ze_stream *stream)
{
    tarn_backend_result result = tn_ze_record_take(device, &stream->end);
    if (result.status != TARN_STATUS_OK) return result;
    result = tn_ze_result(list_create(device, device->lists_are_in_order, &stream->list));
    if (result.status != TARN_STATUS_OK) tn_ze_record_unref(device, stream->end);
    return result;
}

static tarn_backend_result stream_finish(struct tn_ze_device *device, struct tn_ze_stream *stream)
{
    tarn_backend_result result = tn_ze_record_renew(device, stream->end);
    if (result.status != TARN_STATUS_OK) return result;
    result = tn_ze_record_submit(device, stream->end, stream->list);
    if (result.status != TARN_STATUS_OK) return result;
    return tn_ze_record_synchronize(device, stream->end);
}

static tarn_backend_result stream_make(struct tn_ze_device *device,
                                       struct tn_ze_stream **stream_out)
{
    struct tn_ze_stream *stream = tn_host_memory_alloc_zeroed(sizeof *stream);
    if (!stream) return tn_backend_result(TARN_STATUS_OUT_OF_HOST_MEMORY);
    tarn_backend_result result = stream_init(device, stream);
    if (result.status == TARN_STATUS_OK) {
        *stream_out = stream;
    } else {
        tn_host_memory_free(stream);
    }
    return result;
}

/* NULL: there is none. */
static struct tn_ze_stream *take_idle_stream(struct tn_ze_device *device)
{
    tn_mutex_lock(&device->streams_lock);
    struct tn_ze_stream *stream = device->idle_streams;
    if (stream) device->idle_streams = stream->next;
    tn_mutex_unlock(&device->streams_lock);
    return stream;
}

tarn_backend_result tn_ze_stream_create(void *state, tarn_stream *stream_out)
{
    struct tn_ze_device *device = state;
    if (tn_ze_is_over(state)) return tn_ze_refusal(state);
    struct tn_ze_stream *stream = take_idle_stream(device);
    if (!stream) {
        tarn_backend_result result = stream_make(device, &stream);
        if (result.status != TARN_STATUS_OK) return result;
    }
    tn_mutex_lock(&device->streams_lock);
    stream->next = device->default_stream.next;
    device->default_stream.next = stream;
    tn_mutex_unlock(&device->streams_lock);
    *stream_out = stream->list;
    return TARN_BACKEND_RESULT_OK;
}

/* The link that points to the stream with that list of commands, or the last link, which is NULL. */
static struct tn_ze_stream **stream_link_locked(struct tn_ze_device *device,
                                                tn_ze_command_list_handle_t list)
{
    struct tn_ze_stream **link = &device->default_stream.next;
    while (*link && (*link)->list != list)
        link = &(*link)->next;
    return link;
}

/* Whether the host could not wait for lack of memory. A later attempt may succeed; the work goes on. */
static bool may_wait_later(tarn_backend_result result)
{
    return result.status == TARN_STATUS_OUT_OF_MEMORY ||
           result.status == TARN_STATUS_OUT_OF_HOST_MEMORY;
}

/* Keeps a finished stream for reuse: other lists may still have waits ahead for events that it set. */
static void stream_keep_locked(struct tn_ze_device *device, struct tn_ze_stream **link)
{
    struct tn_ze_stream *stream = *link;
    *link = stream->next;
    stream->next = device->idle_streams;
    device->idle_streams = stream;
}

/* The vendor's destroy does not wait. If the stream's work has failed, the stream is destroyed all the same.
 * If there is no memory to wait, or the vendor refuses, the stream stays. It is in the list of streams
 * until it is destroyed, since other threads that wait for all streams must find it. */
static tarn_backend_result stream_destroy_locked(struct tn_ze_device *device,
                                                 struct tn_ze_stream **link)
{
    struct tn_ze_stream *stream = *link;
    tarn_backend_result worked = stream_finish(device, stream);
    if (may_wait_later(worked)) return worked;
    if (worked.status == TARN_STATUS_OK && tn_ze_records_need_lists(device)) {
        stream_keep_locked(device, link);
        return worked;
    }
    tarn_backend_result destroyed =
        tn_ze_return(tn_ze_result(device->ze.CommandListDestroy(stream->list)));
    if (destroyed.status != TARN_STATUS_OK) return destroyed;
    *link = stream->next;
    tn_ze_record_unref(device, stream->end);
    tn_host_memory_free(stream);
    return tn_ze_return(worked);
}

tarn_backend_result tn_ze_stream_destroy(void *state, tarn_stream stream)
{
    struct tn_ze_device *device = state;
    tarn_backend_result result = tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);
    if (tn_ze_is_over(state)) return TARN_BACKEND_RESULT_OK;
    if (!stream) return result;
    tn_mutex_lock(&device->streams_lock);
    struct tn_ze_stream **link = stream_link_locked(device, stream);
    if (*link) result = stream_destroy_locked(device, link);
    tn_mutex_unlock(&device->streams_lock);
    return result;
}

/* A stream of another sub-device of the same device is accepted. If the vendor does not tell the stream's
 * device, every stream is accepted. */
tarn_backend_result tn_ze_stream_check(void *state, tarn_stream stream)
{
    const struct tn_ze_device *device = state;
    if (tn_ze_is_over(state)) return tn_ze_refusal(state);
    tn_ze_device_handle_t other, root = NULL;
    if (!stream || !device->ze.CommandListGetDeviceHandle || !device->root)
        return TARN_BACKEND_RESULT_OK;
    tn_ze_result_t error = device->ze.CommandListGetDeviceHandle(stream, &other);
    if (tn_ze_is_lacking(error)) return TARN_BACKEND_RESULT_OK;
    if (error != TN_ZE_RESULT_SUCCESS || other == device->handle) return tn_ze_result(error);
    error = device->ze.DeviceGetRootDevice(other, &root);
    if (error != TN_ZE_RESULT_SUCCESS) return tn_ze_result(error);
    bool is_same = (root ? root : other) == device->root;
    return tn_backend_result(is_same ? TARN_STATUS_OK : TARN_STATUS_INVALID_ARGUMENT);
}

tarn_backend_result tn_ze_stream_synchronize(void *state, tarn_stream stream)
{
    struct tn_ze_device *device = state;
    struct tn_ze_record *end;
    if (tn_ze_is_over(state)) return tn_ze_refusal(state);
    tarn_backend_result result = tn_ze_record_take(device, &end);
    if (result.status != TARN_STATUS_OK) return result;
    result = tn_ze_record_submit(device, end, list_of(device, stream));
    if (result.status == TARN_STATUS_OK) result = tn_ze_record_synchronize(device, end);
    tn_ze_record_unref(device, end);
    return result;
}

/* The latest record, with a reference for the caller. NULL: the event was never recorded. */
static struct tn_ze_record *latest_record(struct tn_ze_device *device,
                                          const struct tn_ze_event *event)
{
    tn_mutex_lock(&device->lock);
    struct tn_ze_record *record = event->record;
    if (record) record->reference_count++;
    tn_mutex_unlock(&device->lock);
    return record;
}

tarn_backend_result tn_ze_stream_wait_event(void *state, tarn_stream stream, tarn_event event)
{
    struct tn_ze_device *device = state;
    if (tn_ze_is_over(state)) return tn_ze_refusal(state);
    if (!event) return tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);
    struct tn_ze_record *record = latest_record(device, event);
    if (!record) return TARN_BACKEND_RESULT_OK;
    tarn_backend_result result = tn_ze_record_await(device, list_of(device, stream), record);
    tn_ze_record_unref(device, record);
    return result;
}

/* --- events ------------------------------------------------------------------------------------ */

tarn_backend_result tn_ze_event_create(void *state, tarn_event *event_out)
{
    if (tn_ze_is_over(state)) return tn_ze_refusal(state);
    struct tn_ze_event *event = tn_host_memory_alloc_zeroed(sizeof *event);
    if (!event) return tn_backend_result(TARN_STATUS_OUT_OF_HOST_MEMORY);
    *event_out = event;
    return TARN_BACKEND_RESULT_OK;
}

/* A pending record and the waits for it outlive the event: they do not need it. */
tarn_backend_result tn_ze_event_destroy(void *state, tarn_event event)
{
    struct tn_ze_event *destroyed = event;
    if (!destroyed) return tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);
    if (!tn_ze_is_over(state)) tn_ze_record_unref(state, destroyed->record);
    tn_host_memory_free(destroyed);
    return TARN_BACKEND_RESULT_OK;
}

tarn_backend_result tn_ze_event_record(void *state, tarn_event event, tarn_stream stream)
{
    struct tn_ze_device *device = state;
    struct tn_ze_event *recorded = event;
    struct tn_ze_record *record;
    if (tn_ze_is_over(state)) return tn_ze_refusal(state);
    if (!recorded) return tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);
    tarn_backend_result result = tn_ze_record_take(device, &record);
    if (result.status != TARN_STATUS_OK) return result;

    result = tn_ze_record_submit(device, record, list_of(device, stream));
    if (result.status == TARN_STATUS_OK) {
        tn_mutex_lock(&device->lock);
        struct tn_ze_record *before = recorded->record;
        recorded->record = record;
        tn_mutex_unlock(&device->lock);
        record = before;
    }
    tn_ze_record_unref(device, record);
    return result;
}

tarn_backend_result tn_ze_event_query(void *state, tarn_event event)
{
    if (tn_ze_is_over(state)) return tn_ze_refusal(state);
    if (!event) return tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);
    struct tn_ze_record *record = latest_record(state, event);
    if (!record) return TARN_BACKEND_RESULT_OK;
    tarn_backend_result result = tn_ze_record_query(state, record);
    tn_ze_record_unref(state, record);
    return result;
}

tarn_backend_result tn_ze_event_synchronize(void *state, tarn_event event)
{
    if (tn_ze_is_over(state)) return tn_ze_refusal(state);
    if (!event) return tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);
    struct tn_ze_record *record = latest_record(state, event);
    if (!record) return TARN_BACKEND_RESULT_OK;
    tarn_backend_result result = tn_ze_record_synchronize(state, record);
    tn_ze_record_unref(state, record);
    return result;
}

/* --- data -------------------------------------------------------------------------------------- */

/* Ends an append that answered `error`. Under the list's lock. */
static tn_ze_result_t end_command_locked(const struct tn_ze_device *device,
                                         tn_ze_command_list_handle_t list, tn_ze_result_t error)
{
    if (error != TN_ZE_RESULT_SUCCESS || device->lists_are_in_order) return error;
    return device->ze.CommandListAppendBarrier(list, NULL, 0, NULL);
}

tarn_backend_result tn_ze_fill(void *state, void *address, unsigned char value, size_t size_bytes,
                               tarn_stream stream)
{
    const struct tn_ze_device *device = state;
    if (tn_ze_is_over(state)) return tn_ze_refusal(state);
    if (size_bytes == 0) return TARN_BACKEND_RESULT_OK;
    if (!address) return tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);

    tn_ze_command_list_handle_t list = list_of(device, stream);
    struct tn_mutex *lock = tn_ze_list_lock(list);
    tn_mutex_lock(lock);
    tn_ze_result_t error = device->ze.CommandListAppendMemoryFill(
        list, address, &value, sizeof value, size_bytes, NULL, 0, NULL);
    error = end_command_locked(device, list, error);
    tn_mutex_unlock(lock);
    return tn_ze_result(error);
}

tarn_backend_result tn_ze_copy(void *state, void *destination, const void *source,
                               size_t size_bytes, tarn_stream stream)
{
    const struct tn_ze_device *device = state;
    if (tn_ze_is_over(state)) return tn_ze_refusal(state);
    if (size_bytes == 0) return TARN_BACKEND_RESULT_OK;
    if (!destination || !source) return tn_backend_result(TARN_STATUS_INVALID_ARGUMENT);

    tn_ze_command_list_handle_t list = list_of(device, stream);
    struct tn_mutex *lock = tn_ze_list_lock(list);
    tn_mutex_lock(lock);
    tn_ze_result_t error = device->ze.CommandListAppendMemoryCopy(list, destination, source,
                                                                  size_bytes, NULL, 0, NULL);
    error = end_command_locked(device, list, error);
    tn_mutex_unlock(lock);
    return tn_ze_result(error);
}

/* --- all of them ------------------------------------------------------------------------------- */

/* Creates the default stream's list, which shows whether lists can run in order. The driver may be too old,
 * and the validation layer of the 1.8 loader refuses flags that are newer than itself. */
static tn_ze_result_t first_list_create(struct tn_ze_device *device,
                                        tn_ze_command_list_handle_t *list_out)
{
    if (device->lists_are_in_order) {
        tn_ze_result_t error = list_create(device, true, list_out);
        if (error != TN_ZE_RESULT_ERROR_INVALID_ENUMERATION &&
            error != TN_ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION)
            return error;
        device->lists_are_in_order = false;
    }
    return list_create(device, false, list_out);
}

tarn_backend_result tn_ze_streams_init(struct tn_ze_device *device)
{
    struct tn_ze_stream *stream = &device->default_stream;
    tn_ze_result_t error = first_list_create(device, &stream->list);
    if (error != TN_ZE_RESULT_SUCCESS) return tn_ze_result(error);
    tarn_backend_result result = tn_ze_records_init(device);
    if (result.status == TARN_STATUS_OK) result = tn_ze_record_take(device, &stream->end);
    if (result.status != TARN_STATUS_OK) {
        tn_ze_records_fini(device, true);
        device->ze.CommandListDestroy(stream->list);
    }
    return result;
}

/* Waits for all streams. Returns whether all work is over. If waiting for a stream fails, it is tried once
 * more after the others have finished, since memory may have become free. */
static bool finish_at_last(struct tn_ze_device *device)
{
    bool is_over = false;
    for (int round = 0; round < 2 && !is_over; round++) {
        is_over = true;
        for (struct tn_ze_stream *stream = &device->default_stream; stream; stream = stream->next)
            is_over = !may_wait_later(stream_finish(device, stream)) && is_over;
    }
    return is_over;
}

static void streams_fini(struct tn_ze_device *device, struct tn_ze_stream *first, bool is_over)
{
    while (first) {
        struct tn_ze_stream *stream = first;
        first = stream->next;
        if (is_over) device->ze.CommandListDestroy(stream->list);
        if (stream != &device->default_stream) tn_host_memory_free(stream);
    }
}

/* The streams that are left could not be waited for, or the vendor refused to destroy them. No list is
 * destroyed before all have finished, since they wait for each other's events. */
bool tn_ze_streams_fini(struct tn_ze_device *device)
{
    bool is_over = !tn_ze_is_over(device) && finish_at_last(device);
    streams_fini(device, &device->default_stream, is_over);
    streams_fini(device, device->idle_streams, is_over);
    tn_ze_records_fini(device, is_over);
    return is_over;
}

tarn_backend_result tn_ze_streams_finish(struct tn_ze_device *device)
{
    if (device->ze.DeviceSynchronize) {
        tn_ze_result_t error = device->ze.DeviceSynchronize(device->handle);
        if (!tn_ze_is_lacking(error)) return tn_ze_result(error);
    }
    tarn_backend_result result = TARN_BACKEND_RESULT_OK;
    tn_mutex_lock(&device->streams_lock);
    for (struct tn_ze_stream *stream = &device->default_stream; stream; stream = stream->next) {
        result = stream_finish(device, stream);
        if (result.status != TARN_STATUS_OK) break;
    }
    tn_mutex_unlock(&device->streams_lock);
    return result;
}
