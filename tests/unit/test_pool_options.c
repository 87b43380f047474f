/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Options that speak of the device's memory, of when memory is taken, and of when it goes back. */
#include "harness/host_memory_faults.h"

#include "core/supply/pool_options.h"
#include "core/care/pool_registry.h"
#include "pool_fixture.h"

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
static void expect_limit(size_t limit_bytes)
{
    create();
    expect_refused(TARN_STATUS_OVER_LIMIT, limit_bytes + 1);
    alloc(limit_bytes);
    destroy();
}

static void a_limit_may_be_per_cent_of_the_device(void **state)
{
    backend.total_bytes = 1000 * KIB;
    backend.foreign_bytes = 900 * KIB; /* free or not makes no difference */
    options.limit_percent = 1;
    expect_limit(10 * KIB);
    options.limit_percent = 99;
    expect_limit(990 * KIB);
    options.limit_percent = 100;
    expect_limit(1000 * KIB);
}

static void the_smaller_of_two_limits_holds(void **state)
{
    backend.total_bytes = 1000 * KIB;
    options.limit_percent = 50;
    options.limit_bytes = 499 * KIB;
    expect_limit(499 * KIB);
    options.limit_bytes = 500 * KIB;
    expect_limit(500 * KIB);
    options.limit_bytes = 501 * KIB;
    expect_limit(500 * KIB);
}

static void bad_percentages_are_refused(void **state)
{
    backend.total_bytes = 1000 * KIB;
    options.limit_percent = 101;
    expect_options_refused(TARN_STATUS_INVALID_OPTIONS, "limit_percent is 101");
    options.limit_percent = UINT32_MAX;
    expect_options_refused(TARN_STATUS_INVALID_OPTIONS, "limit_percent");
}

/* A piece starts at any multiple of the backend's alignment, so a chunk may begin up to 768 bytes later. */
static void a_limit_that_surely_holds_no_chunk_is_refused(void **state)
{
    backend.alignment_bytes = 256;
    backend.misalignment_bytes = 256;
    options.limit_bytes = 2 * KIB - 257;
    expect_options_refused(TARN_STATUS_INVALID_OPTIONS, "the limit is 1791 bytes");
    expect_message("aligns to 256 bytes, so a piece that surely holds a chunk of 1024 has 1792");
    for (size_t more = 0; more < 2; more++) {
        options.initial_bytes = options.limit_bytes = 2 * KIB - 256 + more;
        create();
        free_one(alloc(KIB));
        destroy();
        options.takes_initial_at_once = true;
        create();
        free_one(alloc(KIB));
        destroy();
        options.takes_initial_at_once = false;
    }
    backend.alignment_bytes = KIB;
    backend.misalignment_bytes = KIB;
    options.limit_bytes = KIB - 1;
    expect_options_refused(TARN_STATUS_INVALID_OPTIONS, "less than one chunk");
    options.limit_bytes = KIB;
    expect_limit(KIB);
    backend.alignment_bytes = 256;
    options.passes_through = true; /* where an allocation needs no chunk */
    expect_limit(KIB);
}

static void a_percentage_of_less_than_a_chunk_is_refused(void **state)
{
    options.limit_percent = 1;
    backend.alignment_bytes = KIB;
    backend.total_bytes = 100 * KIB - 1;
    expect_options_refused(TARN_STATUS_INVALID_OPTIONS, "limit_percent is 1");
    backend.total_bytes = 100 * KIB;
    expect_limit(KIB);
}

static void a_percentage_needs_a_device_that_tells(void **state)
{
    options.limit_percent = 50;
    expect_options_refused(TARN_STATUS_NOT_SUPPORTED, "limit_percent");
    assert_string_equal(tarn_last_error().vendor_name, "testError");
    static tarn_backend_operations operations; /* the teardown closes the backend, too */
    operations = *opened.operations;
    operations.query_memory = NULL;
    opened.operations = &operations;
    expect_options_refused(TARN_STATUS_NOT_SUPPORTED, "limit_percent");
    options.limit_percent = 0;
    create();
    destroy();
}

/* --- available ------------------------------------------------------------------------------------- */

static void expect_available(size_t expected)
{
    size_t available;
    expect_ok(tarn_pool_available(pool, &available));
    assert_int_equal(available, expected);
}

