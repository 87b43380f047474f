/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_free_waits: pools whose unnamed frees mean what the vendor's do. The random programs of stress_streams compare
 * each hand-out with what runs before what.
 */
#include <pthread.h>
#include <unistd.h>

#include "core/serve/any_stream.h"
#include "core/supply/capture.h"
#include "core/supply/stream_reuse.h"
#include "pool_fixture.h"
#include "tarn/debug.h"
#include "tarn/host.h"
#include "tarn/record.h"

/* A pool of 64 KiB that cannot grow, over a backend with an event for all streams or without. */
static void begin(bool has_device_events)
{
    begin_fixture(true);
    backend.has_synchronize = true;
    backend.has_device_events = has_device_events;
    backend.completes_after = 5;
    opened = test_backend_open(&backend);
    options.initial_bytes = 64 * KIB;
    options.limit_bytes = 64 * KIB;
    options.free_waits = true;
    checks_every_step = true;
    create();
}

static int set_up_with_events(void **state)
{
    begin(true);
    return 0;
}

static int set_up_with_waiting(void **state)
{
    begin(false);
    return 0;
}

static void expect_calls(enum test_call call, unsigned count)
{
    assert_int_equal(backend.call_counts[call], count);
}

/* --- a free, and who gets the memory ------------------------------------------------------------- */

static void a_free_waits_for_nothing_where_an_event_covers_all_streams(void **state)
{
    void *address = alloc(64 * KIB);
    test_backend_take_calls(&backend);
    free_one(address);
    expect_calls(TEST_CALL_EVENT_RECORD_DEVICE, 1);
    expect_calls(TEST_CALL_SYNCHRONIZE, 0);
    expect_calls(TEST_CALL_EVENT_QUERY, 0);
    expect_pending(64 * KIB);
}

/* The first free is recorded at once: from it the pool learns whether the vendor has an event for all streams. */
static void learn_of_events(void)
{
    free_one(alloc(64 * KIB));
    test_backend_complete(&backend, TEST_BACKEND_DEVICE);
}

/* Up to a sixteenth of the pool, which has 64 KiB here. */
static void small_frees_share_a_record(void **state)
{
    void *blocks[8];
    learn_of_events();
    for (int i = 0; i < 8; i++)
        blocks[i] = alloc(1 * KIB);
    test_backend_take_calls(&backend);
    for (int i = 0; i < 3; i++)
        free_one(blocks[i]);
    expect_no_calls();
    free_one(blocks[3]);
    expect_calls(TEST_CALL_EVENT_RECORD_DEVICE, 1);
    for (int i = 4; i < 7; i++)
        free_one(blocks[i]);
    expect_calls(TEST_CALL_EVENT_RECORD_DEVICE, 1);
    free_one(blocks[7]);
    expect_calls(TEST_CALL_EVENT_RECORD_DEVICE, 2);
}

/* While other slices of the slab are live, its chunk is not free. */
static void slices_count_with_their_sizes(void **state)
{
    void *slices[64];
    learn_of_events();
    for (int i = 0; i < 64; i++)
        slices[i] = alloc(128);
    test_backend_take_calls(&backend);
    for (int i = 0; i < 64; i++)
        if (i % 8 != 0) free_one(slices[i]);
    expect_calls(TEST_CALL_EVENT_RECORD_DEVICE, 1);
}

/* The second block is not recorded when it is freed. It serves nobody before the record that comes later. */
static void an_allocation_records_what_it_needs(void **state)
{
    learn_of_events();
    void *large = alloc(63 * KIB), *small = alloc(1 * KIB);
    test_backend_take_calls(&backend);
    free_one(small);
    expect_no_calls();
    assert_ptr_equal(alloc(1 * KIB), small);
    expect_calls(TEST_CALL_EVENT_RECORD_DEVICE, 1);
    assert_true(backend.call_counts[TEST_CALL_EVENT_QUERY] >= backend.completes_after);
    free_one(small);
    backend.completes_after = 0;
    assert_ptr_equal(alloc_on(1 * KIB, A), small);
    expect_last_wait(A, TEST_BACKEND_DEVICE);
    free_one(large);
}

