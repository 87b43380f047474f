/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * device_work: work for streams. Fills and reads memory in stream order, as a program's kernels would, so
 * that a benchmark can measure what streams cost and check that contents survive.
 *
 * It opens a backend of its own. For a device that is the one tarn was built for, with the vendor's fills and
 * copies (cudaMemsetAsync, hipMemsetAsync, zeCommandListAppendMemoryFill and their copies). On the host it is
 * tarn's host backend, whose streams are real queues: submitted work runs only when a thread waits for it.
 * Streams are the vendor's own handles, which an allocator that calls the vendor itself can use. An allocator
 * that uses a backend must use this one (the `backend` of its settings): memory of one Level Zero context,
 * and streams of one host backend, mean nothing to another.
 *
 * Each wait is for one stream, never for the device: some drivers leave immediate command lists out of a wait
 * for the device.
 *
 * Threads: any, each with streams of its own; one thread opens and closes.
 */
#ifndef TN_DEVICE_WORK_H
#define TN_DEVICE_WORK_H

#include <stdbool.h>
#include <stddef.h>

#include "../common/reason.h"
#include "tarn/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tn_device_work {
    tarn_backend backend;
};

/* On failure writes the reason and leaves nothing open. */
tarn_status tn_device_work_init(struct tn_device_work *work, int device,
                                struct tn_reason *reason_out);

/* All streams must be destroyed, and all allocators on the backend closed. */
void tn_device_work_fini(struct tn_device_work *work);

/* Destroying a stream waits for the work on it. */
tarn_backend_result tn_device_work_stream_create(struct tn_device_work *work,
                                                 tarn_stream *stream_out);
tarn_backend_result tn_device_work_stream_destroy(struct tn_device_work *work, tarn_stream stream);

/* Sets every byte to `pattern`, after all earlier work on the stream. Does not wait. */
tarn_backend_result tn_device_work_fill(struct tn_device_work *work, tarn_stream stream,
                                        void *address, size_t size_bytes, unsigned char pattern);

/* Copies between two places in memory of the backend, after all earlier work on the stream. Does not wait. */
tarn_backend_result tn_device_work_copy(struct tn_device_work *work, tarn_stream stream,
                                        void *destination, const void *source, size_t size_bytes);

/* Waits until all work on the stream is done. */
tarn_backend_result tn_device_work_wait(struct tn_device_work *work, tarn_stream stream);

/* Copies to host memory, after all earlier work on the stream, and waits. */
tarn_backend_result tn_device_work_read(struct tn_device_work *work, tarn_stream stream,
                                        const void *address, size_t size_bytes, void *bytes_out);

/* The reason of a result that is not OK, in the vendor's words if it has any. */
void tn_device_work_explain(tarn_backend_result result, struct tn_reason *reason_out);

/* Whether the result is OK. False: the reason is "WHAT: " and the result's reason. */
bool tn_device_work_is_ok(tarn_backend_result result, const char *what,
                          struct tn_reason *reason_out);

#ifdef __cplusplus
}
#endif

#endif
