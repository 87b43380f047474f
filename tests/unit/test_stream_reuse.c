/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_stream_reuse: who gets what others have freed, and which calls that takes. Over a backend whose
 * work is done when the test says so, and, where data is to tell, over the host's.
 */
#include "core/supply/stream_reuse.h"

#include "tarn/debug.h"
#include "tarn/host.h"
#include "pool_fixture.h"

/* Makes the stream known, and leaves nothing behind. */
static void introduce(tarn_stream stream)
{
    free_on(alloc_on(KIB, stream), stream);
    test_backend_take_calls(&backend);
}

static void *pieces[64];

/* The whole static pool, in pieces of so many KiB. Afterwards the pool knows A and B, and nothing that
 * is free was ever freed. */
static void fill_pool(size_t piece_kib)
{
    for (size_t i = 0; i < 64 / piece_kib; i++)
        pieces[i] = alloc_on(piece_kib * KIB, i == 0 ? A : B);
    test_backend_take_calls(&backend);
}

/* --- one stream --------------------------------------------------------------------------------- */

static void on_the_default_stream_alone_there_are_no_calls(void **state)
{
    void *address;
    for (int i = 0; i < 100; i++) {
        address = alloc(1000);
        expect_ok(i % 2 ? tarn_pool_free(pool, address) : tarn_pool_free_on(pool, address, NULL));
    }
    assert_null(pool->streams);
    expect_pending(0);
    expect_no_calls();
}

static void the_first_stream_takes_the_place_of_the_default_one(void **state)
{
    void *address = alloc_on(40 * KIB, A);
    assert_int_equal(backend.call_counts[TEST_CALL_STREAM_CHECK], 1);
    test_backend_take_calls(&backend);
    for (int i = 0; i < 100; i++) {
        free_on(address, A);
        assert_ptr_equal(alloc_on(40 * KIB, A), address);
    }
    assert_null(pool->streams);
    expect_no_calls();
    expect_pending(0);

    /* The default stream is a second one now. */
    free_on(address, A);
    void *other = alloc(40 * KIB);
    assert_ptr_equal(other, address);
    assert_non_null(pool->streams);
    expect_records_and_waits(1, 1);
    expect_last_wait(NULL, A);
}

static void a_default_stream_that_was_used_stays(void **state)
{
    void *address = alloc(40 * KIB);
    free_one(address);
    assert_ptr_equal(alloc_on(64 * KIB, A), address);
    expect_records_and_waits(1, 1);
    expect_last_wait(A, NULL);
}

static void zero_bytes_and_null_introduce_nobody(void **state)
{
    void *address = &backend;
    address = alloc_on(0, A);
    assert_null(address);
    free_on(NULL, B);
    free_after(NULL, (tarn_stream[]){ A, B, C }, 3);
    expect_no_calls();
    assert_null(pool->streams);
    assert_int_equal(stats_of(pool).alloc_count, 1);
    assert_int_equal(stats_of(pool).free_count, 2);
    /* Not even the first. */
    alloc(1);
    expect_no_calls();
}

/* --- division ----------------------------------------------------------------------------------- */

static void what_was_freed_before_the_second_stream_was_freed_on_the_first(void **state)
{
    void *kept = alloc_on(4 * KIB, A), *freed = alloc_on(60 * KIB, A);
    free_on(freed, A);
    test_backend_take_calls(&backend);
    assert_ptr_equal(alloc_on(60 * KIB, B), freed);
    expect_records_and_waits(1, 1);
    expect_last_wait(B, A);
    /* And what is freed after it, whoever allocated it, where it is freed. */
    free_on(kept, B);
    expect_pending(4 * KIB);
    assert_ptr_equal(alloc_on(4 * KIB, B), kept);
    expect_no_calls();
}

static void what_was_never_handed_out_waits_for_nobody(void **state)
{
    alloc_on(8 * KIB, A);
    test_backend_take_calls(&backend);
    alloc_on(8 * KIB, B);
    alloc_on(8 * KIB, C);
    expect_records_and_waits(0, 0);
    expect_pending(0);
}

static void what_a_pool_grows_by_waits_for_nobody(void **state)
{
    options.limit_bytes = 0;
    create_anew();
    free_on(alloc_on(8 * KIB, A), A);
    free_on(alloc_on(8 * KIB, B), B);
    test_backend_take_calls(&backend);
    alloc_on(100 * KIB, C);
    alloc_on(100 * KIB, B);
    expect_records_and_waits(0, 0);
}

/* --- without waiting ---------------------------------------------------------------------------- */

static void a_stream_has_its_own_at_once(void **state)
{
    fill_pool(8);
    for (int i = 0; i < 100; i++) {
        tarn_stream stream = i % 2 ? A : B;
        void **piece = &pieces[i % 2 ? 3 : 5];
        free_on(*piece, stream);
        expect_pending(8 * KIB);
        assert_ptr_equal(alloc_on(8 * KIB, stream), *piece);
    }
    expect_no_calls();
}

static void what_needs_no_wait_goes_before_what_fits_better(void **state)
{
    void *of_a = alloc_on(8 * KIB, A), *between = alloc_on(KIB, B);
    void *of_b = alloc_on(16 * KIB, B);
    alloc_on(KIB, B);
    free_on(of_a, A);
    free_on(of_b, B);
    test_backend_take_calls(&backend);
    assert_ptr_equal(alloc_on(8 * KIB, B), of_b);
    /* Of both kinds that need none, the better: the rest of its own, not the 38 KiB of nobody. */
    assert_ptr_equal(alloc_on(8 * KIB, B), (char *)of_b + 8 * KIB);
    expect_no_calls();
    /* A has its own for itself. */
    assert_ptr_equal(alloc_on(8 * KIB, A), of_a);
    expect_no_calls();
    free_on(between, A);
}

static void regions_of_two_streams_stay_apart_until_nothing_else_fits(void **state)
{
    fill_pool(8);
    free_on(pieces[2], A);
    free_on(pieces[3], B);
    assert_int_equal(stats_of(pool).free_region_count, 2);
    assert_int_equal(stats_of(pool).largest_free_bytes, 8 * KIB);
    expect_pending(16 * KIB);
    expect_no_calls();
    free_on(pieces[4], A);
    free_on(pieces[1], A);
    assert_int_equal(stats_of(pool).free_region_count, 3);
    assert_int_equal(stats_of(pool).largest_free_bytes, 16 * KIB);
}

