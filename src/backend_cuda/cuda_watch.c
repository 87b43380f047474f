/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * cuda_watch: tells compute-sanitizer which parts of a piece of device memory may be touched.
 *
 * It uses the memory extension of NVTX: the piece is a heap, each allowed part a region of it. The tool
 * takes pieces of cudaMalloc alone, and needs a context before the first call of NVTX. NVTX consists of
 * headers. It loads a tool if the environment names one; without a tool each call only tests a pointer.
 * The build needs the header of the extension, which CUDA's toolkit 13.0 has. Without it the backend has no
 * watch operations.
 * Threads: any.
 */
#include "cuda_device.h"

#ifdef TN_HAS_WATCH
#include <nvtx3/nvToolsExtMem.h>

static tarn_watch watch_begin(void *state, void *address, size_t size_bytes)
{
    const struct tn_gpu_device *device = state;
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

static void watch_end(void *state, tarn_watch watch)
{
    const struct tn_gpu_device *device = state;
    if (tn_lifetime_is_over(&device->lifetime)) return;
    nvtxMemHeapUnregister(device->watch_domain, watch);
}

static void watch_allow(void *state, tarn_watch watch, void *address, size_t size_bytes)
{
    const struct tn_gpu_device *device = state;
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

static void watch_forbid(void *state, tarn_watch watch, void *address)
{
    const struct tn_gpu_device *device = state;
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

static void close_watch(struct tn_gpu_device *device)
{
    if (device->watch_domain && !tn_lifetime_is_over(&device->lifetime))
        nvtxDomainDestroy(device->watch_domain);
}

void tn_cuda_watch_open(struct tn_gpu_device *device)
{
    if (device->properties.kind != TARN_MEMORY_KIND_DEVICE) return;
    device->watch_domain = nvtxDomainCreateA("tarn");
    device->close_watch = close_watch;
    device->operations.watch_begin = watch_begin;
    device->operations.watch_end = watch_end;
    device->operations.watch_allow = watch_allow;
    device->operations.watch_forbid = watch_forbid;
}

#else

void tn_cuda_watch_open(struct tn_gpu_device *device)
{
    (void)device;
}

#endif
