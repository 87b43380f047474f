/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_stream_reuse: who gets what others have freed, and which calls that takes. Over a backend whose
 * work is done when the test says so, and, where data is to tell, over the host's.
 */
#include "core/supply/stream_reuse.h"

#include "harness/claims.h"
#include "harness/test_backend.h"
#include "tarn/debug.h"
#include "tarn/host.h"

#define KIB ((size_t)1024)

/* Handles are never followed. */
static char handles[40];
#define STREAM(number) ((tarn_stream)&handles[number])
#define A              STREAM(0)
#define B              STREAM(1)
#define C              STREAM(2)

struct fixture {
    struct test_backend backend;
    tarn_backend opened;
    tarn_pool_options options;
    tarn_pool *pool;
};

/* A pool of 64 KiB that cannot grow. */
static int set_up(void **state)
{
    static struct fixture fixture;
    test_backend_init(&fixture.backend);
    fixture.backend.has_streams = true;
    fixture.opened = test_backend_open(&fixture.backend);
    fixture.options = (tarn_pool_options)TARN_POOL_OPTIONS_INIT;
    fixture.options.backend = &fixture.opened;
    fixture.options.initial_bytes = 64 * KIB;
    fixture.options.limit_bytes = 64 * KIB;
    expect_ok(tarn_pool_create(&fixture.options, &fixture.pool));
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    expect_ok(tarn_pool_check(fixture->pool));
    expect_ok(tarn_pool_destroy_forced(fixture->pool, NULL));
    assert_int_equal(fixture->backend.piece_count, 0);
    assert_int_equal(fixture->backend.event_count, 0);
    assert_int_equal(fixture->backend.misuse_count, 0);
    return 0;
}

/* Once more, with other options or a backend that lacks something. */
static void create_anew(struct fixture *fixture)
{
    expect_ok(tarn_pool_destroy_forced(fixture->pool, NULL));
    expect_ok(tarn_pool_create(&fixture->options, &fixture->pool));
    test_backend_take_calls(&fixture->backend);
}

static void *alloc(struct fixture *fixture, size_t size_kib, tarn_stream stream)
{
    void *address;
    expect_ok(tarn_pool_alloc_on(fixture->pool, size_kib * KIB, stream, &address));
    expect_ok(tarn_pool_check(fixture->pool));
    return address;
}

static void free_on(struct fixture *fixture, void *address, tarn_stream stream)
{
    expect_ok(tarn_pool_free_on(fixture->pool, address, stream));
    expect_ok(tarn_pool_check(fixture->pool));
}

static void free_after(struct fixture *fixture, void *address, const tarn_stream *streams,
                       size_t stream_count)
{
    expect_ok(tarn_pool_free_after(fixture->pool, address, streams, stream_count));
    expect_ok(tarn_pool_check(fixture->pool));
}

static void retire(struct fixture *fixture, tarn_stream stream)
{
    expect_ok(tarn_stream_retire(stream));
    expect_ok(tarn_pool_check(fixture->pool));
}

/* Makes the stream known, and leaves nothing behind. */
static void introduce(struct fixture *fixture, tarn_stream stream)
{
    free_on(fixture, alloc(fixture, 1, stream), stream);
    test_backend_take_calls(&fixture->backend);
}

/* The whole static pool, in pieces of so many KiB. Afterwards the pool knows A and B, and nothing that
 * is free was ever freed. */
static void fill_pool(struct fixture *fixture, size_t piece_kib, void **pieces)
{
    for (size_t i = 0; i < 64 / piece_kib; i++)
        pieces[i] = alloc(fixture, piece_kib, i == 0 ? A : B);
    test_backend_take_calls(&fixture->backend);
}

static void expect_refused(struct fixture *fixture, tarn_status status, size_t size_kib,
                           tarn_stream stream)
{
    void *address = fixture;
    expect_status(status, tarn_pool_alloc_on(fixture->pool, size_kib * KIB, stream, &address));
    assert_ptr_equal(address, fixture);
    expect_ok(tarn_pool_check(fixture->pool));
}

/* --- calls since the last time ------------------------------------------------------------------ */

static void expect_no_calls(struct fixture *fixture)
{
    assert_int_equal(test_backend_take_calls(&fixture->backend), 0);
}

/* Besides queries, and waits. */
static void expect_records_and_waits(struct fixture *fixture, unsigned record_count,
                                     unsigned wait_count)
{
    const unsigned *counts = fixture->backend.call_counts;
    assert_int_equal(counts[TEST_CALL_EVENT_RECORD], record_count);
    assert_int_equal(counts[TEST_CALL_STREAM_WAIT_EVENT], wait_count);
    assert_int_equal(counts[TEST_CALL_STREAM_SYNCHRONIZE], 0);
    test_backend_take_calls(&fixture->backend);
}

static void expect_last_wait(const struct fixture *fixture, tarn_stream stream, tarn_stream awaited)
{
    const struct test_backend *backend = &fixture->backend;
    assert_in_range(backend->wait_count, 1, TEST_BACKEND_WAITS_MAX);
    assert_ptr_equal(backend->waits[backend->wait_count - 1].stream, stream);
    assert_ptr_equal(backend->waits[backend->wait_count - 1].awaited, awaited);
}

static void expect_pending(const struct fixture *fixture, size_t pending_kib)
{
    assert_int_equal(stats_of(fixture->pool).pending_bytes, pending_kib * KIB);
}

/* --- one stream --------------------------------------------------------------------------------- */

static void on_the_default_stream_alone_there_are_no_calls(void **state)
{
    struct fixture *fixture = *state;
    void *address;
    for (int i = 0; i < 100; i++) {
        expect_ok(tarn_pool_alloc(fixture->pool, 1000, &address));
        expect_ok(i % 2 ? tarn_pool_free(fixture->pool, address)
                        : tarn_pool_free_on(fixture->pool, address, NULL));
    }
    assert_null(fixture->pool->streams);
    expect_pending(fixture, 0);
    expect_no_calls(fixture);
}

static void the_first_stream_takes_the_place_of_the_default_one(void **state)
{
    struct fixture *fixture = *state;
    void *address = alloc(fixture, 40, A);
    assert_int_equal(fixture->backend.call_counts[TEST_CALL_STREAM_CHECK], 1);
    test_backend_take_calls(&fixture->backend);
    for (int i = 0; i < 100; i++) {
        free_on(fixture, address, A);
        assert_ptr_equal(alloc(fixture, 40, A), address);
    }
    assert_null(fixture->pool->streams);
    expect_no_calls(fixture);
    expect_pending(fixture, 0);

    /* The default stream is a second one now. */
    free_on(fixture, address, A);
    void *other;
    expect_ok(tarn_pool_alloc(fixture->pool, 40 * KIB, &other));
    assert_ptr_equal(other, address);
    assert_non_null(fixture->pool->streams);
    expect_records_and_waits(fixture, 1, 1);
    expect_last_wait(fixture, NULL, A);
}

