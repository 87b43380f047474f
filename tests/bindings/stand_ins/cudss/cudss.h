/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The part of cuDSS that tarn/cudss.h is written against, with the signatures of version 1.0. */
#ifndef TARN_STAND_IN_CUDSS_H
#define TARN_STAND_IN_CUDSS_H

#include <stddef.h>

#define CUDSS_ALLOCATOR_NAME_LEN 64

typedef struct CUstream_st *cudaStream_t;

typedef enum {
    CUDSS_STATUS_SUCCESS,
    CUDSS_STATUS_INVALID_VALUE = 3
} cudssStatus_t;

typedef struct {
    void *ctx;
    int (*device_alloc)(void *ctx, void **ptr, size_t size, cudaStream_t stream);
    int (*device_free)(void *ctx, void *ptr, size_t size, cudaStream_t stream);
    char name[CUDSS_ALLOCATOR_NAME_LEN];
} cudssDeviceMemHandler_t;

/* Nothing is solved here. */
typedef struct cudssContext *cudssHandle_t;

static inline cudssStatus_t cudssCreate(cudssHandle_t *handle)
{
    *handle = NULL;
    return CUDSS_STATUS_SUCCESS;
}

static inline cudssStatus_t cudssSetDeviceMemHandler(cudssHandle_t handle,
                                                     const cudssDeviceMemHandler_t *handler)
{
    (void)handle;
    return handler ? CUDSS_STATUS_SUCCESS : CUDSS_STATUS_INVALID_VALUE;
}

static inline cudssStatus_t cudssDestroy(cudssHandle_t handle)
{
    (void)handle;
    return CUDSS_STATUS_SUCCESS;
}

#endif
