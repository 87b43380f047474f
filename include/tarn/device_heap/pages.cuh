/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * device_heap/pages: hands out runs of 1 to 64 pages within a span, and runs of more pages in whole spans.
 *
 *     free span ── open ──> open span ── close, when its last page comes back ──> free span
 *
 * A wave takes pages of the open span that its cursor holds, and one of the waves that find no room there gives the
 * cursor another.
 *
 * Always true: a page is free when its bit in the word of an open span is set, or the bit of its free span; and
 * otherwise it is one slab's or run's, or in the hands of one wave that is about to say whose.
 */
#ifndef TARN_DEVICE_HEAP_PAGES_CUH
#define TARN_DEVICE_HEAP_PAGES_CUH

#include "tarn/device_heap/heap.cuh"
#include "tarn/device_heap/place.cuh"

/* --- spans ------------------------------------------------------------------------------------------ */

/* How many are not free, and the most that were. */
TN_DEVICE void tn_spans_count(tn_heap heap, int32_t count)
{
    uint32_t used = tn_fetch_add(&tn_counters(heap)->spans_used, (uint32_t)count) + (uint32_t)count;
    if (count > 0 && (int32_t)used > 0) /* one may be counted as closed before it is as opened */
        tn_fetch_max(&tn_counters(heap)->spans_used_max, used);
}

/* Makes pages of a span free that the caller has; the last one closes it. */
TN_DEVICE_SLOW void tn_span_put_pages(tn_heap heap, uint32_t span, uint64_t pages)
{
    uint64_t *word = tn_span_pages(heap, span);
    uint64_t before = tn_fetch_or(word, pages);
    if ((before | pages) == ~(uint64_t)0 && tn_compare_exchange(word, ~(uint64_t)0, (uint64_t)0) == ~(uint64_t)0) {
        tn_tree_remove(tn_open_spans(heap), span);
        tn_tree_insert(tn_free_spans(heap), span);
        tn_spans_count(heap, -1);
    } else if (before == 0) {
        tn_fence();
        tn_tree_insert(tn_open_spans(heap), span);
    }
}

/* The hint that a span is open goes away when it has no free page, and comes back if it was wrong. */
TN_DEVICE_SLOW void tn_span_is_used_up(tn_heap heap, uint32_t span)
{
    tn_tree_remove(tn_open_spans(heap), span);
    tn_fence();
    if (tn_load(tn_span_pages(heap, span)) != 0) tn_tree_insert(tn_open_spans(heap), span);
}

/* Where a run begins, the first from `from` on, or the first. */
TN_DEVICE uint32_t tn_run_choose(uint64_t starts, uint32_t from)
{
    uint64_t above = starts & ~tn_low_bits(from % TN_HEAP_SPAN_PAGES);
    return tn_first_one(above != 0 ? above : starts);
}

/* A run of pages of an open span, from page `from` on if there is one; false when the span has none. */
TN_DEVICE_SLOW bool tn_span_take_pages(tn_heap heap, uint32_t span, uint32_t count, uint32_t from,
                                       uint32_t *page_out)
{
    uint64_t *word = tn_span_pages(heap, span);
    uint64_t free = tn_load(word);
    uint64_t starts;
    while ((starts = tn_run_starts(free, count)) != 0) {
        uint32_t first = tn_run_choose(starts, from);
        uint64_t run = tn_low_bits(count) << first;
        uint64_t before = tn_fetch_and(word, ~run);
        free = before & ~run;
        if ((before & run) == run) {
            if (free == 0) tn_span_is_used_up(heap, span);
            *page_out = span * TN_HEAP_SPAN_PAGES + first;
            return true;
        }
        if ((before & run) != 0) tn_span_put_pages(heap, span, before & run);
    }
    return false;
}

/* Takes a free span, of the same 64 as `wanted` if one of those is free, and opens what the run leaves of it. */
TN_DEVICE bool tn_span_open(tn_heap heap, uint32_t count, uint32_t wanted, uint32_t place, uint32_t *page_out)
{
    tn_tree free = tn_free_spans(heap);
    uint32_t span;
    bool is_taken = wanted / 64 < heap->span_shape.words[0] &&
                    tn_tree_take_of_word(free, wanted / 64, wanted, place, &span);
    if (!is_taken && !tn_tree_take(free, place, &span)) return false;
    if (count < TN_HEAP_SPAN_PAGES) tn_fetch_or(tn_span_pages(heap, span), ~tn_low_bits(count));
    *page_out = span * TN_HEAP_SPAN_PAGES;
    return true;
}