static void a_default_stream_that_was_used_stays(void **state)
{
    struct fixture *fixture = *state;
    void *address;
    expect_ok(tarn_pool_alloc(fixture->pool, 40 * KIB, &address));
    expect_ok(tarn_pool_free(fixture->pool, address));
    assert_ptr_equal(alloc(fixture, 64, A), address);
    expect_records_and_waits(fixture, 1, 1);
    expect_last_wait(fixture, A, NULL);
}

static void zero_bytes_and_null_introduce_nobody(void **state)
{
    struct fixture *fixture = *state;
    void *address = fixture;
    expect_ok(tarn_pool_alloc_on(fixture->pool, 0, A, &address));
    assert_null(address);
    expect_ok(tarn_pool_free_on(fixture->pool, NULL, B));
    expect_ok(tarn_pool_free_after(fixture->pool, NULL, (tarn_stream[]){ A, B, C }, 3));
    expect_no_calls(fixture);
    assert_null(fixture->pool->streams);
    assert_int_equal(stats_of(fixture->pool).alloc_count, 1);
    assert_int_equal(stats_of(fixture->pool).free_count, 2);
    /* Not even the first. */
    expect_ok(tarn_pool_alloc(fixture->pool, 1, &address));
    expect_no_calls(fixture);
}

/* --- division ----------------------------------------------------------------------------------- */

static void what_was_freed_before_the_second_stream_was_freed_on_the_first(void **state)
{
    struct fixture *fixture = *state;
    void *kept = alloc(fixture, 4, A), *freed = alloc(fixture, 60, A);
    free_on(fixture, freed, A);
    test_backend_take_calls(&fixture->backend);
    assert_ptr_equal(alloc(fixture, 60, B), freed);
    expect_records_and_waits(fixture, 1, 1);
    expect_last_wait(fixture, B, A);
    /* And what is freed after it, whoever allocated it, where it is freed. */
    free_on(fixture, kept, B);
    expect_pending(fixture, 4);
    assert_ptr_equal(alloc(fixture, 4, B), kept);
    expect_no_calls(fixture);
}

static void what_was_never_handed_out_waits_for_nobody(void **state)
{
    struct fixture *fixture = *state;
    alloc(fixture, 8, A);
    test_backend_take_calls(&fixture->backend);
    alloc(fixture, 8, B);
    alloc(fixture, 8, C);
    expect_records_and_waits(fixture, 0, 0);
    expect_pending(fixture, 0);
}

static void what_a_pool_grows_by_waits_for_nobody(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.limit_bytes = 0;
    create_anew(fixture);
    free_on(fixture, alloc(fixture, 8, A), A);
    free_on(fixture, alloc(fixture, 8, B), B);
    test_backend_take_calls(&fixture->backend);
    alloc(fixture, 100, C);
    alloc(fixture, 100, B);
    expect_records_and_waits(fixture, 0, 0);
}

/* --- without waiting ---------------------------------------------------------------------------- */

static void a_stream_has_its_own_at_once(void **state)
{
    struct fixture *fixture = *state;
    void *pieces[8];
    fill_pool(fixture, 8, pieces);
    for (int i = 0; i < 100; i++) {
        tarn_stream stream = i % 2 ? A : B;
        void **piece = &pieces[i % 2 ? 3 : 5];
        free_on(fixture, *piece, stream);
        expect_pending(fixture, 8);
        assert_ptr_equal(alloc(fixture, 8, stream), *piece);
    }
    expect_no_calls(fixture);
}

static void what_needs_no_wait_goes_before_what_fits_better(void **state)
{
    struct fixture *fixture = *state;
    void *of_a = alloc(fixture, 8, A), *between = alloc(fixture, 1, B);
    void *of_b = alloc(fixture, 16, B);
    alloc(fixture, 1, B);
    free_on(fixture, of_a, A);
    free_on(fixture, of_b, B);
    test_backend_take_calls(&fixture->backend);
    assert_ptr_equal(alloc(fixture, 8, B), of_b);
    /* Of both kinds that need none, the better: the rest of its own, not the 38 KiB of nobody. */
    assert_ptr_equal(alloc(fixture, 8, B), (char *)of_b + 8 * KIB);
    expect_no_calls(fixture);
    /* A has its own for itself. */
    assert_ptr_equal(alloc(fixture, 8, A), of_a);
    expect_no_calls(fixture);
    free_on(fixture, between, A);
}

static void regions_of_two_streams_stay_apart_until_nothing_else_fits(void **state)
{
    struct fixture *fixture = *state;
    void *pieces[8];
    fill_pool(fixture, 8, pieces);
    free_on(fixture, pieces[2], A);
    free_on(fixture, pieces[3], B);
    assert_int_equal(stats_of(fixture->pool).free_region_count, 2);
    assert_int_equal(stats_of(fixture->pool).largest_free_bytes, 8 * KIB);
    expect_pending(fixture, 16);
    expect_no_calls(fixture);
    free_on(fixture, pieces[4], A);
    free_on(fixture, pieces[1], A);
    assert_int_equal(stats_of(fixture->pool).free_region_count, 3);
    assert_int_equal(stats_of(fixture->pool).largest_free_bytes, 16 * KIB);
}

static void what_is_united_waits_for_all_its_parts(void **state)
{
    struct fixture *fixture = *state;
    void *pieces[8];
    fill_pool(fixture, 8, pieces);
    free_on(fixture, pieces[2], A);
    free_on(fixture, pieces[3], B);
    expect_no_calls(fixture);
    assert_ptr_equal(alloc(fixture, 16, C), pieces[2]);
    expect_records_and_waits(fixture, 2, 2);
    assert_int_equal(fixture->backend.wait_count, 2);
    assert_ptr_equal(fixture->backend.waits[0].stream, C);
    assert_ptr_equal(fixture->backend.waits[0].awaited, A);
    assert_ptr_equal(fixture->backend.waits[1].stream, C);
    assert_ptr_equal(fixture->backend.waits[1].awaited, B);
}

static void what_is_united_with_its_own_waits_for_the_other(void **state)
{
    struct fixture *fixture = *state;
    void *pieces[8];
    fill_pool(fixture, 8, pieces);
    free_on(fixture, pieces[2], A);
    free_on(fixture, pieces[3], B);
    free_after(fixture, pieces[4], NULL, 0);
    assert_ptr_equal(alloc(fixture, 24, A), pieces[2]);
    expect_records_and_waits(fixture, 1, 1);
    expect_last_wait(fixture, A, B);
}

/* Chunks are aligned to their own size, so no more is needed than without. */
static void as_much_is_united_as_a_chunks_alignment_needs(void **state)
{
    struct fixture *fixture = *state;
    void *pieces[8], *address;
    fill_pool(fixture, 8, pieces);
    free_on(fixture, pieces[2], A);
    free_on(fixture, pieces[3], B);
    expect_ok(tarn_pool_alloc_aligned_on(fixture->pool, 16 * KIB, KIB, C, &address));
    assert_ptr_equal(address, pieces[2]);
}

