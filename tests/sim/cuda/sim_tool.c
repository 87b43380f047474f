/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* sim_tool: NVTX's functions, as a tool has them. It takes what compute-sanitizer's manual says that it takes. */
#include "sim_tool.h"

#include <pthread.h>
#include <stdint.h>

#if __has_include(<nvtx3/nvToolsExtMem.h>)
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExtMem.h>

#define EXPORT __attribute__((visibility("default")))

enum {
    HEAPS_MAX = 64,
    REGIONS_MAX = 4096
};

struct span {
    uintptr_t address;
    size_t size_bytes;
};

struct heap {
    struct span span;
    bool is_used;
};

struct region {
    struct span span;
    const struct heap *heap;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct heap heaps[HEAPS_MAX];
static struct region regions[REGIONS_MAX];
static size_t region_count;
static const char *first_fault;

static bool contains(const struct span *outer, const struct span *inner)
{
    return inner->address >= outer->address &&
           inner->address - outer->address <= outer->size_bytes &&
           inner->size_bytes <= outer->size_bytes - (inner->address - outer->address);
}

static bool touches(const struct span *a, const struct span *b)
{
    return a->address < b->address + b->size_bytes && b->address < a->address + a->size_bytes;
}

static void expect(bool holds, const char *otherwise)
{
    if (!holds && !first_fault) first_fault = otherwise;
}

/* --- heaps -------------------------------------------------------------------------------------- */

static nvtxMemHeapHandle_t register_heap(nvtxDomainHandle_t domain, const nvtxMemHeapDesc_t *desc)
{
    const nvtxMemVirtualRangeDesc_t *range = desc->typeSpecificDesc;
    const struct span span = { (uintptr_t)range->ptr, range->size };
    struct heap *unused = NULL;
    pthread_mutex_lock(&lock);
    expect(desc->extCompatID == NVTX_EXT_COMPATID_MEM && desc->structSize == sizeof *desc &&
               desc->typeSpecificDescSize == sizeof *range,
           "a heap of unknown form");
    expect(desc->usage == NVTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR &&
               desc->type == NVTX_MEM_TYPE_VIRTUAL_ADDRESS,
           "a heap of another kind");
    expect(span.size_bytes > 0, "an empty heap");
    for (size_t i = 0; i < HEAPS_MAX; i++) {
        if (heaps[i].is_used) expect(!touches(&heaps[i].span, &span), "heaps that overlap");
        if (!heaps[i].is_used && !unused) unused = &heaps[i];
    }
    if (unused) *unused = (struct heap){ span, true };
    pthread_mutex_unlock(&lock);
    return (nvtxMemHeapHandle_t)unused;
}

static void forget_regions(const struct heap *heap)
{
    size_t kept = 0;
    for (size_t i = 0; i < region_count; i++)
        if (regions[i].heap != heap) regions[kept++] = regions[i];
    region_count = kept;
}

static void reset_heap(nvtxDomainHandle_t domain, nvtxMemHeapHandle_t handle)
{
    const struct heap *heap = (const struct heap *)handle;
    pthread_mutex_lock(&lock);
    expect(heap->is_used, "the reset of a heap that is none");
    forget_regions(heap);
    pthread_mutex_unlock(&lock);
}

static void unregister_heap(nvtxDomainHandle_t domain, nvtxMemHeapHandle_t handle)
{
    struct heap *heap = (struct heap *)handle;
    reset_heap(domain, handle);
    pthread_mutex_lock(&lock);
    heap->is_used = false;
    pthread_mutex_unlock(&lock);
}

/* --- regions ------------------------------------------------------------------------------------ */

static void register_region(const struct heap *heap, const nvtxMemVirtualRangeDesc_t *range)
{
    const struct span span = { (uintptr_t)range->ptr, range->size };
    expect(heap && heap->is_used, "a region of no heap");
    expect(span.size_bytes > 0, "an empty region");
    if (heap) expect(contains(&heap->span, &span), "a region that is not in its heap");
    for (size_t i = 0; i < region_count; i++)
        expect(!touches(&regions[i].span, &span), "regions that overlap");
    if (region_count < REGIONS_MAX) regions[region_count++] = (struct region){ span, heap };
}

static void register_regions(nvtxDomainHandle_t domain, const nvtxMemRegionsRegisterBatch_t *desc)
{
    const nvtxMemVirtualRangeDesc_t *ranges = desc->regionDescElements;
    pthread_mutex_lock(&lock);
    expect(desc->extCompatID == NVTX_EXT_COMPATID_MEM && desc->structSize == sizeof *desc &&
               desc->regionDescElementSize == sizeof *ranges &&
               desc->regionType == NVTX_MEM_TYPE_VIRTUAL_ADDRESS,
           "regions of unknown form");
    for (size_t i = 0; i < desc->regionCount; i++)
        register_region((const struct heap *)desc->heap, &ranges[i]);
    pthread_mutex_unlock(&lock);
}

static void unregister_region(uintptr_t address)
{
    size_t i = 0;
    while (i < region_count && regions[i].span.address != address)
        i++;
    expect(i < region_count, "a region that is none is given up");
    if (i < region_count) regions[i] = regions[--region_count];
}

static void unregister_regions(nvtxDomainHandle_t domain,
                               const nvtxMemRegionsUnregisterBatch_t *desc)
{
    pthread_mutex_lock(&lock);
    expect(desc->extCompatID == NVTX_EXT_COMPATID_MEM && desc->structSize == sizeof *desc &&
               desc->refElementSize == sizeof *desc->refElements &&
               desc->refType == NVTX_MEM_REGION_REF_TYPE_POINTER,
           "regions given up in an unknown form");
    for (size_t i = 0; i < desc->refCount; i++)
        unregister_region((uintptr_t)desc->refElements[i].pointer);
    pthread_mutex_unlock(&lock);
}

/* --- being loaded ------------------------------------------------------------------------------- */

/* Of NVTX itself, without extensions: nothing is listened to. */
EXPORT int InitializeInjectionNvtx2(void *get_export_table);
EXPORT int InitializeInjectionNvtx2(void *get_export_table)
{
    return 1;
}

EXPORT int InitializeInjectionNvtxExtension(nvtxExtModuleInfo_t *module);
EXPORT int InitializeInjectionNvtxExtension(nvtxExtModuleInfo_t *module)
{
    if (module->moduleId != NVTX_EXT_MODULEID_MEM || module->compatId != NVTX_EXT_COMPATID_MEM)
        return 0;
    intptr_t *slots = module->segments[0].functionSlots;
    slots[NVTX3EXT_CBID_nvtxMemHeapRegister] = (intptr_t)register_heap;
    slots[NVTX3EXT_CBID_nvtxMemHeapUnregister] = (intptr_t)unregister_heap;
    slots[NVTX3EXT_CBID_nvtxMemHeapReset] = (intptr_t)reset_heap;
    slots[NVTX3EXT_CBID_nvtxMemRegionsRegister] = (intptr_t)register_regions;
    slots[NVTX3EXT_CBID_nvtxMemRegionsUnregister] = (intptr_t)unregister_regions;
    return 1;
}

/* --- what tests ask ----------------------------------------------------------------------------- */

static size_t count_heaps(void)
{
    size_t count = 0;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < HEAPS_MAX; i++)
        count += heaps[i].is_used;
    pthread_mutex_unlock(&lock);
    return count;
}

