/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * cuda_watch: tells compute-sanitizer what of a piece of device memory may be touched, by the memory extension
 * of NVTX: the piece is a heap, what is allowed is a region of it. The tool takes pieces of cudaMalloc alone,
 * and wants a context to be there before NVTX is called.
 *
 * NVTX is headers alone. It loads a tool where the environment names one; without a tool each call is a test of a
 * pointer. The header of the extension is not in every toolkit (13.0 has it): without it nobody is told.
 * Threads: any.
 */
#include "cuda_device.h"

#if defined(__has_include)
#if __has_include(<nvtx3/nvToolsExtMem.h>)
#define HAS_NVTX 1
#endif
#endif

#ifdef HAS_NVTX
#include <nvtx3/nvToolsExtMem.h>

tarn_watch tn_cuda_watch_begin(void *state, void *address, size_t size_bytes)
{
    const struct tn_cuda_device *device = state;
    if (device->properties.kind != TARN_MEMORY_KIND_DEVICE) return NULL;
    if (tn_lifetime_is_over(&device->lifetime)) return NULL;
    const nvtxMemVirtualRangeDesc_t piece = { .size = size_bytes, .ptr = address };
    const nvtxMemHeapDesc_t heap = {
        .extCompatID = NVTX_EXT_COMPATID_MEM,
        .structSize = sizeof heap,
        .usage = NVTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR,
        .type = NVTX_MEM_TYPE_VIRTUAL_ADDRESS,
        .typeSpecificDescSize = sizeof piece,
        .typeSpecificDesc = &piece,
    };
    nvtxMemHeapHandle_t watch = nvtxMemHeapRegister(device->watch_domain, &heap);
    return watch == NVTX_MEM_HEAP_HANDLE_NO_TOOL ? NULL : watch;
}

void tn_cuda_watch_end(void *state, tarn_watch watch)
{
    const struct tn_cuda_device *device = state;
    if (tn_lifetime_is_over(&device->lifetime)) return;
    nvtxMemHeapUnregister(device->watch_domain, watch);
}

void tn_cuda_watch_allow(void *state, tarn_watch watch, void *address, size_t size_bytes)
{
    const struct tn_cuda_device *device = state;
    if (tn_lifetime_is_over(&device->lifetime)) return;
    const nvtxMemVirtualRangeDesc_t part = { .size = size_bytes, .ptr = address };
    const nvtxMemRegionsRegisterBatch_t regions = {
        .extCompatID = NVTX_EXT_COMPATID_MEM,
        .structSize = sizeof regions,
        .regionType = NVTX_MEM_TYPE_VIRTUAL_ADDRESS,
        .heap = watch,
        .regionCount = 1,
        .regionDescElementSize = sizeof part,
        .regionDescElements = &part,
    };
    nvtxMemRegionsRegister(device->watch_domain, &regions);
}

void tn_cuda_watch_forbid(void *state, tarn_watch watch, void *address)
{
    const struct tn_cuda_device *device = state;
    if (tn_lifetime_is_over(&device->lifetime)) return;
    if (!address) {
        nvtxMemHeapReset(device->watch_domain, watch);
        return;
    }
    const nvtxMemRegionRef_t part = { .pointer = address };
    const nvtxMemRegionsUnregisterBatch_t regions = {
        .extCompatID = NVTX_EXT_COMPATID_MEM,
        .structSize = sizeof regions,
        .refType = NVTX_MEM_REGION_REF_TYPE_POINTER,
        .refCount = 1,
        .refElementSize = sizeof part,
        .refElements = &part,
    };
    nvtxMemRegionsUnregister(device->watch_domain, &regions);
}

void tn_cuda_watch_init(struct tn_cuda_device *device)
{
    if (device->properties.kind == TARN_MEMORY_KIND_DEVICE)
        device->watch_domain = nvtxDomainCreateA("tarn");
}

void tn_cuda_watch_fini(const struct tn_cuda_device *device)
{
    if (!device->watch_domain || tn_lifetime_is_over(&device->lifetime)) return;
    nvtxDomainDestroy(device->watch_domain);
}

#else

tarn_watch tn_cuda_watch_begin(void *state, void *address, size_t size_bytes)
{
    (void)state, (void)address, (void)size_bytes;
    return NULL;
}

void tn_cuda_watch_end(void *state, tarn_watch watch)
{
    (void)state, (void)watch;
}

void tn_cuda_watch_allow(void *state, tarn_watch watch, void *address, size_t size_bytes)
{
    (void)state, (void)watch, (void)address, (void)size_bytes;
}

void tn_cuda_watch_forbid(void *state, tarn_watch watch, void *address)
{
    (void)state, (void)watch, (void)address;
}

void tn_cuda_watch_init(struct tn_cuda_device *device)
{
    (void)device;
}

void tn_cuda_watch_fini(const struct tn_cuda_device *device)
{
    (void)device;
}
#endif
