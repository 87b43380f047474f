/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * heap_check: compares every structure of a heap with all others. The headers of the device's half explain
 * why these rules hold while no kernel uses the heap:
 *
 *   - all that only the host writes is unchanged
 *   - trees have a bit above each nonzero word, and name only pages and spans that exist
 *   - no slot is busy, and none beyond those of its class is used. A slab is current if and only if it is in a
 *     slot, or next for one: exactly one, of its class
 *   - the label of a page names its slab, or says that a run begins there; all other labels are 0
 *   - a slab's header agrees with itself, and has a state that is due. Its credits and the live objects in its
 *     bitmap add up to its capacity. A good or sparse slab is in its tree
 *   - each page is free or belongs to one slab or run; a span with free pages is in the tree of open spans, and
 *     a span is in the tree of free spans if and only if all its pages are free
 *   - pages without a slab have no bits in their bitmaps
 *   - the counters of spans are right
 */
#include "heap_check.h"

#include <inttypes.h>

#include "../base/arith.h"
#include "../base/error.h"
#include "../base/host_memory.h"

#define PLACE_BUSY   UINT32_MAX
#define GOOD_DIVISOR 4 /* a slab with a quarter of its objects free is good */

/* Sets of pages have a word for each span. */
struct walk {
    struct tn_heap_view view;
    uint64_t *known; /* pages that exist */
    uint64_t *owned; /* pages that are free or belong to a slab or run */
    uint64_t *slots; /* first pages of slabs in slots */
    uint64_t used_span_count;
    const char *place; /* of the fault: the kind of thing that `number` counts */
    uint64_t number;
};

static const char *fault_at(struct walk *walk, const char *place, uint64_t number,
                            const char *fault)
{
    walk->place = place;
    walk->number = number;
    return fault;
}

/* --- sets of pages ------------------------------------------------------------------------------- */

/* Returns the bits of a run's pages that lie in a span. Requires: there is at least one. */
static uint64_t bits_in_span(uint64_t span, uint64_t first_page, uint64_t page_count)
{
    uint64_t first = tn_max(first_page, span * 64);
    uint64_t length = tn_min(first_page + page_count, span * 64 + 64) - first;
    return UINT64_MAX >> (64 - length) << first % 64;
}

/* Adds pages to a set. False: one of them was in it. */
static bool insert(uint64_t *set, uint64_t first_page, uint64_t page_count)
{
    for (uint64_t span = first_page / 64; span * 64 < first_page + page_count; span++) {
        uint64_t bits = bits_in_span(span, first_page, page_count);
        if ((set[span] & bits) != 0) return false;
        set[span] |= bits;
    }
    return true;
}

/* Adds existing pages to a set. False: one of them does not exist, or was in it; some may have been added. */
static bool claim(const struct walk *walk, uint64_t *set, uint64_t first_page, uint64_t page_count)
{
    if (page_count > walk->view.plan->page_max - first_page) return false;
    for (uint64_t span = first_page / 64; span * 64 < first_page + page_count; span++)
        if ((bits_in_span(span, first_page, page_count) & ~walk->known[span]) != 0) return false;
    return insert(set, first_page, page_count);
}

static bool is_known(const struct walk *walk, uint64_t page)
{
    return page < walk->view.plan->page_max && tn_heap_bit_is_set(walk->known, page);
}

/* --- the host's words ---------------------------------------------------------------------------- */

static const char *check_layout(struct walk *walk)
{
    if (tn_heap_view_is_intact(&walk->view)) return NULL;
    return fault_at(walk, "control block", 0, "it has been overwritten");
}

/* --- trees --------------------------------------------------------------------------------------- */

static const char *check_tree(struct walk *walk, const struct tn_heap_tree_view *tree,
                              const char *place, uint64_t number)
{
    for (int level = 1; level < TN_HEAP_TREE_LEVELS; level++) {
        for (uint32_t i = 0; i < tree->shape->words[level - 1]; i++)
            if (tree->levels[level - 1][i] != 0 && !tn_heap_bit_is_set(tree->levels[level], i))
                return fault_at(walk, place, number, "a word of its tree has no bit above");
    }
    return NULL;
}

/* Checks that all pages in the tree exist. The tree has one word for each span. */
static const char *check_class_tree(struct walk *walk, uint32_t size_class, uint32_t state)
{
    const struct tn_heap_tree_view tree = tn_heap_view_class_tree(&walk->view, size_class, state);
    for (uint64_t span = 0; span < walk->view.plan->span_max; span++)
        if ((tree.levels[0][span] & ~walk->known[span]) != 0)
            return fault_at(walk, "class", size_class, "a page that does not exist is in a tree");
    return check_tree(walk, &tree, "class", size_class);
}

