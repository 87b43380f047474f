/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_stream_slack: pools that grow a little rather than let a stream wait, and that ask less often whether work is
 * complete. Over a backend whose work is done when the test says so. The random programs of stress_streams compare each
 * hand-out with what runs before what.
 */
#include <math.h>

#include "core/supply/stream_reuse.h"
#include "harness/host_memory_faults.h"
#include "pool_fixture.h"
#include "tarn/record.h"

/* A pool of 64 KiB, all of them live on A, whose slack is 16 KiB. Without slack it grows by the need. */
enum {
    PIECE_COUNT = 8
};
#define PIECE (8 * KIB)

static void *pieces[PIECE_COUNT];

static void fill(void)
{
    /* The pool knows B, too. */
    for (int i = 0; i < PIECE_COUNT; i++)
        pieces[i] = alloc_on(PIECE, i == 0 ? B : A);
    assert_int_equal(stats_of(pool).footprint_bytes, 64 * KIB);
    test_backend_take_calls(&backend);
}

static void begin(double slack)
{
    begin_fixture(true);
    options.initial_bytes = 64 * KIB;
    options.growth_factor = 1.0;
    options.stream_slack = slack;
    checks_every_step = true;
}

static int set_up_with_slack(void **state)
{
    begin(0.25);
    create();
    fill();
    return 0;
}

static int set_up_without_slack(void **state)
{
    begin(0.0);
    create();
    fill();
    return 0;
}

/* Not created, so that the test can change more. */
static int set_up_later(void **state)
{
    begin(0.25);
    return 0;
}

/* One piece goes from A to B. Returns its new address. */
static void *hand_on(int piece)
{
    free_on(pieces[piece], A);
    return pieces[piece] = alloc_on(PIECE, B);
}

static void use_up_slack(void)
{
    hand_on(0);
    hand_on(1);
    assert_int_equal(stats_of(pool).footprint_bytes, 80 * KIB);
    test_backend_take_calls(&backend);
}

static void expect_held(size_t kib)
{
    assert_int_equal(stats_of(pool).footprint_bytes, kib * KIB);
    assert_int_equal(backend.held_bytes, kib * KIB);
}

static void expect_queries(unsigned least, unsigned most)
{
    assert_in_range(backend.call_counts[TEST_CALL_EVENT_QUERY], least, most);
}

/* --- growth instead of a wait ---------------------------------------------------------------------- */

static void without_slack_the_stream_waits(void **state)
{
    void *freed = pieces[0];
    assert_ptr_equal(hand_on(0), freed);
    expect_records_and_waits(1, 1);
    expect_held(64);
}

static void with_slack_the_pool_grows(void **state)
{
    void *freed = pieces[0];
    assert_ptr_not_equal(hand_on(0), freed);
    expect_no_calls();
    expect_held(72);
    expect_pending(PIECE);
}

/* 1.25 times the 64 KiB that were in use. */
static void the_slack_is_bounded(void **state)
{
    for (int i = 0; i < PIECE_COUNT; i++) {
        hand_on(i);
        assert_in_range(stats_of(pool).footprint_bytes, 64 * KIB, 80 * KIB);
    }
    expect_held(80);
    assert_true(backend.wait_count > 0);
    assert_int_equal(backend.held_bytes_max, 80 * KIB);
}

static void the_slack_grows_with_the_most_bytes_in_use(void **state)
{
    use_up_slack();
    void *large = alloc_on(64 * KIB, A);
    expect_held(144);
    free_on(large, A);
    /* 128 KiB were in use. */
    for (int i = 0; i < 4; i++) {
        alloc_on(PIECE, B);
        assert_int_equal(stats_of(pool).footprint_bytes, (i == 0 ? 152 : 160) * KIB);
        if (i < 2) expect_no_calls();
    }
    expect_records_and_waits(1, 1); /* which is enough for two of them */
}

