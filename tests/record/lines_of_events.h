/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* lines_of_events: the trace of a file of events, for tests of what writes events and what reads them. */
#ifndef TEST_LINES_OF_EVENTS_H
#define TEST_LINES_OF_EVENTS_H

#include "../../recorders/convert/trace_writer.h"

/* Writes the trace into a file, or nowhere if it is NULL. Fails the test if the events cannot be read. */
struct tn_trace_summary write_lines_of_events(const char *event_path, const char *trace_path);

/* Expects that the events cannot be read, for a reason that contains `part`. */
void expect_no_lines_of_events(const char *event_path, const char *part);

#endif
