/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * device_heap/take: from where a wave gets objects of one class, for as many of its lanes as want one. One lane
 * does this for all.
 *
 *     1. lanes that fill a page or more together   a slab of their own
 *     2. the slab in the slot of this place        one addition to its header
 *     3. that one used up: another for the slot    a good slab, a new one, or a sparse one
 *     4. the slot busy for too long                a slab of their own
 *     5. no memory                                 the slabs in the other slots of the class; then wholly free
 *                                                  slabs in slots of any class go, and 3 once more
 *
 * A new slab for a slot has room for all that wait for it by then: so many waves at once get a large slab together,
 * and few waves do not leave much of one unused.
 */
#ifndef TARN_DEVICE_HEAP_TAKE_CUH
#define TARN_DEVICE_HEAP_TAKE_CUH

#include "tarn/device_heap/objects.cuh"

/* --- slabs ------------------------------------------------------------------------------------------ */

/* Pages for so many objects, in multiples of what a class wastes little of, and no more than a span. */
TN_DEVICE uint32_t tn_pages_for(uint32_t size_class, uint32_t objects)
{
    uint32_t unit = tn_heap_class_unit_pages(size_class);
    uint64_t bytes = (uint64_t)objects * tn_heap_class_bytes(size_class);
    if (bytes >= TN_HEAP_SPAN_PAGES * TN_HEAP_PAGE_BYTES) return TN_HEAP_SPAN_PAGES / unit * unit;
    uint32_t pages = (uint32_t)((bytes + TN_HEAP_PAGE_BYTES - 1) >> TN_HEAP_PAGE_SHIFT);
    return pages > unit ? pages : unit;
}

/* A slab of the wave's own; what it does not take others find in a tree. */
TN_DEVICE bool tn_take_own_slab(tn_heap heap, uint32_t size_class, uint32_t wanted, uint32_t place,
                                tn_hold *hold_out)
{
    uint32_t pages = tn_pages_for(size_class, wanted);
    return tn_slab_create(tn_out_of_line(heap), size_class, pages, TN_HEAP_STATE_FULL, wanted, place, hold_out);
}

/* A new slab for a slot, of `pages` or of the fewest. */
TN_DEVICE bool tn_take_new_slab(tn_heap heap, uint32_t size_class, uint32_t pages, uint32_t wanted, uint32_t place,
                                tn_hold *hold_out)
{
    uint32_t unit = tn_heap_class_unit_pages(size_class);
    if (tn_slab_create(heap, size_class, pages, TN_HEAP_STATE_CURRENT, wanted, place, hold_out)) return true;
    return pages != unit && tn_slab_create(heap, size_class, unit, TN_HEAP_STATE_CURRENT, wanted, place, hold_out);
}

/* Pages for what waits for a slot; and not much less than the last time, since waves come one after the other. */
TN_DEVICE uint32_t tn_slot_pages(uint32_t *slot, uint32_t size_class, uint32_t wanted)
{
    uint32_t pages = tn_pages_for(size_class, wanted + tn_place_demand(slot));
    uint32_t last = tn_load(&slot[TN_PLACE_SIZE]);
    if (pages < last) pages = tn_pages_for(size_class, 0) > last / 2 ? pages : last - last / 4;
    tn_store(&slot[TN_PLACE_SIZE], pages);
    return pages;
}

/* Gives a slot that the caller has claimed another slab, and the caller the first of it. */
TN_DEVICE_SLOW bool tn_slot_refill(tn_heap heap, uint32_t *slot, uint32_t content, uint32_t size_class,
                                   uint32_t wanted, uint32_t place, tn_hold *hold_out)
{
    bool is_found = tn_slab_pop(heap, size_class, TN_HEAP_STATE_GOOD, wanted, place, hold_out);
    uint32_t pages = tn_slot_pages(slot, size_class, wanted);
    is_found = is_found || tn_take_new_slab(heap, size_class, pages, wanted, place, hold_out) ||
               tn_slab_pop(heap, size_class, TN_HEAP_STATE_SPARSE, wanted, place, hold_out);
    tn_place_fill(slot, is_found ? hold_out->page + 1 : content);
    if (is_found && tn_place_holds(content)) tn_slab_release(heap, content - 1);
    return is_found;
}

/* --- when there is no memory ------------------------------------------------------------------------ */

