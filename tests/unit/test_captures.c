/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_captures: that no pool calls the vendor in a way that invalidates a capture which another pool was told of, and
 * that it does so later. */
#include "core/care/pool_registry.h"
#include "core/serve/pool_streams.h"
#include "pool_fixture.h"

static tarn_pool *told; /* of the capture */
static tarn_capture capture;

static int set_up_with_capture(void **state)
{
    begin_fixture(true);
    backend.has_synchronize = true;
    opened = test_backend_open(&backend);
    options.initial_bytes = 64 * KIB;
    options.growth_factor = 1.0;
    told = new_pool(&options);
    capture = 0;
    return 0;
}

static int tear_down_with_capture(void **state)
{
    tear_down(state);
    assert_false(tn_captures_are_under_way());
    return 0;
}

static void begin_capture(void)
{
    expect_ok(tarn_capture_begin(told, C, &capture));
    test_backend_take_calls(&backend);
    backend.release_count = 0;
}

static void expect_no_forbidden_call(void)
{
    static const enum test_call forbidden[] = {
        TEST_CALL_STREAM_SYNCHRONIZE, TEST_CALL_STREAM_WAIT_EVENT, TEST_CALL_SYNCHRONIZE,
        TEST_CALL_EVENT_RECORD,       TEST_CALL_EVENT_QUERY,
    };
    for (size_t i = 0; i < sizeof forbidden / sizeof forbidden[0]; i++)
        assert_int_equal(backend.call_counts[forbidden[i]], 0);
    assert_int_equal(backend.release_count, 0);
}

static void end_capture(void)
{
    expect_no_forbidden_call();
    expect_ok(tarn_capture_end(told, capture));
    expect_ok(tarn_capture_release(told, capture, NULL, 0));
}

static void end_told(void)
{
    expect_ok(tarn_pool_destroy(told));
}

static void a_trim_gives_nothing_back(void **state)
{
    create();
    free_one(alloc(KIB));
    begin_capture();
    assert_int_equal(trim(0), 0);
    end_capture();
    assert_int_equal(trim(0), 64 * KIB);
    end_told();
}

/* The device is full: neither pool is trimmed, and the device is not waited for. */
static void a_shortage_asks_nobody(void **state)
{
    create();
    void *kept = alloc_on(KIB, B), *pending = alloc_on(60 * KIB, A), *none;
    free_on(pending, A);
    backend.capacity_bytes = backend.held_bytes;
    begin_capture();
    expect_status(TARN_STATUS_OUT_OF_MEMORY, tarn_pool_alloc_on(pool, 60 * KIB, B, &none));
    expect_status(TARN_STATUS_OUT_OF_MEMORY, tarn_pool_alloc_on(told, 60 * KIB, C, &none));
    end_capture();
    free_on(alloc_on(60 * KIB, B), B);
    free_on(kept, B);
    end_told();
}

/* A release that the options ask for is made when the capture has ended. */
static void releases_are_made_later(void **state)
{
    options.returns_when_empty = true;
    create();
    void *address = alloc(KIB);
    begin_capture();
    free_one(address);
    assert_int_equal(stats_of(pool).footprint_bytes, 64 * KIB);
    end_capture();
    assert_int_equal(stats_of(pool).footprint_bytes, 0);
    end_told();
}

static void frees_of_a_pool_that_passes_through_are_made_later(void **state)
{
    options.passes_through = true;
    create();
    void *address = alloc(KIB);
    begin_capture();
    free_one(address);
    end_capture();
    assert_int_equal(stats_of(pool).footprint_bytes, 0);
    end_told();
}

static void more_streams_than_numbers_are_not_waited_for(void **state)
{
    void *addresses[60];
    create();
    for (unsigned i = 0; i < 60; i++)
        addresses[i] = alloc_on(KIB, STREAM(i));
    begin_capture();
    for (unsigned i = 0; i < 60; i++)
        free_on(addresses[i], STREAM(i));
    end_capture();
    end_told();
}

/* A piece that might not hold the request, and could not go back, is not asked for. */
static void growth_asks_for_enough_at_once(void **state)
{
    backend.misalignment_bytes = 256;
    options.initial_bytes = 0;
    create();
    begin_capture();
    unsigned before = backend.acquire_count;
    void *address;
    expect_ok(tarn_pool_alloc_aligned(pool, 4 * KIB, 4 * KIB, &address));
    assert_int_equal(backend.acquire_count, before + 1);
    end_capture();
    free_one(address);
    end_told();
}

/* The second step of three cannot be mapped, and the first goes back only later. */
static void steps_of_a_failed_growth_are_kept(void **state)
{
    end_told();
    backend.range_granularity_bytes = 4 * KIB;
    backend.total_bytes = 64 * 64 * KIB;
    opened = test_backend_open(&backend);
    told = new_pool(&options);
    options.contiguous = true;
    options.step_bytes = 64 * KIB;
    options.initial_bytes = 0;
    create();
    begin_capture();
    backend.fail_call_at[TEST_CALL_RANGE_MAP] = 2;
    void *address;
    expect_status(TARN_STATUS_VENDOR_ERROR, tarn_pool_alloc(pool, 192 * KIB, &address));
    assert_int_equal(backend.call_counts[TEST_CALL_RANGE_UNMAP], 0);
    assert_int_equal(stats_of(pool).unreleased_bytes, 64 * KIB);
    end_capture();
    assert_int_equal(stats_of(pool).footprint_bytes, 0);
    end_told();
}

/* The pool that was told is the last that may be looked at. */
static void a_capture_ends_with_its_pool(void **state)
{
    create();
    free_one(alloc(KIB));
    begin_capture();
    assert_true(tn_captures_are_under_way());
    end_told();
    assert_false(tn_captures_are_under_way());
    assert_int_equal(trim(0), 64 * KIB);
}

static unsigned destroyed_count;

static void note_destroyed(void *user, void *base, size_t size_bytes, uint64_t id)
{
    destroyed_count++;
}

/* A pool with a backend of its own keeps it until the capture has ended. The user is told at once. */
static void a_pool_that_is_destroyed_meanwhile_ends_later(void **state)
{
    tarn_pool_options own = TARN_POOL_OPTIONS_INIT;
    own.on_static_pool_destroyed = note_destroyed;
    destroyed_count = 0;
    tarn_pool *ending = new_pool(&own);
    expect_ok(tarn_pool_free(ending, new_block(ending, KIB)));
    begin_capture();
    size_t resting_count = tn_pool_registry_resting_count();
    expect_ok(tarn_pool_destroy(ending));
    assert_int_equal(destroyed_count, 1);
    assert_int_equal(tn_pool_registry_resting_count(), resting_count);
    expect_status(TARN_STATUS_INVALID_POOL, tarn_pool_trim(ending, 0, NULL));
    end_capture();
    assert_int_equal(tn_pool_registry_resting_count(), resting_count + 1);
    assert_int_equal(destroyed_count, 1);
    end_told();
}

#define CASE(name) \
    cmocka_unit_test_setup_teardown(name, set_up_with_capture, tear_down_with_capture)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        CASE(a_trim_gives_nothing_back),
        CASE(a_shortage_asks_nobody),
        CASE(releases_are_made_later),
        CASE(frees_of_a_pool_that_passes_through_are_made_later),
        CASE(more_streams_than_numbers_are_not_waited_for),
        CASE(growth_asks_for_enough_at_once),
        CASE(steps_of_a_failed_growth_are_kept),
        CASE(a_capture_ends_with_its_pool),
        CASE(a_pool_that_is_destroyed_meanwhile_ends_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