/* Without a lock: a wait for the device would hold one. */
static void at_its_limit_the_pool_waits_on(void **state)
{
    learn_of_events();
    void *large = alloc(63 * KIB), *small = alloc(1 * KIB);
    free_one(small);
    backend.completes_after = 1500;
    assert_ptr_equal(alloc(1 * KIB), small);
    expect_calls(TEST_CALL_SYNCHRONIZE, 0);
    free_one(large);
}

/* Then the pool waits for the device, before it refuses. */
static void a_later_record_may_fail(void **state)
{
    learn_of_events();
    void *large = alloc(63 * KIB), *small = alloc(1 * KIB);
    test_backend_take_calls(&backend);
    free_one(small);
    backend.fail_call_at[TEST_CALL_EVENT_RECORD_DEVICE] = 1;
    backend.fail_call_count = 1000000;
    assert_ptr_equal(alloc(1 * KIB), small);
    expect_calls(TEST_CALL_SYNCHRONIZE, 1);
    free_one(large);
}

/* A kernel that never ends is submitted after the free. The vendor's allocation would not wait for it. */
static void work_that_comes_later_is_not_waited_for_for_ever(void **state)
{
    destroy();
    backend.completes_after = 0;
    options.limit_bytes = 0;
    create();
    learn_of_events();
    void *large = alloc(63 * KIB), *small = alloc(1 * KIB);
    free_one(small);
    assert_ptr_not_equal(alloc(1 * KIB), small);
    assert_int_equal(stats_of(pool).static_pool_count, 2);
    free_one(large);
}

/* A wait for the device in an allocation would hold up other threads. The vendor's free waits as well. */
static void frees_are_recorded_at_once_where_that_waits(void **state)
{
    destroy();
    options.limit_bytes = 0;
    create();
    learn_of_events();
    void *large = alloc(63 * KIB), *small = alloc(1 * KIB);
    test_backend_take_calls(&backend);
    free_one(small);
    expect_calls(TEST_CALL_SYNCHRONIZE, 1);
    (void)alloc_on(8 * KIB, A); /* the small block is no help */
    (void)alloc(64 * KIB);
    expect_calls(TEST_CALL_SYNCHRONIZE, 1);
    free_one(large);
}

/* Frees a small block while another thread waits, and lets the work end somewhat later. */
static void *free_and_complete(void *block)
{
    usleep(20000);
    expect_ok(tarn_pool_free(pool, block));
    for (int i = 0; i < 100; i++) {
        usleep(2000);
        test_backend_complete(&backend, TEST_BACKEND_DEVICE);
    }
    return NULL;
}

static void a_wait_goes_on_while_another_thread_frees(void **state)
{
    pthread_t thread;
    destroy();
    checks_every_step = false;
    backend.completes_after = 0;
    options.limit_bytes = 0;
    create();
    learn_of_events();
    void *large = alloc(32 * KIB), *small = alloc(1 * KIB), *rest = alloc(31 * KIB);
    free_one(large);
    assert_int_equal(pthread_create(&thread, NULL, free_and_complete, small), 0);
    void *again = alloc(32 * KIB);
    pthread_join(thread, NULL);
    assert_ptr_equal(again, large);
    assert_int_equal(stats_of(pool).static_pool_count, 1);
    free_one(rest);
}

static void slack_comes_before_a_wait(void **state)
{
    for (int is_named = 0; is_named < 2; is_named++) {
        destroy();
        backend.completes_after = 0;
        options.limit_bytes = 0;
        options.growth_factor = 1.0;
        options.stream_slack = 0.25;
        create();
        learn_of_events();
        void *large = alloc(62 * KIB), *small = alloc(2 * KIB);
        test_backend_take_calls(&backend);
        free_one(small);
        assert_ptr_not_equal(is_named ? alloc_on(2 * KIB, B) : alloc(2 * KIB), small);
        expect_calls(TEST_CALL_STREAM_WAIT_EVENT, 0);
        assert_int_equal(stats_of(pool).static_pool_count, 2);
        free_one(large);
    }
}

