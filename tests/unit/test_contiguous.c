/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A contiguous pool: which steps it maps for a request, what it unmaps and when, and what it does when the
 * backend or the host refuses. Steps are 64 KiB here, chunks 1 KiB.
 */
#include <pthread.h>

#include "harness/claims.h"
#include "harness/host_memory_faults.h"
#include "harness/test_backend.h"

#define KIB  ((size_t)1024)
#define STEP (64 * KIB)

struct told {
    unsigned created_count, destroyed_count;
    size_t created_bytes, destroyed_bytes;
    uint64_t ids[64];
    char *last_base;
};

struct fixture {
    struct test_backend backend;
    tarn_backend opened;
    tarn_pool_options options;
    struct told told;
    tarn_pool *pool;
};

static int set_up(void **state)
{
    static struct fixture fixture;
    memset(&fixture, 0, sizeof fixture);
    test_backend_init(&fixture.backend);
    fixture.backend.range_granularity_bytes = 4 * KIB;
    fixture.backend.has_streams = true;
    fixture.backend.total_bytes = 64 * STEP;
    fixture.opened = test_backend_open(&fixture.backend);
    fixture.options = (tarn_pool_options)TARN_POOL_OPTIONS_INIT;
    fixture.options.backend = &fixture.opened;
    fixture.options.contiguous = true;
    fixture.options.step_bytes = STEP;
    fixture.options.initial_bytes = 0;
    *state = &fixture;
    return 0;
}

static void create(struct fixture *fixture)
{
    expect_ok(tarn_pool_create(&fixture->options, &fixture->pool));
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    if (fixture->pool) {
        expect_ok(tarn_pool_check(fixture->pool));
        expect_ok(tarn_pool_destroy_forced(fixture->pool, NULL));
    }
    assert_int_equal(fixture->backend.piece_count, 0);
    assert_int_equal(fixture->backend.range_count, 0);
    assert_int_equal(fixture->backend.misuse_count, 0);
    assert_int_equal(fixture->told.created_count, fixture->told.destroyed_count);
    return 0;
}

static char *alloc(struct fixture *fixture, size_t size_bytes)
{
    void *address;
    expect_ok(tarn_pool_alloc(fixture->pool, size_bytes, &address));
    expect_ok(tarn_pool_check(fixture->pool));
    return address;
}

static void give_back(struct fixture *fixture, void *address)
{
    expect_ok(tarn_pool_free(fixture->pool, address));
    expect_ok(tarn_pool_check(fixture->pool));
}

static void expect_mapped(struct fixture *fixture, size_t step_count)
{
    tarn_stats stats = stats_of(fixture->pool);
    assert_int_equal(stats.footprint_bytes, step_count * STEP);
    assert_int_equal(stats.static_pool_count, step_count);
    assert_int_equal(fixture->backend.held_bytes, step_count * STEP);
    assert_int_equal(stats.free_bytes, step_count * STEP - stats.used_bytes);
}

static size_t trim(struct fixture *fixture, size_t keep_bytes)
{
    size_t released_bytes = 0;
    expect_ok(tarn_pool_trim(fixture->pool, keep_bytes, &released_bytes));
    expect_ok(tarn_pool_check(fixture->pool));
    return released_bytes;
}

/* --- growing ------------------------------------------------------------------------------------ */

static void nothing_is_mapped_before_the_first_allocation(void **state)
{
    struct fixture *fixture = *state;
    create(fixture);
    assert_int_equal(fixture->backend.range_count, 1);
    expect_mapped(fixture, 0);
    assert_int_equal(stats_of(fixture->pool).free_region_count, 0);
    assert_int_equal(stats_of(fixture->pool).largest_free_bytes, 0);
}

static void a_request_maps_the_steps_that_it_misses(void **state)
{
    struct fixture *fixture = *state;
    create(fixture);
    char *first = alloc(fixture, 1);
    expect_mapped(fixture, 1);
    char *second = alloc(fixture, STEP);
    expect_mapped(fixture, 2);
    assert_ptr_equal(second, first + KIB);
    alloc(fixture, STEP - KIB);
    expect_mapped(fixture, 2);
    alloc(fixture, 3 * STEP + 1);
    expect_mapped(fixture, 6);
}

