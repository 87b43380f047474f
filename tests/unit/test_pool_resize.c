/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Resizing in place: what is taken from behind and what is given back, on which stream, in every kind of pool; and
 * that a refusal changes nothing. Chunks are 1 KiB.
 */
#include <stdio.h>

#include "core/pool/pool_arenas.h"
#include "harness/host_memory_faults.h"
#include "tarn/host.h"
#include "pool_fixture.h"

static void expect_size(char *address, size_t size_bytes)
{
    tarn_allocation found = found_at(address + size_bytes - 1);
    assert_ptr_equal(found.address, address);
    assert_int_equal(found.size_bytes, size_bytes);
    assert_true(found.usable_bytes >= size_bytes);
    expect_ok(tarn_pool_check(pool));
}

static void resize_on(char *address, size_t size_bytes, tarn_stream stream)
{
    expect_ok(tarn_pool_resize_on(pool, address, size_bytes, stream));
    expect_size(address, size_bytes);
}

static void resize(char *address, size_t size_bytes)
{
    expect_ok(tarn_pool_resize(pool, address, size_bytes));
    expect_size(address, size_bytes);
}

/* Nothing at all has changed. */
static void expect_not_resized(tarn_status expected, void *address, size_t size_bytes,
                               tarn_stream stream, const char *why)
{
    tarn_stats before = stats_of(pool);
    expect_status(expected, tarn_pool_resize_on(pool, address, size_bytes, stream));
    expect_message(why);
    tarn_stats after = stats_of(pool);
    after.metadata_bytes = before.metadata_bytes; /* a stream may have been introduced */
    assert_memory_equal(&after, &before, sizeof after);
    expect_ok(tarn_pool_check(pool));
}

/* --- what is behind ------------------------------------------------------------------------------ */

static void it_grows_into_what_is_free_behind(void **state)
{
    char *x = alloc(4 * KIB), *gap = alloc(8 * KIB), *end = alloc(KIB);
    expect_not_resized(TARN_STATUS_NOT_IN_PLACE, x, 4 * KIB + 1, NULL, "room for 4096");
    free_on(gap, NULL);
    resize(x, 4 * KIB + 1);
    assert_int_equal(stats_of(pool).used_bytes, 6 * KIB);
    assert_int_equal(stats_of(pool).free_region_count, 2);
    resize(x, 5 * KIB + 1);
    resize(x, 11 * KIB + 1);
    assert_int_equal(stats_of(pool).free_region_count, 1);
    expect_not_resized(TARN_STATUS_NOT_IN_PLACE, x, 12 * KIB + 1, NULL, "room for 12288");
    resize(x, 12 * KIB);
    free_on(x, NULL);
    resize(end, 52 * KIB);
    expect_not_resized(TARN_STATUS_NOT_IN_PLACE, end, 52 * KIB + 1, NULL, "room for 53248");
    assert_int_equal(stats_of(pool).largest_free_bytes, 12 * KIB);
    free_on(end, NULL);
    assert_int_equal(stats_of(pool).largest_free_bytes, 64 * KIB);
}

static void what_it_gives_back_is_free_for_others(void **state)
{
    char *x = alloc(64 * KIB);
    resize(x, 40 * KIB); /* nothing is free behind it */
    assert_int_equal(stats_of(pool).free_region_count, 1);
    resize(x, 30 * KIB + 5); /* what follows is free, and they are one */
    assert_int_equal(stats_of(pool).free_region_count, 1);
    assert_int_equal(stats_of(pool).largest_free_bytes, 33 * KIB);
    char *y = alloc(33 * KIB);
    assert_ptr_equal(y, x + 31 * KIB);
    resize(x, 1);
    assert_int_equal(stats_of(pool).free_region_count, 1);
    assert_ptr_equal(alloc(30 * KIB), x + KIB);
}

/* Groups of 64 chunks in which regions start and do not start. */
static void it_is_found_by_any_address_however_large(void **state)
{
    options.initial_bytes = options.limit_bytes = 1024 * KIB;
    create_anew();
    char *x = alloc(KIB);
    static const size_t sizes_kib[] = { 64, 65, 63, 128, 200, 1, 1023, 1024, 129, 64, 2 };
    for (size_t i = 0; i < sizeof sizes_kib / sizeof *sizes_kib; i++) {
        resize(x, sizes_kib[i] * KIB);
        tarn_allocation found = TARN_ALLOCATION_INIT;
        if (sizes_kib[i] == 1024) continue;
        expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_find(x + sizes_kib[i] * KIB, &found));
        char *behind = alloc(KIB);
        assert_ptr_equal(behind, x + sizes_kib[i] * KIB);
        free_on(behind, NULL);
    }
}

