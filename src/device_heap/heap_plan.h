/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * heap_plan: where the parts of a device heap lie in its memory, and what an empty one has in them.
 *
 *     | control | free spans | open spans | span pages | headers | class trees | slots | cursors | bitmaps |
 *     |_____________ image _______________|            |
 *     |__________________ summary _____________________|
 *     |_____________________________________ metadata ___________________________________________|
 *
 * and the pages of the first region behind it. The image is what is not 0 in an empty heap, but for the words of its
 * spans. The summary tells how much is free, and the headers how much is live.
 *
 * Page numbers go from region to region, each of which begins with a span. Between two of them is a span that is
 * never wholly free, one that is short or one that is nobody's, so that no run of whole spans leaves a region:
 *
 *     region 0, 2 spans and 3 pages                region 1, 1 span          region 2
 *     | 64 pages | 64 pages | 3 pages, 61 nobody's | 64 pages | 64 nobody's  | ...
 *
 * Errors are reported by tn_fail. Nothing here reaches a device or allocates.
 */
#ifndef TN_HEAP_PLAN_H
#define TN_HEAP_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "tarn/device_heap/layout.h"
#include "tarn/status.h"

struct tn_heap_plan {
    uint64_t page_max; /* page numbers that there can be */
    uint64_t span_max;
    struct tn_heap_tree_shape span_shape, page_shape;
    uint32_t slot_count, cursor_count;
    /* From the first byte of the metadata, in bytes. */
    uint64_t free_spans, open_spans, span_pages, headers, class_trees, slots, cursors, bitmaps;
    uint64_t metadata_bytes;
};

/* The spans of a region. */
struct tn_heap_spans {
    uint32_t first;
    uint32_t whole_count; /* all bits of their words are set */
    uint64_t rest_pages;  /* the word of one more: a bit for each page; 0: there is none */
};

/* For a heap of `size_bytes` with its metadata that may grow to `size_bytes_max`, if that is more. SIZE_TOO_LARGE for
 * what no heap can have, INVALID_ARGUMENT for too little to have a page. */
tarn_status tn_heap_plan_init(struct tn_heap_plan *plan, size_t size_bytes, size_t size_bytes_max);

/* Pages of the first region of a heap of so many bytes. */
uint64_t tn_heap_plan_first_page_count(const struct tn_heap_plan *plan, size_t size_bytes);

size_t tn_heap_plan_image_bytes(const struct tn_heap_plan *plan);
size_t tn_heap_plan_summary_bytes(const struct tn_heap_plan *plan);

/* The image of a heap without a page whose metadata is at this address of the device. */
void tn_heap_plan_write_image(const struct tn_heap_plan *plan, uint64_t metadata_address,
                              enum tn_heap_check check, void *image_out);

/* Whether a region of so many pages can be added to an image: OK, or OVER_LIMIT. */
tarn_status tn_heap_plan_check_region(const struct tn_heap_plan *plan, const void *image,
                                      uint64_t page_count);

/* Adds one that can, of a page or more. */
struct tn_heap_spans tn_heap_plan_add_region(const struct tn_heap_plan *plan, void *image,
                                             uint64_t address, uint64_t page_count);

/* Words of a bit tree of this shape, which has those of level 0 first. */
uint64_t tn_heap_tree_words(const struct tn_heap_tree_shape *shape);

#endif
