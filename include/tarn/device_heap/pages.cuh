/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * device_heap/pages: hands out runs of 1 to 64 pages within a span, and runs of more pages in whole spans.
 *
 *     free span ── open ──> open span ── close, when its last page comes back ──> free span
 *
 * A wave takes a ticket at its cursor, which tells it what span to take pages of, and from where on; see cursor.cuh.
 *
 * Always true: a page is free when its bit in the word of an open span is set, or the bit of its free span; and
 * otherwise it is one slab's or run's, or in the hands of one wave that is about to say whose, or to put it back. Nothing
 * depends on tickets but how fast a wave finds a page that no other wave goes for.
 */
#ifndef TARN_DEVICE_HEAP_PAGES_CUH
#define TARN_DEVICE_HEAP_PAGES_CUH

#include "tarn/device_heap/cursor.cuh"
#include "tarn/device_heap/moves.cuh"

/* --- spans ------------------------------------------------------------------------------------------ */

/* How many are not free, and the most that were. */
TN_DEVICE void tn_spans_count(tn_heap heap, int32_t count)
{
    uint32_t used = tn_fetch_add(&tn_counters(heap)->spans_used, (uint32_t)count) + (uint32_t)count;
    if (count > 0 && (int32_t)used > 0) /* one may be counted as closed before it is as opened */
        tn_fetch_max(&tn_counters(heap)->spans_used_max, used);
}

/* A span whose pages are all free becomes a free span, unless somebody takes one of them before. */
TN_DEVICE bool tn_span_close(tn_heap heap, uint32_t span)
{
    tn_move_begin(heap);
    tn_fence();
    uint64_t seen = tn_compare_exchange(tn_span_pages(heap, span), ~(uint64_t)0, (uint64_t)0);
    if (seen == ~(uint64_t)0) {
        tn_tree_remove(tn_open_spans(heap), span);
        tn_spans_count(heap, -1);
        tn_fence(); /* or who takes it at once might count it as one more */
        tn_tree_insert(tn_free_spans(heap), span);
    }
    tn_move_end(heap);
    return seen == ~(uint64_t)0;
}

/* Makes pages of a span free that the caller has; the last one closes it. */
TN_DEVICE_SLOW void tn_span_put_pages(tn_heap heap, uint32_t span, uint64_t pages)
{
    uint64_t before = tn_fetch_or(tn_span_pages(heap, span), pages);
    if ((before | pages) == ~(uint64_t)0 && tn_span_close(heap, span)) return;
    if (before == 0) {
        tn_fence();
        tn_tree_insert(tn_open_spans(heap), span);
    }
}

/* The hint that a span is open goes away when it has no free page, and comes back if it was wrong. */
TN_DEVICE_SLOW void tn_span_is_used_up(tn_heap heap, uint32_t span)
{
    tn_tree_remove(tn_open_spans(heap), span);
    tn_fence();
    if (tn_look_again(tn_span_pages(heap, span)) != 0) tn_tree_insert(tn_open_spans(heap), span);
}

/* Where a run begins, the first from `from` on, or the first. */
TN_DEVICE uint32_t tn_run_choose(uint64_t starts, uint32_t from)
{
    uint64_t above = starts & ~tn_low_bits(from % TN_HEAP_SPAN_PAGES);
    return tn_first_one(above != 0 ? above : starts);
}

/* A run of pages of an open span, from page `from` on if there is one; TN_NO_PAGE when the span has none. `free` is
 * what the caller has seen to be free, or hopes. */
TN_DEVICE uint32_t tn_span_take_pages(tn_heap heap, uint32_t span, uint32_t count, uint32_t from, uint64_t free)
{
    uint64_t *word = tn_span_pages(heap, span);
    uint64_t starts;
    while ((starts = tn_run_starts(free, count)) != 0) {
        uint32_t first = tn_run_choose(starts, from);
        uint64_t run = tn_low_bits(count) << first;
        uint64_t before = tn_fetch_and(word, ~run);
        free = before & ~run;
        if ((before & run) == run) {
            if (free == 0) tn_span_is_used_up(heap, span);
            return span * TN_HEAP_SPAN_PAGES + first;
        }
        if ((before & run) != 0) tn_span_put_pages(heap, span, before & run);
    }
    return TN_NO_PAGE;
}

