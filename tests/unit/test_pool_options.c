/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Options that speak of the device's memory, of when memory is taken, and of when it goes back. */
#include "harness/claims.h"
#include "harness/host_memory_faults.h"
#include "harness/test_backend.h"

#include "core/supply/pool_options.h"
#include "core/care/pool_registry.h"

#define KIB ((size_t)1024)

struct fixture {
    struct test_backend backend;
    tarn_backend opened;
    tarn_pool_options options;
};

static int set_up(void **state)
{
    static struct fixture fixture;
    test_backend_init(&fixture.backend);
    fixture.opened = test_backend_open(&fixture.backend);
    fixture.options = (tarn_pool_options)TARN_POOL_OPTIONS_INIT;
    fixture.options.backend = &fixture.opened;
    fixture.options.initial_bytes = 64 * KIB;
    *state = &fixture;
    return 0;
}

static tarn_pool *create(struct fixture *fixture)
{
    tarn_pool *pool;
    expect_ok(tarn_pool_create(&fixture->options, &pool));
    return pool;
}

static void destroy(struct fixture *fixture, tarn_pool *pool)
{
    expect_ok(tarn_pool_check(pool));
    expect_ok(tarn_pool_destroy_forced(pool, NULL));
    assert_int_equal(fixture->backend.piece_count, 0);
}

static void *alloc(tarn_pool *pool, size_t size_bytes)
{
    void *address;
    expect_ok(tarn_pool_alloc(pool, size_bytes, &address));
    return address;
}

/* No pool is made of the options, the message says why, and nothing is left behind. */
static void expect_refused(struct fixture *fixture, tarn_status status, const char *part)
{
    tarn_pool *pool = (tarn_pool *)fixture;
    size_t resting = tn_pool_registry_resting_count();
    expect_status(status, tarn_pool_create(&fixture->options, &pool));
    expect_message(part);
    assert_ptr_equal(pool, fixture);
    assert_true(tn_pool_registry_resting_count() >= resting);
    assert_int_equal(fixture->backend.piece_count, 0);
}

/* --- limit_percent ------------------------------------------------------------------------------- */

static void per_cent_are_rounded_down_and_do_not_overflow(void **state)
{
    assert_int_equal(tn_percent_of(0, 50), 0);
    assert_int_equal(tn_percent_of(99, 1), 0);
    assert_int_equal(tn_percent_of(100, 1), 1);
    assert_int_equal(tn_percent_of(101, 1), 1);
    assert_int_equal(tn_percent_of(199, 50), 99);
    assert_int_equal(tn_percent_of(1000, 99), 990);
    assert_int_equal(tn_percent_of(SIZE_MAX, 100), SIZE_MAX);
    assert_int_equal(tn_percent_of(SIZE_MAX - 1, 100), SIZE_MAX - 1);
}

/* The largest single allocation tells what the limit is. */
static void expect_limit(struct fixture *fixture, size_t limit_bytes)
{
    tarn_pool *pool = create(fixture);
    void *address;
    expect_status(TARN_STATUS_OVER_LIMIT, tarn_pool_alloc(pool, limit_bytes + 1, &address));
    alloc(pool, limit_bytes);
    destroy(fixture, pool);
}

static void a_limit_may_be_per_cent_of_the_device(void **state)
{
    struct fixture *fixture = *state;
    fixture->backend.total_bytes = 1000 * KIB;
    fixture->backend.foreign_bytes = 900 * KIB; /* free or not makes no difference */
    fixture->options.limit_percent = 1;
    expect_limit(fixture, 10 * KIB);
    fixture->options.limit_percent = 99;
    expect_limit(fixture, 990 * KIB);
    fixture->options.limit_percent = 100;
    expect_limit(fixture, 1000 * KIB);
}

static void the_smaller_of_two_limits_holds(void **state)
{
    struct fixture *fixture = *state;
    fixture->backend.total_bytes = 1000 * KIB;
    fixture->options.limit_percent = 50;
    fixture->options.limit_bytes = 499 * KIB;
    expect_limit(fixture, 499 * KIB);
    fixture->options.limit_bytes = 500 * KIB;
    expect_limit(fixture, 500 * KIB);
    fixture->options.limit_bytes = 501 * KIB;
    expect_limit(fixture, 500 * KIB);
}

