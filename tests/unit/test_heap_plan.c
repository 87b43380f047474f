/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_heap_plan: sizes of heaps, where their parts lie, and regions that are added to an empty one. */
#include "device_heap/heap_plan.h"

#include <stdlib.h>

#include "device_heap/heap_view.h"
#include "harness/claims.h"
#include "harness/random.h"

#define KIB     ((size_t)1 << 10)
#define MIB     ((size_t)1 << 20)
#define GIB     ((size_t)1 << 30)
#define TIB     ((size_t)1 << 40)
#define PAGE    ((size_t)TN_HEAP_PAGE_BYTES)
#define ADDRESS ((uint64_t)1 << 40)

/* --- parts ---------------------------------------------------------------------------------------- */

static struct tn_heap_plan plan_for(size_t size_bytes, size_t size_bytes_max)
{
    struct tn_heap_plan plan;
    expect_ok(tn_heap_plan_init(&plan, size_bytes, size_bytes_max));
    return plan;
}

/* That a part of so many bytes lies between its place and the next one's. */
static void expect_part(uint64_t begin, uint64_t size_bytes, uint64_t next)
{
    assert_int_equal(begin % 256, 0);
    assert_true(size_bytes > 0);
    assert_in_range(begin + size_bytes, begin + 1, next);
    assert_true(next - begin - size_bytes < 256);
}

static void expect_parts_in_order(const struct tn_heap_plan *plan)
{
    uint64_t spans = (plan->page_max + 63) / 64;
    uint64_t span_tree = 8 * tn_heap_tree_words(&plan->span_shape);
    uint64_t page_tree = 8 * tn_heap_tree_words(&plan->page_shape);
    uint64_t place = 4 * TN_HEAP_PLACE_WORDS;
    assert_int_equal(plan->span_max, spans);
    expect_part(0, sizeof(struct tn_heap_control), plan->free_spans);
    expect_part(plan->free_spans, span_tree, plan->open_spans);
    expect_part(plan->open_spans, span_tree, plan->span_pages);
    expect_part(plan->span_pages, 8 * spans, plan->headers);
    expect_part(plan->headers, 128 * plan->page_max, plan->class_trees);
    expect_part(plan->class_trees, 2 * TN_HEAP_CLASS_COUNT * page_tree, plan->slots);
    expect_part(plan->slots, TN_HEAP_CLASS_COUNT * plan->slot_count * place, plan->cursors);
    expect_part(plan->cursors, 8 * TN_HEAP_CURSOR_WORDS * plan->cursor_count, plan->bitmaps);
    expect_part(plan->bitmaps, 512 * plan->page_max, plan->metadata_bytes);
    assert_int_equal(tn_heap_plan_image_bytes(plan), plan->span_pages);
    assert_int_equal(tn_heap_plan_summary_bytes(plan), plan->headers);
}

/* A bit of one level for each word of the one below. */
static void expect_shape(const struct tn_heap_tree_shape *shape, uint64_t count)
{
    for (int level = 0; level < TN_HEAP_TREE_LEVELS; level++) {
        assert_in_range(count, 64 * (uint64_t)shape->words[level] - 63,
                        64 * (uint64_t)shape->words[level]);
        count = shape->words[level];
    }
}

static void parts_lie_one_after_the_other(void **state)
{
    const size_t sizes[] = { 100 * KIB, MIB,     4 * MIB,  4 * MIB + 1, 17 * MIB,
                             GIB,       8 * GIB, 64 * GIB, TIB - 1,     TIB };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const struct tn_heap_plan plan = plan_for(sizes[i], 0);
        expect_parts_in_order(&plan);
        expect_shape(&plan.span_shape, plan.span_max);
        expect_shape(&plan.page_shape, plan.page_max);
        assert_int_equal(plan.page_max, sizes[i] / PAGE);
        const struct tn_heap_plan growing = plan_for(TIB / 8, TIB / 8 + sizes[i] / 8 * 7);
        expect_parts_in_order(&growing);
    }
}

