/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_device_heap: the host's calls of a device heap over host memory, where the test sees what a device would:
 * what they prepare and when, and what they refuse.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "heap_fixture.h"

/* --- creation ------------------------------------------------------------------------------------- */

static void a_heap_is_prepared_in_the_order_of_its_stream(void **state)
{
    struct fixture *fixture = *state;
    tarn_device_heap *heap = create_heap(fixture, 4 * MIB, 0);
    assert_int_equal(take_waits(), 0);
    assert_int_equal(control_of(heap)->region_count, 0); /* not yet */
    wait_for_stream(fixture);
    assert_int_equal(control_of(heap)->region_count, 1);
    expect_empty(fixture, heap);
    destroy_heap(fixture, heap);
}

static void a_heap_goes_back_in_the_order_of_its_stream(void **state)
{
    struct fixture *fixture = *state;
    tarn_device_heap *first = create_heap(fixture, 4 * MIB, 0);
    uint64_t control = tarn_device_heap_get_handle(first).layout.control;
    wait_for_stream(fixture);
    make_run(control_of(first), 3, 7);
    take_waits();
    destroy_heap(fixture, first);
    assert_int_equal(faulty_backend_take_calls(FAULTY_CALL_STREAM_SYNCHRONIZE), 0);
    assert_int_equal(stats_of(fixture->pool).live_count, 0);
    tarn_device_heap *second = create_heap(fixture, 4 * MIB, 0);
    assert_int_equal(tarn_device_heap_get_handle(second).layout.control, control);
    expect_empty(fixture, second);
    destroy_heap(fixture, second);
}

/* The copies that prepare it may not have been made by then. */
static void a_heap_may_be_destroyed_at_once(void **state)
{
    struct fixture *fixture = *state;
    take_waits();
    destroy_heap(fixture, create_heap(fixture, 4 * MIB, 0));
    assert_int_equal(take_waits(), 1); /* for an event */
    expect_ok(tarn_device_heap_destroy(NULL, fixture->stream));
}

static void to_the_pool_a_heap_is_an_allocation(void **state)
{
    struct fixture *fixture = *state;
    tarn_device_heap *heap = create_heap(fixture, 4 * MIB + 1, 0);
    assert_int_equal(stats_of(fixture->pool).live_count, 1);
    assert_int_equal(stats_of(fixture->pool).requested_bytes, 4 * MIB + 1);
    expect_status(TARN_STATUS_LIVE_REGIONS, tarn_pool_destroy(fixture->pool));
    expect_empty(fixture, heap);
    destroy_heap(fixture, heap);
}

static void a_handle_is_an_address_of_the_device(void **state)
{
    struct fixture *fixture = *state;
    tarn_device_heap *heap = create_heap(fixture, 4 * MIB, 0);
    tarn_allocation found = TARN_ALLOCATION_INIT;
    expect_ok(tarn_pool_find(control_of(heap), &found));
    assert_ptr_equal(found.address, control_of(heap));
    assert_int_equal(tarn_device_heap_get_handle(NULL).layout.control, 0);
    destroy_heap(fixture, heap);
}

static void heaps_know_nothing_of_each_other(void **state)
{
    struct fixture *fixture = *state;
    tarn_device_heap *heaps[20];
    for (size_t i = 0; i < 20; i++)
        heaps[i] = create_heap(fixture, (i + 2) * 100 * KIB, 0);
    wait_for_stream(fixture);
    make_run(control_of(heaps[7]), 0, 2);
    tarn_stats stats = stats_of(fixture->pool);
    assert_int_equal(stats.live_count, 20);
    for (size_t i = 0; i < 20; i++) {
        expect_ok(tarn_device_heap_check(heaps[i], fixture->stream));
        assert_int_equal(heap_stats_of(fixture, heaps[i]).live_count, i == 7);
        destroy_heap(fixture, heaps[i]);
    }
}