static void what_is_united_is_aligned(void **state)
{
    struct fixture *fixture = *state;
    void *pieces[16], *address;
    fill_pool(fixture, 4, pieces);
    for (int i = 1; i < 8; i++)
        free_on(fixture, pieces[i], i % 2 ? A : B);
    expect_ok(tarn_pool_alloc_aligned_on(fixture->pool, 8 * KIB, 16 * KIB, C, &address));
    assert_int_equal((uintptr_t)address % (16 * KIB), 0);
    expect_ok(tarn_pool_check(fixture->pool));
}

/* --- with waiting ------------------------------------------------------------------------------- */

static void one_record_and_one_wait_serve_for_all_earlier_frees(void **state)
{
    struct fixture *fixture = *state;
    void *pieces[8];
    fill_pool(fixture, 8, pieces);
    free_on(fixture, pieces[1], A);
    free_on(fixture, pieces[3], A);
    free_on(fixture, pieces[5], A);
    expect_no_calls(fixture);
    assert_ptr_equal(alloc(fixture, 8, B), pieces[1]);
    expect_records_and_waits(fixture, 1, 1);
    assert_ptr_equal(alloc(fixture, 8, B), pieces[3]);
    assert_ptr_equal(alloc(fixture, 8, B), pieces[5]);
    expect_no_calls(fixture);

    /* A free after the record is not covered. */
    free_on(fixture, pieces[7], A);
    assert_ptr_equal(alloc(fixture, 8, B), pieces[7]);
    expect_records_and_waits(fixture, 1, 1);
    assert_int_equal(fixture->backend.wait_count, 2);
}

static void another_stream_waits_for_the_same_record(void **state)
{
    struct fixture *fixture = *state;
    void *pieces[8];
    fill_pool(fixture, 8, pieces);
    free_on(fixture, pieces[1], A);
    free_on(fixture, pieces[3], A);
    alloc(fixture, 8, B);
    expect_records_and_waits(fixture, 1, 1);
    assert_ptr_equal(alloc(fixture, 8, C), pieces[3]);
    expect_records_and_waits(fixture, 0, 1);
    expect_last_wait(fixture, C, A);
}

static void what_is_complete_is_everybodys(void **state)
{
    struct fixture *fixture = *state;
    void *pieces[8];
    fill_pool(fixture, 8, pieces);
    free_on(fixture, pieces[1], A);
    free_on(fixture, pieces[3], A);
    assert_ptr_equal(alloc(fixture, 8, B), pieces[1]);
    free_on(fixture, pieces[5], A);
    expect_pending(fixture, 16);
    test_backend_complete(&fixture->backend, A);
    test_backend_take_calls(&fixture->backend);

    /* C has waited for nobody. What was freed after the record is not complete. */
    assert_ptr_equal(alloc(fixture, 8, C), pieces[3]);
    expect_records_and_waits(fixture, 0, 0);
    expect_pending(fixture, 8);
    assert_ptr_equal(alloc(fixture, 8, C), pieces[5]);
    expect_records_and_waits(fixture, 1, 1);
    expect_pending(fixture, 0);
}

static void a_query_that_fails_says_nothing(void **state)
{
    struct fixture *fixture = *state;
    void *pieces[8];
    fill_pool(fixture, 8, pieces);
    free_on(fixture, pieces[1], A);
    free_on(fixture, pieces[3], A);
    alloc(fixture, 8, B);
    test_backend_take_calls(&fixture->backend);
    for (int i = 0; i < 2; i++) {
        fixture->backend.fail_call_at[TEST_CALL_EVENT_QUERY] = 1;
        fixture->backend.call_failure = i ? TARN_STATUS_VENDOR_ERROR : TARN_STATUS_OUT_OF_MEMORY;
        assert_false(tn_stream_reuse_poll(fixture->pool));
        expect_pending(fixture, 8);
    }
    assert_ptr_equal(alloc(fixture, 8, C), pieces[3]);
    expect_records_and_waits(fixture, 0, 1);
}

static void polling_asks_for_the_oldest_first_and_stops(void **state)
{
    struct fixture *fixture = *state;
    void *pieces[8];
    fill_pool(fixture, 8, pieces);
    assert_false(tn_stream_reuse_poll(fixture->pool));
    expect_no_calls(fixture);
    for (int i = 1; i < 4; i++) {
        free_on(fixture, pieces[i], A);
        alloc(fixture, 8, B);
    }
    test_backend_take_calls(&fixture->backend);
    assert_false(tn_stream_reuse_poll(fixture->pool));
    assert_int_equal(test_backend_take_calls(&fixture->backend), 1);
    test_backend_complete(&fixture->backend, A);
    assert_true(tn_stream_reuse_poll(fixture->pool));
    assert_int_equal(test_backend_take_calls(&fixture->backend), 3);
    assert_false(tn_stream_reuse_poll(fixture->pool));
    expect_no_calls(fixture);
}

static void events_are_used_again(void **state)
{
    struct fixture *fixture = *state;
    void *pieces[8];
    fill_pool(fixture, 8, pieces);
    for (int i = 0; i < 1000; i++) {
        free_on(fixture, pieces[1], i % 2 ? A : B);
        assert_ptr_equal(alloc(fixture, 8, i % 2 ? B : A), pieces[1]);
        test_backend_complete(&fixture->backend, A);
        test_backend_complete(&fixture->backend, B);
    }
    assert_int_equal(fixture->backend.call_counts[TEST_CALL_EVENT_RECORD], 1000);
    assert_in_range(fixture->backend.call_counts[TEST_CALL_EVENT_CREATE], 1, 2);
    assert_int_equal(fixture->backend.call_counts[TEST_CALL_EVENT_DESTROY], 0);
}

static void no_more_events_are_kept_than_there_is_room_for(void **state)
{
    struct fixture *fixture = *state;
    void *pieces[64], *again[64];
    fill_pool(fixture, 1, pieces);
    /* Four records on each of seven streams. */
    for (int i = 0; i < 28; i++) {
        free_on(fixture, pieces[i], STREAM(2 + i % 7));
        again[i] = alloc(fixture, 1, B);
        assert_ptr_equal(again[i], pieces[i]);
    }
    assert_int_equal(fixture->backend.event_count, 28);
    for (int i = 2; i < 9; i++)
        test_backend_complete(&fixture->backend, STREAM(i));
    assert_true(tn_stream_reuse_poll(fixture->pool));
    assert_int_equal(fixture->backend.event_count, TN_POOL_SPARE_EVENTS_MAX);
}