static void an_allocation_takes_other_memory_while_work_is_under_way(void **state)
{
    void *address = alloc(32 * KIB);
    free_one(address);
    assert_ptr_equal(alloc(32 * KIB), (char *)address + 32 * KIB);
    expect_calls(TEST_CALL_EVENT_QUERY, 0);
}

static void an_allocation_takes_the_memory_once_its_work_is_done(void **state)
{
    void *address = alloc(64 * KIB);
    free_one(address);
    test_backend_complete(&backend, TEST_BACKEND_DEVICE);
    assert_ptr_equal(alloc(64 * KIB), address);
    expect_calls(TEST_CALL_EVENT_QUERY, 1);
}

/* Otherwise allocations would split larger free regions, and pass over this one. */
static void a_free_finds_out_what_is_done(void **state)
{
    void *first = alloc(16 * KIB);
    alloc(16 * KIB); /* between the two, so that they do not become one region */
    void *second = alloc(32 * KIB);
    free_one(first);
    test_backend_complete(&backend, TEST_BACKEND_DEVICE);
    test_backend_take_calls(&backend);
    free_one(second);
    expect_calls(TEST_CALL_EVENT_QUERY, 1);
    expect_pending(32 * KIB);
}

/* Each shrinking is recorded at once. */
static void sixteen_events_may_be_under_way(void **state)
{
    void *address = alloc(64 * KIB);
    backend.completes_after = 0;
    for (unsigned i = 1; i <= 20; i++) {
        expect_ok(tarn_pool_resize(pool, address, (64 - i) * KIB));
        expect_calls(TEST_CALL_EVENT_RECORD_DEVICE, i);
        assert_int_equal(backend.event_count, i < 16 ? i : 16);
    }
}

static void the_host_waits_when_nothing_else_is_free(void **state)
{
    void *address = alloc(64 * KIB);
    free_one(address);
    assert_ptr_equal(alloc(64 * KIB), address);
    assert_true(backend.call_counts[TEST_CALL_EVENT_QUERY] >= backend.completes_after);
    expect_calls(TEST_CALL_STREAM_WAIT_EVENT, 0);
}

static void the_host_waits_before_the_pool_grows(void **state)
{
    destroy();
    options.limit_bytes = 0;
    create();
    void *address = alloc(64 * KIB);
    free_one(address);
    assert_ptr_equal(alloc(64 * KIB), address);
    assert_int_equal(stats_of(pool).static_pool_count, 1);
}

static void a_stream_that_is_named_waits_on_the_device(void **state)
{
    void *address = alloc(64 * KIB);
    free_one(address);
    assert_ptr_equal(alloc_on(64 * KIB, A), address);
    expect_last_wait(A, TEST_BACKEND_DEVICE);
}

/* Its work may wait for the program itself, and the vendor's allocation would not wait for it. */
static void the_host_does_not_wait_for_a_stream_that_was_named(void **state)
{
    destroy();
    options.limit_bytes = 0;
    backend.completes_after = 0;
    create();
    void *address = alloc_on(64 * KIB, A);
    free_on(address, A);
    assert_ptr_not_equal(alloc(64 * KIB), address);
    assert_int_equal(stats_of(pool).static_pool_count, 2);
    test_backend_complete(&backend, A); /* recorded when the memory was wanted */
    assert_ptr_equal(alloc(64 * KIB), address);
    expect_calls(TEST_CALL_STREAM_WAIT_EVENT, 0);
}

static void a_named_stream_has_its_own_memory_at_once(void **state)
{
    void *address = alloc_on(64 * KIB, A);
    free_on(address, A);
    test_backend_take_calls(&backend);
    assert_ptr_equal(alloc_on(64 * KIB, A), address);
    expect_no_calls();
}

