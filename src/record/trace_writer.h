/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * trace_writer: makes a trace of a file of events.
 *
 * Events have addresses, traces have ids: each allocation gets a new one, the next number. What an event means can
 * depend on what else happened: a free of what is not live is of an earlier time, and is left out; an allocation of
 * what is live says that its free is missing, and gets one. One of no bytes gets no address, so nobody can know its
 * free from that of another: it is freed at once.
 * Among events of the same nanosecond those are first that can be.
 *
 * The lines are those that bench/README.md lists; the key `events` comes last, so that a cut trace is found out.
 * The label of an allocation is the line before it: `# label: <id> <text>`.
 *
 * Cost: 0.1 to 0.5 microseconds an event, the most for gzip; host memory of 21 to 43 bytes for each live allocation at the
 * most live, besides that of the reader.
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
    uint64_t unknown_count; /* frees of what was allocated earlier */
    uint64_t lost_count;
    uint64_t thread_count;
    uint64_t stream_count;
    uint64_t process; /* number of the process that was recorded */
};

/* Writes the trace and removes the file of events. FILE_ERROR, OUT_OF_HOST_MEMORY: then there is no trace, and the file
 * of events stays, which the message says. */
tarn_status tn_trace_write(const char *event_path, const char *trace_path,
                           struct tn_trace_summary *summary_out);

#endif
