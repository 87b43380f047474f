/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * device_heap/take: from where a wave gets objects of one class, for as many of its lanes as want one. One lane
 * does this for all. What comes first is decided in malloc.cuh.
 *
 *     1. lanes that fill a page or more together,  a slab of their own
 *        or to which nobody else's object fits
 *     2. the slab in the slot of this place        one addition to its header
 *     3. that one used up: another for the slot    one that was prepared, a good one, a new one, or a sparse one
 *     4. the slot busy for too long                a slab of their own
 *     5. no memory                                 the slabs in the other slots of the class; then wholly free
 *                                                  slabs in slots of any class go, and the trees once more, or a
 *                                                  slab of its own, of one page if need be; again while
 *                                                  anything is on its way
 *
 * A new slab for a slot has room for all that wait for it by then: so many waves at once get a large slab together,
 * and few waves do not leave much of one unused. Where slabs become large, who fills the slot also prepares its next
 * slab, while the others use the one that they have got.
 */
#ifndef TARN_DEVICE_HEAP_TAKE_CUH
#define TARN_DEVICE_HEAP_TAKE_CUH

#include "tarn/device_heap/objects.cuh"

#ifndef TN_SLOT_PREPARE_BYTES
#define TN_SLOT_PREPARE_BYTES (16 * TN_HEAP_PAGE_BYTES) /* the next slab is prepared from slabs of this size on */
#endif

#define TN_STORM_OBJECTS 96  /* that wait for a slot: there is room for twice as many */
#define TN_STORM_MANY    512 /* likewise, and for four times */
#define TN_STORM_SHARE   16

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
TN_DEVICE tn_hold tn_take_own_slab(tn_heap heap, uint32_t size_class, uint32_t wanted, uint32_t place)
{
    uint32_t pages = tn_pages_for(size_class, wanted);
    return tn_slab_create(tn_out_of_line(heap), size_class, pages, TN_HEAP_STATE_FULL, wanted, place);
}

/* No fewer pages, in a power of two of units, as long as a span has so many: so most slabs go into spans without a rest,
 * and in line with the parts that cursors go through. */
TN_DEVICE uint32_t tn_pages_in_line(uint32_t pages, uint32_t unit)
{
    uint32_t more = unit << tn_heap_log2((2 * pages - 1) / unit);
    return more <= TN_HEAP_SPAN_PAGES ? more : more / 2;
}

/* More pages than what waits for a slot would fill, where so many want a class at once that more will come; and as many for
 * each slot of the class would be no more than a sixteenth of the heap, before that is rounded. */
TN_DEVICE uint32_t tn_pages_for_storm(tn_heap heap, uint32_t size_class, uint32_t pages, uint32_t asked)
{
    uint32_t unit = tn_heap_class_unit_pages(size_class);
    uint32_t slots = tn_heap_class_slots(size_class, heap->slot_count);
    uint32_t share = heap->first_region.page_count / (slots * TN_STORM_SHARE) / unit * unit;
    uint32_t factor = asked >= TN_STORM_MANY ? 4 : 2;
    uint32_t more = pages * factor < share ? pages * factor : share;
    uint32_t most = TN_HEAP_SPAN_PAGES / unit * unit;
    return more <= pages ? pages : more < most ? more : most;
}

/* Pages for `wanted` objects and what waits for a slot, or for `least` if that is more. Not all has asked yet that will:
 * so many pages as the last time, as long as a quarter has. */
TN_DEVICE uint32_t tn_slot_pages(tn_heap heap, uint32_t *slot, uint32_t size_class, uint32_t wanted, uint32_t least)
{
    tn_demand demand = tn_place_demand(slot);
    uint32_t last = demand.given, fewest = tn_heap_class_unit_pages(size_class);
    uint32_t objects = wanted + demand.asked > least ? wanted + demand.asked : least;
    uint32_t pages = tn_pages_for(size_class, objects);
    if (demand.asked >= TN_STORM_OBJECTS) pages = tn_pages_for_storm(heap, size_class, pages, demand.asked);
    pages = tn_pages_in_line(pages, fewest);
    if (pages < last) pages = pages * 4 >= last ? last : last / 2 > fewest ? last / 2 : fewest;
    tn_place_give(slot, pages);
    return pages;
}