/* As the header says. */
static void metadata_is_a_small_part(void **state)
{
    assert_true(plan_for(MIB, 0).metadata_bytes * 100 < 2 * MIB);
    for (size_t size_bytes = 8 * MIB; size_bytes <= TIB; size_bytes *= 2) {
        const struct tn_heap_plan plan = plan_for(size_bytes, 0);
        assert_true(plan.metadata_bytes * 2000 < size_bytes * (size_bytes < GIB ? 24 : 21));
        assert_true(tn_heap_plan_summary_bytes(&plan) <= 72 * KIB + size_bytes / (512 * KIB));
        assert_true(tn_heap_plan_image_bytes(&plan) <= 72 * KIB);
    }
}

/* As the header says of heaps that may grow. */
static void growing_heaps_keep_to_what_metadata_may_take(void **state)
{
    for (size_t size_bytes = MIB; size_bytes <= 8 * GIB; size_bytes *= 2) {
        for (size_t more_bytes = 64 * KIB; more_bytes <= 64 * size_bytes; more_bytes *= 8) {
            size_t most_bytes = size_bytes + more_bytes, bound_bytes = MIB + most_bytes / 2048 * 21;
            if (size_bytes < bound_bytes + PAGE) continue;
            assert_true(plan_for(size_bytes, most_bytes).metadata_bytes <= bound_bytes);
        }
    }
}

static void small_heaps_have_few_places(void **state)
{
    assert_int_equal(plan_for(127 * 64 * KIB, 0).slot_count, 1);
    assert_int_equal(plan_for(128 * 64 * KIB, 0).slot_count, 2);
    assert_int_equal(plan_for(GIB, 0).slot_count, TN_HEAP_SLOTS_SOME);
    assert_int_equal(plan_for(4 * GIB - 64 * KIB, 0).slot_count, TN_HEAP_SLOTS_SOME);
    assert_int_equal(plan_for(4 * GIB, 0).slot_count, TN_HEAP_SLOTS_MAX);
    assert_int_equal(plan_for(32 * MIB - 1, GIB).cursor_count, 1);
    assert_int_equal(plan_for(32 * MIB, GIB).cursor_count, 2);
    assert_int_equal(plan_for(GIB, 0).cursor_count, TN_HEAP_CURSORS_MAX);
}

/* --- sizes ---------------------------------------------------------------------------------------- */

static void expect_refused(tarn_status status, size_t size_bytes, size_t size_bytes_max)
{
    struct tn_heap_plan plan;
    expect_status(status, tn_heap_plan_init(&plan, size_bytes, size_bytes_max));
}

static void a_heap_has_a_page_or_is_none(void **state)
{
    const tarn_status invalid = TARN_STATUS_INVALID_ARGUMENT;
    expect_refused(invalid, 0, 0);
    expect_refused(invalid, 1, 0);
    expect_refused(invalid, PAGE - 1, 0);
    expect_refused(invalid, PAGE, 0);
    size_t smallest = PAGE + (size_t)plan_for(2 * PAGE - 1, 0).metadata_bytes;
    assert_true(smallest <= 75 * KIB);
    assert_true((smallest - PAGE) * 100 < 14 * smallest);
    expect_refused(invalid, smallest - 1, 0);
    for (size_t size_bytes = smallest; size_bytes <= smallest + 1; size_bytes++) {
        const struct tn_heap_plan plan = plan_for(size_bytes, 0);
        assert_int_equal(plan.page_max, 1);
        assert_int_equal(tn_heap_plan_first_page_count(&plan, size_bytes), 1);
    }
}

