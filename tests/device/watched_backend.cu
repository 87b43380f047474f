/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* watched_backend: the calls that differ from CUDA's own. */
#include "watched_backend.h"

#include "checks.h"

#include "tarn/cuda.h"

struct watched_backend watched;

namespace
{

tarn_backend_result watched_record(void *state, tarn_event event, tarn_stream stream)
{
    watched.record_count++;
    return watched.inner.operations->event_record(state, event, stream);
}

tarn_backend_result watched_wait(void *state, tarn_stream stream, tarn_event event)
{
    watched.wait_count++;
    if (watched.skips_waits) return TARN_BACKEND_RESULT_OK;
    return watched.inner.operations->stream_wait_event(state, stream, event);
}

tarn_backend_result watched_query(void *state, tarn_event event)
{
    if (watched.completes_early) return TARN_BACKEND_RESULT_OK;
    return watched.inner.operations->event_query(state, event);
}

} // namespace

tarn_backend open_watched_backend()
{
    TARN(tarn_cuda_backend_open(0, TARN_MEMORY_KIND_DEVICE, &watched.inner));
    watched.operations = *watched.inner.operations;
    watched.operations.event_record = watched_record;
    watched.operations.stream_wait_event = watched_wait;
    watched.operations.event_query = watched_query;
    return tarn_backend{ &watched.operations, watched.inner.state };
}
