/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_pending_bound: a program that runs ahead of its device. Its frees name no stream, and wait for the oldest. */
#include <math.h>
#include <pthread.h>
#include <sched.h>

#include "core/supply/stream_reuse.h"
#include "pool_fixture.h"

/*
 * A pool of 1 GiB, of which 71 MiB are used, and free blocks with a small one behind each, so that they stay apart:
 *
 *     64 MiB used │ block │1│ block │1│ block │1│ block │1│ block │1│ block │1│ block │1│ 57 MiB
 *
 * The most that was used is forgotten, so the pool holds more than it needs. An eighth of it may wait: a block.
 */
#define BLOCK       ((size_t)128 * MIB)
#define BLOCK_COUNT 7

static void lay_out(void)
{
    void *blocks[BLOCK_COUNT];
    (void)alloc(64 * MIB);
    for (int i = 0; i < BLOCK_COUNT; i++) {
        blocks[i] = alloc(BLOCK);
        (void)alloc(1 * MIB);
    }
    for (int i = 0; i < BLOCK_COUNT; i++)
        free_one(blocks[i]);
    test_backend_complete(&backend, TEST_BACKEND_DEVICE);
    tn_pool_lock_growth(pool);
    tn_stream_reuse_poll(pool);
    tn_pool_unlock_growth(pool);
    expect_pending(0);
    expect_ok(tarn_pool_reset_peaks(pool));
    test_backend_take_calls(&backend);
}

static int set_up_behind(void **state)
{
    begin_fixture(true);
    backend.has_synchronize = true;
    backend.has_device_events = true;
    backend.completes_after = 50;
    opened = test_backend_open(&backend);
    options.initial_bytes = 1024 * MIB;
    options.free_waits = true;
    options.pending_factor_max = 1.0;
    create();
    lay_out();
    return 0;
}

static void create_with(double pending_factor_max)
{
    destroy();
    options.pending_factor_max = pending_factor_max;
    create();
    lay_out();
}

/* Allocates, and frees before the work is done. */
static void run_ahead(unsigned block_count)
{
    for (unsigned i = 0; i < block_count; i++)
        free_one(alloc(BLOCK));
}

static unsigned query_count(void)
{
    return backend.call_counts[TEST_CALL_EVENT_QUERY];
}

/* --- the bound ---------------------------------------------------------------------------------- */

static void a_free_waits_for_the_oldest(void **state)
{
    run_ahead(1);
    expect_pending(BLOCK);
    assert_int_equal(query_count(), 0);
    run_ahead(1);
    expect_pending(BLOCK);
    assert_true(query_count() >= backend.completes_after);
    for (int i = 0; i < 20; i++) {
        run_ahead(1);
        expect_pending(BLOCK);
    }
    assert_int_equal(backend.call_counts[TEST_CALL_SYNCHRONIZE], 0);
}

static void without_the_bound_all_of_it_waits(void **state)
{
    create_with(-1.0);
    run_ahead(7);
    expect_pending(7 * BLOCK);
    assert_true(query_count() <= 7);
    backend.completes_after = 5;
    create_with(-(double)INFINITY);
    run_ahead(4);
    expect_pending(4 * BLOCK);
}

static void the_default_is_that_of_the_header(void **state)
{
    create_with(0.0);
    assert_true(pool->pending_factor_max == TARN_PENDING_FACTOR_MAX_DEFAULT);
    create_with(2.5);
    assert_true(pool->pending_factor_max == 2.5);
}

/* Of 71 MiB that are used. */
static void as_much_may_wait_as_is_used_times_the_factor(void **state)
{
    create_with(4.0);
    run_ahead(5);
    expect_pending(2 * BLOCK);
    create_with(6.0);
    run_ahead(5);
    expect_pending(3 * BLOCK);
    create_with(0.01);
    run_ahead(5);
    expect_pending(BLOCK);
    create_with(1.0);
    void *first = alloc(BLOCK), *second = alloc(BLOCK);
    run_ahead(4);
    expect_pending(2 * BLOCK);
    free_one(first); /* less is used from now on */
    expect_pending(BLOCK);
    free_one(second);
}

/* Temporary small blocks are cut from the region of the large one while others wait. One stays there, in the middle. */
static size_t held_after_steps(double pending_factor_max)
{
    destroy();
    options.pending_factor_max = pending_factor_max;
    create();
    for (int step = 0; step < 2; step++) {
        free_one(alloc(600 * MIB));
        for (int i = 0; i < 27; i++)
            free_one(alloc(32 * MIB));
        (void)alloc(8 * MIB);
    }
    return stats_of(pool).footprint_bytes;
}

