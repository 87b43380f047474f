/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* heap_stats: live objects by page headers, free pages by the spans of each region. */
#include "heap_stats.h"

#include "../base/arith.h"

_Static_assert(TARN_DEVICE_HEAP_CLASS_COUNT == TN_HEAP_CLASS_COUNT, "a row for each class");

#define SPAN_BYTES (TN_HEAP_SPAN_PAGES * TN_HEAP_PAGE_BYTES)

/* --- what is live ---------------------------------------------------------------------------------- */

static void count_slab(const struct tn_heap_header *header, tarn_device_heap_stats *stats)
{
    tarn_device_heap_class *row = &stats->classes[header->size_class];
    uint32_t live_count = tn_heap_header_live_count(header);
    size_t slab_bytes = header->page_count * TN_HEAP_PAGE_BYTES;
    row->live_count += live_count;
    row->free_count += header->capacity - live_count;
    row->slab_count++;
    row->slab_bytes += slab_bytes;
    stats->live_count += live_count;
    stats->live_bytes += live_count * row->object_bytes;
    stats->used_bytes += slab_bytes;
}

static void count_run(uint64_t page_count, tarn_device_heap_stats *stats)
{
    size_t run_bytes = page_count * TN_HEAP_PAGE_BYTES;
    stats->large_count++;
    stats->large_bytes += run_bytes;
    stats->live_count++;
    stats->live_bytes += run_bytes;
    stats->used_bytes += run_bytes;
}

void tn_heap_stats_add_live(const uint64_t *headers, uint64_t page_count,
                            tarn_device_heap_stats *stats)
{
    for (uint64_t i = 0; i < page_count; i++) {
        const uint64_t *words = &headers[i * TN_HEAP_HEADER_WORDS];
        const struct tn_heap_header header = tn_heap_header_of(words[0]);
        if (header.owner == TN_HEAP_OWNER_SLAB) count_slab(&header, stats);
        if (header.owner == TN_HEAP_OWNER_RUN)
            count_run(tn_min(words[TN_HEAP_RUN_PAGES_WORD], TN_HEAP_PAGES_MAX), stats);
    }
}

/* --- what is free ---------------------------------------------------------------------------------- */

/* Returns the most ones in a row. */
static unsigned longest_run(uint64_t word)
{
    unsigned length = 0;
    for (; word != 0; word &= word >> 1)
        length++;
    return length;
}

/* `run_spans`: free spans directly before this one. */
static void count_span(const struct tn_heap_view *view, uint64_t span, uint64_t *run_spans,
                       tarn_device_heap_stats *stats)
{
    uint64_t pages = tn_heap_view_free_pages(view, span);
    size_t run_bytes;
    stats->free_page_count += (size_t)__builtin_popcountll(pages);
    if (pages == UINT64_MAX) {
        stats->free_span_count++;
        run_bytes = ++*run_spans * SPAN_BYTES;
    } else {
        *run_spans = 0;
        run_bytes = longest_run(pages) * TN_HEAP_PAGE_BYTES;
    }
    stats->largest_free_bytes = tn_max(stats->largest_free_bytes, run_bytes);
}

/* --- all of it ------------------------------------------------------------------------------------- */

static void count_region(const struct tn_heap_view *view, const struct tn_heap_region *region,
                         tarn_device_heap_stats *stats)
{
    uint64_t run_spans = 0;
    uint64_t end = (uint64_t)region->first_page + region->page_count;
    stats->capacity_bytes += region->page_count * TN_HEAP_PAGE_BYTES;
    for (uint64_t page = region->first_page; page < end; page += TN_HEAP_SPAN_PAGES)
        count_span(view, page / TN_HEAP_SPAN_PAGES, &run_spans, stats);
}

/* While kernels run the counter may be negative for a moment. */
static size_t span_bytes(const struct tn_heap_view *view, uint32_t span_count)
{
    return tn_min(span_count, view->plan->span_max) * SPAN_BYTES;
}

tarn_device_heap_stats tn_heap_stats_of_summary(const struct tn_heap_view *view, size_t size_bytes)
{
    const struct tn_heap_counters *counters = &tn_heap_view_control(view)->counters;
    tarn_device_heap_stats stats = {
        .struct_bytes = sizeof stats,
        .size_bytes = size_bytes,
        .metadata_bytes = view->plan->metadata_bytes,
        .piece_count = view->known->region_count,
        .span_bytes = span_bytes(view, counters->spans_used),
        .span_bytes_max = span_bytes(view, counters->spans_used_max),
        .failed_count = counters->failed,
        .double_free_count = counters->double_frees,
        .foreign_free_count = counters->foreign_frees,
        .damaged_free_count = counters->damaged_frees,
    };
    for (uint32_t i = 0; i < TN_HEAP_CLASS_COUNT; i++)
        stats.classes[i].object_bytes = tn_heap_class_bytes(i);
    for (uint32_t i = 0; i < view->known->region_count; i++)
        count_region(view, &view->known->regions[i], &stats);
    if (view->known->layout.check == TN_HEAP_CHECK_CONTENTS && stats.largest_free_bytes > 0)
        stats.largest_free_bytes -= TN_HEAP_CANARY_BYTES;
    return stats;
}