static void with_all_records_under_way_the_newest_is_made_anew(void **state)
{
    struct fixture *fixture = *state;
    void *pieces[64];
    fill_pool(fixture, 1, pieces);
    for (int i = 0; i < 40; i++) {
        free_on(fixture, pieces[i], A);
        assert_ptr_equal(alloc(fixture, 1, B), pieces[i]);
        expect_records_and_waits(fixture, 1, 1);
    }
    assert_int_equal(fixture->backend.event_count, TN_STREAM_RECORDS_MAX);
    /* The oldest three are those of the first three, the newest covers the last. */
    const struct tn_stream_entry *entry = &fixture->pool->streams->streams[tn_stream_table_search(
        fixture->pool->streams, (struct tn_stream_name){ A, 0 })];
    assert_int_equal(entry->record_count, TN_STREAM_RECORDS_MAX);
    for (unsigned i = 1; i < TN_STREAM_RECORDS_MAX; i++)
        assert_true(entry->records[i].time > entry->records[i - 1].time);
    assert_int_equal(entry->records[TN_STREAM_RECORDS_MAX - 1].time,
                     fixture->pool->streams->now - 1);
    assert_int_equal(entry->records[2].time - entry->records[0].time, 2);

    /* C waits for an old record only if that covers what it takes. */
    free_on(fixture, pieces[50], A);
    assert_ptr_equal(alloc(fixture, 1, C), pieces[50]);
    expect_records_and_waits(fixture, 1, 1);
    test_backend_complete(&fixture->backend, A);
    assert_true(tn_stream_reuse_poll(fixture->pool));
    assert_int_equal(entry->record_count, 0);
}

/* --- free after several ------------------------------------------------------------------------- */

static void after_no_stream_it_is_everybodys(void **state)
{
    struct fixture *fixture = *state;
    void *pieces[8];
    fill_pool(fixture, 8, pieces);
    free_after(fixture, pieces[1], NULL, 0);
    free_after(fixture, pieces[2], (tarn_stream[]){ A }, 0);
    expect_pending(fixture, 0);
    assert_ptr_equal(alloc(fixture, 16, C), pieces[1]);
    expect_records_and_waits(fixture, 0, 0);
}

static void after_one_stream_it_is_as_freed_on_it(void **state)
{
    struct fixture *fixture = *state;
    void *pieces[8];
    fill_pool(fixture, 8, pieces);
    free_after(fixture, pieces[1], (tarn_stream[]){ A }, 1);
    free_on(fixture, pieces[2], A);
    free_after(fixture, pieces[3], (tarn_stream[]){ A, A, A }, 3);
    assert_int_equal(stats_of(fixture->pool).free_region_count, 1);
    assert_ptr_equal(alloc(fixture, 24, A), pieces[1]);
    expect_no_calls(fixture);
}

static void after_several_each_waits_for_the_others(void **state)
{
    struct fixture *fixture = *state;
    const tarn_stream all[] = { A, B, C, NULL, A };
    void *pieces[8];
    fill_pool(fixture, 8, pieces);
    free_after(fixture, pieces[1], all, 5);
    expect_pending(fixture, 8);
    test_backend_take_calls(&fixture->backend);
    assert_ptr_equal(alloc(fixture, 8, B), pieces[1]);
    expect_records_and_waits(fixture, 3, 3);

    free_after(fixture, pieces[1], all, 2);
    assert_ptr_equal(alloc(fixture, 8, STREAM(5)), pieces[1]);
    expect_records_and_waits(fixture, 2, 2);
}

static void after_several_it_is_everybodys_when_all_are_complete(void **state)
{
    struct fixture *fixture = *state;
    void *pieces[8];
    fill_pool(fixture, 8, pieces);
    free_after(fixture, pieces[1], (tarn_stream[]){ A, B }, 2);
    free_after(fixture, pieces[3], (tarn_stream[]){ A, B }, 2);
    assert_ptr_equal(alloc(fixture, 8, C), pieces[1]);
    expect_records_and_waits(fixture, 2, 2);
    test_backend_complete(&fixture->backend, A);
    assert_true(tn_stream_reuse_poll(fixture->pool));
    expect_pending(fixture, 8);
    /* B has its own at once now. */
    test_backend_take_calls(&fixture->backend);
    assert_ptr_equal(alloc(fixture, 8, B), pieces[3]);
    expect_no_calls(fixture);
    free_after(fixture, pieces[3], (tarn_stream[]){ A, B }, 2);
    test_backend_complete(&fixture->backend, B);
    tn_stream_reuse_poll(fixture->pool);
    expect_pending(fixture, 8);
}

static void in_an_undivided_pool_only_stream_and_no_stream_are_the_same(void **state)
{
    struct fixture *fixture = *state;
    void *address = alloc(fixture, 64, A);
    test_backend_take_calls(&fixture->backend);
    free_after(fixture, address, (tarn_stream[]){ A, A }, 2);
    assert_ptr_equal(alloc(fixture, 64, A), address);
    free_after(fixture, address, NULL, 0);
    assert_ptr_equal(alloc(fixture, 64, A), address);
    expect_no_calls(fixture);
    assert_null(fixture->pool->streams);
    /* Two at once divide it, and both count. */
    free_after(fixture, address, (tarn_stream[]){ A, B }, 2);
    test_backend_take_calls(&fixture->backend);
    assert_ptr_equal(alloc(fixture, 64, A), address);
    expect_records_and_waits(fixture, 1, 1);
    expect_last_wait(fixture, A, B);
}

static void null_streams_are_refused_but_for_none(void **state)
{
    struct fixture *fixture = *state;
    void *address = alloc(fixture, 8, A);
    expect_status(TARN_STATUS_INVALID_ARGUMENT,
                  tarn_pool_free_after(fixture->pool, address, NULL, 1));
    assert_int_equal(stats_of(fixture->pool).live_count, 1);
    expect_status(TARN_STATUS_INVALID_POOL, tarn_pool_free_after(NULL, address, NULL, 0));
    expect_status(TARN_STATUS_INVALID_POOL, tarn_pool_free_on(NULL, address, A));
    expect_status(TARN_STATUS_INVALID_POOL, tarn_pool_alloc_on(NULL, 1, A, &address));
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_pool_alloc_on(fixture->pool, 1, A, NULL));
    expect_status(TARN_STATUS_INVALID_ALIGNMENT,
                  tarn_pool_alloc_aligned_on(fixture->pool, 1, 3, A, &address));
}

/* --- what is refused ---------------------------------------------------------------------------- */

static void a_stream_of_another_device_is_refused(void **state)
{
    struct fixture *fixture = *state;
    fixture->backend.foreign_stream = C;
    expect_refused(fixture, TARN_STATUS_INVALID_ARGUMENT, 8, C);
    expect_message("no stream of the test backend's device");
    void *address = alloc(fixture, 8, A);
    expect_refused(fixture, TARN_STATUS_INVALID_ARGUMENT, 8, C);
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_pool_free_on(fixture->pool, address, C));
    expect_status(TARN_STATUS_INVALID_ARGUMENT,
                  tarn_pool_free_after(fixture->pool, address, (tarn_stream[]){ A, B, C }, 3));
    char which[64]; /* not the first of them */
    snprintf(which, sizeof which, "%p is no stream", C);
    expect_message(which);
    tarn_stats stats = stats_of(fixture->pool);
    assert_int_equal(stats.live_count, 1);
    assert_int_equal(stats.free_count, 0);
    assert_int_equal(stats.failed_count, 4);
    free_on(fixture, address, A);
}

