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
 * Cost: 0.1 microseconds an event, besides the sink's. Memory: 21 to 43 bytes of host memory for each allocation live
 * at the peak, besides the reader's; from the first pool that goes with live allocations on, some 32 more by the C
 * library's malloc. A damaged file costs O(log n) an event.
 */
#ifndef TN_TRACE_WRITER_H
#define TN_TRACE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "failure.h"

/* Takes the lines of a trace. */
struct tn_trace_sink {
    bool (*take)(void *to, const char *line,
                 size_t length); /* with its newline; false: no further line is wanted */
    void *to;
};

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

/* Returns whether a file begins as one of events does. Reads no pipe. */
bool tn_trace_is_of_events(const char *path);

/* Gives the lines of a file's trace to the sink. True: the sink had all lines that it wanted. False: the file cannot be
 * read, is not a file of events or is being written, or there is no host memory; the sink may have had lines. */
bool tn_trace_write(const char *event_path, const struct tn_trace_sink *sink,
                    struct tn_trace_summary *summary_out, struct tn_failure *failure);

#endif
