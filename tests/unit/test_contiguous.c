/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A contiguous pool: which steps it maps for a request, what it unmaps and when, and what it does when the
 * backend or the host refuses. Steps are 64 KiB here, chunks 1 KiB.
 */
#include <pthread.h>

#include "harness/host_memory_faults.h"
#include "pool_fixture.h"

#define STEP (64 * KIB)

static struct told {
    unsigned created_count, destroyed_count;
    size_t created_bytes, destroyed_bytes;
    uint64_t ids[64];
    char *last_base;
} told;

static int set_up_contiguous(void **state)
{
    begin_fixture(true);
    backend.range_granularity_bytes = 4 * KIB;
    backend.total_bytes = 64 * STEP;
    opened = test_backend_open(&backend);
    options.contiguous = true;
    options.step_bytes = STEP;
    options.initial_bytes = 0;
    checks_every_step = true;
    memset(&told, 0, sizeof told);
    return 0;
}

static int tear_down_contiguous(void **state)
{
    tear_down(state);
    assert_int_equal(told.created_count, told.destroyed_count);
    return 0;
}

static void expect_mapped(size_t step_count)
{
    tarn_stats stats = stats_of(pool);
    assert_int_equal(stats.footprint_bytes, step_count * STEP);
    assert_int_equal(stats.static_pool_count, step_count);
    assert_int_equal(backend.held_bytes, step_count * STEP);
    assert_int_equal(stats.free_bytes, step_count * STEP - stats.used_bytes);
}

/* --- growing ------------------------------------------------------------------------------------ */

static void nothing_is_mapped_before_the_first_allocation(void **state)
{
    create();
    assert_int_equal(backend.range_count, 1);
    expect_mapped(0);
    assert_int_equal(stats_of(pool).free_region_count, 0);
    assert_int_equal(stats_of(pool).largest_free_bytes, 0);
}

static void a_request_maps_the_steps_that_it_misses(void **state)
{
    create();
    char *first = alloc(1);
    expect_mapped(1);
    char *second = alloc(STEP);
    expect_mapped(2);
    assert_ptr_equal(second, first + KIB);
    alloc(STEP - KIB);
    expect_mapped(2);
    alloc(3 * STEP + 1);
    expect_mapped(6);
}

static void free_space_merges_over_the_edges_of_steps(void **state)
{
    create();
    char *blocks[8];
    for (unsigned i = 0; i < 8; i++)
        blocks[i] = alloc(STEP);
    for (unsigned i = 1; i < 7; i++)
        free_one(blocks[i]);
    assert_int_equal(stats_of(pool).free_region_count, 1);
    assert_ptr_equal(alloc(6 * STEP), blocks[1]);
    expect_mapped(8);
}

static void a_hole_is_filled_before_the_range_grows(void **state)
{
    create();
    char *blocks[6];
    for (unsigned i = 0; i < 6; i++)
        blocks[i] = alloc(STEP);
    free_one(blocks[2]);
    free_one(blocks[3]);
    assert_int_equal(trim(0), 2 * STEP);
    expect_mapped(4);
    assert_ptr_equal(alloc(2 * STEP), blocks[2]);
    expect_mapped(6);
}

/* Of two holes the one beside free memory needs fewer steps. */
static void the_place_that_misses_fewest_steps_is_taken(void **state)
{
    create();
    char *blocks[12];
    for (unsigned i = 0; i < 12; i++)
        blocks[i] = alloc(STEP);
    free_one(blocks[2]);
    free_one(blocks[3]);
    free_one(blocks[8]);
    free_one(blocks[9]);
    trim(0);
    expect_mapped(8);
    /* Half of the step before the second hole is free. */
    free_one(blocks[7]);
    alloc(STEP / 2);
    char *place = alloc(STEP + STEP / 2);
    assert_ptr_equal(place, blocks[7] + STEP / 2);
    expect_mapped(9);
}

static void the_first_allocation_maps_what_the_pool_is_to_begin_with(void **state)
{
    options.initial_bytes = 5 * STEP - 1;
    create();
    char *first = alloc(1);
    expect_mapped(5);
    free_one(first);
    trim(0);
    expect_mapped(0);
    alloc(7 * STEP);
    expect_mapped(7);
}