static void bad_addresses_are_told_with_streams_too(void **state)
{
    struct fixture *fixture = *state;
    tarn_pool *other;
    void *of_other;
    expect_ok(tarn_pool_create(&fixture->options, &other));
    expect_ok(tarn_pool_alloc_on(other, 1, A, &of_other));
    char *address = alloc(fixture, 8, A);
    /* Known and not, and more than one. */
    const tarn_stream streams[] = { A, B, C };
    for (size_t count = 0; count <= 3; count++) {
        expect_status(TARN_STATUS_INTERIOR_ADDRESS,
                      tarn_pool_free_after(fixture->pool, address + 1, streams, count));
        expect_status(TARN_STATUS_INTERIOR_ADDRESS,
                      tarn_pool_free_after(fixture->pool, address + KIB, streams, count));
        expect_status(TARN_STATUS_NOT_LIVE,
                      tarn_pool_free_after(fixture->pool, address + 8 * KIB, streams, count));
        expect_status(TARN_STATUS_WRONG_POOL,
                      tarn_pool_free_after(fixture->pool, of_other, streams, count));
        expect_status(TARN_STATUS_FOREIGN_ADDRESS,
                      tarn_pool_free_after(fixture->pool, handles, streams, count));
    }
    assert_int_equal(stats_of(fixture->pool).failed_count, 20);
    free_on(fixture, address, A);
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_free_on(fixture->pool, address, A));
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_free_on(fixture->pool, address, STREAM(9)));
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_free(fixture->pool, address));
    expect_ok(tarn_pool_destroy_forced(other, NULL));
}

/* --- as many streams as there is room for --------------------------------------------------------- */

static void introduce_all(struct fixture *fixture)
{
    void *addresses[TN_STREAM_COUNT_MAX];
    for (int i = 0; i < TN_STREAM_COUNT_MAX; i++)
        addresses[i] = alloc(fixture, 1, STREAM(i));
    for (int i = 0; i < TN_STREAM_COUNT_MAX; i++)
        free_on(fixture, addresses[i], STREAM(i));
    test_backend_take_calls(&fixture->backend);
}

static void thirty_streams_are_known_and_one_more_gets_nothing(void **state)
{
    struct fixture *fixture = *state;
    introduce_all(fixture);
    expect_refused(fixture, TARN_STATUS_OUT_OF_HOST_MEMORY, 1, STREAM(30));
    expect_message("30 at most");
    for (int i = 0; i < TN_STREAM_COUNT_MAX; i++) {
        test_backend_take_calls(&fixture->backend);
        alloc(fixture, 1, STREAM(i));
        expect_records_and_waits(fixture, 0, 0);
    }
}

static void what_is_freed_on_one_more_is_waited_for_by_the_host(void **state)
{
    struct fixture *fixture = *state;
    introduce_all(fixture);
    void *address = alloc(fixture, 8, A), *second = alloc(fixture, 8, A);
    size_t pending_bytes = stats_of(fixture->pool).pending_bytes;
    test_backend_take_calls(&fixture->backend);
    free_on(fixture, address, STREAM(30));
    assert_int_equal(fixture->backend.call_counts[TEST_CALL_STREAM_SYNCHRONIZE], 1);
    assert_int_equal(stats_of(fixture->pool).pending_bytes, pending_bytes);

    /* All of them, though others are known. */
    test_backend_take_calls(&fixture->backend);
    free_after(fixture, second, (tarn_stream[]){ B, STREAM(30), STREAM(31) }, 3);
    assert_int_equal(fixture->backend.call_counts[TEST_CALL_STREAM_SYNCHRONIZE], 3);
    assert_int_equal(stats_of(fixture->pool).pending_bytes, pending_bytes);
}

static void what_cannot_be_waited_for_stays_allocated(void **state)
{
    struct fixture *fixture = *state;
    introduce_all(fixture);
    void *address = alloc(fixture, 8, A);
    fixture->backend.fail_call_at[TEST_CALL_STREAM_SYNCHRONIZE] = 1;
    expect_status(TARN_STATUS_VENDOR_ERROR, tarn_pool_free_on(fixture->pool, address, STREAM(30)));
    assert_int_equal(tarn_last_error().vendor_code, -7);
    assert_int_equal(stats_of(fixture->pool).live_count, 1);
    fixture->backend.operations.stream_synchronize = NULL;
    expect_status(TARN_STATUS_VENDOR_ERROR, tarn_pool_free_on(fixture->pool, address, STREAM(30)));
    assert_int_equal(stats_of(fixture->pool).live_count, 1);
    expect_ok(tarn_pool_check(fixture->pool));
    free_on(fixture, address, A);
}

static void a_retired_stream_makes_room_when_its_work_is_done(void **state)
{
    struct fixture *fixture = *state;
    introduce_all(fixture);
    retire(fixture, STREAM(17));
    test_backend_end_stream(&fixture->backend, STREAM(17));
    expect_refused(fixture, TARN_STATUS_OUT_OF_HOST_MEMORY, 1, STREAM(30));
    test_backend_complete(&fixture->backend, STREAM(17));
    free_on(fixture, alloc(fixture, 1, STREAM(30)), STREAM(30));
    expect_refused(fixture, TARN_STATUS_OUT_OF_HOST_MEMORY, 1, STREAM(31));
}

/* And is introduced again when it comes again. */
static void a_stream_of_which_nothing_is_left_makes_room(void **state)
{
    struct fixture *fixture = *state;
    for (size_t i = 0; i < sizeof handles; i++)
        free_after(fixture, alloc(fixture, 1, STREAM(i)), NULL, 0);
    alloc(fixture, 1, STREAM(0));
    assert_int_equal(fixture->backend.call_counts[TEST_CALL_SYNCHRONIZE], 0);
}

/* --- the end of a stream ------------------------------------------------------------------------- */

static void retiring_an_unknown_stream_does_nothing(void **state)
{
    struct fixture *fixture = *state;
    retire(fixture, A);
    retire(fixture, NULL);
    alloc(fixture, 8, A);
    test_backend_take_calls(&fixture->backend);
    retire(fixture, NULL);
    retire(fixture, B);
    expect_no_calls(fixture);
    assert_null(fixture->pool->streams);
    introduce(fixture, B);
    retire(fixture, NULL);
    retire(fixture, C);
    expect_no_calls(fixture);
}