static const char *check_trees(struct walk *walk)
{
    const struct tn_heap_tree_view free_spans = tn_heap_view_free_spans(&walk->view);
    const struct tn_heap_tree_view open_spans = tn_heap_view_open_spans(&walk->view);
    const char *fault = check_tree(walk, &free_spans, "free spans", 0);
    if (!fault) fault = check_tree(walk, &open_spans, "open spans", 0);
    for (uint32_t i = 0; i < TN_HEAP_CLASS_COUNT && !fault; i++) {
        fault = check_class_tree(walk, i, TN_HEAP_STATE_GOOD);
        if (!fault) fault = check_class_tree(walk, i, TN_HEAP_STATE_SPARSE);
    }
    return fault;
}

/* --- places -------------------------------------------------------------------------------------- */

/* Checks a word of a slot. */
static const char *check_slot(struct walk *walk, uint32_t size_class, uint32_t number,
                              uint32_t word)
{
    uint32_t slot_count = walk->view.plan->slot_count;
    uint64_t slot = (uint64_t)size_class * slot_count + number;
    uint32_t content = tn_heap_view_slot(&walk->view, slot, word);
    if (content == 0) return NULL;
    if (number >= tn_heap_class_slots(size_class, slot_count))
        return fault_at(walk, "class", size_class, "a slot that it does not use is not empty");
    if (content == PLACE_BUSY) return fault_at(walk, "class", size_class, "a slot is busy");
    uint64_t page = content - 1;
    if (!is_known(walk, page))
        return fault_at(walk, "class", size_class, "a slot has a page that does not exist");
    const struct tn_heap_header header = tn_heap_view_header(&walk->view, page);
    if (header.owner != TN_HEAP_OWNER_SLAB || header.size_class != size_class ||
        header.state != TN_HEAP_STATE_CURRENT)
        return fault_at(walk, "page", page,
                        "it is in a slot, but is not a current slab of its class");
    if (!insert(walk->slots, page, 1)) return fault_at(walk, "page", page, "two slots have it");
    return NULL;
}

static const char *check_places(struct walk *walk)
{
    uint32_t slot_count = walk->view.plan->slot_count;
    const char *fault = NULL;
    for (uint32_t i = 0; i < TN_HEAP_CLASS_COUNT * slot_count && !fault; i++) {
        fault = check_slot(walk, i / slot_count, i % slot_count, 0);
        if (!fault) fault = check_slot(walk, i / slot_count, i % slot_count, TN_HEAP_PLACE_NEXT);
    }
    return fault;
}

/* --- bitmaps ------------------------------------------------------------------------------------- */

/* Counts the ones among the first bit_count bits of a word, and collects all others. */
static uint32_t count_live_of_word(uint64_t word, uint64_t bit_count, uint64_t *others)
{
    uint64_t valid = bit_count >= 64 ? UINT64_MAX : ((uint64_t)1 << bit_count) - 1;
    *others |= word & ~valid;
    return (uint32_t)__builtin_popcountll(word & valid);
}

/* Counts the ones in the bits of object_count objects, and returns whether the pages' words have others. */
static uint32_t count_live(const struct walk *walk, uint64_t page, uint64_t page_count,
                           uint32_t object_count, bool *has_others_out)
{
    const uint64_t *words = tn_heap_view_bitmap(&walk->view, page);
    bool is_beside_header = object_count <= TN_HEAP_BITS_OBJECTS;
    uint64_t others = 0;
    uint64_t left = is_beside_header ? object_count : 0;
    uint32_t live_count = 0;
    for (uint64_t i = 0; i < page_count; i++, left = 0)
        live_count +=
            count_live_of_word(tn_heap_view_bits_word(&walk->view, page + i), left, &others);
    left = is_beside_header ? 0 : object_count;
    for (uint64_t i = 0; i < page_count * TN_HEAP_BITMAP_WORDS; i++, left -= tn_min(left, 64))
        live_count += count_live_of_word(words[i], left, &others);
    *has_others_out = others != 0;
    return live_count;
}

static bool has_bits(const struct walk *walk, uint64_t page, uint64_t page_count)
{
    bool has_others;
    (void)count_live(walk, page, page_count, 0, &has_others);
    return has_others;
}

/* --- slabs and runs ------------------------------------------------------------------------------ */

