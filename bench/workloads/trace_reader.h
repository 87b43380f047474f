/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * trace_reader: reads a recorded trace of allocations: as text, compressed by gzip or not, or a file of events. The
 * content tells which, but text in a file named .gz must be compressed.
 *
 *     # tarn-trace 1                              first line
 *     # key: value                                any number of these, anywhere
 *     a <id> <bytes> <stream> <thread> <t_ns>     an allocation
 *     f <id> <stream> <thread> <t_ns>             the free of one
 *
 * One space between fields, all of them decimal numbers of 64 bits. An id names one live block; it
 * may be used again after the free. Times never decrease. Every line ends with a newline. When a
 * key `events` is there, it is the number of lines that are not metadata.
 *
 * The reader is strict, since a replay of a damaged trace would look like a result: it reports the first
 * fault with file and line, and gives out nothing of the trace.
 *
 * Cost: O(log n) in live blocks for each event.
 */
#ifndef TN_TRACE_READER_H
#define TN_TRACE_READER_H

#include "workload.h"

struct tn_trace {
    char name[TN_WORKLOAD_NAME_BYTES]; /* the key `name`, else the file's name */

    /* The events. Blocks live at the end are freed by operations that the reader adds, in the order of the
     * slots. */
    struct tn_operations operations;
    size_t *lines; /* of each operation, counted from 1; 0 for one that was added */
    struct tn_origin
        *origins; /* of each operation; one that was added has its allocation's thread and stream */
    size_t thread_count;
    size_t stream_count;
    size_t slot_count;
    size_t left_live_count; /* frees that were added */
};

/* False: the reason is one line that names the file and, if it has to do with one, the line. */
bool tn_trace_read(const char *path, struct tn_trace *trace_out, struct tn_reason *reason_out);
void tn_trace_fini(struct tn_trace *trace);

#endif
