/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * device_heap/layout: the memory layout of a device heap, for the host that prepares it and the device that
 * uses it. Not for users: they include tarn/device_heap.h and tarn/device_heap.cuh.
 *
 *     region   | page | page | page | ...                     64 KiB each; 64 make a span, of 4 MiB
 *                  \______________/
 *                    slab: a run of pages cut into objects of one size class
 *                    run:  a run of pages that is one large object
 *
 * All metadata lies outside the pages. Each page has a header, a label and 4096 bits. The header of a slab's
 * first page counts its free objects, the credits; the slab's bits say which objects those are. A wave takes
 * credits first. They entitle it to as many of the bits, so its search for them must end. A free clears the
 * bits first and returns the credits after. The label of each page of a slab names the slab, for frees.
 *
 *     span pages   one word a span: a bit for each free page. The word is the truth
 *     free spans   a bit tree of hints, one bit a span: all its pages are free
 *     open spans   a bit tree of hints: the span has free pages
 *     good, sparse one bit tree of hints for each size class: slabs with many credits, and with few
 *     slots        for each size class places that blocks of threads take their objects from: a slab each
 *     cursors      places that count tickets for pages, 64 to a span, and pages that came back
 *
 * An empty heap is all zero, except the control block and the pages and trees of spans.
 *
 * The library lays a heap out, and kernels are compiled with these headers. So the layout has a number, which is in the
 * handle: a kernel of another number gets null and frees nothing, and a program of another number cannot create a heap.
 * The handle's size, and the place of the number in it, never change.
 */
#ifndef TARN_DEVICE_HEAP_LAYOUT_H
#define TARN_DEVICE_HEAP_LAYOUT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raise it with any change after which kernels of the old and the new headers cannot use one heap: of this file, of size
 * classes, or of the order in which device code changes words. Tests set another number. */
#ifndef TN_HEAP_LAYOUT_VERSION
#define TN_HEAP_LAYOUT_VERSION 1
#endif

#define TN_HEAP_PAGE_SHIFT   16
#define TN_HEAP_PAGE_BYTES   ((uint64_t)1 << TN_HEAP_PAGE_SHIFT)
#define TN_HEAP_SPAN_PAGES   64 /* bits of a word */
#define TN_HEAP_OBJECT_MIN   16 /* bytes; also the alignment of every object */
#define TN_HEAP_BITMAP_WORDS 64 /* for each page: 4096 objects of 16 bytes */
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
#define TN_HEAP_PLACE_NEXT  16 /* word of the slot's next slab, in a third sector */
#define TN_HEAP_TREE_LEVELS 3

/* A header takes the first four 64-bit words of a cache line. Spread out, headers of neighbouring slabs use
 * more parts of the device's cache at once. */
#define TN_HEAP_HEADER_WORDS 16

/* A cursor has 64-bit words in a cache line each, since many waves add to them at once. The first counts
 * returns in its upper half, and requested pages since the last return below. The others count pages that
 * came back since then; the spans are spread over them. More of them would make frees faster, but summing
 * them up slower. */
#define TN_HEAP_CURSOR_LINE_WORDS  16
#define TN_HEAP_CURSOR_FREED_LINES 2 /* a power of two */
#define TN_HEAP_CURSOR_LINES       (1 + TN_HEAP_CURSOR_FREED_LINES)
#define TN_HEAP_CURSOR_WORDS       (TN_HEAP_CURSOR_LINES * TN_HEAP_CURSOR_LINE_WORDS)
#define TN_HEAP_TICKETS_RETURNS    32 /* the lowest bit of the count of returns */

/* The fields of a header, from the lowest bit: the size class + 1, or TN_HEAP_CLASS_RUN, or 0; the state; the
 * pages; the capacity in objects; the credits. Credits are signed: a wave may take too many for a moment, and
 * then returns them. */
#define TN_HEAP_CLASS_BITS     6
#define TN_HEAP_CLASS_RUN      63
#define TN_HEAP_STATE_SHIFT    6
#define TN_HEAP_STATE_BITS     3
#define TN_HEAP_PAGES_SHIFT    9
#define TN_HEAP_PAGES_BITS     7
#define TN_HEAP_CAPACITY_SHIFT 16
#define TN_HEAP_CAPACITY_BITS  19
#define TN_HEAP_CREDIT_SHIFT   35

