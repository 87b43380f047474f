/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * device_heap/pages: allocates runs of 1 to 64 pages within a span, and longer runs in whole spans.
 *
 * The word of a span says which of its pages are free; one atomic operation on it takes or returns pages. A
 * ticket from a cursor tells a wave which word to try; see cursor.cuh. Two trees of hints say which spans
 * have free pages, and which spans are wholly free.
 *
 * Always true: a page is free if its bit in the span's word is set. Otherwise it belongs to one slab or run,
 * or to one wave that is about to say which, or to put it back. Correctness does not depend on tickets: they
 * only decide how fast a wave finds pages that no other wave tries.
 */
#ifndef TARN_DEVICE_HEAP_PAGES_CUH
#define TARN_DEVICE_HEAP_PAGES_CUH

#include "tarn/device_heap/cursor.cuh"
#include "tarn/device_heap/moves.cuh"

#define TN_SPAN_FREE (~(uint64_t)0)

/* --- hints ------------------------------------------------------------------------------------------ */

/* Adds to the count of spans with pages in use. Returns the new count. */
TN_DEVICE uint32_t tn_spans_count(tn_heap heap, int32_t count)
{
    return tn_fetch_add(&tn_counters(heap)->spans_used, (uint32_t)count) + (uint32_t)count;
}

/* Raises the high-water mark. The count may be negative for a moment. */
TN_DEVICE void tn_spans_note(tn_heap heap, uint32_t used)
{
    if ((int32_t)used > 0) tn_fetch_max(&tn_counters(heap)->spans_used_max, used);
}

/* Makes the tree of free spans agree with a span's word. is_free: whether the caller's change left the span
 * free. A span counts as used as long as it is not in the tree, so none is counted as used before it was
 * counted as free. */
TN_DEVICE_SLOW void tn_span_tell_free(tn_heap heap, uint32_t span, bool is_free)
{
    tn_tree free = tn_free_spans(heap);
    tn_move_begin(heap);
    for (bool is_told = false; !is_told;) {
        if (is_free) tn_spans_count(heap, -1);
        tn_fence();
        bool has_changed = is_free ? tn_tree_insert(free, span) : tn_tree_remove(free, span);
        if (has_changed != is_free) tn_spans_note(heap, tn_spans_count(heap, 1));
        tn_fence();
        bool was_free = is_free;
        is_free = tn_look_again(tn_span_pages(heap, span)) == TN_SPAN_FREE;
        is_told = is_free == was_free;
    }
    tn_move_end(heap);
}

/* Removes the hint that a span has free pages, after its last page went, and restores it if that was wrong.
 * Other waves miss the span meanwhile, so this is a move. */
TN_DEVICE_SLOW void tn_span_is_used_up(tn_heap heap, uint32_t span)
{
    tn_move_begin(heap);
    tn_fence();
    tn_tree_remove(tn_open_spans(heap), span);
    tn_fence();
    if (tn_look_again(tn_span_pages(heap, span)) != 0) tn_tree_insert(tn_open_spans(heap), span);
    tn_move_end(heap);
}

/* --- pages of one span ------------------------------------------------------------------------------ */

/* Tells the trees that pages of a span became free, if it had none `before`, or has all of them now. */
TN_DEVICE_SLOW void tn_span_tell(tn_heap heap, uint32_t span, uint64_t before, uint64_t pages)
{
    if (before == 0) {
        tn_fence();
        tn_tree_insert(tn_open_spans(heap), span);
    }
    if ((before | pages) == TN_SPAN_FREE) tn_span_tell_free(heap, span, true);
}

TN_DEVICE bool tn_span_has_to_tell(uint64_t before, uint64_t pages)
{
    return before == 0 || (before | pages) == TN_SPAN_FREE;
}

/* Frees pages that the caller owns. */
TN_DEVICE_SLOW void tn_span_put_pages(tn_heap heap, uint32_t span, uint64_t pages)
{
    uint64_t before = tn_fetch_or(tn_span_pages(heap, span), pages);
    if (tn_span_has_to_tell(before, pages)) tn_span_tell(heap, span, before, pages);
}

/* Returns where a run begins: the first one from `from` on, or else the first. */
TN_DEVICE uint32_t tn_run_choose(uint64_t starts, uint32_t from)
{
    uint64_t above = starts & ~tn_low_bits(from % TN_HEAP_SPAN_PAGES);
    return tn_first_one(above != 0 ? above : starts);
}

/* Returns whether an "and" for a run of a span's pages got all of them. Puts a part back. */
TN_DEVICE bool tn_span_took_run(tn_heap heap, uint32_t span, uint64_t run, uint64_t before)
{
    if ((before & run) != run) {
        if ((before & run) != 0) tn_span_put_pages(heap, span, before & run);
        return false;
    }
    if (before == TN_SPAN_FREE) tn_span_tell_free(heap, span, false);
    if (before == run) tn_span_is_used_up(heap, span);
    return true;
}

