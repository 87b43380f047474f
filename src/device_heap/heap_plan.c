/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* heap_plan: offsets, and the first words of an empty heap. */
#include "heap_plan.h"

#include <inttypes.h>
#include <string.h>

#include "../base/arith.h"
#include "../base/error.h"

#define PART_ALIGNMENT     256   /* of each part, so that no two parts share a cache line */
#define PAGES_OF_A_SLOT    64    /* pages of the heap for each slot: small heaps have few */
#define PAGES_OF_ALL_SLOTS 65536 /* 4 GiB: from here on some classes have all slots */
#define PAGES_OF_A_CURSOR  256   /* pages of the heap for each cursor */

/* Programs and kernels of all versions pass the handle by value, and look for the version before all else. */
_Static_assert(sizeof(tarn_device_heap_handle) == 128, "the handle's size never changes");
_Static_assert(offsetof(tarn_device_heap_handle, layout.version) == 60,
               "the version's place never changes");
_Static_assert(TN_HEAP_SPAN_PAGES == 64, "the pages of a span are the bits of a word");
_Static_assert((TN_HEAP_SLOTS_SOME & (TN_HEAP_SLOTS_SOME - 1)) == 0,
               "waves choose slots by bits of their number");
_Static_assert((TN_HEAP_SLOTS_MAX & (TN_HEAP_SLOTS_MAX - 1)) == 0,
               "waves choose slots by bits of their number");

/* --- where things are ---------------------------------------------------------------------------- */

/* Requires: the sum does not overflow. */
static uint64_t round_up(uint64_t value, uint64_t power_of_two)
{
    return tn_round_down(value + power_of_two - 1, power_of_two);
}

static struct tn_heap_tree_shape make_tree_shape(uint64_t count)
{
    struct tn_heap_tree_shape shape;
    for (int level = 0; level < TN_HEAP_TREE_LEVELS; level++) {
        count = round_up(count, 64) / 64;
        shape.words[level] = (uint32_t)count;
    }
    return shape;
}

uint64_t tn_heap_tree_words(const struct tn_heap_tree_shape *shape)
{
    uint64_t words = 0;
    for (int level = 0; level < TN_HEAP_TREE_LEVELS; level++)
        words += shape->words[level];
    return words;
}

/* Returns the largest power of two of at most `limit` and at most `wanted`, but at least 1. */
static uint32_t choose_place_count(uint64_t wanted, uint32_t limit)
{
    uint32_t count = 1;
    while (count * 2 <= limit && count * 2 <= wanted)
        count *= 2;
    return count;
}

/* Appends a part and returns its offset. */
static uint64_t append(uint64_t *end, uint64_t size_bytes)
{
    uint64_t offset = *end;
    *end = round_up(offset + size_bytes, PART_ALIGNMENT);
    return offset;
}

static void lay_out(struct tn_heap_plan *plan, uint64_t size_pages)
{
    plan->span_max = round_up(plan->page_max, TN_HEAP_SPAN_PAGES) / TN_HEAP_SPAN_PAGES;
    plan->span_shape = make_tree_shape(plan->span_max);
    plan->page_shape = make_tree_shape(plan->page_max);
    plan->slot_count = choose_place_count(size_pages / PAGES_OF_A_SLOT, TN_HEAP_SLOTS_SOME);
    if (size_pages >= PAGES_OF_ALL_SLOTS) plan->slot_count = TN_HEAP_SLOTS_MAX;
    plan->cursor_count = choose_place_count(size_pages / PAGES_OF_A_CURSOR, TN_HEAP_CURSORS_MAX);
    uint64_t word = sizeof(uint64_t), place = TN_HEAP_PLACE_WORDS * sizeof(uint32_t);
    uint64_t span_tree = tn_heap_tree_words(&plan->span_shape) * word;
    uint64_t page_tree = tn_heap_tree_words(&plan->page_shape) * word;
    uint64_t end = 0;
    append(&end, sizeof(struct tn_heap_control));
    plan->free_spans = append(&end, span_tree);
    plan->open_spans = append(&end, span_tree);
    plan->span_pages = append(&end, plan->span_max * word);
    plan->headers = append(&end, plan->page_max * TN_HEAP_HEADER_WORDS * word);
    plan->class_trees = append(&end, 2 * TN_HEAP_CLASS_COUNT * page_tree);
    plan->slots = append(&end, (uint64_t)TN_HEAP_CLASS_COUNT * plan->slot_count * place);
    plan->cursors = append(&end, plan->cursor_count * (uint64_t)TN_HEAP_CURSOR_WORDS * word);
    plan->bitmaps = append(&end, plan->page_max * TN_HEAP_BITMAP_WORDS * word);
    plan->metadata_bytes = end;
}

tarn_status tn_heap_plan_init(struct tn_heap_plan *plan, size_t size_bytes, size_t size_bytes_max)
{
    uint64_t size_pages = size_bytes / TN_HEAP_PAGE_BYTES;
    size_t most_bytes = tn_max(size_bytes, size_bytes_max);
    if (most_bytes > TN_HEAP_PAGES_MAX * TN_HEAP_PAGE_BYTES) {
        return tn_fail(TARN_STATUS_SIZE_TOO_LARGE,
                       "a device heap of up to %zu bytes: the maximum is %" PRIu64, most_bytes,
                       TN_HEAP_PAGES_MAX * TN_HEAP_PAGE_BYTES);
    }
    plan->page_max = most_bytes / TN_HEAP_PAGE_BYTES;
    /* A region takes at most one span of numbers more than it has pages. */
    if (size_bytes_max > size_bytes)
        plan->page_max =
            tn_min(plan->page_max + TN_HEAP_REGIONS_MAX * TN_HEAP_SPAN_PAGES, TN_HEAP_PAGES_MAX);
    lay_out(plan, size_pages);
    if (size_bytes < plan->metadata_bytes + TN_HEAP_PAGE_BYTES) {
        return tn_fail(TARN_STATUS_INVALID_ARGUMENT,
                       "a device heap of %zu bytes is too small: a page of %" PRIu64
                       " has to fit behind its metadata, which for up to %zu bytes takes %" PRIu64,
                       size_bytes, TN_HEAP_PAGE_BYTES, most_bytes, plan->metadata_bytes);
    }
    return TARN_STATUS_OK;
}