/* Free regions of 16384 chunks and more are kept apart from the others. */
static void what_is_free_may_be_a_giant(void **state)
{
    enum {
        CHUNK = 256,
        CHUNKS = 40000
    };
    options.chunk_bytes = CHUNK;
    options.initial_bytes = options.limit_bytes = (size_t)CHUNKS * CHUNK;
    create_anew();
    char *x = alloc(CHUNK), *y = alloc(CHUNK);
    free_on(y, NULL);
    static const size_t left[] = { 16385, 16384, 16383, 16384, 30000, 20000,
                                   1,     16383, 0,     16384, 39999 };
    for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
        resize(x, (CHUNKS - left[i]) * CHUNK);
        assert_int_equal(stats_of(pool).largest_free_bytes, left[i] * CHUNK);
        if (left[i] == 0) continue;
        y = alloc(left[i] * CHUNK);
        assert_ptr_equal(y, x + (CHUNKS - left[i]) * CHUNK);
        free_on(y, NULL);
    }
}

static void within_a_chunk_nothing_but_the_size_changes(void **state)
{
    char *x = alloc(3 * KIB + 1), *y = alloc(KIB);
    resize(x, 4 * KIB);
    resize(x, 3 * KIB + 1);
    resize(x, 3 * KIB + 500);
    assert_int_equal(stats_of(pool).used_bytes, 5 * KIB);
    assert_int_equal(stats_of(pool).requested_bytes, 4 * KIB + 500);
    resize(y, 1);
    resize(y, 1);
}

static void an_alignment_stays(void **state)
{
    void *address;
    expect_ok(tarn_pool_alloc_aligned(pool, 5 * KIB, 16 * KIB, &address));
    char *x = address;
    resize(x, 20 * KIB);
    resize(x, 3);
    assert_int_equal((uintptr_t)x % (16 * KIB), 0);
}

static void another_static_pool_is_never_taken(void **state)
{
    options.limit_bytes = 0;
    grow_by_pieces_of(64 * KIB);
    create_anew();
    char *x = alloc(64 * KIB), *y = alloc(KIB);
    expect_not_resized(TARN_STATUS_NOT_IN_PLACE, x, 65 * KIB, NULL, "room for 65536");
    resize(y, 64 * KIB);
    expect_not_resized(TARN_STATUS_NOT_IN_PLACE, y, 65 * KIB, NULL, "room for 65536");
    assert_int_equal(backend.acquire_count, 2);
}

/* --- counts -------------------------------------------------------------------------------------- */

static void statistics_stay_right(void **state)
{
    char *x = alloc(5000);
    tarn_stats before = stats_of(pool);
    resize(x, 20000);
    tarn_stats grown = stats_of(pool);
    assert_int_equal(grown.requested_bytes, 20000);
    assert_int_equal(grown.requested_bytes_max, 20000);
    assert_int_equal(grown.used_bytes, 20 * KIB);
    assert_int_equal(grown.used_bytes_max, 20 * KIB);
    assert_int_equal(grown.free_bytes, 44 * KIB);
    resize(x, 700);
    tarn_stats shrunk = stats_of(pool);
    assert_int_equal(shrunk.requested_bytes, 700);
    assert_int_equal(shrunk.requested_bytes_max, 20000);
    assert_int_equal(shrunk.used_bytes, KIB);
    assert_int_equal(shrunk.used_bytes_max, 20 * KIB);
    expect_status(TARN_STATUS_NOT_IN_PLACE, tarn_pool_resize(pool, x, 65 * KIB));
    expect_status(TARN_STATUS_INTERIOR_ADDRESS, tarn_pool_resize(pool, x + 1, 1));
    shrunk = stats_of(pool);
    assert_int_equal(shrunk.live_count, 1);
    assert_int_equal(shrunk.alloc_count, before.alloc_count);
    assert_int_equal(shrunk.free_count, before.free_count);
    assert_int_equal(shrunk.failed_count, before.failed_count);
    assert_memory_equal(shrunk.size_histogram, before.size_histogram, sizeof before.size_histogram);
    assert_int_equal(shrunk.vendor_alloc_count, before.vendor_alloc_count);
}