static void marks_that_are_reset_bound_the_slack_anew(void **state)
{
    for (int i = 2; i < PIECE_COUNT; i++)
        free_on(pieces[i], A);
    expect_ok(tarn_pool_reset_peaks(pool));
    test_backend_take_calls(&backend);
    /* 16 KiB are in use, and 64 are held. */
    alloc_on(PIECE, B);
    expect_records_and_waits(1, 1);
    expect_held(64);
}

static void memory_that_needs_no_wait_comes_first(void **state)
{
    /* B has waited for all that A has freed so far. */
    use_up_slack();
    hand_on(2);
    expect_records_and_waits(1, 1);
    free_on(alloc_on(64 * KIB, A), A); /* growth as usual; the slack is larger from now on */
    size_t held = stats_of(pool).footprint_bytes;
    test_backend_take_calls(&backend);
    alloc_on(PIECE, B);
    expect_no_calls();
    assert_int_equal(stats_of(pool).footprint_bytes, held);
}

static void own_memory_comes_before_growth(void **state)
{
    use_up_slack();
    free_on(pieces[0], B);
    assert_ptr_equal(alloc_on(PIECE, B), pieces[0]);
    expect_no_calls();
    expect_held(80);
}

/* Growth as usual, by the factor. */
static void where_nothing_could_be_awaited_the_pool_grows_as_usual(void **state)
{
    options.growth_factor = 2.0;
    create();
    fill();
    alloc_on(PIECE, B);
    expect_held(128);
}

static void slices_grow_as_well(void **state)
{
    free_on(pieces[0], A);
    alloc_on(100, B);
    expect_no_calls();
    expect_held(68);
}

/* No chunk is free, but a slice that A may still use. */
static void pending_slices_are_no_reason_to_wait(void **state)
{
    void *slices[16];
    free_on(pieces[1], A);
    for (int i = 0; i < 16; i++)
        slices[i] = alloc_on(512, A);
    expect_held(64);
    free_on(slices[0], A);
    test_backend_take_calls(&backend);
    alloc_on(512, B);
    expect_no_calls();
    expect_held(68);
}

static void an_alignment_is_kept(void **state)
{
    void *address;
    free_on(pieces[0], A);
    backend.misalignment_bytes = 256;
    expect_ok(tarn_pool_alloc_aligned_on(pool, 2 * KIB, 2 * KIB, B, &address));
    assert_int_equal((uintptr_t)address % (2 * KIB), 0);
    expect_no_calls();
    expect_held(68);
}

/* A wait for two streams is a wait, too. */
static void regions_that_hold_the_request_together_are_no_reason_to_wait(void **state)
{
    free_on(pieces[0], A);
    free_on(pieces[1], C);
    test_backend_take_calls(&backend);
    alloc_on(2 * PIECE, B);
    expect_no_calls();
    expect_held(80);
    expect_pending(2 * PIECE);
}

static void the_host_does_not_wait_either(void **state)
{
    backend.has_synchronize = backend.has_device_events = true;
    opened = test_backend_open(&backend);
    options.free_waits = true;
    create();
    void *block = alloc(64 * KIB);
    free_one(block);
    test_backend_take_calls(&backend);
    alloc(PIECE);
    assert_int_equal(backend.call_counts[TEST_CALL_SYNCHRONIZE], 0);
    expect_queries(0, 1);
    expect_held(72);
}

static void while_a_stream_is_captured_growth_is_as_usual(void **state)
{
    tarn_capture capture = 0;
    options.growth_factor = 2.0;
    create();
    fill();
    expect_ok(tarn_capture_begin(pool, C, &capture));
    free_on(pieces[0], A);
    alloc_on(PIECE, B);
    assert_true(stats_of(pool).footprint_bytes > 80 * KIB);
    expect_ok(tarn_capture_end(pool, capture));
    expect_ok(tarn_capture_release(pool, capture, NULL, 0));
}

/* --- limits and failures ---------------------------------------------------------------------------- */

static void at_the_limit_the_stream_waits(void **state)
{
    options.limit_bytes = 72 * KIB;
    create();
    fill();
    hand_on(0);
    expect_held(72);
    expect_no_calls();
    for (int i = 1; i < PIECE_COUNT; i++)
        hand_on(i);
    expect_held(72);
    assert_true(backend.wait_count > 0);
}

