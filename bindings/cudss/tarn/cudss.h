/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * tarn/cudss.h: cuDSS takes its memory from tarn.
 *
 *     #include <tarn/cudss.h>
 *
 *     cudssHandle_t handle;
 *     cudssCreate(&handle);
 *     cudssDeviceMemHandler_t memory = tarn_cudss_device_memory(NULL);
 *     cudssSetDeviceMemHandler(handle, &memory);          before the first cudssExecute
 *
 * Memory is that of the pool, or with NULL of the process-wide pool of the device that is current when cuDSS allocates.
 *
 * Streams. cuDSS names its stream in each call: memory is for use on it, and is freed on it while kernels may still run. So
 * cudssSetStream needs nothing more. A stream of another device is refused.
 *
 * If memory is short, or a free is refused, cuDSS gets an error and returns CUDSS_STATUS_ALLOC_FAILED or the like;
 * tarn_last_error has a sentence, in the thread that called.
 *
 * Threads: all may call at once. A pool of yours must outlive the handle and all of its data. C and C++.
 */
#ifndef TARN_CUDSS_H
#define TARN_CUDSS_H

#include <string.h>

#include <cudss.h>

#include "tarn/tarn.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Both return a tarn_status; cuDSS takes 0 for success. */
static inline int tarn_cudss_alloc(void *pool, void **address_out, size_t size_bytes,
                                   cudaStream_t stream)
{
    return (int)(pool ? tarn_pool_alloc_on((tarn_pool *)pool, size_bytes, (tarn_stream)stream,
                                           address_out)
                      : tarn_malloc_on(size_bytes, (tarn_stream)stream, address_out));
}

static inline int tarn_cudss_free(void *pool, void *address, size_t size_bytes, cudaStream_t stream)
{
    (void)size_bytes;
    return (int)(pool ? tarn_pool_free_on((tarn_pool *)pool, address, (tarn_stream)stream)
                      : tarn_free_on(address, (tarn_stream)stream));
}

/* Device memory of the pool; NULL: of the process-wide pool of the current device. */
static inline cudssDeviceMemHandler_t tarn_cudss_device_memory(tarn_pool *pool)
{
    cudssDeviceMemHandler_t handler;
    memset(&handler, 0, sizeof handler);
    handler.ctx = pool;
    handler.device_alloc = tarn_cudss_alloc;
    handler.device_free = tarn_cudss_free;
    strcpy(handler.name, "tarn");
    return handler;
}

#ifdef __cplusplus
}
#endif

#endif
