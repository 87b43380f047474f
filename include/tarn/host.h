/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * tarn/host.h: the host backend. Always built in; the one to read first.
 *
 * Its memory is anonymous memory of the system, committed by touch. Its streams are real queues:
 * work that is submitted to one does not run at once but when somebody waits for it or asks after
 * it, so that a program that forgets to wait is found out without a device. They are made, and given
 * work, by the operations of an open backend:
 *
 *     tarn_backend backend;
 *     tarn_stream a;
 *     tarn_host_backend_open(NULL, &backend);
 *     backend.operations->stream_create(backend.state, &a);
 *     options.backend = &backend;                           ... and a pool with these options
 *     tarn_pool_alloc_on(pool, 1000, a, &x);
 *     backend.operations->fill(backend.state, x, 0, 1000, a);
 *     tarn_pool_free_on(pool, x, a);
 *
 * To have host memory whatever tarn was built for, open it here; tarn_backend_open opens the vendor's.
 * A device that pretends to have little answers OUT_OF_MEMORY, as a real one does; a pool's own limit
 * answers OVER_LIMIT.
 */
#ifndef TARN_HOST_H
#define TARN_HOST_H

#include "tarn/backend.h"
#include "tarn/init.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Handles that stand for streams as cudaStreamLegacy and cudaStreamPerThread do: the default stream, which is NULL
 * too, and a stream of the calling thread's own. */
#define TARN_HOST_STREAM_DEFAULT    ((tarn_stream)1)
#define TARN_HOST_STREAM_PER_THREAD ((tarn_stream)2)

typedef struct tarn_host_options {
    size_t struct_bytes; /* in: sizeof(tarn_host_options), as TARN_HOST_OPTIONS_INIT sets it */
    size_t
        memory_bytes; /* how much memory the device pretends to have; 0: as much as the machine */
    size_t allocation_bytes_max; /* the largest size of one piece; 0: any */
} tarn_host_options;

#define TARN_HOST_OPTIONS_INIT TARN_SIZED_INIT(tarn_host_options)

/*
 * Opens a host backend of its own: two of them share neither memory, streams nor limits.
 * `options` may be NULL for the defaults. Close it with tarn_backend_close.
 * Errors: INVALID_ARGUMENT (backend_out is NULL, struct_bytes is wrong), OUT_OF_HOST_MEMORY.
 */
TARN_API tarn_status tarn_host_backend_open(const tarn_host_options *options,
                                            tarn_backend *backend_out);

#ifdef __cplusplus
}
#endif

#endif