/* Of the host backend, whose calls are not counted. */
static void *use_heaps(void *argument)
{
    const struct fixture *fixture = argument;
    const tarn_backend *host = &fixture->host;
    tarn_stream stream;
    if (host->operations->stream_create(host->state, &stream).status != TARN_STATUS_OK) return NULL;
    unsigned good_count = 0;
    for (int i = 0; i < 20; i++) {
        tarn_device_heap *heap;
        if (tarn_device_heap_create(fixture->pool, MIB, NULL, stream, &heap) != TARN_STATUS_OK)
            continue;
        bool is_good = tarn_device_heap_check(heap, stream) == TARN_STATUS_OK;
        is_good = is_good && tarn_device_heap_reset(heap, stream) == TARN_STATUS_OK;
        is_good = tarn_device_heap_destroy(heap, stream) == TARN_STATUS_OK && is_good;
        good_count += is_good;
    }
    bool is_retired = tarn_stream_retire(stream) == TARN_STATUS_OK;
    host->operations->stream_destroy(host->state, stream);
    return good_count == 20 && is_retired ? argument : NULL;
}

static void threads_have_heaps_of_their_own(void **state)
{
    struct fixture *fixture = *state;
    struct fixture uncounted = *fixture;
    pthread_t threads[4];
    uncounted.options.backend = &fixture->host;
    expect_ok(tarn_pool_create(&uncounted.options, &uncounted.pool));
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, use_heaps, &uncounted), 0);
    for (size_t i = 0; i < 4; i++) {
        void *result;
        assert_int_equal(pthread_join(threads[i], &result), 0);
        assert_ptr_equal(result, &uncounted);
    }
    expect_ok(tarn_pool_check(uncounted.pool));
    expect_ok(tarn_pool_destroy(uncounted.pool));
}

static void heaps_of_all_sizes_are_sound_and_stay_in_their_memory(void **state)
{
    struct fixture *fixture = *state;
    size_t step = 29 * KIB;
    for (size_t size_bytes = 77 * KIB; size_bytes < 10 * MIB; size_bytes += step) {
        unsigned char *memory = dirty_memory(size_bytes + 1);
        tarn_device_heap *heap = create_over(fixture, memory, size_bytes, 0);
        expect_empty(fixture, heap);
        const tarn_device_heap_stats stats = heap_stats_of(fixture, heap);
        assert_int_equal(stats.size_bytes, size_bytes);
        assert_in_range(stats.capacity_bytes + stats.metadata_bytes, size_bytes - PAGE + 1,
                        size_bytes);
        const struct tn_heap_region *region = &control_of(heap)->regions[0];
        assert_int_equal(region->address, (uintptr_t)memory + stats.metadata_bytes);
        assert_int_equal(region->page_count * PAGE, stats.capacity_bytes);
        destroy_heap(fixture, heap);
        assert_int_equal(memory[size_bytes], 0xa5);
        assert_int_equal(memory[size_bytes - 1], 0xa5); /* pages are not touched */
        free(memory);
    }
    assert_int_equal(stats_of(fixture->pool).alloc_count, 0);
}

static void a_heap_may_use_all_of_its_pages(void **state)
{
    struct fixture *fixture = *state;
    tarn_device_heap *heap = create_heap(fixture, 9 * MIB, 0);
    wait_for_stream(fixture);
    const struct tn_heap_region region = control_of(heap)->regions[0];
    char *end = (char *)control_of(heap) + 9 * MIB;
    memset((void *)(uintptr_t)region.address, 0xa5, region.page_count * PAGE);
    assert_in_range((uintptr_t)end - region.address - region.page_count * PAGE, 0, PAGE - 1);
    expect_empty(fixture, heap);
    destroy_heap(fixture, heap);
}

static void options_reach_the_device(void **state)
{
    struct fixture *fixture = *state;
    tarn_device_heap_options options = TARN_DEVICE_HEAP_OPTIONS_INIT;
    tarn_device_heap *heap;
    expect_ok(tarn_device_heap_create(fixture->pool, MIB, NULL, fixture->stream, &heap));
    wait_for_stream(fixture);
    assert_int_equal(control_of(heap)->layout.check, TN_HEAP_CHECK_FREES);
    destroy_heap(fixture, heap);
    options.checks = TARN_DEVICE_HEAP_CHECKS_CONTENTS;
    expect_ok(tarn_device_heap_create(fixture->pool, MIB, &options, fixture->stream, &heap));
    wait_for_stream(fixture);
    assert_int_equal(control_of(heap)->layout.check, TN_HEAP_CHECK_CONTENTS);
    destroy_heap(fixture, heap);
}

