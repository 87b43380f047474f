/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* zero_has_address: allocations of zero bytes that have addresses, whichever way they come and go. */
#include "pool_fixture.h"

static int set_up_zero(void **state)
{
    begin_fixture(true);
    options.initial_bytes = 64 * KIB;
    options.zero_has_address = true;
    options.alignment_bytes = 256;
    return 0;
}

enum {
    WAYS = 7
};

/* By each way to allocate. */
static void alloc_each_way(void *addresses[WAYS])
{
    static const size_t sizes[] = { 0, 0 };
    expect_ok(tarn_pool_alloc(pool, 0, &addresses[0]));
    expect_ok(tarn_pool_alloc_aligned(pool, 0, 4096, &addresses[1]));
    expect_ok(tarn_pool_alloc_on(pool, 0, A, &addresses[2]));
    expect_ok(tarn_pool_alloc_aligned_on(pool, 0, 8192, A, &addresses[3]));
    expect_ok(tarn_pool_alloc_many(pool, 2, sizes, &addresses[4]));
    expect_ok(tarn_pool_alloc_many_on(pool, 1, sizes, A, &addresses[6]));
}

static void expect_apart(void *const addresses[WAYS])
{
    for (int i = 0; i < WAYS; i++) {
        assert_non_null(addresses[i]);
        assert_int_equal((uintptr_t)addresses[i] % 256, 0);
        for (int k = 0; k < i; k++)
            assert_ptr_not_equal(addresses[i], addresses[k]);
    }
    assert_int_equal((uintptr_t)addresses[1] % 4096, 0);
    assert_int_equal((uintptr_t)addresses[3] % 8192, 0);
}

/* Each has an address of its own, is one byte, and is freed once. */
static void expect_blocks_of_one_byte(void)
{
    void *addresses[WAYS];
    alloc_each_way(addresses);
    expect_apart(addresses);
    tarn_stats stats = stats_of(pool);
    assert_int_equal(stats.live_count, WAYS);
    assert_int_equal(stats.requested_bytes, WAYS);
    for (int i = 0; i < WAYS; i++) {
        tarn_allocation found = found_at(addresses[i]);
        assert_ptr_equal(found.address, addresses[i]);
        assert_int_equal(found.size_bytes, 1);
        size_t usable_bytes = 0;
        expect_ok(tarn_pool_usable_size(pool, addresses[i], &usable_bytes));
        assert_true(usable_bytes >= 1);
    }
    expect_ok(tarn_pool_free(pool, addresses[0]));
    /* In pass-through the memory has gone back by then. */
    expect_status(options.passes_through ? TARN_STATUS_FOREIGN_ADDRESS : TARN_STATUS_NOT_LIVE,
                  tarn_pool_free(pool, addresses[0]));
    expect_ok(tarn_pool_free_on(pool, addresses[1], A));
    expect_ok(tarn_pool_free_after(pool, addresses[2], NULL, 0));
    expect_ok(tarn_pool_free_many_on(pool, 2, &addresses[3], A));
    expect_ok(tarn_pool_free_many(pool, 2, &addresses[5]));
    stats = stats_of(pool);
    assert_int_equal(stats.live_count, 0);
    assert_int_equal(stats.requested_bytes, 0);
    assert_int_equal(stats.alloc_count, stats.free_count);
    expect_ok(tarn_pool_check(pool));
}

static void by_default_it_is_null(void **state)
{
    const tarn_pool_options plain = TARN_POOL_OPTIONS_INIT;
    assert_false(plain.zero_has_address);
    options.zero_has_address = false;
    create();
    void *addresses[WAYS];
    alloc_each_way(addresses);
    for (int i = 0; i < WAYS; i++)
        assert_null(addresses[i]);
    assert_int_equal(stats_of(pool).live_count, 0);
    assert_int_equal(stats_of(pool).alloc_count, WAYS);
}

static void each_has_an_address(void **state)
{
    create();
    expect_blocks_of_one_byte();
}

static void so_it_is_in_pools_of_all_kinds(void **state)
{
    const tarn_pool_options plain = options;
    options.slices = false;
    create();
    expect_blocks_of_one_byte();
    destroy();
    options = plain;
    options.passes_through = true;
    create();
    expect_blocks_of_one_byte();
    destroy();
    options = plain;
    options.debug = TARN_DEBUG_SITES;
    create();
    expect_blocks_of_one_byte();
    destroy();
    options = plain;
    options.backend = NULL;
    expect_ok(tarn_pool_create_over((void *)((uintptr_t)1 << 56), 64 * KIB, &options, &pool));
    void *first = alloc(0), *second = alloc(0);
    assert_true(first && second && first != second);
}