static void what_is_united_waits_for_all_its_parts(void **state)
{
    fill_pool(8);
    free_on(pieces[2], A);
    free_on(pieces[3], B);
    expect_no_calls();
    assert_ptr_equal(alloc_on(16 * KIB, C), pieces[2]);
    expect_records_and_waits(2, 2);
    assert_int_equal(backend.wait_count, 2);
    assert_ptr_equal(backend.waits[0].stream, C);
    assert_ptr_equal(backend.waits[0].awaited, A);
    assert_ptr_equal(backend.waits[1].stream, C);
    assert_ptr_equal(backend.waits[1].awaited, B);
}

static void what_is_united_with_its_own_waits_for_the_other(void **state)
{
    fill_pool(8);
    free_on(pieces[2], A);
    free_on(pieces[3], B);
    free_after(pieces[4], NULL, 0);
    assert_ptr_equal(alloc_on(24 * KIB, A), pieces[2]);
    expect_records_and_waits(1, 1);
    expect_last_wait(A, B);
}

/* Chunks are aligned to their own size, so no more is needed than without. */
static void as_much_is_united_as_a_chunks_alignment_needs(void **state)
{
    void *address;
    fill_pool(8);
    free_on(pieces[2], A);
    free_on(pieces[3], B);
    expect_ok(tarn_pool_alloc_aligned_on(pool, 16 * KIB, KIB, C, &address));
    assert_ptr_equal(address, pieces[2]);
}

static void what_is_united_is_aligned(void **state)
{
    void *address;
    fill_pool(4);
    for (int i = 1; i < 8; i++)
        free_on(pieces[i], i % 2 ? A : B);
    expect_ok(tarn_pool_alloc_aligned_on(pool, 8 * KIB, 16 * KIB, C, &address));
    assert_int_equal((uintptr_t)address % (16 * KIB), 0);
}

/* --- with waiting ------------------------------------------------------------------------------- */

static void one_record_and_one_wait_serve_for_all_earlier_frees(void **state)
{
    fill_pool(8);
    free_on(pieces[1], A);
    free_on(pieces[3], A);
    free_on(pieces[5], A);
    expect_no_calls();
    assert_ptr_equal(alloc_on(8 * KIB, B), pieces[1]);
    expect_records_and_waits(1, 1);
    assert_ptr_equal(alloc_on(8 * KIB, B), pieces[3]);
    assert_ptr_equal(alloc_on(8 * KIB, B), pieces[5]);
    expect_no_calls();

    /* A free after the record is not covered. */
    free_on(pieces[7], A);
    assert_ptr_equal(alloc_on(8 * KIB, B), pieces[7]);
    expect_records_and_waits(1, 1);
    assert_int_equal(backend.wait_count, 2);
}

static void another_stream_waits_for_the_same_record(void **state)
{
    fill_pool(8);
    free_on(pieces[1], A);
    free_on(pieces[3], A);
    alloc_on(8 * KIB, B);
    expect_records_and_waits(1, 1);
    assert_ptr_equal(alloc_on(8 * KIB, C), pieces[3]);
    expect_records_and_waits(0, 1);
    expect_last_wait(C, A);
}

static void what_is_complete_is_everybodys(void **state)
{
    fill_pool(8);
    free_on(pieces[1], A);
    free_on(pieces[3], A);
    assert_ptr_equal(alloc_on(8 * KIB, B), pieces[1]);
    free_on(pieces[5], A);
    expect_pending(16 * KIB);
    test_backend_complete(&backend, A);
    test_backend_take_calls(&backend);

    /* C has waited for nobody. What was freed after the record is not complete. */
    assert_ptr_equal(alloc_on(8 * KIB, C), pieces[3]);
    expect_records_and_waits(0, 0);
    expect_pending(8 * KIB);
    assert_ptr_equal(alloc_on(8 * KIB, C), pieces[5]);
    expect_records_and_waits(1, 1);
    expect_pending(0);
}

static void a_query_that_fails_says_nothing(void **state)
{
    fill_pool(8);
    free_on(pieces[1], A);
    free_on(pieces[3], A);
    alloc_on(8 * KIB, B);
    test_backend_take_calls(&backend);
    for (int i = 0; i < 2; i++) {
        backend.fail_call_at[TEST_CALL_EVENT_QUERY] = 1;
        backend.call_failure = i ? TARN_STATUS_VENDOR_ERROR : TARN_STATUS_OUT_OF_MEMORY;
        assert_false(tn_stream_reuse_poll(pool));
        expect_pending(8 * KIB);
    }
    assert_ptr_equal(alloc_on(8 * KIB, C), pieces[3]);
    expect_records_and_waits(0, 1);
}

static void polling_asks_for_the_oldest_first_and_stops(void **state)
{
    fill_pool(8);
    assert_false(tn_stream_reuse_poll(pool));
    expect_no_calls();
    for (int i = 1; i < 4; i++) {
        free_on(pieces[i], A);
        alloc_on(8 * KIB, B);
    }
    test_backend_take_calls(&backend);
    assert_false(tn_stream_reuse_poll(pool));
    assert_int_equal(test_backend_take_calls(&backend), 1);
    test_backend_complete(&backend, A);
    assert_true(tn_stream_reuse_poll(pool));
    assert_int_equal(test_backend_take_calls(&backend), 3);
    assert_false(tn_stream_reuse_poll(pool));
    expect_no_calls();
}

static void events_are_used_again(void **state)
{
    fill_pool(8);
    for (int i = 0; i < 1000; i++) {
        free_on(pieces[1], i % 2 ? A : B);
        assert_ptr_equal(alloc_on(8 * KIB, i % 2 ? B : A), pieces[1]);
        test_backend_complete(&backend, A);
        test_backend_complete(&backend, B);
    }
    assert_int_equal(backend.call_counts[TEST_CALL_EVENT_RECORD], 1000);
    assert_in_range(backend.call_counts[TEST_CALL_EVENT_CREATE], 1, 2);
    assert_int_equal(backend.call_counts[TEST_CALL_EVENT_DESTROY], 0);
}

static void no_more_events_are_kept_than_there_is_room_for(void **state)
{
    void *again[64];
    fill_pool(1);
    /* Four records on each of seven streams. */
    for (int i = 0; i < 28; i++) {
        free_on(pieces[i], STREAM(2 + i % 7));
        again[i] = alloc_on(KIB, B);
        assert_ptr_equal(again[i], pieces[i]);
    }
    assert_int_equal(backend.event_count, 28);
    for (int i = 2; i < 9; i++)
        test_backend_complete(&backend, STREAM(i));
    assert_true(tn_stream_reuse_poll(pool));
    assert_int_equal(backend.event_count, TN_POOL_SPARE_EVENTS_MAX);
}

