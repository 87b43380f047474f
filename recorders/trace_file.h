/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * trace_file: makes a trace, compressed by gzip if its name ends in .gz, of a file of events.
 *
 * The trace is written beside its place and renamed when it is whole, so that it can take the place of its events, or
 * of an older trace. Into a device, a pipe or a link it is written directly.
 *
 * Cost: 0.1 microseconds an event, and with gzip 0.2 more. A limit on the size of files raises SIGXFSZ, unless the
 * program ignores it.
 */
#ifndef TN_TRACE_FILE_H
#define TN_TRACE_FILE_H

#include <stdbool.h>

#include "convert/trace_writer.h"

/* Makes the trace; "-" is standard output. Then removes the events, unless keeps_events. False: there is no trace, and
 * an older one and the events are unchanged. */
bool tn_trace_file_make(const char *event_path, const char *trace_path, bool keeps_events,
                        struct tn_trace_summary *summary_out, struct tn_failure *failure);

#endif