/* Returns whether a slab stays in its state while no wave works on it. */
static bool is_settled(const struct tn_heap_header *header)
{
    uint32_t credits = (uint32_t)header->credits;
    switch (header->state) {
    case TN_HEAP_STATE_CURRENT:
        return true;
    case TN_HEAP_STATE_FULL:
        return credits == 0;
    case TN_HEAP_STATE_SPARSE:
        return (uint64_t)credits * GOOD_DIVISOR < header->capacity;
    case TN_HEAP_STATE_GOOD:
        return credits < header->capacity;
    default:
        return false;
    }
}

static bool is_in_its_tree(const struct walk *walk, uint64_t page,
                           const struct tn_heap_header *header)
{
    if (header->state != TN_HEAP_STATE_GOOD && header->state != TN_HEAP_STATE_SPARSE) return true;
    const struct tn_heap_tree_view tree =
        tn_heap_view_class_tree(&walk->view, header->size_class, header->state);
    return tn_heap_bit_is_set(tree.levels[0], page);
}

/* Returns whether all page_count pages have this label. */
static bool have_label(const struct walk *walk, uint64_t page, uint64_t page_count, uint64_t label)
{
    for (uint64_t i = 0; i < page_count; i++)
        if (tn_heap_view_label(&walk->view, page + i) != label) return false;
    return true;
}

static const char *check_slab(struct walk *walk, uint64_t page, const struct tn_heap_header *header)
{
    uint64_t pages = header->page_count;
    uint64_t capacity = pages * TN_HEAP_PAGE_BYTES / tn_heap_class_bytes(header->size_class);
    bool has_others;
    if (pages == 0 || page % TN_HEAP_SPAN_PAGES + pages > TN_HEAP_SPAN_PAGES)
        return "its slab has no pages, or leaves its span";
    if (header->capacity != capacity) return "its slab's capacity does not match its pages";
    if (header->credits < 0 || (uint64_t)header->credits > capacity)
        return "its slab has negative credits, or more than objects";
    if (!claim(walk, walk->owned, page, pages))
        return "pages of its slab belong to another, or do not exist";
    if (!have_label(walk, page, pages, tn_heap_label_of(header->size_class + 1, capacity, page)))
        return "a page of its slab has a wrong label";
    uint32_t live_count = count_live(walk, page, pages, header->capacity, &has_others);
    if (live_count + (uint32_t)header->credits != capacity)
        return "its slab has a wrong number of credits";
    if (has_others) return "the bitmap of its slab has bits beyond its objects";
    if (!is_settled(header)) return "its slab is in the wrong state";
    if (!is_in_its_tree(walk, page, header)) return "its slab is not in the tree of its class";
    bool is_current = header->state == TN_HEAP_STATE_CURRENT;
    if (is_current != tn_heap_bit_is_set(walk->slots, page))
        return "its slab is current but in no slot";
    return NULL;
}

static const char *check_run(struct walk *walk, uint64_t page)
{
    uint64_t pages = tn_heap_view_run_pages(&walk->view, page);
    uint64_t in_span = page % TN_HEAP_SPAN_PAGES;
    if (tn_heap_view_header_words(&walk->view, page)[0] != TN_HEAP_CLASS_RUN)
        return "the header of its run has other bits";
    if (pages == 0 || (in_span > 0 && in_span + pages > TN_HEAP_SPAN_PAGES))
        return "its run has no pages, or leaves its span";
    if (!claim(walk, walk->owned, page, pages))
        return "pages of its run belong to another, or do not exist";
    if (!have_label(walk, page, 1, TN_HEAP_CLASS_RUN) || !have_label(walk, page + 1, pages - 1, 0))
        return "a page of its run has a wrong label";
    return has_bits(walk, page, pages) ? "the bitmap of its run has bits" : NULL;
}

static const char *check_header(struct walk *walk, uint64_t page)
{
    const struct tn_heap_header header = tn_heap_view_header(&walk->view, page);
    switch (header.owner) {
    case TN_HEAP_OWNER_SLAB:
        return check_slab(walk, page, &header);
    case TN_HEAP_OWNER_RUN:
        return check_run(walk, page);
    case TN_HEAP_OWNER_NOBODY:
        if (tn_heap_view_header_words(&walk->view, page)[0] != 0)
            return "the header of a page without slab or run is not 0";
        return NULL;
    default:
        return "its header is invalid";
    }
}

static const char *check_headers(struct walk *walk)
{
    for (uint64_t page = 0; page < walk->view.plan->page_max; page++) {
        const char *fault = check_header(walk, page);
        if (fault) return fault_at(walk, "page", page, fault);
    }
    return NULL;
}

/* --- spans --------------------------------------------------------------------------------------- */

static bool has_bits_of_free_pages(const struct walk *walk, uint64_t span, uint64_t pages)
{
    for (; pages != 0; pages &= pages - 1)
        if (has_bits(walk, span * TN_HEAP_SPAN_PAGES + tn_lowest_bit(pages), 1)) return true;
    return false;
}