uint64_t tn_heap_plan_first_page_count(const struct tn_heap_plan *plan, size_t size_bytes)
{
    return (size_bytes - plan->metadata_bytes) / TN_HEAP_PAGE_BYTES;
}

size_t tn_heap_plan_image_bytes(const struct tn_heap_plan *plan)
{
    return plan->span_pages;
}

size_t tn_heap_plan_summary_bytes(const struct tn_heap_plan *plan)
{
    return plan->headers;
}

/* --- what an empty heap has in them ---------------------------------------------------------------- */

void tn_heap_plan_write_image(const struct tn_heap_plan *plan, uint64_t metadata_address,
                              enum tn_heap_check check, void *image_out)
{
    memset(image_out, 0, tn_heap_plan_image_bytes(plan));
    struct tn_heap_layout *layout = &((struct tn_heap_control *)image_out)->layout;
    layout->control = metadata_address;
    layout->headers = metadata_address + plan->headers;
    layout->bitmaps = metadata_address + plan->bitmaps;
    layout->span_pages = metadata_address + plan->span_pages;
    layout->free_spans = metadata_address + plan->free_spans;
    layout->open_spans = metadata_address + plan->open_spans;
    layout->class_trees = metadata_address + plan->class_trees;
    layout->slots = metadata_address + plan->slots;
    layout->cursors = metadata_address + plan->cursors;
    layout->span_shape = plan->span_shape;
    layout->page_shape = plan->page_shape;
    layout->slot_count = plan->slot_count;
    layout->cursor_count = plan->cursor_count;
    layout->check = (uint32_t)check;
    layout->version = TN_HEAP_LAYOUT_VERSION;
}

static void set_tree_bit(uint64_t *tree, const struct tn_heap_tree_shape *shape, uint64_t number)
{
    for (int level = 0; level < TN_HEAP_TREE_LEVELS; level++) {
        tree[number / 64] |= (uint64_t)1 << number % 64;
        tree += shape->words[level];
        number /= 64;
    }
}

/* Returns the number of the first page of the next region. */
static uint64_t next_first_page(const struct tn_heap_control *control)
{
    if (control->region_count == 0) return 0;
    const struct tn_heap_region *last = &control->regions[control->region_count - 1];
    uint64_t end = (uint64_t)last->first_page + last->page_count;
    return tn_round_down(end, TN_HEAP_SPAN_PAGES) + TN_HEAP_SPAN_PAGES;
}

tarn_status tn_heap_plan_check_region(const struct tn_heap_plan *plan, const void *image,
                                      uint64_t page_count)
{
    const struct tn_heap_control *control = image;
    if (control->region_count == TN_HEAP_REGIONS_MAX) {
        return tn_fail(TARN_STATUS_OVER_LIMIT,
                       "the device heap consists of %d pieces of memory already, the most it can",
                       TN_HEAP_REGIONS_MAX);
    }
    uint64_t first_page = next_first_page(control);
    if (page_count > plan->page_max || first_page > plan->page_max - page_count) {
        return tn_fail(TARN_STATUS_OVER_LIMIT,
                       "%" PRIu64 " more pages for a device heap that has numbers for %" PRIu64
                       ", of which %" PRIu64 " are used",
                       page_count, plan->page_max, tn_min(first_page, plan->page_max));
    }
    return TARN_STATUS_OK;
}

struct tn_heap_spans tn_heap_plan_add_region(const struct tn_heap_plan *plan, void *image,
                                             uint64_t address, uint64_t page_count)
{
    struct tn_heap_control *control = image;
    uint64_t first_page = next_first_page(control);
    TN_ASSERT(page_count > 0);
    TN_ASSERT(control->region_count < TN_HEAP_REGIONS_MAX);
    TN_ASSERT(first_page + page_count <= plan->page_max);
    control->regions[control->region_count++] = (struct tn_heap_region){
        .address = address,
        .first_page = (uint32_t)first_page,
        .page_count = (uint32_t)page_count,
    };
    control->layout.first_region = control->regions[0];
    uint64_t *free_spans = (uint64_t *)image + plan->free_spans / 8;
    uint64_t *open_spans = (uint64_t *)image + plan->open_spans / 8;
    const struct tn_heap_spans spans = {
        .first = (uint32_t)(first_page / TN_HEAP_SPAN_PAGES),
        .whole_count = (uint32_t)(page_count / TN_HEAP_SPAN_PAGES),
        .rest_pages = ((uint64_t)1 << page_count % TN_HEAP_SPAN_PAGES) - 1,
    };
    uint32_t rest_span = spans.first + spans.whole_count;
    control->span_end = spans.rest_pages != 0 ? rest_span + 1 : rest_span;
    for (uint32_t span = spans.first; span < rest_span; span++)
        set_tree_bit(free_spans, &plan->span_shape, span);
    for (uint32_t span = spans.first; span < control->span_end; span++)
        set_tree_bit(open_spans, &plan->span_shape, span);
    return spans;
}