/* A slab for a slot, and up to `wanted` credits of it: one that is good, a new one for all that waits and no less than
 * `least`, or a new one of as many pages as there are. */
TN_DEVICE tn_hold tn_slot_supply(tn_heap heap, uint32_t *slot, uint32_t size_class, uint32_t wanted, uint32_t least,
                                 uint32_t place)
{
    tn_hold hold = tn_slab_pop(heap, size_class, TN_HEAP_STATE_GOOD, wanted, place);
    if (hold.page != TN_NO_PAGE) {
        tn_place_give(slot, tn_place_demand(slot).given); /* what was asked for comes out of that */
        return hold;
    }
    uint32_t pages = tn_slot_pages(heap, slot, size_class, wanted, least);
    uint32_t fewest = tn_heap_class_unit_pages(size_class);
    for (;;) {
        hold = tn_slab_create(heap, size_class, pages, TN_HEAP_STATE_CURRENT, wanted, place);
        if (hold.page != TN_NO_PAGE || pages == fewest) return hold;
        pages = pages / 4 > fewest ? pages / 4 : fewest;
        tn_place_give(slot, pages);
    }
}

/* Where a slot goes through large slabs, many want its objects: so the slab that comes next is prepared, no smaller
 * than the one that it has. */
TN_DEVICE void tn_slot_prepare(tn_heap heap, uint32_t *slot, uint32_t size_class, uint32_t capacity, uint32_t place)
{
    uint32_t *next = &slot[TN_HEAP_PLACE_NEXT];
    if (tn_pages_for(size_class, capacity) * TN_HEAP_PAGE_BYTES < TN_SLOT_PREPARE_BYTES) return;
    if (!tn_place_claim(next, TN_PLACE_EMPTY)) return;
    uint32_t page = tn_slot_supply(heap, slot, size_class, 0, capacity, place).page;
    tn_place_fill(next, page == TN_NO_PAGE ? TN_PLACE_EMPTY : page + 1);
    if (page != TN_NO_PAGE) tn_class_note_idle(heap, size_class);
}

/* What was prepared for a slot that the caller has claimed; empty when nothing was. */
TN_DEVICE uint32_t tn_slot_take_next(uint32_t *slot)
{
    uint32_t *next = &slot[TN_HEAP_PLACE_NEXT];
    uint32_t pauses = TN_PLACE_PAUSES;
    uint32_t content = tn_place_wait(next, &pauses, TN_PLACE_PAUSE_NS);
    if (!tn_place_holds(content) || !tn_place_claim(next, content)) return TN_PLACE_EMPTY;
    tn_store(next, TN_PLACE_EMPTY);
    return content;
}

/* Gives a slot that the caller has claimed another slab, and the caller credits of it; or the caller some of what was
 * prepared, if others leave some. */
TN_DEVICE_SLOW tn_hold tn_slot_refill(tn_heap heap, uint32_t *slot, uint32_t content, uint32_t size_class,
                                      uint32_t wanted, uint32_t place)
{
    tn_hold hold;
    uint32_t next = tn_slot_take_next(slot);
    if (next != TN_PLACE_EMPTY) {
        tn_place_fill(slot, next);
        hold = tn_slab_take(heap, next - 1, size_class, wanted);
    } else {
        hold = tn_slot_supply(heap, slot, size_class, wanted, 0, place);
        if (hold.page == TN_NO_PAGE) hold = tn_slab_pop(heap, size_class, TN_HEAP_STATE_SPARSE, wanted, place);
        tn_place_fill(slot, hold.page != TN_NO_PAGE ? hold.page + 1 : content);
        if (hold.page == TN_NO_PAGE) return hold;
    }
    if (tn_place_holds(content)) tn_slab_release(heap, content - 1);
    tn_slot_prepare(heap, slot, size_class, hold.capacity, place);
    return hold;
}

/* --- when there is no memory ------------------------------------------------------------------------ */

/* A slot's slab, or the one that was prepared for it. */
TN_DEVICE tn_hold tn_take_from_word(tn_heap heap, const uint32_t *word, uint32_t size_class, uint32_t wanted)
{
    uint32_t content = tn_load(word);
    if (!tn_place_holds(content)) return tn_hold_nothing();
    return tn_slab_take(heap, content - 1, size_class, wanted);
}

