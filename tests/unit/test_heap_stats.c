/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_heap_stats: what is counted of heaps whose objects were made by hand. */
#include <sys/mman.h>

#include "heap_fixture.h"

static struct tn_heap_control *begin(const struct fixture *fixture, tarn_device_heap **heap_out)
{
    *heap_out = create_heap(fixture, 20 * MIB, 64 * MIB);
    wait_for_stream(fixture);
    return control_of(*heap_out);
}

/* Statistics of a heap that is sound, which is destroyed then. */
static tarn_device_heap_stats end(const struct fixture *fixture, tarn_device_heap *heap)
{
    expect_ok(tarn_device_heap_check(heap, fixture->stream));
    const tarn_device_heap_stats stats = heap_stats_of(fixture, heap);
    destroy_heap(fixture, heap);
    return stats;
}

static void an_empty_heap_has_everything_free(void **state)
{
    struct fixture *fixture = *state;
    tarn_device_heap *heap;
    uint64_t page_count = begin(fixture, &heap)->regions[0].page_count;
    const tarn_device_heap_stats stats = end(fixture, heap);
    assert_int_equal(stats.struct_bytes, sizeof stats);
    assert_int_equal(stats.size_bytes, 20 * MIB);
    assert_int_equal(stats.capacity_bytes, page_count * PAGE);
    assert_int_equal(stats.piece_count, 1);
    assert_int_equal(stats.free_page_count, page_count);
    assert_int_equal(stats.free_span_count, page_count / 64);
    assert_int_equal(stats.largest_free_bytes, page_count / 64 * 64 * PAGE);
    assert_int_equal(stats.live_count, 0);
    assert_int_equal(stats.span_bytes_max, 0);
}

static void classes_are_those_of_the_device(void **state)
{
    struct fixture *fixture = *state;
    tarn_device_heap *heap;
    begin(fixture, &heap);
    const tarn_device_heap_stats stats = end(fixture, heap);
    size_t smaller = 0;
    for (uint32_t i = 0; i < TARN_DEVICE_HEAP_CLASS_COUNT; i++) {
        size_t object_bytes = stats.classes[i].object_bytes;
        assert_int_equal(object_bytes % 16, 0);
        assert_int_equal(tn_heap_class_of((uint32_t)object_bytes), i);
        assert_int_equal(tn_heap_class_of((uint32_t)smaller + 1), i);
        smaller = object_bytes;
    }
    assert_int_equal(smaller, TN_HEAP_OBJECT_MAX);
}

/* What lies behind the last page in use is not read back, which of a large heap is most of the headers. */
static void headers_behind_the_last_page_in_use_are_not_looked_at(void **state)
{
    struct fixture *fixture = *state;
    tarn_device_heap *heap;
    struct tn_heap_control *control = begin(fixture, &heap);
    make_slab(control, 64, 5, 4, TN_HEAP_STATE_FULL, 2730, 0);
    *header_at(control, 67) = make_header(7, TN_HEAP_STATE_FULL, 1, 512, 0);
    *header_at(control, 68) = make_header(6, TN_HEAP_STATE_FULL, 1, 585, 0);
    const tarn_device_heap_stats stats = heap_stats_of(fixture, heap);
    destroy_heap(fixture, heap);
    assert_int_equal(stats.classes[5].slab_count, 1);
    assert_int_equal(stats.classes[7].slab_count, 1);
    assert_int_equal(stats.classes[6].slab_count, 0);
}

static void slabs_of_further_pieces_are_counted(void **state)
{
    struct fixture *fixture = *state;
    tarn_device_heap *heap = create_heap(fixture, 20 * MIB, 64 * MIB);
    expect_ok(tarn_device_heap_add(heap, 100 * PAGE, fixture->stream));
    expect_ok(tarn_device_heap_add(heap, 70 * PAGE, fixture->stream));
    wait_for_stream(fixture);
    struct tn_heap_control *control = control_of(heap);
    make_slab(control, 3, 5, 4, TN_HEAP_STATE_FULL, 2730, 0);
    make_slab(control, control->regions[1].first_page + 99, 7, 1, TN_HEAP_STATE_FULL, 512, 0);
    const tarn_device_heap_stats stats = end(fixture, heap);
    assert_int_equal(stats.piece_count, 3);
    assert_int_equal(stats.classes[5].live_count, 2730);
    assert_int_equal(stats.classes[7].live_count, 512);
    assert_int_equal(stats.used_bytes, 5 * PAGE);
}