/* Takes a run of a span's pages, from page `from` on if possible. `free`: the pages that the caller has seen
 * free, or hopes for. TN_NO_PAGE: the span has no such run. */
TN_DEVICE uint32_t tn_span_take_pages(tn_heap heap, uint32_t span, uint32_t count, uint32_t from, uint64_t free)
{
    uint64_t starts;
    while ((starts = tn_run_starts(free, count)) != 0) {
        uint32_t first = tn_run_choose(starts, from);
        uint64_t run = tn_low_bits(count) << first;
        uint64_t before = tn_fetch_and(tn_span_pages(heap, span), ~run);
        if (tn_span_took_run(heap, span, run, before)) return span * TN_HEAP_SPAN_PAGES + first;
        free = before & ~run;
    }
    return TN_NO_PAGE;
}

/* Takes a run of a span that a tree named. Removes an outdated hint. */
TN_DEVICE uint32_t tn_span_try(tn_heap heap, uint32_t span, uint32_t count)
{
    uint64_t free = tn_load(tn_span_pages(heap, span));
    uint32_t page = tn_span_take_pages(heap, span, count, 0, free);
    if (page == TN_NO_PAGE && tn_load(tn_span_pages(heap, span)) == 0) tn_span_is_used_up(heap, span);
    return page;
}

/* --- free spans ------------------------------------------------------------------------------------- */

#define TN_SPANS_SPREAD 32 /* waves that try spans of the same word; as many more try the next word, and so on */

/* A word of the tree of free spans, where a wave looks. */
struct tn_free_word {
    uint32_t index; /* TN_NO_NUMBER: there is none */
    uint64_t bits;
};

/* Returns the first word with a free span, by level 1. Outdated hints on level 2 are corrected without a
 * move, and a bit may be missing meanwhile. */
TN_DEVICE tn_free_word tn_free_word_first(tn_heap heap)
{
    tn_tree free = tn_free_spans(heap);
    uint32_t index = tn_tree_next_word(free, 0);
    return { index, index != TN_NO_NUMBER ? tn_load(&free.words[index]) : 0 };
}

/* Returns a later word, if there is one. */
TN_DEVICE tn_free_word tn_free_word_later(tn_heap heap, const tn_free_word &word, uint32_t words_on)
{
    if (words_on >= heap->span_shape.words[0] - word.index) return word;
    uint32_t index = word.index + words_on;
    return { index, tn_load(&tn_free_spans(heap).words[index]) };
}

/* Clears the bit above a word of the tree that has, or had, no free span. That may be wrong for a moment, so
 * it is a move. */
TN_DEVICE_SLOW void tn_free_word_is_empty(tn_heap heap, uint32_t index)
{
    tn_move_begin(heap);
    tn_fence();
    tn_tree_lower(tn_free_spans(heap), 1, index);
    tn_move_end(heap);
}

/* Clears bits of a word of the tree. Requires: the caller owns pages of these spans, so that they do not
 * become free meanwhile. */
TN_DEVICE void tn_free_word_drop(tn_heap heap, uint32_t index, uint64_t bits)
{
    uint64_t before = tn_fetch_and(&tn_free_spans(heap).words[index], ~bits);
    uint32_t dropped = tn_count_ones(before & bits);
    if (dropped > 0) tn_spans_note(heap, tn_spans_count(heap, (int32_t)dropped));
    if (dropped > 0 && (before & ~bits) == 0) tn_free_word_is_empty(heap, index);
}

/* Tries to take a span: its bit in the tree, which no other wave gets then, and its first pages. If it gets
 * the bit alone, another wave has pages of the span. The free of the last of those pages restores the bit. */
TN_DEVICE bool tn_span_begin(tn_heap heap, uint32_t span, uint64_t rest, tn_free_word *word)
{
    uint64_t before = tn_fetch_and(&tn_free_spans(heap).words[span / 64], ~tn_bit(span));
    word->bits = before & ~tn_bit(span);
    if ((before & tn_bit(span)) == 0) return false;
    if (word->bits == 0) tn_free_word_is_empty(heap, span / 64);
    bool has_pages = tn_compare_exchange(tn_span_pages(heap, span), TN_SPAN_FREE, rest) == TN_SPAN_FREE;
    uint32_t used = tn_spans_count(heap, 1);
    /* The span's pages may have been used and freed meanwhile, which has restored the bit. */
    if (has_pages) tn_free_word_drop(heap, span / 64, tn_bit(span));
    tn_spans_note(heap, used);
    return has_pages;
}