#define TN_SPANS_SPREAD 32 /* moves at once that go for spans of one word; as many more go for the next word, and so on */

/* Takes a free span, of the same 64 as `near` if one of those is free: the first one, or as many on as other
 * moves are under way, and of later ones where those are many. Who gets one has begun a move. TN_NO_NUMBER when there
 * is none. */
TN_DEVICE uint32_t tn_span_take_free(tn_heap heap, uint32_t near)
{
    tn_tree free = tn_free_spans(heap);
    uint32_t index = near / 64;
    uint64_t word = tn_load(&free.words[index]);
    if (word == 0) {
        index = tn_tree_first_word(free);
        if (index == TN_NO_NUMBER) return TN_NO_NUMBER; /* and no move is begun: others need not look again */
        word = tn_load(&free.words[index]);
    }
    uint32_t place = tn_move_begin(heap);
    uint32_t words_on = place / TN_SPANS_SPREAD;
    if (words_on > 0 && index + words_on < heap->span_shape.words[0]) {
        index += words_on;
        word = tn_load(&free.words[index]);
    }
    uint32_t span = tn_tree_take_of_word(free, index, word, place);
    if (span == TN_NO_NUMBER) span = tn_tree_take(free, place);
    if (span == TN_NO_NUMBER) tn_move_end(heap);
    return span;
}

/* Opens what a run of the caller's leaves of a free span: a run that begins at page `from`. Gives the run's page;
 * TN_NO_PAGE when there is no free span. */
TN_DEVICE uint32_t tn_span_open(tn_heap heap, uint32_t count, uint32_t from, uint32_t near)
{
    uint32_t span = tn_span_take_free(heap, near);
    if (span == TN_NO_NUMBER) return TN_NO_PAGE;
    uint64_t run = tn_low_bits(count) << from;
    if (~run != 0) tn_fetch_or(tn_span_pages(heap, span), ~run);
    return span * TN_HEAP_SPAN_PAGES + from;
}

/* What can wait until others can use the span. */
TN_DEVICE void tn_span_opened(tn_heap heap, uint32_t span)
{
    tn_tree_insert(tn_open_spans(heap), span);
    tn_move_end(heap);
    tn_spans_count(heap, 1);
}

/* --- runs within a span ----------------------------------------------------------------------------- */

/* Of an open span that the tree named; an old hint goes away. */
TN_DEVICE uint32_t tn_span_try(tn_heap heap, uint32_t span, uint32_t count)
{
    uint64_t free = tn_load(tn_span_pages(heap, span));
    uint32_t page = tn_span_take_pages(heap, span, count, 0, free);
    if (page == TN_NO_PAGE && tn_load(tn_span_pages(heap, span)) == 0) tn_span_is_used_up(heap, span);
    return page;
}

/* A run of any open span, in a free one that is opened for it, or nowhere. */
TN_DEVICE_SLOW uint32_t tn_pages_search(tn_heap heap, uint32_t count)
{
    tn_tree open = tn_open_spans(heap);
    uint32_t page = TN_NO_PAGE;
    for (uint32_t span = 0; page == TN_NO_PAGE && tn_tree_next(open, &span); span++)
        page = tn_span_try(heap, span, count);
    if (page != TN_NO_PAGE) return page;
    page = tn_span_open(heap, count, 0, 0);
    if (page == TN_NO_PAGE) return page;
    tn_fence_release(); /* the pages are free before anybody is told so, and finds that they are not */
    tn_span_opened(heap, page / TN_HEAP_SPAN_PAGES);
    return page;
}

