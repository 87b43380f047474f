/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * heap_view: metadata of a heap, or its first part, as read back from the device.
 *
 * It is consistent if no kernel used the heap meanwhile. Otherwise each word was valid at some moment, and no
 * word says anything about another.
 */
#ifndef TN_HEAP_VIEW_H
#define TN_HEAP_VIEW_H

#include <stdbool.h>
#include <string.h>

#include "heap_plan.h"
#include "tarn/device_heap/size_class.h"

struct tn_heap_view {
    const struct tn_heap_plan *plan;
    const struct tn_heap_control *known; /* the host's copy: its layout and regions are valid */
    const uint64_t *words;
};

/* A bit tree, level 0 first. */
struct tn_heap_tree_view {
    const uint64_t *levels[TN_HEAP_TREE_LEVELS];
    const struct tn_heap_tree_shape *shape;
};

enum tn_heap_owner {
    TN_HEAP_OWNER_NOBODY,
    TN_HEAP_OWNER_SLAB,
    TN_HEAP_OWNER_RUN,
    TN_HEAP_OWNER_UNKNOWN /* an invalid header */
};

/* The fields of a page's header. All but the owner are for slabs. */
struct tn_heap_header {
    enum tn_heap_owner owner;
    uint32_t size_class;
    uint32_t state;
    uint32_t page_count;
    uint32_t capacity;
    int32_t credits;
};

/* --- words ---------------------------------------------------------------------------------------- */

static inline const struct tn_heap_control *tn_heap_view_control(const struct tn_heap_view *view)
{
    return (const struct tn_heap_control *)view->words;
}

/* Returns whether the control block is as the host wrote it, apart from the counters. */
static inline bool tn_heap_view_is_intact(const struct tn_heap_view *view)
{
    const struct tn_heap_control *control = tn_heap_view_control(view), *known = view->known;
    return memcmp(&control->layout, &known->layout, sizeof known->layout) == 0 &&
           control->region_count == known->region_count && control->span_end == known->span_end &&
           memcmp(control->regions, known->regions, sizeof known->regions) == 0;
}

/* Returns the part at an offset of the plan. */
static inline const uint64_t *tn_heap_view_part(const struct tn_heap_view *view, uint64_t offset)
{
    return view->words + offset / sizeof(uint64_t);
}

static inline bool tn_heap_bit_is_set(const uint64_t *words, uint64_t number)
{
    return (words[number / 64] >> number % 64 & 1) != 0;
}

static inline struct tn_heap_tree_view tn_heap_view_tree(const uint64_t *words,
                                                         const struct tn_heap_tree_shape *shape)
{
    struct tn_heap_tree_view tree = { .shape = shape };
    for (int level = 0; level < TN_HEAP_TREE_LEVELS; level++) {
        tree.levels[level] = words;
        words += shape->words[level];
    }
    return tree;
}

static inline struct tn_heap_tree_view tn_heap_view_free_spans(const struct tn_heap_view *view)
{
    return tn_heap_view_tree(tn_heap_view_part(view, view->plan->free_spans),
                             &view->plan->span_shape);
}

static inline struct tn_heap_tree_view tn_heap_view_open_spans(const struct tn_heap_view *view)
{
    return tn_heap_view_tree(tn_heap_view_part(view, view->plan->open_spans),
                             &view->plan->span_shape);
}

/* Returns the tree of a class's slabs in state GOOD or SPARSE. */
static inline struct tn_heap_tree_view tn_heap_view_class_tree(const struct tn_heap_view *view,
                                                               uint32_t size_class, uint32_t state)
{
    const struct tn_heap_tree_shape *shape = &view->plan->page_shape;
    uint64_t number = 2 * (uint64_t)size_class + (state == TN_HEAP_STATE_GOOD ? 0 : 1);
    const uint64_t *trees = tn_heap_view_part(view, view->plan->class_trees);
    return tn_heap_view_tree(trees + number * tn_heap_tree_words(shape), shape);
}

/* Returns a bit for each free page of a span. */
static inline uint64_t tn_heap_view_free_pages(const struct tn_heap_view *view, uint64_t span)
{
    return tn_heap_view_part(view, view->plan->span_pages)[span];
}