static void a_pool_that_waits_holds_less(void **state)
{
    size_t held = held_after_steps(1.0);
    assert_int_equal(held, 1024 * MIB);
    assert_true(held_after_steps(-1.0) > held);
}

static void a_pool_that_holds_what_it_needs_does_not_wait(void **state)
{
    void *blocks[6];
    for (int i = 0; i < 6; i++)
        blocks[i] = alloc(BLOCK);
    for (int i = 0; i < 6; i++)
        free_one(blocks[i]);
    expect_pending(6 * BLOCK);
}

static void little_memory_may_always_wait(void **state)
{
    destroy();
    options.initial_bytes = 64 * MIB;
    create();
    for (int i = 0; i < 15; i++)
        free_one(alloc(4 * MIB));
    expect_pending(60 * MIB);
    assert_true(query_count() < 15);
}

/* Sixteen records are under way, and the newest stands for what comes later. The named stream takes pending memory. */
static void what_a_record_replaces_counts_on(void **state)
{
    create_with(30.0); /* 2130 MiB, 16.6 blocks */
    backend.completes_after = 200;
    for (int i = 0; i < 16; i++)
        free_one(alloc_on(BLOCK, A));
    assert_true(query_count() < backend.completes_after);
    for (int i = 0; i < 4; i++)
        free_one(alloc_on(BLOCK, A));
    assert_true(query_count() >= backend.completes_after);
}

/* They share records, of a sixteenth of the pool. Neighbours that are freed become one region, which waits for all of it. */
static void small_frees_are_bounded_too(void **state)
{
    for (int with_bound = 0; with_bound < 2; with_bound++) {
        create_with(with_bound ? 1.0 : -1.0);
        for (int i = 0; i < 400; i++)
            free_one(alloc(1 * MIB));
        assert_int_equal(query_count() >= backend.completes_after, with_bound);
    }
}

static void a_contiguous_pool_waits_as_well(void **state)
{
    destroy();
    backend.range_granularity_bytes = 2 * MIB;
    opened = test_backend_open(&backend);
    options.contiguous = true;
    create();
    lay_out();
    run_ahead(3);
    expect_pending(BLOCK);
}

static void frees_of_named_streams_neither_wait_nor_count(void **state)
{
    void *blocks[6];
    for (int i = 0; i < 6; i++)
        blocks[i] = alloc_on(BLOCK, A);
    for (int i = 0; i < 6; i++)
        free_on(blocks[i], A);
    assert_int_equal(query_count(), 0);
    free_one(alloc_on(BLOCK, A));
    assert_int_equal(query_count(), 0);
}

/* --- waits that end ------------------------------------------------------------------------------- */

static void nothing_waits_in_a_capture(void **state)
{
    tarn_capture capture = 0;
    void *blocks[6];
    for (int i = 0; i < 6; i++)
        blocks[i] = alloc(BLOCK);
    expect_ok(tarn_capture_begin(pool, A, &capture));
    test_backend_take_calls(&backend);
    for (int i = 0; i < 6; i++)
        free_one(blocks[i]);
    expect_no_calls();
    expect_ok(tarn_capture_end(pool, capture));
    expect_ok(tarn_capture_release(pool, capture, NULL, 0));
}

/* Its end may wait for the thread's next call. A free waits for it once, for some 50 ms. */
static void work_that_never_ends_is_waited_for_once(void **state)
{
    backend.completes_after = 0;
    run_ahead(2);
    expect_pending(2 * BLOCK);
    assert_true(query_count() >= TN_STREAM_LOOKS_MAX);
    test_backend_take_calls(&backend);
    run_ahead(4);
    expect_pending(6 * BLOCK);
    assert_true(query_count() < 10);
    test_backend_complete(&backend, TEST_BACKEND_DEVICE);
    backend.completes_after = 5;
    run_ahead(3);
    expect_pending(BLOCK);
}

static void a_wait_ends_where_the_vendor_does_not_tell(void **state)
{
    run_ahead(1);
    backend.fail_call_at[TEST_CALL_EVENT_QUERY] = 1;
    backend.fail_call_count = 1000000;
    run_ahead(1);
    expect_pending(2 * BLOCK);
    assert_true(query_count() < 10);
    backend.fail_call_at[TEST_CALL_EVENT_QUERY] = 0;
    backend.fail_call_count = 0;
    run_ahead(1);
    expect_pending(BLOCK);
}

