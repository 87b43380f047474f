/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * tarn/device_heap.cuh: malloc and free inside kernels, from a heap that tarn/device_heap.h makes.
 *
 *     __global__ void grow(tarn_device_heap_handle heap, struct cell **cells)
 *     {
 *         struct cell *cell = (struct cell *)tarn_dmalloc(heap, sizeof *cell);
 *         if (cell != nullptr) ...
 *         tarn_dfree(heap, old);
 *     }
 *
 * One source for CUDA (compute capability 7.0 and up) and HIP, C++14, nothing but headers and no dependency.
 *
 * Any thread of any kernel may call any of these at any time, also in divergent code; but tarn_dmalloc_wave and
 * tarn_dmalloc_coop, which lanes of a wave call together, as they say. An object may be freed by
 * another thread than the one that got it, in another block or a later kernel; who frees makes sure that nobody
 * uses it any more. A pointer that goes to another thread within a kernel takes a fence (__threadfence) before it is
 * stored, and one after it was read, as what it points to does, also where that thread does no more than free it.
 * A heap of a library with another layout, and the handle of no heap, give null and free nothing.
 * Nothing else here waits for another lane of its wave; nothing traps or prints. The lanes of a wave that call together share the
 * work: calls in converged code are cheaper.
 */
#ifndef TARN_DEVICE_HEAP_CUH
#define TARN_DEVICE_HEAP_CUH

#include <stddef.h>
#include <stdint.h>

#include "tarn/device_heap/free.cuh"
#include "tarn/device_heap/layout.h"
#include "tarn/device_heap/malloc.cuh"

/* The rest of an object, which the highest check level needs. */
TN_DEVICE uint64_t tn_bytes_with_canary(tn_heap heap, uint64_t size_bytes)
{
    bool has_canary = heap->check >= TN_HEAP_CHECK_CONTENTS && size_bytes <= UINT64_MAX / 2;
    return has_canary ? size_bytes + TN_HEAP_CANARY_BYTES : size_bytes;
}

/* Writes the pattern of the highest check level into a new object. */
TN_DEVICE void *tn_prepared(tn_heap heap, uint64_t address, uint64_t object_bytes, uint64_t size_bytes)
{
    if (heap->check >= TN_HEAP_CHECK_CONTENTS && address != 0) tn_contents_prepare(address, object_bytes, size_bytes);
    return (void *)address;
}

TN_DEVICE void *tn_malloc_run(tn_heap heap, uint64_t size_bytes)
{
    uint32_t rank = tn_lanes_before(tn_wave_active());
    uint64_t bytes = tn_bytes_with_canary(heap, size_bytes);
    uint64_t pages = bytes / TN_HEAP_PAGE_BYTES + (bytes % TN_HEAP_PAGE_BYTES != 0);
    return tn_prepared(heap, tn_run_malloc(tn_out_of_line(heap), pages, rank), pages * TN_HEAP_PAGE_BYTES, size_bytes);
}

TN_DEVICE bool tn_is_for_run(tn_heap heap, size_t size_bytes)
{
    return tn_bytes_with_canary(heap, size_bytes) > TN_HEAP_OBJECT_MAX;
}

/*
 * size_bytes of memory, aligned to 16 bytes, or null: when there is none, for 0 bytes, and for more than a heap can
 * have. Its content is undefined. Up to 64 KiB sizes are rounded up by less than a quarter (and to 16 bytes), beyond
 * that to 64 KiB. Costs three or four round trips to the L2 cache for all lanes with the same size together.
 */
TN_DEVICE void *tarn_dmalloc(const tarn_device_heap_handle &handle, size_t size_bytes)
{
    tn_heap heap = &handle.layout;
    if (size_bytes == 0 || !tn_heap_is_known(heap)) return nullptr;
    if (tn_is_for_run(heap, size_bytes)) return tn_malloc_run(heap, size_bytes);
    uint32_t size_class = tn_heap_class_of((uint32_t)tn_bytes_with_canary(heap, size_bytes));
    uint32_t content = tn_lane_slot(heap, size_class);
    tn_mask lanes = tn_wave_active();
    tn_mask group = tn_wave_match(lanes, size_class);
    uint64_t address = tn_lanes_malloc(heap, lanes, group, size_class, content);
    return tn_prepared(heap, address, tn_heap_class_bytes(size_class), size_bytes);
}