static void bad_percentages_are_refused(void **state)
{
    struct fixture *fixture = *state;
    fixture->backend.total_bytes = 1000 * KIB;
    fixture->options.limit_percent = 101;
    expect_refused(fixture, TARN_STATUS_INVALID_OPTIONS, "limit_percent is 101");
    fixture->options.limit_percent = UINT32_MAX;
    expect_refused(fixture, TARN_STATUS_INVALID_OPTIONS, "limit_percent");
}

static void a_percentage_of_less_than_a_chunk_is_refused(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.limit_percent = 1;
    fixture->backend.total_bytes = 100 * KIB - 1;
    expect_refused(fixture, TARN_STATUS_INVALID_OPTIONS, "limit_percent is 1");
    fixture->backend.total_bytes = 100 * KIB;
    expect_limit(fixture, KIB);
}

static void a_percentage_needs_a_device_that_tells(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.limit_percent = 50;
    expect_refused(fixture, TARN_STATUS_NOT_SUPPORTED, "limit_percent");
    assert_string_equal(tarn_last_error().vendor_name, "testError");
    tarn_backend_operations operations = *fixture->opened.operations;
    operations.query_memory = NULL;
    fixture->opened.operations = &operations;
    expect_refused(fixture, TARN_STATUS_NOT_SUPPORTED, "limit_percent");
    fixture->options.limit_percent = 0;
    destroy(fixture, create(fixture));
}

/* --- available ------------------------------------------------------------------------------------- */

static void expect_available(tarn_pool *pool, size_t expected)
{
    size_t available;
    expect_ok(tarn_pool_available(pool, &available));
    assert_int_equal(available, expected);
}

static void available_is_what_is_free_here_and_on_the_device(void **state)
{
    struct fixture *fixture = *state;
    fixture->backend.total_bytes = 1000 * KIB;
    fixture->backend.foreign_bytes = 100 * KIB;
    tarn_pool *pool = create(fixture);
    expect_available(pool, 900 * KIB);
    void *address = alloc(pool, KIB + 1);
    expect_available(pool, 898 * KIB);
    fixture->backend.foreign_bytes = 1000 * KIB;
    expect_available(pool, 62 * KIB);
    expect_ok(tarn_pool_free(pool, address));
    expect_available(pool, 64 * KIB);
    destroy(fixture, pool);
}

static void available_stays_under_the_limit(void **state)
{
    struct fixture *fixture = *state;
    fixture->backend.total_bytes = 1000 * KIB;
    fixture->options.limit_bytes = 100 * KIB;
    tarn_pool *pool = create(fixture);
    expect_available(pool, 100 * KIB);
    alloc(pool, 10 * KIB);
    expect_available(pool, 90 * KIB);
    fixture->backend.foreign_bytes = 1000 * KIB - 64 * KIB - 5 * KIB;
    expect_available(pool, (54 + 5) * KIB);
    destroy(fixture, pool);
}

/* What waits for a stream can be had: the pool waits for it, or makes others wait. */
static void pending_bytes_are_available(void **state)
{
    struct fixture *fixture = *state;
    fixture->backend.total_bytes = 1000 * KIB;
    tarn_pool *pool = create(fixture);
    tarn_stream a = (tarn_stream)(uintptr_t)0x10, b = (tarn_stream)(uintptr_t)0x20;
    void *address, *other;
    expect_ok(tarn_pool_alloc_on(pool, 30 * KIB, a, &address));
    expect_ok(tarn_pool_alloc_on(pool, 10 * KIB, b, &other));
    expect_ok(tarn_pool_free_on(pool, address, a));
    assert_true(stats_of(pool).pending_bytes >= 30 * KIB);
    expect_available(pool, 990 * KIB);
    destroy(fixture, pool);
}

static void available_needs_a_device_that_tells(void **state)
{
    struct fixture *fixture = *state;
    tarn_pool *pool = create(fixture);
    size_t available = 77;
    expect_status(TARN_STATUS_NOT_SUPPORTED, tarn_pool_available(pool, &available));
    expect_message("does not tell how much memory is free");
    assert_int_equal(available, 77);
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_pool_available(pool, NULL));
    expect_status(TARN_STATUS_INVALID_POOL, tarn_pool_available(NULL, &available));
    destroy(fixture, pool);
    expect_status(TARN_STATUS_INVALID_POOL, tarn_pool_available(pool, &available));
    assert_int_equal(available, 77);
}

