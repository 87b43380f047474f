/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* vendor_calls: what vendor_program calls of fake_runtime, and of vendor_module. */
#ifndef TEST_VENDOR_CALLS_H
#define TEST_VENDOR_CALLS_H

#include <stddef.h>

int cuMemAlloc_v2(void **address, size_t bytes);
int cuMemAllocManaged(void **address, size_t bytes, unsigned flags);
int cuMemAllocPitch_v2(void **address, size_t *pitch, size_t width, size_t height,
                       unsigned element);
int cuMemAllocAsync(void **address, size_t bytes, void *stream);
int cuMemAllocAsync_ptsz(void **address, size_t bytes, void *stream);
int cuMemAllocFromPoolAsync(void **address, size_t bytes, void *pool, void *stream);
int cuMemAllocHost_v2(void **address, size_t bytes);
int cuMemHostAlloc(void **address, size_t bytes, unsigned flags);
int cuMemFree_v2(void *address);
int cuMemFreeAsync(void *address, void *stream);
int cuMemFreeAsync_ptsz(void *address, void *stream);
int cuMemFreeHost(void *address);
int hipMalloc(void **address, size_t bytes);
int hipExtMallocWithFlags(void **address, size_t bytes, unsigned flags);
int hipMallocManaged(void **address, size_t bytes, unsigned flags);
int hipMallocAsync(void **address, size_t bytes, void *stream);
int hipHostMalloc(void **address, size_t bytes, unsigned flags);
int hipFree(void *address);
int hipFreeAsync(void *address, void *stream);
int hipHostFree(void *address);
int zeMemAllocDevice(void *context, const void *description, size_t bytes, size_t alignment,
                     void *device, void **address);
int zeMemAllocShared(void *context, const void *device_description, const void *host_description,
                     size_t bytes, size_t alignment, void *device, void **address);
int zeMemAllocHost(void *context, const void *description, size_t bytes, size_t alignment,
                   void **address);
int zeMemFree(void *context, void *address);
int zeMemFreeExt(void *context, const void *description, void *address);

/* Of vendor_module: allocates and frees so many bytes. */
typedef int module_function(size_t bytes);

#endif
