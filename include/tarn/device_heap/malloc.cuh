/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * device_heap/malloc: the lanes of a wave that want objects of one class get them together: one of them, the
 * leader, takes credits and bits, and says which bits they are; the others count themselves off.
 */
#ifndef TARN_DEVICE_HEAP_MALLOC_CUH
#define TARN_DEVICE_HEAP_MALLOC_CUH

#include "tarn/device_heap/contents.cuh"
#include "tarn/device_heap/runs.cuh"
#include "tarn/device_heap/take.cuh"

TN_DEVICE uint32_t tn_lanes_before(tn_mask lanes)
{
    return tn_count_ones(lanes & (((tn_mask)1 << tn_lane()) - 1));
}

/* What a leader says to its group. */
TN_DEVICE uint64_t tn_wave_tell(tn_mask lanes, uint64_t value, uint32_t leader)
{
    uint32_t low = tn_wave_shuffle(lanes, (uint32_t)value, leader);
    return (uint64_t)tn_wave_shuffle(lanes, (uint32_t)(value >> 32), leader) << 32 | low;
}

TN_DEVICE tn_objects tn_objects_tell(tn_mask lanes, const tn_objects &objects, uint32_t leader)
{
    tn_objects told;
    told.word = tn_wave_shuffle(lanes, objects.word, leader);
    told.bits = tn_wave_tell(lanes, objects.bits, leader);
    return told;
}

/* Objects for a group in which so many wait, alone in its wave or not; none when there is no memory. */
TN_DEVICE tn_objects tn_leader_take(tn_heap heap, uint32_t size_class, uint32_t wanted, bool is_alone, tn_hold *hold)
{
    tn_objects objects = { 0, 0 };
    if (hold->credits == 0) *hold = tn_take(heap, size_class, wanted, is_alone);
    if (hold->credits > 0)
        objects = tn_objects_take(heap, hold);
    else
        tn_fetch_add(&tn_counters(heap)->failed, (uint64_t)wanted);
    tn_fence_acquire();
    return objects;
}

/* An object for each of the lanes, in groups of one class each; 0 for those for which there was no memory. All
 * groups go through this together, so that their leaders work at the same time. */
TN_DEVICE uint64_t tn_lanes_malloc(tn_heap heap, tn_mask lanes, tn_mask group, uint32_t size_class)
{
    uint32_t leader = tn_first_one(group);
    uint32_t object_bytes = tn_heap_class_bytes(size_class);
    tn_hold hold = tn_hold_nothing();
    tn_mask waiting = lanes;
    uint64_t address = 0;
    bool is_done = false;
    do {
        tn_objects objects = { 0, 0 };
        tn_mask ours = waiting & group;
        if (tn_lane() == leader && ours != 0)
            objects = tn_leader_take(heap, size_class, tn_count_ones(ours), group == lanes, &hold);
        uint32_t page = tn_wave_shuffle(lanes, hold.page, leader);
        objects = tn_objects_tell(lanes, objects, leader);
        uint32_t rank = tn_lanes_before(ours);
        if (!is_done && rank < tn_count_ones(objects.bits)) {
            uint32_t index = objects.word * 64 + tn_nth_one(objects.bits, rank);
            address = tn_page_address(heap, page) + (uint64_t)index * object_bytes;
        }
        is_done = address != 0 || objects.bits == 0;
        waiting = tn_wave_ballot(lanes, !is_done);
    } while (waiting != 0);
    tn_wave_sync(lanes);
    return address;
}

TN_DEVICE_SLOW uint64_t tn_run_malloc(tn_heap heap, uint64_t pages, uint32_t rank)
{
    uint64_t address = tn_run_create(heap, pages, tn_place(), rank);
    tn_looks looks = { 0, false, 0 };
    while (address == 0 && tn_look_once_more(heap, &looks))
        address = tn_run_create(heap, pages, tn_place(), rank);
    if (address == 0) tn_fetch_add(&tn_counters(heap)->failed, (uint64_t)1);
    tn_fence_acquire();
    return address;
}

/* --- what is freed ---------------------------------------------------------------------------------- */

