/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* device_heap/objects: which objects of a slab are live: a bit for each in the bitmaps of its pages. */
#ifndef TARN_DEVICE_HEAP_OBJECTS_CUH
#define TARN_DEVICE_HEAP_OBJECTS_CUH

#include "tarn/device_heap/slab.cuh"

/* Objects of one word of a slab's bitmap. */
struct tn_objects {
    uint32_t word;
    uint64_t bits;
};

/* Returns the bits of a word that stand for objects. */
TN_DEVICE uint64_t tn_objects_valid(uint32_t capacity, uint32_t word)
{
    return tn_low_bits(capacity - word * 64);
}

/* Makes objects of one word live, as many as it has and the credits allow, and uses up that many credits. In
 * a slab that is filled for the first time, they lie where the credits say. Those of a slab made with
 * TN_NEXT_LIVE are live already. */
TN_DEVICE tn_objects tn_objects_take(tn_heap heap, tn_hold *hold)
{
    if (hold->next == TN_NEXT_LIVE) {
        uint32_t credits = hold->credits;
        hold->credits = 0;
        return { 0, tn_low_bits(credits) };
    }
    uint64_t *words = tn_bitmap(heap, hold->page, hold->capacity);
    uint32_t word_count = (hold->capacity + 63) / 64;
    tn_objects objects;
    objects.word = hold->next / 64;
    uint64_t valid = tn_objects_valid(hold->capacity, objects.word);
    uint64_t wanted = tn_low_bits(hold->credits) << hold->next % 64 & valid;
    for (;;) {
        uint64_t before = tn_fetch_or(&words[objects.word], wanted);
        objects.bits = wanted & ~before;
        if (objects.bits != 0) break;
        uint64_t free = ~before & valid;
        while (free == 0) {
            objects.word = objects.word + 1 == word_count ? 0 : objects.word + 1;
            valid = tn_objects_valid(hold->capacity, objects.word);
            free = ~tn_load(&words[objects.word]) & valid;
        }
        wanted = tn_lowest_ones(free, hold->credits);
    }
    hold->credits -= tn_count_ones(objects.bits);
    uint32_t next = objects.word * 64 + 64 - tn_leading_zeros(objects.bits);
    hold->next = next < hold->capacity ? next : 0;
    return objects;
}

/* Frees live objects, and returns how many were live. Requires: all earlier use of the objects is done. */
TN_DEVICE uint32_t tn_objects_put(tn_heap heap, uint32_t page, uint32_t capacity, const tn_objects &objects)
{
    uint64_t before = tn_fetch_and(&tn_bitmap(heap, page, capacity)[objects.word], ~objects.bits);
    return tn_count_ones(before & objects.bits);
}

TN_DEVICE bool tn_object_is_live(tn_heap heap, uint32_t page, uint32_t capacity, uint32_t index)
{
    return (tn_load(&tn_bitmap(heap, page, capacity)[index / 64]) & tn_bit(index)) != 0;
}

#endif