static void with_all_records_under_way_the_newest_is_made_anew(void **state)
{
    fill_pool(1);
    for (int i = 0; i < 40; i++) {
        free_on(pieces[i], A);
        assert_ptr_equal(alloc_on(KIB, B), pieces[i]);
        expect_records_and_waits(1, 1);
    }
    assert_int_equal(backend.event_count, TN_STREAM_RECORDS_MAX);
    /* The oldest three are those of the first three, the newest covers the last. */
    const struct tn_stream_entry *entry =
        &pool->streams
             ->streams[tn_stream_table_search(pool->streams, (struct tn_stream_name){ A, 0 })];
    assert_int_equal(entry->record_count, TN_STREAM_RECORDS_MAX);
    for (unsigned i = 1; i < TN_STREAM_RECORDS_MAX; i++)
        assert_true(entry->records[i].time > entry->records[i - 1].time);
    assert_int_equal(entry->records[TN_STREAM_RECORDS_MAX - 1].time, pool->streams->now - 1);
    assert_int_equal(entry->records[2].time - entry->records[0].time, 2);

    /* C waits for an old record only if that covers what it takes. */
    free_on(pieces[50], A);
    assert_ptr_equal(alloc_on(KIB, C), pieces[50]);
    expect_records_and_waits(1, 1);
    test_backend_complete(&backend, A);
    assert_true(tn_stream_reuse_poll(pool));
    assert_int_equal(entry->record_count, 0);
}

/* --- free after several ------------------------------------------------------------------------- */

static void after_no_stream_it_is_everybodys(void **state)
{
    fill_pool(8);
    free_after(pieces[1], NULL, 0);
    free_after(pieces[2], (tarn_stream[]){ A }, 0);
    expect_pending(0);
    assert_ptr_equal(alloc_on(16 * KIB, C), pieces[1]);
    expect_records_and_waits(0, 0);
}

static void after_one_stream_it_is_as_freed_on_it(void **state)
{
    fill_pool(8);
    free_after(pieces[1], (tarn_stream[]){ A }, 1);
    free_on(pieces[2], A);
    free_after(pieces[3], (tarn_stream[]){ A, A, A }, 3);
    assert_int_equal(stats_of(pool).free_region_count, 1);
    assert_ptr_equal(alloc_on(24 * KIB, A), pieces[1]);
    expect_no_calls();
}

static void after_several_each_waits_for_the_others(void **state)
{
    const tarn_stream all[] = { A, B, C, NULL, A };
    fill_pool(8);
    free_after(pieces[1], all, 5);
    expect_pending(8 * KIB);
    test_backend_take_calls(&backend);
    assert_ptr_equal(alloc_on(8 * KIB, B), pieces[1]);
    expect_records_and_waits(3, 3);

    free_after(pieces[1], all, 2);
    assert_ptr_equal(alloc_on(8 * KIB, STREAM(5)), pieces[1]);
    expect_records_and_waits(2, 2);
}

static void after_several_it_is_everybodys_when_all_are_complete(void **state)
{
    fill_pool(8);
    free_after(pieces[1], (tarn_stream[]){ A, B }, 2);
    free_after(pieces[3], (tarn_stream[]){ A, B }, 2);
    assert_ptr_equal(alloc_on(8 * KIB, C), pieces[1]);
    expect_records_and_waits(2, 2);
    test_backend_complete(&backend, A);
    assert_true(tn_stream_reuse_poll(pool));
    expect_pending(8 * KIB);
    /* B has its own at once now. */
    test_backend_take_calls(&backend);
    assert_ptr_equal(alloc_on(8 * KIB, B), pieces[3]);
    expect_no_calls();
    free_after(pieces[3], (tarn_stream[]){ A, B }, 2);
    test_backend_complete(&backend, B);
    tn_stream_reuse_poll(pool);
    expect_pending(8 * KIB);
}

static void in_an_undivided_pool_only_stream_and_no_stream_are_the_same(void **state)
{
    void *address = alloc_on(64 * KIB, A);
    test_backend_take_calls(&backend);
    free_after(address, (tarn_stream[]){ A, A }, 2);
    assert_ptr_equal(alloc_on(64 * KIB, A), address);
    free_after(address, NULL, 0);
    assert_ptr_equal(alloc_on(64 * KIB, A), address);
    expect_no_calls();
    assert_null(pool->streams);
    /* Two at once divide it, and both count. */
    free_after(address, (tarn_stream[]){ A, B }, 2);
    test_backend_take_calls(&backend);
    assert_ptr_equal(alloc_on(64 * KIB, A), address);
    expect_records_and_waits(1, 1);
    expect_last_wait(A, B);
}

static void null_streams_are_refused_but_for_none(void **state)
{
    void *address = alloc_on(8 * KIB, A);
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_pool_free_after(pool, address, NULL, 1));
    assert_int_equal(stats_of(pool).live_count, 1);
    expect_status(TARN_STATUS_INVALID_POOL, tarn_pool_free_after(NULL, address, NULL, 0));
    expect_status(TARN_STATUS_INVALID_POOL, tarn_pool_free_on(NULL, address, A));
    expect_status(TARN_STATUS_INVALID_POOL, tarn_pool_alloc_on(NULL, 1, A, &address));
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_pool_alloc_on(pool, 1, A, NULL));
    expect_status(TARN_STATUS_INVALID_ALIGNMENT,
                  tarn_pool_alloc_aligned_on(pool, 1, 3, A, &address));
}

/* --- what is refused ---------------------------------------------------------------------------- */

static void a_stream_of_another_device_is_refused(void **state)
{
    backend.foreign_stream = C;
    expect_refused_on(TARN_STATUS_INVALID_ARGUMENT, 8 * KIB, C);
    expect_message("no stream of the test backend's device, which pool ");
    void *address = alloc_on(8 * KIB, A);
    expect_refused_on(TARN_STATUS_INVALID_ARGUMENT, 8 * KIB, C);
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_pool_free_on(pool, address, C));
    expect_status(TARN_STATUS_INVALID_ARGUMENT,
                  tarn_pool_free_after(pool, address, (tarn_stream[]){ A, B, C }, 3));
    char which[64]; /* not the first of them */
    snprintf(which, sizeof which, "%p is no stream", C);
    expect_message(which);
    tarn_stats stats = stats_of(pool);
    assert_int_equal(stats.live_count, 1);
    assert_int_equal(stats.free_count, 0);
    assert_int_equal(stats.failed_count, 4);
    free_on(address, A);
}

