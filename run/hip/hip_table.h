/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * hip_table: AMD's HIP runtime: its names, and the functions that are caught. Those that the pools call are in
 * src/backend_cuda_hip/gpu_table.h. A test compares the declarations with HIP's headers: see tests/run/hip/check_types.c.
 * Functions that end in _spt are for per-thread default streams; there is none for stream-ordered allocations.
 *
 * To catch a further function: a line in TN_INTERCEPTED, its tn_call_ function in hip_calls.c or ../preload/calls_*.c,
 * a line in docs/using/unmodified.md.
 */
#ifndef TN_HIP_TABLE_H
#define TN_HIP_TABLE_H

#include <limits.h>

#define TN_VENDOR_NAME          "HIP"
#define TN_VENDOR_OF_TABLE      tn_hip_vendor
#define TN_VENDOR_WORD          "runtime" /* what its library is called in texts */
#define TN_VENDOR_LIBRARY       "libamdhip64" /* the begin of its file name; wheels of Python add to it */
#define TN_VENDOR_PREFIX        "hip"         /* the begin of its symbols */
#define TN_VENDOR_ADDRESS_ROUTE "hipGetProcAddress" /* in reports */
#define TN_VENDOR_REPORT_SUFFIX ".hip"              /* of the name of a report's file */

/* HIP's look-up does not go by versions: its answer is always the address of a symbol. So none is looked up in the table. */
#define TN_VENDOR_VERSION_UNKNOWN INT_MIN

/* hipExtent */
struct tn_hip_extent {
    size_t width, height, depth;
};

/* hipPitchedPtr */
struct tn_hip_pitched {
    void *address;
    size_t pitch, width, height;
};

