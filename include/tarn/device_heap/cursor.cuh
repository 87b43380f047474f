/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * device_heap/cursor: where waves that want pages go apart. A cursor counts tickets, one a page, and goes through the
 * spans from the first one on. There are up to four; each takes its turn with parts of 32 pages:
 *
 *     spans            | 0                     | 1                     | 2                     | 3 ...
 *     parts of cursor  | 0         | 1         | 2         | 3         | 0         | 1         | 2 ...
 *     its tickets      | 0 ...  31 | 0 ...  31 | 0 ...  31 | 0 ...  31 | 32 ... 63 | 32 ... 63 | 32 ...
 *
 * So one addition tells a wave what pages to take, which no other wave goes for, and nobody waits for anybody. Where
 * those are not free, it takes others of the span; where the span has none, the cursor goes on to the next that has.
 *
 * The cursors return to the first span when a quarter of the pages behind them is free again, and one by itself when it
 * has come to the end: so what is in use lies in the first spans, and those further on stay free.
 *
 *     word       | how often it has returned | tickets since then |      32 bits each; it never becomes less
 *
 * To return and to go on are maxima of that, but for the last return that can be counted. Who took its ticket before
 * the last return changes nothing by it.
 */
#ifndef TARN_DEVICE_HEAP_CURSOR_CUH
#define TARN_DEVICE_HEAP_CURSOR_CUH

#include "tarn/device_heap/heap.cuh"

#define TN_CURSOR_PART_PAGES     32
#define TN_CURSOR_RETURN_DIVISOR 4 /* when that part of what they went through is free */
#define TN_CURSOR_PARTS          (TN_HEAP_SPAN_PAGES / TN_CURSOR_PART_PAGES) /* of a span */
#define TN_CURSOR_RETURN         ((uint64_t)1 << TN_HEAP_TICKETS_RETURNS)

/* Of one wave, for pages in a row. */
struct tn_ticket {
    uint64_t returns; /* of the cursor, in the upper half */
    uint32_t number;  /* for the first page */
    uint32_t cursor_number;
};

TN_DEVICE tn_ticket tn_ticket_take(tn_heap heap, uint32_t cursor_number, uint32_t count)
{
    uint64_t word = tn_fetch_add(tn_cursor(heap, cursor_number), (uint64_t)count);
    return { word & ~(TN_CURSOR_RETURN - 1), (uint32_t)word, cursor_number };
}

/* Whether the pages are in two parts. */
TN_DEVICE bool tn_ticket_crosses(const tn_ticket &ticket, uint32_t count)
{
    return ticket.number % TN_CURSOR_PART_PAGES + count > TN_CURSOR_PART_PAGES;
}

/* Whether the wave is the first that comes to a part. */
TN_DEVICE bool tn_ticket_is_first(const tn_ticket &ticket, uint32_t count)
{
    return ticket.number % TN_CURSOR_PART_PAGES == 0 || tn_ticket_crosses(ticket, count);
}

/* The page that it is for; where it is for pages in two parts, so that they end with the second one, where tickets come to
 * last. */
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

/* A cursor's tickets up to the first part of a span, or a later one, are worth nothing. */
TN_DEVICE void tn_cursor_skip(tn_heap heap, const tn_ticket &ticket, uint32_t span)
{
    uint64_t part = (uint64_t)span * TN_CURSOR_PARTS;
    uint64_t turn = (part + heap->cursor_count - 1 - ticket.cursor_number) / heap->cursor_count;
    tn_fetch_max(tn_cursor(heap, ticket.cursor_number), ticket.returns + turn * TN_CURSOR_PART_PAGES);
}

/* After the last return that can be counted it begins anew; who is late may undo that once. */
TN_DEVICE void tn_cursor_return(tn_heap heap, uint32_t cursor_number, uint64_t returns)
{
    uint64_t *word = tn_cursor(heap, cursor_number);
    uint64_t next = returns + TN_CURSOR_RETURN;
    if (next != 0)
        tn_fetch_max(word, next);
    else
        tn_fetch_and(word, (uint64_t)0);
}

/* A word that counts pages which came back, of those of all cursors. */
TN_DEVICE uint64_t *tn_cursors_freed_word(uint64_t *cursors, uint32_t number)
{
    uint32_t line = number / TN_HEAP_CURSOR_FREED_LINES * TN_HEAP_CURSOR_LINES + 1 + number % TN_HEAP_CURSOR_FREED_LINES;
    return cursors + line * TN_HEAP_CURSOR_LINE_WORDS;
}

/* Pages of a span came back. Many waves say so at once: those of different spans in different words. */
TN_DEVICE void tn_cursors_note_freed(tn_heap heap, uint32_t span, uint32_t count)
{
    uint32_t number = span & (heap->cursor_count * TN_HEAP_CURSOR_FREED_LINES - 1);
    tn_fetch_add(tn_cursors_freed_word(tn_cursor(heap, 0), number), (uint64_t)count);
}

/* How many pages came back since the cursors were at their beginning. Who takes that is the only one who knows. */
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

/* Of a wave that comes to a part first. The one who finds that enough came back has all cursors return. */
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