static void available_is_what_is_free_here_and_on_the_device(void **state)
{
    backend.total_bytes = 1000 * KIB;
    backend.foreign_bytes = 100 * KIB;
    create();
    expect_available(900 * KIB);
    void *address = alloc(KIB + 1);
    expect_available(898 * KIB);
    backend.foreign_bytes = 1000 * KIB;
    expect_available(62 * KIB);
    free_one(address);
    expect_available(64 * KIB);
}

static void available_stays_under_the_limit(void **state)
{
    backend.total_bytes = 1000 * KIB;
    options.limit_bytes = 100 * KIB;
    create();
    expect_available(100 * KIB);
    alloc(10 * KIB);
    expect_available(90 * KIB);
    backend.foreign_bytes = 1000 * KIB - 64 * KIB - 5 * KIB;
    expect_available((54 + 5) * KIB);
}

/* What waits for a stream can be had: the pool waits for it, or makes others wait. */
static void pending_bytes_are_available(void **state)
{
    backend.total_bytes = 1000 * KIB;
    create();
    void *address = alloc_on(30 * KIB, A);
    alloc_on(10 * KIB, B);
    free_on(address, A);
    assert_true(stats_of(pool).pending_bytes >= 30 * KIB);
    expect_available(990 * KIB);
}

static void available_needs_a_device_that_tells(void **state)
{
    create();
    size_t available = 77;
    expect_status(TARN_STATUS_NOT_SUPPORTED, tarn_pool_available(pool, &available));
    expect_message("does not tell how much memory is free");
    assert_int_equal(available, 77);
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_pool_available(pool, NULL));
    expect_status(TARN_STATUS_INVALID_POOL, tarn_pool_available(NULL, &available));
    tarn_pool *gone = pool;
    destroy();
    expect_status(TARN_STATUS_INVALID_POOL, tarn_pool_available(gone, &available));
    assert_int_equal(available, 77);
}

/* --- initial_bytes --------------------------------------------------------------------------------- */

static void the_initial_size_may_be_taken_at_once(void **state)
{
    options.takes_initial_at_once = true;
    options.initial_bytes = 100 * KIB;
    create();
    assert_int_equal(backend.acquire_count, 1);
    assert_int_equal(backend.asked_bytes[0], 100 * KIB);
    tarn_stats stats = stats_of(pool);
    assert_int_equal(stats.footprint_bytes, 100 * KIB);
    assert_int_equal(stats.free_bytes, 100 * KIB);
    assert_int_equal(stats.alloc_count, 0);
    assert_int_equal(stats.used_bytes_max, 0);
    alloc(100 * KIB);
    assert_int_equal(backend.acquire_count, 1);
}

static void at_once_means_all_of_it_or_no_pool(void **state)
{
    options.takes_initial_at_once = true;
    options.initial_bytes = 100 * KIB;
    backend.capacity_bytes = 100 * KIB - 1;
    expect_options_refused(TARN_STATUS_OUT_OF_MEMORY, "no more memory");
    assert_int_equal(backend.acquire_count, 1);
    backend.capacity_bytes = 100 * KIB;
    create();
    destroy();
    options.limit_bytes = 100 * KIB - 1;
    expect_options_refused(TARN_STATUS_OVER_LIMIT, "at most 100.0 KiB");
    options.limit_bytes = 100 * KIB;
    create();
    destroy();
    options.limit_bytes = 0;
    options.growth_bytes_max = 50 * KIB; /* which one request alone may exceed */
    create();
    destroy();
    backend.allocation_bytes_max = 100 * KIB - 1;
    expect_options_refused(TARN_STATUS_OUT_OF_MEMORY, "largest allocation");
    options.initial_bytes = SIZE_MAX - 1;
    expect_options_refused(TARN_STATUS_SIZE_TOO_LARGE, "initial_bytes");
    options.initial_bytes = 0;
    expect_options_refused(TARN_STATUS_INVALID_OPTIONS, "takes_initial_at_once");
    options.initial_bytes = 1;
    create();
    destroy();
}

