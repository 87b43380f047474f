/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* device_work: work for streams, by the operations of a backend. */
#include "device_work.h"

#include "../allocators/backing.h"

tarn_status tn_device_work_init(struct tn_device_work *work, int device,
                                struct tn_reason *reason_out)
{
    tarn_status status = tarn_backend_open(device, TARN_MEMORY_KIND_DEVICE, &work->backend);
    if (status != TARN_STATUS_OK) tn_reason_set(reason_out, "%s", tarn_last_error().message);
    return status;
}

void tn_device_work_fini(struct tn_device_work *work)
{
    tarn_backend_close(&work->backend);
}

tarn_backend_result tn_device_work_stream_create(struct tn_device_work *work,
                                                 tarn_stream *stream_out)
{
    return work->backend.operations->stream_create(work->backend.state, stream_out);
}

tarn_backend_result tn_device_work_stream_destroy(struct tn_device_work *work, tarn_stream stream)
{
    return work->backend.operations->stream_destroy(work->backend.state, stream);
}

tarn_backend_result tn_device_work_fill(struct tn_device_work *work, tarn_stream stream,
                                        void *address, size_t size_bytes, unsigned char pattern)
{
    return work->backend.operations->fill(work->backend.state, address, pattern, size_bytes,
                                          stream);
}

tarn_backend_result tn_device_work_copy(struct tn_device_work *work, tarn_stream stream,
                                        void *destination, const void *source, size_t size_bytes)
{
    return work->backend.operations->copy(work->backend.state, destination, source, size_bytes,
                                          stream);
}

tarn_backend_result tn_device_work_wait(struct tn_device_work *work, tarn_stream stream)
{
    return work->backend.operations->stream_synchronize(work->backend.state, stream);
}

tarn_backend_result tn_device_work_read(struct tn_device_work *work, tarn_stream stream,
                                        const void *address, size_t size_bytes, void *bytes_out)
{
    tarn_backend_result result = tn_device_work_copy(work, stream, bytes_out, address, size_bytes);
    if (result.status != TARN_STATUS_OK) return result;
    return tn_device_work_wait(work, stream);
}

void tn_device_work_explain(tarn_backend_result result, struct tn_reason *reason_out)
{
    tn_backend_result_explain(result, reason_out);
}

bool tn_device_work_is_ok(tarn_backend_result result, const char *what,
                          struct tn_reason *reason_out)
{
    if (result.status == TARN_STATUS_OK) return true;
    struct tn_reason why;
    tn_device_work_explain(result, &why);
    tn_reason_set(reason_out, "%s: %.400s", what, why.text);
    return false;
}
