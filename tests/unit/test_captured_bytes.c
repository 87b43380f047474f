/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Free memory that belongs to captures: what statistics, available bytes and the shortage report say of it. */
#include "pool_fixture.h"

static int set_up_with_captures(void **state)
{
    begin_fixture(true);
    backend.total_bytes = 1000 * KIB;
    options.initial_bytes = options.limit_bytes = 64 * KIB;
    return 0;
}

/* Used, free and captured chunks are all that the pool has. */
static void expect_parts(size_t used_bytes, size_t pending_bytes, size_t captured_bytes)
{
    tarn_stats stats = stats_of(pool);
    size_t available_bytes;
    assert_int_equal(stats.used_bytes, used_bytes);
    assert_int_equal(stats.pending_bytes, pending_bytes);
    assert_int_equal(stats.captured_bytes, captured_bytes);
    assert_int_equal(stats.free_bytes, 64 * KIB - used_bytes - captured_bytes);
    assert_true(stats.pending_bytes <= stats.free_bytes);
    assert_true(stats.largest_free_bytes <= stats.free_bytes);
    expect_ok(tarn_pool_available(pool, &available_bytes));
    assert_int_equal(available_bytes, stats.free_bytes);
}

static void captured_memory_is_counted_by_itself(void **state)
{
    create();
    void *of_b = alloc_on(10 * KIB, B), *of_two = alloc_on(4 * KIB, A);
    tarn_capture capture = 0;
    expect_ok(tarn_capture_begin(pool, A, &capture));
    void *first = alloc_on(20 * KIB, A), *second = alloc_on(6 * KIB, A);
    expect_parts(40 * KIB, 0, 0);
    free_on(first, A);
    expect_parts(20 * KIB, 0, 20 * KIB);
    assert_int_equal(stats_of(pool).largest_free_bytes, 24 * KIB);
    assert_int_equal(stats_of(pool).free_region_count, 1);
    free_on(of_b, B);
    expect_parts(10 * KIB, 10 * KIB, 20 * KIB);
    /* It waits for the capture, too. */
    const tarn_stream both[] = { A, B };
    free_after(of_two, both, 2);
    expect_parts(6 * KIB, 10 * KIB, 24 * KIB);
    expect_ok(tarn_capture_end(pool, capture));
    expect_parts(6 * KIB, 10 * KIB, 24 * KIB);
    free_on(second, B); /* whoever frees it */
    expect_parts(0, 10 * KIB, 30 * KIB);
    assert_int_equal(stats_of(pool).free_region_count, 2);

    expect_ok(tarn_capture_release(pool, capture, both, 1));
    tarn_stats stats = stats_of(pool);
    assert_int_equal(stats.captured_bytes, 0);
    assert_int_equal(stats.free_bytes, 64 * KIB);
    assert_true(stats.pending_bytes >= 30 * KIB);
}

/* The largest free region is no capture's, even if a capture has a larger one. */
static void the_largest_free_region_is_nobodys(void **state)
{
    create();
    tarn_capture capture = 0;
    expect_ok(tarn_capture_begin(pool, A, &capture));
    free_on(alloc_on(60 * KIB, A), A);
    expect_ok(tarn_capture_end(pool, capture));
    tarn_stats stats = stats_of(pool);
    assert_int_equal(stats.largest_free_bytes, 4 * KIB);
    assert_int_equal(stats.free_bytes, 4 * KIB);
    assert_true(stats.fragmentation == 0.0);
    alloc_on(4 * KIB, A);
    expect_refused_on(TARN_STATUS_OVER_LIMIT, 1, A);
    expect_ok(tarn_capture_release(pool, capture, NULL, 0));
    alloc_on(60 * KIB, A);
}

static void a_shortage_names_captured_memory(void **state)
{
    create();
    tarn_capture capture = 0;
    expect_ok(tarn_capture_begin(pool, A, &capture));
    free_on(alloc_on(40 * KIB, A), A);
    expect_ok(tarn_capture_end(pool, capture));
    void *hole = alloc(8 * KIB);
    alloc(8 * KIB);
    free_one(hole);
    expect_refused(TARN_STATUS_OVER_LIMIT, 20 * KIB);
    tarn_shortage shortage = TARN_SHORTAGE_INIT;
    expect_ok(tarn_last_shortage(&shortage));
    assert_int_equal(shortage.used_bytes, 8 * KIB);
    assert_int_equal(shortage.captured_bytes, 40 * KIB);
    assert_int_equal(shortage.free_bytes, 16 * KIB);
    assert_int_equal(shortage.largest_free_bytes, 8 * KIB);
    assert_false(shortage.fits_if_in_one_piece); /* with the capture's it would */
}

static void captured_memory_of_a_contiguous_pool_is_counted(void **state)
{
    backend.range_granularity_bytes = 4 * KIB;
    opened = test_backend_open(&backend);
    options.contiguous = true;
    options.step_bytes = 64 * KIB;
    create();
    tarn_capture capture = 0;
    expect_ok(tarn_capture_begin(pool, A, &capture));
    free_on(alloc_on(20 * KIB, A), A);
    expect_parts(0, 0, 20 * KIB);
    expect_ok(tarn_capture_end(pool, capture));
    expect_ok(tarn_capture_release(pool, capture, NULL, 0));
    expect_parts(0, 0, 0);
}

/* It is of no use to others, so many graphs must not make a pool grow by many small pieces. */
static void growth_counts_captured_memory_as_used(void **state)
{
    options.limit_bytes = 0;
    create();
    tarn_capture capture = 0;
    expect_ok(tarn_capture_begin(pool, A, &capture));
    free_on(alloc_on(60 * KIB, A), A);
    expect_ok(tarn_capture_end(pool, capture));
    alloc(8 * KIB);
    assert_int_equal(backend.asked_bytes[1], 56 * KIB); /* 120 less 64 */
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up_with_captures, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(captured_memory_is_counted_by_itself),
        CASE(the_largest_free_region_is_nobodys),
        CASE(a_shortage_names_captured_memory),
        CASE(growth_counts_captured_memory_as_used),
        CASE(captured_memory_of_a_contiguous_pool_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