static void slices_wait_like_chunks(void **state)
{
    void *small[64];
    for (int i = 0; i < 64; i++)
        small[i] = alloc(1 * KIB);
    void *freed = small[7];
    free_one(freed);
    void *slice = alloc(16);
    assert_ptr_equal(slice, freed);
    assert_true(backend.call_counts[TEST_CALL_EVENT_QUERY] >= backend.completes_after);
    void *other = alloc(16);
    free_one(slice);
    assert_ptr_not_equal(alloc(16), slice);
    free_one(other);
}

/* --- where no event covers all streams ------------------------------------------------------------ */

static void a_free_waits_for_the_device_without_such_an_event(void **state)
{
    void *address = alloc(64 * KIB);
    test_backend_take_calls(&backend);
    free_one(address);
    expect_calls(TEST_CALL_SYNCHRONIZE, 1);
    assert_ptr_equal(alloc(64 * KIB), address);
}

static void a_failed_wait_leaves_the_memory_to_later_ones(void **state)
{
    void *address = alloc(64 * KIB);
    backend.fail_call_at[TEST_CALL_SYNCHRONIZE] = 1;
    free_one(address);
    expect_pending(64 * KIB);
    (void)alloc(64 * KIB);
}

static void each_call_may_fail(void **state)
{
    static const enum test_call calls[] = { TEST_CALL_EVENT_CREATE, TEST_CALL_EVENT_RECORD_DEVICE,
                                            TEST_CALL_EVENT_QUERY, TEST_CALL_SYNCHRONIZE };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        create_anew();
        void *address = alloc(64 * KIB);
        backend.fail_call_at[calls[i]] = 1;
        free_one(address);
        assert_int_equal(stats_of(pool).live_count, 0);
        (void)alloc(64 * KIB);
        backend.fail_call_at[calls[i]] = 0;
    }
}

/* --- other calls ------------------------------------------------------------------------------------ */

static void batches_and_sized_frees_wait(void **state)
{
    void *both[2];
    const size_t sizes_bytes[2] = { 32 * KIB, 32 * KIB };
    expect_ok(tarn_pool_alloc_many(pool, 2, sizes_bytes, both));
    expect_ok(tarn_pool_free_many(pool, 2, both));
    expect_pending(64 * KIB);
    void *address = alloc(64 * KIB);
    assert_ptr_equal(address, both[0] < both[1] ? both[0] : both[1]);
    expect_ok(tarn_pool_free_sized(pool, address, 64 * KIB));
    expect_pending(64 * KIB);
}

static void a_batch_that_fails_leaves_nothing_to_wait_for(void **state)
{
    void *both[2];
    const size_t sizes_bytes[2] = { 32 * KIB, 64 * KIB };
    assert_int_equal(tarn_pool_alloc_many(pool, 2, sizes_bytes, both), TARN_STATUS_OVER_LIMIT);
    test_backend_take_calls(&backend);
    (void)alloc(64 * KIB);
    expect_no_calls();
}

static void the_end_of_a_shrunk_allocation_waits(void **state)
{
    void *address = alloc(64 * KIB);
    expect_ok(tarn_pool_resize(pool, address, 16 * KIB));
    expect_pending(48 * KIB);
    assert_int_equal(tarn_pool_resize(pool, address, 32 * KIB), TARN_STATUS_NOT_IN_PLACE);
    test_backend_complete(&backend, TEST_BACKEND_DEVICE);
    assert_ptr_equal(alloc(48 * KIB), (char *)address + 16 * KIB);
}

static void further_uses_wait_as_well(void **state)
{
    void *address = alloc(64 * KIB);
    expect_ok(tarn_pool_use_on(pool, address, A));
    free_one(address);
    test_backend_complete(&backend, TEST_BACKEND_DEVICE);
    (void)alloc_on(64 * KIB, B);
    assert_true(backend.call_counts[TEST_CALL_EVENT_RECORD] > 0); /* of A */
}

