/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * run_files: the files that the processes of one run have left, and the names of their traces.
 *
 * For `trace.gz`, process 4711 of run 17 leaves trace.gz.17-4711.events. If it uses tarn, tarn leaves
 * trace.gz.17-4711.tarn. The largest file of tarn's, or else of all, gets the trace's own name, another one
 * trace.4711.gz.
 */
#ifndef TN_RUN_FILES_H
#define TN_RUN_FILES_H

#include <stdbool.h>
#include <stddef.h>

/* The ending of the names of tarn's files. */
#define TN_RUN_FILES_TARN ".tarn"

struct tn_run_file {
    char *path;
    char *process; /* its number, and a second number if it executed several programs */
    bool is_tarns; /* written by tarn in the process: what that asked of tarn */
    unsigned long long bytes;
};

struct tn_run_files {
    struct tn_run_file *files; /* tarn's first, then the largest */
    size_t count;
};

/* Finds files whose names begin with `prefix`, a path and the run. False: the folder cannot be read, or there
 * is no memory; see errno. */
bool tn_run_files_find(struct tn_run_files *files, const char *prefix);
void tn_run_files_fini(struct tn_run_files *files);

/* Returns the path of another process's trace, from malloc. NULL: no memory. */
char *tn_run_files_trace_path(const char *trace_path, const char *process);

#endif
