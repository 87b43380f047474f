/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* device_heap/heap: addresses of the parts of a heap; see layout.h. */
#ifndef TARN_DEVICE_HEAP_HEAP_CUH
#define TARN_DEVICE_HEAP_HEAP_CUH

#include "tarn/device_heap/bit_tree.cuh"
#include "tarn/device_heap/size_class.h"

#define TN_NO_PAGE 0xFFFFFFFFU

/*
 * The layout, constant while a kernel runs. In code inlined into a kernel it is the handle itself, a kernel
 * parameter. In functions out of line it is the copy in the control block. Call those with
 * tn_out_of_line(heap), so that the compiler need not write the parameter to memory.
 */
typedef const tn_heap_layout *tn_heap;

/* Returns whether the heap has the layout that this code is compiled for. If not, all else in the handle may mean
 * something else: look here first. */
TN_DEVICE bool tn_heap_is_known(tn_heap heap)
{
    return heap->version == TN_HEAP_LAYOUT_VERSION;
}

TN_DEVICE tn_heap tn_out_of_line(tn_heap heap)
{
    return (tn_heap)heap->control;
}

TN_DEVICE tn_heap_control *tn_control(tn_heap heap)
{
    return (tn_heap_control *)heap->control;
}

TN_DEVICE tn_heap_counters *tn_counters(tn_heap heap)
{
    return &tn_control(heap)->counters;
}

TN_DEVICE uint64_t *tn_header(tn_heap heap, uint32_t page)
{
    return (uint64_t *)heap->headers + (uint64_t)page * TN_HEAP_HEADER_WORDS;
}

/* Returns the word that names the page's slab; see layout.h. */
TN_DEVICE uint64_t *tn_label(tn_heap heap, uint32_t page)
{
    return tn_header(heap, page) + TN_HEAP_LABEL_WORD;
}

/* Returns the word with the pages of a run. */
TN_DEVICE uint64_t *tn_run_pages(tn_heap heap, uint32_t page)
{
    return tn_header(heap, page) + TN_HEAP_RUN_PAGES_WORD;
}

/* Returns the bitmap of a slab of `capacity` objects. */
TN_DEVICE uint64_t *tn_bitmap(tn_heap heap, uint32_t page, uint32_t capacity)
{
    if (capacity <= TN_HEAP_BITS_OBJECTS) return tn_header(heap, page) + TN_HEAP_BITS_WORD;
    return (uint64_t *)heap->bitmaps + (uint64_t)page * TN_HEAP_BITMAP_WORDS;
}

TN_DEVICE uint64_t *tn_span_pages(tn_heap heap, uint32_t span)
{
    return (uint64_t *)heap->span_pages + span;
}

TN_DEVICE tn_tree tn_free_spans(tn_heap heap)
{
    return { (uint64_t *)heap->free_spans, &heap->span_shape };
}

TN_DEVICE tn_tree tn_open_spans(tn_heap heap)
{
    return { (uint64_t *)heap->open_spans, &heap->span_shape };
}

/* Returns the tree of a class's slabs in state GOOD or SPARSE. */
TN_DEVICE tn_tree tn_class_tree(tn_heap heap, uint32_t size_class, uint32_t state)
{
    uint32_t tree_words = heap->page_shape.words[0] + heap->page_shape.words[1] + heap->page_shape.words[2];
    uint32_t tree = 2 * size_class + (state == TN_HEAP_STATE_GOOD ? 0 : 1);
    return { (uint64_t *)heap->class_trees + (uint64_t)tree * tree_words, &heap->page_shape };
}

/* Returns a slot of a class. `number` may exceed the count and wraps around. */
TN_DEVICE uint32_t *tn_slot(tn_heap heap, uint32_t size_class, uint32_t number)
{
    uint32_t slot = size_class * heap->slot_count + (number & (tn_heap_class_slots(size_class, heap->slot_count) - 1));
    return (uint32_t *)heap->slots + (uint64_t)slot * TN_HEAP_PLACE_WORDS;
}

TN_DEVICE uint64_t *tn_cursor(tn_heap heap, uint32_t number)
{
    return (uint64_t *)heap->cursors + number * TN_HEAP_CURSOR_WORDS;
}

/* --- addresses -------------------------------------------------------------------------------------- */

TN_DEVICE uint64_t tn_page_address_far(tn_heap heap, uint32_t page)
{
    const tn_heap_control *control = tn_control(heap);
    uint32_t i = 1;
    while (i + 1 < control->region_count && page >= control->regions[i + 1].first_page)
        i++;
    return control->regions[i].address +
           ((uint64_t)(page - control->regions[i].first_page) << TN_HEAP_PAGE_SHIFT);
}

TN_DEVICE uint64_t tn_page_address(tn_heap heap, uint32_t page)
{
    if (page >= heap->first_region.page_count) return tn_page_address_far(heap, page);
    return heap->first_region.address + ((uint64_t)page << TN_HEAP_PAGE_SHIFT);
}

/* Offsets count bytes through the pages of all regions. TN_NO_OFFSET: the address is not in this heap. */
#define TN_NO_OFFSET (~(uint64_t)0)

TN_DEVICE_SLOW uint64_t tn_offset_of_far(tn_heap heap, uint64_t address)
{
    const tn_heap_control *control = tn_control(heap);
    for (uint32_t i = 1; i < control->region_count; i++) {
        const tn_heap_region *region = &control->regions[i];
        uint64_t inside = address - region->address;
        if (address >= region->address && inside >> TN_HEAP_PAGE_SHIFT < region->page_count)
            return ((uint64_t)region->first_page << TN_HEAP_PAGE_SHIFT) + inside;
    }
    return TN_NO_OFFSET;
}

TN_DEVICE uint64_t tn_offset_of(tn_heap heap, uint64_t address)
{
    uint64_t inside = address - heap->first_region.address;
    if (address < heap->first_region.address || inside >> TN_HEAP_PAGE_SHIFT >= heap->first_region.page_count)
        return tn_offset_of_far(tn_out_of_line(heap), address);
    return inside;
}

/* Returns the page that an address lies in, or TN_NO_PAGE: not in this heap. */
TN_DEVICE uint32_t tn_page_of(tn_heap heap, uint64_t address)
{
    return (uint32_t)(tn_offset_of(heap, address) >> TN_HEAP_PAGE_SHIFT);
}

#endif