static void the_initial_steps_may_be_had_at_once(void **state)
{
    options.initial_bytes = 5 * STEP;
    options.takes_initial_at_once = true;
    create();
    expect_mapped(5);
    assert_int_equal(stats_of(pool).largest_free_bytes, 5 * STEP);
}

static void the_initial_steps_are_had_all_or_the_creation_fails(void **state)
{
    options.initial_bytes = 5 * STEP;
    options.takes_initial_at_once = true;
    backend.capacity_bytes = 4 * STEP;
    expect_options_refused(TARN_STATUS_OUT_OF_MEMORY, "");
    options.limit_bytes = 4 * STEP;
    expect_options_refused(TARN_STATUS_OVER_LIMIT, "");
    assert_int_equal(backend.range_count, 0);
}

static void all_there_is_may_be_had(void **state)
{
    options.initial_bytes = TARN_INITIAL_ALL;
    backend.capacity_bytes = 13 * STEP + 1;
    create();
    alloc(1);
    expect_mapped(13);
}

/* --- limits ------------------------------------------------------------------------------------- */

static void the_limit_holds_in_whole_steps(void **state)
{
    options.limit_bytes = 4 * STEP + STEP / 2;
    create();
    alloc(3 * STEP);
    expect_refused(TARN_STATUS_OVER_LIMIT, STEP + 1);
    alloc(STEP);
    expect_refused(TARN_STATUS_OVER_LIMIT, 1);
    expect_mapped(4);
    assert_int_equal(backend.held_bytes_max, 4 * STEP);
}

/* A limit between two steps is one of whole steps, and so is an initial size within it. */
static void the_initial_size_may_be_the_limit(void **state)
{
    options.takes_initial_at_once = true;
    for (size_t limit = 4 * STEP - 1; limit <= 4 * STEP + 1; limit++) {
        options.initial_bytes = options.limit_bytes = limit;
        create();
        expect_mapped(limit / STEP);
        free_one(alloc(limit / STEP * STEP));
        destroy();
        options.initial_bytes = limit - 1;
        create();
        expect_mapped(limit / STEP);
        destroy();
        options.initial_bytes = limit + STEP;
        expect_options_refused(TARN_STATUS_OVER_LIMIT, "cannot map");
    }
}

/* The memory would do, but what is live lies in the middle of the limit's addresses. */
static void scattered_blocks_leave_a_place_for_a_large_one(void **state)
{
    options.limit_bytes = 8 * STEP;
    create();
    char *blocks[8];
    for (unsigned i = 0; i < 8; i++)
        blocks[i] = alloc(STEP);
    for (unsigned i = 0; i < 8; i++) {
        if (i % 2 == 0) free_one(blocks[i]);
    }
    alloc(4 * STEP);
    expect_mapped(8);
    assert_int_equal(backend.held_bytes_max, 8 * STEP);
}

static void where_the_backend_has_no_more_free_steps_move(void **state)
{
    backend.capacity_bytes = 8 * STEP;
    scattered_blocks_leave_a_place_for_a_large_one(state);
    expect_refused(TARN_STATUS_OVER_LIMIT, 1);
}

static void a_larger_request_than_the_largest_allocation_is_served(void **state)
{
    backend.allocation_bytes_max = 2 * STEP;
    create();
    alloc(7 * STEP);
    expect_mapped(7);
}

static void when_the_backend_refuses_nothing_stays_mapped_in_vain(void **state)
{
    backend.capacity_bytes = 5 * STEP;
    create();
    alloc(STEP);
    expect_refused(TARN_STATUS_OUT_OF_MEMORY, 5 * STEP);
    expect_mapped(1);
    alloc(4 * STEP);
    expect_mapped(5);
}

static void for_more_than_the_device_has_nothing_is_mapped(void **state)
{
    create();
    alloc(STEP);
    expect_refused(TARN_STATUS_OUT_OF_MEMORY, 65 * STEP);
    expect_refused(TARN_STATUS_OUT_OF_MEMORY, 64 * STEP); /* with the other block */
    assert_int_equal(backend.held_bytes_max, STEP);
    expect_mapped(1);
    free_one(alloc(63 * STEP));
    expect_mapped(64);
    expect_refused(TARN_STATUS_OUT_OF_MEMORY, 65 * STEP);
    expect_mapped(64);
}