static void bad_addresses_are_told_with_streams_too(void **state)
{
    void *of_other;
    tarn_pool *other = new_pool(&options);
    expect_ok(tarn_pool_alloc_on(other, 1, A, &of_other));
    char *address = alloc_on(8 * KIB, A);
    /* Known and not, and more than one. */
    const tarn_stream streams[] = { A, B, C };
    for (size_t count = 0; count <= 3; count++) {
        expect_status(TARN_STATUS_INTERIOR_ADDRESS,
                      tarn_pool_free_after(pool, address + 1, streams, count));
        expect_status(TARN_STATUS_INTERIOR_ADDRESS,
                      tarn_pool_free_after(pool, address + KIB, streams, count));
        expect_status(TARN_STATUS_NOT_LIVE,
                      tarn_pool_free_after(pool, address + 8 * KIB, streams, count));
        expect_status(TARN_STATUS_WRONG_POOL, tarn_pool_free_after(pool, of_other, streams, count));
        expect_status(TARN_STATUS_FOREIGN_ADDRESS,
                      tarn_pool_free_after(pool, stream_handles, streams, count));
    }
    assert_int_equal(stats_of(pool).failed_count, 20);
    free_on(address, A);
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_free_on(pool, address, A));
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_free_on(pool, address, STREAM(9)));
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_free(pool, address));
    expect_ok(tarn_pool_destroy_forced(other, NULL));
}

/* --- more streams than numbers --------------------------------------------------------------------- */

/* Each of so many streams frees 1 KiB, and its work goes on. */
static void free_on_each(unsigned stream_count)
{
    void *addresses[64];
    for (unsigned i = 0; i < stream_count; i++)
        addresses[i] = alloc_on(KIB, STREAM(i));
    for (unsigned i = 0; i < stream_count; i++)
        free_on(addresses[i], STREAM(i));
    assert_int_equal(stats_of(pool).pending_bytes, stream_count * KIB);
}

/* Work on so many streams goes on. */
#define MANY 60

/* One event is recorded for each stream that loses its number, and the host waits for none. */
static void more_streams_than_numbers_have_an_event_each(void **state)
{
    free_on_each(MANY);
    assert_in_range(backend.call_counts[TEST_CALL_EVENT_RECORD], MANY - 30, MANY - 28);
    assert_int_equal(backend.call_counts[TEST_CALL_STREAM_SYNCHRONIZE], 0);
    assert_int_equal(backend.call_counts[TEST_CALL_SYNCHRONIZE], 0);
}

static void memory_of_evicted_streams_is_waited_for(void **state)
{
    free_on_each(MANY);
    test_backend_take_calls(&backend);
    alloc_on(64 * KIB, STREAM(75));
    assert_int_equal(backend.call_counts[TEST_CALL_STREAM_WAIT_EVENT], MANY);
    assert_int_equal(backend.call_counts[TEST_CALL_SYNCHRONIZE], 0);
}

static void completed_work_of_evicted_streams_is_forgotten(void **state)
{
    free_on_each(MANY);
    for (int i = 0; i < MANY; i++)
        test_backend_complete(&backend, STREAM(i));
    test_backend_take_calls(&backend);
    alloc_on(64 * KIB, STREAM(75));
    assert_in_range(backend.call_counts[TEST_CALL_STREAM_WAIT_EVENT], 28, 30);
    assert_int_equal(pool->streams->evicted_count, 1); /* which made room for that stream */
}

/* The oldest that goes on holds up all memory of evicted streams, but of no others. */
static void a_long_running_evicted_stream_holds_up_its_memory(void **state)
{
    free_on_each(MANY);
    for (int i = 1; i < MANY; i++)
        test_backend_complete(&backend, STREAM(i));
    test_backend_take_calls(&backend);
    alloc_on(64 * KIB, STREAM(75));
    assert_int_equal(pool->streams->evicted_count,
                     2); /* and the one that made room for that stream */
    assert_in_range(backend.call_counts[TEST_CALL_STREAM_WAIT_EVENT], 29, 31);
}

/* Nothing ever completes, and the streams come again and again. */
static void streams_that_are_evicted_again_and_again_have_few_events(void **state)
{
    enum {
        STREAMS = 40
    };
    free_on_each(STREAMS);
    for (unsigned i = 0; i < 20 * STREAMS; i++)
        free_on(alloc_on(KIB, STREAM(i % STREAMS)), STREAM(i % STREAMS));
    assert_in_range(backend.event_count, STREAMS - 30,
                    STREAMS * TN_STREAM_RECORDS_MAX + TN_POOL_SPARE_EVENTS_MAX);
    assert_in_range(pool->streams->evicted_count, STREAMS - 30, STREAMS * TN_STREAM_RECORDS_MAX);
    for (unsigned i = 0; i < STREAMS; i++)
        test_backend_complete(&backend, STREAM(i));
    alloc_on(64 * KIB, A);
}

/* Then the vendor must not be called. Afterwards the events are recorded. */
static void a_stream_may_be_evicted_during_a_capture(void **state)
{
    tarn_capture capture = 0;
    expect_ok(tarn_capture_begin(pool, STREAM(79), &capture));
    test_backend_take_calls(&backend);
    free_on_each(MANY);
    assert_int_equal(backend.call_counts[TEST_CALL_EVENT_RECORD], 0);
    assert_int_equal(backend.call_counts[TEST_CALL_EVENT_QUERY], 0);
    assert_int_equal(backend.call_counts[TEST_CALL_SYNCHRONIZE], 0);
    assert_int_equal(backend.call_counts[TEST_CALL_STREAM_SYNCHRONIZE], 0);
    expect_ok(tarn_capture_end(pool, capture));
    expect_ok(tarn_capture_release(pool, capture, NULL, 0));
    alloc_on(64 * KIB, STREAM(75));
    assert_int_equal(backend.call_counts[TEST_CALL_STREAM_WAIT_EVENT], MANY);
}

/* Before a handle ends, an event is recorded, even if the stream was evicted when none could be. */
static void an_evicted_stream_may_end(void **state)
{
    tarn_capture capture = 0;
    expect_ok(tarn_capture_begin(pool, STREAM(79), &capture));
    free_on_each(MANY);
    expect_ok(tarn_capture_end(pool, capture));
    for (int i = 0; i < MANY; i++) {
        retire(STREAM(i));
        if (i < 16) test_backend_end_stream(&backend, STREAM(i));
    }
    expect_ok(tarn_capture_release(pool, capture, NULL, 0));
    alloc_on(64 * KIB, STREAM(75));
    assert_int_equal(backend.misuse_count, 0);
}