/* What can wait until others can use the span. */
TN_DEVICE void tn_span_opened(tn_heap heap, uint32_t span)
{
    tn_tree_insert(tn_open_spans(heap), span);
    tn_spans_count(heap, 1);
}

/* --- runs within a span ----------------------------------------------------------------------------- */

/* Of an open span that the tree named; an old hint goes away. */
TN_DEVICE bool tn_span_try(tn_heap heap, uint32_t span, uint32_t count, uint32_t *page_out)
{
    if (tn_span_take_pages(heap, span, count, 0, page_out)) return true;
    if (tn_load(tn_span_pages(heap, span)) == 0) tn_span_is_used_up(heap, span);
    return false;
}

/* A run of any open span, in a free one that is opened for it, or nowhere. */
TN_DEVICE_SLOW bool tn_pages_search(tn_heap heap, uint32_t count, uint32_t place, uint32_t *page_out)
{
    tn_tree open = tn_open_spans(heap);
    for (uint32_t span = 0; tn_tree_next(open, &span); span++)
        if (tn_span_try(heap, span, count, page_out)) return true;
    if (!tn_span_open(heap, count, 0, place, page_out)) return false;
    tn_span_opened(heap, *page_out / TN_HEAP_SPAN_PAGES);
    return true;
}

/* Gives a cursor that the caller has claimed another span, and the caller pages of it: the span of the next
 * cursor, if that has half of its pages; else a free one, those of different cursors apart from each other; else
 * any open one with room. */
TN_DEVICE_SLOW uint32_t tn_cursor_refill(tn_heap heap, uint32_t *cursor, uint32_t content, uint32_t count,
                                         uint32_t place)
{
    uint32_t page = TN_NO_PAGE;
    uint32_t next = tn_load(tn_cursor(heap, place + 1));
    bool is_shared = tn_place_holds(next) && next != content &&
                     tn_count_ones(tn_load(tn_span_pages(heap, next - 1))) >= TN_HEAP_SPAN_PAGES / 2 &&
                     tn_span_take_pages(heap, next - 1, count, 0, &page);
    uint32_t wanted = tn_place_holds(content) ? content - 1 : 0;
    if (!is_shared && tn_span_open(heap, count, wanted, place & (heap->cursor_count - 1), &page)) {
        uint32_t span = page / TN_HEAP_SPAN_PAGES;
        tn_place_fill(cursor, span + 1);
        tn_span_opened(heap, span);
        return page;
    }
    if (!is_shared) tn_pages_search(heap, count, place, &page);
    tn_place_fill(cursor, page != TN_NO_PAGE ? page / TN_HEAP_SPAN_PAGES + 1 : content);
    return page;
}

/* A whole span, which needs no cursor. */
TN_DEVICE uint32_t tn_pages_take_span(tn_heap heap, uint32_t place)
{
    uint32_t span;
    if (!tn_tree_take(tn_free_spans(heap), place, &span)) return TN_NO_PAGE;
    tn_spans_count(heap, 1);
    return span * TN_HEAP_SPAN_PAGES;
}

/* 1 to 64 pages in a row, within a span; TN_NO_PAGE when there are none. */
TN_DEVICE_SLOW uint32_t tn_pages_take(tn_heap heap, uint32_t count, uint32_t place)
{
    if (count == TN_HEAP_SPAN_PAGES) return tn_pages_take_span(heap, place);
    uint32_t *cursor = tn_cursor(heap, place);
    uint32_t page = TN_NO_PAGE;
    uint32_t pauses = TN_PLACE_PAUSES;
    for (;;) {
        uint32_t content = tn_place_wait(cursor, &pauses);
        if (tn_place_holds(content)) {
            uint32_t from = tn_place_count(cursor, count);
            if (tn_span_take_pages(heap, content - 1, count, from, &page)) return page;
        }
        if (content == TN_PLACE_BUSY) break;
        if (tn_place_claim(cursor, content)) {
            page = tn_cursor_refill(heap, cursor, content, count, place);
            if (tn_was_in_loop()) return page;
        }
    }
    tn_pages_search(heap, count, place, &page);
    return page;
}

TN_DEVICE void tn_pages_put(tn_heap heap, uint32_t page, uint32_t count)
{
    tn_span_put_pages(heap, page / TN_HEAP_SPAN_PAGES, tn_low_bits(count) << page % TN_HEAP_SPAN_PAGES);
}

#endif