/* --- pools of all kinds ---------------------------------------------------------------------------- */

static void live_through_a_heap(struct fixture *fixture)
{
    tarn_device_heap *heap = create_heap(fixture, 5 * MIB, 20 * MIB);
    expect_empty(fixture, heap);
    wait_for_stream(fixture);
    make_slab(control_of(heap), 5, 0, 1, TN_HEAP_STATE_CURRENT, 100, 0);
    expect_ok(tarn_device_heap_add(heap, 3 * MIB, fixture->stream));
    expect_ok(tarn_device_heap_check(heap, fixture->stream));
    assert_int_equal(heap_stats_of(fixture, heap).live_count, 100);
    expect_ok(tarn_device_heap_reset(heap, fixture->stream));
    expect_empty(fixture, heap);
    destroy_heap(fixture, heap);
}

static void expect_heap_in_such_a_pool(tarn_pool_options options)
{
    struct fixture fixture;
    fixture_init(&fixture);
    fixture.options = options;
    fixture_create_pool(&fixture);
    live_through_a_heap(&fixture);
    fixture_fini(&fixture);
}

static void heaps_lie_in_pools_of_all_kinds(void **state)
{
    const tarn_pool_options defaults = TARN_POOL_OPTIONS_INIT;
    tarn_pool_options options = defaults;
    expect_heap_in_such_a_pool(options);
    options.contiguous = true;
    expect_heap_in_such_a_pool(options);
    options = defaults;
    options.passes_through = true;
    expect_heap_in_such_a_pool(options);
    options = defaults;
    options.identifies_streams = true;
    expect_heap_in_such_a_pool(options);
    options = defaults;
    options.initial_bytes = 0;
    options.returns_when_empty = true;
    expect_heap_in_such_a_pool(options);
    options = defaults;
    options.debug = TARN_DEBUG_SITES | TARN_DEBUG_ZONES | TARN_DEBUG_POISON | TARN_DEBUG_QUARANTINE;
    expect_heap_in_such_a_pool(options);
}

static void a_heap_lies_in_what_a_fallback_gives(void **state)
{
    struct fixture *fixture = *state;
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    struct fixture small = *fixture;
    options.backend = &fixture->backend;
    options.limit_bytes = MIB;
    options.fallback = fixture->pool;
    expect_ok(tarn_pool_create(&options, &small.pool));
    live_through_a_heap(&small);
    expect_ok(tarn_pool_destroy(small.pool));
}

static void a_pool_in_debug_mode_tells_what_was_written_beside_a_heap(void **state)
{
    struct fixture fixture;
    fixture_init(&fixture);
    fixture.options.debug = TARN_DEBUG_ZONES;
    fixture_create_pool(&fixture);
    tarn_device_heap *heap = create_heap(&fixture, MIB, 0);
    wait_for_stream(&fixture);
    ((volatile char *)control_of(heap))[-1] = 1;
    expect_status(TARN_STATUS_CORRUPT, tarn_device_heap_destroy(heap, fixture.stream));
    assert_int_equal(stats_of(fixture.pool).live_count, 0);
    expect_status(TARN_STATUS_CORRUPT, tarn_pool_check(fixture.pool));
    expect_ok(tarn_pool_destroy(fixture.pool));
    fixture.pool = NULL;
    fixture_fini(&fixture);
}

/* --- what is refused -------------------------------------------------------------------------------- */

static tarn_device_heap *const no_heap = (tarn_device_heap *)7;

static void expect_not_created(tarn_status status, tarn_pool *pool, size_t size_bytes,
                               const tarn_device_heap_options *options, const char *part)
{
    tarn_device_heap *heap = no_heap;
    expect_status(status, tarn_device_heap_create(pool, size_bytes, options, NULL, &heap));
    expect_message(part);
    assert_ptr_equal(heap, no_heap);
}

static void expect_not_created_over(tarn_status status, const tarn_backend *backend, void *address,
                                    size_t size_bytes, const char *part)
{
    tarn_device_heap *heap = no_heap;
    expect_status(status,
                  tarn_device_heap_create_over(backend, address, size_bytes, NULL, NULL, &heap));
    expect_message(part);
    assert_ptr_equal(heap, no_heap);
}