static void evict(tarn_stream stream)
{
    tarn_stream refused;
    tn_mutex_lock(&pool->growth_lock);
    for (unsigned i = 60; tn_stream_table_has_room(pool->streams); i++)
        (void)tn_stream_reuse_introduce(pool, &(tarn_stream){ STREAM(i) }, 1, &refused);
    uint32_t number = tn_stream_table_search(pool->streams, (struct tn_stream_name){ stream, 0 });
    uint32_t kept = ~((uint32_t)1 << number);
    assert_true(tn_stream_evict_make_room(pool, &kept));
    tn_mutex_unlock(&pool->growth_lock);
    assert_int_equal(pool->streams->streams[number].state, TN_STREAM_STATE_UNUSED);
}

/* A stream that has waited for evicted streams has not waited for those that are evicted later. */
static void later_evictions_are_waited_for_anew(void **state)
{
    free_on_each(MANY);
    free_on(alloc_on(64 * KIB, STREAM(75)), STREAM(75));
    char *first = alloc_on(8 * KIB, STREAM(75)), *second = alloc_on(8 * KIB, STREAM(75));
    char *rest = alloc_on(48 * KIB, STREAM(75));
    assert_ptr_equal(second, first + 8 * KIB);
    free_on(first, STREAM(58));
    evict(STREAM(58));
    free_on(second, STREAM(75));
    assert_ptr_equal(alloc_on(16 * KIB, STREAM(75)), first);
    free_on(rest, STREAM(57));
    evict(STREAM(57));
    test_backend_take_calls(&backend);
    assert_ptr_equal(alloc_on(48 * KIB, STREAM(75)), rest);
    assert_true(backend.call_counts[TEST_CALL_STREAM_WAIT_EVENT] > 0);
}

/* It was evicted when nothing could be recorded, and has come again since. Its handle must not be used any more. */
static void a_stream_that_has_come_again_ends(void **state)
{
    tarn_capture capture = 0;
    expect_ok(tarn_capture_begin(pool, STREAM(79), &capture));
    free_on_each(MANY);
    expect_ok(tarn_capture_end(pool, capture));
    backend.fail_call_at[TEST_CALL_EVENT_RECORD] = 1;
    backend.fail_call_count = 1000;
    free_on(alloc_on(KIB, STREAM(0)), STREAM(0));
    backend.fail_call_at[TEST_CALL_EVENT_RECORD] = 0;
    retire(STREAM(0));
    test_backend_end_stream(&backend, STREAM(0));
    expect_ok(tarn_capture_release(pool, capture, NULL, 0));
    alloc_on(64 * KIB, STREAM(75));
    assert_int_equal(backend.misuse_count, 0);
}

/* One call may name more streams than there are numbers. */
static void a_free_may_name_more_streams_than_numbers(void **state)
{
    tarn_stream streams[MANY];
    void *address = alloc_on(64 * KIB, A);
    for (int i = 0; i < MANY; i++)
        streams[i] = STREAM(i);
    free_after(address, streams, MANY);
    test_backend_take_calls(&backend);
    alloc_on(64 * KIB, STREAM(75));
    assert_int_equal(backend.call_counts[TEST_CALL_STREAM_WAIT_EVENT], MANY);
}

/* Without events the pool cannot tell when the work on an evicted stream is done. */
static void without_events_frees_on_many_streams_succeed(void **state)
{
    backend.operations.event_create = NULL;
    free_on_each(MANY);
    free_on(alloc_on(KIB, STREAM(MANY - 1)), STREAM(MANY - 1));
}

/* Captures have numbers until they are released. */
static void captures_may_have_all_numbers(void **state)
{
    tarn_capture captures[TN_STREAM_COUNT_MAX] = { 0 };
    tarn_status status = TARN_STATUS_OK;
    int count = 0;
    for (; count < TN_STREAM_COUNT_MAX && status == TARN_STATUS_OK;
         count += status == TARN_STATUS_OK) {
        status = tarn_capture_begin(pool, A, &captures[count]);
        if (status == TARN_STATUS_OK) expect_ok(tarn_capture_end(pool, captures[count]));
    }
    assert_int_equal(status, TARN_STATUS_OUT_OF_HOST_MEMORY);
    assert_in_range(count, 27, 29);
    while (count > 0)
        expect_ok(tarn_capture_release(pool, captures[--count], NULL, 0));
    free_on(alloc_on(KIB, B), B);
}

/* And is introduced again when it comes again. */
static void a_stream_of_which_nothing_is_left_makes_room(void **state)
{
    for (size_t i = 0; i < 40; i++)
        free_after(alloc_on(KIB, STREAM(i)), NULL, 0);
    alloc_on(KIB, STREAM(0));
    assert_int_equal(backend.call_counts[TEST_CALL_SYNCHRONIZE], 0);
}

/* --- the end of a stream ------------------------------------------------------------------------- */

static void retiring_an_unknown_stream_does_nothing(void **state)
{
    retire(A);
    retire(NULL);
    alloc_on(8 * KIB, A);
    test_backend_take_calls(&backend);
    retire(NULL);
    retire(B);
    expect_no_calls();
    assert_null(pool->streams);
    introduce(B);
    retire(NULL);
    retire(C);
    expect_no_calls();
}

/* A first stream that was refused all memory is known all the same. */
static void an_untouched_pool_forgets_its_stream(void **state)
{
    expect_refused_on(TARN_STATUS_OVER_LIMIT, 1000 * KIB, A);
    retire(A);
    assert_null(pool->streams);
    test_backend_end_stream(&backend, A);
    test_backend_begin_stream(&backend, A);
    backend.foreign_stream = A;
    expect_refused_on(TARN_STATUS_INVALID_ARGUMENT, KIB, A);
}

static void the_only_stream_retires_with_nothing_freed(void **state)
{
    void *address = alloc_on(8 * KIB, A);
    test_backend_take_calls(&backend);
    retire(A);
    expect_no_calls();
    test_backend_end_stream(&backend, A);
    /* The rest was never used. */
    alloc_on(8 * KIB, B);
    expect_records_and_waits(0, 0);
    free_on(address, B);
}

