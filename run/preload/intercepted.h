/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * intercepted: the table of the driver's functions that the library catches. Each has two names here: that of the
 * driver's symbol, and that by which cuGetProcAddress knows it from a version of CUDA on.
 *
 *     program ── linked symbol ─────────► the exported function  ──┐
 *             ── dlsym, dlvsym ─────────► lookup.c ────────────────┼─► tn_call_<symbol> ──► a pool, or the driver
 *             ── cuGetProcAddress ──────► lookup.c ────────────────┘    calls_*.c
 *
 * The declarations match the driver's: an error (CUresult) is an int, a device address (CUdeviceptr) a number of a
 * pointer's size, every handle a pointer. No header of CUDA is needed; a test compares them with cuda.h.
 *
 * To catch a further function: a line here, its tn_call_ function in a file calls_*.c, a line in
 * docs/using/unmodified.md.
 */
#ifndef TN_INTERCEPTED_H
#define TN_INTERCEPTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef int tn_cuda_error;
typedef uintptr_t tn_cuda_address;

/* What the default stream is for a function: the handle NULL is the device's, or the calling thread's own. */
enum tn_default_stream {
    TN_STREAMS_ALL, /* the function takes no stream: one form is for both */
    TN_STREAMS_LEGACY,
    TN_STREAMS_OF_THREADS
};

