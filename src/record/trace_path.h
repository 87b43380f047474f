/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * trace_path: where a trace is to be. What comes out is of the host's memory.
 *
 * A recording takes the place at its beginning and writes the trace at its end, so the path has to be one that holds
 * wherever the process has gone by then, and what will not be written is to be known at once.
 */
#ifndef TN_TRACE_PATH_H
#define TN_TRACE_PATH_H

#include "tarn/status.h"

/* From the root on. FILE_ERROR: the current folder has no name; OUT_OF_HOST_MEMORY. */
tarn_status tn_trace_path_absolute(const char *path, char **absolute_out);

/* The pattern with the process's number in the place of each %p. NULL: no host memory. */
char *tn_trace_path_expand(const char *pattern);

/* What the file of events of a trace is called. NULL: no host memory. */
char *tn_trace_path_of_events(const char *path);

/* Of an absolute path. FILE_ERROR: it is a folder or may not be written, or nothing can be made beside it. */
tarn_status tn_trace_path_check(const char *path);

#endif