static void a_sized_free_wants_the_new_size(void **state)
{
    char *x = alloc(5000);
    resize(x, 9000);
    expect_status(TARN_STATUS_WRONG_SIZE, tarn_pool_free_sized(pool, x, 5000));
    expect_ok(tarn_pool_free_sized(pool, x, 9000));
}

/* --- bad arguments ------------------------------------------------------------------------------- */

static void bad_arguments_are_refused(void **state)
{
    int mine;
    char *x = alloc(5000), *y = alloc(5000);
    expect_not_resized(TARN_STATUS_INVALID_ARGUMENT, x, 0, NULL, "size_bytes is 0");
    expect_not_resized(TARN_STATUS_INVALID_ARGUMENT, NULL, 100, NULL, "address is NULL");
    expect_not_resized(TARN_STATUS_SIZE_TOO_LARGE, x, SIZE_MAX, NULL, "18446744073709551615");
    expect_not_resized(TARN_STATUS_SIZE_TOO_LARGE, x, (size_t)INT32_MAX * KIB + 1, NULL, "bytes");
    expect_not_resized(TARN_STATUS_NOT_IN_PLACE, x, (size_t)INT32_MAX * KIB, NULL, "room");
    expect_not_resized(TARN_STATUS_INTERIOR_ADDRESS, x + KIB, 100, NULL, "lies inside");
    expect_not_resized(TARN_STATUS_FOREIGN_ADDRESS, &mine, 100, NULL, "no pool");
    free_on(y, NULL);
    expect_not_resized(TARN_STATUS_NOT_LIVE, y, 100, NULL, "freed twice");
    tarn_pool *first = pool, *other;
    expect_ok(tarn_pool_create(&options, &other));
    pool = other;
    expect_not_resized(TARN_STATUS_WRONG_POOL, x, 100, NULL, "not to the one");
    expect_ok(tarn_pool_destroy(other));
    pool = first;
    expect_status(TARN_STATUS_INVALID_POOL, tarn_pool_resize(NULL, x, 1));
    expect_status(TARN_STATUS_INVALID_POOL, tarn_pool_resize_on(other, x, 1, A));
}

/* --- streams ------------------------------------------------------------------------------------- */

static void what_a_stream_has_freed_it_grows_into(void **state)
{
    char *x = alloc_on(4 * KIB, A), *gap = alloc_on(8 * KIB, B);
    alloc_on(52 * KIB, A);
    free_on(gap, B);
    test_backend_take_calls(&backend);
    expect_not_resized(TARN_STATUS_NOT_IN_PLACE, x, 5 * KIB, A, "waits for other streams");
    resize_on(x, 5 * KIB, B);
    resize_on(x, 4 * KIB + 1, A);
    expect_not_resized(TARN_STATUS_NOT_IN_PLACE, x, 5 * KIB + 1, A, "waits for other streams");
    assert_int_equal(test_backend_take_calls(&backend), 0);
}

static void what_a_stream_has_waited_for_it_grows_into(void **state)
{
    char *x = alloc_on(4 * KIB, A), *gap = alloc_on(8 * KIB, B);
    char *fence = alloc_on(4 * KIB, B), *rest = alloc_on(48 * KIB, B);
    free_on(gap, B);
    free_on(rest, B);
    /* A is made to wait for all that B has freed so far. */
    alloc_on(48 * KIB, A);
    assert_int_equal(backend.wait_count, 1);
    test_backend_take_calls(&backend);
    resize_on(x, 12 * KIB, A);
    assert_int_equal(test_backend_take_calls(&backend), 0);
    assert_ptr_equal(fence, x + 12 * KIB);
}

static void what_it_gives_back_waits_for_the_stream(void **state)
{
    char *x = alloc_on(60 * KIB, A), *y = alloc_on(4 * KIB, B);
    resize_on(x, 20 * KIB, A);
    assert_int_equal(stats_of(pool).pending_bytes, 40 * KIB);
    test_backend_take_calls(&backend);
    char *z = alloc_on(10 * KIB, A);
    assert_int_equal(test_backend_take_calls(&backend), 0);
    char *w = alloc_on(10 * KIB, B);
    assert_int_equal(backend.wait_count, 1);
    assert_ptr_equal(backend.waits[0].stream, B);
    assert_ptr_equal(backend.waits[0].awaited, A);
    assert_ptr_equal(z, x + 20 * KIB);
    assert_ptr_equal(w, x + 30 * KIB);
    free_on(y, B);
}