/* The memory waits for a later record, which covers it. */
static void there_may_be_no_event(enum test_call call)
{
    void *blocks[3];
    destroy();
    create();
    for (int i = 0; i < 3; i++)
        blocks[i] = alloc(BLOCK);
    backend.fail_call_at[call] = 1;
    backend.fail_call_count = 1000000;
    backend.call_failure = TARN_STATUS_OUT_OF_HOST_MEMORY;
    for (int i = 0; i < 3; i++)
        free_one(blocks[i]);
    expect_pending(3 * BLOCK);
    assert_int_equal(query_count(), 0);
    backend.fail_call_at[call] = 0;
    backend.fail_call_count = 0;
    run_ahead(1);
    expect_pending(0);
}

static void without_an_event_nothing_waits(void **state)
{
    there_may_be_no_event(TEST_CALL_EVENT_CREATE);
    there_may_be_no_event(TEST_CALL_EVENT_RECORD_DEVICE);
}

/* Until a free has begun to wait in another thread. */
static void await_a_wait(void)
{
    unsigned count = 0;
    while (count < 20) {
        sched_yield();
        pthread_mutex_lock(&backend.lock);
        count = query_count();
        pthread_mutex_unlock(&backend.lock);
    }
}

/* A free waits, and another thread runs the function meanwhile. True: the wait has ended before the free gave up. On a
 * busy machine the other thread may come too late. */
static bool ends_while(void *(*function)(void *context), void *context)
{
    pthread_t thread;
    backend.completes_after = 0;
    run_ahead(1);
    void *last = alloc(BLOCK);
    assert_int_equal(pthread_create(&thread, NULL, function, context), 0);
    free_one(last);
    pthread_join(thread, NULL);
    return !pool->streams->streams[tn_stream_reuse_find_unnamed(pool)].is_given_up;
}

enum {
    TRIES_MAX = 40
};

static void *free_and_complete(void *block)
{
    await_a_wait();
    free_one(alloc(1 * MIB));
    free_one(block);
    test_backend_complete(&backend, TEST_BACKEND_DEVICE);
    return NULL;
}

static void a_free_that_waits_holds_no_lock(void **state)
{
    bool has_ended = false;
    checks_every_step = false;
    for (int try = 0; try < TRIES_MAX && !has_ended; try++) {
        create_with(1.0);
        has_ended = ends_while(free_and_complete, alloc(8 * MIB));
    }
    assert_true(has_ended);
    assert_true(stats_of(pool).pending_bytes <= 16 * MIB);
}

static void *begin_capture(void *capture)
{
    await_a_wait();
    expect_ok(tarn_capture_begin(pool, A, capture));
    return NULL;
}

static void a_wait_ends_when_a_capture_begins(void **state)
{
    bool has_ended = false;
    checks_every_step = false;
    for (int try = 0; try < TRIES_MAX && !has_ended; try++) {
        tarn_capture capture = 0;
        create_with(1.0);
        has_ended = ends_while(begin_capture, &capture);
        expect_pending(2 * BLOCK);
        expect_ok(tarn_capture_end(pool, capture));
        expect_ok(tarn_capture_release(pool, capture, NULL, 0));
    }
    assert_true(has_ended);
}

/* --- the option ------------------------------------------------------------------------------------- */

static void what_is_no_number_is_refused(void **state)
{
    destroy();
    options.pending_factor_max = (double)NAN;
    expect_options_refused(TARN_STATUS_INVALID_OPTIONS, "pending_factor_max");
    options.pending_factor_max = (double)INFINITY;
    create();
    lay_out();
    run_ahead(4);
    expect_pending(4 * BLOCK);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up_behind, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_free_waits_for_the_oldest),
        TEST(without_the_bound_all_of_it_waits),
        TEST(the_default_is_that_of_the_header),
        TEST(as_much_may_wait_as_is_used_times_the_factor),
        TEST(a_pool_that_waits_holds_less),
        TEST(a_pool_that_holds_what_it_needs_does_not_wait),
        TEST(little_memory_may_always_wait),
        TEST(what_a_record_replaces_counts_on),
        TEST(small_frees_are_bounded_too),
        TEST(a_contiguous_pool_waits_as_well),
        TEST(frees_of_named_streams_neither_wait_nor_count),
        TEST(nothing_waits_in_a_capture),
        TEST(work_that_never_ends_is_waited_for_once),
        TEST(a_wait_ends_where_the_vendor_does_not_tell),
        TEST(without_an_event_nothing_waits),
        TEST(a_free_that_waits_holds_no_lock),
        TEST(a_wait_ends_when_a_capture_begins),
        TEST(what_is_no_number_is_refused),
    };
    return cmocka_run_group_tests_name("pending_bound", tests, NULL, NULL);
}
