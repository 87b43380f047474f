/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * process_recording: the recording of one process under tarn-record, in a file of events of its own. It begins with
 * the first event, so that shells and launchers, which allocate nothing, leave no files.
 *
 * Calls of a vendor that are made by another are the other's business: begin and end count how deep a thread is.
 *
 * Threads: any.
 */
#ifndef TN_PROCESS_RECORDING_H
#define TN_PROCESS_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What tarn-record says to the libraries by the environment. */
#define TN_RECORD_FILE_VARIABLE \
    "TARN_RECORD_FILE" /* files of events are called this, and -<process>.events */
#define TN_RECORD_HOST_VARIABLE "TARN_RECORD_HOST" /* "1": host memory is recorded, too */

/* The first call of the process begins its recording. False: nothing is recorded, which was said on stderr. */
bool tn_process_recording_begin(const char *source);

/* Whether page-locked host memory is asked for. */
bool tn_process_recording_has_host(void);

/* A call of a vendor's function, from before it is made. */
struct tn_vendor_call {
    uint64_t begun_ns;
    bool is_recorded; /* it is not part of another, and something is being recorded */
};

/* cudaStreamPerThread, hipStreamPerThread */
#define TN_VENDOR_THREAD_STREAM ((const void *)2)

struct tn_vendor_call tn_vendor_call_begin(const char *source);
void tn_vendor_call_end_alloc(struct tn_vendor_call call, bool is_done, const void *address,
                              size_t size_bytes, const void *stream);
void tn_vendor_call_end_free(struct tn_vendor_call call, bool is_done, const void *address,
                             const void *stream);

#endif