static void the_only_stream_retires_with_one_record(void **state)
{
    void *address = alloc_on(64 * KIB, A);
    free_on(address, A);
    test_backend_take_calls(&backend);
    retire(A);
    expect_records_and_waits(1, 0);
    test_backend_end_stream(&backend, A);
    assert_ptr_equal(alloc_on(64 * KIB, B), address);
    expect_records_and_waits(0, 1);
    expect_last_wait(B, A);
}

static void a_stream_retires_with_one_record_or_none(void **state)
{
    fill_pool(8);
    retire(A);
    test_backend_end_stream(&backend, A);
    expect_no_calls();
    free_on(pieces[1], B);
    free_on(pieces[3], B);
    retire(B);
    test_backend_end_stream(&backend, B);
    expect_records_and_waits(1, 0);
    retire(B);
    expect_no_calls();
    expect_pending(16 * KIB);
    assert_ptr_equal(alloc_on(8 * KIB, C), pieces[1]);
    expect_records_and_waits(0, 1);
    assert_ptr_equal(alloc_on(8 * KIB, C), pieces[3]);
    expect_no_calls();
}

static void the_same_handle_again_is_another_stream(void **state)
{
    fill_pool(8);
    free_on(pieces[1], A);
    free_on(pieces[3], A);
    retire(A);
    test_backend_take_calls(&backend);
    assert_ptr_equal(alloc_on(8 * KIB, A), pieces[1]);
    assert_int_equal(backend.call_counts[TEST_CALL_STREAM_CHECK], 1);
    expect_records_and_waits(0, 1);
    expect_last_wait(A, A);
    /* And what it frees is its own. */
    free_on(pieces[1], A);
    free_on(pieces[2], A);
    assert_ptr_equal(alloc_on(16 * KIB, A), pieces[1]);
    expect_records_and_waits(0, 0);
}

static void what_a_retired_stream_freed_is_everybodys_when_its_work_is_done(void **state)
{
    fill_pool(8);
    free_on(pieces[1], A);
    free_after(pieces[3], (tarn_stream[]){ A, B }, 2);
    retire(A);
    test_backend_end_stream(&backend, A);
    expect_records_and_waits(1, 0);
    test_backend_complete(&backend, A);
    assert_true(tn_stream_reuse_poll(pool));
    expect_pending(8 * KIB);
    test_backend_take_calls(&backend);
    assert_ptr_equal(alloc_on(8 * KIB, B), pieces[1]);
    assert_ptr_equal(alloc_on(8 * KIB, B), pieces[3]);
    expect_no_calls();
    /* Its number is another's. */
    assert_int_equal(tn_stream_table_find_unused(pool->streams), 0);
}

static void a_stream_on_which_nothing_depends_retires_without_a_record(void **state)
{
    fill_pool(8);
    free_on(pieces[1], A);
    assert_ptr_equal(alloc_on(8 * KIB, B), pieces[1]);
    /* A record is under way, and nothing that is free depends on it. */
    test_backend_take_calls(&backend);
    retire(A);
    expect_records_and_waits(0, 0);
    test_backend_complete(&backend, A);
    tn_stream_reuse_poll(pool);
    assert_int_equal(tn_stream_table_find_unused(pool->streams), 0);
}

/* What was freed on a stream long ago, and united with what another freed later, is later itself. */
static void a_retired_stream_covers_what_was_united_with_later_frees(void **state)
{
    fill_pool(1);
    free_on(pieces[10], A);
    free_on(pieces[11], A);
    retire(A);
    test_backend_end_stream(&backend, A);
    for (int i = 0; i < 10; i++) {
        free_on(pieces[20], B);
        assert_ptr_equal(alloc_on(KIB, C), pieces[20]);
    }
    free_on(pieces[12], B);
    test_backend_take_calls(&backend);
    assert_ptr_equal(alloc_on(3 * KIB, STREAM(5)), pieces[10]);
    expect_records_and_waits(1, 2);
}

static void a_stream_retires_with_all_records_under_way(void **state)
{
    fill_pool(1);
    for (int i = 0; i < 6; i++) {
        free_on(pieces[i], A);
        alloc_on(KIB, B);
    }
    free_on(pieces[9], A);
    retire(A);
    test_backend_end_stream(&backend, A);
    test_backend_take_calls(&backend);
    assert_ptr_equal(alloc_on(KIB, C), pieces[9]);
    expect_records_and_waits(0, 1);
    test_backend_complete(&backend, A);
    tn_stream_reuse_poll(pool);
    assert_int_equal(tn_stream_table_find_unused(pool->streams), 0);
}

static void all_pools_are_told(void **state)
{
    void *of_other, *address = alloc_on(64 * KIB, A);
    options.limit_bytes = 128 * KIB;
    tarn_pool *other = new_pool(&options);
    expect_ok(tarn_pool_alloc_on(other, 64 * KIB, A, &of_other));
    free_on(address, A);
    expect_ok(tarn_pool_free_on(other, of_other, A));
    test_backend_take_calls(&backend);
    /* Also when one of them cannot record. */
    backend.fail_call_at[TEST_CALL_EVENT_RECORD] = 1;
    expect_status(TARN_STATUS_VENDOR_ERROR, tarn_stream_retire(A));
    assert_int_equal(backend.call_counts[TEST_CALL_EVENT_RECORD], 2);
    test_backend_end_stream(&backend, A);
    size_t pending_bytes = stats_of(other).pending_bytes + stats_of(pool).pending_bytes;
    assert_int_equal(pending_bytes, 128 * KIB);
    test_backend_complete(&backend, A);
    tn_stream_reuse_poll(other);
    tn_stream_reuse_poll(pool);
    pending_bytes = stats_of(other).pending_bytes + stats_of(pool).pending_bytes;
    assert_int_equal(pending_bytes, 64 * KIB);
    expect_ok(tarn_pool_check(other));
    expect_ok(tarn_pool_destroy(other));
}

/* --- a stream that is lost ------------------------------------------------------------------------ */

/* Retires it without a record. */
static void lose(tarn_stream stream)
{
    backend.fail_call_at[TEST_CALL_EVENT_RECORD] = 1;
    expect_status(TARN_STATUS_VENDOR_ERROR, tarn_stream_retire(stream));
    expect_ok(tarn_pool_check(pool));
    test_backend_end_stream(&backend, stream);
    test_backend_take_calls(&backend);
}