static tarn_backend_result tell_nothing(void *state, tarn_memory_info *info_out)
{
    *info_out = (tarn_memory_info){ 0, 0 };
    return TARN_BACKEND_RESULT_OK;
}

static void of_an_unknown_size_as_much_is_mapped_as_there_is(void **state)
{
    backend.operations.query_memory = tell_nothing;
    create();
    alloc(63 * STEP);
    expect_mapped(63);
}

/* --- going back --------------------------------------------------------------------------------- */

static void a_trim_takes_whole_free_steps_and_the_highest_first(void **state)
{
    create();
    char *low = alloc(STEP / 2);
    char *high = alloc(5 * STEP);
    expect_mapped(6);
    free_one(high);
    assert_int_equal(trim(3 * STEP + 1), 2 * STEP);
    expect_mapped(4);
    assert_ptr_equal(alloc(3 * STEP), high);
    expect_mapped(4);
    free_one(high);
    assert_int_equal(trim(0), 3 * STEP);
    expect_mapped(1);
    assert_int_equal(trim(0), 0);
    free_one(low);
    assert_int_equal(trim(0), STEP);
    expect_mapped(0);
}

static unsigned kept_of_six(size_t threshold_bytes)
{
    options.release_threshold_bytes = threshold_bytes;
    create();
    char *blocks[6];
    for (unsigned i = 0; i < 6; i++)
        blocks[i] = alloc(STEP);
    for (unsigned i = 0; i < 6; i++)
        free_one(blocks[(i * 5 + 2) % 6]);
    unsigned kept = (unsigned)stats_of(pool).static_pool_count;
    destroy();
    expect_nothing_left();
    return kept;
}

static void what_is_above_the_threshold_goes_back_but_for_a_spare(void **state)
{
    assert_int_equal(kept_of_six(0), 6);
    assert_int_equal(kept_of_six(1), 1);
    assert_int_equal(kept_of_six(STEP), 1);
    assert_int_equal(kept_of_six(2 * STEP - 1), 1);
    assert_int_equal(kept_of_six(2 * STEP), 2);
    assert_int_equal(kept_of_six(6 * STEP - 1), 5);
    assert_int_equal(kept_of_six(6 * STEP), 6);
    assert_int_equal(kept_of_six(SIZE_MAX), 6);
}

static void with_the_last_free_everything_goes_back(void **state)
{
    options.returns_when_empty = true;
    create();
    char *one = alloc(STEP), *other = alloc(2 * STEP);
    free_one(other);
    expect_mapped(3);
    free_one(one);
    expect_mapped(0);
    assert_int_equal(backend.range_count, 1);
    assert_ptr_equal(alloc(1), one);
}

static void a_step_that_the_backend_keeps_is_used_again(void **state)
{
    create();
    char *blocks[3];
    for (unsigned i = 0; i < 3; i++)
        blocks[i] = alloc(STEP);
    free_one(blocks[1]);
    backend.fail_call_at[TEST_CALL_RANGE_UNMAP] = 1;
    expect_status(TARN_STATUS_VENDOR_ERROR, tarn_pool_trim(pool, 0, NULL));
    expect_ok(tarn_pool_check(pool));
    assert_int_equal(stats_of(pool).footprint_bytes, 3 * STEP);
    assert_int_equal(stats_of(pool).unreleased_bytes, STEP);
    assert_ptr_equal(alloc(STEP), blocks[1]);
    assert_int_equal(stats_of(pool).unreleased_bytes, 0);
    free_one(blocks[1]);
    backend.fail_call_at[TEST_CALL_RANGE_UNMAP] = 1;
    expect_status(TARN_STATUS_VENDOR_ERROR, tarn_pool_trim(pool, 0, NULL));
    trim(0);
    assert_int_equal(stats_of(pool).footprint_bytes, 2 * STEP);
    expect_mapped(2);
}

static void a_freed_address_without_memory_is_not_live(void **state)
{
    create();
    char *block = alloc(STEP);
    free_one(block);
    trim(0);
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_free(pool, block));
    tarn_allocation found = TARN_ALLOCATION_INIT;
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_find(block, &found));
}

