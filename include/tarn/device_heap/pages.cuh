/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * device_heap/pages: hands out runs of 1 to 64 pages within a span, and runs of more pages in whole spans.
 *
 * The word of a span says which of its pages are free, and one atomic operation on it takes some or gives some back. A
 * wave takes a ticket at a cursor, which tells it what word to go for; see cursor.cuh. Two trees of hints say what spans
 * have free pages, and what spans have all of theirs.
 *
 * Always true: a page is free when its bit in the word of its span is set; and otherwise it is one slab's or run's, or in
 * the hands of one wave that is about to say whose, or to put it back. Nothing depends on tickets but how fast a wave
 * finds a page that no other wave goes for.
 */
#ifndef TARN_DEVICE_HEAP_PAGES_CUH
#define TARN_DEVICE_HEAP_PAGES_CUH

#include "tarn/device_heap/cursor.cuh"
#include "tarn/device_heap/moves.cuh"

#define TN_SPAN_FREE (~(uint64_t)0)

/* --- hints ------------------------------------------------------------------------------------------ */

/* How many have pages that are not free: so many more. Gives how many that are. */
TN_DEVICE uint32_t tn_spans_count(tn_heap heap, int32_t count)
{
    return tn_fetch_add(&tn_counters(heap)->spans_used, (uint32_t)count) + (uint32_t)count;
}

/* The most that ever were; less than none may be for a moment. */
TN_DEVICE void tn_spans_note(tn_heap heap, uint32_t used)
{
    if ((int32_t)used > 0) tn_fetch_max(&tn_counters(heap)->spans_used_max, used);
}

/* Makes the tree of free spans say what the word of a span says, which was free or not when the caller changed it. A span
 * is counted as used as long as it is not in the tree: so none is counted before it was counted as free. */
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

/* The hint that a span has free pages goes away with the last one, and comes back if it was wrong. Others miss it meanwhile,
 * which is a move. */
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

/* Pages of a span are free now, besides those `before`: where it had none, or has all of them, the trees are told. */
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

/* Makes pages free that the caller has. */
TN_DEVICE_SLOW void tn_span_put_pages(tn_heap heap, uint32_t span, uint64_t pages)
{
    uint64_t before = tn_fetch_or(tn_span_pages(heap, span), pages);
    if (tn_span_has_to_tell(before, pages)) tn_span_tell(heap, span, before, pages);
}

/* Where a run begins, the first from `from` on, or the first. */
TN_DEVICE uint32_t tn_run_choose(uint64_t starts, uint32_t from)
{
    uint64_t above = starts & ~tn_low_bits(from % TN_HEAP_SPAN_PAGES);
    return tn_first_one(above != 0 ? above : starts);
}

/* After an "and" for a run of pages of a span: whether the caller has them. Where it got some of them, it puts them back. */
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

/* A run of pages of a span, from page `from` on if there is one; TN_NO_PAGE when the span has none. `free` is what the
 * caller has seen to be free, or hopes. */
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

/* Of a span that a tree named; an old hint goes away. */
TN_DEVICE uint32_t tn_span_try(tn_heap heap, uint32_t span, uint32_t count)
{
    uint64_t free = tn_load(tn_span_pages(heap, span));
    uint32_t page = tn_span_take_pages(heap, span, count, 0, free);
    if (page == TN_NO_PAGE && tn_load(tn_span_pages(heap, span)) == 0) tn_span_is_used_up(heap, span);
    return page;
}

/* --- free spans ------------------------------------------------------------------------------------- */

#define TN_SPANS_SPREAD 32 /* at once that go for spans of one word; as many more go for the next word, and so on */

/* Where somebody looks for a free span: in a word of their tree. */
struct tn_free_word {
    uint32_t index; /* TN_NO_NUMBER when there is none */
    uint64_t bits;
};

/* The first word with a free span. As level 1 says, and not level 2: old news there are put right without a move, and a bit
 * is missing meanwhile. */
TN_DEVICE tn_free_word tn_free_word_first(tn_heap heap)
{
    tn_tree free = tn_free_spans(heap);
    uint32_t index = tn_tree_next_word(free, 0);
    return { index, index != TN_NO_NUMBER ? tn_load(&free.words[index]) : 0 };
}

/* A later one, where there is one. */
TN_DEVICE tn_free_word tn_free_word_later(tn_heap heap, const tn_free_word &word, uint32_t words_on)
{
    if (words_on >= heap->span_shape.words[0] - word.index) return word;
    uint32_t index = word.index + words_on;
    return { index, tn_load(&tn_free_spans(heap).words[index]) };
}

/* A word of the tree has no free span, or had none: says so above. That may be wrong for a moment, which is a move. */
TN_DEVICE_SLOW void tn_free_word_is_empty(tn_heap heap, uint32_t index)
{
    tn_move_begin(heap);
    tn_fence();
    tn_tree_lower(tn_free_spans(heap), 1, index);
    tn_move_end(heap);
}

/* Takes bits out of a word of the tree. The caller has pages of those spans, so they do not become free meanwhile. */
TN_DEVICE void tn_free_word_drop(tn_heap heap, uint32_t index, uint64_t bits)
{
    uint64_t before = tn_fetch_and(&tn_free_spans(heap).words[index], ~bits);
    uint32_t dropped = tn_count_ones(before & bits);
    if (dropped > 0) tn_spans_note(heap, tn_spans_count(heap, (int32_t)dropped));
    if (dropped > 0 && (before & ~bits) == 0) tn_free_word_is_empty(heap, index);
}

