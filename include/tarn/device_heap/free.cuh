/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* device_heap/free: from addresses to objects, and frees by the lanes of a wave: together if their bits are
 * in one word. */
#ifndef TARN_DEVICE_HEAP_FREE_CUH
#define TARN_DEVICE_HEAP_FREE_CUH

#include "tarn/device_heap/contents.cuh"
#include "tarn/device_heap/objects.cuh"
#include "tarn/device_heap/runs.cuh"

/* The object that an address points to. */
struct tn_target {
    uint32_t page;         /* first page of the slab or run; TN_NO_PAGE: no object */
    uint32_t index;        /* of the object */
    uint32_t capacity;     /* of the slab */
    uint32_t object_bytes; /* 0 for a run */
};

/* Returns the target at an offset into the heap, by the label of its page; no object for label 0. */
TN_DEVICE tn_target tn_target_of(uint64_t offset, uint64_t label)
{
    uint32_t label_class = tn_header_field(label, 0, TN_HEAP_CLASS_BITS);
    uint32_t size_class = (label_class - 1) % (1U << TN_HEAP_CLASS_BITS);
    uint32_t capacity = tn_header_field(label, TN_HEAP_LABEL_CAPACITY_SHIFT, TN_HEAP_CAPACITY_BITS);
    bool is_run = label_class == TN_HEAP_CLASS_RUN;
    uint32_t page = (uint32_t)(is_run ? offset >> TN_HEAP_PAGE_SHIFT : label >> TN_HEAP_LABEL_PAGE_SHIFT);
    uint32_t from_start = (uint32_t)offset - (page << TN_HEAP_PAGE_SHIFT);
    uint32_t object_bytes = is_run ? 0 : tn_heap_class_bytes(size_class);
    uint32_t index = is_run ? 0 : tn_heap_class_index(size_class, from_start);
    bool is_object = label_class != 0 && index * object_bytes == from_start && (is_run || index < capacity);
    return { is_object ? page : TN_NO_PAGE, index, capacity, object_bytes };
}

TN_DEVICE uint64_t tn_label_at(tn_heap heap, uint64_t offset)
{
    return offset != TN_NO_OFFSET ? tn_load(tn_label(heap, (uint32_t)(offset >> TN_HEAP_PAGE_SHIFT))) : 0;
}

TN_DEVICE tn_target tn_find(tn_heap heap, uint64_t address)
{
    uint64_t offset = tn_offset_of(heap, address);
    return tn_target_of(offset, tn_label_at(heap, offset));
}

/* Finds the object to free. Each lane waits until its earlier use of the object is done; the label arrives
 * meanwhile. */
TN_DEVICE tn_target tn_find_to_free(tn_heap heap, uint64_t address)
{
    uint64_t offset = tn_offset_of(heap, address);
    return tn_target_of(offset, tn_fence_release_with(tn_label_at(heap, offset)));
}

/* Frees objects, in groups of one word of a slab's bitmap each. */
TN_DEVICE void tn_lanes_free(tn_heap heap, tn_mask lanes, tn_mask group, const tn_target &target)
{
    tn_wave_sync(lanes);
    tn_objects objects;
    objects.word = target.index / 64;
    objects.bits = tn_wave_or(lanes, group, tn_bit(target.index));
    if (tn_lane() != tn_first_one(group)) return;
    uint32_t freed = tn_objects_put(heap, target.page, target.capacity, objects);
    uint32_t asked = tn_count_ones(group);
    if (freed < asked) tn_fetch_add(&tn_counters(heap)->double_frees, (uint64_t)(asked - freed));
    if (freed == target.capacity)
        tn_slab_give_all(tn_out_of_line(heap), target.page, freed, target.object_bytes);
    else if (freed > 0)
        tn_slab_give(heap, target.page, freed);
}

TN_DEVICE_SLOW void tn_run_free(tn_heap heap, uint32_t page)
{
    if (!tn_run_destroy(heap, page)) tn_fetch_add(&tn_counters(heap)->double_frees, (uint64_t)1);
}

/* Checks the canary and poisons an object before it is freed. */
TN_DEVICE_SLOW void tn_finish_contents(tn_heap heap, tn_target target, uint64_t address)
{
    uint32_t object_bytes = target.object_bytes;
    uint64_t size_bytes = object_bytes != 0 ? object_bytes : tn_load(tn_run_pages(heap, target.page)) * TN_HEAP_PAGE_BYTES;
    if (object_bytes != 0 && !tn_object_is_live(heap, target.page, target.capacity, target.index)) return;
    if (!tn_contents_finish(address, size_bytes)) tn_fetch_add(&tn_counters(heap)->damaged_frees, (uint64_t)1);
    tn_fence_release(); /* the poison is written before the next owner has the memory */
}

#endif