static void sizes_that_no_heap_has_are_refused(void **state)
{
    struct fixture *fixture = *state;
    const tarn_status invalid = TARN_STATUS_INVALID_ARGUMENT;
    const tarn_status too_large = TARN_STATUS_SIZE_TOO_LARGE;
    expect_not_created(invalid, fixture->pool, 0, NULL, "a device heap of 0 bytes");
    expect_not_created(invalid, fixture->pool, PAGE, NULL, "is too small");
    expect_not_created(too_large, fixture->pool, TARN_DEVICE_HEAP_SIZE_BYTES_MAX + 1, NULL,
                       "the maximum is 1099511627776");
    expect_not_created(too_large, fixture->pool, SIZE_MAX, NULL, "the maximum is");
    assert_int_equal(stats_of(fixture->pool).alloc_count, 0);
    assert_int_equal(faulty_backend_event_count(), 0);
}

static void streams_of_nobody_are_refused(void **state)
{
    struct fixture *fixture = *state;
    int nobody;
    tarn_device_heap *heap = create_heap(fixture, MIB, 2 * MIB), *none = NULL;
    tarn_device_heap_stats stats = TARN_DEVICE_HEAP_STATS_INIT;
    const tarn_status invalid = TARN_STATUS_INVALID_ARGUMENT;
    expect_status(invalid, tarn_device_heap_create(fixture->pool, MIB, NULL, &nobody, &none));
    expect_status(invalid, tarn_device_heap_add(heap, MIB, &nobody));
    expect_status(invalid, tarn_device_heap_reset(heap, &nobody));
    expect_status(invalid, tarn_device_heap_get_stats(heap, &nobody, &stats));
    expect_status(invalid, tarn_device_heap_check(heap, &nobody));
    expect_status(invalid, tarn_device_heap_destroy(heap, &nobody));
    assert_non_null(strstr(tarn_last_error().message, "stream"));
    expect_ok(tarn_device_heap_check(heap, fixture->stream));
    destroy_heap(fixture, heap);
}

static void options_that_mean_nothing_are_refused(void **state)
{
    struct fixture *fixture = *state;
    const tarn_status invalid = TARN_STATUS_INVALID_OPTIONS;
    const tarn_device_heap_options defaults = TARN_DEVICE_HEAP_OPTIONS_INIT;
    tarn_device_heap_options options = defaults;
    options.struct_bytes++;
    expect_not_created(invalid, fixture->pool, MIB, &options, "struct_bytes is");
    options = defaults;
    options.size_bytes_max = MIB - 1;
    expect_not_created(invalid, fixture->pool, MIB, &options, "size_bytes_max is 1048575, less");
    options = defaults;
    options.checks = (tarn_device_heap_checks)3;
    expect_not_created(invalid, fixture->pool, MIB, &options, "checks is 3");
    options = defaults;
    options.size_bytes_max = SIZE_MAX;
    expect_not_created(TARN_STATUS_SIZE_TOO_LARGE, fixture->pool, MIB, &options, "the maximum is");
    options.size_bytes_max = 1024 * MIB;
    expect_not_created(TARN_STATUS_INVALID_ARGUMENT, fixture->pool, MIB, &options,
                       "its metadata, which for up to 1073741824 bytes takes 113");
    assert_int_equal(stats_of(fixture->pool).alloc_count, 0);
}

static void pools_without_memory_for_a_heap_are_refused(void **state)
{
    struct fixture *fixture = *state;
    static uint64_t memory[1024];
    tarn_pool *over, *small;
    expect_not_created(TARN_STATUS_INVALID_POOL, NULL, MIB, NULL, "the pool is NULL");
    expect_status(TARN_STATUS_INVALID_ARGUMENT,
                  tarn_device_heap_create(fixture->pool, MIB, NULL, NULL, NULL));
    expect_message("heap_out is NULL");
    expect_ok(tarn_pool_create_over(memory, sizeof memory, NULL, &over));
    expect_not_created(TARN_STATUS_NOT_SUPPORTED, over, MIB, NULL, "over memory of the caller's");
    expect_ok(tarn_pool_destroy(over));
    tarn_pool_options options = fixture->options;
    options.limit_bytes = MIB;
    expect_ok(tarn_pool_create(&options, &small));
    expect_not_created(TARN_STATUS_OVER_LIMIT, small, 2 * MIB, NULL, "");
    expect_ok(tarn_pool_destroy(small));
    expect_not_created(TARN_STATUS_INVALID_POOL, small, 2 * MIB, NULL, "has been destroyed");
}

