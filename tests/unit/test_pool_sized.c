/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Frees that tell their size: what is refused, what is counted, and that a refusal changes nothing. */
#include <stdio.h>

#include "harness/host_memory_faults.h"
#include "tarn/host.h"
#include "pool_fixture.h"

static void expect_wrong(void *address, size_t actual, size_t told)
{
    char sizes[80];
    tarn_stats before = stats_of(pool);
    expect_status(TARN_STATUS_WRONG_SIZE, tarn_pool_free_sized(pool, address, told));
    snprintf(sizes, sizeof sizes, "of %zu bytes, not of %zu", actual, told);
    expect_message(sizes);
    expect_status(TARN_STATUS_WRONG_SIZE, tarn_pool_free_sized_on(pool, address, told, A));
    tarn_stats after = stats_of(pool);
    assert_int_equal(after.live_count, before.live_count);
    assert_int_equal(after.requested_bytes, before.requested_bytes);
    assert_int_equal(after.free_count, before.free_count);
    if (address) assert_int_equal(after.failed_count, before.failed_count + 2);
    expect_ok(tarn_pool_check(pool));
}

static void the_size_that_was_asked_for_frees(void **state)
{
    static const size_t sizes[] = { 1, 1023, 1024, 1025, 5000, 200 * KIB };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        expect_ok(tarn_pool_free_sized(pool, alloc(sizes[i]), sizes[i]));
        void *address;
        expect_ok(tarn_pool_alloc_aligned_on(pool, sizes[i], 8 * KIB, A, &address));
        expect_ok(tarn_pool_free_sized_on(pool, address, sizes[i], A));
    }
    assert_int_equal(stats_of(pool).live_count, 0);
    assert_int_equal(stats_of(pool).requested_bytes, 0);
    assert_int_equal(stats_of(pool).failed_count, 0);
}

static void another_size_frees_nothing(void **state)
{
    static const size_t wrong[] = { 0, 1, 4999, 5001, 5120, 5 * KIB + 1, SIZE_MAX };
    void *address = alloc(5000);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        expect_wrong(address, 5000, wrong[i]);
    expect_ok(tarn_pool_free_sized(pool, address, 5000));
}

static void null_has_no_bytes(void **state)
{
    expect_ok(tarn_pool_free_sized(pool, NULL, 0));
    expect_ok(tarn_pool_free_sized_on(pool, NULL, 0, A));
    assert_int_equal(stats_of(pool).free_count, 2);
    expect_wrong(NULL, 0, 1);
}

static void what_is_not_live_is_told_as_by_a_free(void **state)
{
    char *address = alloc(5000);
    int mine;
    tarn_pool *other = new_pool(&options);
    expect_status(TARN_STATUS_WRONG_POOL, tarn_pool_free_sized(other, address, 5000));
    expect_ok(tarn_pool_destroy(other));
    expect_status(TARN_STATUS_INTERIOR_ADDRESS, tarn_pool_free_sized(pool, address + 1024, 5000));
    expect_status(TARN_STATUS_INTERIOR_ADDRESS, tarn_pool_free_sized(pool, address + 1, 5000));
    expect_status(TARN_STATUS_FOREIGN_ADDRESS, tarn_pool_free_sized(pool, &mine, sizeof mine));
    expect_ok(tarn_pool_free_sized(pool, address, 5000));
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_free_sized(pool, address, 5000));
    expect_message("freed twice");
    assert_int_equal(stats_of(pool).failed_count, 4);
    expect_status(TARN_STATUS_INVALID_POOL, tarn_pool_free_sized(NULL, address, 5000));
    expect_status(TARN_STATUS_INVALID_POOL, tarn_pool_free_sized_on(NULL, address, 5000, A));
}

static void a_stream_that_is_new_is_introduced(void **state)
{
    void *address = alloc(5000);
    backend.foreign_stream = A;
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_pool_free_sized_on(pool, address, 5000, A));
    expect_wrong(address, 5000, 4);
    backend.foreign_stream = NULL;
    expect_ok(tarn_pool_free_sized_on(pool, address, 5000, A));
    assert_int_equal(stats_of(pool).pending_bytes, 5 * KIB);
}

static void memory_goes_back_as_after_a_free(void **state)
{
    options.returns_when_empty = true;
    create_anew();
    expect_ok(tarn_pool_free_sized(pool, alloc(5000), 5000));
    assert_int_equal(backend.held_bytes, 0);
    options.returns_when_empty = false;
    options.passes_through = true;
    create_anew();
    void *address = alloc(5000);
    expect_wrong(address, 5000, 5120);
    expect_ok(tarn_pool_free_sized(pool, address, 5000));
    assert_int_equal(backend.held_bytes, 0);
}

static void a_fallback_is_asked(void **state)
{
    tarn_pool *fallback = new_pool(&options);
    options.fallback = fallback;
    options.limit_bytes = 64 * KIB;
    create_anew();
    void *address = alloc(100 * KIB);
    expect_status(TARN_STATUS_WRONG_SIZE, tarn_pool_free_sized(pool, address, 100 * KIB - 1));
    expect_message("102400 bytes, not of 102399");
    assert_int_equal(stats_of(fallback).live_count, 1);
    expect_ok(tarn_pool_free_sized(pool, address, 100 * KIB));
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_free_sized(pool, address, 100 * KIB));
    options.fallback = NULL;
    create_anew();
    expect_ok(tarn_pool_destroy(fallback));
}

static void debug_mode_knows_the_programs_size(void **state)
{
    static const unsigned modes[] = { TARN_DEBUG_SITES, TARN_DEBUG_ZONES,
                                      TARN_DEBUG_POISON | TARN_DEBUG_QUARANTINE };
    destroy();
    tarn_backend host = new_host_backend(NULL);
    options.backend = &host;
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        options.debug = modes[i];
        create();
        char *address = alloc(5000);
        tarn_stats before = stats_of(pool);
        expect_status(TARN_STATUS_WRONG_SIZE, tarn_pool_free_sized(pool, address, 5512));
        expect_message("of 5000 bytes, not of 5512");
        assert_int_equal(stats_of(pool).failed_count, before.failed_count + 1);
        assert_int_equal(stats_of(pool).live_count, 1);
        expect_status(TARN_STATUS_INTERIOR_ADDRESS, tarn_pool_free_sized(pool, address + 1, 5000));
        expect_ok(tarn_pool_free_sized(pool, address, 5000));
        expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_free_sized(pool, address, 5000));
        destroy();
    }
    tarn_backend_close(&host);
}

static void it_asks_for_no_host_memory(void **state)
{
    void *address = alloc(5000);
    host_memory_faults_begin(1);
    expect_ok(tarn_pool_free_sized(pool, address, 5000));
    assert_false(host_memory_faults_end());
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down_empty)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(the_size_that_was_asked_for_frees),
        CASE(another_size_frees_nothing),
        CASE(null_has_no_bytes),
        CASE(what_is_not_live_is_told_as_by_a_free),
        CASE(a_stream_that_is_new_is_introduced),
        CASE(memory_goes_back_as_after_a_free),
        CASE(a_fallback_is_asked),
        CASE(debug_mode_knows_the_programs_size),
        CASE(it_asks_for_no_host_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
