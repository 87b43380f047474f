/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * device_heap/runs: objects larger than any class, each a run of pages. A run of up to a span lies in one
 * span. A longer run starts with a span, and the rest of its last span stays free for others.
 *
 * The header of a run's first page has the class TN_HEAP_CLASS_RUN, and the word after it the number of
 * pages.
 */
#ifndef TARN_DEVICE_HEAP_RUNS_CUH
#define TARN_DEVICE_HEAP_RUNS_CUH

#include "tarn/device_heap/slab.cuh"

#define TN_SPANS_RUNS_APART 32 /* after a lost race, skip this many runs: past those that a wave takes at once */

/* Returns how many of `count` spans from one on lie in the same word of the tree. */
TN_DEVICE uint32_t tn_spans_in_word(uint32_t span, uint32_t count)
{
    return 64 - span % 64 < count ? 64 - span % 64 : count;
}

/* Returns those spans of a word of the tree whose pages are not all free. */
TN_DEVICE uint64_t tn_spans_not_free(tn_heap heap, uint32_t index, uint64_t bits)
{
    uint64_t not_free = 0;
    uint32_t first = tn_first_one(bits), end = 64 - tn_leading_zeros(bits);
    TN_UNROLL_8
    for (uint32_t i = first; i < end; i++)
        if (tn_look_again(tn_span_pages(heap, index * 64 + i)) != TN_SPAN_FREE) not_free |= tn_bit(i);
    return not_free & bits;
}

/* Frees all pages of spans of a word of the tree, which the caller owns. Some may be taken again before the
 * trees know. */
TN_DEVICE void tn_spans_put_word(tn_heap heap, uint32_t index, uint64_t bits)
{
    for (uint64_t rest = bits; rest != 0; rest &= rest - 1)
        tn_store(tn_span_pages(heap, index * 64 + tn_first_one(rest)), TN_SPAN_FREE);
    tn_fence();
    tn_tree_insert_word(tn_open_spans(heap), index, bits);
    tn_spans_count(heap, -(int32_t)tn_count_ones(bits));
    tn_fence();
    uint32_t known = tn_count_ones(tn_tree_insert_word(tn_free_spans(heap), index, bits) & bits);
    if (known > 0) tn_spans_note(heap, tn_spans_count(heap, (int32_t)known));
    tn_fence();
    for (uint64_t rest = tn_spans_not_free(heap, index, bits); rest != 0; rest &= rest - 1)
        tn_span_tell_free(heap, index * 64 + tn_first_one(rest), false);
}

TN_DEVICE void tn_spans_put(tn_heap heap, uint32_t first, uint32_t count)
{
    for (uint32_t done = 0; done < count;) {
        uint32_t span = first + done;
        uint32_t part = tn_spans_in_word(span, count - done);
        tn_spans_put_word(heap, span / 64, tn_low_bits(part) << span % 64);
        done += part;
    }
}

/* Takes all pages of spans. Returns a bit for each span that it got. Without the first span it does not try
 * the others: so of two waves that want the same run, one gets it, instead of each a part. */
TN_DEVICE uint64_t tn_spans_take_pages(tn_heap heap, uint32_t first, uint32_t count)
{
    if (tn_compare_exchange(tn_span_pages(heap, first), TN_SPAN_FREE, (uint64_t)0) != TN_SPAN_FREE) return 0;
    uint64_t got = tn_bit(0);
    TN_UNROLL_8
    for (uint32_t i = 1; i < count; i++)
        if (tn_compare_exchange(tn_span_pages(heap, first + i), TN_SPAN_FREE, (uint64_t)0) == TN_SPAN_FREE)
            got |= tn_bit(i);
    return got;
}

/* Takes all spans, of one word of the tree, or none. If another wave has pages of a span, the tree is
 * corrected at once: that wave may not have done so yet, and no wave should find the span again meanwhile. */
TN_DEVICE bool tn_spans_take_of_word(tn_heap heap, uint32_t first, uint32_t count)
{
    uint32_t index = first / 64;
    uint64_t all = tn_low_bits(count) << first % 64;
    uint64_t got = tn_spans_take_pages(heap, first, count) << first % 64;
    if (got != all) {
        if (got != 0) tn_spans_put_word(heap, index, got);
        uint64_t asked = got != 0 ? all : tn_bit(first % 64);
        for (uint64_t rest = asked & ~got; rest != 0; rest &= rest - 1)
            tn_span_tell_free(heap, index * 64 + tn_first_one(rest), false);
        return false;
    }
    tn_free_word_drop(heap, index, all);
    tn_fetch_and(&tn_open_spans(heap).words[index], ~all);
    return true;
}

/* Takes spans from `first` on in order, word by word. Returns how many of `count` it got. */
TN_DEVICE uint32_t tn_spans_take_in_order(tn_heap heap, uint32_t first, uint32_t count)
{
    for (uint32_t done = 0; done < count;) {
        uint32_t part = tn_spans_in_word(first + done, count - done);
        if (!tn_spans_take_of_word(heap, first + done, part)) return done;
        done += part;
    }
    return count;
}