/* Nothing has been freed when the second stream comes, but for what a resize gave back. */
static void it_waits_for_the_stream_though_that_was_the_only_one(void **state)
{
    char *x = alloc_on(64 * KIB, A);
    resize_on(x, 20 * KIB, A);
    assert_int_equal(stats_of(pool).free_count, 0);
    char *y = alloc_on(40 * KIB, B);
    assert_ptr_equal(y, x + 20 * KIB);
    assert_int_equal(backend.wait_count, 1);
    assert_ptr_equal(backend.waits[0].awaited, A);
}

static void a_stream_that_is_new_is_introduced(void **state)
{
    char *x = alloc_on(20 * KIB, A);
    backend.foreign_stream = B;
    expect_not_resized(TARN_STATUS_INVALID_ARGUMENT, x, 10 * KIB, B, "is no stream of");
    /* Where no stream matters none is looked at. */
    expect_ok(tarn_pool_resize_on(pool, x, 20 * KIB - 1, B));
    backend.foreign_stream = NULL;
    resize_on(x, 10 * KIB, B);
    assert_int_equal(stats_of(pool).pending_bytes, 10 * KIB);
    resize_on(x, 20 * KIB, B);
    expect_not_resized(TARN_STATUS_NOT_IN_PLACE, x, 70 * KIB, STREAM(2), "room for 65536");
    expect_not_resized(TARN_STATUS_INTERIOR_ADDRESS, x + KIB, KIB, STREAM(3), "lies inside");
}

/* A pool in which each call says anew which stream it is, and each free is recorded at once. */
static void what_ends_unannounced_is_recorded(void **state)
{
    backend.has_ids = true;
    opened = test_backend_open(&backend);
    options.identifies_streams = true;
    create_anew();
    char *x = alloc_on(64 * KIB, A);
    unsigned records = backend.call_counts[TEST_CALL_EVENT_RECORD];
    resize_on(x, 20 * KIB, A);
    assert_int_equal(backend.call_counts[TEST_CALL_EVENT_RECORD], records + 1);
    resize_on(x, 30 * KIB, A);
    assert_int_equal(backend.call_counts[TEST_CALL_EVENT_RECORD], records + 1);
    test_backend_end_stream(&backend, A);
    test_backend_begin_stream(&backend, A);
    expect_not_resized(TARN_STATUS_NOT_IN_PLACE, x, 40 * KIB, A, "waits for other streams");
    backend.fail_call_at[TEST_CALL_STREAM_ID] = 1;
    backend.call_failure = TARN_STATUS_VENDOR_ERROR;
    expect_not_resized(TARN_STATUS_VENDOR_ERROR, x, 25 * KIB, A, "failed to look at stream");
}

/* --- captured streams ---------------------------------------------------------------------------- */

static void a_captures_memory_grows_in_the_capture_alone(void **state)
{
    char *outside = alloc_on(4 * KIB, A);
    char *fence = alloc_on(4 * KIB, A), *other = alloc_on(KIB, B);
    tarn_capture capture = 0;
    expect_ok(tarn_capture_begin(pool, A, &capture));
    char *inside = alloc_on(4 * KIB, A);
    resize_on(inside, 10 * KIB, A);
    expect_not_resized(TARN_STATUS_NOT_IN_PLACE, inside, 12 * KIB, B, "belongs to a capture");
    resize_on(inside, 6 * KIB, A);
    resize_on(inside, 7 * KIB, A);
    resize_on(inside, 5 * KIB,
              B); /* what is given back is the capture's, and waits for the stream, too */
    expect_not_resized(TARN_STATUS_NOT_IN_PLACE, inside, 6 * KIB, A, "waits for other streams");
    free_on(fence, B);
    expect_not_resized(TARN_STATUS_NOT_IN_PLACE, outside, 5 * KIB, A, "belongs to a capture");
    resize_on(outside, 5 * KIB, B);
    resize_on(outside, 4 * KIB, B);
    expect_ok(tarn_capture_end(pool, capture));

    /* The graph is still there. */
    expect_not_resized(TARN_STATUS_NOT_IN_PLACE, inside, 7 * KIB, A, "belongs to a capture");
    free_on(inside, A);
    tarn_shortage shortage = TARN_SHORTAGE_INIT;
    void *none;
    expect_status(TARN_STATUS_OVER_LIMIT, tarn_pool_alloc_on(pool, 64 * KIB, A, &none));
    expect_ok(tarn_last_shortage(&shortage));
    assert_int_equal(shortage.captured_bytes, 10 * KIB);
    expect_ok(tarn_capture_release(pool, capture, NULL, 0));
    free_on(outside, B);
    free_on(other, B);
}