/* A first stream that was refused all memory is known all the same. */
static void an_untouched_pool_forgets_its_stream(void **state)
{
    struct fixture *fixture = *state;
    expect_refused(fixture, TARN_STATUS_OVER_LIMIT, 1000, A);
    retire(fixture, A);
    assert_null(fixture->pool->streams);
    test_backend_end_stream(&fixture->backend, A);
    test_backend_begin_stream(&fixture->backend, A);
    fixture->backend.foreign_stream = A;
    expect_refused(fixture, TARN_STATUS_INVALID_ARGUMENT, 1, A);
}

static void the_only_stream_retires_with_nothing_freed(void **state)
{
    struct fixture *fixture = *state;
    void *address = alloc(fixture, 8, A);
    test_backend_take_calls(&fixture->backend);
    retire(fixture, A);
    expect_no_calls(fixture);
    test_backend_end_stream(&fixture->backend, A);
    /* The rest was never used. */
    alloc(fixture, 8, B);
    expect_records_and_waits(fixture, 0, 0);
    free_on(fixture, address, B);
}

static void the_only_stream_retires_with_one_record(void **state)
{
    struct fixture *fixture = *state;
    void *address = alloc(fixture, 64, A);
    free_on(fixture, address, A);
    test_backend_take_calls(&fixture->backend);
    retire(fixture, A);
    expect_records_and_waits(fixture, 1, 0);
    test_backend_end_stream(&fixture->backend, A);
    assert_ptr_equal(alloc(fixture, 64, B), address);
    expect_records_and_waits(fixture, 0, 1);
    expect_last_wait(fixture, B, A);
}

static void a_stream_retires_with_one_record_or_none(void **state)
{
    struct fixture *fixture = *state;
    void *pieces[8];
    fill_pool(fixture, 8, pieces);
    retire(fixture, A);
    test_backend_end_stream(&fixture->backend, A);
    expect_no_calls(fixture);
    free_on(fixture, pieces[1], B);
    free_on(fixture, pieces[3], B);
    retire(fixture, B);
    test_backend_end_stream(&fixture->backend, B);
    expect_records_and_waits(fixture, 1, 0);
    retire(fixture, B);
    expect_no_calls(fixture);
    expect_pending(fixture, 16);
    assert_ptr_equal(alloc(fixture, 8, C), pieces[1]);
    expect_records_and_waits(fixture, 0, 1);
    assert_ptr_equal(alloc(fixture, 8, C), pieces[3]);
    expect_no_calls(fixture);
}

static void the_same_handle_again_is_another_stream(void **state)
{
    struct fixture *fixture = *state;
    void *pieces[8];
    fill_pool(fixture, 8, pieces);
    free_on(fixture, pieces[1], A);
    free_on(fixture, pieces[3], A);
    retire(fixture, A);
    test_backend_take_calls(&fixture->backend);
    assert_ptr_equal(alloc(fixture, 8, A), pieces[1]);
    assert_int_equal(fixture->backend.call_counts[TEST_CALL_STREAM_CHECK], 1);
    expect_records_and_waits(fixture, 0, 1);
    expect_last_wait(fixture, A, A);
    /* And what it frees is its own. */
    free_on(fixture, pieces[1], A);
    free_on(fixture, pieces[2], A);
    assert_ptr_equal(alloc(fixture, 16, A), pieces[1]);
    expect_records_and_waits(fixture, 0, 0);
}

static void what_a_retired_stream_freed_is_everybodys_when_its_work_is_done(void **state)
{
    struct fixture *fixture = *state;
    void *pieces[8];
    fill_pool(fixture, 8, pieces);
    free_on(fixture, pieces[1], A);
    free_after(fixture, pieces[3], (tarn_stream[]){ A, B }, 2);
    retire(fixture, A);
    test_backend_end_stream(&fixture->backend, A);
    expect_records_and_waits(fixture, 1, 0);
    test_backend_complete(&fixture->backend, A);
    assert_true(tn_stream_reuse_poll(fixture->pool));
    expect_pending(fixture, 8);
    test_backend_take_calls(&fixture->backend);
    assert_ptr_equal(alloc(fixture, 8, B), pieces[1]);
    assert_ptr_equal(alloc(fixture, 8, B), pieces[3]);
    expect_no_calls(fixture);
    /* Its number is another's. */
    assert_int_equal(tn_stream_table_find_unused(fixture->pool->streams), 0);
}

static void a_stream_on_which_nothing_depends_retires_without_a_record(void **state)
{
    struct fixture *fixture = *state;
    void *pieces[8];
    fill_pool(fixture, 8, pieces);
    free_on(fixture, pieces[1], A);
    assert_ptr_equal(alloc(fixture, 8, B), pieces[1]);
    /* A record is under way, and nothing that is free depends on it. */
    test_backend_take_calls(&fixture->backend);
    retire(fixture, A);
    expect_records_and_waits(fixture, 0, 0);
    test_backend_complete(&fixture->backend, A);
    tn_stream_reuse_poll(fixture->pool);
    assert_int_equal(tn_stream_table_find_unused(fixture->pool->streams), 0);
}

/* What was freed on a stream long ago, and united with what another freed later, is later itself. */
static void a_retired_stream_covers_what_was_united_with_later_frees(void **state)
{
    struct fixture *fixture = *state;
    void *pieces[64];
    fill_pool(fixture, 1, pieces);
    free_on(fixture, pieces[10], A);
    free_on(fixture, pieces[11], A);
    retire(fixture, A);
    test_backend_end_stream(&fixture->backend, A);
    for (int i = 0; i < 10; i++) {
        free_on(fixture, pieces[20], B);
        assert_ptr_equal(alloc(fixture, 1, C), pieces[20]);
    }
    free_on(fixture, pieces[12], B);
    test_backend_take_calls(&fixture->backend);
    assert_ptr_equal(alloc(fixture, 3, STREAM(5)), pieces[10]);
    expect_records_and_waits(fixture, 1, 2);
}

static void a_stream_retires_with_all_records_under_way(void **state)
{
    struct fixture *fixture = *state;
    void *pieces[64];
    fill_pool(fixture, 1, pieces);
    for (int i = 0; i < 6; i++) {
        free_on(fixture, pieces[i], A);
        alloc(fixture, 1, B);
    }
    free_on(fixture, pieces[9], A);
    retire(fixture, A);
    test_backend_end_stream(&fixture->backend, A);
    test_backend_take_calls(&fixture->backend);
    assert_ptr_equal(alloc(fixture, 1, C), pieces[9]);
    expect_records_and_waits(fixture, 0, 1);
    test_backend_complete(&fixture->backend, A);
    tn_stream_reuse_poll(fixture->pool);
    assert_int_equal(tn_stream_table_find_unused(fixture->pool->streams), 0);
}

