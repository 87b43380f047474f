/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * device_heap/slab: a run of pages cut into objects of one class, and the header that counts its free objects.
 *
 *              create                              credits are used up, and its slot gets another
 *     idle ──────────────> current ─────────────────────────────────────────────> full
 *      ^                      ^                                                     |  some are free
 *      |                      | taken for a slot                                    v
 *      └── all are free ── good <────────────── a quarter is free ────────────── sparse
 *
 * All of it is one word, changed by additions (credits) and by compare and exchange (the state, with the credits
 * as they were). Whose addition makes a change of state due makes the change, and no one else: so where many free at
 * once, one of them does. A full slab may become idle, too: by an addition that makes it wholly free, or, where a wave frees
 * all of it, by a compare and exchange alone. To give back credits that were taken in excess is such an addition, too. Credits may be
 * below zero for a moment: a wave that took from a used up slab, or that looked at a slot which held the slab in an
 * earlier life, and is about to give back.
 *
 * The state is good or sparse: the slab is in its tree, or is about to be, or was just taken out by a wave which
 * will see the state. A slab in a tree whose state is another is an old hint, and who takes it drops it.
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

/* Whether it is the header of a slab of that class in that state. */
TN_DEVICE bool tn_header_is(uint64_t header, uint32_t size_class, uint32_t state)
{
    return tn_header_class(header) == size_class + 1 && tn_header_state(header) == state;
}

/* --- changes of state ------------------------------------------------------------------------------- */

/* The state that a slab with this header should have. */
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

/* A slab is no longer in the state that this tree is for. It may be again, or a later slab on this page: then what took
 * it there is not to be undone. */
TN_DEVICE void tn_slab_leave_tree(tn_heap heap, uint32_t page, uint32_t size_class, uint32_t state)
{
    tn_tree tree = tn_class_tree(heap, size_class, state);
    tn_tree_remove(tree, page);
    tn_fence();
    if (tn_header_is(tn_look_again(tn_header(heap, page)), size_class, state)) tn_tree_insert(tree, page);
}

/* A slab has come to a state. Who made the next change may have been faster, and found nothing to take out: that would
 * leave an old hint, one for each slab where all objects are freed at once. */
TN_DEVICE void tn_slab_enter_tree(tn_heap heap, uint32_t page, uint32_t size_class, uint32_t state)
{
    tn_tree_insert(tn_class_tree(heap, size_class, state), page);
    tn_fence();
    if (!tn_header_is(tn_look_again(tn_header(heap, page)), size_class, state)) tn_slab_leave_tree(heap, page, size_class, state);
}

/* After a slab's pages became free, besides those `before` of their span: tells the trees that have to be told; of spans first,
 * since nobody finds the pages before. */
TN_DEVICE_SLOW void tn_slab_tell(tn_heap heap, uint32_t page, uint64_t header, uint64_t before, bool was_last)
{
    tn_tree tree = tn_class_tree(heap, tn_header_class(header) - 1, tn_header_state(header));
    tn_span_tell(heap, page / TN_HEAP_SPAN_PAGES, before, tn_pages_of_span(page, tn_header_pages(header)));
    if (was_last) tn_tree_lower(tree, 1, page / 64);
}

/* Pages that were a slab with this header, wholly free, are free pages. Nobody makes a slab of them before that: so nobody
 * rightly has it in a tree again. For functions out of line; most often this calls nothing. */
TN_DEVICE void tn_slab_retire(tn_heap heap, uint32_t page, uint64_t header)
{
    uint32_t state = tn_header_state(header), count = tn_header_pages(header);
    bool was_last = state != TN_HEAP_STATE_FULL &&
                    tn_tree_drop(tn_class_tree(heap, tn_header_class(header) - 1, state), page);
    tn_pages_label(heap, page, count, 0);
    tn_fence_release(); /* or it might undo what the next owner of the pages does there */
    uint64_t before = tn_pages_put_untold(heap, page, count);
    if (was_last || tn_span_has_to_tell(before, tn_pages_of_span(page, count)))
        tn_slab_tell(heap, page, header, before, was_last);
}

/* Makes the change of state that is due, if one is. */
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

/* Says that a slab of a class is in a slot and wholly free, for who finds no memory. Nobody waits for the answer. */
TN_DEVICE void tn_class_note_idle(tn_heap heap, uint32_t size_class)
{
    tn_fetch_or(&tn_counters(heap)->idle_classes, tn_bit(size_class));
}