static void a_shortage_is_served_by_waiting_for_several(void **state)
{
    options.limit_bytes = 64 * KIB;
    create();
    fill();
    free_on(pieces[0], A);
    free_on(pieces[1], C);
    test_backend_take_calls(&backend);
    assert_ptr_equal(alloc_on(2 * PIECE, B), pieces[0]);
    expect_records_and_waits(2, 2);
    expect_held(64);
}

static void what_the_vendor_refuses_is_waited_for(void **state)
{
    static const tarn_status failures[] = { TARN_STATUS_OUT_OF_MEMORY, TARN_STATUS_VENDOR_ERROR,
                                            TARN_STATUS_OUT_OF_HOST_MEMORY };
    for (int i = 0; i < 3; i++) {
        backend.failure = failures[i];
        backend.fail_acquire_at = 1;
        void *freed = pieces[0];
        assert_ptr_equal(hand_on(0), freed);
        expect_records_and_waits(1, 1);
        expect_held(64);
        assert_int_equal(stats_of(pool).failed_count, 0);
        create_anew();
        fill();
    }
}

/* Or each request would cost a call of the vendor that fails. */
static void a_refusal_is_remembered_until_memory_goes_back(void **state)
{
    backend.capacity_bytes = 64 * KIB;
    hand_on(0);
    unsigned asked = backend.acquire_count;
    hand_on(1);
    hand_on(2);
    assert_int_equal(backend.acquire_count, asked);
    backend.capacity_bytes = 0;
    free_on(alloc_on(16 * KIB, A), A); /* the usual growth asks in any case */
    expect_held(80);
    assert_int_equal(trim(64 * KIB), 16 * KIB);
    hand_on(3);
    expect_held(72);
}

/* The vendor aligns to less than the request needs, and the piece has no room for that. */
static void memory_that_holds_no_request_goes_back(void **state)
{
    free_on(pieces[0], A);
    backend.misalignment_bytes = 256;
    for (int i = 0; i < 2; i++) {
        void *address = NULL;
        expect_ok(tarn_pool_alloc_aligned_on(pool, 4 * KIB, 4 * KIB, B, &address));
        assert_ptr_equal(address, (char *)pieces[0] + (size_t)i * 4 * KIB);
        expect_held(64);
        assert_int_equal(backend.acquire_count, 2);
        assert_int_equal(backend.release_count, 1);
    }
    expect_records_and_waits(1, 1);
}

static void a_stream_that_cannot_wait_gets_new_memory(void **state)
{
    static const enum test_call calls[] = { TEST_CALL_EVENT_CREATE, TEST_CALL_EVENT_RECORD,
                                            TEST_CALL_STREAM_WAIT_EVENT };
    for (int i = 0; i < 3; i++) {
        use_up_slack();
        backend.fail_call_at[calls[i]] = 1;
        hand_on(2);
        expect_held(88);
        assert_int_equal(stats_of(pool).failed_count, 0);
        create_anew();
        fill();
    }
}

static void at_the_limit_a_stream_that_cannot_wait_is_refused(void **state)
{
    static const enum test_call calls[] = { TEST_CALL_EVENT_CREATE, TEST_CALL_EVENT_RECORD,
                                            TEST_CALL_STREAM_WAIT_EVENT };
    options.limit_bytes = 80 * KIB;
    create();
    for (int i = 0; i < 3; i++) {
        fill();
        use_up_slack();
        /* B has waited for nothing yet. */
        backend.fail_call_at[calls[i]] = 1;
        backend.fail_call_count = 1000;
        free_on(pieces[2], A);
        expect_refused_on(TARN_STATUS_OVER_LIMIT, 2 * PIECE, B);
        expect_held(80);
        backend.fail_call_at[calls[i]] = backend.fail_call_count = 0;
        alloc_on(2 * PIECE, B);
        create_anew();
    }
}