TN_DEVICE_SLOW tn_hold tn_take_from_other_slots(tn_heap heap, uint32_t size_class, uint32_t wanted, uint32_t place)
{
    tn_hold hold = tn_hold_nothing();
    uint32_t words = 2 * tn_heap_class_slots(size_class, heap->slot_count);
    for (uint32_t i = 0; i < words && hold.credits == 0; i++) {
        const uint32_t *slot = tn_slot(heap, size_class, place + i / 2);
        hold = tn_take_from_word(heap, &slot[i % 2 * TN_HEAP_PLACE_NEXT], size_class, wanted);
    }
    return hold;
}

/* Empties a word of a slot whose slab is wholly free. False when it was busy, and may have such a slab. */
TN_DEVICE bool tn_slot_empty(tn_heap heap, uint32_t *word)
{
    uint32_t content = tn_load(word);
    if (content == TN_PLACE_BUSY) return false;
    if (!tn_place_holds(content)) return true;
    uint64_t header = tn_load(tn_header(heap, content - 1));
    if (tn_header_credits(header) != (int32_t)tn_header_capacity(header)) return true;
    if (!tn_place_claim(word, content)) return true;
    tn_place_fill(word, TN_PLACE_EMPTY);
    tn_slab_release(heap, content - 1);
    return true;
}

/* The same for all slots of a class. */
TN_DEVICE bool tn_slots_empty(tn_heap heap, uint32_t size_class)
{
    uint32_t words = 2 * tn_heap_class_slots(size_class, heap->slot_count);
    bool is_every = true;
    for (uint32_t i = 0; i < words; i++) {
        uint32_t *slot = tn_slot(heap, size_class, i / 2);
        if (!tn_slot_empty(heap, &slot[i % 2 * TN_HEAP_PLACE_NEXT])) is_every = false;
    }
    return is_every;
}

/* Gives back the wholly free slabs that are in slots. False when a slot was busy that may have one. */
TN_DEVICE_SLOW bool tn_reclaim(tn_heap heap)
{
    uint64_t *classes = &tn_counters(heap)->idle_classes;
    uint64_t again = 0;
    uint64_t rest = tn_load(classes);
    if (rest == 0) return true;
    tn_move_begin(heap);
    tn_fence();
    for (; rest != 0; rest = tn_load(classes) & ~again) {
        uint32_t size_class = tn_first_one(rest);
        if ((tn_fetch_and(classes, ~tn_bit(size_class)) & tn_bit(size_class)) == 0) continue;
        if (!tn_slots_empty(heap, size_class)) again |= tn_bit(size_class);
    }
    if (again != 0) tn_fetch_or(classes, again);
    tn_fence();
    tn_move_end(heap);
    return again == 0;
}

/* Out of the trees of a class, and not for a slot. */
TN_DEVICE tn_hold tn_take_from_trees(tn_heap heap, uint32_t size_class, uint32_t wanted, uint32_t place)
{
    tn_hold hold = tn_slab_pop(heap, size_class, TN_HEAP_STATE_GOOD, wanted, place);
    if (hold.credits == 0) hold = tn_slab_pop(heap, size_class, TN_HEAP_STATE_SPARSE, wanted, place);
    if (hold.credits > 0) tn_slab_release(heap, hold.page);
    return hold;
}

/* The looks of a wave that has found nothing. */
struct tn_looks {
    uint32_t count;
    bool was_every; /* slot looked at before the last one: none was busy */
    uint64_t moves; /* before the last one */
};

/* Makes ready for a look: reclaims, and waits for what is on its way. False when the last look has missed nothing: no slot
 * was busy that may have a wholly free slab, and no pages were on their way. */
TN_DEVICE bool tn_look_once_more(tn_heap heap, tn_looks *looks)
{
    if (looks->count > 0 && looks->was_every && !tn_moves_missed(heap, looks->moves)) return false;
    if (looks->count++ == TN_MOVES_LOOKS) return false;
    if (looks->count > 1 && !looks->was_every) tn_pause(TN_PLACE_PAUSE_NS_MAX);
    looks->was_every = tn_reclaim(heap);
    looks->moves = tn_moves_wait(heap);
    return true;
}