static void finding_names_the_range(void **state)
{
    create();
    char *one = alloc(STEP), *other = alloc(STEP);
    tarn_allocation a = TARN_ALLOCATION_INIT, b = TARN_ALLOCATION_INIT;
    expect_ok(tarn_pool_find(one + 5, &a));
    expect_ok(tarn_pool_find(other, &b));
    assert_ptr_equal(a.address, one);
    assert_ptr_equal(a.static_pool_base, b.static_pool_base);
    assert_int_equal(a.static_pool_id, b.static_pool_id);
    assert_int_equal(a.static_pool_bytes, 512 * STEP);
}

/* --- being told --------------------------------------------------------------------------------- */

static void note_created(void *user, void *base, size_t size_bytes, uint64_t id)
{
    assert_ptr_equal(user, &told);
    for (unsigned i = 0; i < told.created_count; i++)
        assert_int_not_equal(told.ids[i], id);
    told.ids[told.created_count++] = id;
    told.created_bytes += size_bytes;
    told.last_base = base;
}

static void note_destroyed(void *user, void *base, size_t size_bytes, uint64_t id)
{
    assert_ptr_equal(user, &told);
    bool is_known = false;
    for (unsigned i = 0; i < told.created_count; i++)
        is_known = is_known || told.ids[i] == id;
    assert_true(is_known);
    told.destroyed_count++;
    told.destroyed_bytes += size_bytes;
}

static void each_step_is_told_of_once_when_it_comes_and_once_when_it_goes(void **state)
{
    options.on_static_pool_created = note_created;
    options.on_static_pool_destroyed = note_destroyed;
    options.user = &told;
    create();
    char *block = alloc(3 * STEP);
    assert_int_equal(told.created_count, 3);
    assert_int_equal(told.created_bytes, 3 * STEP);
    assert_ptr_equal(told.last_base, block + 2 * STEP);
    free_one(block);
    trim(STEP);
    assert_int_equal(told.destroyed_count, 2);
    alloc(2 * STEP);
    assert_int_equal(told.created_count, 4);
}

static void allocate_inside(void *user, void *base, size_t size_bytes, uint64_t id)
{
    static unsigned depth;
    note_created(user, base, size_bytes, id);
    if (++depth < 5) alloc(STEP);
    expect_ok(tarn_pool_check(pool));
    depth--;
}

static void a_function_that_is_told_may_allocate(void **state)
{
    options.on_static_pool_created = allocate_inside;
    options.on_static_pool_destroyed = note_destroyed;
    options.user = &told;
    create();
    alloc(STEP);
    expect_mapped(5);
}

/* Its own steps are on their way, and what they are to join stays. */
static void trim_inside(void *user, void *base, size_t size_bytes, uint64_t id)
{
    note_created(user, base, size_bytes, id);
    assert_int_equal(trim(0), 0);
}

static void a_function_that_is_told_may_trim(void **state)
{
    options.on_static_pool_created = trim_inside;
    options.on_static_pool_destroyed = note_destroyed;
    options.user = &told;
    create();
    free_one(alloc(STEP));
    alloc(3 * STEP);
    expect_mapped(3);
}

/* What it allocates and frees may be what the request was to join; then the request needs more. */
static void free_all_inside(void *user, void *base, size_t size_bytes, uint64_t id)
{
    static unsigned depth;
    note_created(user, base, size_bytes, id);
    if (depth++ == 0) free_one(alloc(2 * STEP));
    depth--;
}

static void a_function_that_takes_the_place_does_not_hold_up_for_ever(void **state)
{
    options.on_static_pool_created = free_all_inside;
    options.on_static_pool_destroyed = note_destroyed;
    options.user = &told;
    options.limit_bytes = 6 * STEP;
    create();
    free_one(alloc(STEP));
    free_one(alloc(3 * STEP));
}

/* --- streams ------------------------------------------------------------------------------------ */

/* The vendor's answers to queries: so many times not yet, then that all is done. */
static unsigned late_count;

static tarn_backend_result query_late(void *state, tarn_event event)
{
    tarn_status status = late_count > 0 ? TARN_STATUS_NOT_READY : TARN_STATUS_OK;
    if (late_count > 0) late_count--;
    return (tarn_backend_result){ status, 0, NULL };
}