static void freed_after_no_stream_it_waits_for_nothing(void **state)
{
    void *address = alloc(64 * KIB);
    free_after(address, NULL, 0);
    expect_pending(0);
}

static void a_capture_is_left_alone(void **state)
{
    tarn_capture capture = 0;
    void *address = alloc(64 * KIB);
    expect_ok(tarn_capture_begin(pool, A, &capture));
    test_backend_take_calls(&backend);
    free_one(address);
    expect_no_calls();
    expect_refused(TARN_STATUS_OVER_LIMIT, 64 * KIB);
    expect_ok(tarn_capture_end(pool, capture));
    expect_ok(tarn_capture_release(pool, capture, NULL, 0));
    (void)alloc(64 * KIB);
}

/* While streams are captured, nothing is recorded: an eviction is recorded later. */
static void what_is_evicted_in_captures_serves_later(void **state)
{
    tarn_capture captures[14] = { 0 };
    void *large = alloc(32 * KIB), *other = alloc(31 * KIB);
    for (int i = 0; i < 14; i++)
        expect_ok(tarn_capture_begin(pool, STREAM(i), &captures[i]));
    free_one(large);
    void *small = alloc_on(1 * KIB, STREAM(40));
    free_one(other);
    for (int i = 0; i < 14; i++) {
        expect_ok(tarn_capture_end(pool, captures[i]));
        expect_ok(tarn_capture_release(pool, captures[i], NULL, 0));
    }
    test_backend_take_calls(&backend);
    assert_ptr_equal(alloc(32 * KIB), large);
    assert_ptr_equal(alloc(31 * KIB), other);
    expect_calls(TEST_CALL_SYNCHRONIZE, 0);
    free_on(small, STREAM(40));
}

static void many_streams_evict_the_made_up_ones_too(void **state)
{
    void *address = alloc(16 * KIB);
    free_one(address);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 60; i++) {
            void *other = alloc_on(1 * KIB, STREAM(i));
            free_on(other, STREAM(i));
        }
    }
    (void)alloc(64 * KIB);
}

static void memory_of_a_fallback_waits(void **state)
{
    tarn_pool *first = pool;
    tarn_backend other = opened;
    pool = NULL;
    options.fallback = first;
    options.limit_bytes = 4 * KIB;
    options.initial_bytes = 4 * KIB;
    options.backend = &other;
    create();
    void *address = alloc(64 * KIB);
    free_one(address);
    assert_int_equal(stats_of(first).pending_bytes, 64 * KIB);
    assert_ptr_equal(alloc(64 * KIB), address);
    destroy();
    pool = first;
}

/* --- by the call, in a pool without the option ------------------------------------------------------- */

static int set_up_without_option(void **state)
{
    begin(true);
    options.free_waits = false;
    create_anew();
    return 0;
}

static void one_call_may_wait(void **state)
{
    void *address = alloc_on(64 * KIB, TARN_STREAM_ANY);
    free_on(address, TARN_STREAM_ANY);
    expect_calls(TEST_CALL_EVENT_RECORD_DEVICE, 1);
    expect_pending(64 * KIB);
    assert_ptr_equal(alloc_on(64 * KIB, TARN_STREAM_ANY), address);
    expect_calls(TEST_CALL_STREAM_WAIT_EVENT, 0);
    free_on(address, TARN_STREAM_ANY);
    assert_ptr_equal(alloc(64 * KIB), address);
    expect_last_wait(NULL, TEST_BACKEND_DEVICE);
}

