/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * tarn/host.h: the host backend, and streams without a GPU. Always built in; the backend to read first.
 *
 * A library that was built with TARN_BACKEND=HOST serves every kind of memory as host memory. With the
 * streams below a program for a GPU runs on a machine that has none:
 *
 *     tarn_stream a;
 *     tarn_host_stream_create(&a);
 *     tarn_malloc_on(count * sizeof(double), a, &x);
 *     tarn_host_launch(my_kernel, &arguments, sizeof arguments, a);
 *     tarn_free_on(x, a);                                            while the kernel has not run yet
 *     tarn_host_stream_synchronize(a);                               now it runs, in this thread
 *     tarn_stream_retire(a);                                         before its end, for pools that go on
 *     tarn_host_stream_destroy(a);
 *
 * The memory is anonymous memory of the system, committed when it is touched. Streams are queues: work runs
 * only when a thread waits for it or queries it. So a program that forgets to wait is found out without a
 * device. docs/developing_without_a_gpu.md leads to a whole program.
 *
 * In a build for a vendor all of this is there, too, for memory of the host backend: that of kind
 * TARN_MEMORY_KIND_HOST, and of tarn_host_backend_open.
 */
#ifndef TARN_HOST_H
#define TARN_HOST_H

#include "tarn/backend.h"
#include "tarn/init.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------- streams ----- */

/*
 * The streams are the process's: each serves all pools over host memory, whichever backend they were opened
 * with.
 *
 * Rules for the functions below, beside those of tarn/tarn.h.
 *  - A stream is one of tarn_host_stream_create or of a host backend's operations, NULL, or one of the two
 *    names below. Another handle, like a NULL event or function, is INVALID_ARGUMENT. An event that never was
 *    one is undefined behaviour.
 *  - OUT_OF_HOST_MEMORY: the host has no memory for a stream, an event or a piece of work, or to watch for
 *    forks. Nothing has been submitted.
 *  - Work runs in the thread that waits for it or queries it. Two threads that wait for different streams run
 *    their work at the same time.
 *  - A function that runs on a stream, by tarn_host_launch, cannot wait for work: INVALID_ARGUMENT. A query there
 *    runs none.
 *  - In a forked child the parent's streams and events answer FORKED; to destroy them does nothing and is OK.
 *    The parent's work does not run there.
 */

/* The default stream, which is NULL too, and the calling thread's own stream: like cudaStreamLegacy and
 * cudaStreamPerThread. Neither waits for other streams by itself, nor does any stream wait for them. */
#define TARN_HOST_STREAM_DEFAULT    ((tarn_stream)1)
#define TARN_HOST_STREAM_PER_THREAD ((tarn_stream)2)

/* Creates a stream like one of CUDA's with cudaStreamNonBlocking. It needs no open backend, and may outlive
 * all. */
TARN_API tarn_status tarn_host_stream_create(tarn_stream *stream_out);

/* Runs the work of the stream and ends it. If pools that know it go on, call tarn_stream_retire before. The
 * default stream and threads' own are INVALID_ARGUMENT. */
TARN_API tarn_status tarn_host_stream_destroy(tarn_stream stream);

/* Runs the work that was submitted to the stream so far, and the work that it waits for. */
TARN_API tarn_status tarn_host_stream_synchronize(tarn_stream stream);

/* Runs the work that was submitted to all streams so far, like cudaDeviceSynchronize. */
TARN_API tarn_status tarn_host_synchronize(void);

/* --- work, in stream order -------------------------------------------------------------------- */

/*
 * Submits a call of the function, which stands for a kernel. It gets a copy of the argument_bytes at
 * `argument`, aligned for any type, as a kernel gets its arguments; if argument_bytes is 0, it gets
 * `argument` itself.
 *
 * The function may use memory, like a kernel, and threads of its own. It must not call tarn, as a kernel could not: it may
 * run inside another call of tarn. It must return: neither longjmp nor an exception may leave it.
 */
TARN_API tarn_status tarn_host_launch(void (*function)(void *argument), const void *argument,
                                      size_t argument_bytes, tarn_stream stream);

/* Submits a copy, like cudaMemcpyAsync. It reads the source when it runs. Both may be any memory of this
 * process, and overlap. NULL is INVALID_ARGUMENT, unless size_bytes is 0. */
TARN_API tarn_status tarn_host_copy(void *destination, const void *source, size_t size_bytes,
                                    tarn_stream stream);

/* Submits a fill, like cudaMemsetAsync. NULL is INVALID_ARGUMENT, unless size_bytes is 0. */
TARN_API tarn_status tarn_host_fill(void *address, unsigned char value, size_t size_bytes,
                                    tarn_stream stream);

/* --- events: a place in a stream's order ------------------------------------------------------ */

TARN_API tarn_status tarn_host_event_create(tarn_event *event_out);

/* Streams that wait for the event go on to do so. */
TARN_API tarn_status tarn_host_event_destroy(tarn_event event);

/* The event completes when the work that was submitted to `stream` before is done. It may be recorded again. */
TARN_API tarn_status tarn_host_event_record(tarn_event event, tarn_stream stream);

/* Work that is submitted to `stream` from now on runs after the event's latest record so far. An event that
 * was never recorded is complete. */
TARN_API tarn_status tarn_host_stream_wait_event(tarn_stream stream, tarn_event event);

/* Runs the work before the event's latest record. */
TARN_API tarn_status tarn_host_event_synchronize(tarn_event event);

/* OK: the event is complete. NOT_READY: not yet; this is no failure, and tarn_last_error stays. Then the call has
 * run one piece of the work that the event waits for, so that a loop of queries ends. It never waits for
 * another thread. */
TARN_API tarn_status tarn_host_event_query(tarn_event event);

/* ------------------------------------------------------------------- a device of one's own ----- */

typedef struct tarn_host_options {
    size_t struct_bytes;         /* sizeof(tarn_host_options) */
    size_t memory_bytes;         /* that the device pretends to have; 0: as much as the machine */
    size_t allocation_bytes_max; /* the largest size of one piece; 0: any */
} tarn_host_options;

#define TARN_HOST_OPTIONS_INIT TARN_SIZED_INIT(tarn_host_options)

/*
 * Opens a host backend for memory of kind HOST, for a pool of one's own. Two of them share neither memory nor
 * limits, but all streams. A device that pretends to have little memory answers OUT_OF_MEMORY, like a real
 * one; a pool's own limit answers OVER_LIMIT. `options` may be NULL: the defaults. Close it with
 * tarn_backend_close.
 * Status: INVALID_ARGUMENT: backend_out is NULL, or struct_bytes is wrong. OUT_OF_HOST_MEMORY.
 */
TARN_API tarn_status tarn_host_backend_open(const tarn_host_options *options,
                                            tarn_backend *backend_out);

#ifdef __cplusplus
}
#endif

#endif