static void free_space_merges_over_the_edges_of_steps(void **state)
{
    struct fixture *fixture = *state;
    create(fixture);
    char *blocks[8];
    for (unsigned i = 0; i < 8; i++)
        blocks[i] = alloc(fixture, STEP);
    for (unsigned i = 1; i < 7; i++)
        give_back(fixture, blocks[i]);
    assert_int_equal(stats_of(fixture->pool).free_region_count, 1);
    assert_ptr_equal(alloc(fixture, 6 * STEP), blocks[1]);
    expect_mapped(fixture, 8);
}

static void a_hole_is_filled_before_the_range_grows(void **state)
{
    struct fixture *fixture = *state;
    create(fixture);
    char *blocks[6];
    for (unsigned i = 0; i < 6; i++)
        blocks[i] = alloc(fixture, STEP);
    give_back(fixture, blocks[2]);
    give_back(fixture, blocks[3]);
    assert_int_equal(trim(fixture, 0), 2 * STEP);
    expect_mapped(fixture, 4);
    assert_ptr_equal(alloc(fixture, 2 * STEP), blocks[2]);
    expect_mapped(fixture, 6);
}

/* Of two holes the one beside free memory needs fewer steps. */
static void the_place_that_misses_fewest_steps_is_taken(void **state)
{
    struct fixture *fixture = *state;
    create(fixture);
    char *blocks[12];
    for (unsigned i = 0; i < 12; i++)
        blocks[i] = alloc(fixture, STEP);
    give_back(fixture, blocks[2]);
    give_back(fixture, blocks[3]);
    give_back(fixture, blocks[8]);
    give_back(fixture, blocks[9]);
    trim(fixture, 0);
    expect_mapped(fixture, 8);
    /* Half of the step before the second hole is free. */
    give_back(fixture, blocks[7]);
    alloc(fixture, STEP / 2);
    char *place = alloc(fixture, STEP + STEP / 2);
    assert_ptr_equal(place, blocks[7] + STEP / 2);
    expect_mapped(fixture, 9);
}

static void the_first_allocation_maps_what_the_pool_is_to_begin_with(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.initial_bytes = 5 * STEP - 1;
    create(fixture);
    char *first = alloc(fixture, 1);
    expect_mapped(fixture, 5);
    give_back(fixture, first);
    trim(fixture, 0);
    expect_mapped(fixture, 0);
    alloc(fixture, 7 * STEP);
    expect_mapped(fixture, 7);
}

static void the_initial_steps_may_be_had_at_once(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.initial_bytes = 5 * STEP;
    fixture->options.takes_initial_at_once = true;
    create(fixture);
    expect_mapped(fixture, 5);
    assert_int_equal(stats_of(fixture->pool).largest_free_bytes, 5 * STEP);
}

static void the_initial_steps_are_had_all_or_the_creation_fails(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.initial_bytes = 5 * STEP;
    fixture->options.takes_initial_at_once = true;
    fixture->backend.capacity_bytes = 4 * STEP;
    expect_status(TARN_STATUS_OUT_OF_MEMORY, tarn_pool_create(&fixture->options, &fixture->pool));
    fixture->options.limit_bytes = 4 * STEP;
    expect_status(TARN_STATUS_OVER_LIMIT, tarn_pool_create(&fixture->options, &fixture->pool));
    assert_int_equal(fixture->backend.range_count, 0);
}

static void all_there_is_may_be_had(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.initial_bytes = TARN_INITIAL_ALL;
    fixture->backend.capacity_bytes = 13 * STEP + 1;
    create(fixture);
    alloc(fixture, 1);
    expect_mapped(fixture, 13);
}

/* --- limits ------------------------------------------------------------------------------------- */

static void the_limit_holds_in_whole_steps(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.limit_bytes = 4 * STEP + STEP / 2;
    create(fixture);
    void *address;
    alloc(fixture, 3 * STEP);
    expect_status(TARN_STATUS_OVER_LIMIT, tarn_pool_alloc(fixture->pool, STEP + 1, &address));
    alloc(fixture, STEP);
    expect_status(TARN_STATUS_OVER_LIMIT, tarn_pool_alloc(fixture->pool, 1, &address));
    expect_mapped(fixture, 4);
    assert_int_equal(fixture->backend.held_bytes_max, 4 * STEP);
}

