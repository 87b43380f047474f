/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* calls_life: the end of streams, and captures, as far as both vendors have the functions. */
#include "call_forms.h"
#include "pass.h"

void tn_calls_retire(void *stream)
{
    if (!stream || tn_pass_is_asked() || tn_context_pools_are_of_parent()) return;
    tn_pass_enter_pool();
    (void)tarn_stream_retire(stream);
    tn_pass_leave_pool();
}

TN_DESTROY_STREAM(destroy_stream)

TN_BEGIN_CAPTURE(begin_capture, , (void *stream, int mode), (stream, mode))
TN_BEGIN_CAPTURE(begin_capture_of_thread, tn_stream_of_thread, (void *stream, int mode),
                 (stream, mode))
TN_BEGIN_CAPTURE(begin_capture_to_graph, ,
                 (void *stream, void *graph, const void *nodes, const void *edges, size_t count,
                  int mode),
                 (stream, graph, nodes, edges, count, mode))
TN_END_CAPTURE(end_capture, )
TN_END_CAPTURE(end_capture_of_thread, tn_stream_of_thread)