/* The same without grouping, where every lane of the wave that comes here asks for the same size: a constant, a kernel's
 * parameter. Sizes of two classes give objects that overlap, and nothing finds that. So not on the two sides of a branch with a
 * size each, either: a compiler may make one call of the two. */
TN_DEVICE void *tarn_dmalloc_wave(const tarn_device_heap_handle &handle, size_t size_bytes)
{
    tn_heap heap = &handle.layout;
    if (size_bytes == 0 || !tn_heap_is_known(heap)) return nullptr;
    if (tn_is_for_run(heap, size_bytes)) return tn_malloc_run(heap, size_bytes);
    uint32_t size_class = tn_heap_class_of((uint32_t)tn_bytes_with_canary(heap, size_bytes));
    uint32_t content = tn_lane_slot(heap, size_class);
    tn_mask lanes = tn_wave_active();
    uint64_t address = tn_lanes_malloc(heap, lanes, lanes, size_class, content);
    return tn_prepared(heap, address, tn_heap_class_bytes(size_class), size_bytes);
}

/* One object for a whole wave, whose lanes all call this, but for those that have ended, with one size: each gets its address,
 * or each null. Not in a branch that some lanes do not take: the call would wait for them. It is freed once, by any lane of any
 * wave. */
TN_DEVICE void *tarn_dmalloc_coop(const tarn_device_heap_handle &handle, size_t size_bytes)
{
    tn_mask lanes = tn_wave_whole();
    uint32_t leader = tn_first_one(lanes);
    uint64_t address = 0;
    if (tn_lane() == leader) address = (uint64_t)(uintptr_t)tarn_dmalloc(handle, size_bytes);
    address = tn_wave_tell(lanes, address, leader);
    tn_wave_sync(lanes); /* any lane may free it: what the leader did comes before */
    return (void *)(uintptr_t)address;
}

/* Frees an object of this heap, and nothing for null. An address that is not live, or is no object's address, is counted and
 * changes nothing. The memory can be handed out again at once. */
TN_DEVICE void tarn_dfree(const tarn_device_heap_handle &handle, void *object)
{
    tn_heap heap = &handle.layout;
    if (object == nullptr || !tn_heap_is_known(heap)) return;
    uint64_t address = (uint64_t)(uintptr_t)object;
    tn_target target = tn_find_to_free(heap, address);
    if (target.page == TN_NO_PAGE) {
        tn_fetch_add(&tn_counters(heap)->foreign_frees, (uint64_t)1);
        return;
    }
    if (heap->check >= TN_HEAP_CHECK_CONTENTS) tn_finish_contents(tn_out_of_line(heap), target, address);
    if (target.object_bytes == 0) {
        tn_run_free(tn_out_of_line(heap), target.page);
        return;
    }
    uint32_t key = target.page * TN_HEAP_BITMAP_WORDS + target.index / 64;
    tn_mask lanes = tn_wave_active();
    tn_lanes_free(heap, lanes, tn_wave_match(lanes, key), target);
}

/* The bytes that may be used at an object's address, at least those asked for, and just those where the heap checks
 * contents; 0 when it is no live object's, or, where the heap checks contents, its end was written over. */
TN_DEVICE size_t tarn_dsize(const tarn_device_heap_handle &handle, const void *object)
{
    tn_heap heap = &handle.layout;
    if (!tn_heap_is_known(heap)) return 0;
    tn_target target = tn_find(heap, (uint64_t)(uintptr_t)object);
    if (target.page == TN_NO_PAGE) return 0;
    bool is_run = target.object_bytes == 0;
    if (!is_run && !tn_object_is_live(heap, target.page, target.capacity, target.index)) return 0;
    uint64_t bytes = is_run ? tn_load(tn_run_pages(heap, target.page)) * TN_HEAP_PAGE_BYTES : target.object_bytes;
    return heap->check >= TN_HEAP_CHECK_CONTENTS ? tn_contents_usable((uint64_t)(uintptr_t)object, bytes) : bytes;
}

/* Whether an address lies in the pages that the heap has for objects, live or not. */
TN_DEVICE bool tarn_downs(const tarn_device_heap_handle &handle, const void *address)
{
    tn_heap heap = &handle.layout;
    return tn_heap_is_known(heap) && tn_page_of(heap, (uint64_t)(uintptr_t)address) != TN_NO_PAGE;
}

#endif
