/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * device_heap/take: where a wave gets objects of one class, for all its lanes that want one. One lane does
 * this for all. malloc.cuh decides which step comes first.
 *
 *     1. lanes that fill a page or more together,  a slab of their own
 *        or that leave no room for another object
 *     2. the slab in the slot of this place        one addition to its header
 *     3. that one used up: another for the slot    one that was prepared, a good one, a new one, or a sparse one
 *     4. the slot busy for too long                a slab of their own
 *     5. no memory                                 the slabs in the other slots of the class; then wholly free
 *                                                  slabs in slots of any class go, and the trees once more, or a
 *                                                  slab of its own, of one page if need be; again while
 *                                                  anything is on its way
 *
 * A new slab for a slot has room for all waves that wait for it then. So many concurrent waves share a large
 * slab, and few waves leave little of one unused. Where slabs become large, the wave that fills the slot also
 * prepares its next slab, while the others use the current one.
 */
#ifndef TARN_DEVICE_HEAP_TAKE_CUH
#define TARN_DEVICE_HEAP_TAKE_CUH

#include "tarn/device_heap/objects.cuh"

#ifndef TN_SLOT_PREPARE_BYTES
#define TN_SLOT_PREPARE_BYTES (16 * TN_HEAP_PAGE_BYTES) /* prepare the next slab from this size on */
#endif

#define TN_STORM_OBJECTS 96  /* objects waited for at a slot, from which its slab gets twice the room */
#define TN_STORM_MANY    512 /* and from which it gets four times */
#define TN_STORM_SHARE   16

/* --- slabs ------------------------------------------------------------------------------------------ */

/* Returns the pages for `objects`, in multiples of which the class wastes little, but at most a span. */
TN_DEVICE uint32_t tn_pages_for(uint32_t size_class, uint32_t objects)
{
    uint32_t unit = tn_heap_class_unit_pages(size_class);
    uint64_t bytes = (uint64_t)objects * tn_heap_class_bytes(size_class);
    if (bytes >= TN_HEAP_SPAN_PAGES * TN_HEAP_PAGE_BYTES) return TN_HEAP_SPAN_PAGES / unit * unit;
    uint32_t pages = (uint32_t)((bytes + TN_HEAP_PAGE_BYTES - 1) >> TN_HEAP_PAGE_SHIFT);
    return pages > unit ? pages : unit;
}

/* Takes a slab of the wave's own. Other waves find the rest of it in a tree. */
TN_DEVICE tn_hold tn_take_own_slab(tn_heap heap, uint32_t size_class, uint32_t wanted, uint32_t place)
{
    uint32_t pages = tn_pages_for(size_class, wanted);
    return tn_slab_create(tn_out_of_line(heap), size_class, pages, TN_HEAP_STATE_FULL, wanted, place);
}

/* Rounds up to a power of two of units, as long as that fits into a span. So most slabs fill spans without a
 * rest, and align with the parts of cursors. */
TN_DEVICE uint32_t tn_pages_in_line(uint32_t pages, uint32_t unit)
{
    uint32_t more = unit << tn_heap_log2((2 * pages - 1) / unit);
    return more <= TN_HEAP_SPAN_PAGES ? more : more / 2;
}

/* Returns more pages than the waiting waves would fill, if so many want the class that more will come. Limit:
 * as many for each slot of the class must take at most a sixteenth of the heap, before rounding. */
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

/* Returns the pages for `wanted` objects and all that waits for a slot, or for `least`, if that is more.
 * Other waves have not asked yet: it keeps the last size as long as a quarter of it was asked for. */
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

/* Gets a slab for a slot, and up to `wanted` credits of it: a good one, or a new one for all that waits and
 * at least `least`, or a new one of as many pages as there are. */