/* X(function, symbol, name, since version, default stream, parameters, arguments) */
#define TN_INTERCEPTED(X)                                                                          \
    X(get_address, hipGetProcAddress, hipGetProcAddress, 0, LEGACY,                                \
      (const char *name, void **function, int version, uint64_t flags, int *found),                \
      (name, function, version, flags, found))                                                     \
    X(get_address_of_thread, hipGetProcAddress_spt, hipGetProcAddress, 0, OF_THREADS,              \
      (const char *name, void **function, int version, uint64_t flags, int *found),                \
      (name, function, version, flags, found))                                                     \
    X(get_entry_point, hipGetDriverEntryPoint, hipGetDriverEntryPoint, 0, ALL,                     \
      (const char *name, void **function, uint64_t flags, int *found),                             \
      (name, function, flags, found))                                                              \
    X(get_entry_point_of_thread, hipGetDriverEntryPoint_spt, hipGetDriverEntryPoint_spt, 0, ALL,   \
      (const char *name, void **function, uint64_t flags, int *found),                             \
      (name, function, flags, found))                                                              \
    /* device memory */                                                                            \
    X(alloc, hipMalloc, hipMalloc, 0, ALL, (tn_vendor_address * address, size_t size_bytes),       \
      (address, size_bytes))                                                                       \
    X(free, hipFree, hipFree, 0, ALL, (tn_vendor_address address), (address))                      \
    X(alloc_async, hipMallocAsync, hipMallocAsync, 0, ALL,                                         \
      (tn_vendor_address * address, size_t size_bytes, void *stream),                              \
      (address, size_bytes, stream))                                                               \
    X(free_async, hipFreeAsync, hipFreeAsync, 0, ALL, (tn_vendor_address address, void *stream),   \
      (address, stream))                                                                           \
    X(get_info, hipMemGetInfo, hipMemGetInfo, 0, ALL, (size_t * free_bytes, size_t * total_bytes), \
      (free_bytes, total_bytes))                                                                   \
    X(get_range, hipMemGetAddressRange, hipMemGetAddressRange, 0, ALL,                             \
      (tn_vendor_address * base, size_t * size_bytes, tn_vendor_address address),                  \
      (base, size_bytes, address))                                                                 \
    X(get_ipc_handle, hipIpcGetMemHandle, hipIpcGetMemHandle, 0, ALL,                              \
      (void *handle, tn_vendor_address address), (handle, address))                                \
    X(get_size, hipMemPtrGetInfo, hipMemPtrGetInfo, 0, ALL,                                        \
      (tn_vendor_address address, size_t * size_bytes), (address, size_bytes))                     \
    /* memory that stays the runtime's; the pools give way to it */                                \
    X(alloc_with_flags, hipExtMallocWithFlags, hipExtMallocWithFlags, 0, ALL,                      \
      (tn_vendor_address * address, size_t size_bytes, unsigned flags),                            \
      (address, size_bytes, flags))                                                                \
    X(alloc_pitch, hipMallocPitch, hipMallocPitch, 0, ALL,                                         \
      (tn_vendor_address * address, size_t * pitch, size_t width, size_t height),                  \
      (address, pitch, width, height))                                                             \
    X(alloc_rows, hipMemAllocPitch, hipMemAllocPitch, 0, ALL,                                      \
      (tn_vendor_address * address, size_t * pitch, size_t width, size_t height,                   \
       unsigned element),                                                                          \
      (address, pitch, width, height, element))                                                    \
    X(alloc_3d, hipMalloc3D, hipMalloc3D, 0, ALL,                                                  \
      (struct tn_hip_pitched * pitched, struct tn_hip_extent extent), (pitched, extent))           \
    X(alloc_managed, hipMallocManaged, hipMallocManaged, 0, ALL,                                   \
      (tn_vendor_address * address, size_t size_bytes, unsigned flags),                            \
      (address, size_bytes, flags))                                                                \
    X(alloc_from_pool, hipMallocFromPoolAsync, hipMallocFromPoolAsync, 0, ALL,                     \
      (tn_vendor_address * address, size_t size_bytes, void *pool, void *stream),                  \
      (address, size_bytes, pool, stream))                                                         \
    X(create_memory, hipMemCreate, hipMemCreate, 0, ALL,                                           \
      (uint64_t * handle, size_t size_bytes, const void *properties, uint64_t flags),              \
      (handle, size_bytes, properties, flags))                                                     \
    X(create_array, hipArrayCreate, hipArrayCreate, 0, ALL,                                        \
      (void **array, const void *description), (array, description))                               \
    X(create_array_3d, hipArray3DCreate, hipArray3DCreate, 0, ALL,                                 \
      (void **array, const void *description), (array, description))                               \
    X(create_mipmapped_array, hipMipmappedArrayCreate, hipMipmappedArrayCreate, 0, ALL,            \
      (void **array, const void *description, unsigned level_count),                               \
      (array, description, level_count))                                                           \
    X(alloc_array, hipMallocArray, hipMallocArray, 0, ALL,                                         \
      (void **array, const void *format, size_t width, size_t height, unsigned flags),             \
      (array, format, width, height, flags))                                                       \
    X(alloc_array_3d, hipMalloc3DArray, hipMalloc3DArray, 0, ALL,                                  \
      (void **array, const void *format, struct tn_hip_extent extent, unsigned flags),             \
      (array, format, extent, flags))                                                              \
    X(alloc_mipmapped_array, hipMallocMipmappedArray, hipMallocMipmappedArray, 0, ALL,             \
      (void **array, const void *format, struct tn_hip_extent extent, unsigned level_count,        \
       unsigned flags),                                                                            \
      (array, format, extent, level_count, flags))                                                 \
    /* page-locked memory of the host, for tarn-record alone */                                    \
    X(alloc_host, hipMallocHost, hipMallocHost, 0, ALL, (void **address, size_t size_bytes),       \
      (address, size_bytes))                                                                       \
    X(alloc_host_with_flags, hipHostMalloc, hipHostMalloc, 0, ALL,                                 \
      (void **address, size_t size_bytes, unsigned flags), (address, size_bytes, flags))           \
    X(alloc_host_2, hipHostAlloc, hipHostAlloc, 0, ALL,                                            \
      (void **address, size_t size_bytes, unsigned flags), (address, size_bytes, flags))           \
    X(free_host, hipHostFree, hipHostFree, 0, ALL, (void *address), (address))                     \
    X(free_host_2, hipFreeHost, hipFreeHost, 0, ALL, (void *address), (address))                   \
    /* pools of the runtime that the program sets up */                                            \
    X(set_pool, hipDeviceSetMemPool, hipDeviceSetMemPool, 0, ALL, (int device, void *pool),        \
      (device, pool))                                                                              \
    X(set_pool_access, hipMemPoolSetAccess, hipMemPoolSetAccess, 0, ALL,                           \
      (void *pool, const void *descriptions, size_t count), (pool, descriptions, count))           \
    X(set_pool_of_location, hipMemSetMemPool, hipMemSetMemPool, 0, ALL,                            \
      (void *location, int type, void *pool), (location, type, pool))                              \
    /* devices and streams */                                                                      \
    X(enable_peer, hipDeviceEnablePeerAccess, hipDeviceEnablePeerAccess, 0, ALL,                   \
      (int other, unsigned flags), (other, flags))                                                 \
    X(enable_peer_of_context, hipCtxEnablePeerAccess, hipCtxEnablePeerAccess, 0, ALL,              \
      (void *other, unsigned flags), (other, flags))                                               \
    X(reset_device, hipDeviceReset, hipDeviceReset, 0, ALL, (void), ())                            \
    X(destroy_stream, hipStreamDestroy, hipStreamDestroy, 0, ALL, (void *stream), (stream))        \
    /* captures */                                                                                 \
    X(begin_capture, hipStreamBeginCapture, hipStreamBeginCapture, 0, LEGACY,                      \
      (void *stream, int mode), (stream, mode))                                                    \
    X(begin_capture_of_thread, hipStreamBeginCapture_spt, hipStreamBeginCapture, 0, OF_THREADS,    \
      (void *stream, int mode), (stream, mode))                                                    \
    X(begin_capture_to_graph, hipStreamBeginCaptureToGraph, hipStreamBeginCaptureToGraph, 0, ALL,  \
      (void *stream, void *graph, const void *nodes, const void *edges, size_t count, int mode),   \
      (stream, graph, nodes, edges, count, mode))                                                  \
    X(end_capture, hipStreamEndCapture, hipStreamEndCapture, 0, LEGACY,                            \
      (void *stream, void **graph), (stream, graph))                                               \
    X(end_capture_of_thread, hipStreamEndCapture_spt, hipStreamEndCapture, 0, OF_THREADS,          \
      (void *stream, void **graph), (stream, graph))

#endif