/* After an addition of the caller's to the credits. Where the state that was due before it is due still, the change to that
 * is somebody else's, or nobody's because it is the state. */
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

/* All of a slab at once, which most often is in no slot: then a compare and exchange will do. */
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

/* What a wave holds of a slab: so many of its bits are the wave's to find. It goes from function to function by value,
 * in registers. */
struct tn_hold {
    uint32_t page;    /* the slab's first */
    uint32_t credits; /* 0: it holds nothing */
    uint32_t capacity;
    uint32_t next; /* object to try first, or one of those below */
};

#define TN_NEXT_LIVE  0xFFFFFFFFU /* of a slab that the wave has made: its objects are the first ones, and their bits are set */
#define TN_NEXT_WAITS 0xFFFFFFFEU /* it holds nothing yet: another wave is at work on its slot, or was */

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

/* What `taken` credits of so many were; if nothing was ever freed, the objects lie where the credits say. */
TN_DEVICE tn_hold tn_hold_of(uint32_t page, uint32_t taken, uint32_t capacity, int32_t credits)
{
    return { page, taken, capacity, capacity - (uint32_t)credits };
}

TN_DEVICE uint32_t tn_credits_of(int32_t credits, uint32_t wanted)
{
    if (credits <= 0) return 0;
    return wanted < (uint32_t)credits ? wanted : (uint32_t)credits;
}

/* Up to `wanted` credits; none when the slab has none, or is not of the class. */
TN_DEVICE tn_hold tn_slab_take(tn_heap heap, uint32_t page, uint32_t size_class, uint32_t wanted)
{
    uint64_t before = tn_fetch_add(tn_header(heap, page), -(wanted * TN_CREDIT));
    int32_t credits = tn_header_credits(before);
    uint32_t taken = tn_header_class(before) == size_class + 1 ? tn_credits_of(credits, wanted) : 0;
    if (taken < wanted) tn_slab_give(heap, page, wanted - taken);
    return tn_hold_of(page, taken, tn_header_capacity(before), credits);
}

/* --- from pages to slabs, from trees to slots, and back ---------------------------------------------- */

/* The header and the bits of a slab of which the caller has all objects. Nobody else can take of it, and no state is due: so
 * no answer is waited for. */
TN_DEVICE void tn_slab_begin_used_up(tn_heap heap, uint32_t page, uint64_t header)
{
    uint32_t capacity = tn_header_capacity(header);
    /* or a tree might be told after a free that nothing is free */
    if (tn_header_pages(header) == TN_HEAP_SPAN_PAGES) tn_fence_release();
    tn_fetch_add(tn_header(heap, page), header);
    tn_fetch_or(tn_bitmap(heap, page, capacity), tn_low_bits(capacity)); /* one word: a wave has 64 lanes at most */
}

/* Makes pages a slab of which the caller has all objects, in no slot. */
TN_DEVICE void tn_slab_make_full(tn_heap heap, uint32_t page, uint32_t pages, uint32_t size_class, uint32_t capacity)
{
    tn_pages_label(heap, page, pages, tn_label_make(page, size_class, capacity));
    tn_slab_begin_used_up(heap, page, tn_header_make(size_class, TN_HEAP_STATE_FULL, pages, capacity, 0));
}

/* Makes pages a slab, of which `wanted` credits are the caller's. The objects' bits are 0: all came back. */
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
    tn_fence_release(); /* or who takes of it would get the same objects; and who frees takes the labels */
    uint64_t before = tn_fetch_add(tn_header(heap, page), header);
    if (state == TN_HEAP_STATE_FULL) tn_slab_change_state(heap, page, before + header);
    return hold;
}

/* A slab of pages that were free, if there are so many in a row. */
TN_DEVICE_SLOW tn_hold tn_slab_create(tn_heap heap, uint32_t size_class, uint32_t pages, uint32_t state,
                                      uint32_t wanted, uint32_t place)
{
    uint32_t page = tn_pages_take(heap, pages, place);
    if (page == TN_NO_PAGE) return tn_hold_nothing();
    return tn_slab_make(heap, page, pages, size_class, state, wanted);
}

/* Makes a slab that was just taken out of a tree current, if it still is what the tree said and has credits, and takes
 * up to `wanted`. */
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

/* A slab out of a tree, made current; no page when there is none. */
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

/* A current slab leaves its slot. */
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