TN_DEVICE_SLOW bool tn_take_from_other_slots(tn_heap heap, uint32_t size_class, uint32_t wanted,
                                        uint32_t place, tn_hold *hold_out)
{
    for (uint32_t i = 0; i < heap->slot_count; i++) {
        uint32_t content = tn_load(tn_slot(heap, size_class, place + i));
        if (tn_place_holds(content) && tn_slab_take(heap, content - 1, size_class, wanted, hold_out))
            return true;
    }
    return false;
}

/* Empties the slots of a class whose slabs are wholly free. False when one was busy, which may have such a slab. */
TN_DEVICE bool tn_slots_empty(tn_heap heap, uint32_t size_class)
{
    bool is_every = true;
    for (uint32_t i = 0; i < heap->slot_count; i++) {
        uint32_t *slot = tn_slot(heap, size_class, i);
        uint32_t content = tn_load(slot);
        if (content == TN_PLACE_BUSY) is_every = false;
        if (!tn_place_holds(content)) continue;
        uint64_t header = tn_load(tn_header(heap, content - 1));
        if (tn_header_credits(header) != (int32_t)tn_header_capacity(header)) continue;
        if (!tn_place_claim(slot, content)) continue;
        tn_place_fill(slot, TN_PLACE_EMPTY);
        tn_slab_release(heap, content - 1);
    }
    return is_every;
}

/* Gives back the wholly free slabs that are in slots. */
TN_DEVICE_SLOW void tn_reclaim(tn_heap heap)
{
    uint64_t *classes = &tn_counters(heap)->idle_classes;
    uint64_t again = 0;
    uint64_t rest;
    while ((rest = tn_load(classes)) != 0) {
        uint32_t size_class = tn_first_one(rest);
        if ((tn_fetch_and(classes, ~tn_bit(size_class)) & tn_bit(size_class)) == 0) continue;
        if (!tn_slots_empty(heap, size_class)) again |= tn_bit(size_class);
    }
    if (again != 0) tn_fetch_or(classes, again);
}

/* Reclaims, and looks once more at everything: another wave may have reclaimed, or freed. */
TN_DEVICE_SLOW bool tn_take_last(tn_heap heap, uint32_t size_class, uint32_t wanted, uint32_t place,
                                 tn_hold *hold_out)
{
    if (tn_take_from_other_slots(heap, size_class, wanted, place, hold_out)) return true;
    tn_reclaim(heap);
    tn_pause(TN_PLACE_PAUSE_NS);
    if (tn_slab_pop(heap, size_class, TN_HEAP_STATE_GOOD, wanted, place, hold_out) ||
        tn_slab_pop(heap, size_class, TN_HEAP_STATE_SPARSE, wanted, place, hold_out)) {
        tn_slab_release(heap, hold_out->page);
        return true;
    }
    if (tn_take_own_slab(heap, size_class, 1, place, hold_out)) return true;
    return tn_take_from_other_slots(heap, size_class, wanted, place, hold_out);
}

/* --- all of it -------------------------------------------------------------------------------------- */

TN_DEVICE bool tn_take_from_slot(tn_heap heap, uint32_t size_class, uint32_t wanted, uint32_t place,
                                 tn_hold *hold_out)
{
    uint32_t *slot = tn_slot(heap, size_class, place);
    uint32_t pauses = TN_PLACE_PAUSES;
    uint32_t content = tn_load(slot);
    for (;;) {
        if (tn_place_holds(content) && tn_slab_take(heap, content - 1, size_class, wanted, hold_out)) return true;
        if (content != TN_PLACE_BUSY && tn_place_claim(slot, content)) {
            bool is_found = tn_slot_refill(tn_out_of_line(heap), slot, content, size_class, wanted, place, hold_out);
            if (tn_was_in_loop()) return is_found;
        }
        tn_place_ask(slot, wanted);
        content = tn_place_wait(slot, &pauses);
        if (content == TN_PLACE_BUSY) return tn_take_own_slab(heap, size_class, wanted, place, hold_out);
    }
}

/* Credits for up to `wanted` objects; false when there is no memory. */
TN_DEVICE bool tn_take(tn_heap heap, uint32_t size_class, uint32_t wanted, tn_hold *hold_out)
{
    uint32_t place = tn_place();
    bool fills_page = (uint64_t)wanted * tn_heap_class_bytes(size_class) >= TN_HEAP_PAGE_BYTES;
    return (fills_page && tn_take_own_slab(heap, size_class, wanted, place, hold_out)) ||
           tn_take_from_slot(heap, size_class, wanted, place, hold_out) ||
           tn_take_last(tn_out_of_line(heap), size_class, wanted, place, hold_out);
}

#endif