static void memory_that_cannot_be_a_heap_is_refused(void **state)
{
    struct fixture *fixture = *state;
    const tarn_status invalid = TARN_STATUS_INVALID_ARGUMENT;
    char *memory = dirty_memory(MIB);
    const tarn_backend *backend = &fixture->backend;
    expect_not_created_over(invalid, backend, NULL, MIB, "address is NULL");
    expect_not_created_over(invalid, backend, memory + 128, MIB - 128, "not a multiple of 256");
    expect_not_created_over(invalid, backend, memory + 1, MIB - 1, "not a multiple of 256");
    expect_not_created_over(invalid, backend, memory, SIZE_MAX, "beyond the last address");
    expect_not_created_over(invalid, backend, memory, 0, "is too small");
    expect_not_created_over(invalid, backend, memory, 64 * KIB, "is too small");
    expect_not_created_over(invalid, NULL, memory, MIB, "backend is NULL");
    tarn_backend other = { NULL, NULL };
    expect_not_created_over(invalid, &other, memory, MIB, "table of operations is NULL");
    tarn_backend_operations table = *backend->operations;
    other = (tarn_backend){ &table, backend->state };
    table.struct_bytes = 8;
    expect_not_created_over(invalid, &other, memory, MIB, "says it has 8 bytes");
    table = *backend->operations;
    table.name = NULL;
    expect_not_created_over(invalid, &other, memory, MIB, "name is NULL");
    expect_status(invalid, tarn_device_heap_create_over(backend, memory, MIB, NULL, NULL, NULL));
    for (size_t i = 0; i < MIB; i++)
        assert_int_equal((unsigned char)memory[i], 0xa5);
    free(memory);
}

static void a_stream_of_another_device_is_refused(void **state)
{
    struct fixture *fixture = *state;
    char *memory = dirty_memory(MIB);
    tarn_device_heap *heap = no_heap, *growing = create_over(fixture, memory, MIB, 0);
    destroy_heap(fixture, growing);
    faulty_backend_begin_call(FAULTY_CALL_STREAM_CHECK, 1, 1);
    expect_status(
        TARN_STATUS_VENDOR_ERROR,
        tarn_device_heap_create_over(&fixture->backend, memory, MIB, NULL, fixture->stream, &heap));
    expect_message("the stream");
    assert_int_equal(faulty_backend_end(), 1);
    assert_ptr_equal(heap, no_heap);
    free(memory);
}

static void a_backend_must_be_able_to_prepare_memory(void **state)
{
    struct fixture *fixture = *state;
    tarn_backend_operations *table = faulty_backend_operations();
    const tarn_backend_operations whole = *table;
    table->fill = NULL;
    expect_not_created(TARN_STATUS_NOT_SUPPORTED, fixture->pool, MIB, NULL, "lacks fill");
    *table = whole;
    table->copy = NULL;
    expect_not_created(TARN_STATUS_NOT_SUPPORTED, fixture->pool, MIB, NULL, "lacks fill, copy");
    *table = whole;
    table->stream_synchronize = NULL;
    expect_not_created(TARN_STATUS_NOT_SUPPORTED, fixture->pool, MIB, NULL, "stream_synchronize");
    *table = whole;
    assert_int_equal(stats_of(fixture->pool).alloc_count, 0);
}

static void a_backend_without_events_is_waited_for(void **state)
{
    struct fixture *fixture = *state;
    tarn_backend_operations *table = faulty_backend_operations();
    table->event_synchronize = NULL;
    take_waits();
    tarn_device_heap *heap = create_heap(fixture, 4 * MIB, 0);
    assert_int_equal(take_waits(), 1);
    assert_int_equal(control_of(heap)->region_count, 1);
    expect_empty(fixture, heap);
    take_waits();
    destroy_heap(fixture, heap);
    assert_int_equal(take_waits(), 0);
}