/* Headers are read back 32768 at a time, after the summary, and none where nothing is in use. */
static void slabs_of_large_heaps_are_counted(void **state)
{
    struct fixture *fixture = *state;
    size_t mapped_bytes = (size_t)(4200 * MIB);
    void *mapping = mmap(NULL, mapped_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(mapping != MAP_FAILED);
    tarn_device_heap *heap = create_heap(fixture, 64 * MIB, 5120 * MIB);
    expect_ok(tarn_device_heap_add_over(heap, mapping, mapped_bytes, fixture->stream));
    wait_for_stream(fixture);
    struct tn_heap_control *control = control_of(heap);
    const struct {
        uint64_t page;
        unsigned copy_count;
    } steps[] = { { 257, 2 }, { 32767, 2 }, { 32768, 3 }, { 65535, 3 }, { 65536, 4 } };
    assert_in_range(control->regions[1].first_page, 64, steps[0].page);
    (void)faulty_backend_take_calls(FAULTY_CALL_COPY);
    assert_int_equal(heap_stats_of(fixture, heap).live_count, 0);
    assert_int_equal(faulty_backend_take_calls(FAULTY_CALL_COPY), 1);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        make_slab(control, steps[i].page, 7, 1, TN_HEAP_STATE_FULL, 512, 0);
        const tarn_device_heap_stats stats = heap_stats_of(fixture, heap);
        assert_int_equal(stats.classes[7].live_count, 512 * (i + 1));
        assert_int_equal(stats.used_bytes, (i + 1) * PAGE);
        assert_int_equal(faulty_backend_take_calls(FAULTY_CALL_COPY), steps[i].copy_count);
    }
    expect_ok(tarn_device_heap_check(heap, fixture->stream));
    destroy_heap(fixture, heap);
    assert_int_equal(munmap(mapping, mapped_bytes), 0);
}

static void slabs_are_counted_by_class(void **state)
{
    struct fixture *fixture = *state;
    tarn_device_heap *heap;
    struct tn_heap_control *control = begin(fixture, &heap);
    uint32_t last = TN_HEAP_CLASS_COUNT - 1;
    make_slab(control, 0, 0, 1, TN_HEAP_STATE_CURRENT, 4096, 0);
    make_slab(control, 1, 0, 2, TN_HEAP_STATE_GOOD, 1, 0);
    make_slab(control, 3, 0, 1, TN_HEAP_STATE_FULL, 4096, 0);
    make_slab(control, 64, 5, 4, TN_HEAP_STATE_SPARSE, 2700, 0);
    make_slab(control, 120, last, 8, TN_HEAP_STATE_CURRENT, 0, 0);
    const tarn_device_heap_stats stats = end(fixture, heap);
    assert_int_equal(stats.classes[0].slab_count, 3);
    assert_int_equal(stats.classes[0].slab_bytes, 4 * PAGE);
    assert_int_equal(stats.classes[0].live_count, 4096 + 1 + 4096);
    assert_int_equal(stats.classes[0].free_count, 8191);
    assert_int_equal(stats.classes[5].live_count, 2700);
    assert_int_equal(stats.classes[5].free_count, 4 * PAGE / 96 - 2700);
    assert_int_equal(stats.classes[last].slab_count, 1);
    assert_int_equal(stats.classes[last].live_count, 0);
    assert_int_equal(stats.classes[last].free_count, 8);
    assert_int_equal(stats.classes[1].slab_count, 0);
    assert_int_equal(stats.live_count, 8193 + 2700);
    assert_int_equal(stats.live_bytes, 8193 * 16 + 2700 * 96);
    assert_int_equal(stats.used_bytes, 16 * PAGE);
    assert_int_equal(stats.large_count, 0);
    assert_int_equal(stats.span_bytes, 2 * 64 * PAGE);
    assert_int_equal(stats.span_bytes_max, 2 * 64 * PAGE);
    assert_int_equal(stats.free_page_count + 16, stats.capacity_bytes / PAGE);
}

static void large_objects_are_counted(void **state)
{
    struct fixture *fixture = *state;
    tarn_device_heap *heap;
    struct tn_heap_control *control = begin(fixture, &heap);
    make_run(control, 7, 2);
    make_run(control, 64, 130); /* two spans, and two pages */
    const tarn_device_heap_stats stats = end(fixture, heap);
    assert_int_equal(stats.large_count, 2);
    assert_int_equal(stats.large_bytes, 132 * PAGE);
    assert_int_equal(stats.live_count, 2);
    assert_int_equal(stats.live_bytes, 132 * PAGE);
    assert_int_equal(stats.used_bytes, 132 * PAGE);
    assert_int_equal(stats.span_bytes, 4 * 64 * PAGE);
    assert_int_equal(stats.free_span_count, 0);
    assert_int_equal(stats.free_page_count + 132, stats.capacity_bytes / PAGE);
}