/* Around the edges of the vendor's granularity, of a chunk, and of neither. */
static void the_initial_size_may_be_the_limit_whatever_it_is(void **state)
{
    static const size_t edges[] = { 2 * KIB, 64 * KIB, 66 * KIB, 100000, 102500 };
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
        for (size_t limit = edges[i] - 1; limit <= edges[i] + 1; limit++) {
            for (size_t initial = limit - 1; initial <= limit; initial++) {
                options.takes_initial_at_once = true;
                options.initial_bytes = initial;
                options.limit_bytes = limit;
                create();
                assert_in_range(stats_of(pool).footprint_bytes, initial, limit);
                assert_in_range(backend.held_bytes, initial, limit);
                free_one(alloc(initial / KIB * KIB)); /* all whole chunks */
                assert_in_range(stats_of(pool).footprint_bytes, initial, limit);
                destroy();
                /* The first allocation takes as much. */
                options.takes_initial_at_once = false;
                create();
                alloc(1);
                assert_in_range(stats_of(pool).footprint_bytes, initial, limit);
                destroy();
            }
            options.takes_initial_at_once = true;
            options.initial_bytes = limit + 1;
            expect_options_refused(TARN_STATUS_OVER_LIMIT, "cannot grow");
        }
    }
}

static void the_initial_size_may_be_the_limit_wherever_the_piece_lies(void **state)
{
    backend.misalignment_bytes = 768;
    options.takes_initial_at_once = true;
    for (size_t size_bytes = 66 * KIB - 1; size_bytes <= 66 * KIB + 1; size_bytes++) {
        options.initial_bytes = options.limit_bytes = size_bytes;
        create();
        assert_int_equal(stats_of(pool).footprint_bytes, size_bytes);
        free_one(alloc((size_bytes - 256) / KIB * KIB));
        destroy();
    }
}

/* All of it can be allocated, also where the vendor's granularity is finer than a chunk. */
static void an_initial_size_is_rounded_up_to_chunks(void **state)
{
    backend.granularity_bytes = 256;
    for (size_t initial = 100 * KIB - 1; initial <= 100 * KIB + 1; initial++) {
        options.initial_bytes = initial;
        create();
        alloc(1);
        assert_int_equal(backend.asked_bytes[backend.acquire_count - 1],
                         initial <= 100 * KIB ? 100 * KIB : 101 * KIB);
        destroy();
    }
}

static void a_vendors_failure_at_once_is_passed_on(void **state)
{
    options.takes_initial_at_once = true;
    backend.failure = TARN_STATUS_VENDOR_ERROR;
    backend.fail_acquire_at = 1;
    expect_options_refused(TARN_STATUS_VENDOR_ERROR, "failed to give memory");
}

static void at_once_any_host_allocation_may_fail(void **state)
{
    options.takes_initial_at_once = true;
    unsigned n = 1;
    for (bool has_failed = true; has_failed; n++) {
        size_t resting = tn_pool_registry_resting_count();
        host_memory_faults_begin(n);
        tarn_status status = tarn_pool_create(&options, &pool);
        if (status == TARN_STATUS_OK) destroy();
        long outstanding = host_memory_faults_outstanding();
        has_failed = host_memory_faults_end();
        assert_int_equal(status, has_failed ? TARN_STATUS_OUT_OF_HOST_MEMORY : TARN_STATUS_OK);
        assert_int_equal(outstanding, tn_pool_registry_resting_count() - resting);
        assert_int_equal(backend.piece_count, 0);
    }
    assert_true(n > 6);
}

static void a_pools_own_backend_outlives_no_failed_creation(void **state)
{
    options = (tarn_pool_options)TARN_POOL_OPTIONS_INIT;
    options.takes_initial_at_once = true;
    options.initial_bytes = 1024 * KIB;
    options.limit_bytes = 512 * KIB;
    tarn_status status = tarn_pool_create(&options, &pool);
    if (status == TARN_STATUS_NO_DEVICE) skip();
    assert_int_equal(status, TARN_STATUS_OVER_LIMIT);
    options.limit_bytes = 0;
    create();
}

static void all_there_is_can_be_taken(void **state)
{
    backend.total_bytes = 1024 * KIB;
    backend.foreign_bytes = 384 * KIB;
    backend.capacity_bytes = 600 * KIB; /* less than it says */
    options.initial_bytes = TARN_INITIAL_ALL;
    options.takes_initial_at_once = true;
    create();
    /* Steps of 10 KiB, in whole pages of 4 KiB. */
    assert_int_equal(backend.asked_bytes[0], 640 * KIB);
    assert_int_equal(backend.asked_bytes[1], 632 * KIB);
    assert_in_range(stats_of(pool).footprint_bytes, 590 * KIB, 600 * KIB);
    destroy();

    options.takes_initial_at_once = false;
    options.growth_bytes_max = 8 * KIB; /* which is for further ones */
    options.limit_percent = 25;
    create();
    assert_int_equal(stats_of(pool).footprint_bytes, 0);
    alloc(KIB);
    assert_int_equal(stats_of(pool).footprint_bytes, 256 * KIB);
}