/* Half a step that is free by then and one step that the limit allows hold it together. */
static void work_that_is_done_at_the_last_look_is_planned_with(void **state)
{
    options.limit_bytes = 3 * STEP;
    create();
    alloc_on(STEP + STEP / 2, A);
    char *pending = alloc_on(STEP / 2, C);
    free_on(pending, C);
    backend.operations.event_query = query_late;
    late_count = 2; /* at the end of the stream, and at the first look */
    retire(C);
    assert_int_equal(late_count, 1);
    assert_ptr_equal(alloc_on(STEP + STEP / 2, A), pending);
}

/* As many steps go as the request misses, not all that are free. */
static void at_the_limit_few_steps_are_unmapped(void **state)
{
    char *blocks[32];
    options.limit_bytes = 32 * STEP;
    create();
    for (unsigned i = 0; i < 32; i++)
        blocks[i] = alloc(STEP);
    for (unsigned i = 0; i < 32; i += 2)
        free_one(blocks[i]);
    alloc(2 * STEP);
    assert_int_equal(backend.call_counts[TEST_CALL_RANGE_UNMAP], 2);
    expect_mapped(32);
}

/* New memory waits for nothing, what lies before it for the stream: together they serve that stream. */
static void new_steps_join_what_the_stream_has_freed(void **state)
{
    create();
    alloc_on(1, B);
    char *of_a = alloc_on(2 * STEP - KIB, A);
    expect_mapped(2);
    free_on(of_a, A);
    assert_ptr_equal(alloc_on(3 * STEP - KIB, A), of_a);
    expect_mapped(3);
    assert_int_equal(backend.wait_count, 0);
}

static void new_steps_do_not_join_what_others_have_freed(void **state)
{
    create();
    char *of_a = alloc_on(2 * STEP, A);
    alloc_on(21 * STEP, B); /* so much that the free steps need not make way */
    free_on(of_a, A);
    char *of_b = alloc_on(3 * STEP, B);
    assert_ptr_equal(of_b, of_a + 23 * STEP);
    expect_mapped(26);
}

static void pending_steps_go_back_when_told_to(void **state)
{
    create();
    /* One step that two streams make free together. */
    char *of_a = alloc_on(STEP + STEP / 2, A);
    char *of_b = alloc_on(STEP + STEP / 2, B);
    free_on(of_a, A);
    free_on(of_b, B);
    assert_int_equal(trim(0), 3 * STEP);
    expect_mapped(0);
}

static void while_a_stream_is_captured_nothing_is_unmapped(void **state)
{
    create();
    tarn_capture capture = 0;
    free_one(alloc(4 * STEP));
    expect_ok(tarn_capture_begin(pool, A, &capture));
    char *captured = alloc_on(STEP, A);
    assert_int_equal(trim(0), 0);
    char *grown = alloc_on(6 * STEP, A);
    free_on(captured, A);
    free_on(grown, A);
    expect_ok(tarn_capture_end(pool, capture));
    size_t held_bytes = stats_of(pool).footprint_bytes;
    trim(0);
    /* What the graph uses stays. */
    assert_int_equal(stats_of(pool).footprint_bytes, 7 * STEP);
    assert_in_range(held_bytes, 7 * STEP, 11 * STEP);
    expect_ok(tarn_capture_release(pool, capture, NULL, 0));
    trim(0);
    expect_mapped(0);
}

/* While a stream is captured nobody waits for another, so what the capture has freed is found here or not at
 * all. */
static void new_steps_join_what_the_capture_has_freed(void **state)
{
    create();
    tarn_capture capture = 0;
    alloc(1);
    expect_ok(tarn_capture_begin(pool, A, &capture));
    char *captured = alloc_on(2 * STEP - KIB, A);
    expect_mapped(2);
    free_on(captured, A);
    assert_ptr_equal(alloc_on(3 * STEP - KIB, A), captured);
    expect_mapped(3);
    expect_ok(tarn_capture_end(pool, capture));
}

/* --- geometry ----------------------------------------------------------------------------------- */

static void expect_step(size_t step_bytes)
{
    create();
    alloc(1);
    assert_int_equal(stats_of(pool).footprint_bytes, step_bytes);
    destroy();
}