static void what_is_no_heap_is_refused(void **state)
{
    const tarn_status invalid = TARN_STATUS_INVALID_ARGUMENT;
    tarn_device_heap_stats stats = TARN_DEVICE_HEAP_STATS_INIT;
    static char memory[256];
    expect_status(invalid, tarn_device_heap_add(NULL, MIB, NULL));
    expect_status(invalid, tarn_device_heap_add_over(NULL, memory, MIB, NULL));
    expect_status(invalid, tarn_device_heap_reset(NULL, NULL));
    expect_status(invalid, tarn_device_heap_check(NULL, NULL));
    expect_status(invalid, tarn_device_heap_get_stats(NULL, NULL, &stats));
    expect_message("heap is NULL");
}

static void statistics_want_their_structure(void **state)
{
    struct fixture *fixture = *state;
    tarn_device_heap *heap = create_heap(fixture, MIB, 0);
    tarn_device_heap_stats stats = TARN_DEVICE_HEAP_STATS_INIT;
    stats.struct_bytes--;
    expect_status(TARN_STATUS_INVALID_ARGUMENT,
                  tarn_device_heap_get_stats(heap, fixture->stream, &stats));
    expect_message("in stats_out");
    assert_int_equal(stats.size_bytes, 0);
    expect_status(TARN_STATUS_INVALID_ARGUMENT,
                  tarn_device_heap_get_stats(heap, fixture->stream, NULL));
    destroy_heap(fixture, heap);
}

/* --- growth ---------------------------------------------------------------------------------------- */

static void a_heap_grows_by_pieces_of_its_pool(void **state)
{
    struct fixture *fixture = *state;
    tarn_device_heap *heap = create_heap(fixture, 4 * MIB, 64 * MIB);
    size_t size_bytes = 4 * MIB;
    for (size_t i = 1; i < TARN_DEVICE_HEAP_PIECES_MAX; i++) {
        size_t capacity_bytes = heap_stats_of(fixture, heap).capacity_bytes;
        size_t piece_bytes = i % 3 * 2 * MIB + i * PAGE + 5000;
        expect_ok(tarn_device_heap_add(heap, piece_bytes, fixture->stream));
        size_bytes += piece_bytes;
        expect_empty(fixture, heap);
        const tarn_device_heap_stats stats = heap_stats_of(fixture, heap);
        assert_int_equal(stats.piece_count, i + 1);
        assert_int_equal(stats.size_bytes, size_bytes);
        assert_int_equal(stats.capacity_bytes, capacity_bytes + piece_bytes / PAGE * PAGE);
        assert_int_equal(stats_of(fixture->pool).live_count, i + 1);
    }
    expect_status(TARN_STATUS_OVER_LIMIT, tarn_device_heap_add(heap, PAGE, fixture->stream));
    expect_message("16 pieces");
    expect_empty(fixture, heap);
    expect_ok(tarn_device_heap_reset(heap, fixture->stream));
    expect_empty(fixture, heap);
    assert_int_equal(heap_stats_of(fixture, heap).size_bytes, size_bytes);
    destroy_heap(fixture, heap);
    assert_int_equal(stats_of(fixture->pool).live_count, 0);
}

static void growth_leaves_what_is_live_as_it_is(void **state)
{
    struct fixture *fixture = *state;
    tarn_device_heap *heap = create_heap(fixture, 12 * MIB, 64 * MIB);
    wait_for_stream(fixture);
    struct tn_heap_control *control = control_of(heap);
    make_slab(control, 1, 3, 1, TN_HEAP_STATE_CURRENT, 100, 0);
    make_run(control, 65, 20);
    control->counters.failed = 5;
    expect_ok(tarn_device_heap_add(heap, 8 * MIB, fixture->stream));
    expect_ok(tarn_device_heap_check(heap, fixture->stream));
    const tarn_device_heap_stats stats = heap_stats_of(fixture, heap);
    assert_int_equal(stats.live_count, 101);
    assert_int_equal(stats.failed_count, 5);
    make_run(control, control->regions[1].first_page, 64);
    expect_ok(tarn_device_heap_check(heap, fixture->stream));
    destroy_heap(fixture, heap);
}