/* Others' memory that shrinks on a captured stream is the capture's, as after a free. */
static void what_is_given_back_in_a_capture_is_the_captures(void **state)
{
    char *x = alloc_on(60 * KIB, A), *y = alloc_on(4 * KIB, B);
    tarn_capture capture = 0;
    expect_ok(tarn_capture_begin(pool, A, &capture));
    resize_on(x, 20 * KIB, A);
    expect_not_resized(TARN_STATUS_NOT_IN_PLACE, x, 21 * KIB, B, "waits for other streams");
    /* It was used on the stream before the capture, and a launch may be on another. */
    void *none;
    expect_status(TARN_STATUS_OVER_LIMIT, tarn_pool_alloc_on(pool, 40 * KIB, A, &none));
    expect_ok(tarn_capture_end(pool, capture));
    expect_not_resized(TARN_STATUS_NOT_IN_PLACE, x, 21 * KIB, A, "waits for other streams");
    expect_ok(tarn_capture_release(pool, capture, NULL, 0));
    resize_on(x, 60 * KIB, A);
    free_on(y, B);
}

/* --- kinds of pools ------------------------------------------------------------------------------ */

static void a_contiguous_pool_resizes_in_what_is_mapped(void **state)
{
    backend.range_granularity_bytes = 4 * KIB;
    backend.total_bytes = 64 * 64 * KIB;
    opened = test_backend_open(&backend);
    options.contiguous = true;
    options.step_bytes = 64 * KIB;
    options.initial_bytes = 0;
    options.limit_bytes = 0;
    options.release_threshold_bytes = 1;
    create_anew();
    char *x = alloc(100 * KIB); /* two steps */
    resize(x, 128 * KIB);
    expect_not_resized(TARN_STATUS_NOT_IN_PLACE, x, 129 * KIB, NULL, "room for 131072");
    char *y = alloc(128 * KIB); /* two more */
    assert_ptr_equal(y, x + 128 * KIB);
    free_on(y, NULL);
    assert_int_equal(backend.held_bytes, 192 * KIB); /* one is the spare */
    resize(x, 192 * KIB);
    /* Steps that it gives back may go back to the vendor. */
    resize(x, 10 * KIB);
    assert_int_equal(backend.held_bytes, 128 * KIB);
    resize(x, 128 * KIB);
}

static void a_pool_over_the_callers_memory_resizes(void **state)
{
    destroy();
    /* No system maps user memory here. */
    void *const memory = (void *)((uintptr_t)1 << 56);
    expect_ok(tarn_pool_create_over(memory, 64 * KIB, NULL, &pool));
    char *x = alloc(10 * KIB);
    resize(x, 64 * KIB);
    expect_not_resized(TARN_STATUS_NOT_IN_PLACE, x, 65 * KIB, NULL, "room for 65536");
    resize(x, 20 * KIB);
    /* There are no events: what was freed on one stream is not for another. */
    expect_refused_on(TARN_STATUS_OVER_LIMIT, 20 * KIB, B);
    expect_not_resized(TARN_STATUS_NOT_IN_PLACE, x, 21 * KIB, B, "waits for other streams");
    resize(x, 21 * KIB);
}

