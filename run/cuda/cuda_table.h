/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * cuda_table: CUDA's driver: its names, and the functions that are caught. Those that the pools call are in
 * src/backend_cuda_hip/gpu_table.h. A test compares the declarations with cuda.h: see tests/run/cuda/check_types.c.
 *
 * To catch a further function: a line in TN_INTERCEPTED, its tn_call_ function in cuda_calls.c or ../preload/calls_*.c,
 * a line in docs/using/unmodified.md.
 */
#ifndef TN_CUDA_TABLE_H
#define TN_CUDA_TABLE_H

#define TN_VENDOR_NAME          "CUDA"
#define TN_VENDOR_OF_TABLE      tn_cuda_vendor
#define TN_VENDOR_WORD          "driver"           /* what its library is called in texts */
#define TN_VENDOR_LIBRARY       "libcuda.so"       /* the begin of its file name */
#define TN_VENDOR_PREFIX        "cu"               /* the begin of its symbols */
#define TN_VENDOR_ADDRESS_ROUTE "cuGetProcAddress" /* in reports */
#define TN_VENDOR_REPORT_SUFFIX ""                 /* of the name of a report's file */

/* The first version of CUDA whose functions the table may not know. */
#define TN_VENDOR_VERSION_UNKNOWN 14000

/* X(function, symbol, name, since version, default stream, parameters, arguments) */
#define TN_INTERCEPTED(X)                                                                          \
    X(get_address_11, cuGetProcAddress, cuGetProcAddress, 11030, ALL,                              \
      (const char *name, void **function, int version, uint64_t flags),                            \
      (name, function, version, flags))                                                            \
    X(get_address, cuGetProcAddress_v2, cuGetProcAddress, 12000, ALL,                              \
      (const char *name, void **function, int version, uint64_t flags, int *found),                \
      (name, function, version, flags, found))                                                     \
    /* device memory */                                                                            \
    X(alloc, cuMemAlloc_v2, cuMemAlloc, 3020, ALL,                                                 \
      (tn_vendor_address * address, size_t size_bytes), (address, size_bytes))                     \
    X(free, cuMemFree_v2, cuMemFree, 3020, ALL, (tn_vendor_address address), (address))            \
    X(alloc_async, cuMemAllocAsync, cuMemAllocAsync, 11020, LEGACY,                                \
      (tn_vendor_address * address, size_t size_bytes, void *stream),                              \
      (address, size_bytes, stream))                                                               \
    X(alloc_async_of_thread, cuMemAllocAsync_ptsz, cuMemAllocAsync, 11020, OF_THREADS,             \
      (tn_vendor_address * address, size_t size_bytes, void *stream),                              \
      (address, size_bytes, stream))                                                               \
    X(free_async, cuMemFreeAsync, cuMemFreeAsync, 11020, LEGACY,                                   \
      (tn_vendor_address address, void *stream), (address, stream))                                \
    X(free_async_of_thread, cuMemFreeAsync_ptsz, cuMemFreeAsync, 11020, OF_THREADS,                \
      (tn_vendor_address address, void *stream), (address, stream))                                \
    X(get_info, cuMemGetInfo_v2, cuMemGetInfo, 3020, ALL,                                          \
      (size_t * free_bytes, size_t * total_bytes), (free_bytes, total_bytes))                      \
    X(get_range, cuMemGetAddressRange_v2, cuMemGetAddressRange, 3020, ALL,                         \
      (tn_vendor_address * base, size_t * size_bytes, tn_vendor_address address),                  \
      (base, size_bytes, address))                                                                 \
    X(get_ipc_handle, cuIpcGetMemHandle, cuIpcGetMemHandle, 4010, ALL,                             \
      (void *handle, tn_vendor_address address), (handle, address))                                \
    /* memory that stays the vendor's; the pools give way to it */                                 \
    X(alloc_32, cuMemAlloc, cuMemAlloc, 2000, ALL, (unsigned *address, unsigned size_bytes),       \
      (address, size_bytes))                                                                       \
    X(alloc_rows, cuMemAllocPitch_v2, cuMemAllocPitch, 3020, ALL,                                  \
      (tn_vendor_address * address, size_t * pitch, size_t width, size_t height,                   \
       unsigned element),                                                                          \
      (address, pitch, width, height, element))                                                    \
    X(alloc_managed, cuMemAllocManaged, cuMemAllocManaged, 6000, ALL,                              \
      (tn_vendor_address * address, size_t size_bytes, unsigned flags),                            \
      (address, size_bytes, flags))                                                                \
    X(alloc_from_pool, cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync, 11020, LEGACY,            \
      (tn_vendor_address * address, size_t size_bytes, void *pool, void *stream),                  \
      (address, size_bytes, pool, stream))                                                         \
    X(alloc_from_pool_of_thread, cuMemAllocFromPoolAsync_ptsz, cuMemAllocFromPoolAsync, 11020,     \
      OF_THREADS, (tn_vendor_address * address, size_t size_bytes, void *pool, void *stream),      \
      (address, size_bytes, pool, stream))                                                         \
    X(create_memory, cuMemCreate, cuMemCreate, 10020, ALL,                                         \
      (uint64_t * handle, size_t size_bytes, const void *properties, uint64_t flags),              \
      (handle, size_bytes, properties, flags))                                                     \
    X(create_array, cuArrayCreate_v2, cuArrayCreate, 3020, ALL,                                    \
      (void **array, const void *description), (array, description))                               \
    X(create_array_3d, cuArray3DCreate_v2, cuArray3DCreate, 3020, ALL,                             \
      (void **array, const void *description), (array, description))                               \
    X(create_mipmapped_array, cuMipmappedArrayCreate, cuMipmappedArrayCreate, 5000, ALL,           \
      (void **array, const void *description, unsigned level_count),                               \
      (array, description, level_count))                                                           \
    /* page-locked memory of the host, for tarn-record alone */                                    \
    X(alloc_host, cuMemAllocHost_v2, cuMemAllocHost, 3020, ALL,                                    \
      (void **address, size_t size_bytes), (address, size_bytes))                                  \
    X(alloc_host_with_flags, cuMemHostAlloc, cuMemHostAlloc, 2020, ALL,                            \
      (void **address, size_t size_bytes, unsigned flags), (address, size_bytes, flags))           \
    X(free_host, cuMemFreeHost, cuMemFreeHost, 2000, ALL, (void *address), (address))              \
    /* pools of the vendor that the program sets up */                                             \
    X(set_pool, cuDeviceSetMemPool, cuDeviceSetMemPool, 11020, ALL, (int device, void *pool),      \
      (device, pool))                                                                              \
    X(set_pool_access, cuMemPoolSetAccess, cuMemPoolSetAccess, 11020, ALL,                         \
      (void *pool, const void *descriptions, size_t count), (pool, descriptions, count))           \
    X(set_pool_of_location, cuMemSetMemPool, cuMemSetMemPool, 13000, ALL,                          \
      (void *location, int type, void *pool), (location, type, pool))                              \
    /* contexts and streams */                                                                     \
    X(enable_peer, cuCtxEnablePeerAccess, cuCtxEnablePeerAccess, 4000, ALL,                        \
      (void *other, unsigned flags), (other, flags))                                               \
    X(from_green, cuCtxFromGreenCtx, cuCtxFromGreenCtx, 12040, ALL,                                \
      (void **context, void *green_context), (context, green_context))                             \
    X(destroy_context_2, cuCtxDestroy, cuCtxDestroy, 2000, ALL, (void *context), (context))        \
    X(destroy_context, cuCtxDestroy_v2, cuCtxDestroy, 4000, ALL, (void *context), (context))       \
    X(release_primary_7, cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease, 7000, ALL,          \
      (int device), (device))                                                                      \
    X(release_primary, cuDevicePrimaryCtxRelease_v2, cuDevicePrimaryCtxRelease, 11000, ALL,        \
      (int device), (device))                                                                      \
    X(reset_primary_7, cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset, 7000, ALL, (int device),  \
      (device))                                                                                    \
    X(reset_primary, cuDevicePrimaryCtxReset_v2, cuDevicePrimaryCtxReset, 11000, ALL,              \
      (int device), (device))                                                                      \
    X(destroy_stream_2, cuStreamDestroy, cuStreamDestroy, 2000, ALL, (void *stream), (stream))     \
    X(destroy_stream, cuStreamDestroy_v2, cuStreamDestroy, 4000, ALL, (void *stream), (stream))    \
    /* captures */                                                                                 \
    X(begin_capture_10, cuStreamBeginCapture, cuStreamBeginCapture, 10000, LEGACY, (void *stream), \
      (stream))                                                                                    \
    X(begin_capture_10_of_thread, cuStreamBeginCapture_ptsz, cuStreamBeginCapture, 10000,          \
      OF_THREADS, (void *stream), (stream))                                                        \
    X(begin_capture, cuStreamBeginCapture_v2, cuStreamBeginCapture, 10010, LEGACY,                 \
      (void *stream, int mode), (stream, mode))                                                    \
    X(begin_capture_of_thread, cuStreamBeginCapture_v2_ptsz, cuStreamBeginCapture, 10010,          \
      OF_THREADS, (void *stream, int mode), (stream, mode))                                        \
    X(begin_capture_to_graph, cuStreamBeginCaptureToGraph, cuStreamBeginCaptureToGraph, 12030,     \
      LEGACY,                                                                                      \
      (void *stream, void *graph, const void *nodes, const void *edges, size_t count, int mode),   \
      (stream, graph, nodes, edges, count, mode))                                                  \
    X(begin_capture_to_graph_of_thread, cuStreamBeginCaptureToGraph_ptsz,                          \
      cuStreamBeginCaptureToGraph, 12030, OF_THREADS,                                              \
      (void *stream, void *graph, const void *nodes, const void *edges, size_t count, int mode),   \
      (stream, graph, nodes, edges, count, mode))                                                  \
    X(end_capture, cuStreamEndCapture, cuStreamEndCapture, 10000, LEGACY,                          \
      (void *stream, void **graph), (stream, graph))                                               \
    X(end_capture_of_thread, cuStreamEndCapture_ptsz, cuStreamEndCapture, 10000, OF_THREADS,       \
      (void *stream, void **graph), (stream, graph))

#endif
