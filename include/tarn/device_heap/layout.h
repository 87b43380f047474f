/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * device_heap/layout: what a device heap looks like in memory, for the host that lays it out and for the
 * device that works in it. Not for users: tarn/device_heap.h and tarn/device_heap.cuh are.
 *
 *     region   | page | page | page | ...                     64 KiB each; 64 make a span, of 4 MiB
 *                  \______________/
 *                    slab: a run of pages cut into objects of one size class
 *                    run:  a run of pages that is one large object
 *
 * Nothing that manages memory lies in it. Each page has a header, a label and 4096 bits; the header of a slab's first
 * page counts the free objects, the credits, and the slab's bits say which those are. Who takes objects takes credits
 * first, and then has a right to so many of the bits, so the search for them must end. Who frees clears the bits
 * first, and gives the credits back after. The label of each page of a slab says what slab that is, for who frees.
 *
 *     span pages   one word a span: a bit for each free page. The word is the truth
 *     free spans   a bit tree of hints, one bit a span: all its pages are free
 *     open spans   a bit tree of hints: the span has free pages
 *     good, sparse one bit tree of hints for each size class: slabs with many credits, and with few
 *     slots        for each size class places that blocks of threads take their objects from: a slab each
 *     cursors      places that count tickets for pages, 64 to a span, and pages that came back
 *
 * All zero but the pages and trees of spans and the control block is an empty heap.
 */
#ifndef TARN_DEVICE_HEAP_LAYOUT_H
#define TARN_DEVICE_HEAP_LAYOUT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TN_HEAP_PAGE_SHIFT   16
#define TN_HEAP_PAGE_BYTES   ((uint64_t)1 << TN_HEAP_PAGE_SHIFT)
#define TN_HEAP_SPAN_PAGES   64 /* bits of a word */
#define TN_HEAP_OBJECT_MIN   16 /* bytes, and the alignment of every object */
#define TN_HEAP_BITMAP_WORDS 64 /* of a page: 4096 objects of 16 bytes */
#define TN_HEAP_CLASS_COUNT  44
#define TN_HEAP_OBJECT_MAX   65536 /* bytes of the largest size class */
#define TN_HEAP_REGIONS_MAX  16
#define TN_HEAP_SLOTS_SOME   64  /* of most classes, at most */
#define TN_HEAP_SLOTS_MAX    128 /* of the others, in large heaps; see tn_heap_class_slots */
#ifndef TN_HEAP_CURSORS_MAX
#define TN_HEAP_CURSORS_MAX 4
#endif
#define TN_HEAP_PAGES_MAX   ((uint64_t)1 << 24) /* 1 TiB */
#define TN_HEAP_PLACE_WORDS 32                  /* of 32 bits: each slot has a cache line */
#define TN_HEAP_PLACE_NEXT  16 /* the word, in a third sector, for what the slot will have */
#define TN_HEAP_TREE_LEVELS 3

/* A header has the first four words of 64 bits of a cache line: the further apart they lie, the more parts of a device's
 * cache are at work on headers of slabs that lie side by side. */
#define TN_HEAP_HEADER_WORDS 16

/* A cursor: words of 64 bits in a cache line each, since many waves add to them at once. The first counts pages that were
 * asked for, since the last of so many returns above; the others, of which each span has one, pages that came back since
 * then. More of those would make frees quicker, and those slower who add them up. */
#define TN_HEAP_CURSOR_LINE_WORDS  16
#define TN_HEAP_CURSOR_FREED_LINES 2 /* a power of two */
#define TN_HEAP_CURSOR_LINES       (1 + TN_HEAP_CURSOR_FREED_LINES)
#define TN_HEAP_CURSOR_WORDS       (TN_HEAP_CURSOR_LINES * TN_HEAP_CURSOR_LINE_WORDS)
#define TN_HEAP_TICKETS_RETURNS    32 /* the first bit that counts those */

/* What a header says, from the lowest bit: the size class + 1, or TN_HEAP_CLASS_RUN, or 0; the state; the pages; the
 * capacity in objects; and the credits, with a sign, for takers that take too many for a moment and give them
 * back. */
#define TN_HEAP_CLASS_BITS     6
#define TN_HEAP_CLASS_RUN      63
#define TN_HEAP_STATE_SHIFT    6
#define TN_HEAP_STATE_BITS     3
#define TN_HEAP_PAGES_SHIFT    9
#define TN_HEAP_PAGES_BITS     7
#define TN_HEAP_CAPACITY_SHIFT 16
#define TN_HEAP_CAPACITY_BITS  19
#define TN_HEAP_CREDIT_SHIFT   35

