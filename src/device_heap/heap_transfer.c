/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* heap_transfer: copies between host and heap, in the order of a stream, and the buffers that must stay until they
 * have ended. */
#include "heap_transfer.h"

#include "../base/assert.h"
#include "../base/error.h"
#include "../base/host_memory.h"

/* Reports a failed backend call. */
static tarn_status judge(const struct tn_heap_transfer *transfer, tarn_backend_result result,
                         const char *what)
{
    if (result.status == TARN_STATUS_OK) return TARN_STATUS_OK;
    return tn_fail_vendor(result.status, result.vendor_code, result.vendor_name,
                          "device heap: the %s backend could not %s: %s",
                          transfer->backend.operations->name, what,
                          tarn_status_sentence(result.status));
}

static bool has_events(const tarn_backend_operations *operations)
{
    return operations->event_create && operations->event_destroy && operations->event_record &&
           operations->event_synchronize;
}

tarn_status tn_heap_transfer_init(struct tn_heap_transfer *transfer, const tarn_backend *backend)
{
    const tarn_backend_operations *operations = backend->operations;
    *transfer = (struct tn_heap_transfer){ .backend = *backend };
    if (!operations->fill || !operations->copy || !operations->stream_synchronize) {
        return tn_fail(TARN_STATUS_NOT_SUPPORTED,
                       "device heap: the %s backend lacks fill, copy or stream_synchronize, which "
                       "are needed to prepare the memory",
                       operations->name);
    }
    transfer->has_event = has_events(operations);
    if (!transfer->has_event) return TARN_STATUS_OK;
    return judge(transfer, operations->event_create(backend->state, &transfer->event),
                 "create an event");
}

void tn_heap_transfer_fini(struct tn_heap_transfer *transfer)
{
    const tarn_backend *backend = &transfer->backend;
    TN_ASSERT(!transfer->is_under_way);
    if (transfer->has_event) backend->operations->event_destroy(backend->state, transfer->event);
}

tarn_status tn_heap_transfer_fill(struct tn_heap_transfer *transfer, void *address, uint8_t value,
                                  size_t size_bytes, tarn_stream stream)
{
    const tarn_backend *backend = &transfer->backend;
    return judge(transfer,
                 backend->operations->fill(backend->state, address, value, size_bytes, stream),
                 "fill its memory");
}

/* A failed copy may have been submitted all the same. */
static tarn_status copy(struct tn_heap_transfer *transfer, void *destination, const void *source,
                        size_t size_bytes, tarn_stream stream, const char *what)
{
    const tarn_backend *backend = &transfer->backend;
    transfer->is_under_way = true;
    transfer->is_recorded = false;
    return judge(transfer,
                 backend->operations->copy(backend->state, destination, source, size_bytes, stream),
                 what);
}

tarn_status tn_heap_transfer_write(struct tn_heap_transfer *transfer, void *address,
                                   const void *source, size_t size_bytes, tarn_stream stream)
{
    return copy(transfer, address, source, size_bytes, stream, "write to its memory");
}

static tarn_status wait_for_stream(struct tn_heap_transfer *transfer, tarn_stream stream)
{
    const tarn_backend *backend = &transfer->backend;
    tarn_backend_result result = backend->operations->stream_synchronize(backend->state, stream);
    if (result.status == TARN_STATUS_OK) transfer->is_under_way = false;
    return judge(transfer, result, "wait for the stream");
}

/* Returns whether the event could be recorded. */
static bool record(const struct tn_heap_transfer *transfer, tarn_stream stream)
{
    const tarn_backend *backend = &transfer->backend;
    if (!transfer->has_event) return false;
    tarn_backend_result result =
        backend->operations->event_record(backend->state, transfer->event, stream);
    return result.status == TARN_STATUS_OK;
}

void tn_heap_transfer_end_writes(struct tn_heap_transfer *transfer, tarn_stream stream)
{
    transfer->is_recorded = record(transfer, stream);
    if (!transfer->is_recorded) wait_for_stream(transfer, stream);
}

static bool has_completed(const struct tn_heap_transfer *transfer)
{
    const tarn_backend *backend = &transfer->backend;
    tarn_backend_result result =
        backend->operations->event_synchronize(backend->state, transfer->event);
    return result.status == TARN_STATUS_OK;
}

tarn_status tn_heap_transfer_settle(struct tn_heap_transfer *transfer, tarn_stream stream)
{
    if (transfer->is_under_way && transfer->is_recorded)
        transfer->is_under_way = !has_completed(transfer);
    if (transfer->is_under_way) {
        tarn_status status = wait_for_stream(transfer, stream);
        if (status != TARN_STATUS_OK) return status;
    }
    tn_host_memory_free(transfer->buffer);
    transfer->buffer = NULL;
    return TARN_STATUS_OK;
}

tarn_status tn_heap_transfer_read(struct tn_heap_transfer *transfer, const void *address,
                                  size_t size_bytes, tarn_stream stream, void **buffer_out)
{
    tarn_status status = tn_heap_transfer_settle(transfer, stream);
    if (status != TARN_STATUS_OK) return status;
    transfer->buffer = tn_host_memory_alloc(size_bytes);
    if (!transfer->buffer) {
        return tn_fail(TARN_STATUS_OUT_OF_HOST_MEMORY,
                       "device heap: the host has no memory to read %zu bytes of it", size_bytes);
    }
    status = copy(transfer, transfer->buffer, address, size_bytes, stream, "read its memory");
    if (status == TARN_STATUS_OK) status = wait_for_stream(transfer, stream);
    if (status == TARN_STATUS_OK) *buffer_out = transfer->buffer;
    return status;
}
