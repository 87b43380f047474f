/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * device_heap/cursor: where waves that want pages go apart. A cursor counts tickets, one a page; each 64 of them are a
 * segment, which has a span.
 *
 *     tickets    0 ........ 63 | 64 ....... 127 | 128 ...
 *     segment    0             | 1              | 2           of each: its number + 1, and its span + 1
 *     span       7             | 9              | not yet
 *
 * The wave whose tickets begin a segment opens a span for it, at once and without waiting for anybody; so many spans
 * may be opened at a time. The others of the segment wait until it has one, and then take the pages that their tickets
 * name: no two waves go for the same, and none looks for a page. If those are not free, for the span was not new, they
 * take others of the span; and if there are none, they have the rest of the segment's tickets skipped, and get new ones.
 *
 * Entries are in a ring. Who comes so late that the ring has gone round gets a new ticket, too. The span of an entry
 * that is about to be written over serves again, if half of its pages are free: so cursors do not go on and on through
 * the free spans, and leave each with a few pages used.
 */
#ifndef TARN_DEVICE_HEAP_CURSOR_CUH
#define TARN_DEVICE_HEAP_CURSOR_CUH

#include "tarn/device_heap/heap.cuh"
#include "tarn/device_heap/place.cuh"

#define TN_SEGMENT_EMPTY 0U          /* there was no page */
#define TN_SEGMENT_GONE  0xFFFFFFFFU /* the ring has gone round, or it took too long */

struct tn_ticket {
    uint64_t segment;
    uint32_t from; /* the page of its span */
};

TN_DEVICE tn_ticket tn_ticket_take(uint64_t *cursor, uint32_t count)
{
    uint64_t number = tn_fetch_add(&cursor[TN_HEAP_CURSOR_TICKETS], (uint64_t)count);
    return { number / TN_HEAP_SPAN_PAGES, (uint32_t)number % TN_HEAP_SPAN_PAGES };
}

/* Whether a segment begins with these tickets, or among them: their own, or the next one. */
TN_DEVICE bool tn_ticket_opens(const tn_ticket &ticket, uint32_t count)
{
    return ticket.from == 0 || ticket.from + count > TN_HEAP_SPAN_PAGES;
}

TN_DEVICE uint64_t *tn_segment_entry(tn_heap heap, uint64_t *cursor, uint64_t segment)
{
    uint32_t index = (uint32_t)segment & (heap->segment_count - 1);
    return &cursor[TN_HEAP_CURSOR_SEGMENTS + index * TN_HEAP_SEGMENT_WORDS];
}

TN_DEVICE uint32_t tn_segment_content(uint64_t entry)
{
    return (uint32_t)entry & ((1U << TN_HEAP_SEGMENT_SHIFT) - 1);
}

/* An entry never goes back to an earlier segment: nobody waits for that any more. */
TN_DEVICE void tn_segment_publish(tn_heap heap, uint64_t *cursor, uint64_t segment, uint32_t content)
{
    tn_fence_release();
    tn_fetch_max(tn_segment_entry(heap, cursor, segment), (segment + 1) << TN_HEAP_SEGMENT_SHIFT | content);
}

/* The span of a segment, + 1, as soon as it has one. */
TN_DEVICE uint32_t tn_segment_wait(tn_heap heap, uint64_t *cursor, uint64_t segment, uint32_t *pauses)
{
    uint32_t wait_ns = TN_PLACE_PAUSE_NS;
    for (;;) {
        uint64_t entry = tn_load(tn_segment_entry(heap, cursor, segment));
        uint64_t published = entry >> TN_HEAP_SEGMENT_SHIFT;
        if (published == segment + 1) return tn_segment_content(entry);
        if (published > segment + 1 || *pauses == 0) return TN_SEGMENT_GONE;
        *pauses -= 1;
        tn_pause(wait_ns);
        if (wait_ns < TN_PLACE_PAUSE_NS_MAX) wait_ns *= 2;
    }
}

/* The tickets that are left of a segment are worth nothing. */
TN_DEVICE void tn_segment_skip(uint64_t *cursor, uint64_t segment)
{
    tn_fetch_max(&cursor[TN_HEAP_CURSOR_TICKETS], (segment + 1) * TN_HEAP_SPAN_PAGES);
}

#endif