static size_t largest_free_pages(const struct fixture *fixture, tarn_device_heap *heap)
{
    expect_ok(tarn_device_heap_check(heap, fixture->stream));
    return heap_stats_of(fixture, heap).largest_free_bytes / PAGE;
}

/* As what tn_run_create can find: within a span, or of spans that are wholly free, in one piece. */
static void the_largest_free_run_is_found(void **state)
{
    struct fixture *fixture = *state;
    tarn_device_heap *heap = create_heap(fixture, 20 * MIB, 64 * MIB);
    expect_ok(tarn_device_heap_add(heap, 192 * PAGE, fixture->stream));
    wait_for_stream(fixture);
    struct tn_heap_control *control = control_of(heap);
    uint64_t second = control->regions[1].first_page;
    assert_int_equal(control->regions[0].page_count / 64, 4);
    assert_int_equal(largest_free_pages(fixture, heap), 256);
    make_run(control, 64, 1);
    assert_int_equal(largest_free_pages(fixture, heap), 192);
    make_run(control, second, 1);
    make_run(control, 192, 64);
    assert_int_equal(largest_free_pages(fixture, heap), 128);
    make_run(control, second + 64, 128);
    assert_int_equal(largest_free_pages(fixture, heap), 64);
    make_run(control, 128, 64);
    make_run(control, 0, 64);
    assert_int_equal(largest_free_pages(fixture, heap), 63);
    make_run(control, 256, control->regions[0].page_count % 64); /* the short span */
    make_run(control, 64 + 40, 1);
    make_run(control, second + 30, 1);
    assert_int_equal(largest_free_pages(fixture, heap), 39);
    destroy_heap(fixture, heap);
}

static void counters_are_told(void **state)
{
    struct fixture *fixture = *state;
    tarn_device_heap *heap;
    struct tn_heap_control *control = begin(fixture, &heap);
    control->counters.failed = ((uint64_t)1 << 40) + 1;
    control->counters.double_frees = 2;
    control->counters.foreign_frees = 3;
    control->counters.damaged_frees = 4;
    control->counters.spans_used_max = 5;
    const tarn_device_heap_stats stats = end(fixture, heap);
    assert_int_equal(stats.failed_count, ((uint64_t)1 << 40) + 1);
    assert_int_equal(stats.double_free_count, 2);
    assert_int_equal(stats.foreign_free_count, 3);
    assert_int_equal(stats.damaged_free_count, 4);
    assert_int_equal(stats.span_bytes_max, 5 * 4 * MIB);
    assert_int_equal(stats.span_bytes, 0);
}

/* What a kernel leaves while it is at work: credits that are about to come back, a run whose pages are not told yet,
 * a counter that is behind. */
static void what_changes_meanwhile_does_no_harm(void **state)
{
    struct fixture *fixture = *state;
    tarn_device_heap *heap;
    struct tn_heap_control *control = begin(fixture, &heap);
    uint64_t credit = (uint64_t)1 << TN_HEAP_CREDIT_SHIFT;
    make_slab(control, 0, 0, 1, TN_HEAP_STATE_CURRENT, 4096, 0);
    *header_at(control, 0) -= 32 * credit;
    make_slab(control, 1, 1, 1, TN_HEAP_STATE_CURRENT, 0, 0);
    *header_at(control, 1) += 32 * credit;
    *header_at(control, 2) = -(7 * credit);
    make_run(control, 64, 1);
    header_at(control, 64)[TN_HEAP_RUN_PAGES_WORD] = UINT64_MAX;
    control->counters.spans_used = UINT32_MAX;
    const tarn_device_heap_stats stats = heap_stats_of(fixture, heap);
    assert_int_equal(stats.classes[0].live_count, 4096);
    assert_int_equal(stats.classes[0].free_count, 0);
    assert_int_equal(stats.classes[1].live_count, 0);
    assert_int_equal(stats.large_bytes, TARN_DEVICE_HEAP_SIZE_BYTES_MAX);
    assert_true(stats.span_bytes <= 128 * MIB);
    destroy_heap(fixture, heap);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_empty_heap_has_everything_free),
        TEST(classes_are_those_of_the_device),
        TEST(slabs_are_counted_by_class),
        TEST(large_objects_are_counted),
        TEST(the_largest_free_run_is_found),
        TEST(counters_are_told),
        TEST(what_changes_meanwhile_does_no_harm),
        TEST(headers_behind_the_last_page_in_use_are_not_looked_at),
        TEST(slabs_of_further_pieces_are_counted),
        TEST(slabs_of_large_heaps_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