/* The memory would do, but what is live lies in the middle of the limit's addresses. */
static void scattered_blocks_leave_a_place_for_a_large_one(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.limit_bytes = 8 * STEP;
    create(fixture);
    char *blocks[8];
    for (unsigned i = 0; i < 8; i++)
        blocks[i] = alloc(fixture, STEP);
    for (unsigned i = 0; i < 8; i++) {
        if (i % 2 == 0) give_back(fixture, blocks[i]);
    }
    alloc(fixture, 4 * STEP);
    expect_mapped(fixture, 8);
    assert_int_equal(fixture->backend.held_bytes_max, 8 * STEP);
}

static void where_the_backend_has_no_more_free_steps_move(void **state)
{
    struct fixture *fixture = *state;
    fixture->backend.capacity_bytes = 8 * STEP;
    scattered_blocks_leave_a_place_for_a_large_one(state);
    void *address;
    expect_status(TARN_STATUS_OVER_LIMIT, tarn_pool_alloc(fixture->pool, 1, &address));
}

static void a_larger_request_than_the_largest_allocation_is_served(void **state)
{
    struct fixture *fixture = *state;
    fixture->backend.allocation_bytes_max = 2 * STEP;
    create(fixture);
    alloc(fixture, 7 * STEP);
    expect_mapped(fixture, 7);
}

static void when_the_backend_refuses_nothing_stays_mapped_in_vain(void **state)
{
    struct fixture *fixture = *state;
    fixture->backend.capacity_bytes = 5 * STEP;
    create(fixture);
    void *address;
    alloc(fixture, STEP);
    expect_status(TARN_STATUS_OUT_OF_MEMORY, tarn_pool_alloc(fixture->pool, 5 * STEP, &address));
    expect_mapped(fixture, 1);
    alloc(fixture, 4 * STEP);
    expect_mapped(fixture, 5);
}

/* --- going back --------------------------------------------------------------------------------- */

static void a_trim_takes_whole_free_steps_and_the_highest_first(void **state)
{
    struct fixture *fixture = *state;
    create(fixture);
    char *low = alloc(fixture, STEP / 2);
    char *high = alloc(fixture, 5 * STEP);
    expect_mapped(fixture, 6);
    give_back(fixture, high);
    assert_int_equal(trim(fixture, 3 * STEP + 1), 2 * STEP);
    expect_mapped(fixture, 4);
    assert_ptr_equal(alloc(fixture, 3 * STEP), high);
    expect_mapped(fixture, 4);
    give_back(fixture, high);
    assert_int_equal(trim(fixture, 0), 3 * STEP);
    expect_mapped(fixture, 1);
    assert_int_equal(trim(fixture, 0), 0);
    give_back(fixture, low);
    assert_int_equal(trim(fixture, 0), STEP);
    expect_mapped(fixture, 0);
}

static unsigned kept_of_six(void **state, size_t threshold_bytes)
{
    struct fixture *fixture = *state;
    fixture->options.release_threshold_bytes = threshold_bytes;
    create(fixture);
    char *blocks[6];
    for (unsigned i = 0; i < 6; i++)
        blocks[i] = alloc(fixture, STEP);
    for (unsigned i = 0; i < 6; i++)
        give_back(fixture, blocks[(i * 5 + 2) % 6]);
    unsigned kept = (unsigned)stats_of(fixture->pool).static_pool_count;
    tear_down(state);
    fixture->pool = NULL;
    return kept;
}

static void what_is_above_the_threshold_goes_back_but_for_a_spare(void **state)
{
    assert_int_equal(kept_of_six(state, 0), 6);
    assert_int_equal(kept_of_six(state, 1), 1);
    assert_int_equal(kept_of_six(state, STEP), 1);
    assert_int_equal(kept_of_six(state, 2 * STEP - 1), 1);
    assert_int_equal(kept_of_six(state, 2 * STEP), 2);
    assert_int_equal(kept_of_six(state, 6 * STEP - 1), 5);
    assert_int_equal(kept_of_six(state, 6 * STEP), 6);
    assert_int_equal(kept_of_six(state, SIZE_MAX), 6);
}

static void with_the_last_free_everything_goes_back(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.returns_when_empty = true;
    create(fixture);
    char *one = alloc(fixture, STEP), *other = alloc(fixture, 2 * STEP);
    give_back(fixture, other);
    expect_mapped(fixture, 3);
    give_back(fixture, one);
    expect_mapped(fixture, 0);
    assert_int_equal(fixture->backend.range_count, 1);
    assert_ptr_equal(alloc(fixture, 1), one);
}

