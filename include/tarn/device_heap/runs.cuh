/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * device_heap/runs: objects larger than any class, each a run of pages of its own. Up to a span they are pages of
 * one span; beyond that they begin with a span, and the rest of the last one is free for others.
 *
 * The header of a run's first page has the class TN_HEAP_CLASS_RUN, and the word after it the number of pages.
 */
#ifndef TARN_DEVICE_HEAP_RUNS_CUH
#define TARN_DEVICE_HEAP_RUNS_CUH

#include "tarn/device_heap/slab.cuh"

#define TN_SPANS_RUNS_APART 32 /* who loses a race looks on so many runs later: past those that a wave takes at once */

/* Of so many spans from one on, those that lie in the same word as that one. */
TN_DEVICE uint32_t tn_spans_in_word(uint32_t span, uint32_t count)
{
    return 64 - span % 64 < count ? 64 - span % 64 : count;
}

/* Those spans of a word of the tree whose pages are not all free. */
TN_DEVICE uint64_t tn_spans_not_free(tn_heap heap, uint32_t index, uint64_t bits)
{
    uint64_t not_free = 0;
    uint32_t first = tn_first_one(bits), end = 64 - tn_leading_zeros(bits);
    TN_UNROLL_8
    for (uint32_t i = first; i < end; i++)
        if (tn_look_again(tn_span_pages(heap, index * 64 + i)) != TN_SPAN_FREE) not_free |= tn_bit(i);
    return not_free & bits;
}

/* Makes all pages free of spans of a word of the tree, which the caller has. Some may be taken before the trees say so. */
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

/* The pages of spans, a bit for each span of which it got all. Without the first it does not ask for the others: so of
 * two who want the same run one gets it, and not each a part. */
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

/* Spans of one word of the tree, or none. Where somebody has pages of one, the tree is told so at once: the other may not
 * have come to that yet, and nobody is to find that span again meanwhile. */
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

/* Spans from `first` on, as many as are free of `count`, in parts of one word each. */
TN_DEVICE uint32_t tn_spans_take_in_order(tn_heap heap, uint32_t first, uint32_t count)
{
    for (uint32_t done = 0; done < count;) {
        uint32_t part = tn_spans_in_word(first + done, count - done);
        if (!tn_spans_take_of_word(heap, first + done, part)) return done;
        done += part;
    }
    return count;
}

/* How many ones follow from a place of a word on, up to its end. */
TN_DEVICE uint32_t tn_ones_from(uint64_t word, uint32_t place)
{
    uint64_t rest = ~(word >> place);
    uint32_t ones = rest == 0 ? 64 : tn_first_one(rest);
    return ones < 64 - place ? ones : 64 - place;
}

/* The first run of free spans from *first on; false when there is none. */
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

/* A run of whole free spans, from `from` on if there is one. Whoever loses a race for one looks on further from there,
 * where the other lanes of the winner's wave are not, and in the end from the first span on again: each loss is another's
 * gain. Who gets one has begun a move. */
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

/* More pages than a span has. */
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

/* Lanes that come here together are told apart by their rank, so that they do not all go for the same pages. */
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

/* Whether it was a run, and is free now. */
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
    tn_fence_release(); /* that, and what was done with the object, is done before others have the pages */
    if (pages <= TN_HEAP_SPAN_PAGES)
        tn_pages_put(heap, page, (uint32_t)pages);
    else
        tn_pages_put_spans(heap, page, pages);
    return true;
}

#endif