static void in_an_arena(void **state)
{
    create();
    warm_up();
    void *first = alloc(0), *second = alloc(0);
    expect_active(1);
    assert_true(first && second && first != second);
    free_one(first);
    free_one(second);
    expect_active(1);
}

/* NULL is NULL all the same. */
static void null_is_freed_as_ever(void **state)
{
    create();
    free_one(NULL);
    expect_ok(tarn_pool_free_sized(pool, NULL, 0));
    expect_status(TARN_STATUS_WRONG_SIZE, tarn_pool_free_sized(pool, NULL, 1));
    assert_int_equal(stats_of(pool).free_count, 2);
}

/* --- frees that tell their size -------------------------------------------------------------------- */

static void expect_zero_and_one_accepted(void)
{
    for (size_t allocated = 0; allocated <= 1; allocated++) {
        for (size_t told = 0; told <= 1; told++) {
            expect_ok(tarn_pool_free_sized(pool, alloc(allocated), told));
            expect_ok(tarn_pool_free_sized_on(pool, alloc_on(allocated, A), told, A));
        }
        void *address = alloc(allocated);
        expect_status(TARN_STATUS_WRONG_SIZE, tarn_pool_free_sized(pool, address, 2));
        free_one(address);
    }
    void *two = alloc(2);
    unsigned failed_before = (unsigned)stats_of(pool).failed_count;
    expect_status(TARN_STATUS_WRONG_SIZE, tarn_pool_free_sized(pool, two, 0));
    assert_int_equal(stats_of(pool).failed_count, failed_before + 1);
    free_one(two);
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_free_sized(pool, two, 0));
    assert_int_equal(stats_of(pool).live_count, 0);
}

static void a_free_may_tell_0_or_1(void **state)
{
    create();
    expect_zero_and_one_accepted();
    destroy();
    options.debug = TARN_DEBUG_SITES;
    create();
    expect_zero_and_one_accepted();
}

/* The last free gives memory back. */
static void also_where_a_release_is_due(void **state)
{
    options.returns_when_empty = true;
    create();
    expect_ok(tarn_pool_free_sized(pool, alloc(0), 0));
    assert_int_equal(backend.piece_count, 0);
}

static void without_the_option_0_is_no_size_of_a_block(void **state)
{
    options.zero_has_address = false;
    create();
    void *one = alloc(1);
    expect_status(TARN_STATUS_WRONG_SIZE, tarn_pool_free_sized(pool, one, 0));
    free_one(one);
}

/* --- fallbacks ------------------------------------------------------------------------------------- */

/* Which pool is asked matters, not which one serves. */
static void a_fallback_serves_it_as_one_byte(void **state)
{
    options.zero_has_address = false;
    create();
    tarn_pool *fallback = pool;
    pool = NULL;
    options.zero_has_address = true;
    options.fallback = fallback;
    options.limit_bytes = options.initial_bytes = 64 * KIB;
    create();
    alloc(64 * KIB);
    void *address = alloc(0);
    assert_ptr_equal(found_at(address).pool, fallback);
    expect_ok(tarn_pool_free_sized(pool, address, 0));
    address = alloc(0);
    free_one(address);
    assert_int_equal(stats_of(fallback).live_count, 0);
    destroy();
    pool = fallback;
}

/* --- batches --------------------------------------------------------------------------------------- */

static void a_batch_that_fails_frees_them(void **state)
{
    options.limit_bytes = 64 * KIB;
    create();
    static const size_t sizes[] = { 0, 100, 0, 65 * 1024 };
    void *addresses[4] = { NULL };
    expect_status(TARN_STATUS_OVER_LIMIT, tarn_pool_alloc_many(pool, 4, sizes, addresses));
    for (int i = 0; i < 4; i++)
        assert_null(addresses[i]);
    assert_int_equal(stats_of(pool).live_count, 0);
}

/* --- captures -------------------------------------------------------------------------------------- */

static void in_a_capture(void **state)
{
    create();
    tarn_capture capture = 0;
    expect_ok(tarn_capture_begin(pool, A, &capture));
    void *first = alloc_on(0, A), *second = alloc_on(0, A);
    assert_true(first && second && first != second);
    free_on(first, A);
    assert_int_equal(stats_of(pool).captured_bytes, KIB);
    expect_ok(tarn_capture_end(pool, capture));
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up_zero, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(by_default_it_is_null),
        CASE(each_has_an_address),
        CASE(so_it_is_in_pools_of_all_kinds),
        CASE(in_an_arena),
        CASE(null_is_freed_as_ever),
        CASE(a_free_may_tell_0_or_1),
        CASE(also_where_a_release_is_due),
        CASE(without_the_option_0_is_no_size_of_a_block),
        CASE(a_fallback_serves_it_as_one_byte),
        CASE(a_batch_that_fails_frees_them),
        CASE(in_a_capture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