/* Returns how many ones follow from a place of a word on, up to its end. */
TN_DEVICE uint32_t tn_ones_from(uint64_t word, uint32_t place)
{
    uint64_t rest = ~(word >> place);
    uint32_t ones = rest == 0 ? 64 : tn_first_one(rest);
    return ones < 64 - place ? ones : 64 - place;
}

/* Finds the first run of free spans from *first on. False: there is none. */
TN_DEVICE bool tn_spans_find(tn_heap heap, uint32_t count, uint32_t *first)
{
    const uint64_t *words = tn_free_spans(heap).words;
    uint32_t span_count = heap->span_shape.words[0] * 64;
    uint32_t length = 0;
    for (uint32_t span = *first; span < span_count;) {
        uint64_t word = tn_load(&words[span / 64]);
        uint32_t ones = tn_ones_from(word, span % 64);
        if (ones == 0) {
            length = 0;
            uint64_t rest = word >> span % 64;
            span += rest == 0 ? 64 - span % 64 : tn_first_one(rest);
            continue;
        }
        span += ones;
        length += ones;
        if (length < count) continue;
        *first = span - length;
        return true;
    }
    return false;
}

/* Takes a run of whole free spans, from `from` on if possible. After a lost race it continues further on,
 * past the other lanes of the winner's wave, and finally starts again from the first span. Each loss is
 * another wave's gain, so some wave always progresses. Success leaves a move begun. */
TN_DEVICE bool tn_spans_take(tn_heap heap, uint32_t count, uint32_t from, uint32_t *first_out)
{
    bool has_lost = from != 0;
    for (uint32_t first = from;;) {
        if (!tn_spans_find(heap, count, &first)) {
            if (!has_lost) return false;
            has_lost = false;
            first = 0;
            continue;
        }
        tn_move_begin(heap);
        tn_fence();
        uint32_t taken = tn_spans_take_in_order(heap, first, count);
        if (taken == count) {
            *first_out = first;
            return true;
        }
        if (taken > 0) tn_spans_put(heap, first, taken);
        tn_move_end(heap);
        has_lost = true;
        first += TN_SPANS_RUNS_APART * count;
    }
}

/* Takes more pages than a span has. */
TN_DEVICE uint32_t tn_pages_take_spans(tn_heap heap, uint64_t pages, uint32_t rank)
{
    uint32_t spans = (uint32_t)((pages + TN_HEAP_SPAN_PAGES - 1) / TN_HEAP_SPAN_PAGES);
    uint32_t first;
    if (!tn_spans_take(heap, spans, rank * spans, &first)) return TN_NO_PAGE;
    uint32_t tail = (uint32_t)(pages % TN_HEAP_SPAN_PAGES);
    if (tail != 0) tn_span_put_pages(heap, first + spans - 1, ~tn_low_bits(tail));
    tn_move_end(heap);
    return first * TN_HEAP_SPAN_PAGES;
}

TN_DEVICE void tn_pages_put_spans(tn_heap heap, uint32_t page, uint64_t pages)
{
    uint32_t first = page / TN_HEAP_SPAN_PAGES;
    uint32_t spans = (uint32_t)(pages / TN_HEAP_SPAN_PAGES);
    uint32_t tail = (uint32_t)(pages % TN_HEAP_SPAN_PAGES);
    tn_spans_put(heap, first, spans);
    if (tail != 0) tn_span_put_pages(heap, first + spans, tn_low_bits(tail));
    tn_cursors_note_freed(heap, first, (uint32_t)pages);
}

/* Lanes that come here together differ by rank, so that they try different pages. */
TN_DEVICE_SLOW uint64_t tn_run_create(tn_heap heap, uint64_t pages, uint32_t place, uint32_t rank)
{
    if (pages > TN_HEAP_PAGES_MAX) return 0;
    uint32_t page = pages <= TN_HEAP_SPAN_PAGES ? tn_pages_take(heap, (uint32_t)pages, place + rank)
                                                : tn_pages_take_spans(heap, pages, rank);
    if (page == TN_NO_PAGE) return 0;
    tn_store(tn_run_pages(heap, page), pages);
    tn_fence_release();
    tn_store(tn_label(heap, page), (uint64_t)TN_HEAP_CLASS_RUN);
    tn_fetch_add(tn_header(heap, page), (uint64_t)TN_HEAP_CLASS_RUN);
    return tn_page_address(heap, page);
}

/* Frees a run. False: the page is not the first of a run. */
TN_DEVICE_SLOW bool tn_run_destroy(tn_heap heap, uint32_t page)
{
    uint64_t pages = tn_load(tn_run_pages(heap, page));
    uint64_t header = tn_load(tn_header(heap, page));
    for (;;) {
        if (tn_header_class(header) != TN_HEAP_CLASS_RUN) return false;
        uint64_t seen = tn_compare_exchange(tn_header(heap, page), header, header - TN_HEAP_CLASS_RUN);
        if (seen == header) break;
        header = seen;
    }
    tn_store(tn_label(heap, page), (uint64_t)0);
    tn_fence_release(); /* the label, and all use of the object, are done before others own the pages */
    if (pages <= TN_HEAP_SPAN_PAGES)
        tn_pages_put(heap, page, (uint32_t)pages);
    else
        tn_pages_put_spans(heap, page, pages);
    return true;
}

#endif