static void a_step_that_the_backend_keeps_is_lost_and_never_used_again(void **state)
{
    struct fixture *fixture = *state;
    create(fixture);
    char *blocks[3];
    for (unsigned i = 0; i < 3; i++)
        blocks[i] = alloc(fixture, STEP);
    give_back(fixture, blocks[1]);
    fixture->backend.fail_call_at[TEST_CALL_RANGE_UNMAP] = 1;
    expect_status(TARN_STATUS_VENDOR_ERROR, tarn_pool_trim(fixture->pool, 0, NULL));
    expect_ok(tarn_pool_check(fixture->pool));
    assert_int_equal(stats_of(fixture->pool).footprint_bytes, 2 * STEP);
    assert_ptr_equal(alloc(fixture, STEP), blocks[2] + STEP);
}

static void a_freed_address_without_memory_is_not_live(void **state)
{
    struct fixture *fixture = *state;
    create(fixture);
    char *block = alloc(fixture, STEP);
    give_back(fixture, block);
    trim(fixture, 0);
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_free(fixture->pool, block));
    tarn_allocation found = TARN_ALLOCATION_INIT;
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_find(block, &found));
}

static void finding_names_the_range(void **state)
{
    struct fixture *fixture = *state;
    create(fixture);
    char *one = alloc(fixture, STEP), *other = alloc(fixture, STEP);
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
    struct told *told = &((struct fixture *)user)->told;
    for (unsigned i = 0; i < told->created_count; i++)
        assert_int_not_equal(told->ids[i], id);
    told->ids[told->created_count++] = id;
    told->created_bytes += size_bytes;
    told->last_base = base;
}

static void note_destroyed(void *user, void *base, size_t size_bytes, uint64_t id)
{
    struct told *told = &((struct fixture *)user)->told;
    bool is_known = false;
    for (unsigned i = 0; i < told->created_count; i++)
        is_known = is_known || told->ids[i] == id;
    assert_true(is_known);
    told->destroyed_count++;
    told->destroyed_bytes += size_bytes;
}

static void each_step_is_told_of_once_when_it_comes_and_once_when_it_goes(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.on_static_pool_created = note_created;
    fixture->options.on_static_pool_destroyed = note_destroyed;
    fixture->options.user = fixture;
    create(fixture);
    char *block = alloc(fixture, 3 * STEP);
    assert_int_equal(fixture->told.created_count, 3);
    assert_int_equal(fixture->told.created_bytes, 3 * STEP);
    assert_ptr_equal(fixture->told.last_base, block + 2 * STEP);
    give_back(fixture, block);
    trim(fixture, STEP);
    assert_int_equal(fixture->told.destroyed_count, 2);
    alloc(fixture, 2 * STEP);
    assert_int_equal(fixture->told.created_count, 4);
}

static void allocate_inside(void *user, void *base, size_t size_bytes, uint64_t id)
{
    struct fixture *fixture = user;
    static unsigned depth;
    void *address;
    note_created(user, base, size_bytes, id);
    if (++depth < 5) expect_ok(tarn_pool_alloc(fixture->pool, STEP, &address));
    expect_ok(tarn_pool_check(fixture->pool));
    depth--;
}

static void a_function_that_is_told_may_allocate(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.on_static_pool_created = allocate_inside;
    fixture->options.on_static_pool_destroyed = note_destroyed;
    fixture->options.user = fixture;
    create(fixture);
    alloc(fixture, STEP);
    expect_mapped(fixture, 5);
}

/* --- streams ------------------------------------------------------------------------------------ */

static tarn_stream stream_of(int number)
{
    static char streams[8];
    return &streams[number];
}

static char *alloc_on(struct fixture *fixture, size_t size_bytes, tarn_stream stream)
{
    void *address;
    expect_ok(tarn_pool_alloc_on(fixture->pool, size_bytes, stream, &address));
    expect_ok(tarn_pool_check(fixture->pool));
    return address;
}

/* New memory waits for nothing, what lies before it for the stream: together they serve that stream. */
static void new_steps_join_what_the_stream_has_freed(void **state)
{
    struct fixture *fixture = *state;
    create(fixture);
    tarn_stream a = stream_of(1), b = stream_of(2);
    char *of_b = alloc_on(fixture, 1, b);
    char *of_a = alloc_on(fixture, 2 * STEP - KIB, a);
    expect_mapped(fixture, 2);
    expect_ok(tarn_pool_free_on(fixture->pool, of_a, a));
    assert_ptr_equal(alloc_on(fixture, 3 * STEP - KIB, a), of_a);
    expect_mapped(fixture, 3);
    assert_int_equal(fixture->backend.wait_count, 0);
    (void)of_b;
}