/* Takes the first pages of a free span, 1 to 64, without a ticket. Concurrent waves try different spans.
 * TN_NO_PAGE: there is none. */
TN_DEVICE_SLOW uint32_t tn_pages_begin_span(tn_heap heap, uint32_t count)
{
    uint64_t rest = ~tn_low_bits(count);
    uint32_t *takers = &tn_counters(heap)->span_takers;
    tn_free_word word = { 0, tn_load(tn_free_spans(heap).words) };
    uint32_t place = tn_fetch_add(takers, 1U);
    uint32_t span = TN_NO_NUMBER;
    if (word.bits == 0) word = tn_free_word_first(heap);
    if (place >= TN_SPANS_SPREAD && word.bits != 0) word = tn_free_word_later(heap, word, place / TN_SPANS_SPREAD);
    for (bool is_done = false; !is_done;) {
        if (word.bits == 0) word = tn_free_word_first(heap);
        if (word.index == TN_NO_NUMBER) break;
        if (word.bits == 0) { /* outdated */
            tn_free_word_is_empty(heap, word.index);
            continue;
        }
        span = word.index * 64 + tn_spread_pick(word.bits, place);
        is_done = tn_span_begin(heap, span, rest, &word);
    }
    tn_fetch_add(takers, ~0U);
    if (word.index == TN_NO_NUMBER) return TN_NO_PAGE;
    /* All pages are taken, so no wave frees one and marks the span open meanwhile. */
    if (rest == 0) tn_fetch_and(&tn_open_spans(heap).words[span / 64], ~tn_bit(span));
    return span * TN_HEAP_SPAN_PAGES;
}

/* --- all of it -------------------------------------------------------------------------------------- */

/* Takes a run from any span. TN_NO_PAGE: there is none. */
TN_DEVICE_SLOW uint32_t tn_pages_search(tn_heap heap, uint32_t count)
{
    tn_tree open = tn_open_spans(heap);
    uint32_t page = tn_pages_begin_span(heap, count);
    for (uint32_t span = 0; page == TN_NO_PAGE && tn_tree_next(open, &span, false); span++)
        page = tn_span_try(heap, span, count);
    return page;
}

#define TN_TICKETS_MAX 4 /* until a wave searches for pages itself */
#define TN_PAGES_FEW   8 /* for more pages, a wave whose ticket fails begins a span */

/* Advances the cursor when a ticket's span lacks the pages: to the next span with free pages, or back to the
 * start. False: there are none at all. */
TN_DEVICE_SLOW bool tn_cursor_go_on(tn_heap heap, uint32_t cursor_number, uint64_t returns, uint32_t span)
{
    tn_ticket ticket = { returns, 0, cursor_number };
    tn_tree open = tn_open_spans(heap);
    uint32_t next = span + 1;
    if (tn_tree_next(open, &next, true)) {
        tn_cursor_skip(heap, ticket, next);
        return true;
    }
    next = 0;
    if (!tn_tree_next(open, &next, false)) return false;
    tn_cursor_return(heap, cursor_number, returns);
    return true;
}

/* Tries to take a run from `page` on, if that page exists. Returns the pages of its span that were free. */
TN_DEVICE uint64_t tn_pages_try(tn_heap heap, uint64_t page, uint64_t run, uint32_t span_end)
{
    uint64_t span = page / TN_HEAP_SPAN_PAGES;
    return span < span_end ? tn_fetch_and(tn_span_pages(heap, (uint32_t)span), ~run) : (uint64_t)0;
}

/* The result of a wave's first try, for the pages of its ticket. */
struct tn_pages_look {
    tn_ticket ticket;
    uint64_t before; /* pages of their span that were free */
};

TN_DEVICE tn_pages_look tn_pages_look_for(tn_heap heap, uint32_t count, uint32_t cursor_number)
{
    tn_ticket ticket = tn_ticket_take(heap, cursor_number, count);
    uint64_t page = tn_ticket_page(heap, ticket, count);
    uint64_t run = tn_low_bits(count) << page % TN_HEAP_SPAN_PAGES;
    return { ticket, tn_pages_try(heap, page, run, tn_control(heap)->span_end) };
}

/* Returns the first page if the wave owns the run and has nothing else to do, as in most cases; else
 * TN_NO_PAGE. */
TN_DEVICE uint32_t tn_pages_looked_at(tn_heap heap, uint32_t count, const tn_pages_look &look)
{
    uint64_t page = tn_ticket_page(heap, look.ticket, count);
    uint64_t run = tn_low_bits(count) << page % TN_HEAP_SPAN_PAGES;
    bool has_all = (look.before & run) == run;
    bool has_more_to_do = look.before == run || look.before == TN_SPAN_FREE || tn_ticket_is_first(look.ticket, count);
    return has_all && !has_more_to_do ? (uint32_t)page : TN_NO_PAGE;
}