static void all_pools_are_told(void **state)
{
    struct fixture *fixture = *state;
    tarn_pool *other;
    void *of_other, *address = alloc(fixture, 64, A);
    fixture->options.limit_bytes = 128 * KIB;
    expect_ok(tarn_pool_create(&fixture->options, &other));
    expect_ok(tarn_pool_alloc_on(other, 64 * KIB, A, &of_other));
    free_on(fixture, address, A);
    expect_ok(tarn_pool_free_on(other, of_other, A));
    test_backend_take_calls(&fixture->backend);
    /* Also when one of them cannot record. */
    fixture->backend.fail_call_at[TEST_CALL_EVENT_RECORD] = 1;
    expect_status(TARN_STATUS_VENDOR_ERROR, tarn_stream_retire(A));
    assert_int_equal(fixture->backend.call_counts[TEST_CALL_EVENT_RECORD], 2);
    test_backend_end_stream(&fixture->backend, A);
    size_t pending_bytes = stats_of(other).pending_bytes + stats_of(fixture->pool).pending_bytes;
    assert_int_equal(pending_bytes, 128 * KIB);
    test_backend_complete(&fixture->backend, A);
    tn_stream_reuse_poll(other);
    tn_stream_reuse_poll(fixture->pool);
    pending_bytes = stats_of(other).pending_bytes + stats_of(fixture->pool).pending_bytes;
    assert_int_equal(pending_bytes, 64 * KIB);
    expect_ok(tarn_pool_check(other));
    expect_ok(tarn_pool_destroy(other));
}

/* --- a stream that is lost ------------------------------------------------------------------------ */

/* Retires it without a record. */
static void lose(struct fixture *fixture, tarn_stream stream)
{
    fixture->backend.fail_call_at[TEST_CALL_EVENT_RECORD] = 1;
    expect_status(TARN_STATUS_VENDOR_ERROR, tarn_stream_retire(stream));
    expect_ok(tarn_pool_check(fixture->pool));
    test_backend_end_stream(&fixture->backend, stream);
    test_backend_take_calls(&fixture->backend);
}

static void what_is_lost_is_not_handed_out(void **state)
{
    struct fixture *fixture = *state;
    void *pieces[8];
    fill_pool(fixture, 8, pieces);
    free_on(fixture, pieces[1], A);
    free_after(fixture, pieces[3], (tarn_stream[]){ A, B }, 2);
    lose(fixture, A);
    expect_pending(fixture, 16);
    expect_refused(fixture, TARN_STATUS_OVER_LIMIT, 8, B);
    expect_refused(fixture, TARN_STATUS_OVER_LIMIT, 8, C);
    /* The same handle is another stream, which has waited for nothing either. */
    test_backend_begin_stream(&fixture->backend, A);
    expect_refused(fixture, TARN_STATUS_OVER_LIMIT, 8, A);
    expect_records_and_waits(fixture, 0, 0);
    test_backend_complete(&fixture->backend, A);
    expect_refused(fixture, TARN_STATUS_OVER_LIMIT, 8, A);
}

static void whoever_had_waited_gets_what_is_lost_to_others(void **state)
{
    struct fixture *fixture = *state;
    void *pieces[8];
    fill_pool(fixture, 8, pieces);
    free_on(fixture, pieces[1], A);
    free_on(fixture, pieces[3], A);
    assert_ptr_equal(alloc(fixture, 8, B), pieces[1]);
    lose(fixture, A);
    expect_refused(fixture, TARN_STATUS_OVER_LIMIT, 8, C);
    assert_ptr_equal(alloc(fixture, 8, B), pieces[3]);
}

/* What touches something lost must not be lost with it. */
static void what_is_lost_is_united_with_nothing(void **state)
{
    struct fixture *fixture = *state;
    void *pieces[8];
    fill_pool(fixture, 8, pieces);
    free_on(fixture, pieces[1], A);
    free_on(fixture, pieces[2], B);
    free_on(fixture, pieces[4], B);
    free_on(fixture, pieces[5], C);
    free_after(fixture, pieces[6], NULL, 0);
    lose(fixture, A);
    assert_ptr_equal(alloc(fixture, 16, STREAM(5)), pieces[4]);
    expect_records_and_waits(fixture, 2, 2);
    expect_refused(fixture, TARN_STATUS_OVER_LIMIT, 16, C);
    assert_ptr_equal(alloc(fixture, 8, C), pieces[6]);
    assert_ptr_equal(alloc(fixture, 8, C), pieces[2]);
}

static void what_is_lost_goes_back_with_its_static_pool(void **state)
{
    struct fixture *fixture = *state;
    void *address = alloc(fixture, 40, A);
    free_on(fixture, address, A);
    introduce(fixture, B);
    lose(fixture, A);
    size_t released_bytes = 0;
    expect_ok(tarn_pool_trim(fixture->pool, 0, &released_bytes));
    assert_int_equal(released_bytes, 64 * KIB);
    expect_pending(fixture, 0);
    alloc(fixture, 64, B);
    expect_records_and_waits(fixture, 0, 0);
}

/* --- pending memory goes back --------------------------------------------------------------------- */

static void pending_static_pools_are_trimmed_and_destroyed(void **state)
{
    struct fixture *fixture = *state;
    void *pieces[8];
    fill_pool(fixture, 8, pieces);
    for (int i = 0; i < 8; i++)
        free_after(fixture, pieces[i], (tarn_stream[]){ A, B, C }, (size_t)i % 4);
    expect_pending(fixture, 48);
    size_t released_bytes;
    expect_ok(tarn_pool_trim(fixture->pool, 0, &released_bytes));
    assert_int_equal(released_bytes, 64 * KIB);
    expect_pending(fixture, 0);
    expect_ok(tarn_pool_check(fixture->pool));
    free_on(fixture, alloc(fixture, 64, C), C);
    expect_pending(fixture, 64);
    test_backend_take_calls(&fixture->backend);
    expect_ok(tarn_pool_destroy(fixture->pool));
    assert_int_equal(fixture->backend.piece_count, 0);
    assert_int_equal(fixture->backend.event_count, 0);
    expect_ok(tarn_pool_create(&fixture->options, &fixture->pool));
}

/* A pool over the host's backend gives memory back under work that has not run: the copies that read
 * it must have run by then. */
