/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* careful: notes the call site before a call, and the call after it. */
#include "careful.h"

#include "elsewhere.h"
#include "out_of_memory.h"
#include "recording.h"

/* The time at which a call begins, for a recording. 0: none is on. */
static uint64_t begin_note(void)
{
    return tn_recorder_is_on() ? tn_recorder_now() : 0;
}

tarn_status tn_careful_alloc(struct tarn_pool *pool, size_t size_bytes, size_t alignment_bytes,
                             tarn_stream stream, const void *caller, void **address_out)
{
    tarn_status status = TARN_STATUS_OK;
    size_t served_bytes = tn_pool_served_bytes(pool, size_bytes);
    if (served_bytes == 0) {
        tn_pool_count_empty_alloc(pool);
        *address_out = NULL;
    } else {
        if (pool->notes_callers) tn_note_caller(pool, caller);
        status = tn_alloc(pool, served_bytes, alignment_bytes, stream, address_out);
    }
    if (status == TARN_STATUS_OK && tn_recorder_is_on())
        tn_recording_note_alloc(pool, *address_out, size_bytes, stream);
    return status;
}

tarn_status tn_careful_free(struct tarn_pool *pool, void *address, const size_t *told_bytes,
                            const tarn_stream *streams, size_t stream_count, const void *caller)
{
    uint64_t begun_ns = begin_note();
    tarn_status status = TARN_STATUS_OK;
    if (!address) {
        tn_pool_count_empty_free(pool);
    } else {
        if (pool->notes_callers) tn_note_caller(pool, caller);
        status = tn_free_anywhere(pool, address, told_bytes, streams, stream_count);
    }
    if (status == TARN_STATUS_OK && begun_ns != 0) {
        tarn_stream stream = stream_count > 0 ? streams[0] : pool->default_stream;
        tn_recorder_note_free(address, tn_recording_stream(pool, stream), begun_ns);
    }
    return status;
}

tarn_status tn_careful_resize(struct tarn_pool *pool, void *address, size_t size_bytes,
                              tarn_stream stream, const void *caller)
{
    uint64_t begun_ns = begin_note();
    char label[TN_LABEL_BYTES] = "";
    if (begun_ns != 0) tn_find_label_anywhere(pool, address, label);
    if (pool->notes_callers) tn_note_caller(pool, caller);
    tarn_status status = tn_resize_anywhere(pool, address, size_bytes, stream);
    if (status == TARN_STATUS_OK && begun_ns != 0)
        tn_recorder_note_resize(address, size_bytes, tn_recording_stream(pool, stream), label,
                                begun_ns);
    return status;
}