static void a_query_that_fails_is_no_completion(void **state)
{
    use_up_slack();
    hand_on(2);
    backend.fail_call_at[TEST_CALL_EVENT_QUERY] = 1;
    backend.fail_call_count = 1000;
    test_backend_complete(&backend, A);
    for (int i = 3; i < PIECE_COUNT; i++)
        hand_on(i);
    assert_true(backend.failed_count > 0);
    assert_true(stats_of(pool).pending_bytes > 0);
    backend.fail_call_at[TEST_CALL_EVENT_QUERY] = backend.fail_call_count = 0;
}

static void every_host_allocation_may_fail(void **state)
{
    for (unsigned n = 1;; n++) {
        void *address = NULL;
        create();
        fill();
        free_on(pieces[0], A);
        host_memory_faults_begin(n);
        tarn_status status = tarn_pool_alloc_on(pool, PIECE, B, &address);
        bool has_failed = host_memory_faults_end();
        if (status != TARN_STATUS_OK) {
            expect_status(TARN_STATUS_OUT_OF_HOST_MEMORY, status);
            assert_null(address);
            expect_ok(tarn_pool_check(pool));
            address = alloc_on(PIECE, B);
        }
        expect_ok(tarn_pool_check(pool));
        free_on(address, B);
        destroy();
        if (!has_failed) break;
        assert_true(n < 100);
    }
}

/* --- queries ------------------------------------------------------------------------------------------ */

/* A, B and C each want what the others have freed, and no work is ever complete. Returns the pieces that changed hands
 * after a wait. */
static unsigned pass_round(int round_count)
{
    static const tarn_stream streams[] = { A, B, C };
    unsigned waits_before = backend.wait_count;
    test_backend_take_calls(&backend);
    for (int i = 0; i < PIECE_COUNT; i++)
        pieces[i] = pieces[i] ? pieces[i] : alloc_on(PIECE, A);
    for (int round = 0; round < round_count; round++)
        for (int i = 0; i < PIECE_COUNT; i++) {
            free_on(pieces[i], streams[round % 3]);
            pieces[i] = alloc_on(PIECE, streams[(round + 1) % 3]);
        }
    return backend.wait_count - waits_before;
}

static void queries_that_find_nothing_become_rare(void **state)
{
    use_up_slack();
    pass_round(60);
    expect_queries(1, 12);
}

static void without_slack_each_miss_asks(void **state)
{
    pass_round(60);
    expect_queries(400, 10000);
}

/* Not before something was recorded. */
static void nothing_is_asked_while_nothing_is_recorded(void **state)
{
    use_up_slack();
    free_on(pieces[2], A);
    alloc_on(PIECE, B);
    expect_queries(0, 0);
}

static void completed_work_is_found_again(void **state)
{
    use_up_slack();
    pass_round(60);
    assert_true(pool->streams->polls.left_out_count > 1);
    test_backend_complete(&backend, A);
    test_backend_complete(&backend, B);
    test_backend_complete(&backend, C);
    for (int i = 0; i < 30 && pool->streams->polls.left_out_count > 1; i++)
        pass_round(1);
    assert_true(pool->streams->polls.left_out_count <= 1);
}

static bool poll_sparingly(void)
{
    tn_pool_lock_growth(pool);
    bool has_completed = tn_stream_reuse_poll_sparingly(pool);
    tn_pool_unlock_growth(pool);
    return has_completed;
}

static void record_on(tarn_stream stream)
{
    tn_pool_lock_growth(pool);
    uint32_t number =
        tn_stream_table_search(pool->streams, (struct tn_stream_name){ .handle = stream });
    assert_int_equal(tn_stream_reuse_record_needed(pool, number).status, TARN_STATUS_OK);
    tn_pool_unlock_growth(pool);
}