/* Continues after such a try for 1 to 8 contiguous pages: takes those, or others of the span, or those of
 * further tickets. */
TN_DEVICE_SLOW uint32_t tn_pages_take_on(tn_heap heap, uint32_t count, tn_pages_look look)
{
    uint32_t span_end = tn_control(heap)->span_end;
    for (uint32_t i = 1;; i++) {
        uint64_t wanted = tn_ticket_page(heap, look.ticket, count);
        uint64_t span = wanted / TN_HEAP_SPAN_PAGES;
        uint32_t from = (uint32_t)wanted % TN_HEAP_SPAN_PAGES;
        uint64_t run = tn_low_bits(count) << from;
        uint32_t page = TN_NO_PAGE;
        if (span >= span_end)
            span = span_end;
        else if (tn_span_took_run(heap, (uint32_t)span, run, look.before))
            page = (uint32_t)wanted;
        else
            page = tn_span_take_pages(heap, (uint32_t)span, count, from, look.before & ~run);
        if (page != TN_NO_PAGE) {
            if (tn_ticket_is_first(look.ticket, count)) tn_cursors_look_back(heap, look.ticket.number);
            return page;
        }
        if (!tn_cursor_go_on(heap, look.ticket.cursor_number, look.ticket.returns, (uint32_t)span)) return TN_NO_PAGE;
        if (i == TN_TICKETS_MAX) return tn_pages_search(heap, count);
        look = tn_pages_look_for(heap, count, look.ticket.cursor_number);
    }
}

/* Takes 1 to 8 contiguous pages within a span. TN_NO_PAGE: there are none. */
TN_DEVICE uint32_t tn_pages_take_few(tn_heap heap, uint32_t count, uint32_t cursor_number)
{
    tn_pages_look look = tn_pages_look_for(heap, count, cursor_number);
    uint32_t page = tn_pages_looked_at(heap, count, look);
    return page != TN_NO_PAGE ? page : tn_pages_take_on(heap, count, look);
}

/* Takes 9 to 32 pages. A wave that wants that many does not skip spans, and may be the only one to reach the
 * cursor's end. */
TN_DEVICE uint32_t tn_pages_take_part(tn_heap heap, uint32_t count, uint32_t cursor_number)
{
    tn_ticket ticket = tn_ticket_take(heap, cursor_number, count);
    uint64_t wanted = tn_ticket_page(heap, ticket, count);
    uint64_t span = wanted / TN_HEAP_SPAN_PAGES;
    uint32_t page = TN_NO_PAGE;
    if (span >= tn_control(heap)->span_end)
        tn_cursor_return(heap, cursor_number, ticket.returns);
    else if (!tn_ticket_crosses(ticket, count))
        page = tn_span_take_pages(heap, (uint32_t)span, count, (uint32_t)wanted % TN_HEAP_SPAN_PAGES, TN_SPAN_FREE);
    if (page == TN_NO_PAGE) return tn_pages_search(heap, count);
    if (tn_ticket_is_first(ticket, count)) tn_cursors_look_back(heap, ticket.number);
    return page;
}

/* Takes 1 to 64 contiguous pages. */
TN_DEVICE_SLOW uint32_t tn_pages_take(tn_heap heap, uint32_t count, uint32_t place)
{
    uint32_t cursor_number = place & (heap->cursor_count - 1);
    if (count == TN_HEAP_SPAN_PAGES) return tn_pages_begin_span(heap, count);
    if (count > TN_CURSOR_PART_PAGES) return tn_pages_search(heap, count);
    if (count > TN_PAGES_FEW) return tn_pages_take_part(heap, count, cursor_number);
    return tn_pages_take_few(heap, count, cursor_number);
}

/* Returns the bits of 1 to 64 contiguous pages in the word of their span. */
TN_DEVICE uint64_t tn_pages_of_span(uint32_t page, uint32_t count)
{
    return tn_low_bits(count) << page % TN_HEAP_SPAN_PAGES;
}

/* Frees 1 to 64 pages that the caller owns. Returns the pages of their span that were free before. The caller
 * must tell the trees. */
TN_DEVICE uint64_t tn_pages_put_untold(tn_heap heap, uint32_t page, uint32_t count)
{
    uint32_t span = page / TN_HEAP_SPAN_PAGES;
    tn_cursors_note_freed(heap, span, count);
    return tn_fetch_or(tn_span_pages(heap, span), tn_pages_of_span(page, count));
}

TN_DEVICE void tn_pages_put(tn_heap heap, uint32_t page, uint32_t count)
{
    uint64_t before = tn_pages_put_untold(heap, page, count);
    tn_span_tell(heap, page / TN_HEAP_SPAN_PAGES, before, tn_pages_of_span(page, count));
}

#endif
