/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * device_heap/slab: a run of pages cut into objects of one class, and the header that counts its free
 * objects.
 *
 *              create                              credits are used up, and its slot gets another
 *     idle ──────────────> current ─────────────────────────────────────────────> full
 *      ^                      ^                                                     |  some are free
 *      |                      | taken for a slot                                    v
 *      └── all are free ── good <────────────── a quarter is free ────────────── sparse
 *
 * One word holds all of it. Additions change the credits; compare and exchange changes the state, with the
 * credits unchanged. If an addition makes a change of state due, the same wave makes that change, and no
 * other. So of many concurrent frees, one changes the state. A full slab may become idle: by an addition that
 * makes it wholly free, or, if one wave frees all of it, by a compare and exchange alone. Returning excess
 * credits is such an addition, too. Credits may be negative for a moment: a wave took from a used up slab, or
 * from a slot that held the slab in an earlier life, and is about to return them.
 *
 * In state good or sparse, a slab is in its tree, or is about to be, or was just removed by a wave that will
 * see the state. A slab in a tree with another state is an outdated hint, which the wave that takes it drops.
 */
#ifndef TARN_DEVICE_HEAP_SLAB_CUH
#define TARN_DEVICE_HEAP_SLAB_CUH

#include "tarn/device_heap/pages.cuh"

#define TN_CREDIT             ((uint64_t)1 << TN_HEAP_CREDIT_SHIFT)
#define TN_STATE_MASK         ((((uint64_t)1 << TN_HEAP_STATE_BITS) - 1) << TN_HEAP_STATE_SHIFT)
#define TN_SLAB_GOOD_DIVISOR  4 /* good from a quarter free on */

/* --- the word --------------------------------------------------------------------------------------- */

TN_DEVICE uint32_t tn_header_field(uint64_t header, uint32_t shift, uint32_t bits)
{
    return (uint32_t)(header >> shift) & ((1U << bits) - 1);
}

TN_DEVICE uint32_t tn_header_class(uint64_t header) /* + 1 */
{
    return tn_header_field(header, 0, TN_HEAP_CLASS_BITS);
}

TN_DEVICE uint32_t tn_header_state(uint64_t header)
{
    return tn_header_field(header, TN_HEAP_STATE_SHIFT, TN_HEAP_STATE_BITS);
}

TN_DEVICE uint32_t tn_header_pages(uint64_t header)
{
    return tn_header_field(header, TN_HEAP_PAGES_SHIFT, TN_HEAP_PAGES_BITS);
}

TN_DEVICE uint32_t tn_header_capacity(uint64_t header)
{
    return tn_header_field(header, TN_HEAP_CAPACITY_SHIFT, TN_HEAP_CAPACITY_BITS);
}

TN_DEVICE int32_t tn_header_credits(uint64_t header)
{
    return (int32_t)((int64_t)header >> TN_HEAP_CREDIT_SHIFT);
}

TN_DEVICE uint64_t tn_header_with_state(uint64_t header, uint32_t state)
{
    return (header & ~TN_STATE_MASK) | (uint64_t)state << TN_HEAP_STATE_SHIFT;
}

TN_DEVICE uint64_t tn_header_make(uint32_t size_class, uint32_t state, uint32_t pages,
                                  uint32_t capacity, uint32_t credits)
{
    return (uint64_t)(size_class + 1) | (uint64_t)state << TN_HEAP_STATE_SHIFT |
           (uint64_t)pages << TN_HEAP_PAGES_SHIFT |
           (uint64_t)capacity << TN_HEAP_CAPACITY_SHIFT | (uint64_t)credits << TN_HEAP_CREDIT_SHIFT;
}

/* Returns whether the header is of a slab of that class in that state. */
TN_DEVICE bool tn_header_is(uint64_t header, uint32_t size_class, uint32_t state)
{
    return tn_header_class(header) == size_class + 1 && tn_header_state(header) == state;
}

/* --- changes of state ------------------------------------------------------------------------------- */

/* Returns the state that a slab with this header should have. */
TN_DEVICE uint32_t tn_slab_state_due(uint64_t header)
{
    uint32_t state = tn_header_state(header);
    int32_t credits = tn_header_credits(header);
    int32_t capacity = (int32_t)tn_header_capacity(header);
    if (state == TN_HEAP_STATE_IDLE || state == TN_HEAP_STATE_CURRENT) return state;
    if (credits == capacity) return TN_HEAP_STATE_IDLE;
    if (state == TN_HEAP_STATE_GOOD) return state;
    if (credits * TN_SLAB_GOOD_DIVISOR >= capacity) return TN_HEAP_STATE_GOOD;
    return credits > 0 ? (uint32_t)TN_HEAP_STATE_SPARSE : state;
}

