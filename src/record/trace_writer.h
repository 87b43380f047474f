/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * trace_writer: makes a trace from a file of events.
 *
 * Events have addresses, traces have ids: each allocation gets the next number. Other events can change the
 * meaning of an event:
 * - A free of memory that is not live belongs to an allocation before the recording, and is left out.
 * - If an allocation's address is live, its free is missing, and the trace gets one.
 * - An allocation of no bytes has no address that would identify its free. It is freed at once.
 * - Among events of the same nanosecond, those that are possible come first.
 *
 * docs/file_formats.md lists the lines. The key `events` comes last, so that a truncated trace is detected. The
 * label of an allocation is the line before it: `# label: <id> <text>`.
 *
 * Cost: 0.1 to 0.5 microseconds an event, of which gzip takes the most. Memory: 21 to 43 bytes of host memory
 * for each allocation live at the peak, besides the reader's; from the first pool that goes with live allocations on,
 * some 32 more by the C library's malloc. A damaged file costs O(log n) an event.
 */
#ifndef TN_TRACE_WRITER_H
#define TN_TRACE_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "tarn/status.h"

struct tn_trace_summary {
    uint64_t alloc_count;
    uint64_t free_count;
    uint64_t live_count;    /* at the end */
    uint64_t unknown_count; /* frees of allocations before the recording */
    uint64_t lost_count;
    uint64_t thread_count;
    uint64_t stream_count;
    uint64_t process; /* number of the recorded process */
};

/* Writes the trace and removes the file of events. FILE_ERROR, OUT_OF_HOST_MEMORY: there is no trace, the
 * file of events stays, and the message says so. */
tarn_status tn_trace_write(const char *event_path, const char *trace_path,
                           struct tn_trace_summary *summary_out);

#endif