/* --- initial_bytes --------------------------------------------------------------------------------- */

static void the_initial_size_may_be_taken_at_once(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.takes_initial_at_once = true;
    fixture->options.initial_bytes = 100 * KIB;
    tarn_pool *pool = create(fixture);
    assert_int_equal(fixture->backend.acquire_count, 1);
    assert_int_equal(fixture->backend.asked_bytes[0], 100 * KIB);
    tarn_stats stats = stats_of(pool);
    assert_int_equal(stats.footprint_bytes, 100 * KIB);
    assert_int_equal(stats.free_bytes, 100 * KIB);
    assert_int_equal(stats.alloc_count, 0);
    assert_int_equal(stats.used_bytes_max, 0);
    alloc(pool, 100 * KIB);
    assert_int_equal(fixture->backend.acquire_count, 1);
    destroy(fixture, pool);
}

static void at_once_means_all_of_it_or_no_pool(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.takes_initial_at_once = true;
    fixture->options.initial_bytes = 100 * KIB;
    fixture->backend.capacity_bytes = 100 * KIB - 1;
    expect_refused(fixture, TARN_STATUS_OUT_OF_MEMORY, "no more memory");
    assert_int_equal(fixture->backend.acquire_count, 1);
    fixture->backend.capacity_bytes = 100 * KIB;
    destroy(fixture, create(fixture));
    fixture->options.limit_bytes = 100 * KIB - 1;
    expect_refused(fixture, TARN_STATUS_OVER_LIMIT, "at most 102399");
    fixture->options.limit_bytes = 100 * KIB;
    destroy(fixture, create(fixture));
    fixture->options.limit_bytes = 0;
    fixture->options.growth_bytes_max = 50 * KIB; /* which one request alone may exceed */
    destroy(fixture, create(fixture));
    fixture->backend.allocation_bytes_max = 100 * KIB - 1;
    expect_refused(fixture, TARN_STATUS_OUT_OF_MEMORY, "largest allocation");
    fixture->options.initial_bytes = SIZE_MAX - 1;
    expect_refused(fixture, TARN_STATUS_SIZE_TOO_LARGE, "initial_bytes");
    fixture->options.initial_bytes = 0;
    expect_refused(fixture, TARN_STATUS_INVALID_OPTIONS, "takes_initial_at_once");
    fixture->options.initial_bytes = 1;
    destroy(fixture, create(fixture));
}

static void a_vendors_failure_at_once_is_passed_on(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.takes_initial_at_once = true;
    fixture->backend.failure = TARN_STATUS_VENDOR_ERROR;
    fixture->backend.fail_acquire_at = 1;
    expect_refused(fixture, TARN_STATUS_VENDOR_ERROR, "failed to give memory");
}

static void at_once_any_host_allocation_may_fail(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.takes_initial_at_once = true;
    unsigned n = 1;
    for (bool has_failed = true; has_failed; n++) {
        tarn_pool *pool;
        size_t resting = tn_pool_registry_resting_count();
        host_memory_faults_begin(n);
        tarn_status status = tarn_pool_create(&fixture->options, &pool);
        if (status == TARN_STATUS_OK) expect_ok(tarn_pool_destroy(pool));
        long outstanding = host_memory_faults_outstanding();
        has_failed = host_memory_faults_end();
        assert_int_equal(status, has_failed ? TARN_STATUS_OUT_OF_HOST_MEMORY : TARN_STATUS_OK);
        assert_int_equal(outstanding, tn_pool_registry_resting_count() - resting);
        assert_int_equal(fixture->backend.piece_count, 0);
    }
    assert_true(n > 6);
}

static void a_pools_own_backend_outlives_no_failed_creation(void **state)
{
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    tarn_pool *pool;
    options.takes_initial_at_once = true;
    options.initial_bytes = 1024 * KIB;
    options.limit_bytes = 512 * KIB;
    tarn_status status = tarn_pool_create(&options, &pool);
    if (status == TARN_STATUS_NO_DEVICE) skip();
    assert_int_equal(status, TARN_STATUS_OVER_LIMIT);
    options.limit_bytes = 0;
    expect_ok(tarn_pool_create(&options, &pool));
    expect_ok(tarn_pool_destroy(pool));
}