TN_DEVICE tn_hold tn_slot_supply(tn_heap heap, uint32_t *slot, uint32_t size_class, uint32_t wanted, uint32_t least,
                                 uint32_t place)
{
    tn_hold hold = tn_slab_pop(heap, size_class, TN_HEAP_STATE_GOOD, wanted, place);
    if (hold.page != TN_NO_PAGE) {
        tn_place_give(slot, tn_place_demand(slot).given); /* the demand is served from that slab */
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

/* If a slot uses up large slabs, many waves want its objects. So this prepares its next slab, no smaller than
 * the current one. */
TN_DEVICE void tn_slot_prepare(tn_heap heap, uint32_t *slot, uint32_t size_class, uint32_t capacity, uint32_t place)
{
    uint32_t *next = &slot[TN_HEAP_PLACE_NEXT];
    if (tn_pages_for(size_class, capacity) * TN_HEAP_PAGE_BYTES < TN_SLOT_PREPARE_BYTES) return;
    if (!tn_place_claim(next, TN_PLACE_EMPTY)) return;
    uint32_t page = tn_slot_supply(heap, slot, size_class, 0, capacity, place).page;
    tn_place_fill(next, page == TN_NO_PAGE ? TN_PLACE_EMPTY : page + 1);
    if (page != TN_NO_PAGE) tn_class_note_idle(heap, size_class);
}

/* Takes the slab prepared for a slot that the caller has claimed, or returns empty. */
TN_DEVICE uint32_t tn_slot_take_next(uint32_t *slot)
{
    uint32_t *next = &slot[TN_HEAP_PLACE_NEXT];
    uint32_t pauses = TN_PLACE_PAUSES;
    uint32_t content = tn_place_wait(next, &pauses, TN_PLACE_PAUSE_NS);
    if (!tn_place_holds(content) || !tn_place_claim(next, content)) return TN_PLACE_EMPTY;
    tn_store(next, TN_PLACE_EMPTY);
    return content;
}

/* Gives a claimed slot another slab, and the caller credits of it. If the slab was prepared, the caller gets
 * only what other waves leave. */
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

/* Takes from a slot's slab, or from the one prepared for it. */
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

/* Empties a word of a slot whose slab is wholly free. False: it was busy, and may have such a slab. */
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

/* Does that for all slots of a class. False: a slot was busy. */
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

/* Frees the wholly free slabs in slots. False: a busy slot may have one. */
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

/* Takes from the trees of a class, not for a slot. */
TN_DEVICE tn_hold tn_take_from_trees(tn_heap heap, uint32_t size_class, uint32_t wanted, uint32_t place)
{
    tn_hold hold = tn_slab_pop(heap, size_class, TN_HEAP_STATE_GOOD, wanted, place);
    if (hold.credits == 0) hold = tn_slab_pop(heap, size_class, TN_HEAP_STATE_SPARSE, wanted, place);
    if (hold.credits > 0) tn_slab_release(heap, hold.page);
    return hold;
}

/* The looks of a wave that has found no memory. */
struct tn_looks {
    uint32_t count;
    bool was_every; /* no slot was busy in the last look */
    uint64_t moves; /* before the last look */
};

/* Prepares another look: reclaims, and waits for moves. False: the last look has missed nothing, since no
 * busy slot could have a wholly free slab and no pages were on their way. */
TN_DEVICE bool tn_look_once_more(tn_heap heap, tn_looks *looks)
{
    if (looks->count > 0 && looks->was_every && !tn_moves_missed(heap, looks->moves)) return false;
    if (looks->count++ == TN_MOVES_LOOKS) return false;
    if (looks->count > 1 && !looks->was_every) tn_pause(TN_PLACE_PAUSE_NS_MAX);
    looks->was_every = tn_reclaim(heap);
    looks->moves = tn_moves_wait(heap);
    return true;
}

/* Takes what other waves may have reclaimed or freed. */
TN_DEVICE_SLOW tn_hold tn_take_last(tn_heap heap, uint32_t size_class, uint32_t wanted, uint32_t place)
{
    tn_hold hold = tn_take_from_other_slots(heap, size_class, wanted, place);
    if (hold.credits > 0) return hold;
    tn_looks looks = { 0, false, 0 };
    while (hold.credits == 0 && tn_look_once_more(heap, &looks)) {
        hold = tn_take_from_trees(heap, size_class, wanted, place);
        if (hold.credits == 0) hold = tn_take_own_slab(heap, size_class, 1, place);
        /* Every object fits into one page, though such a slab may waste some of it. */
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
    uint64_t header; /* of its slab, before credits were taken; 0: no slab */
};

TN_DEVICE tn_slot_look tn_slot_look_not_yet()
{
    return { TN_PLACE_UNKNOWN, 0 };
}

/* Takes credits of the slot's slab, if it has one. */
TN_DEVICE tn_slot_look tn_slot_look_into(tn_heap heap, uint32_t content, uint32_t wanted)
{
    tn_slot_look look = { content, 0 };
    if (tn_place_holds(content)) look.header = tn_fetch_add(tn_header(heap, content - 1), -(wanted * TN_CREDIT));
    return look;
}

/* Returns how many of the wanted credits the slab had. 0 if it is not of the class. */
TN_DEVICE uint32_t tn_slot_had(const tn_slot_look &look, uint32_t size_class, uint32_t wanted)
{
    return tn_header_class(look.header) == size_class + 1 ? tn_credits_of(tn_header_credits(look.header), wanted) : 0;
}

TN_DEVICE tn_hold tn_slot_hold(const tn_slot_look &look, uint32_t taken)
{
    return tn_hold_of(look.content - 1, taken, tn_header_capacity(look.header), tn_header_credits(look.header));
}

/* Makes a leader come back when its slot is no longer busy. */
TN_DEVICE tn_hold tn_take_later(uint32_t *slot, uint32_t wanted)
{
    tn_place_ask(slot, wanted);
    return tn_hold_waiting();
}

/* Gets credits for up to `wanted` objects: those of the leader's look into its slot, or of another slab for
 * the slot, or from elsewhere; none if there is no memory. It does not wait for a busy slot, since other
 * leaders of its wave may have work to do. The leader must wait then, or gets a slab of its own after a long
 * wait. For functions out of line, with their heap. */
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
