/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * trace_path: the path of a trace. The results are in host memory.
 *
 * A recording fixes the path at its start and writes the trace at its end. So the path must hold wherever the
 * process has changed its folder, and a path that cannot be written must fail at once.
 */
#ifndef TN_TRACE_PATH_H
#define TN_TRACE_PATH_H

#include "tarn/status.h"

/* Makes a path absolute. FILE_ERROR: the current folder has no name; OUT_OF_HOST_MEMORY. */
tarn_status tn_trace_path_absolute(const char *path, char **absolute_out);

/* Replaces each %p by the number of the process. NULL: no host memory. */
char *tn_trace_path_expand(const char *pattern);

/* Returns the path of a trace's file of events. NULL: no host memory. */
char *tn_trace_path_of_events(const char *path);

/* Checks an absolute path. FILE_ERROR: it is a folder, it cannot be written, or its folder cannot. */
tarn_status tn_trace_path_check(const char *path);

#endif