/* That what lies behind the metadata is pages, and less than one more. */
static void the_first_region_has_what_the_metadata_leaves(void **state)
{
    for (size_t size_bytes = 100 * KIB; size_bytes < 20 * MIB; size_bytes += 777) {
        const struct tn_heap_plan plan = plan_for(size_bytes, 0);
        uint64_t page_count = tn_heap_plan_first_page_count(&plan, size_bytes);
        size_t end = (size_t)(plan.metadata_bytes + page_count * PAGE);
        assert_in_range(page_count, 1, plan.page_max);
        assert_in_range(end, size_bytes - PAGE + 1, size_bytes);
    }
}

static void no_heap_is_larger_than_there_are_page_numbers(void **state)
{
    const tarn_status too_large = TARN_STATUS_SIZE_TOO_LARGE;
    assert_int_equal(plan_for(TIB, 0).page_max, TN_HEAP_PAGES_MAX);
    expect_refused(too_large, TIB + 1, 0);
    expect_refused(too_large, SIZE_MAX, 0);
    expect_refused(too_large, MIB, SIZE_MAX);
    expect_refused(too_large, MIB, TIB + PAGE);
    expect_message("1099511693312");
    assert_int_equal(plan_for(16 * GIB, TIB).page_max, TN_HEAP_PAGES_MAX);
    assert_int_equal(plan_for(TIB, TIB).page_max, TN_HEAP_PAGES_MAX);
}

static void the_metadata_is_for_what_a_heap_may_grow_to(void **state)
{
    assert_int_equal(plan_for(GIB, GIB).page_max, GIB / PAGE);
    assert_int_equal(plan_for(GIB, GIB - 1).page_max, GIB / PAGE);
    assert_int_equal(plan_for(GIB, GIB + 1).page_max, GIB / PAGE + 16 * 64);
    assert_true(plan_for(GIB, 2 * GIB).metadata_bytes > plan_for(2 * GIB, 0).metadata_bytes);
    expect_refused(TARN_STATUS_INVALID_ARGUMENT, MIB, GIB); /* no room for it */
    expect_message(
        "1048576 bytes is too small: a page of 65536 has to fit behind its metadata, which for up to "
        "1073741824 bytes takes");
}

/* --- images --------------------------------------------------------------------------------------- */

/* An image and the words behind it that are not 0, as the device would have them. */
struct empty_heap {
    struct tn_heap_plan plan;
    uint64_t *words; /* of the summary */
};

static struct empty_heap empty_heap_create(size_t size_bytes, size_t size_bytes_max)
{
    struct empty_heap heap = { .plan = plan_for(size_bytes, size_bytes_max) };
    heap.words = calloc(1, tn_heap_plan_summary_bytes(&heap.plan));
    assert_non_null(heap.words);
    memset(heap.words, 0xa5, tn_heap_plan_image_bytes(&heap.plan)); /* it is all written */
    tn_heap_plan_write_image(&heap.plan, ADDRESS, TN_HEAP_CHECK_FREES, heap.words);
    return heap;
}

static struct tn_heap_view view_of(const struct empty_heap *heap)
{
    return (struct tn_heap_view){ &heap->plan, (const void *)heap->words, heap->words };
}

static const struct tn_heap_region *add_region(struct empty_heap *heap, uint64_t page_count)
{
    struct tn_heap_control *control = (void *)heap->words;
    uint64_t address = ADDRESS + (control->region_count + 1) * TIB;
    expect_ok(tn_heap_plan_check_region(&heap->plan, heap->words, page_count));
    const struct tn_heap_spans spans =
        tn_heap_plan_add_region(&heap->plan, heap->words, address, page_count);
    uint64_t *words = heap->words + heap->plan.span_pages / 8 + spans.first;
    memset(words, UINT8_MAX, spans.whole_count * sizeof *words);
    if (spans.rest_pages != 0) words[spans.whole_count] = spans.rest_pages;
    const struct tn_heap_region *region = &control->regions[control->region_count - 1];
    assert_int_equal(region->address, address);
    assert_int_equal(region->page_count, page_count);
    return region;
}