static void new_steps_do_not_join_what_others_have_freed(void **state)
{
    struct fixture *fixture = *state;
    create(fixture);
    tarn_stream a = stream_of(1), b = stream_of(2);
    char *of_a = alloc_on(fixture, 2 * STEP, a);
    alloc_on(fixture, STEP, b);
    expect_ok(tarn_pool_free_on(fixture->pool, of_a, a));
    char *of_b = alloc_on(fixture, 3 * STEP, b);
    assert_ptr_equal(of_b, of_a + 3 * STEP);
    expect_mapped(fixture, 6);
}

static void pending_steps_go_back_when_told_to(void **state)
{
    struct fixture *fixture = *state;
    create(fixture);
    tarn_stream a = stream_of(1), b = stream_of(2);
    /* One step that two streams make free together. */
    char *of_a = alloc_on(fixture, STEP + STEP / 2, a);
    char *of_b = alloc_on(fixture, STEP + STEP / 2, b);
    expect_ok(tarn_pool_free_on(fixture->pool, of_a, a));
    expect_ok(tarn_pool_free_on(fixture->pool, of_b, b));
    assert_int_equal(trim(fixture, 0), 3 * STEP);
    expect_mapped(fixture, 0);
}

static void while_a_stream_is_captured_nothing_is_unmapped(void **state)
{
    struct fixture *fixture = *state;
    create(fixture);
    tarn_stream a = stream_of(1);
    tarn_capture capture = 0;
    give_back(fixture, alloc(fixture, 4 * STEP));
    expect_ok(tarn_capture_begin(fixture->pool, a, &capture));
    char *captured = alloc_on(fixture, STEP, a);
    assert_int_equal(trim(fixture, 0), 0);
    char *grown = alloc_on(fixture, 6 * STEP, a);
    expect_ok(tarn_pool_free_on(fixture->pool, captured, a));
    expect_ok(tarn_pool_free_on(fixture->pool, grown, a));
    expect_ok(tarn_capture_end(fixture->pool, capture));
    size_t held_bytes = stats_of(fixture->pool).footprint_bytes;
    trim(fixture, 0);
    /* What the graph uses stays. */
    assert_int_equal(stats_of(fixture->pool).footprint_bytes, 7 * STEP);
    assert_in_range(held_bytes, 7 * STEP, 11 * STEP);
    expect_ok(tarn_capture_release(fixture->pool, capture, NULL, 0));
    trim(fixture, 0);
    expect_mapped(fixture, 0);
}

/* While a stream is captured nobody waits for another, so what the capture has freed is found here or not at
 * all. */
static void new_steps_join_what_the_capture_has_freed(void **state)
{
    struct fixture *fixture = *state;
    create(fixture);
    tarn_stream a = stream_of(1);
    tarn_capture capture = 0;
    alloc(fixture, 1);
    expect_ok(tarn_capture_begin(fixture->pool, a, &capture));
    char *captured = alloc_on(fixture, 2 * STEP - KIB, a);
    expect_mapped(fixture, 2);
    expect_ok(tarn_pool_free_on(fixture->pool, captured, a));
    assert_ptr_equal(alloc_on(fixture, 3 * STEP - KIB, a), captured);
    expect_mapped(fixture, 3);
    expect_ok(tarn_capture_end(fixture->pool, capture));
}

/* --- geometry ----------------------------------------------------------------------------------- */

static void expect_step(struct fixture *fixture, size_t step_bytes)
{
    create(fixture);
    alloc(fixture, 1);
    assert_int_equal(stats_of(fixture->pool).footprint_bytes, step_bytes);
    expect_ok(tarn_pool_destroy_forced(fixture->pool, NULL));
    fixture->pool = NULL;
}