static void a_heap_grows_as_far_as_was_said(void **state)
{
    struct fixture *fixture = *state;
    const tarn_status over = TARN_STATUS_OVER_LIMIT, invalid = TARN_STATUS_INVALID_ARGUMENT;
    tarn_device_heap *fixed = create_heap(fixture, 4 * MIB, 0);
    expect_status(over, tarn_device_heap_add(fixed, PAGE, fixture->stream));
    expect_message("may have 4194304 in all");
    destroy_heap(fixture, fixed);
    tarn_device_heap *heap = create_heap(fixture, 4 * MIB, 6 * MIB);
    expect_status(over, tarn_device_heap_add(heap, 2 * MIB + 1, fixture->stream));
    expect_status(over, tarn_device_heap_add(heap, SIZE_MAX, fixture->stream));
    expect_status(invalid, tarn_device_heap_add(heap, PAGE - 1, fixture->stream));
    expect_status(invalid, tarn_device_heap_add(heap, 0, fixture->stream));
    assert_int_equal(stats_of(fixture->pool).live_count, 1);
    expect_ok(tarn_device_heap_add(heap, 2 * MIB, fixture->stream));
    expect_status(over, tarn_device_heap_add(heap, PAGE, fixture->stream));
    expect_empty(fixture, heap);
    destroy_heap(fixture, heap);
    tarn_device_heap *full = create_heap(fixture, 4 * MIB, 4 * MIB);
    expect_status(over, tarn_device_heap_add(full, PAGE, fixture->stream));
    destroy_heap(fixture, full);
}

/* To read the heap, and not for what is written. */
static void growth_waits_once(void **state)
{
    struct fixture *fixture = *state;
    tarn_device_heap *heap = create_heap(fixture, 4 * MIB, 64 * MIB);
    wait_for_stream(fixture);
    take_waits();
    expect_ok(tarn_device_heap_add(heap, MIB, fixture->stream));
    assert_int_equal(faulty_backend_take_calls(FAULTY_CALL_STREAM_SYNCHRONIZE), 1);
    assert_int_equal(control_of(heap)->region_count, 1); /* not yet */
    destroy_heap(fixture, heap);
    assert_int_equal(faulty_backend_take_calls(FAULTY_CALL_STREAM_SYNCHRONIZE), 0);
}

static void a_heap_grows_by_memory_of_the_callers(void **state)
{
    struct fixture *fixture = *state;
    const tarn_status invalid = TARN_STATUS_INVALID_ARGUMENT;
    char *memory = dirty_memory(8 * MIB);
    tarn_stream stream = fixture->stream;
    tarn_device_heap *heap = create_over(fixture, memory, 2 * MIB, 64 * MIB);
    expect_status(TARN_STATUS_NOT_SUPPORTED, tarn_device_heap_add(heap, MIB, stream));
    expect_message("has no pool");
    expect_status(invalid, tarn_device_heap_add_over(heap, NULL, MIB, stream));
    expect_status(invalid, tarn_device_heap_add_over(heap, memory + 3 * MIB + 8, MIB, stream));
    expect_message("not a multiple of 256");
    expect_status(invalid, tarn_device_heap_add_over(heap, memory + 3 * MIB, SIZE_MAX, stream));
    expect_message("beyond the last address");
    expect_status(invalid, tarn_device_heap_add_over(heap, memory + 2 * MIB - 256, MIB, stream));
    expect_message("overlap memory of the device heap");
    expect_status(invalid, tarn_device_heap_add_over(heap, memory, 8 * MIB, stream));
    expect_ok(tarn_device_heap_add_over(heap, memory + 4 * MIB, 2 * MIB, stream));
    expect_status(invalid, tarn_device_heap_add_over(heap, memory + 3 * MIB, MIB + 1, stream));
    expect_ok(tarn_device_heap_add_over(heap, memory + 3 * MIB, MIB, stream));
    expect_empty(fixture, heap);
    assert_int_equal(control_of(heap)->regions[1].address, (uintptr_t)memory + 4 * MIB);
    assert_int_equal(control_of(heap)->regions[2].page_count, 16);
    assert_int_equal(memory[5 * MIB], (char)0xa5);
    destroy_heap(fixture, heap);
    tarn_device_heap *of_pool = create_heap(fixture, 2 * MIB, 64 * MIB);
    expect_ok(tarn_device_heap_add_over(of_pool, memory, 8 * MIB, stream));
    expect_ok(tarn_device_heap_add(of_pool, MIB, stream));
    expect_empty(fixture, of_pool);
    assert_int_equal(stats_of(fixture->pool).live_count, 2);
    destroy_heap(fixture, of_pool);
    free(memory);
}

