/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * tarn/host.h: the host backend. Always built in; the one to read first.
 *
 * Its memory is anonymous memory of the system, committed when it is touched. Its streams are queues: work
 * runs only when somebody waits for the stream or queries it. So a program that forgets to wait is found out
 * without a device. Operations of the open backend create streams and submit work to them:
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
 * To have host memory in a build for any vendor, open it here; tarn_backend_open opens the vendor's backend.
 * A device that pretends to have little memory answers OUT_OF_MEMORY, like a real one. A pool's own limit
 * answers OVER_LIMIT.
 */
#ifndef TARN_HOST_H
#define TARN_HOST_H

#include "tarn/backend.h"
#include "tarn/init.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The default stream, which is NULL too, and the calling thread's own stream: like cudaStreamLegacy and
 * cudaStreamPerThread. */
#define TARN_HOST_STREAM_DEFAULT    ((tarn_stream)1)
#define TARN_HOST_STREAM_PER_THREAD ((tarn_stream)2)

typedef struct tarn_host_options {
    size_t struct_bytes;         /* sizeof(tarn_host_options) */
    size_t memory_bytes;         /* that the device pretends to have; 0: as much as the machine */
    size_t allocation_bytes_max; /* the largest size of one piece; 0: any */
} tarn_host_options;

#define TARN_HOST_OPTIONS_INIT TARN_SIZED_INIT(tarn_host_options)

/*
 * Opens a host backend. Two of them share neither memory, streams nor limits. `options` may be NULL: the
 * defaults. Close it with tarn_backend_close.
 * Status: INVALID_ARGUMENT: backend_out is NULL, or struct_bytes is wrong. OUT_OF_HOST_MEMORY.
 */
TARN_API tarn_status tarn_host_backend_open(const tarn_host_options *options,
                                            tarn_backend *backend_out);

#ifdef __cplusplus
}
#endif

#endif