TN_DEVICE uint64_t tn_label_make(uint32_t page, uint32_t size_class, uint32_t capacity)
{
    return (uint64_t)(size_class + 1) | (uint64_t)capacity << TN_HEAP_LABEL_CAPACITY_SHIFT |
           (uint64_t)page << TN_HEAP_LABEL_PAGE_SHIFT;
}

TN_DEVICE void tn_pages_label(tn_heap heap, uint32_t page, uint32_t pages, uint64_t label)
{
    uint64_t *word = tn_label(heap, page);
    const uint64_t *end = word + (uint64_t)pages * TN_HEAP_HEADER_WORDS;
    TN_UNROLL_8
    for (; word != end; word += TN_HEAP_HEADER_WORDS)
        tn_store(word, label);
}

/* Removes a slab from the tree of a state that it has left. If it is in that state again, or a later slab on
 * this page is, restores the hint. */
TN_DEVICE void tn_slab_leave_tree(tn_heap heap, uint32_t page, uint32_t size_class, uint32_t state)
{
    tn_tree tree = tn_class_tree(heap, size_class, state);
    tn_tree_remove(tree, page);
    tn_fence();
    if (tn_header_is(tn_look_again(tn_header(heap, page)), size_class, state)) tn_tree_insert(tree, page);
}

/* Adds a slab to the tree of its new state. A wave that made the next change may have been faster, and found
 * nothing to remove. That would leave an outdated hint, for each slab whose objects are all freed at once: so
 * this checks the state again. */
TN_DEVICE void tn_slab_enter_tree(tn_heap heap, uint32_t page, uint32_t size_class, uint32_t state)
{
    tn_tree_insert(tn_class_tree(heap, size_class, state), page);
    tn_fence();
    if (!tn_header_is(tn_look_again(tn_header(heap, page)), size_class, state)) tn_slab_leave_tree(heap, page, size_class, state);
}

/* Tells the trees after a slab's pages became free, besides those `before` of their span. Spans come first,
 * since waves do not find the pages until then. */
TN_DEVICE_SLOW void tn_slab_tell(tn_heap heap, uint32_t page, uint64_t header, uint64_t before, bool was_last)
{
    tn_tree tree = tn_class_tree(heap, tn_header_class(header) - 1, tn_header_state(header));
    tn_span_tell(heap, page / TN_HEAP_SPAN_PAGES, before, tn_pages_of_span(page, tn_header_pages(header)));
    if (was_last) tn_tree_lower(tree, 1, page / 64);
}

/* Frees the pages of a wholly free slab that had this header. No wave makes a slab of them before, so the
 * slab cannot rightly be in a tree again. For functions out of line; in most cases it calls nothing. */
TN_DEVICE void tn_slab_retire(tn_heap heap, uint32_t page, uint64_t header)
{
    uint32_t state = tn_header_state(header), count = tn_header_pages(header);
    bool was_last = state != TN_HEAP_STATE_FULL &&
                    tn_tree_drop(tn_class_tree(heap, tn_header_class(header) - 1, state), page);
    tn_pages_label(heap, page, count, 0);
    tn_fence_release(); /* so that it cannot undo changes by the pages' next owner */
    uint64_t before = tn_pages_put_untold(heap, page, count);
    if (was_last || tn_span_has_to_tell(before, tn_pages_of_span(page, count)))
        tn_slab_tell(heap, page, header, before, was_last);
}

/* Makes the change of state that is due, if any. */
TN_DEVICE_SLOW void tn_slab_change_state(tn_heap heap, uint32_t page, uint64_t header)
{
    uint32_t state, due;
    for (;;) {
        state = tn_header_state(header);
        due = tn_slab_state_due(header);
        if (due == state) return;
        uint64_t after = due == TN_HEAP_STATE_IDLE ? 0 : tn_header_with_state(header, due);
        uint64_t seen = tn_compare_exchange(tn_header(heap, page), header, after);
        if (seen == header) break;
        header = seen;
    }
    if (due == TN_HEAP_STATE_IDLE) {
        tn_slab_retire(heap, page, header);
        return;
    }
    uint32_t size_class = tn_header_class(header) - 1;
    if (state != TN_HEAP_STATE_FULL) tn_slab_leave_tree(heap, page, size_class, state);
    tn_slab_enter_tree(heap, page, size_class, due);
}

/* Notes that a slab of a class is in a slot and wholly free, for waves that find no memory. Its result is not
 * awaited. */