static void arenas_keep_what_they_have(void **state)
{
    destroy();
    options.limit_bytes = 0;
    options.initial_bytes = 1024 * KIB;
    checks_every_step = false;
    create();
    warm_up();
    void *mine = alloc_on(1 * KIB, A), *any = alloc_on(1 * KIB, TARN_STREAM_ANY);
    free_on(any, TARN_STREAM_ANY);
    want_arenas();
    void *more = alloc_on(1 * KIB, A);
    expect_active(1);
    tn_pool_lock_growth(pool);
    tn_stream_reuse_settle(pool, 0);
    tn_pool_unlock_growth(pool);
    expect_active(1);
    free_on(mine, A);
    free_on(more, A);
}

static void memory_of_one_stream_waits_for_it(void **state)
{
    void *address = alloc(64 * KIB);
    free_one(address);
    test_backend_take_calls(&backend);
    (void)alloc_on(64 * KIB, TARN_STREAM_ANY);
    assert_true(backend.call_counts[TEST_CALL_EVENT_RECORD] >= 1);
    expect_calls(TEST_CALL_STREAM_WAIT_EVENT, 0);
}

static void resizes_and_batches_take_it_too(void **state)
{
    const size_t size_bytes = 64 * KIB;
    void *address = alloc_on(64 * KIB, TARN_STREAM_ANY);
    expect_ok(tarn_pool_resize_on(pool, address, 16 * KIB, TARN_STREAM_ANY));
    expect_pending(48 * KIB);
    expect_ok(tarn_pool_free_many_on(pool, 1, &address, TARN_STREAM_ANY));
    expect_pending(64 * KIB);
    expect_ok(tarn_pool_alloc_many_on(pool, 1, &size_bytes, TARN_STREAM_ANY, &address));
    expect_pending(0);
}

static void it_is_no_stream_to_note_or_to_end(void **state)
{
    void *address = alloc_on(1 * KIB, A);
    assert_int_equal(tarn_pool_use_on(pool, address, TARN_STREAM_ANY),
                     TARN_STATUS_INVALID_ARGUMENT);
    expect_message("TARN_STREAM_ANY");
    assert_int_equal(tarn_stream_retire(TARN_STREAM_ANY), TARN_STATUS_INVALID_ARGUMENT);
    free_on(address, A);
}

static void a_released_capture_may_wait_for_all_streams(void **state)
{
    tarn_capture capture = 0;
    const tarn_stream any = TARN_STREAM_ANY;
    free_on(alloc_on(32 * KIB, TARN_STREAM_ANY), TARN_STREAM_ANY);
    expect_ok(tarn_capture_begin(pool, A, &capture));
    void *address = alloc_on(16 * KIB, A);
    free_on(address, A);
    expect_ok(tarn_capture_end(pool, capture));
    test_backend_take_calls(&backend);
    expect_ok(tarn_capture_release(pool, capture, &any, 1));
    expect_calls(TEST_CALL_EVENT_RECORD_DEVICE, 1);
}

static void a_wait_ends_when_the_vendor_fails(void **state)
{
    void *address = alloc(64 * KIB);
    free_one(address);
    backend.fail_call_at[TEST_CALL_EVENT_QUERY] = 1;
    backend.fail_call_count = 1000000;
    assert_ptr_not_equal(alloc(64 * KIB), address);
    backend.fail_call_at[TEST_CALL_EVENT_QUERY] = 0;
    backend.fail_call_count = 0;
}

static void a_fallback_must_have_events_too(void **state)
{
    static char memory[8192];
    tarn_pool *over;
    destroy();
    expect_ok(tarn_pool_create_over(memory, sizeof memory, NULL, &over));
    options.fallback = over;
    expect_options_refused(TARN_STATUS_NOT_SUPPORTED, "fallback");
    options.fallback = NULL;
    expect_ok(tarn_pool_destroy(over));
    create();
}

static void it_cannot_be_captured(void **state)
{
    tarn_capture capture = 0;
    assert_int_equal(tarn_capture_begin(pool, TARN_STREAM_ANY, &capture),
                     TARN_STATUS_INVALID_ARGUMENT);
    expect_message("TARN_STREAM_ANY");
}