/* C works for long, and has the oldest record. */
static void a_stream_that_works_for_long_hides_no_other(void **state)
{
    free_on(pieces[2], C);
    free_on(pieces[4], A);
    record_on(C);
    record_on(A);
    test_backend_complete(&backend, A);
    test_backend_take_calls(&backend);
    assert_false(poll_sparingly());
    expect_queries(1, 1);
    assert_false(poll_sparingly());
    expect_queries(1, 1);
    assert_true(poll_sparingly());
    expect_queries(2, 2);
    expect_pending(PIECE);
    /* C is asked again when no other is left. */
    test_backend_complete(&backend, C);
    assert_true(poll_sparingly());
    expect_pending(0);
}

/* A completes again and again, and C after some time. */
static void a_stream_that_completes_at_once_hides_no_other(void **state)
{
    free_on(pieces[2], C);
    record_on(C);
    assert_false(poll_sparingly());
    test_backend_complete(&backend, C);
    bool has_found = false;
    for (int i = 4; i < PIECE_COUNT && !has_found; i++) {
        free_on(pieces[i], A);
        record_on(A);
        test_backend_complete(&backend, A);
        poll_sparingly();
        has_found = stats_of(pool).pending_bytes == 0;
    }
    assert_true(has_found);
}

/* Nothing can be recorded on A any more. An older record covers its memory, so no stream can have that before the
 * record is complete, and the pool has left out many turns. */
static void before_an_allocation_fails_all_is_asked(void **state)
{
    options.limit_bytes = 64 * KIB;
    create();
    fill();
    free_on(pieces[0], A);
    free_on(pieces[1], A);
    pieces[0] = alloc_on(PIECE, B); /* recorded on A */
    backend.fail_call_at[TEST_CALL_EVENT_CREATE] = backend.fail_call_at[TEST_CALL_EVENT_RECORD] = 1;
    backend.fail_call_count = 1000;
    free_on(pieces[4], A);
    expect_status(TARN_STATUS_VENDOR_ERROR, tarn_stream_retire(A));
    for (int i = 0; i < 6; i++)
        expect_refused_on(TARN_STATUS_OVER_LIMIT, PIECE, C);
    pool->streams->polls = (struct tn_poll_turns){ 63, 63 };
    test_backend_complete(&backend, A);
    backend.fail_call_at[TEST_CALL_EVENT_CREATE] = backend.fail_call_at[TEST_CALL_EVENT_RECORD] = 0;
    backend.fail_call_count = 0;
    assert_ptr_equal(alloc_on(PIECE, C), pieces[1]);
}

/* --- one range of addresses ------------------------------------------------------------------------- */

/* Four steps of 64 KiB, all of them live on A. */
static int set_up_contiguous(void **state)
{
    begin(0.25);
    backend.range_granularity_bytes = 4 * KIB;
    backend.total_bytes = 64 * 64 * KIB;
    opened = test_backend_open(&backend);
    options.contiguous = true;
    options.step_bytes = 64 * KIB;
    options.initial_bytes = 0;
    create();
    for (int i = 0; i < 4; i++)
        pieces[i] = alloc_on(64 * KIB, A);
    test_backend_take_calls(&backend);
    return 0;
}

static void steps_are_mapped_within_the_slack(void **state)
{
    free_on(pieces[0], A);
    assert_ptr_not_equal(alloc_on(64 * KIB, B), pieces[0]);
    assert_int_equal(backend.call_counts[TEST_CALL_EVENT_RECORD], 0);
    expect_held(5 * 64);
    free_on(pieces[1], A);
    alloc_on(64 * KIB, B);
    assert_int_equal(backend.call_counts[TEST_CALL_EVENT_RECORD], 1);
    expect_held(5 * 64);
}

static void a_part_of_a_step_is_no_slack(void **state)
{
    destroy();
    opened = test_backend_open(&backend);
    options.stream_slack = 0.2;
    create();
    for (int i = 0; i < 4; i++)
        pieces[i] = alloc_on(64 * KIB, A);
    free_on(pieces[0], A);
    assert_ptr_equal(alloc_on(64 * KIB, B), pieces[0]);
    expect_held(4 * 64);
}