static void memory_goes_back_after_the_work_on_it(void **state)
{
    enum {
        SIZE = 4096
    };
    for (int way = 0; way < 3; way++) {
        tarn_backend host;
        tarn_pool *pool;
        tarn_stream a, b;
        static unsigned char copied[SIZE];
        tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
        expect_ok(tarn_host_backend_open(NULL, &host));
        options.backend = &host;
        options.initial_bytes = 64 * KIB;
        options.limit_bytes = 68 * KIB;
        expect_ok(tarn_pool_create(&options, &pool));
        const tarn_backend_operations *operations = host.operations;
        assert_int_equal(operations->stream_create(host.state, &a).status, TARN_STATUS_OK);
        assert_int_equal(operations->stream_create(host.state, &b).status, TARN_STATUS_OK);
        memset(copied, 0, SIZE);

        void *address, *other;
        expect_ok(tarn_pool_alloc_on(pool, SIZE, a, &address));
        operations->fill(host.state, address, 42, SIZE, a);
        operations->copy(host.state, copied, address, SIZE, a);
        expect_ok(tarn_pool_free_on(pool, address, a));
        expect_ok(tarn_pool_alloc_on(pool, SIZE, b, &other));
        expect_ok(tarn_pool_free_on(pool, other, b));
        assert_int_equal(copied[SIZE - 1], 0);
        if (way == 0) {
            expect_ok(tarn_pool_trim(pool, 0, NULL));
            assert_int_equal(copied[SIZE - 1], 42);
        }
        /* More than it has, so the pool gives back what is free, to make room under its limit. */
        if (way == 1) {
            expect_ok(tarn_pool_alloc_on(pool, 66 * KIB, b, &other));
            assert_int_equal(copied[SIZE - 1], 42);
            expect_ok(tarn_pool_free_on(pool, other, b));
        }
        expect_ok(tarn_pool_check(pool));
        expect_ok(tarn_pool_destroy(pool));
        assert_int_equal(copied[SIZE - 1], 42);
        assert_int_equal(operations->stream_destroy(host.state, a).status, TARN_STATUS_OK);
        assert_int_equal(operations->stream_destroy(host.state, b).status, TARN_STATUS_OK);
        tarn_backend_close(&host);
    }
}

/* --- time ------------------------------------------------------------------------------------------ */

/* As if so many records had been made that few more have a time. */
static void age(struct fixture *fixture, uint32_t records_left)
{
    fixture->pool->streams->now = TN_STREAM_TIME_MAX - records_left;
}

static void times_begin_anew(void **state)
{
    struct fixture *fixture = *state;
    void *pieces[64];
    for (uint32_t left = 0; left < 4; left++) {
        create_anew(fixture);
        fill_pool(fixture, 1, pieces);
        age(fixture, left);
        for (unsigned i = 0; i < 12; i++) {
            free_on(fixture, pieces[4 * i], A);
            free_on(fixture, pieces[4 * i + 2], B);
            assert_ptr_equal(alloc(fixture, 1, C), pieces[4 * i]);
            assert_ptr_equal(alloc(fixture, 1, C), pieces[4 * i + 2]);
            expect_records_and_waits(fixture, 2, 2);
        }
        assert_in_range(fixture->pool->streams->now, 1, 100);
        free_on(fixture, pieces[1], A);
        test_backend_complete(&fixture->backend, A);
        tn_stream_reuse_poll(fixture->pool);
        expect_pending(fixture, 1);
    }
}

/* Nobody has waited for anything when they do, and what was freed before is still waited for. */
static void what_was_freed_before_times_begin_anew_is_still_waited_for(void **state)
{
    struct fixture *fixture = *state;
    void *pieces[64];
    fill_pool(fixture, 1, pieces);
    age(fixture, 1);
    for (int i = 0; i < 10; i += 2) {
        free_on(fixture, pieces[i], A);
        free_on(fixture, pieces[i + 20], B);
    }
    assert_ptr_equal(alloc(fixture, 1, C), pieces[0]);
    expect_records_and_waits(fixture, 1, 1);
    /* B's record begins anew. C must wait for A once more, or for a record of it. */
    assert_ptr_equal(alloc(fixture, 1, C), pieces[2]);
    assert_ptr_equal(alloc(fixture, 1, C), pieces[4]);
    assert_ptr_equal(alloc(fixture, 1, C), pieces[6]);
    assert_ptr_equal(alloc(fixture, 1, C), pieces[8]);
    expect_no_calls(fixture);
    assert_ptr_equal(alloc(fixture, 1, C), pieces[20]);
    expect_records_and_waits(fixture, 1, 1);
    assert_int_equal(fixture->pool->streams->now, 2);
    free_on(fixture, pieces[10], A);
    assert_ptr_equal(alloc(fixture, 1, C), pieces[22]);
    expect_no_calls(fixture);
    assert_ptr_equal(alloc(fixture, 1, STREAM(5)), pieces[10]);
    expect_records_and_waits(fixture, 1, 1);
}

static void a_retired_stream_outlives_its_time(void **state)
{
    struct fixture *fixture = *state;
    void *pieces[64];
    fill_pool(fixture, 1, pieces);
    for (int i = 10; i < 12; i++) {
        free_on(fixture, pieces[i], A);
        free_on(fixture, pieces[i + 10], A);
    }
    free_on(fixture, pieces[30], A);
    free_on(fixture, pieces[31], A);
    age(fixture, 1);
    retire(fixture, A);
    test_backend_end_stream(&fixture->backend, A);
    expect_records_and_waits(fixture, 1, 0);
    assert_ptr_equal(alloc(fixture, 2, C), pieces[10]);
    expect_records_and_waits(fixture, 0, 1);
    assert_int_equal(fixture->pool->streams->now, TN_STREAM_TIME_MAX);
    /* It fits better than what A had. */
    free_on(fixture, pieces[5], B);
    assert_ptr_equal(alloc(fixture, 1, STREAM(5)), pieces[5]);
    assert_int_equal(fixture->pool->streams->now, 2);
    test_backend_take_calls(&fixture->backend);
    assert_ptr_equal(alloc(fixture, 2, STREAM(5)), pieces[20]);
    expect_records_and_waits(fixture, 0, 1);
    expect_last_wait(fixture, STREAM(5), A);
    expect_pending(fixture, 2);
    test_backend_complete(&fixture->backend, A);
    tn_stream_reuse_poll(fixture->pool);
    expect_pending(fixture, 0);
    assert_int_equal(tn_stream_table_find_unused(fixture->pool->streams), 0);
}

/* What is put back when the vendor fails belongs to the time that has begun meanwhile. */
static void a_failure_as_times_begin_anew_leaves_nothing_in_the_future(void **state)
{
    struct fixture *fixture = *state;
    void *pieces[8];
    fill_pool(fixture, 8, pieces);
    age(fixture, 0);
    free_on(fixture, pieces[1], A);
    /* Twice, since the pool tries again when it cannot grow. */
    fixture->backend.fail_call_at[TEST_CALL_STREAM_WAIT_EVENT] = 1;
    fixture->backend.fail_call_count = 2;
    expect_refused(fixture, TARN_STATUS_OVER_LIMIT, 8, C);
    assert_in_range(fixture->pool->streams->now, 1, 2);
    test_backend_complete(&fixture->backend, A);
    assert_true(tn_stream_reuse_poll(fixture->pool));
    expect_pending(fixture, 0);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
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
        TEST(thirty_streams_are_known_and_one_more_gets_nothing),
        TEST(what_is_freed_on_one_more_is_waited_for_by_the_host),
        TEST(what_cannot_be_waited_for_stays_allocated),
        TEST(a_retired_stream_makes_room_when_its_work_is_done),
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