static void a_pool_without_events_refuses_it(void **state)
{
    backend.operations.synchronize = NULL;
    void *address = alloc(1 * KIB);
    expect_refused_on(TARN_STATUS_INVALID_ARGUMENT, 1 * KIB, TARN_STREAM_ANY);
    assert_int_equal(tarn_pool_free_on(pool, address, TARN_STREAM_ANY),
                     TARN_STATUS_INVALID_ARGUMENT);
}

/* --- options --------------------------------------------------------------------------------------- */

static void a_backend_must_have_what_it_takes(void **state)
{
    destroy();
    opened = test_backend_open(&backend);
    backend.operations.event_query = NULL;
    expect_options_refused(TARN_STATUS_NOT_SUPPORTED, "free_waits");
    opened = test_backend_open(&backend);
    backend.operations.synchronize = NULL;
    expect_options_refused(TARN_STATUS_NOT_SUPPORTED, "free_waits");
    opened = test_backend_open(&backend);
    backend.operations.event_record_device = NULL;
    backend.call_failure = TARN_STATUS_NOT_SUPPORTED;
    backend.fail_call_at[TEST_CALL_SYNCHRONIZE] = 1;
    expect_options_refused(TARN_STATUS_NOT_SUPPORTED, "free_waits");
    create();
}

/* A table of an older version ends before the operation. */
static void an_older_table_has_no_event_for_all_streams(void **state)
{
    destroy();
    backend.operations.struct_bytes = offsetof(tarn_backend_operations, event_record_device);
    create();
    free_one(alloc(64 * KIB));
    expect_calls(TEST_CALL_EVENT_RECORD_DEVICE, 0);
    expect_calls(TEST_CALL_SYNCHRONIZE, 1);
}

static void a_recording_names_the_default_stream(void **state)
{
    assert_ptr_equal(tn_any_stream_of_vendor(TN_ANY_STREAM_ALLOCATES), NULL);
    assert_ptr_equal(tn_any_stream_of_vendor(TN_ANY_STREAM_FREES), NULL);
    assert_ptr_equal(tn_any_stream_of_vendor(A), A);
}

/* --- with memory, over the host backend -------------------------------------------------------------- */

static int set_up_over_host(void **state)
{
    begin(false);
    create_over_host_memory();
    return 0;
}

/* A program that moves from cudaMalloc relies on this: it has two streams, and names none. */
static void contents_are_right_without_a_name(void **state)
{
    const tarn_backend_operations *operations = opened.operations;
    tarn_stream s, t;
    static unsigned char seen[64 * KIB];
    assert_int_equal(operations->stream_create(opened.state, &s).status, TARN_STATUS_OK);
    assert_int_equal(operations->stream_create(opened.state, &t).status, TARN_STATUS_OK);
    void *first = alloc(64 * KIB);
    operations->fill(opened.state, first, 1, 64 * KIB, s);
    operations->copy(opened.state, seen, first, 64 * KIB, s);
    free_one(first);
    void *second = alloc(64 * KIB);
    assert_ptr_equal(second, first);
    operations->fill(opened.state, second, 2, 64 * KIB, t);
    operations->stream_synchronize(opened.state, t);
    operations->stream_synchronize(opened.state, s);
    for (size_t i = 0; i < sizeof seen; i++)
        assert_int_equal(seen[i], 1);
    free_one(second);
    operations->stream_destroy(opened.state, s);
    operations->stream_destroy(opened.state, t);
}

static void debug_mode_waits_and_finds_damage(void **state)
{
    destroy();
    options.backend = &opened;
    options.limit_bytes = 0;
    options.debug = TARN_DEBUG_ZONES | TARN_DEBUG_POISON;
    create();
    free_one(alloc(100));
    unsigned char *address = alloc(100);
    address[100] = 1;
    assert_int_equal(tarn_pool_free(pool, address), TARN_STATUS_CORRUPT);
    expect_ok(tarn_pool_destroy_forced(pool, NULL));
    pool = NULL;
}