static void a_pool_that_passes_through_stays_within_what_the_vendor_gave(void **state)
{
    options.passes_through = true;
    backend.granularity_bytes = 1;
    create_anew();
    char *x = alloc(5000);
    expect_not_resized(TARN_STATUS_NOT_IN_PLACE, x, 5001, NULL, "passes through");
    expect_not_resized(TARN_STATUS_NOT_IN_PLACE, x, 4096, NULL, "passes through");
    expect_not_resized(TARN_STATUS_NOT_IN_PLACE, x, 50000, NULL, "passes through");
    resize(x, 4097);
    assert_int_equal(stats_of(pool).used_bytes, 4097);
    expect_not_resized(TARN_STATUS_NOT_IN_PLACE, x, 5001, NULL, "passes through");
    resize(x, 5000);
    assert_int_equal(backend.acquire_count, 1);
    assert_int_equal(backend.held_bytes_max, 5000);
    free_on(x, NULL);
    assert_int_equal(backend.held_bytes, 0);
}

/* Memory that a thread has allocated out of an arena of its own; each call but alloc and free gathers it. */
static void what_lies_in_an_arena_is_found(void **state)
{
    const size_t sizes[] = { 3000, 0, 5000 };
    void *batch[4];
    options.initial_bytes = (size_t)64 << 20;
    options.limit_bytes = 0;
    create_anew();
    checks_every_step = false;
    free_on(alloc(KIB), NULL);
    for (int round = 0; round < 3; round++) {
        want_arenas();
        void *x = alloc(5000), *y = alloc(5000);
        expect_active(1);
        if (round == 0) {
            resize(y, 300 * KIB);
            resize(x, 10);
            expect_ok(tarn_pool_free_sized(pool, x, 10));
            expect_ok(tarn_pool_free_sized(pool, y, 300 * KIB));
        } else if (round == 1) {
            expect_status(TARN_STATUS_WRONG_SIZE, tarn_pool_free_sized(pool, x, 5120));
            free_one(y);
            expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_free_sized(pool, y, 5000));
            expect_ok(tarn_pool_free_sized(pool, x, 5000));
        } else {
            expect_ok(tarn_pool_alloc_many(pool, 3, sizes, batch));
            assert_ptr_not_equal(batch[0], x);
            batch[3] = x;
            expect_ok(tarn_pool_free_many(pool, 4, batch));
            expect_ok(tarn_pool_free_many(pool, 1, &y));
        }
        assert_int_equal(stats_of(pool).live_count, 0);
        expect_ok(tarn_pool_check(pool));
    }
}

static void a_fallbacks_memory_is_resized_there(void **state)
{
    destroy();
    tarn_pool_options of_fallback = options;
    of_fallback.limit_bytes = 0;
    of_fallback.initial_bytes = 256 * KIB;
    tarn_pool *fallback = new_pool(&of_fallback);
    options.fallback = fallback;
    create();
    char *x = alloc(100 * KIB);
    resize(x, 200 * KIB);
    resize(x, 20 * KIB);
    assert_int_equal(stats_of(fallback).used_bytes, 20 * KIB);
    expect_not_resized(TARN_STATUS_NOT_IN_PLACE, x, 300 * KIB, NULL, "room for 262144");
    free_on(x, NULL);
    expect_not_resized(TARN_STATUS_NOT_LIVE, x, KIB, NULL, "freed twice");
    destroy_empty();
    expect_ok(tarn_pool_destroy(fallback));
}

/* --- debug mode ---------------------------------------------------------------------------------- */

static void with_call_sites_it_is_as_without(void **state)
{
    char text[4096];
    options.debug = TARN_DEBUG_SITES;
    create_anew();
    tarn_label_push("mesh");
    char *x = alloc(5000);
    tarn_label_pop();
    resize(x, 20000);
    assert_int_equal(stats_of(pool).requested_bytes, 20000);
    assert_int_equal(stats_of(pool).requested_bytes_max, 20000);
    resize(x, 3000);
    assert_int_equal(stats_of(pool).requested_bytes, 3000);
    assert_int_equal(stats_of(pool).requested_bytes_max, 20000);
    expect_not_resized(TARN_STATUS_NOT_IN_PLACE, x, 70 * KIB, NULL, "room for 65536");
    expect_not_resized(TARN_STATUS_INTERIOR_ADDRESS, x + 1, KIB, NULL, "lies inside");
    FILE *file = tmpfile();
    expect_ok(tarn_pool_report_leaks(pool, file));
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    if (!strstr(text, "1 live allocation, 3000 bytes, \"mesh\"")) fail_msg("%s", text);
    free_on(x, NULL);
    assert_int_equal(stats_of(pool).requested_bytes, 0);
    expect_not_resized(TARN_STATUS_NOT_LIVE, x, KIB, NULL, "freed twice");
}