static void what_is_lost_is_not_handed_out(void **state)
{
    fill_pool(8);
    free_on(pieces[1], A);
    free_after(pieces[3], (tarn_stream[]){ A, B }, 2);
    lose(A);
    expect_pending(16 * KIB);
    expect_refused_on(TARN_STATUS_OVER_LIMIT, 8 * KIB, B);
    expect_refused_on(TARN_STATUS_OVER_LIMIT, 8 * KIB, C);
    /* The same handle is another stream, which has waited for nothing either. */
    test_backend_begin_stream(&backend, A);
    expect_refused_on(TARN_STATUS_OVER_LIMIT, 8 * KIB, A);
    expect_records_and_waits(0, 0);
    test_backend_complete(&backend, A);
    expect_refused_on(TARN_STATUS_OVER_LIMIT, 8 * KIB, A);
}

static void whoever_had_waited_gets_what_is_lost_to_others(void **state)
{
    fill_pool(8);
    free_on(pieces[1], A);
    free_on(pieces[3], A);
    assert_ptr_equal(alloc_on(8 * KIB, B), pieces[1]);
    lose(A);
    expect_refused_on(TARN_STATUS_OVER_LIMIT, 8 * KIB, C);
    assert_ptr_equal(alloc_on(8 * KIB, B), pieces[3]);
}

/* What touches something lost must not be lost with it. */
static void what_is_lost_is_united_with_nothing(void **state)
{
    fill_pool(8);
    free_on(pieces[1], A);
    free_on(pieces[2], B);
    free_on(pieces[4], B);
    free_on(pieces[5], C);
    free_after(pieces[6], NULL, 0);
    lose(A);
    assert_ptr_equal(alloc_on(16 * KIB, STREAM(5)), pieces[4]);
    expect_records_and_waits(2, 2);
    expect_refused_on(TARN_STATUS_OVER_LIMIT, 16 * KIB, C);
    assert_ptr_equal(alloc_on(8 * KIB, C), pieces[6]);
    assert_ptr_equal(alloc_on(8 * KIB, C), pieces[2]);
}

static void what_is_lost_goes_back_with_its_static_pool(void **state)
{
    void *address = alloc_on(40 * KIB, A);
    free_on(address, A);
    introduce(B);
    lose(A);
    assert_int_equal(trim(0), 64 * KIB);
    expect_pending(0);
    alloc_on(64 * KIB, B);
    expect_records_and_waits(0, 0);
}

/* --- pending memory goes back --------------------------------------------------------------------- */

static void pending_static_pools_are_trimmed_and_destroyed(void **state)
{
    fill_pool(8);
    for (int i = 0; i < 8; i++)
        free_after(pieces[i], (tarn_stream[]){ A, B, C }, (size_t)i % 4);
    expect_pending(48 * KIB);
    assert_int_equal(trim(0), 64 * KIB);
    expect_pending(0);
    expect_ok(tarn_pool_check(pool));
    free_on(alloc_on(64 * KIB, C), C);
    expect_pending(64 * KIB);
    test_backend_take_calls(&backend);
    destroy_empty();
    assert_int_equal(backend.piece_count, 0);
    assert_int_equal(backend.event_count, 0);
    create();
}

/* A pool over the host's backend gives memory back under work that has not run: the copies that read
 * it must have run by then. */
static void memory_goes_back_after_the_work_on_it(void **state)
{
    destroy();
    enum {
        SIZE = 4096
    };
    for (int way = 0; way < 3; way++) {
        tarn_stream a, b;
        static unsigned char copied[SIZE];
        tarn_backend host = new_host_backend(NULL);
        options.backend = &host;
        options.initial_bytes = 64 * KIB;
        options.limit_bytes = 68 * KIB;
        create();
        const tarn_backend_operations *operations = host.operations;
        expect_done(host, stream_create, &a);
        expect_done(host, stream_create, &b);
        memset(copied, 0, SIZE);

        void *address, *other;
        address = alloc_on(SIZE, a);
        operations->fill(host.state, address, 42, SIZE, a);
        operations->copy(host.state, copied, address, SIZE, a);
        free_on(address, a);
        other = alloc_on(SIZE, b);
        free_on(other, b);
        assert_int_equal(copied[SIZE - 1], 0);
        if (way == 0) {
            trim(0);
            assert_int_equal(copied[SIZE - 1], 42);
        }
        /* More than it has, so the pool gives back what is free, to make room under its limit. */
        if (way == 1) {
            other = alloc_on(66 * KIB, b);
            assert_int_equal(copied[SIZE - 1], 42);
            free_on(other, b);
        }
        destroy();
        assert_int_equal(copied[SIZE - 1], 42);
        expect_done(host, stream_destroy, a);
        expect_done(host, stream_destroy, b);
        tarn_backend_close(&host);
    }
}

/* --- time ------------------------------------------------------------------------------------------ */

/* As if so many records had been made that few more have a time. */
static void age(uint32_t records_left)
{
    pool->streams->now = TN_STREAM_TIME_MAX - records_left;
}

static void times_begin_anew(void **state)
{
    for (uint32_t left = 0; left < 4; left++) {
        create_anew();
        fill_pool(1);
        age(left);
        for (unsigned i = 0; i < 12; i++) {
            free_on(pieces[4 * i], A);
            free_on(pieces[4 * i + 2], B);
            assert_ptr_equal(alloc_on(KIB, C), pieces[4 * i]);
            assert_ptr_equal(alloc_on(KIB, C), pieces[4 * i + 2]);
            expect_records_and_waits(2, 2);
        }
        assert_in_range(pool->streams->now, 1, 100);
        free_on(pieces[1], A);
        test_backend_complete(&backend, A);
        tn_stream_reuse_poll(pool);
        expect_pending(KIB);
    }
}

/* Nobody has waited for anything when they do, and what was freed before is still waited for. */
static void what_was_freed_before_times_begin_anew_is_still_waited_for(void **state)
{
    fill_pool(1);
    age(1);
    for (int i = 0; i < 10; i += 2) {
        free_on(pieces[i], A);
        free_on(pieces[i + 20], B);
    }
    assert_ptr_equal(alloc_on(KIB, C), pieces[0]);
    expect_records_and_waits(1, 1);
    /* B's record begins anew. C must wait for A once more, or for a record of it. */
    assert_ptr_equal(alloc_on(KIB, C), pieces[2]);
    assert_ptr_equal(alloc_on(KIB, C), pieces[4]);
    assert_ptr_equal(alloc_on(KIB, C), pieces[6]);
    assert_ptr_equal(alloc_on(KIB, C), pieces[8]);
    expect_no_calls();
    assert_ptr_equal(alloc_on(KIB, C), pieces[20]);
    expect_records_and_waits(1, 1);
    assert_int_equal(pool->streams->now, 2);
    free_on(pieces[10], A);
    assert_ptr_equal(alloc_on(KIB, C), pieces[22]);
    expect_no_calls();
    assert_ptr_equal(alloc_on(KIB, STREAM(5)), pieces[10]);
    expect_records_and_waits(1, 1);
}