/* Another wave may have reclaimed, or freed. */
TN_DEVICE_SLOW tn_hold tn_take_last(tn_heap heap, uint32_t size_class, uint32_t wanted, uint32_t place)
{
    tn_hold hold = tn_take_from_other_slots(heap, size_class, wanted, place);
    if (hold.credits > 0) return hold;
    tn_looks looks = { 0, false, 0 };
    while (hold.credits == 0 && tn_look_once_more(heap, &looks)) {
        hold = tn_take_from_trees(heap, size_class, wanted, place);
        if (hold.credits == 0) hold = tn_take_own_slab(heap, size_class, 1, place);
        /* An object fits into any page, though a slab of one page may waste some of it. */
        if (hold.credits == 0 && tn_heap_class_unit_pages(size_class) > 1)
            hold = tn_slab_create(heap, size_class, 1, TN_HEAP_STATE_FULL, 1, place);
    }
    if (hold.credits == 0) hold = tn_take_from_other_slots(heap, size_class, wanted, place);
    return hold;
}

/* --- all of it -------------------------------------------------------------------------------------- */

/* What a leader has seen of its slot. */
struct tn_slot_look {
    uint32_t content;
    uint64_t header; /* of the slab there, before credits were taken of it; 0 where there is no slab */
};

TN_DEVICE tn_slot_look tn_slot_look_not_yet()
{
    return { TN_PLACE_UNKNOWN, 0 };
}

/* Takes credits of the slab that a slot has, if it has one. */
TN_DEVICE tn_slot_look tn_slot_look_into(tn_heap heap, uint32_t content, uint32_t wanted)
{
    tn_slot_look look = { content, 0 };
    if (tn_place_holds(content)) look.header = tn_fetch_add(tn_header(heap, content - 1), -(wanted * TN_CREDIT));
    return look;
}

/* How many of the credits that were asked for a slab had, which is of the class. */
TN_DEVICE uint32_t tn_slot_had(const tn_slot_look &look, uint32_t size_class, uint32_t wanted)
{
    return tn_header_class(look.header) == size_class + 1 ? tn_credits_of(tn_header_credits(look.header), wanted) : 0;
}

TN_DEVICE tn_hold tn_slot_hold(const tn_slot_look &look, uint32_t taken)
{
    return tn_hold_of(look.content - 1, taken, tn_header_capacity(look.header), tn_header_credits(look.header));
}

/* A leader that is to come back when its slot is no longer busy. */
TN_DEVICE tn_hold tn_take_later(uint32_t *slot, uint32_t wanted)
{
    tn_place_ask(slot, wanted);
    return tn_hold_waiting();
}

/* Credits for up to `wanted` objects: those that a leader's look into its slot has got, or of another slab for the slot, or
 * from where else there are some; none when there is no memory. It does not wait for a busy slot, since other leaders of its
 * wave may have something to do, but is told to, or gets a slab of its own when it has waited long. For functions out of line,
 * with their heap. */
TN_DEVICE tn_hold tn_take(tn_heap heap, uint32_t size_class, uint32_t wanted, uint32_t place, const tn_slot_look &look,
                          bool is_late)
{
    uint32_t *slot = tn_slot(heap, size_class, place);
    tn_hold hold = tn_hold_nothing();
    if (tn_place_holds(look.content)) {
        uint32_t taken = tn_slot_had(look, size_class, wanted);
        if (taken < wanted) tn_slab_give(heap, look.content - 1, wanted - taken);
        if (taken > 0) return tn_slot_hold(look, taken);
    }
    if (look.content != TN_PLACE_BUSY) {
        if (!tn_place_claim(slot, look.content)) return tn_take_later(slot, wanted);
        hold = tn_slot_refill(heap, slot, look.content, size_class, wanted, place);
        if (hold.credits == 0 && hold.page != TN_NO_PAGE) return tn_take_later(slot, wanted);
    } else {
        if (!is_late) return tn_take_later(slot, wanted);
        hold = tn_take_own_slab(heap, size_class, wanted, place);
    }
    return hold.credits > 0 ? hold : tn_take_last(heap, size_class, wanted, place);
}

#endif