/* Where an address points. */
struct tn_target {
    uint32_t page;         /* the slab's or run's first; TN_NO_PAGE when it is the address of nothing */
    uint32_t index;        /* of the object */
    uint32_t capacity;     /* of the slab */
    uint32_t object_bytes; /* 0 for a run */
};

/* What the label of its page, `inside`, says of it; nothing for TN_NO_PAGE and 0. */
TN_DEVICE tn_target tn_target_of(tn_heap heap, uint64_t address, uint32_t inside, uint64_t label)
{
    tn_target target = { TN_NO_PAGE, 0, 0, 0 };
    uint32_t size_class = tn_header_field(label, 0, TN_HEAP_CLASS_BITS);
    if (size_class == 0) return target;
    bool is_run = size_class == TN_HEAP_CLASS_RUN;
    uint32_t page = is_run ? inside : (uint32_t)(label >> TN_HEAP_LABEL_PAGE_SHIFT);
    uint32_t from_start = (uint32_t)(address - tn_page_address(heap, page));
    uint32_t object_bytes = is_run ? 0 : tn_heap_class_bytes(size_class - 1);
    uint32_t index = is_run ? 0 : from_start / object_bytes;
    if (index * object_bytes != from_start) return target;
    uint32_t capacity = tn_header_field(label, TN_HEAP_LABEL_CAPACITY_SHIFT, TN_HEAP_CAPACITY_BITS);
    if (!is_run && index >= capacity) return target;
    target.page = page;
    target.index = index;
    target.capacity = capacity;
    target.object_bytes = object_bytes;
    return target;
}

TN_DEVICE uint64_t tn_label_of(tn_heap heap, uint32_t inside)
{
    return inside != TN_NO_PAGE ? tn_load(tn_label(heap, inside)) : 0;
}

TN_DEVICE tn_target tn_find(tn_heap heap, uint64_t address)
{
    uint32_t inside = tn_page_of(heap, address);
    return tn_target_of(heap, address, inside, tn_label_of(heap, inside));
}

/* For who frees. Each lane waits here until what it has done with its object is done; the label comes meanwhile. */
TN_DEVICE tn_target tn_find_to_free(tn_heap heap, uint64_t address)
{
    uint32_t inside = tn_page_of(heap, address);
    uint64_t label = tn_label_of(heap, inside);
    tn_fence_release();
    return tn_target_of(heap, address, inside, label);
}

/* Frees objects, in groups of one word of a slab's bitmap each. */
TN_DEVICE void tn_lanes_free(tn_heap heap, tn_mask lanes, tn_mask group, const tn_target &target)
{
    tn_objects objects;
    objects.word = target.index / 64;
    objects.bits = tn_wave_or(lanes, group, tn_bit(target.index));
    tn_wave_sync(lanes);
    if (tn_lane() != tn_first_one(group)) return;
    uint32_t freed = tn_objects_put(heap, target.page, target.capacity, objects);
    uint32_t asked = tn_count_ones(group);
    if (freed < asked) tn_fetch_add(&tn_counters(heap)->double_frees, (uint64_t)(asked - freed));
    if (freed > 0) tn_slab_give(heap, target.page, freed);
}

TN_DEVICE_SLOW void tn_run_free(tn_heap heap, uint32_t page)
{
    if (!tn_run_destroy(heap, page)) tn_fetch_add(&tn_counters(heap)->double_frees, (uint64_t)1);
}

/* Canaries and poison of what is about to be freed. */
TN_DEVICE_SLOW void tn_finish_contents(tn_heap heap, tn_target target, uint64_t address)
{
    uint32_t object_bytes = target.object_bytes;
    uint64_t size_bytes = object_bytes != 0 ? object_bytes : tn_load(tn_run_pages(heap, target.page)) * TN_HEAP_PAGE_BYTES;
    if (object_bytes != 0 && !tn_object_is_live(heap, target.page, target.capacity, target.index)) return;
    if (!tn_contents_finish(address, size_bytes)) tn_fetch_add(&tn_counters(heap)->damaged_frees, (uint64_t)1);
    tn_fence_release(); /* the poison is there before the next owner is */
}

#endif