/* Returns the page after the last one in use, or 0. */
static inline uint64_t tn_heap_view_used_page_end(const struct tn_heap_view *view)
{
    const uint64_t *free_pages = tn_heap_view_part(view, view->plan->span_pages);
    for (uint32_t i = view->known->region_count; i-- > 0;) {
        const struct tn_heap_region *region = &view->known->regions[i];
        uint64_t first = region->first_page, end = first + region->page_count;
        while (end > first && tn_heap_bit_is_set(free_pages, end - 1))
            end = free_pages[(end - 1) / 64] == UINT64_MAX ? (end - 1) / 64 * 64 : end - 1;
        if (end > first) return end;
    }
    return 0;
}

static inline const uint64_t *tn_heap_view_bitmap(const struct tn_heap_view *view, uint64_t page)
{
    return tn_heap_view_part(view, view->plan->bitmaps) + page * TN_HEAP_BITMAP_WORDS;
}

/* Returns a word of a slot. */
static inline uint32_t tn_heap_view_slot(const struct tn_heap_view *view, uint64_t number,
                                         uint32_t word)
{
    const uint32_t *slots = (const uint32_t *)tn_heap_view_part(view, view->plan->slots);
    return slots[number * TN_HEAP_PLACE_WORDS + word];
}

/* --- headers -------------------------------------------------------------------------------------- */

static inline const uint64_t *tn_heap_view_header_words(const struct tn_heap_view *view,
                                                        uint64_t page)
{
    return tn_heap_view_part(view, view->plan->headers) + page * TN_HEAP_HEADER_WORDS;
}

/* Returns the bitmap, beside the header, of a slab of few objects that begins on the page. */
static inline uint64_t tn_heap_view_bits_word(const struct tn_heap_view *view, uint64_t page)
{
    return tn_heap_view_header_words(view, page)[TN_HEAP_BITS_WORD];
}

/* Returns the label for the pages of a slab that begins on page `first`. */
static inline uint64_t tn_heap_label_of(uint32_t class_plus_one, uint64_t capacity, uint64_t first)
{
    return class_plus_one | capacity << TN_HEAP_LABEL_CAPACITY_SHIFT |
           first << TN_HEAP_LABEL_PAGE_SHIFT;
}

static inline uint64_t tn_heap_view_label(const struct tn_heap_view *view, uint64_t page)
{
    return tn_heap_view_header_words(view, page)[TN_HEAP_LABEL_WORD];
}

/* Returns the pages of the run that begins on the page. */
static inline uint64_t tn_heap_view_run_pages(const struct tn_heap_view *view, uint64_t page)
{
    return tn_heap_view_header_words(view, page)[TN_HEAP_RUN_PAGES_WORD];
}

static inline uint32_t tn_heap_header_field(uint64_t word, int shift, int bits)
{
    return (uint32_t)(word >> shift) & ((1U << bits) - 1);
}

static inline struct tn_heap_header tn_heap_header_of(uint64_t word)
{
    uint32_t number = tn_heap_header_field(word, 0, TN_HEAP_CLASS_BITS);
    struct tn_heap_header header = {
        .owner = TN_HEAP_OWNER_UNKNOWN,
        .state = tn_heap_header_field(word, TN_HEAP_STATE_SHIFT, TN_HEAP_STATE_BITS),
        .page_count = tn_heap_header_field(word, TN_HEAP_PAGES_SHIFT, TN_HEAP_PAGES_BITS),
        .capacity = tn_heap_header_field(word, TN_HEAP_CAPACITY_SHIFT, TN_HEAP_CAPACITY_BITS),
        .credits = (int32_t)((int64_t)word >> TN_HEAP_CREDIT_SHIFT),
    };
    if (number == 0) {
        header.owner = TN_HEAP_OWNER_NOBODY;
    } else if (number == TN_HEAP_CLASS_RUN) {
        header.owner = TN_HEAP_OWNER_RUN;
    } else if (number <= TN_HEAP_CLASS_COUNT) {
        header.owner = TN_HEAP_OWNER_SLAB;
        header.size_class = number - 1;
    }
    return header;
}

static inline struct tn_heap_header tn_heap_view_header(const struct tn_heap_view *view,
                                                        uint64_t page)
{
    return tn_heap_header_of(tn_heap_view_header_words(view, page)[0]);
}

/* Returns the live objects of a slab. Takes and frees in progress are not counted. */
static inline uint32_t tn_heap_header_live_count(const struct tn_heap_header *header)
{
    if (header->credits < 0) return header->capacity;
    uint32_t credits = (uint32_t)header->credits;
    return credits < header->capacity ? header->capacity - credits : 0;
}

#endif