static void a_damaged_heap_does_not_grow(void **state)
{
    struct fixture *fixture = *state;
    tarn_device_heap *heap = create_heap(fixture, 4 * MIB, 64 * MIB);
    wait_for_stream(fixture);
    control_of(heap)->region_count = 1000;
    expect_status(TARN_STATUS_CORRUPT, tarn_device_heap_add(heap, MIB, fixture->stream));
    assert_int_equal(stats_of(fixture->pool).live_count, 1);
    expect_ok(tarn_device_heap_reset(heap, fixture->stream));
    expect_ok(tarn_device_heap_add(heap, MIB, fixture->stream));
    expect_empty(fixture, heap);
    destroy_heap(fixture, heap);
}

static void a_reset_forgets_everything_without_a_wait(void **state)
{
    struct fixture *fixture = *state;
    tarn_device_heap *heap = create_heap(fixture, 12 * MIB, 64 * MIB);
    expect_ok(tarn_device_heap_add(heap, PAGE * 70, fixture->stream));
    wait_for_stream(fixture);
    struct tn_heap_control *control = control_of(heap);
    make_slab(control, 1, 3, 1, TN_HEAP_STATE_CURRENT, 100, 0);
    make_run(control, control->regions[1].first_page, 69);
    control->counters.double_frees = 5;
    take_waits();
    expect_ok(tarn_device_heap_reset(heap, fixture->stream));
    assert_int_equal(take_waits(), 0);
    assert_int_equal(control->counters.double_frees, 5);
    expect_empty(fixture, heap);
    assert_int_equal(control->counters.double_frees, 0);
    assert_int_equal(heap_stats_of(fixture, heap).piece_count, 2);
    destroy_heap(fixture, heap);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_heap_is_prepared_in_the_order_of_its_stream),
        TEST(a_heap_goes_back_in_the_order_of_its_stream),
        TEST(a_heap_may_be_destroyed_at_once),
        TEST(to_the_pool_a_heap_is_an_allocation),
        TEST(a_handle_is_an_address_of_the_device),
        TEST(heaps_know_nothing_of_each_other),
        TEST(threads_have_heaps_of_their_own),
        TEST(heaps_of_all_sizes_are_sound_and_stay_in_their_memory),
        TEST(a_heap_may_use_all_of_its_pages),
        TEST(options_reach_the_device),
        cmocka_unit_test(heaps_lie_in_pools_of_all_kinds),
        TEST(a_heap_lies_in_what_a_fallback_gives),
        cmocka_unit_test(a_pool_in_debug_mode_tells_what_was_written_beside_a_heap),
        TEST(sizes_that_no_heap_has_are_refused),
        TEST(streams_of_nobody_are_refused),
        TEST(options_that_mean_nothing_are_refused),
        TEST(pools_without_memory_for_a_heap_are_refused),
        TEST(memory_that_cannot_be_a_heap_is_refused),
        TEST(a_stream_of_another_device_is_refused),
        TEST(a_backend_must_be_able_to_prepare_memory),
        TEST(a_backend_without_events_is_waited_for),
        TEST(what_is_no_heap_is_refused),
        TEST(statistics_want_their_structure),
        TEST(a_heap_grows_by_pieces_of_its_pool),
        TEST(growth_leaves_what_is_live_as_it_is),
        TEST(a_heap_grows_as_far_as_was_said),
        TEST(growth_waits_once),
        TEST(a_heap_grows_by_memory_of_the_callers),
        TEST(a_damaged_heap_does_not_grow),
        TEST(a_reset_forgets_everything_without_a_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
