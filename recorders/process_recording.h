/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * process_recording: the recording of one process under tarn-record, in its own file of events. It begins
 * with the first event, so shells and launchers, which allocate nothing, leave no files.
 *
 * If a vendor's function calls another one, only the outer call is recorded: begin and end count the depth of
 * each thread.
 *
 * Threads: any.
 */
#ifndef TN_PROCESS_RECORDING_H
#define TN_PROCESS_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Environment variables from tarn-record to the libraries. */
#define TN_RECORD_FILE_VARIABLE \
    "TARN_RECORD_FILE" /* prefix of the files of events, before -<process>.events */
#define TN_RECORD_HOST_VARIABLE "TARN_RECORD_HOST" /* "1": record page-locked host memory, too */

/* Begins the process's recording in the first call. False: nothing is recorded, and a message was printed to
 * stderr. */
bool tn_process_recording_begin(const char *source);

/* Returns whether to record page-locked host memory. */
bool tn_process_recording_has_host(void);

/* A call of a vendor's function. Begin it before the call. */
struct tn_vendor_call {
    uint64_t begun_ns;
    bool is_recorded; /* not nested in another one, while recording is on */
};

/* cudaStreamPerThread, hipStreamPerThread */
#define TN_VENDOR_THREAD_STREAM ((const void *)2)

struct tn_vendor_call tn_vendor_call_begin(const char *source);
void tn_vendor_call_end_alloc(struct tn_vendor_call call, bool is_done, const void *address,
                              size_t size_bytes, const void *stream);
void tn_vendor_call_end_free(struct tn_vendor_call call, bool is_done, const void *address,
                             const void *stream);

#endif