/* Of a page's header words: the pages of the run that begins there. */
#define TN_HEAP_RUN_PAGES_WORD 1

/* What a label says, from the lowest bit: the size class + 1, or TN_HEAP_CLASS_RUN, or 0; the capacity in objects; and
 * the first page. Each page of a slab has one, and the first of a run. */
#define TN_HEAP_LABEL_WORD           2 /* of a page's header words */
#define TN_HEAP_LABEL_CAPACITY_SHIFT 6
#define TN_HEAP_LABEL_PAGE_SHIFT     25

/* The bitmap of a slab of no more objects than a word has bits is beside the header of its first page: so what is done
 * to those is done to one sector of memory. */
#define TN_HEAP_BITS_WORD    3 /* of a page's header words */
#define TN_HEAP_BITS_OBJECTS 64

enum tn_heap_state {
    TN_HEAP_STATE_IDLE,    /* no slab */
    TN_HEAP_STATE_CURRENT, /* in a slot, or next for one; not given back even when wholly free */
    TN_HEAP_STATE_FULL,    /* nowhere: had no credits when it left its slot */
    TN_HEAP_STATE_SPARSE,  /* in the tree of its class's slabs with few credits */
    TN_HEAP_STATE_GOOD     /* in the tree of those with many */
};

/* How much is checked; the same numbers as tarn_device_heap_checks. */
enum tn_heap_check {
    TN_HEAP_CHECK_NONE,
    TN_HEAP_CHECK_FREES,
    TN_HEAP_CHECK_CONTENTS
};

#define TN_HEAP_CANARY_BYTES 16 /* that each object has more, where contents are checked */

struct tn_heap_region {
    uint64_t address;    /* of the first page */
    uint32_t first_page; /* its number, a multiple of TN_HEAP_SPAN_PAGES */
    uint32_t page_count;
};

/* Counted where something goes wrong, or is rare. */
struct tn_heap_counters {
    uint64_t failed;        /* requests that got nothing */
    uint64_t double_frees;  /* of what was not live */
    uint64_t foreign_frees; /* of what is no object's address */
    uint64_t damaged_frees; /* of objects whose end was written over */
    uint64_t idle_classes;  /* a bit for each class that has a wholly free slab in a slot */
    uint64_t moves;         /* of spans: begun, in the upper half, and under way; see moves.cuh */
    uint32_t spans_used;    /* not all their pages are free */
    uint32_t spans_used_max;
    uint32_t span_takers; /* that look for a whole span right now */
    uint32_t reserved;
};

/* Of all bit trees over the same range: words of 64 bits on each level, one level after the other. */
struct tn_heap_tree_shape {
    uint32_t words[TN_HEAP_TREE_LEVELS];
};

/* Where everything is, on the device. The host writes it, and only while no kernel uses the heap. */
struct tn_heap_layout {
    uint64_t control; /* the control block, in which there is a copy of this */
    uint64_t headers; /* TN_HEAP_HEADER_WORDS words for each page */
    uint64_t
        bitmaps; /* TN_HEAP_BITMAP_WORDS for each page, for slabs of more objects than a word has bits */
    uint64_t slots; /* slot_count for each class */
    struct tn_heap_region first_region;
    uint32_t slot_count;   /* of a class at most; a power of two */
    uint32_t cursor_count; /* likewise */
    uint32_t check;        /* enum tn_heap_check */
    uint32_t reserved;
    uint64_t span_pages;  /* a word for each span */
    uint64_t free_spans;  /* a tree over spans */
    uint64_t open_spans;  /* likewise */
    uint64_t class_trees; /* two trees over pages for each class: good, sparse */
    uint64_t cursors;
    struct tn_heap_tree_shape span_shape;
    struct tn_heap_tree_shape page_shape;
};

struct tn_heap_control {
    struct tn_heap_layout layout;
    struct tn_heap_counters counters;
    uint32_t region_count;
    uint32_t span_end; /* of all regions */
    struct tn_heap_region regions[TN_HEAP_REGIONS_MAX];
};

/* What kernels are given, by value: as a parameter it lies where it costs nothing to read. It stays the same when
 * regions are added. */
typedef struct tarn_device_heap_handle {
    struct tn_heap_layout layout;
} tarn_device_heap_handle;

#ifdef __cplusplus
}
#endif

#endif
