/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * device_work: something for streams to do. Fills and reads memory in stream order, as a program's
 * kernels would, so that a benchmark can say what streams cost and see that contents survive.
 *
 * It opens a backend of its own: that of the device which tarn was built for, whose fills and copies
 * are the vendor's (cudaMemsetAsync, hipMemsetAsync, zeCommandListAppendMemoryFill and their copies);
 * or tarn's host backend, whose streams are real queues: what is submitted there runs when somebody
 * waits, and not before. Streams are the vendor's own handles, so an allocator that calls the vendor
 * itself takes them as they are. One that takes its memory from a backend takes it from this one (the
 * `backend` of its settings): memory of one Level Zero context, and streams of one host backend, are
 * nothing to another.
 *
 * Waiting waits for the one stream, never for the device: not every driver counts what stands in an
 * immediate list as the device's.
 *
 * Threads: any, each with streams of its own; open and close from one.
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

/* All streams are destroyed, and all that took memory from the backend is closed. */
void tn_device_work_fini(struct tn_device_work *work);

/* Destroying one waits for what was submitted to it. */
tarn_backend_result tn_device_work_stream_create(struct tn_device_work *work,
                                                 tarn_stream *stream_out);
tarn_backend_result tn_device_work_stream_destroy(struct tn_device_work *work, tarn_stream stream);

/* Every byte becomes `pattern`, after all that was submitted to the stream before. Does not wait. */
tarn_backend_result tn_device_work_fill(struct tn_device_work *work, tarn_stream stream,
                                        void *address, size_t size_bytes, unsigned char pattern);

/* Between two places in memory of the backend, likewise. */
tarn_backend_result tn_device_work_copy(struct tn_device_work *work, tarn_stream stream,
                                        void *destination, const void *source, size_t size_bytes);

/* Until all that was submitted to the stream is done. */
tarn_backend_result tn_device_work_wait(struct tn_device_work *work, tarn_stream stream);

/* Copies to host memory what is there after all that was submitted to the stream before, and waits. */
tarn_backend_result tn_device_work_read(struct tn_device_work *work, tarn_stream stream,
                                        const void *address, size_t size_bytes, void *bytes_out);

/* What a result says that is not OK, in the vendor's words if it has any. */
void tn_device_work_explain(tarn_backend_result result, struct tn_reason *reason_out);

/* Whether it is OK. False: the reason says what is not, "WHAT: " and the same. */
bool tn_device_work_is_ok(tarn_backend_result result, const char *what,
                          struct tn_reason *reason_out);

#ifdef __cplusplus
}
#endif

#endif