static size_t count_regions(void)
{
    pthread_mutex_lock(&lock);
    size_t count = region_count;
    pthread_mutex_unlock(&lock);
    return count;
}

static bool may_touch(const void *address, size_t size_bytes)
{
    const struct span span = { (uintptr_t)address, size_bytes };
    bool is_in_heap = false, is_in_region = false;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < HEAPS_MAX; i++)
        is_in_heap = is_in_heap || (heaps[i].is_used && touches(&heaps[i].span, &span));
    for (size_t i = 0; i < region_count; i++)
        is_in_region = is_in_region || contains(&regions[i].span, &span);
    pthread_mutex_unlock(&lock);
    return !is_in_heap || is_in_region;
}

static const char *get_first_fault(void)
{
    pthread_mutex_lock(&lock);
    const char *fault = first_fault;
    pthread_mutex_unlock(&lock);
    return fault;
}

static void forget_all(void)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < HEAPS_MAX; i++)
        heaps[i].is_used = false;
    region_count = 0;
    first_fault = NULL;
    pthread_mutex_unlock(&lock);
}

EXPORT extern const struct sim_tool sim_tool;
EXPORT const struct sim_tool sim_tool = {
    .heap_count = count_heaps,
    .region_count = count_regions,
    .may_touch = may_touch,
    .first_fault = get_first_fault,
    .reset = forget_all,
};
#endif