/* Pages of the span that a segment of the last time round had, if half of it is free. */
TN_DEVICE uint32_t tn_segment_reuse(tn_heap heap, uint64_t *cursor, uint64_t segment, uint32_t count)
{
    uint32_t content = tn_segment_content(tn_load(tn_segment_entry(heap, cursor, segment)));
    if (content == TN_SEGMENT_EMPTY) return TN_NO_PAGE;
    uint64_t free = tn_load(tn_span_pages(heap, content - 1));
    if (tn_count_ones(free) < TN_HEAP_SPAN_PAGES / 2) return TN_NO_PAGE;
    return tn_span_take_pages(heap, content - 1, count, 0, free);
}

/* Gives a segment its span, and the caller pages of it: of one that it had before; of a free one, from its page `from`
 * on; else of any open one with room. */
TN_DEVICE uint32_t tn_segment_open(tn_heap heap, uint64_t *cursor, uint64_t segment, uint32_t count, uint32_t from)
{
    uint32_t near = (uint32_t)tn_load(&cursor[TN_HEAP_CURSOR_NEWEST]);
    uint32_t page = tn_segment_reuse(heap, cursor, segment, count);
    bool is_new = page == TN_NO_PAGE;
    if (is_new) page = tn_span_open(heap, count, from, near);
    is_new = is_new && page != TN_NO_PAGE;
    if (page == TN_NO_PAGE) page = tn_pages_search(heap, count);
    uint32_t span = page / TN_HEAP_SPAN_PAGES;
    tn_segment_publish(heap, cursor, segment, page != TN_NO_PAGE ? span + 1 : TN_SEGMENT_EMPTY);
    if (is_new) {
        tn_span_opened(heap, span);
        tn_store(&cursor[TN_HEAP_CURSOR_NEWEST], (uint64_t)span);
    }
    return page;
}

/* A whole span, which needs no cursor. */
TN_DEVICE uint32_t tn_pages_take_span(tn_heap heap)
{
    uint32_t span = tn_span_take_free(heap, 0);
    if (span == TN_NO_NUMBER) return TN_NO_PAGE;
    tn_move_end(heap);
    tn_spans_count(heap, 1);
    return span * TN_HEAP_SPAN_PAGES;
}

/* 1 to 64 pages in a row, within a span; TN_NO_PAGE when there are none. */
TN_DEVICE_SLOW uint32_t tn_pages_take(tn_heap heap, uint32_t count, uint32_t place)
{
    if (count == TN_HEAP_SPAN_PAGES) return tn_pages_take_span(heap);
    uint64_t *cursor = tn_cursor(heap, place);
    for (uint32_t pauses = TN_PLACE_PAUSES; pauses > 0;) {
        tn_ticket ticket = tn_ticket_take(cursor, count);
        if (tn_ticket_opens(ticket, count)) {
            bool is_whole = ticket.from == 0;
            uint64_t segment = is_whole ? ticket.segment : ticket.segment + 1;
            uint32_t from = is_whole ? 0 : TN_HEAP_SPAN_PAGES - count; /* where tickets come to last */
            uint32_t page = tn_segment_open(heap, cursor, segment, count, from);
            if (tn_was_in_loop()) return page;
        }
        uint32_t content = tn_segment_wait(heap, cursor, ticket.segment, &pauses);
        if (content == TN_SEGMENT_EMPTY) break;
        if (content == TN_SEGMENT_GONE && pauses > 0) continue;
        uint32_t page = TN_NO_PAGE;
        if (content != TN_SEGMENT_GONE)
            page = tn_span_take_pages(heap, content - 1, count, ticket.from, ~(uint64_t)0);
        if (page != TN_NO_PAGE) return page;
        tn_segment_skip(cursor, ticket.segment);
    }
    return tn_pages_search(heap, count);
}

TN_DEVICE void tn_pages_put(tn_heap heap, uint32_t page, uint32_t count)
{
    tn_span_put_pages(heap, page / TN_HEAP_SPAN_PAGES, tn_low_bits(count) << page % TN_HEAP_SPAN_PAGES);
}

#endif