static bool has_labels_of_free_pages(const struct walk *walk, uint64_t span, uint64_t pages)
{
    for (; pages != 0; pages &= pages - 1)
        if (!have_label(walk, span * TN_HEAP_SPAN_PAGES + tn_lowest_bit(pages), 1, 0)) return true;
    return false;
}

static const char *check_span(struct walk *walk, uint64_t span)
{
    uint64_t known = walk->known[span];
    uint64_t free_pages = tn_heap_view_free_pages(&walk->view, span);
    bool is_free = tn_heap_bit_is_set(tn_heap_view_free_spans(&walk->view).levels[0], span);
    bool is_open = tn_heap_bit_is_set(tn_heap_view_open_spans(&walk->view).levels[0], span);
    if ((free_pages & ~known) != 0) return "pages that do not exist are free";
    if (is_open && known == 0) return "it is in the tree of open spans, but has no pages";
    if (free_pages != 0 && !is_open)
        return "it has free pages, but is not in the tree of open spans";
    if (is_free && ~free_pages != 0)
        return "it is in the tree of free spans, but not all its pages are free";
    if (!is_free && ~free_pages == 0)
        return "all its pages are free, but it is not in the tree of free spans";
    if ((free_pages & walk->owned[span]) != 0) return "pages are free that belong to a slab or run";
    if ((free_pages | walk->owned[span]) != known) return "pages are neither free nor in use";
    if (has_bits_of_free_pages(walk, span, free_pages)) return "the bitmap of a free page has bits";
    if (has_labels_of_free_pages(walk, span, free_pages)) return "a free page has a label";
    if (~known == 0 && !is_free) walk->used_span_count++;
    return NULL;
}

static const char *check_spans(struct walk *walk)
{
    for (uint64_t span = 0; span < walk->view.plan->span_max; span++) {
        const char *fault = check_span(walk, span);
        if (fault) return fault_at(walk, "span", span, fault);
    }
    return NULL;
}

/* --- counters ------------------------------------------------------------------------------------ */

static const char *check_counters(struct walk *walk)
{
    const struct tn_heap_counters *counters = &tn_heap_view_control(&walk->view)->counters;
    if (counters->spans_used != walk->used_span_count)
        return fault_at(walk, "spans", walk->used_span_count,
                        "this many are used, but the counter differs");
    if (counters->spans_used_max < counters->spans_used)
        return fault_at(walk, "spans", counters->spans_used, "their high-water mark is lower");
    if (counters->spans_used_max > walk->view.plan->span_max)
        return fault_at(walk, "spans", walk->view.plan->span_max,
                        "there are no more, but their high-water mark is higher");
    if ((uint32_t)counters->moves != 0)
        return fault_at(walk, "moves", (uint32_t)counters->moves,
                        "this many are counted as under way");
    if (counters->span_takers != 0)
        return fault_at(walk, "takers", counters->span_takers,
                        "this many are counted as looking for a span");
    return NULL;
}

/* --- all of it ----------------------------------------------------------------------------------- */

/* In an order in which each check may rely on those before it. */
static const char *check(struct walk *walk)
{
    const struct tn_heap_control *known = walk->view.known;
    for (uint32_t i = 0; i < known->region_count; i++)
        insert(walk->known, known->regions[i].first_page, known->regions[i].page_count);
    const char *fault = check_layout(walk);
    if (!fault) fault = check_trees(walk);
    if (!fault) fault = check_places(walk);
    if (!fault) fault = check_headers(walk);
    if (!fault) fault = check_spans(walk);
    if (!fault) fault = check_counters(walk);
    return fault;
}

tarn_status tn_heap_check(const struct tn_heap_view *view)
{
    size_t set_bytes = view->plan->span_max * sizeof(uint64_t);
    uint64_t *sets = tn_host_memory_alloc_zeroed(3 * set_bytes);
    if (!sets) {
        return tn_fail(TARN_STATUS_OUT_OF_HOST_MEMORY,
                       "device heap: the host has no memory for a check of %" PRIu64 " spans",
                       view->plan->span_max);
    }
    struct walk walk = { .view = *view,
                         .known = sets,
                         .owned = sets + view->plan->span_max,
                         .slots = sets + 2 * view->plan->span_max };
    const char *fault = check(&walk);
    tn_host_memory_free(sets);
    if (!fault) return TARN_STATUS_OK;
    return tn_fail(TARN_STATUS_CORRUPT, "device heap: %s %" PRIu64 ": %s", walk.place, walk.number,
                   fault);
}