TN_DEVICE void tn_class_note_idle(tn_heap heap, uint32_t size_class)
{
    tn_fetch_or(&tn_counters(heap)->idle_classes, tn_bit(size_class));
}

/* Changes the state if the caller's addition to the credits made that due. If the same state was due before,
 * another wave makes that change, or it is the current state. */
TN_DEVICE void tn_slab_settle(tn_heap heap, uint32_t page, uint64_t before, uint64_t header)
{
    if (tn_header_state(header) == TN_HEAP_STATE_CURRENT) {
        if (tn_header_credits(header) == (int32_t)tn_header_capacity(header))
            tn_class_note_idle(heap, tn_header_class(header) - 1);
    } else if (tn_slab_state_due(header) != tn_slab_state_due(before)) {
        tn_slab_change_state(tn_out_of_line(heap), page, header);
    }
}

/* --- credits ---------------------------------------------------------------------------------------- */

TN_DEVICE void tn_slab_give(tn_heap heap, uint32_t page, uint32_t count)
{
    uint64_t before = tn_fetch_add(tn_header(heap, page), count * TN_CREDIT);
    tn_slab_settle(heap, page, before, before + count * TN_CREDIT);
}

/* Frees all objects of a slab. Mostly it is in no slot, and one compare and exchange suffices. */
TN_DEVICE_SLOW void tn_slab_give_all(tn_heap heap, uint32_t page, uint32_t capacity, uint32_t object_bytes)
{
    uint32_t pages = (capacity * object_bytes + (uint32_t)TN_HEAP_PAGE_BYTES - 1) >> TN_HEAP_PAGE_SHIFT;
    uint64_t header = tn_header_make(tn_heap_class_of(object_bytes), TN_HEAP_STATE_FULL, pages, capacity, 0);
    uint64_t seen = tn_compare_exchange(tn_header(heap, page), header, (uint64_t)0);
    if (seen == header)
        tn_slab_retire(heap, page, header);
    else
        tn_slab_give(heap, page, capacity);
}

/* A wave's right to some bits of a slab. Passed by value, in registers. */
struct tn_hold {
    uint32_t page;    /* the slab's first */
    uint32_t credits; /* 0: it holds nothing */
    uint32_t capacity;
    uint32_t next; /* object to try first, or one of the values below */
};

#define TN_NEXT_LIVE  0xFFFFFFFFU /* the wave made the slab: its objects are the first ones, with their bits set */
#define TN_NEXT_WAITS 0xFFFFFFFEU /* it holds nothing yet: another wave works on its slot, or did */

TN_DEVICE tn_hold tn_hold_nothing()
{
    return { TN_NO_PAGE, 0, 0, 0 };
}

TN_DEVICE tn_hold tn_hold_waiting()
{
    return { TN_NO_PAGE, 0, 0, TN_NEXT_WAITS };
}

TN_DEVICE bool tn_hold_waits(const tn_hold &hold)
{
    return hold.next == TN_NEXT_WAITS;
}

/* Describes `taken` of `credits` credits. If nothing was ever freed, the objects lie where the credits say. */
TN_DEVICE tn_hold tn_hold_of(uint32_t page, uint32_t taken, uint32_t capacity, int32_t credits)
{
    return { page, taken, capacity, capacity - (uint32_t)credits };
}

TN_DEVICE uint32_t tn_credits_of(int32_t credits, uint32_t wanted)
{
    if (credits <= 0) return 0;
    return wanted < (uint32_t)credits ? wanted : (uint32_t)credits;
}

/* Takes up to `wanted` credits, or none if the slab has none or is not of the class. */
TN_DEVICE tn_hold tn_slab_take(tn_heap heap, uint32_t page, uint32_t size_class, uint32_t wanted)
{
    uint64_t before = tn_fetch_add(tn_header(heap, page), -(wanted * TN_CREDIT));
    int32_t credits = tn_header_credits(before);
    uint32_t taken = tn_header_class(before) == size_class + 1 ? tn_credits_of(credits, wanted) : 0;
    if (taken < wanted) tn_slab_give(heap, page, wanted - taken);
    return tn_hold_of(page, taken, tn_header_capacity(before), credits);
}

/* --- from pages to slabs, from trees to slots, and back ---------------------------------------------- */

/* Writes the header and bits of a slab whose objects the caller owns all. No other wave can take from it and
 * no change of state is due, so no result is awaited. */
TN_DEVICE void tn_slab_begin_used_up(tn_heap heap, uint32_t page, uint64_t header)
{
    uint32_t capacity = tn_header_capacity(header);
    /* Otherwise a wave might mark the span used up after a free */
    if (tn_header_pages(header) == TN_HEAP_SPAN_PAGES) tn_fence_release();
    tn_fetch_add(tn_header(heap, page), header);
    tn_fetch_or(tn_bitmap(heap, page, capacity), tn_low_bits(capacity)); /* one word: a wave has at most 64 lanes */
}

