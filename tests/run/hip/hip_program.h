/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* hip_program: the runtime's functions that the programs call, and the ways to them. */
#ifndef HIP_PROGRAM_H
#define HIP_PROGRAM_H

#define PROGRAM_LIBRARY "libamdhip64.so.6"

#define PROGRAM_LOOKUPS                                               \
    { "proc", "hipGetProcAddress", 60300000, 0, true },               \
    {                                                                 \
        "proc_of_threads", "hipGetProcAddress_spt", 70200000, 0, true \
    }

/* The answer to a request for zero bytes. */
#define PROGRAM_ZERO_BYTES_ERROR 0

/* hipPitchedPtr and hipExtent */
struct program_pitched {
    void *address;
    size_t pitch, width, height;
};
struct program_extent {
    size_t width, height, depth;
};

/* X(field, symbol of the runtime, name for hipGetProcAddress, is there a form for threads' streams, parameters) */
#define PROGRAM_CALLS(X)                                                                        \
    X(init, hipInit, hipInit, 0, (unsigned flags))                                              \
    X(get_device, hipGetDevice, hipGetDevice, 0, (int *device))                                 \
    X(set_device, hipSetDevice, hipSetDevice, 0, (int device))                                  \
    X(reset_device, hipDeviceReset, hipDeviceReset, 0, (void))                                  \
    X(last_error, hipGetLastError, hipGetLastError, 0, (void))                                  \
    X(enable_peer, hipDeviceEnablePeerAccess, hipDeviceEnablePeerAccess, 0,                     \
      (int other, unsigned flags))                                                              \
    X(synchronize, hipDeviceSynchronize, hipDeviceSynchronize, 0, (void))                       \
    X(alloc, hipMalloc, hipMalloc, 0, (address * address_out, size_t size_bytes))               \
    X(free, hipFree, hipFree, 0, (address where))                                               \
    X(alloc_async, hipMallocAsync, hipMallocAsync, 0,                                           \
      (address * address_out, size_t size_bytes, void *stream))                                 \
    X(free_async, hipFreeAsync, hipFreeAsync, 0, (address where, void *stream))                 \
    X(alloc_managed, hipMallocManaged, hipMallocManaged, 0,                                     \
      (address * address_out, size_t size_bytes, unsigned flags))                               \
    X(alloc_with_flags, hipExtMallocWithFlags, hipExtMallocWithFlags, 0,                        \
      (address * address_out, size_t size_bytes, unsigned flags))                               \
    X(alloc_pitch, hipMallocPitch, hipMallocPitch, 0,                                           \
      (address * address_out, size_t * pitch, size_t width, size_t height))                     \
    X(alloc_3d, hipMalloc3D, hipMalloc3D, 0,                                                    \
      (struct program_pitched * pitched, struct program_extent extent))                         \
    X(array_create, hipArrayCreate, hipArrayCreate, 0, (void **array, const void *description)) \
    X(alloc_array, hipMallocArray, hipMallocArray, 0,                                           \
      (void **array, const void *format, size_t width, size_t height, unsigned flags))          \
    X(alloc_array_3d, hipMalloc3DArray, hipMalloc3DArray, 0,                                    \
      (void **array, const void *format, struct program_extent extent, unsigned flags))         \
    X(alloc_mipmapped_array, hipMallocMipmappedArray, hipMallocMipmappedArray, 0,               \
      (void **array, const void *format, struct program_extent extent, unsigned level_count,    \
       unsigned flags))                                                                         \
    X(info, hipMemGetInfo, hipMemGetInfo, 0, (size_t * free_bytes, size_t * total_bytes))       \
    X(range, hipMemGetAddressRange, hipMemGetAddressRange, 0,                                   \
      (address * base, size_t * size_bytes, address where))                                     \
    X(size, hipMemPtrGetInfo, hipMemPtrGetInfo, 0, (address where, size_t * size_bytes))        \
    X(attribute, hipPointerGetAttribute, hipPointerGetAttribute, 0,                             \
      (void *value, int attribute, address where))                                              \
    X(ipc_handle, hipIpcGetMemHandle, hipIpcGetMemHandle, 0, (void *handle, address where))     \
    X(set_pool, hipDeviceSetMemPool, hipDeviceSetMemPool, 0, (int device, void *pool))          \
    X(stream_create, hipStreamCreateWithFlags, hipStreamCreateWithFlags, 0,                     \
      (void **stream, unsigned flags))                                                          \
    X(stream_destroy, hipStreamDestroy, hipStreamDestroy, 0, (void *stream))                    \
    X(stream_synchronize, hipStreamSynchronize, hipStreamSynchronize, 0, (void *stream))        \
    X(begin_capture, hipStreamBeginCapture, hipStreamBeginCapture, 1, (void *stream, int mode)) \
    X(end_capture, hipStreamEndCapture, hipStreamEndCapture, 1, (void *stream, void **graph))   \
    X(fill, hipMemsetD8Async, hipMemsetD8Async, 0,                                              \
      (address where, unsigned char value, size_t size_bytes, void *stream))                    \
    X(copy_of_kind, hipMemcpyAsync, hipMemcpyAsync, 0,                                          \
      (address to, address from, size_t size_bytes, int kind, void *stream))

#endif