static void the_first_step_fits_device_and_limit(void **state)
{
    options.step_bytes = 0;
    const size_t gib = KIB * KIB * KIB, mib = KIB * KIB;
    options.limit_bytes = 2 * gib; /* sanitizers need memory for what is reserved */
    backend.total_bytes = 141 * gib;
    expect_step(2 * mib);
    backend.total_bytes = 100 * mib;
    expect_step(2 * mib);
    backend.total_bytes = 141 * gib;
    options.limit_bytes = 100 * mib;
    expect_step(2 * mib);
    options.limit_bytes = 100 * mib + 64 * KIB; /* which steps of 2 MiB do not fill */
    expect_step(64 * KIB);
    options.limit_bytes = mib;
    expect_step(mib);
    options.limit_bytes = 0;
    backend.total_bytes = 100 * mib;
    options.step_bytes = KIB;
    expect_step(4 * KIB);
    options.chunk_bytes = 256 * KIB;
    expect_step(256 * KIB);
}

static void nonsense_is_refused(void **state)
{
    options.step_bytes = 3 * STEP;
    expect_options_refused(TARN_STATUS_INVALID_OPTIONS, "step_bytes");
    options.step_bytes = STEP;
    options.limit_bytes = STEP - 1;
    expect_options_refused(TARN_STATUS_INVALID_OPTIONS, "less than one step");
}

static void without_ranges_it_is_not_supported(void **state)
{
    backend.range_granularity_bytes = 0;
    expect_options_refused(TARN_STATUS_NOT_SUPPORTED, "contiguous");
    backend.range_granularity_bytes = 4 * KIB;
    backend.operations.range_map = NULL;
    expect_options_refused(TARN_STATUS_NOT_SUPPORTED, "");
}

static void fewer_addresses_will_do(void **state)
{
    backend.range_bytes_max = 40 * STEP;
    create();
    tarn_allocation found = found_at(alloc(1));
    assert_int_equal(found.static_pool_bytes, 32 * STEP);
    expect_refused(TARN_STATUS_OUT_OF_MEMORY, 33 * STEP);
    alloc(31 * STEP);
}

static void a_misaligned_range_begins_at_a_whole_step(void **state)
{
    backend.misalignment_bytes = 12 * KIB;
    create();
    void *address;
    expect_ok(tarn_pool_alloc_aligned(pool, 1, STEP, &address));
    assert_int_equal((uintptr_t)address % STEP, 0);
    expect_mapped(1);
    expect_ok(tarn_pool_alloc_aligned(pool, STEP, 16 * STEP, &address));
    assert_int_equal((uintptr_t)address % (16 * STEP), 0);
    expect_mapped(2);
}

/* --- failures ----------------------------------------------------------------------------------- */

/* Returns whether all went well. */
static bool run_scenario(void)
{
    void *one = NULL, *other = NULL;
    bool is_well = true;
    if (tarn_pool_create(&options, &pool) != TARN_STATUS_OK) {
        pool = NULL;
        return false;
    }
    is_well = tarn_pool_alloc(pool, 3 * STEP, &one) == TARN_STATUS_OK && is_well;
    expect_ok(tarn_pool_check(pool));
    is_well = tarn_pool_alloc(pool, STEP, &other) == TARN_STATUS_OK && is_well;
    expect_ok(tarn_pool_check(pool));
    free_one(one);
    is_well = tarn_pool_trim(pool, 0, NULL) == TARN_STATUS_OK && is_well;
    expect_ok(tarn_pool_check(pool));
    is_well = tarn_pool_alloc(pool, 4 * STEP, &one) == TARN_STATUS_OK && is_well;
    expect_ok(tarn_pool_check(pool));
    return is_well;
}

static void each_call_of_the_backend_may_fail(void **state)
{
    static const enum test_call calls[] = { TEST_CALL_RANGE_RESERVE, TEST_CALL_RANGE_MAP,
                                            TEST_CALL_RANGE_UNMAP };
    static const tarn_status failures[] = { TARN_STATUS_OUT_OF_MEMORY, TARN_STATUS_VENDOR_ERROR };
    for (unsigned c = 0; c < 3; c++) {
        for (unsigned n = 1; n < 12; n++) {
            backend.failed_count = 0;
            backend.call_failure = failures[n % 2];
            backend.fail_call_at[calls[c]] = n;
            bool is_well = run_scenario();
            if (backend.failed_count == 0) assert_true(is_well);
            backend.fail_call_at[calls[c]] = 0;
            if (pool) destroy();
            assert_int_equal(backend.piece_count, 0);
            assert_int_equal(backend.range_count, 0);
        }
    }
    pool = NULL;
}

