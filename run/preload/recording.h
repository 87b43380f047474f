/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * recording: under tarn-record, which sets TARN_RECORD_FILE, all calls pass to the vendor, and those that take or give back
 * memory are written to a file of events. See recorders/process_recording.h.
 *
 * Threads: any. Cost: without tarn-record a load.
 */
#ifndef TN_RECORDING_H
#define TN_RECORDING_H

#include "../../recorders/process_recording.h"

#include "vendor.h"

bool tn_recording_is_asked(void);

/* Before the vendor's call: a free is noted with this time, since another thread may get the memory before the call
 * returns. An end must follow. */
struct tn_vendor_call tn_recording_begin(void);

/* `address` is NULL if the vendor has failed. */
void tn_recording_end_alloc(struct tn_vendor_call call, const void *address, size_t size_bytes,
                            const void *stream);
/* Of page-locked host memory, which is recorded on request alone. */
void tn_recording_end_host_alloc(struct tn_vendor_call call, const void *address,
                                 size_t size_bytes);
void tn_recording_end_free(struct tn_vendor_call call, tn_vendor_error error, const void *address,
                           const void *stream);

#endif
