/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * device_heap/cursor: sends waves that want pages to different places. A cursor counts tickets, one a page,
 * and goes through the spans from the first on. There are up to four; they alternate in parts of 32 pages:
 *
 *     spans            | 0                     | 1                     | 2                     | 3 ...
 *     parts of cursor  | 0         | 1         | 2         | 3         | 0         | 1         | 2 ...
 *     its tickets      | 0 ...  31 | 0 ...  31 | 0 ...  31 | 0 ...  31 | 32 ... 63 | 32 ... 63 | 32 ...
 *
 * So one addition tells a wave which pages to take. No other wave tries those, and no wave waits for another.
 * If they are not free, it takes others of the span. If the span has none, the cursor skips to the next one
 * that has.
 *
 * All cursors return to the first span when a quarter of the pages behind them is free again, and a single
 * cursor at the end. So used pages lie in the first spans, and later spans stay free.
 *
 *     word       | how often it has returned | tickets since then |      32 bits each; it never becomes less
 *
 * Skips and returns are atomic maxima of that word, except after the last return that can be counted. A
 * ticket from before the last return changes nothing.
 */
#ifndef TARN_DEVICE_HEAP_CURSOR_CUH
#define TARN_DEVICE_HEAP_CURSOR_CUH

#include "tarn/device_heap/heap.cuh"

#define TN_CURSOR_PART_PAGES     32
#define TN_CURSOR_RETURN_DIVISOR 4 /* return when one in so many of the pages behind is free */
#define TN_CURSOR_PARTS          (TN_HEAP_SPAN_PAGES / TN_CURSOR_PART_PAGES) /* for each span */
#define TN_CURSOR_RETURN         ((uint64_t)1 << TN_HEAP_TICKETS_RETURNS)

/* One wave's ticket for contiguous pages. */
struct tn_ticket {
    uint64_t returns; /* of the cursor, in the upper half */
    uint32_t number;  /* of the first page */
    uint32_t cursor_number;
};

TN_DEVICE tn_ticket tn_ticket_take(tn_heap heap, uint32_t cursor_number, uint32_t count)
{
    uint64_t word = tn_fetch_add(tn_cursor(heap, cursor_number), (uint64_t)count);
    return { word & ~(TN_CURSOR_RETURN - 1), (uint32_t)word, cursor_number };
}

/* Returns whether the pages lie in two parts. */
TN_DEVICE bool tn_ticket_crosses(const tn_ticket &ticket, uint32_t count)
{
    return ticket.number % TN_CURSOR_PART_PAGES + count > TN_CURSOR_PART_PAGES;
}

/* Returns whether the wave is the first that comes to a part. */
TN_DEVICE bool tn_ticket_is_first(const tn_ticket &ticket, uint32_t count)
{
    return ticket.number % TN_CURSOR_PART_PAGES == 0 || tn_ticket_crosses(ticket, count);
}

/* Returns the ticket's first page. Pages of two parts are moved to the end of the second part, where tickets
 * come last. */
TN_DEVICE uint64_t tn_ticket_page(tn_heap heap, const tn_ticket &ticket, uint32_t count)
{
    uint64_t turn = ticket.number / TN_CURSOR_PART_PAGES;
    uint32_t from = ticket.number % TN_CURSOR_PART_PAGES;
    if (tn_ticket_crosses(ticket, count)) {
        turn++;
        from = TN_CURSOR_PART_PAGES - count;
    }
    return (turn * heap->cursor_count + ticket.cursor_number) * TN_CURSOR_PART_PAGES + from;
}

/* --- going on and returning ------------------------------------------------------------------------- */

/* Skips a cursor's tickets before its first part in `span` or later. */
TN_DEVICE void tn_cursor_skip(tn_heap heap, const tn_ticket &ticket, uint32_t span)
{
    uint64_t part = (uint64_t)span * TN_CURSOR_PARTS;
    uint64_t turn = (part + heap->cursor_count - 1 - ticket.cursor_number) / heap->cursor_count;
    tn_fetch_max(tn_cursor(heap, ticket.cursor_number), ticket.returns + turn * TN_CURSOR_PART_PAGES);
}

/* After the last return that can be counted the word starts again from 0. A late wave may undo that once. */
TN_DEVICE void tn_cursor_return(tn_heap heap, uint32_t cursor_number, uint64_t returns)
{
    uint64_t *word = tn_cursor(heap, cursor_number);
    uint64_t next = returns + TN_CURSOR_RETURN;
    if (next != 0)
        tn_fetch_max(word, next);
    else
        tn_fetch_and(word, (uint64_t)0);
}

/* Returns one of the words of all cursors that count pages that came back. */
TN_DEVICE uint64_t *tn_cursors_freed_word(uint64_t *cursors, uint32_t number)
{
    uint32_t line = number / TN_HEAP_CURSOR_FREED_LINES * TN_HEAP_CURSOR_LINES + 1 + number % TN_HEAP_CURSOR_FREED_LINES;
    return cursors + line * TN_HEAP_CURSOR_LINE_WORDS;
}

/* Counts pages of a span that came back. Many waves do this at once, so different spans use different words.
 */
TN_DEVICE void tn_cursors_note_freed(tn_heap heap, uint32_t span, uint32_t count)
{
    uint32_t number = span & (heap->cursor_count * TN_HEAP_CURSOR_FREED_LINES - 1);
    tn_fetch_add(tn_cursors_freed_word(tn_cursor(heap, 0), number), (uint64_t)count);
}

/* Returns how many pages came back since the cursors were at their beginning. If it `takes` them, no other
 * wave gets that number. */
TN_DEVICE uint64_t tn_cursors_freed(tn_heap heap, bool takes)
{
    uint64_t *cursors = tn_cursor(heap, 0);
    uint32_t count = heap->cursor_count * TN_HEAP_CURSOR_FREED_LINES;
    uint64_t sum = 0;
    TN_UNROLL_8
    for (uint32_t i = 0; i < count; i++) {
        uint64_t *word = tn_cursors_freed_word(cursors, i);
        sum += takes ? tn_fetch_and(word, (uint64_t)0) : tn_load(word);
    }
    return sum;
}

/* For a wave that is the first in a part. If enough pages came back, it makes all cursors return. */
TN_DEVICE_SLOW void tn_cursors_look_back(tn_heap heap, uint32_t number)
{
    uint64_t enough = (uint64_t)number * heap->cursor_count / TN_CURSOR_RETURN_DIVISOR;
    if (number < TN_CURSOR_PART_PAGES || tn_cursors_freed(heap, false) < enough) return;
    uint64_t freed = tn_cursors_freed(heap, true);
    if (freed < enough) {
        tn_cursors_note_freed(heap, 0, (uint32_t)freed);
        return;
    }
    for (uint32_t i = 0; i < heap->cursor_count; i++)
        tn_cursor_return(heap, i, tn_load(tn_cursor(heap, i)) & ~(TN_CURSOR_RETURN - 1));
}

#endif