int main(void)
{
#define WITH(test, set_up) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH(a_free_waits_for_nothing_where_an_event_covers_all_streams, set_up_with_events),
        WITH(small_frees_share_a_record, set_up_with_events),
        WITH(an_allocation_records_what_it_needs, set_up_with_events),
        WITH(at_its_limit_the_pool_waits_on, set_up_with_events),
        WITH(a_later_record_may_fail, set_up_with_events),
        WITH(slices_count_with_their_sizes, set_up_with_events),
        WITH(work_that_comes_later_is_not_waited_for_for_ever, set_up_with_events),
        WITH(frees_are_recorded_at_once_where_that_waits, set_up_with_waiting),
        WITH(a_wait_goes_on_while_another_thread_frees, set_up_with_events),
        WITH(slack_comes_before_a_wait, set_up_with_events),
        WITH(an_allocation_takes_other_memory_while_work_is_under_way, set_up_with_events),
        WITH(an_allocation_takes_the_memory_once_its_work_is_done, set_up_with_events),
        WITH(a_free_finds_out_what_is_done, set_up_with_events),
        WITH(sixteen_events_may_be_under_way, set_up_with_events),
        WITH(the_host_waits_when_nothing_else_is_free, set_up_with_events),
        WITH(the_host_waits_before_the_pool_grows, set_up_with_events),
        WITH(a_stream_that_is_named_waits_on_the_device, set_up_with_events),
        WITH(the_host_does_not_wait_for_a_stream_that_was_named, set_up_with_events),
        WITH(a_named_stream_has_its_own_memory_at_once, set_up_with_events),
        WITH(slices_wait_like_chunks, set_up_with_events),
        WITH(a_free_waits_for_the_device_without_such_an_event, set_up_with_waiting),
        WITH(a_failed_wait_leaves_the_memory_to_later_ones, set_up_with_waiting),
        WITH(each_call_may_fail, set_up_with_events),
        WITH(each_call_may_fail, set_up_with_waiting),
        WITH(batches_and_sized_frees_wait, set_up_with_events),
        WITH(a_batch_that_fails_leaves_nothing_to_wait_for, set_up_with_events),
        WITH(the_end_of_a_shrunk_allocation_waits, set_up_with_events),
        WITH(further_uses_wait_as_well, set_up_with_events),
        WITH(freed_after_no_stream_it_waits_for_nothing, set_up_with_events),
        WITH(a_capture_is_left_alone, set_up_with_events),
        WITH(what_is_evicted_in_captures_serves_later, set_up_with_events),
        WITH(many_streams_evict_the_made_up_ones_too, set_up_with_events),
        WITH(many_streams_evict_the_made_up_ones_too, set_up_with_waiting),
        WITH(memory_of_a_fallback_waits, set_up_with_events),
        WITH(one_call_may_wait, set_up_without_option),
        WITH(arenas_keep_what_they_have, set_up_without_option),
        WITH(memory_of_one_stream_waits_for_it, set_up_without_option),
        WITH(resizes_and_batches_take_it_too, set_up_without_option),
        WITH(it_is_no_stream_to_note_or_to_end, set_up_without_option),
        WITH(a_released_capture_may_wait_for_all_streams, set_up_without_option),
        WITH(a_wait_ends_when_the_vendor_fails, set_up_with_events),
        WITH(a_fallback_must_have_events_too, set_up_with_events),
        WITH(it_cannot_be_captured, set_up_without_option),
        WITH(a_pool_without_events_refuses_it, set_up_without_option),
        WITH(a_backend_must_have_what_it_takes, set_up_with_events),
        WITH(an_older_table_has_no_event_for_all_streams, set_up_with_events),
        WITH(a_recording_names_the_default_stream, set_up_with_events),
        WITH(contents_are_right_without_a_name, set_up_over_host),
        WITH(debug_mode_waits_and_finds_damage, set_up_over_host),
    };
    return cmocka_run_group_tests_name("free_waits", tests, NULL, NULL);
}