static void all_there_is_can_be_taken(void **state)
{
    struct fixture *fixture = *state;
    fixture->backend.total_bytes = 1024 * KIB;
    fixture->backend.foreign_bytes = 384 * KIB;
    fixture->backend.capacity_bytes = 600 * KIB; /* less than it says */
    fixture->options.initial_bytes = TARN_INITIAL_ALL;
    fixture->options.takes_initial_at_once = true;
    tarn_pool *pool = create(fixture);
    /* Steps of 10 KiB, in whole pages of 4 KiB. */
    assert_int_equal(fixture->backend.asked_bytes[0], 640 * KIB);
    assert_int_equal(fixture->backend.asked_bytes[1], 632 * KIB);
    assert_in_range(stats_of(pool).footprint_bytes, 590 * KIB, 600 * KIB);
    destroy(fixture, pool);

    fixture->options.takes_initial_at_once = false;
    fixture->options.growth_bytes_max = 8 * KIB; /* which is for further ones */
    fixture->options.limit_percent = 25;
    pool = create(fixture);
    assert_int_equal(stats_of(pool).footprint_bytes, 0);
    alloc(pool, KIB);
    assert_int_equal(stats_of(pool).footprint_bytes, 256 * KIB);
    destroy(fixture, pool);
}

static void all_there_is_may_be_less_than_a_chunk(void **state)
{
    struct fixture *fixture = *state;
    fixture->backend.total_bytes = 1024 * KIB;
    fixture->backend.foreign_bytes = 1024 * KIB;
    fixture->backend.capacity_bytes = 1;
    fixture->options.initial_bytes = TARN_INITIAL_ALL;
    fixture->options.takes_initial_at_once = true;
    expect_refused(fixture, TARN_STATUS_OUT_OF_MEMORY, "no more memory");
}

static void all_there_is_needs_a_device_that_tells(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.initial_bytes = TARN_INITIAL_ALL;
    expect_refused(fixture, TARN_STATUS_NOT_SUPPORTED, "TARN_INITIAL_ALL");
    fixture->backend.total_bytes = 1024 * KIB;
    tarn_pool *pool = create(fixture);
    fixture->backend.total_bytes = 0;
    void *address;
    expect_status(TARN_STATUS_VENDOR_ERROR, tarn_pool_alloc(pool, KIB, &address));
    destroy(fixture, pool);
}

static void omega_h_has_a_preset(void **state)
{
    struct fixture *fixture = *state;
    fixture->options = (tarn_pool_options)TARN_POOL_OPTIONS_OMEGA_H_INIT;
    fixture->options.backend = &fixture->opened;
    fixture->backend.granularity_bytes = 256;
    tarn_pool *pool = create(fixture);
    alloc(pool, 1);
    assert_in_range(fixture->backend.asked_bytes[0], 700000000, 700000255);
    alloc(pool, 700000000);
    assert_int_equal(fixture->backend.asked_bytes[1], 2 * fixture->backend.asked_bytes[0]);
    destroy(fixture, pool);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup(name, set_up)
    const struct CMUnitTest tests[] = {
        CASE(per_cent_are_rounded_down_and_do_not_overflow),
        CASE(a_limit_may_be_per_cent_of_the_device),
        CASE(the_smaller_of_two_limits_holds),
        CASE(bad_percentages_are_refused),
        CASE(a_percentage_of_less_than_a_chunk_is_refused),
        CASE(a_percentage_needs_a_device_that_tells),
        CASE(available_is_what_is_free_here_and_on_the_device),
        CASE(available_stays_under_the_limit),
        CASE(pending_bytes_are_available),
        CASE(available_needs_a_device_that_tells),
        CASE(the_initial_size_may_be_taken_at_once),
        CASE(at_once_means_all_of_it_or_no_pool),
        CASE(a_vendors_failure_at_once_is_passed_on),
        CASE(at_once_any_host_allocation_may_fail),
        CASE(a_pools_own_backend_outlives_no_failed_creation),
        CASE(all_there_is_can_be_taken),
        CASE(all_there_is_may_be_less_than_a_chunk),
        CASE(all_there_is_needs_a_device_that_tells),
        CASE(omega_h_has_a_preset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