static void expect_tree_covers(const struct tn_heap_tree_view *tree)
{
    for (int level = 1; level < TN_HEAP_TREE_LEVELS; level++) {
        for (uint32_t i = 0; i < tree->shape->words[level - 1]; i++)
            assert_int_equal(tree->levels[level - 1][i] != 0,
                             tn_heap_bit_is_set(tree->levels[level], i));
    }
}

/* That all pages of the regions are free, and no others. */
static void expect_all_free(const struct empty_heap *heap)
{
    const struct tn_heap_view view = view_of(heap);
    const struct tn_heap_tree_view open_spans = tn_heap_view_open_spans(&view);
    const struct tn_heap_tree_view free_spans = tn_heap_view_free_spans(&view);
    uint64_t *expected = calloc(heap->plan.span_max, sizeof *expected);
    uint64_t span_end = 0;
    assert_non_null(expected);
    for (uint32_t i = 0; i < view.known->region_count; i++) {
        const struct tn_heap_region *region = &view.known->regions[i];
        for (uint64_t j = 0; j < region->page_count; j++) {
            uint64_t page = region->first_page + j;
            expected[page / 64] |= (uint64_t)1 << page % 64;
        }
    }
    for (uint64_t span = 0; span < heap->plan.span_max; span++) {
        if (expected[span] != 0) span_end = span + 1;
        assert_true(tn_heap_view_free_pages(&view, span) == expected[span]);
        assert_int_equal(tn_heap_bit_is_set(free_spans.levels[0], span), ~expected[span] == 0);
        assert_int_equal(tn_heap_bit_is_set(open_spans.levels[0], span), expected[span] != 0);
    }
    assert_int_equal(view.known->span_end, span_end);
    expect_tree_covers(&open_spans);
    expect_tree_covers(&free_spans);
    free(expected);
}

static void an_image_says_where_everything_is(void **state)
{
    struct empty_heap heap = empty_heap_create(GIB, 4 * GIB);
    const struct tn_heap_control *control = (const void *)heap.words;
    const struct tn_heap_layout *layout = &control->layout;
    assert_int_equal(layout->control, ADDRESS);
    assert_int_equal(layout->headers, ADDRESS + heap.plan.headers);
    assert_int_equal(layout->bitmaps, ADDRESS + heap.plan.bitmaps);
    assert_int_equal(layout->span_pages, ADDRESS + heap.plan.span_pages);
    assert_int_equal(layout->free_spans, ADDRESS + heap.plan.free_spans);
    assert_int_equal(layout->open_spans, ADDRESS + heap.plan.open_spans);
    assert_int_equal(layout->class_trees, ADDRESS + heap.plan.class_trees);
    assert_int_equal(layout->slots, ADDRESS + heap.plan.slots);
    assert_int_equal(layout->cursors, ADDRESS + heap.plan.cursors);
    assert_int_equal(layout->slot_count, heap.plan.slot_count);
    assert_int_equal(layout->cursor_count, heap.plan.cursor_count);
    assert_int_equal(layout->check, TN_HEAP_CHECK_FREES);
    assert_int_equal(control->region_count, 0);
    assert_int_equal(control->counters.spans_used_max, 0);
    expect_all_free(&heap);
    free(heap.words);
}

static void a_region_has_all_its_pages_free(void **state)
{
    const uint64_t counts[] = { 1,
                                2,
                                62,
                                63,
                                64,
                                65,
                                127,
                                128,
                                129,
                                191,
                                4095,
                                4096,
                                4097,
                                64 * 64 * 64 - 1,
                                64 * 64 * 64,
                                64 * 64 * 64 + 1 };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        struct empty_heap heap = empty_heap_create(20 * GIB, 0);
        assert_int_equal(add_region(&heap, counts[i])->first_page, 0);
        expect_all_free(&heap);
        free(heap.words);
    }
}