static void a_retired_stream_outlives_its_time(void **state)
{
    fill_pool(1);
    for (int i = 10; i < 12; i++) {
        free_on(pieces[i], A);
        free_on(pieces[i + 10], A);
    }
    free_on(pieces[30], A);
    free_on(pieces[31], A);
    age(1);
    retire(A);
    test_backend_end_stream(&backend, A);
    expect_records_and_waits(1, 0);
    assert_ptr_equal(alloc_on(2 * KIB, C), pieces[10]);
    expect_records_and_waits(0, 1);
    assert_int_equal(pool->streams->now, TN_STREAM_TIME_MAX);
    /* It fits better than what A had. */
    free_on(pieces[5], B);
    assert_ptr_equal(alloc_on(KIB, STREAM(5)), pieces[5]);
    assert_int_equal(pool->streams->now, 2);
    test_backend_take_calls(&backend);
    assert_ptr_equal(alloc_on(2 * KIB, STREAM(5)), pieces[20]);
    expect_records_and_waits(0, 1);
    expect_last_wait(STREAM(5), A);
    expect_pending(2 * KIB);
    test_backend_complete(&backend, A);
    tn_stream_reuse_poll(pool);
    expect_pending(0);
    assert_int_equal(tn_stream_table_find_unused(pool->streams), 0);
}

/* What is put back when the vendor fails belongs to the time that has begun meanwhile. */
static void a_failure_as_times_begin_anew_leaves_nothing_in_the_future(void **state)
{
    fill_pool(8);
    age(0);
    free_on(pieces[1], A);
    /* Twice, since the pool tries again when it cannot grow. */
    backend.fail_call_at[TEST_CALL_STREAM_WAIT_EVENT] = 1;
    backend.fail_call_count = 2;
    expect_refused_on(TARN_STATUS_OVER_LIMIT, 8 * KIB, C);
    assert_in_range(pool->streams->now, 1, 2);
    test_backend_complete(&backend, A);
    assert_true(tn_stream_reuse_poll(pool));
    expect_pending(0);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up_that_cannot_grow, tear_down)
    static const struct CMUnitTest tests[] = {
        TEST(on_the_default_stream_alone_there_are_no_calls),
        TEST(the_first_stream_takes_the_place_of_the_default_one),
        TEST(a_default_stream_that_was_used_stays),
        TEST(zero_bytes_and_null_introduce_nobody),
        TEST(what_was_freed_before_the_second_stream_was_freed_on_the_first),
        TEST(what_was_never_handed_out_waits_for_nobody),
        TEST(what_a_pool_grows_by_waits_for_nobody),
        TEST(a_stream_has_its_own_at_once),
        TEST(what_needs_no_wait_goes_before_what_fits_better),
        TEST(regions_of_two_streams_stay_apart_until_nothing_else_fits),
        TEST(what_is_united_waits_for_all_its_parts),
        TEST(what_is_united_with_its_own_waits_for_the_other),
        TEST(as_much_is_united_as_a_chunks_alignment_needs),
        TEST(what_is_united_is_aligned),
        TEST(one_record_and_one_wait_serve_for_all_earlier_frees),
        TEST(another_stream_waits_for_the_same_record),
        TEST(what_is_complete_is_everybodys),
        TEST(a_query_that_fails_says_nothing),
        TEST(polling_asks_for_the_oldest_first_and_stops),
        TEST(events_are_used_again),
        TEST(no_more_events_are_kept_than_there_is_room_for),
        TEST(with_all_records_under_way_the_newest_is_made_anew),
        TEST(after_no_stream_it_is_everybodys),
        TEST(after_one_stream_it_is_as_freed_on_it),
        TEST(after_several_each_waits_for_the_others),
        TEST(after_several_it_is_everybodys_when_all_are_complete),
        TEST(in_an_undivided_pool_only_stream_and_no_stream_are_the_same),
        TEST(null_streams_are_refused_but_for_none),
        TEST(a_stream_of_another_device_is_refused),
        TEST(bad_addresses_are_told_with_streams_too),
        TEST(more_streams_than_numbers_have_an_event_each),
        TEST(memory_of_evicted_streams_is_waited_for),
        TEST(completed_work_of_evicted_streams_is_forgotten),
        TEST(a_long_running_evicted_stream_holds_up_its_memory),
        TEST(streams_that_are_evicted_again_and_again_have_few_events),
        TEST(a_stream_may_be_evicted_during_a_capture),
        TEST(an_evicted_stream_may_end),
        TEST(later_evictions_are_waited_for_anew),
        TEST(a_stream_that_has_come_again_ends),
        TEST(a_free_may_name_more_streams_than_numbers),
        TEST(without_events_frees_on_many_streams_succeed),
        TEST(captures_may_have_all_numbers),
        TEST(a_stream_of_which_nothing_is_left_makes_room),
        TEST(retiring_an_unknown_stream_does_nothing),
        TEST(an_untouched_pool_forgets_its_stream),
        TEST(the_only_stream_retires_with_nothing_freed),
        TEST(the_only_stream_retires_with_one_record),
        TEST(a_stream_retires_with_one_record_or_none),
        TEST(the_same_handle_again_is_another_stream),
        TEST(what_a_retired_stream_freed_is_everybodys_when_its_work_is_done),
        TEST(a_stream_on_which_nothing_depends_retires_without_a_record),
        TEST(a_retired_stream_covers_what_was_united_with_later_frees),
        TEST(a_stream_retires_with_all_records_under_way),
        TEST(all_pools_are_told),
        TEST(what_is_lost_is_not_handed_out),
        TEST(whoever_had_waited_gets_what_is_lost_to_others),
        TEST(what_is_lost_is_united_with_nothing),
        TEST(what_is_lost_goes_back_with_its_static_pool),
        TEST(pending_static_pools_are_trimmed_and_destroyed),
        TEST(memory_goes_back_after_the_work_on_it),
        TEST(times_begin_anew),
        TEST(what_was_freed_before_times_begin_anew_is_still_waited_for),
        TEST(a_retired_stream_outlives_its_time),
        TEST(a_failure_as_times_begin_anew_leaves_nothing_in_the_future),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