static void the_size_of_a_step_fits_device_and_limit(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.step_bytes = 0;
    const size_t gib = KIB * KIB * KIB, mib = KIB * KIB;
    fixture->options.limit_bytes = 2 * gib; /* sanitizers need memory for what is reserved */
    fixture->backend.total_bytes = 141 * gib;
    expect_step(fixture, 64 * mib);
    fixture->backend.total_bytes = 24 * gib;
    expect_step(fixture, 32 * mib);
    fixture->backend.total_bytes = 8 * gib;
    expect_step(fixture, 16 * mib);
    fixture->backend.total_bytes = 100 * mib;
    expect_step(fixture, 2 * mib);
    fixture->backend.total_bytes = 141 * gib;
    fixture->options.limit_bytes = 100 * mib;
    expect_step(fixture, 4 * mib);
    fixture->options.limit_bytes = mib;
    expect_step(fixture, mib);
    fixture->options.limit_bytes = 0;
    fixture->backend.total_bytes = 100 * mib;
    fixture->options.step_bytes = KIB;
    expect_step(fixture, 4 * KIB);
    fixture->options.chunk_bytes = 256 * KIB;
    expect_step(fixture, 256 * KIB);
}

static void nonsense_is_refused(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.step_bytes = 3 * STEP;
    expect_status(TARN_STATUS_INVALID_OPTIONS, tarn_pool_create(&fixture->options, &fixture->pool));
    expect_message("step_bytes");
    fixture->options.step_bytes = STEP;
    fixture->options.limit_bytes = STEP - 1;
    expect_status(TARN_STATUS_INVALID_OPTIONS, tarn_pool_create(&fixture->options, &fixture->pool));
    expect_message("less than one step");
}

static void without_ranges_it_is_not_supported(void **state)
{
    struct fixture *fixture = *state;
    fixture->backend.range_granularity_bytes = 0;
    expect_status(TARN_STATUS_NOT_SUPPORTED, tarn_pool_create(&fixture->options, &fixture->pool));
    expect_message("contiguous");
    fixture->backend.range_granularity_bytes = 4 * KIB;
    fixture->backend.operations.range_map = NULL;
    expect_status(TARN_STATUS_NOT_SUPPORTED, tarn_pool_create(&fixture->options, &fixture->pool));
}

static void fewer_addresses_will_do(void **state)
{
    struct fixture *fixture = *state;
    fixture->backend.range_bytes_max = 40 * STEP;
    create(fixture);
    tarn_allocation found = TARN_ALLOCATION_INIT;
    expect_ok(tarn_pool_find(alloc(fixture, 1), &found));
    assert_int_equal(found.static_pool_bytes, 32 * STEP);
    void *address;
    expect_status(TARN_STATUS_OUT_OF_MEMORY, tarn_pool_alloc(fixture->pool, 33 * STEP, &address));
    alloc(fixture, 31 * STEP);
}

static void a_misaligned_range_begins_at_a_whole_step(void **state)
{
    struct fixture *fixture = *state;
    fixture->backend.misalignment_bytes = 12 * KIB;
    create(fixture);
    void *address;
    expect_ok(tarn_pool_alloc_aligned(fixture->pool, 1, STEP, &address));
    assert_int_equal((uintptr_t)address % STEP, 0);
    expect_mapped(fixture, 1);
    expect_ok(tarn_pool_alloc_aligned(fixture->pool, STEP, 16 * STEP, &address));
    assert_int_equal((uintptr_t)address % (16 * STEP), 0);
    expect_mapped(fixture, 2);
}

/* --- failures ----------------------------------------------------------------------------------- */

/* Returns whether all went well. */
static bool run_scenario(struct fixture *fixture)
{
    void *one = NULL, *other = NULL;
    bool is_well = true;
    if (tarn_pool_create(&fixture->options, &fixture->pool) != TARN_STATUS_OK) {
        fixture->pool = NULL;
        return false;
    }
    is_well = tarn_pool_alloc(fixture->pool, 3 * STEP, &one) == TARN_STATUS_OK && is_well;
    expect_ok(tarn_pool_check(fixture->pool));
    is_well = tarn_pool_alloc(fixture->pool, STEP, &other) == TARN_STATUS_OK && is_well;
    expect_ok(tarn_pool_check(fixture->pool));
    expect_ok(tarn_pool_free(fixture->pool, one));
    is_well = tarn_pool_trim(fixture->pool, 0, NULL) == TARN_STATUS_OK && is_well;
    expect_ok(tarn_pool_check(fixture->pool));
    is_well = tarn_pool_alloc(fixture->pool, 4 * STEP, &one) == TARN_STATUS_OK && is_well;
    expect_ok(tarn_pool_check(fixture->pool));
    return is_well;
}