static void each_host_allocation_may_fail(void **state)
{
    for (unsigned n = 1;; n++) {
        host_memory_faults_begin(n);
        bool is_well = run_scenario();
        assert_true(is_well || host_memory_faults_happened());
        if (pool) destroy();
        expect_nothing_left();
        if (!host_memory_faults_end()) break;
    }
}

/* --- threads ------------------------------------------------------------------------------------ */

static void *allocate_and_free(void *argument)
{
    for (unsigned i = 0; i < 300; i++) {
        void *one, *other;
        size_t size_bytes = (i % 7 + 1) * (STEP / 2);
        tarn_status status = tarn_pool_alloc(pool, size_bytes, &one);
        if (status != TARN_STATUS_OK) continue;
        if (tarn_pool_alloc(pool, KIB * (i % 90 + 1), &other) == TARN_STATUS_OK) free_one(other);
        free_one(one);
        if (i % 16 == 0) trim(0);
    }
    return NULL;
}

static void threads_grow_and_trim_at_once(void **state)
{
    pthread_t threads[4];
    options.limit_bytes = 12 * STEP;
    options.release_threshold_bytes = 2 * STEP;
    create();
    for (unsigned i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, allocate_and_free, NULL);
    for (unsigned i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    assert_in_range(backend.held_bytes_max, STEP, 12 * STEP);
    trim(0);
    expect_mapped(0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_contiguous, tear_down_contiguous)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_is_mapped_before_the_first_allocation),
        TEST(a_request_maps_the_steps_that_it_misses),
        TEST(free_space_merges_over_the_edges_of_steps),
        TEST(a_hole_is_filled_before_the_range_grows),
        TEST(the_place_that_misses_fewest_steps_is_taken),
        TEST(the_first_allocation_maps_what_the_pool_is_to_begin_with),
        TEST(the_initial_steps_may_be_had_at_once),
        TEST(the_initial_steps_are_had_all_or_the_creation_fails),
        TEST(all_there_is_may_be_had),
        TEST(the_limit_holds_in_whole_steps),
        TEST(the_initial_size_may_be_the_limit),
        TEST(scattered_blocks_leave_a_place_for_a_large_one),
        TEST(where_the_backend_has_no_more_free_steps_move),
        TEST(a_larger_request_than_the_largest_allocation_is_served),
        TEST(when_the_backend_refuses_nothing_stays_mapped_in_vain),
        TEST(for_more_than_the_device_has_nothing_is_mapped),
        TEST(of_an_unknown_size_as_much_is_mapped_as_there_is),
        TEST(a_trim_takes_whole_free_steps_and_the_highest_first),
        TEST(what_is_above_the_threshold_goes_back_but_for_a_spare),
        TEST(with_the_last_free_everything_goes_back),
        TEST(a_step_that_the_backend_keeps_is_used_again),
        TEST(a_freed_address_without_memory_is_not_live),
        TEST(finding_names_the_range),
        TEST(each_step_is_told_of_once_when_it_comes_and_once_when_it_goes),
        TEST(a_function_that_is_told_may_allocate),
        TEST(a_function_that_is_told_may_trim),
        TEST(a_function_that_takes_the_place_does_not_hold_up_for_ever),
        TEST(work_that_is_done_at_the_last_look_is_planned_with),
        TEST(at_the_limit_few_steps_are_unmapped),
        TEST(new_steps_join_what_the_stream_has_freed),
        TEST(new_steps_do_not_join_what_others_have_freed),
        TEST(pending_steps_go_back_when_told_to),
        TEST(while_a_stream_is_captured_nothing_is_unmapped),
        TEST(new_steps_join_what_the_capture_has_freed),
        TEST(the_first_step_fits_device_and_limit),
        TEST(nonsense_is_refused),
        TEST(without_ranges_it_is_not_supported),
        TEST(fewer_addresses_will_do),
        TEST(a_misaligned_range_begins_at_a_whole_step),
        TEST(each_call_of_the_backend_may_fail),
        TEST(each_host_allocation_may_fail),
        TEST(threads_grow_and_trim_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