/* X(symbol, name, since version, default stream, parameters, arguments) */
#define TN_INTERCEPTED(X)                                                                          \
    X(cuGetProcAddress, cuGetProcAddress, 11030, ALL,                                              \
      (const char *name, void **function, int version, uint64_t flags),                            \
      (name, function, version, flags))                                                            \
    X(cuGetProcAddress_v2, cuGetProcAddress, 12000, ALL,                                           \
      (const char *name, void **function, int version, uint64_t flags, int *found),                \
      (name, function, version, flags, found))                                                     \
    /* device memory */                                                                            \
    X(cuMemAlloc_v2, cuMemAlloc, 3020, ALL, (tn_cuda_address * address, size_t size_bytes),        \
      (address, size_bytes))                                                                       \
    X(cuMemFree_v2, cuMemFree, 3020, ALL, (tn_cuda_address address), (address))                    \
    X(cuMemAllocAsync, cuMemAllocAsync, 11020, LEGACY,                                             \
      (tn_cuda_address * address, size_t size_bytes, void *stream), (address, size_bytes, stream)) \
    X(cuMemAllocAsync_ptsz, cuMemAllocAsync, 11020, OF_THREADS,                                    \
      (tn_cuda_address * address, size_t size_bytes, void *stream), (address, size_bytes, stream)) \
    X(cuMemFreeAsync, cuMemFreeAsync, 11020, LEGACY, (tn_cuda_address address, void *stream),      \
      (address, stream))                                                                           \
    X(cuMemFreeAsync_ptsz, cuMemFreeAsync, 11020, OF_THREADS,                                      \
      (tn_cuda_address address, void *stream), (address, stream))                                  \
    X(cuMemGetInfo_v2, cuMemGetInfo, 3020, ALL, (size_t * free_bytes, size_t * total_bytes),       \
      (free_bytes, total_bytes))                                                                   \
    X(cuMemGetAddressRange_v2, cuMemGetAddressRange, 3020, ALL,                                    \
      (tn_cuda_address * base, size_t * size_bytes, tn_cuda_address address),                      \
      (base, size_bytes, address))                                                                 \
    X(cuIpcGetMemHandle, cuIpcGetMemHandle, 4010, ALL, (void *handle, tn_cuda_address address),    \
      (handle, address))                                                                           \
    /* memory that stays the driver's; the pools give way to it */                                 \
    X(cuMemAlloc, cuMemAlloc, 2000, ALL, (unsigned *address, unsigned size_bytes),                 \
      (address, size_bytes))                                                                       \
    X(cuMemAllocPitch_v2, cuMemAllocPitch, 3020, ALL,                                              \
      (tn_cuda_address * address, size_t * pitch, size_t width, size_t height, unsigned element),  \
      (address, pitch, width, height, element))                                                    \
    X(cuMemAllocManaged, cuMemAllocManaged, 6000, ALL,                                             \
      (tn_cuda_address * address, size_t size_bytes, unsigned flags),                              \
      (address, size_bytes, flags))                                                                \
    X(cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync, 11020, LEGACY,                             \
      (tn_cuda_address * address, size_t size_bytes, void *pool, void *stream),                    \
      (address, size_bytes, pool, stream))                                                         \
    X(cuMemAllocFromPoolAsync_ptsz, cuMemAllocFromPoolAsync, 11020, OF_THREADS,                    \
      (tn_cuda_address * address, size_t size_bytes, void *pool, void *stream),                    \
      (address, size_bytes, pool, stream))                                                         \
    X(cuMemCreate, cuMemCreate, 10020, ALL,                                                        \
      (uint64_t * handle, size_t size_bytes, const void *properties, uint64_t flags),              \
      (handle, size_bytes, properties, flags))                                                     \
    X(cuArrayCreate_v2, cuArrayCreate, 3020, ALL, (void **array, const void *description),         \
      (array, description))                                                                        \
    X(cuArray3DCreate_v2, cuArray3DCreate, 3020, ALL, (void **array, const void *description),     \
      (array, description))                                                                        \
    X(cuMipmappedArrayCreate, cuMipmappedArrayCreate, 5000, ALL,                                   \
      (void **array, const void *description, unsigned level_count),                               \
      (array, description, level_count))                                                           \
    /* pools of the driver that the program sets up */                                             \
    X(cuDeviceSetMemPool, cuDeviceSetMemPool, 11020, ALL, (int device, void *pool),                \
      (device, pool))                                                                              \
    X(cuMemPoolSetAccess, cuMemPoolSetAccess, 11020, ALL,                                          \
      (void *pool, const void *descriptions, size_t count), (pool, descriptions, count))           \
    X(cuMemSetMemPool, cuMemSetMemPool, 13000, ALL, (void *location, int type, void *pool),        \
      (location, type, pool))                                                                      \
    /* contexts and streams */                                                                     \
    X(cuCtxEnablePeerAccess, cuCtxEnablePeerAccess, 4000, ALL, (void *other, unsigned flags),      \
      (other, flags))                                                                              \
    X(cuCtxFromGreenCtx, cuCtxFromGreenCtx, 12040, ALL, (void **context, void *green_context),     \
      (context, green_context))                                                                    \
    X(cuCtxDestroy, cuCtxDestroy, 2000, ALL, (void *context), (context))                           \
    X(cuCtxDestroy_v2, cuCtxDestroy, 4000, ALL, (void *context), (context))                        \
    X(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease, 7000, ALL, (int device), (device))     \
    X(cuDevicePrimaryCtxRelease_v2, cuDevicePrimaryCtxRelease, 11000, ALL, (int device), (device)) \
    X(cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset, 7000, ALL, (int device), (device))         \
    X(cuDevicePrimaryCtxReset_v2, cuDevicePrimaryCtxReset, 11000, ALL, (int device), (device))     \
    X(cuStreamDestroy, cuStreamDestroy, 2000, ALL, (void *stream), (stream))                       \
    X(cuStreamDestroy_v2, cuStreamDestroy, 4000, ALL, (void *stream), (stream))                    \
    /* captures */                                                                                 \
    X(cuStreamBeginCapture, cuStreamBeginCapture, 10000, LEGACY, (void *stream), (stream))         \
    X(cuStreamBeginCapture_ptsz, cuStreamBeginCapture, 10000, OF_THREADS, (void *stream),          \
      (stream))                                                                                    \
    X(cuStreamBeginCapture_v2, cuStreamBeginCapture, 10010, LEGACY, (void *stream, int mode),      \
      (stream, mode))                                                                              \
    X(cuStreamBeginCapture_v2_ptsz, cuStreamBeginCapture, 10010, OF_THREADS,                       \
      (void *stream, int mode), (stream, mode))                                                    \
    X(cuStreamBeginCaptureToGraph, cuStreamBeginCaptureToGraph, 12030, LEGACY,                     \
      (void *stream, void *graph, const void *nodes, const void *edges, size_t count, int mode),   \
      (stream, graph, nodes, edges, count, mode))                                                  \
    X(cuStreamBeginCaptureToGraph_ptsz, cuStreamBeginCaptureToGraph, 12030, OF_THREADS,            \
      (void *stream, void *graph, const void *nodes, const void *edges, size_t count, int mode),   \
      (stream, graph, nodes, edges, count, mode))                                                  \
    X(cuStreamEndCapture, cuStreamEndCapture, 10000, LEGACY, (void *stream, void **graph),         \
      (stream, graph))                                                                             \
    X(cuStreamEndCapture_ptsz, cuStreamEndCapture, 10000, OF_THREADS,                              \
      (void *stream, void **graph), (stream, graph))

enum tn_call {
#define TN_CALL_ENUMERATOR(symbol, name, since, streams, parameters, arguments) TN_CALL_##symbol,
    TN_INTERCEPTED(TN_CALL_ENUMERATOR)
#undef TN_CALL_ENUMERATOR
    TN_CALL_COUNT
};

/* What callers get instead of the driver's functions. */
#define TN_CALL_DECLARATION(symbol, name, since, streams, parameters, arguments) \
    tn_cuda_error tn_call_##symbol parameters;
TN_INTERCEPTED(TN_CALL_DECLARATION)
#undef TN_CALL_DECLARATION

typedef void (*tn_any_function)(void);

struct tn_intercepted {
    const char *symbol;
    const char *name;
    int since_version;
    enum tn_default_stream streams;
    tn_any_function replacement;
};

extern const struct tn_intercepted tn_intercepted[TN_CALL_COUNT];

/* The function with this symbol. TN_CALL_COUNT: none is caught. Cost: a comparison for each function. */
enum tn_call tn_intercepted_find(const char *symbol);

/* The function that cuGetProcAddress finds by a name and a version; the one that is nearest below the version.
 * TN_CALL_COUNT: none is caught. */
enum tn_call tn_intercepted_find_version(const char *name, int version, bool is_of_threads);

#endif