static void each_call_of_the_backend_may_fail(void **state)
{
    static const enum test_call calls[] = { TEST_CALL_RANGE_RESERVE, TEST_CALL_RANGE_MAP,
                                            TEST_CALL_RANGE_UNMAP };
    static const tarn_status failures[] = { TARN_STATUS_OUT_OF_MEMORY, TARN_STATUS_VENDOR_ERROR };
    struct fixture *fixture = *state;
    for (unsigned c = 0; c < 3; c++) {
        for (unsigned n = 1; n < 12; n++) {
            fixture->backend.failed_count = 0;
            fixture->backend.call_failure = failures[n % 2];
            fixture->backend.fail_call_at[calls[c]] = n;
            bool is_well = run_scenario(fixture);
            if (fixture->backend.failed_count == 0) assert_true(is_well);
            fixture->backend.fail_call_at[calls[c]] = 0;
            if (fixture->pool) expect_ok(tarn_pool_destroy_forced(fixture->pool, NULL));
            assert_int_equal(fixture->backend.piece_count, 0);
            assert_int_equal(fixture->backend.range_count, 0);
        }
    }
    fixture->pool = NULL;
}

static void each_host_allocation_may_fail(void **state)
{
    struct fixture *fixture = *state;
    for (unsigned n = 1;; n++) {
        host_memory_faults_begin(n);
        bool is_well = run_scenario(fixture);
        assert_true(is_well || host_memory_faults_happened());
        if (fixture->pool) expect_ok(tarn_pool_destroy_forced(fixture->pool, NULL));
        fixture->pool = NULL;
        assert_int_equal(fixture->backend.piece_count, 0);
        assert_int_equal(fixture->backend.range_count, 0);
        if (!host_memory_faults_end()) break;
    }
}

/* --- threads ------------------------------------------------------------------------------------ */

static void *allocate_and_free(void *argument)
{
    struct fixture *fixture = argument;
    for (unsigned i = 0; i < 300; i++) {
        void *one, *other;
        size_t size_bytes = (i % 7 + 1) * (STEP / 2);
        tarn_status status = tarn_pool_alloc(fixture->pool, size_bytes, &one);
        if (status != TARN_STATUS_OK) continue;
        if (tarn_pool_alloc(fixture->pool, KIB * (i % 90 + 1), &other) == TARN_STATUS_OK)
            expect_ok(tarn_pool_free(fixture->pool, other));
        expect_ok(tarn_pool_free(fixture->pool, one));
        if (i % 16 == 0) expect_ok(tarn_pool_trim(fixture->pool, 0, NULL));
    }
    return NULL;
}

static void threads_grow_and_trim_at_once(void **state)
{
    struct fixture *fixture = *state;
    pthread_t threads[4];
    fixture->options.limit_bytes = 12 * STEP;
    fixture->options.release_threshold_bytes = 2 * STEP;
    create(fixture);
    for (unsigned i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, allocate_and_free, fixture);
    for (unsigned i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    assert_in_range(fixture->backend.held_bytes_max, STEP, 12 * STEP);
    trim(fixture, 0);
    expect_mapped(fixture, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

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
        TEST(scattered_blocks_leave_a_place_for_a_large_one),
        TEST(where_the_backend_has_no_more_free_steps_move),
        TEST(a_larger_request_than_the_largest_allocation_is_served),
        TEST(when_the_backend_refuses_nothing_stays_mapped_in_vain),
        TEST(a_trim_takes_whole_free_steps_and_the_highest_first),
        TEST(what_is_above_the_threshold_goes_back_but_for_a_spare),
        TEST(with_the_last_free_everything_goes_back),
        TEST(a_step_that_the_backend_keeps_is_lost_and_never_used_again),
        TEST(a_freed_address_without_memory_is_not_live),
        TEST(finding_names_the_range),
        TEST(each_step_is_told_of_once_when_it_comes_and_once_when_it_goes),
        TEST(a_function_that_is_told_may_allocate),
        TEST(new_steps_join_what_the_stream_has_freed),
        TEST(new_steps_do_not_join_what_others_have_freed),
        TEST(pending_steps_go_back_when_told_to),
        TEST(while_a_stream_is_captured_nothing_is_unmapped),
        TEST(new_steps_join_what_the_capture_has_freed),
        TEST(the_size_of_a_step_fits_device_and_limit),
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