static void between_regions_is_a_span_that_is_never_free(void **state)
{
    struct empty_heap heap = empty_heap_create(GIB, 4 * GIB);
    const struct tn_heap_control *control = (const void *)heap.words;
    assert_int_equal(add_region(&heap, 64)->first_page, 0);
    assert_int_equal(add_region(&heap, 65)->first_page, 128); /* span 1 is nobody's */
    assert_int_equal(add_region(&heap, 63)->first_page, 256); /* span 3 is short */
    assert_int_equal(add_region(&heap, 1)->first_page, 320);  /* so is span 4 */
    assert_int_equal(add_region(&heap, 128)->first_page, 384);
    assert_int_equal(add_region(&heap, 1)->first_page, 576);
    assert_memory_equal(&control->layout.first_region, &control->regions[0],
                        sizeof(struct tn_heap_region));
    expect_all_free(&heap);
    free(heap.words);
}

static void regions_are_so_many_and_no_more(void **state)
{
    struct empty_heap heap = empty_heap_create(GIB, 4 * GIB);
    for (int i = 0; i < TN_HEAP_REGIONS_MAX; i++)
        add_region(&heap, 1);
    expect_status(TARN_STATUS_OVER_LIMIT, tn_heap_plan_check_region(&heap.plan, heap.words, 1));
    expect_message("16 pieces");
    expect_all_free(&heap);
    free(heap.words);
}

static void pages_are_so_many_and_no_more(void **state)
{
    struct empty_heap heap = empty_heap_create(GIB, GIB + PAGE);
    uint64_t left = heap.plan.page_max - 128;
    add_region(&heap, 64);
    const tarn_status over = TARN_STATUS_OVER_LIMIT;
    expect_status(over, tn_heap_plan_check_region(&heap.plan, heap.words, left + 1));
    expect_status(over, tn_heap_plan_check_region(&heap.plan, heap.words, UINT64_MAX / PAGE));
    expect_ok(tn_heap_plan_check_region(&heap.plan, heap.words, left - 1));
    assert_int_equal(add_region(&heap, left)->first_page, 128);
    expect_status(over, tn_heap_plan_check_region(&heap.plan, heap.words, 1));
    expect_all_free(&heap);
    free(heap.words);
}

/* Up to what was said there is a number for every page, however it is cut into regions. */
static void what_a_heap_may_grow_to_it_can(void **state)
{
    struct random random = random_init(random_seed(6));
    for (int round = 0; round < 200; round++) {
        uint64_t left = 2 * GIB / PAGE + random_below(&random, 64);
        struct empty_heap heap = empty_heap_create(GIB, left * PAGE);
        for (int i = 0; i < TN_HEAP_REGIONS_MAX && left > 0; i++) {
            bool is_last = i == TN_HEAP_REGIONS_MAX - 1;
            uint64_t count = is_last ? left : random_size(&random, 12);
            if (count > left) count = left;
            add_region(&heap, count);
            left -= count;
        }
        assert_int_equal(left, 0);
        expect_all_free(&heap);
        free(heap.words);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_lie_one_after_the_other),
        cmocka_unit_test(metadata_is_a_small_part),
        cmocka_unit_test(growing_heaps_keep_to_what_metadata_may_take),
        cmocka_unit_test(small_heaps_have_few_places),
        cmocka_unit_test(a_heap_has_a_page_or_is_none),
        cmocka_unit_test(the_first_region_has_what_the_metadata_leaves),
        cmocka_unit_test(no_heap_is_larger_than_there_are_page_numbers),
        cmocka_unit_test(the_metadata_is_for_what_a_heap_may_grow_to),
        cmocka_unit_test(an_image_says_where_everything_is),
        cmocka_unit_test(a_region_has_all_its_pages_free),
        cmocka_unit_test(between_regions_is_a_span_that_is_never_free),
        cmocka_unit_test(regions_are_so_many_and_no_more),
        cmocka_unit_test(pages_are_so_many_and_no_more),
        cmocka_unit_test(what_a_heap_may_grow_to_it_can),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