static void where_the_ends_are_watched_it_is_refused(void **state)
{
    static const unsigned modes[] = { TARN_DEBUG_ZONES, TARN_DEBUG_POISON, TARN_DEBUG_QUARANTINE };
    tarn_backend host = new_host_backend(NULL);
    destroy();
    options.backend = &host;
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        options.debug = modes[i];
        create();
        char *x = alloc(5000);
        static const size_t sizes[] = { 1, 4999, 5001, 20000 };
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
            expect_not_resized(TARN_STATUS_NOT_IN_PLACE, x, sizes[k], NULL, "debug mode");
        resize(x, 5000);
        free_on(x, NULL);
        expect_not_resized(TARN_STATUS_NOT_LIVE, x, 100, NULL, "freed");
        destroy();
    }
    tarn_backend_close(&host);
}

/* --- host memory --------------------------------------------------------------------------------- */

/* Shrinks so many that records have to be made. */
static void one_life(void)
{
    enum {
        BLOCKS = 32
    };
    void *blocks[BLOCKS];
    size_t count = 0;
    tarn_status status = tarn_pool_create(&options, &pool);
    if (status == TARN_STATUS_OUT_OF_HOST_MEMORY) return;
    expect_ok(status);
    while (count < BLOCKS) {
        status = tarn_pool_alloc_on(pool, 2 * KIB, A, &blocks[count]);
        if (status != TARN_STATUS_OK) break;
        count++;
    }
    for (size_t i = 0; i < count; i++) {
        tarn_stats before = stats_of(pool);
        status = tarn_pool_resize_on(pool, blocks[i], KIB, i % 2 == 0 ? A : B);
        tarn_stats after = stats_of(pool);
        if (status != TARN_STATUS_OK) {
            expect_status(TARN_STATUS_OUT_OF_HOST_MEMORY, status);
            assert_int_equal(after.requested_bytes, before.requested_bytes);
            assert_int_equal(after.used_bytes, before.used_bytes);
        }
        expect_ok(tarn_pool_check(pool));
    }
    for (size_t i = 0; i < count; i++)
        free_on(blocks[i], A);
    destroy();
}

static void every_host_allocation_may_fail(void **state)
{
    destroy();
    bool has_failed = true;
    unsigned n = 1;
    for (; has_failed; n++) {
        host_memory_faults_begin(n);
        one_life();
        has_failed = host_memory_faults_end();
    }
    assert_true(n > 15);
}

static void growing_needs_no_host_memory(void **state)
{
    char *x = alloc(KIB);
    host_memory_faults_begin(1);
    resize(x, 30 * KIB);
    resize(x, 64 * KIB);
    assert_false(host_memory_faults_end());
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up_that_cannot_grow, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(it_grows_into_what_is_free_behind),
        CASE(what_it_gives_back_is_free_for_others),
        CASE(it_is_found_by_any_address_however_large),
        CASE(what_is_free_may_be_a_giant),
        CASE(within_a_chunk_nothing_but_the_size_changes),
        CASE(an_alignment_stays),
        CASE(another_static_pool_is_never_taken),
        CASE(statistics_stay_right),
        CASE(a_sized_free_wants_the_new_size),
        CASE(bad_arguments_are_refused),
        CASE(what_a_stream_has_freed_it_grows_into),
        CASE(what_a_stream_has_waited_for_it_grows_into),
        CASE(what_it_gives_back_waits_for_the_stream),
        CASE(it_waits_for_the_stream_though_that_was_the_only_one),
        CASE(a_stream_that_is_new_is_introduced),
        CASE(what_ends_unannounced_is_recorded),
        CASE(a_captures_memory_grows_in_the_capture_alone),
        CASE(what_is_given_back_in_a_capture_is_the_captures),
        CASE(a_contiguous_pool_resizes_in_what_is_mapped),
        CASE(a_pool_over_the_callers_memory_resizes),
        CASE(a_pool_that_passes_through_stays_within_what_the_vendor_gave),
        CASE(what_lies_in_an_arena_is_found),
        CASE(a_fallbacks_memory_is_resized_there),
        CASE(with_call_sites_it_is_as_without),
        CASE(where_the_ends_are_watched_it_is_refused),
        CASE(every_host_allocation_may_fail),
        CASE(growing_needs_no_host_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