/* Goes for a span of a word: for its bit in the tree, which nobody else gets then, and for the first of its pages. Where it
 * gets the bit alone, somebody else has pages, and puts the bit back who frees the last of them. */
TN_DEVICE bool tn_span_begin(tn_heap heap, uint32_t span, uint64_t rest, tn_free_word *word)
{
    uint64_t before = tn_fetch_and(&tn_free_spans(heap).words[span / 64], ~tn_bit(span));
    word->bits = before & ~tn_bit(span);
    if ((before & tn_bit(span)) == 0) return false;
    if (word->bits == 0) tn_free_word_is_empty(heap, span / 64);
    bool has_pages = tn_compare_exchange(tn_span_pages(heap, span), TN_SPAN_FREE, rest) == TN_SPAN_FREE;
    uint32_t used = tn_spans_count(heap, 1);
    /* Pages may have been used and freed since the bit went, which brought it back. */
    if (has_pages) tn_free_word_drop(heap, span / 64, tn_bit(span));
    tn_spans_note(heap, used);
    return has_pages;
}

/* The first pages of a free span, 1 to 64, which need no ticket; TN_NO_PAGE when there is none. Those who come at once go
 * for different spans. */
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
        if (word.bits == 0) { /* old news */
            tn_free_word_is_empty(heap, word.index);
            continue;
        }
        span = word.index * 64 + tn_spread_pick(word.bits, place);
        is_done = tn_span_begin(heap, span, rest, &word);
    }
    tn_fetch_add(takers, ~0U);
    if (word.index == TN_NO_NUMBER) return TN_NO_PAGE;
    /* All of it: nobody gives pages back meanwhile, and says that it has some. */
    if (rest == 0) tn_fetch_and(&tn_open_spans(heap).words[span / 64], ~tn_bit(span));
    return span * TN_HEAP_SPAN_PAGES;
}

/* --- all of it -------------------------------------------------------------------------------------- */

/* A run of any span, or nowhere. */
TN_DEVICE_SLOW uint32_t tn_pages_search(tn_heap heap, uint32_t count)
{
    tn_tree open = tn_open_spans(heap);
    uint32_t page = tn_pages_begin_span(heap, count);
    for (uint32_t span = 0; page == TN_NO_PAGE && tn_tree_next(open, &span, false); span++)
        page = tn_span_try(heap, span, count);
    return page;
}

#define TN_TICKETS_MAX 4 /* until a wave looks for pages by itself */
#define TN_PAGES_FEW   8 /* who wants more, and cannot have what its ticket is for, begins a span */

/* A span had not what a ticket was for: its cursor goes on to the next one that has pages, or returns. False when there are
 * none at all. */
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

/* Goes for a run of pages from one on, where there is such a page. Gives those of its span that were free. */
TN_DEVICE uint64_t tn_pages_try(tn_heap heap, uint64_t page, uint64_t run, uint32_t span_end)
{
    uint64_t span = page / TN_HEAP_SPAN_PAGES;
    return span < span_end ? tn_fetch_and(tn_span_pages(heap, (uint32_t)span), ~run) : (uint64_t)0;
}

/* What a wave has got that went for the pages of its ticket. */
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

/* The first of them, where the wave has them and has nothing else to do, as most have; else TN_NO_PAGE. */
TN_DEVICE uint32_t tn_pages_looked_at(tn_heap heap, uint32_t count, const tn_pages_look &look)
{
    uint64_t page = tn_ticket_page(heap, look.ticket, count);
    uint64_t run = tn_low_bits(count) << page % TN_HEAP_SPAN_PAGES;
    bool has_all = (look.before & run) == run;
    bool has_more_to_do = look.before == run || look.before == TN_SPAN_FREE || tn_ticket_is_first(look.ticket, count);
    return has_all && !has_more_to_do ? (uint32_t)page : TN_NO_PAGE;
}

/* 1 to 8 pages in a row, for a wave that has looked for those of a ticket: those, or others of the span, or those of
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

/* 1 to 8 pages in a row, within a span; TN_NO_PAGE when there are none. */
TN_DEVICE uint32_t tn_pages_take_few(tn_heap heap, uint32_t count, uint32_t cursor_number)
{
    tn_pages_look look = tn_pages_look_for(heap, count, cursor_number);
    uint32_t page = tn_pages_looked_at(heap, count, look);
    return page != TN_NO_PAGE ? page : tn_pages_take_on(heap, count, look);
}

/* 9 to 32. Who wants so many does not go on with the cursor, and may be the only one who comes to its end. */
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

/* 1 to 64 of them. */
TN_DEVICE_SLOW uint32_t tn_pages_take(tn_heap heap, uint32_t count, uint32_t place)
{
    uint32_t cursor_number = place & (heap->cursor_count - 1);
    if (count == TN_HEAP_SPAN_PAGES) return tn_pages_begin_span(heap, count);
    if (count > TN_CURSOR_PART_PAGES) return tn_pages_search(heap, count);
    if (count > TN_PAGES_FEW) return tn_pages_take_part(heap, count, cursor_number);
    return tn_pages_take_few(heap, count, cursor_number);
}

/* The bits of 1 to 64 of them in the word of their span. */
TN_DEVICE uint64_t tn_pages_of_span(uint32_t page, uint32_t count)
{
    return tn_low_bits(count) << page % TN_HEAP_SPAN_PAGES;
}

/* Makes 1 to 64 of them free that the caller has. Gives those of their span that were before: the caller tells the trees. */
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