static void all_there_is_may_be_less_than_a_chunk(void **state)
{
    backend.total_bytes = 1024 * KIB;
    backend.foreign_bytes = 1024 * KIB;
    backend.capacity_bytes = 1;
    options.initial_bytes = TARN_INITIAL_ALL;
    options.takes_initial_at_once = true;
    expect_options_refused(TARN_STATUS_OUT_OF_MEMORY, "no more memory");
}

static void all_there_is_needs_a_device_that_tells(void **state)
{
    options.initial_bytes = TARN_INITIAL_ALL;
    expect_options_refused(TARN_STATUS_NOT_SUPPORTED, "TARN_INITIAL_ALL");
    backend.total_bytes = 1024 * KIB;
    create();
    backend.total_bytes = 0;
    expect_refused(TARN_STATUS_VENDOR_ERROR, KIB);
}

/* --- growth near the end of the device ------------------------------------------------------------ */

static void near_the_devices_end_growth_is_small(void **state)
{
    backend.total_bytes = 1024 * MIB;
    options.initial_bytes = 256 * MIB;
    create();
    alloc(256 * MIB);
    alloc(KIB);
    assert_int_equal(backend.asked_bytes[1],
                     192 * MIB); /* a quarter of 768, and not as much as is in use */
    backend.foreign_bytes = 700 * MIB;
    alloc(192 * MIB - KIB);
    alloc(KIB);
    assert_int_equal(backend.asked_bytes[2], 2 * MIB); /* nothing is free */
    alloc(200 * MIB);
    assert_int_equal(backend.asked_bytes[3], 200 * MIB); /* the need is tried all the same */
}

static void a_device_that_does_not_tell_is_no_obstacle(void **state)
{
    options.initial_bytes = 256 * MIB;
    create();
    alloc(256 * MIB);
    alloc(KIB);
    assert_int_equal(backend.asked_bytes[1], 256 * MIB);
}

static void omega_h_has_a_preset(void **state)
{
    options = (tarn_pool_options)TARN_POOL_OPTIONS_OMEGA_H_INIT;
    options.backend = &opened;
    backend.granularity_bytes = 256;
    create();
    alloc(700000000);
    assert_in_range(backend.asked_bytes[0], 700000000, 700001023); /* whole chunks */
    /* Each piece is as large as all that is in use, without a cap. */
    alloc(1024);
    assert_in_range(backend.asked_bytes[1], 700000000, 700000000 + 2 * MIB);
    alloc(backend.asked_bytes[1] - 1024);
    alloc(1024);
    assert_in_range(backend.asked_bytes[2], 1400000000, 1400000000 + 4 * MIB);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up_without_pool, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(per_cent_are_rounded_down_and_do_not_overflow),
        CASE(a_limit_may_be_per_cent_of_the_device),
        CASE(the_smaller_of_two_limits_holds),
        CASE(bad_percentages_are_refused),
        CASE(a_limit_that_surely_holds_no_chunk_is_refused),
        CASE(a_percentage_of_less_than_a_chunk_is_refused),
        CASE(a_percentage_needs_a_device_that_tells),
        CASE(available_is_what_is_free_here_and_on_the_device),
        CASE(available_stays_under_the_limit),
        CASE(pending_bytes_are_available),
        CASE(available_needs_a_device_that_tells),
        CASE(the_initial_size_may_be_taken_at_once),
        CASE(at_once_means_all_of_it_or_no_pool),
        CASE(the_initial_size_may_be_the_limit_whatever_it_is),
        CASE(the_initial_size_may_be_the_limit_wherever_the_piece_lies),
        CASE(an_initial_size_is_rounded_up_to_chunks),
        CASE(a_vendors_failure_at_once_is_passed_on),
        CASE(at_once_any_host_allocation_may_fail),
        CASE(a_pools_own_backend_outlives_no_failed_creation),
        CASE(all_there_is_can_be_taken),
        CASE(all_there_is_may_be_less_than_a_chunk),
        CASE(all_there_is_needs_a_device_that_tells),
        CASE(near_the_devices_end_growth_is_small),
        CASE(a_device_that_does_not_tell_is_no_obstacle),
        CASE(omega_h_has_a_preset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
