/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_program: the driver's functions that the programs call, and the ways to them. */
#ifndef CUDA_PROGRAM_H
#define CUDA_PROGRAM_H

#define PROGRAM_LIBRARY "libcuda.so.1"

/* The look-ups of CUDA 12 and newer, and of CUDA 11. */
#define PROGRAM_LOOKUPS                                          \
    { "proc", "cuGetProcAddress_v2", 13000, 0, true },           \
        { "proc11", "cuGetProcAddress", 12040, 0, false },       \
    {                                                            \
        "proc_of_threads", "cuGetProcAddress_v2", 13000, 2, true \
    }

/* The answer to a request for zero bytes. */
#define PROGRAM_ZERO_BYTES_ERROR 1

/* The context that program_start makes current. */
extern void *program_primary;

/* X(field, symbol of the driver, name for cuGetProcAddress, is there a form for threads' streams, parameters) */
#define PROGRAM_CALLS(X)                                                                           \
    X(init, cuInit, cuInit, 0, (unsigned flags))                                                   \
    X(context_create, cuCtxCreate_v2, cuCtxCreate, 0,                                              \
      (void **context, unsigned flags, int device))                                                \
    X(context_destroy, cuCtxDestroy_v2, cuCtxDestroy, 0, (void *context))                          \
    X(context_set, cuCtxSetCurrent, cuCtxSetCurrent, 0, (void *context))                           \
    X(from_green, cuCtxFromGreenCtx, cuCtxFromGreenCtx, 0, (void **context, void *green))          \
    X(enable_peer, cuCtxEnablePeerAccess, cuCtxEnablePeerAccess, 0, (void *other, unsigned flags)) \
    X(primary_retain, cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, 0,                       \
      (void **context, int device))                                                                \
    X(primary_release, cuDevicePrimaryCtxRelease_v2, cuDevicePrimaryCtxRelease, 0, (int device))   \
    X(primary_reset, cuDevicePrimaryCtxReset_v2, cuDevicePrimaryCtxReset, 0, (int device))         \
    X(synchronize, cuCtxSynchronize, cuCtxSynchronize, 0, (void))                                  \
    X(alloc, cuMemAlloc_v2, cuMemAlloc, 0, (address * address_out, size_t size_bytes))             \
    X(free, cuMemFree_v2, cuMemFree, 0, (address where))                                           \
    X(alloc_async, cuMemAllocAsync, cuMemAllocAsync, 1,                                            \
      (address * address_out, size_t size_bytes, void *stream))                                    \
    X(free_async, cuMemFreeAsync, cuMemFreeAsync, 1, (address where, void *stream))                \
    X(alloc_managed, cuMemAllocManaged, cuMemAllocManaged, 0,                                      \
      (address * address_out, size_t size_bytes, unsigned flags))                                  \
    X(array_create, cuArrayCreate_v2, cuArrayCreate, 0, (void **array, const void *description))   \
    X(info, cuMemGetInfo_v2, cuMemGetInfo, 0, (size_t * free_bytes, size_t * total_bytes))         \
    X(range, cuMemGetAddressRange_v2, cuMemGetAddressRange, 0,                                     \
      (address * base, size_t * size_bytes, address where))                                        \
    X(attribute, cuPointerGetAttribute, cuPointerGetAttribute, 0,                                  \
      (void *value, int attribute, address where))                                                 \
    X(ipc_handle, cuIpcGetMemHandle, cuIpcGetMemHandle, 0, (void *handle, address where))          \
    X(set_pool, cuDeviceSetMemPool, cuDeviceSetMemPool, 0, (int device, void *pool))               \
    X(stream_create, cuStreamCreate, cuStreamCreate, 0, (void **stream, unsigned flags))           \
    X(stream_destroy, cuStreamDestroy_v2, cuStreamDestroy, 0, (void *stream))                      \
    X(stream_synchronize, cuStreamSynchronize, cuStreamSynchronize, 0, (void *stream))             \
    X(begin_capture, cuStreamBeginCapture_v2, cuStreamBeginCapture, 1, (void *stream, int mode))   \
    X(end_capture, cuStreamEndCapture, cuStreamEndCapture, 1, (void *stream, void **graph))        \
    X(fill, cuMemsetD8Async, cuMemsetD8Async, 0,                                                   \
      (address where, unsigned char value, size_t size_bytes, void *stream))                       \
    X(copy, cuMemcpyAsync, cuMemcpyAsync, 0,                                                       \
      (address to, address from, size_t size_bytes, void *stream))

#endif