/* The header word with the pages of the run that begins there. */
#define TN_HEAP_RUN_PAGES_WORD 1

/* The fields of a label, from the lowest bit: the size class + 1, or TN_HEAP_CLASS_RUN, or 0; the capacity in
 * objects; the first page. Each page of a slab has a label, and the first page of a run. */
#define TN_HEAP_LABEL_WORD           2 /* of a page's header words */
#define TN_HEAP_LABEL_CAPACITY_SHIFT 6
#define TN_HEAP_LABEL_PAGE_SHIFT     25

/* If a slab has no more objects than a word has bits, its bitmap is beside the header of its first page, so
 * that header and bits are in one sector of memory. */
#define TN_HEAP_BITS_WORD    3 /* of a page's header words */
#define TN_HEAP_BITS_OBJECTS 64

enum tn_heap_state {
    TN_HEAP_STATE_IDLE,    /* no slab */
    TN_HEAP_STATE_CURRENT, /* in a slot, or next for one; keeps its pages even if wholly free */
    TN_HEAP_STATE_FULL,    /* in no slot or tree: had no credits when it left its slot */
    TN_HEAP_STATE_SPARSE,  /* in its class's tree of slabs with few credits */
    TN_HEAP_STATE_GOOD     /* in its class's tree of slabs with many credits */
};

/* The check level, with the numbers of tarn_device_heap_checks. */
enum tn_heap_check {
    TN_HEAP_CHECK_NONE,
    TN_HEAP_CHECK_FREES,
    TN_HEAP_CHECK_CONTENTS
};

#define TN_HEAP_CANARY_BYTES 16 /* added to each object if contents are checked */

struct tn_heap_region {
    uint64_t address;    /* of the first page */
    uint32_t first_page; /* its number, a multiple of TN_HEAP_SPAN_PAGES */
    uint32_t page_count;
};

/* Counters of errors and rare events. */
struct tn_heap_counters {
    uint64_t failed;        /* requests without memory */
    uint64_t double_frees;  /* frees of objects that were not live */
    uint64_t foreign_frees; /* frees of addresses that are no object's */
    uint64_t damaged_frees; /* frees of objects with an overwritten end */
    uint64_t idle_classes;  /* a bit for each class that has a wholly free slab in a slot */
    uint64_t moves;         /* begun in the upper half, under way below; see moves.cuh */
    uint32_t spans_used;    /* spans with pages in use */
    uint32_t spans_used_max;
    uint32_t span_takers; /* waves looking for a whole span now */
    uint32_t reserved;
};

/* 64-bit words on each level of a bit tree, for all trees over the same range. */
struct tn_heap_tree_shape {
    uint32_t words[TN_HEAP_TREE_LEVELS];
};

/* Device addresses of all parts. Only the host writes it, while no kernel uses the heap. */
struct tn_heap_layout {
    uint64_t control; /* of the control block, which has a copy of this */
    uint64_t headers; /* TN_HEAP_HEADER_WORDS words for each page */
    uint64_t bitmaps; /* TN_HEAP_BITMAP_WORDS for each page; for slabs of more than 64 objects */
    uint64_t slots;   /* slot_count for each class */
    struct tn_heap_region first_region;
    uint32_t slot_count;   /* maximum for a class; a power of two */
    uint32_t cursor_count; /* a power of two */
    uint32_t check;        /* enum tn_heap_check */
    uint32_t version;      /* TN_HEAP_LAYOUT_VERSION of the library; 0: no heap */
    uint64_t span_pages;   /* a word for each span */
    uint64_t free_spans;   /* a tree over spans */
    uint64_t open_spans;   /* a tree over spans */
    uint64_t class_trees;  /* two trees over pages for each class: good, sparse */
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

/* The argument for kernels, by value: reading a kernel parameter costs nothing. It stays the same when
 * regions are added. */
typedef struct tarn_device_heap_handle {
    struct tn_heap_layout layout;
} tarn_device_heap_handle;

#ifdef __cplusplus
}
#endif

#endif
