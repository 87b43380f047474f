/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * heap_plan: where the parts of a device heap lie in its memory, and their content in an empty heap.
 *
 *     | control | free spans | open spans | span pages | headers | class trees | slots | cursors | bitmaps |
 *     |_____________ image _______________|            |
 *     |__________________ summary _____________________|
 *     |_____________________________________ metadata ___________________________________________|
 *
 * The pages of the first region follow the metadata. The image has all nonzero words of an empty heap, except
 * the span pages. The summary tells how much is free, the headers how much is live.
 *
 * Page numbers continue from region to region, and each region begins with a span. The span before it is
 * always short, or has no pages at all, and is never wholly free. So no run of whole spans crosses into
 * another region:
 *
 *     region 0, 2 spans and 3 pages                region 1, 1 span          region 2
 *     | 64 pages | 64 pages | 3 pages, 61 nobody's | 64 pages | 64 nobody's  | ...
 *
 * Errors are reported by tn_fail. Nothing here allocates or reaches a device.
 */
#ifndef TN_HEAP_PLAN_H
#define TN_HEAP_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "tarn/device_heap/layout.h"
#include "tarn/status.h"

struct tn_heap_plan {
    uint64_t page_max; /* maximum count of page numbers */
    uint64_t span_max;
    struct tn_heap_tree_shape span_shape, page_shape;
    uint32_t slot_count, cursor_count;
    /* Offsets from the first byte of the metadata. */
    uint64_t free_spans, open_spans, span_pages, headers, class_trees, slots, cursors, bitmaps;
    uint64_t metadata_bytes;
};

/* The spans of a region. */
struct tn_heap_spans {
    uint32_t first;
    uint32_t whole_count; /* spans with all bits of their words set */
    uint64_t rest_pages;  /* the word of one more span: a bit for each page; 0: none */
};

/* Plans a heap of size_bytes, metadata included, that may grow to size_bytes_max, if that is more.
 * SIZE_TOO_LARGE: beyond the maximum; INVALID_ARGUMENT: not even room for one page. */
tarn_status tn_heap_plan_init(struct tn_heap_plan *plan, size_t size_bytes, size_t size_bytes_max);

/* Returns the pages of the first region of a heap of size_bytes. */
uint64_t tn_heap_plan_first_page_count(const struct tn_heap_plan *plan, size_t size_bytes);

size_t tn_heap_plan_image_bytes(const struct tn_heap_plan *plan);
size_t tn_heap_plan_summary_bytes(const struct tn_heap_plan *plan);

/* Writes the image of a heap without pages. metadata_address: its address on the device. */
void tn_heap_plan_write_image(const struct tn_heap_plan *plan, uint64_t metadata_address,
                              enum tn_heap_check check, void *image_out);

/* Checks whether a region of page_count pages can be added to an image: OK or OVER_LIMIT. */
tarn_status tn_heap_plan_check_region(const struct tn_heap_plan *plan, const void *image,
                                      uint64_t page_count);

/* Adds a region of at least one page that passed that check. */
struct tn_heap_spans tn_heap_plan_add_region(const struct tn_heap_plan *plan, void *image,
                                             uint64_t address, uint64_t page_count);

/* Returns the words of a bit tree of this shape. They start with level 0. */
uint64_t tn_heap_tree_words(const struct tn_heap_tree_shape *shape);

#endif