/* Makes a slab of pages, in no slot, with all objects owned by the caller. */
TN_DEVICE void tn_slab_make_full(tn_heap heap, uint32_t page, uint32_t pages, uint32_t size_class, uint32_t capacity)
{
    tn_pages_label(heap, page, pages, tn_label_make(page, size_class, capacity));
    tn_slab_begin_used_up(heap, page, tn_header_make(size_class, TN_HEAP_STATE_FULL, pages, capacity, 0));
}

/* Makes a slab of pages, and gives the caller `wanted` credits. Its bits are 0: all earlier objects were
 * freed. */
TN_DEVICE tn_hold tn_slab_make(tn_heap heap, uint32_t page, uint32_t pages, uint32_t size_class, uint32_t state,
                               uint32_t wanted)
{
    uint32_t capacity = (pages << TN_HEAP_PAGE_SHIFT) / tn_heap_class_bytes(size_class);
    uint32_t taken = wanted < capacity ? wanted : capacity;
    tn_hold hold = { page, taken, capacity, TN_NEXT_LIVE };
    tn_pages_label(heap, page, pages, tn_label_make(page, size_class, capacity));
    uint64_t header = tn_header_make(size_class, state, pages, capacity, capacity - taken);
    if (taken == capacity) {
        tn_slab_begin_used_up(heap, page, header);
        return hold;
    }
    if (taken > 0) tn_fetch_or(tn_bitmap(heap, page, capacity), tn_low_bits(taken));
    tn_fence_release(); /* otherwise other waves could take the same objects; and frees need the labels */
    uint64_t before = tn_fetch_add(tn_header(heap, page), header);
    if (state == TN_HEAP_STATE_FULL) tn_slab_change_state(heap, page, before + header);
    return hold;
}

/* Creates a slab from free pages, if there are enough in a row. */
TN_DEVICE_SLOW tn_hold tn_slab_create(tn_heap heap, uint32_t size_class, uint32_t pages, uint32_t state,
                                      uint32_t wanted, uint32_t place)
{
    uint32_t page = tn_pages_take(heap, pages, place);
    if (page == TN_NO_PAGE) return tn_hold_nothing();
    return tn_slab_make(heap, page, pages, size_class, state, wanted);
}

/* Makes a slab just taken from a tree current, if it still has that class and state and has credits, and
 * takes up to `wanted`. */
TN_DEVICE tn_hold tn_slab_adopt(tn_heap heap, uint32_t page, uint32_t size_class, uint32_t state, uint32_t wanted)
{
    uint64_t header = tn_load(tn_header(heap, page));
    while (tn_header_is(header, size_class, state)) {
        int32_t credits = tn_header_credits(header);
        uint32_t taken = tn_credits_of(credits, wanted);
        uint64_t after = tn_header_with_state(header, credits > 0 ? TN_HEAP_STATE_CURRENT : TN_HEAP_STATE_FULL);
        uint64_t seen = tn_compare_exchange(tn_header(heap, page), header, after - taken * TN_CREDIT);
        if (seen == header && credits <= 0) break;
        if (seen == header) return tn_hold_of(page, taken, tn_header_capacity(header), credits);
        header = seen;
    }
    return tn_hold_nothing();
}

/* Takes a slab from a tree and makes it current. No page: there is none. */
TN_DEVICE_SLOW tn_hold tn_slab_pop(tn_heap heap, uint32_t size_class, uint32_t state, uint32_t wanted, uint32_t place)
{
    tn_tree tree = tn_class_tree(heap, size_class, state);
    for (;;) {
        uint32_t page = tn_tree_take(tree, place);
        if (page == TN_NO_NUMBER) return tn_hold_nothing();
        tn_hold hold = tn_slab_adopt(heap, page, size_class, state, wanted);
        if (hold.page != TN_NO_PAGE) return hold;
    }
}

/* Removes a current slab from its slot. */
TN_DEVICE_SLOW void tn_slab_release(tn_heap heap, uint32_t page)
{
    uint64_t *word = tn_header(heap, page);
    uint64_t header = tn_load(word);
    for (;;) {
        uint64_t after = tn_header_with_state(header, TN_HEAP_STATE_FULL);
        uint64_t seen = tn_compare_exchange(word, header, after);
        if (seen == header) break;
        header = seen;
    }
    tn_slab_change_state(heap, page, tn_header_with_state(header, TN_HEAP_STATE_FULL));
}

#endif