static void a_refused_step_is_waited_for_and_remembered(void **state)
{
    backend.capacity_bytes = 4 * 64 * KIB;
    free_on(pieces[0], A);
    assert_ptr_equal(alloc_on(64 * KIB, B), pieces[0]);
    unsigned asked = backend.call_counts[TEST_CALL_RANGE_MAP];
    assert_int_equal(asked, 1);
    free_on(pieces[1], A);
    assert_ptr_equal(alloc_on(64 * KIB, B), pieces[1]);
    assert_int_equal(backend.call_counts[TEST_CALL_RANGE_MAP], asked);
    backend.capacity_bytes = 0;
    free_on(pieces[2], A);
    assert_int_equal(trim(0), 64 * KIB);
    alloc_on(64 * KIB, A);
    free_on(pieces[3], A);
    alloc_on(64 * KIB, B);
    expect_held(5 * 64);
}

/* --- the option ----------------------------------------------------------------------------------------- */

static void a_slack_out_of_bounds_is_refused(void **state)
{
    static const double wrong[] = { -0.01, 8.01, (double)INFINITY, (double)NAN };
    for (int i = 0; i < 4; i++) {
        options.stream_slack = wrong[i];
        expect_options_refused(TARN_STATUS_INVALID_OPTIONS, "stream_slack");
    }
    options.stream_slack = TARN_STREAM_SLACK_MAX;
    create();
}

int main(void)
{
#define TEST(function, set_up) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
    static const struct CMUnitTest tests[] = {
        TEST(without_slack_the_stream_waits, set_up_without_slack),
        TEST(with_slack_the_pool_grows, set_up_with_slack),
        TEST(the_slack_is_bounded, set_up_with_slack),
        TEST(the_slack_grows_with_the_most_bytes_in_use, set_up_with_slack),
        TEST(marks_that_are_reset_bound_the_slack_anew, set_up_with_slack),
        TEST(memory_that_needs_no_wait_comes_first, set_up_with_slack),
        TEST(own_memory_comes_before_growth, set_up_with_slack),
        TEST(where_nothing_could_be_awaited_the_pool_grows_as_usual, set_up_later),
        TEST(slices_grow_as_well, set_up_with_slack),
        TEST(pending_slices_are_no_reason_to_wait, set_up_with_slack),
        TEST(an_alignment_is_kept, set_up_with_slack),
        TEST(regions_that_hold_the_request_together_are_no_reason_to_wait, set_up_with_slack),
        TEST(the_host_does_not_wait_either, set_up_later),
        TEST(while_a_stream_is_captured_growth_is_as_usual, set_up_later),
        TEST(at_the_limit_the_stream_waits, set_up_later),
        TEST(a_shortage_is_served_by_waiting_for_several, set_up_later),
        TEST(what_the_vendor_refuses_is_waited_for, set_up_with_slack),
        TEST(a_refusal_is_remembered_until_memory_goes_back, set_up_with_slack),
        TEST(memory_that_holds_no_request_goes_back, set_up_with_slack),
        TEST(a_stream_that_cannot_wait_gets_new_memory, set_up_with_slack),
        TEST(at_the_limit_a_stream_that_cannot_wait_is_refused, set_up_later),
        TEST(a_query_that_fails_is_no_completion, set_up_with_slack),
        TEST(every_host_allocation_may_fail, set_up_later),
        TEST(queries_that_find_nothing_become_rare, set_up_with_slack),
        TEST(without_slack_each_miss_asks, set_up_without_slack),
        TEST(nothing_is_asked_while_nothing_is_recorded, set_up_with_slack),
        TEST(completed_work_is_found_again, set_up_with_slack),
        TEST(a_stream_that_works_for_long_hides_no_other, set_up_with_slack),
        TEST(a_stream_that_completes_at_once_hides_no_other, set_up_with_slack),
        TEST(before_an_allocation_fails_all_is_asked, set_up_later),
        TEST(steps_are_mapped_within_the_slack, set_up_contiguous),
        TEST(a_part_of_a_step_is_no_slack, set_up_contiguous),
        TEST(a_refused_step_is_waited_for_and_remembered, set_up_contiguous),
        TEST(a_slack_out_of_bounds_is_refused, set_up_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
