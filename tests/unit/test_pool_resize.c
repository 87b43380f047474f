/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Resizing in place: what is taken from behind and what is given back, on which stream, in every kind of pool; and
 * that a refusal changes nothing. Chunks are 1 KiB.
 */
#include <stdio.h>

#include "core/pool/pool_arenas.h"
#include "harness/claims.h"
#include "harness/host_memory_faults.h"
#include "harness/test_backend.h"
#include "tarn/host.h"

#define KIB ((size_t)1024)

/* Handles are never followed. */
static char handles[40];
#define STREAM(number) ((tarn_stream)&handles[number])
#define A              STREAM(0)
#define B              STREAM(1)

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
    assert_int_equal(fixture->backend.misuse_count, 0);
    return 0;
}

static void create_anew(struct fixture *fixture)
{
    expect_ok(tarn_pool_destroy_forced(fixture->pool, NULL));
    expect_ok(tarn_pool_create(&fixture->options, &fixture->pool));
}

static char *alloc_on(struct fixture *fixture, size_t size_bytes, tarn_stream stream)
{
    void *address;
    expect_ok(tarn_pool_alloc_on(fixture->pool, size_bytes, stream, &address));
    expect_ok(tarn_pool_check(fixture->pool));
    return address;
}

static char *alloc(struct fixture *fixture, size_t size_bytes)
{
    return alloc_on(fixture, size_bytes, NULL);
}

static void free_on(struct fixture *fixture, void *address, tarn_stream stream)
{
    expect_ok(tarn_pool_free_on(fixture->pool, address, stream));
    expect_ok(tarn_pool_check(fixture->pool));
}

static void expect_size(struct fixture *fixture, char *address, size_t size_bytes)
{
    tarn_allocation found = TARN_ALLOCATION_INIT;
    expect_ok(tarn_pool_find(address + size_bytes - 1, &found));
    assert_ptr_equal(found.address, address);
    assert_int_equal(found.size_bytes, size_bytes);
    assert_true(found.usable_bytes >= size_bytes);
    expect_ok(tarn_pool_check(fixture->pool));
}

static void resize_on(struct fixture *fixture, char *address, size_t size_bytes, tarn_stream stream)
{
    expect_ok(tarn_pool_resize_on(fixture->pool, address, size_bytes, stream));
    expect_size(fixture, address, size_bytes);
}

static void resize(struct fixture *fixture, char *address, size_t size_bytes)
{
    expect_ok(tarn_pool_resize(fixture->pool, address, size_bytes));
    expect_size(fixture, address, size_bytes);
}

/* Nothing at all has changed. */
static void expect_refused(struct fixture *fixture, tarn_status expected, void *address,
                           size_t size_bytes, tarn_stream stream, const char *why)
{
    tarn_stats before = stats_of(fixture->pool);
    expect_status(expected, tarn_pool_resize_on(fixture->pool, address, size_bytes, stream));
    expect_message(why);
    tarn_stats after = stats_of(fixture->pool);
    after.metadata_bytes = before.metadata_bytes; /* a stream may have been introduced */
    assert_memory_equal(&after, &before, sizeof after);
    expect_ok(tarn_pool_check(fixture->pool));
}

/* --- what is behind ------------------------------------------------------------------------------ */

static void it_grows_into_what_is_free_behind(void **state)
{
    struct fixture *fixture = *state;
    char *x = alloc(fixture, 4 * KIB), *gap = alloc(fixture, 8 * KIB), *end = alloc(fixture, KIB);
    expect_refused(fixture, TARN_STATUS_NOT_IN_PLACE, x, 4 * KIB + 1, NULL, "room for 4096");
    free_on(fixture, gap, NULL);
    resize(fixture, x, 4 * KIB + 1);
    assert_int_equal(stats_of(fixture->pool).used_bytes, 6 * KIB);
    assert_int_equal(stats_of(fixture->pool).free_region_count, 2);
    resize(fixture, x, 5 * KIB + 1);
    resize(fixture, x, 11 * KIB + 1);
    assert_int_equal(stats_of(fixture->pool).free_region_count, 1);
    expect_refused(fixture, TARN_STATUS_NOT_IN_PLACE, x, 12 * KIB + 1, NULL, "room for 12288");
    resize(fixture, x, 12 * KIB);
    free_on(fixture, x, NULL);
    resize(fixture, end, 52 * KIB);
    expect_refused(fixture, TARN_STATUS_NOT_IN_PLACE, end, 52 * KIB + 1, NULL, "room for 53248");
    assert_int_equal(stats_of(fixture->pool).largest_free_bytes, 12 * KIB);
    free_on(fixture, end, NULL);
    assert_int_equal(stats_of(fixture->pool).largest_free_bytes, 64 * KIB);
}

static void what_it_gives_back_is_free_for_others(void **state)
{
    struct fixture *fixture = *state;
    char *x = alloc(fixture, 64 * KIB);
    resize(fixture, x, 40 * KIB); /* nothing is free behind it */
    assert_int_equal(stats_of(fixture->pool).free_region_count, 1);
    resize(fixture, x, 30 * KIB + 5); /* what follows is free, and they are one */
    assert_int_equal(stats_of(fixture->pool).free_region_count, 1);
    assert_int_equal(stats_of(fixture->pool).largest_free_bytes, 33 * KIB);
    char *y = alloc(fixture, 33 * KIB);
    assert_ptr_equal(y, x + 31 * KIB);
    resize(fixture, x, 1);
    assert_int_equal(stats_of(fixture->pool).free_region_count, 1);
    assert_ptr_equal(alloc(fixture, 30 * KIB), x + KIB);
}

/* Groups of 64 chunks in which regions start and do not start. */
static void it_is_found_by_any_address_however_large(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.initial_bytes = fixture->options.limit_bytes = 1024 * KIB;
    create_anew(fixture);
    char *x = alloc(fixture, KIB);
    static const size_t sizes_kib[] = { 64, 65, 63, 128, 200, 1, 1023, 1024, 129, 64, 2 };
    for (size_t i = 0; i < sizeof sizes_kib / sizeof *sizes_kib; i++) {
        resize(fixture, x, sizes_kib[i] * KIB);
        tarn_allocation found = TARN_ALLOCATION_INIT;
        if (sizes_kib[i] == 1024) continue;
        expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_find(x + sizes_kib[i] * KIB, &found));
        char *behind = alloc(fixture, KIB);
        assert_ptr_equal(behind, x + sizes_kib[i] * KIB);
        free_on(fixture, behind, NULL);
    }
}

/* Free regions of 16384 chunks and more are kept apart from the others. */
static void what_is_free_may_be_a_giant(void **state)
{
    struct fixture *fixture = *state;
    enum {
        CHUNK = 256,
        CHUNKS = 40000
    };
    fixture->options.chunk_bytes = CHUNK;
    fixture->options.initial_bytes = fixture->options.limit_bytes = (size_t)CHUNKS * CHUNK;
    create_anew(fixture);
    char *x = alloc(fixture, CHUNK), *y = alloc(fixture, CHUNK);
    free_on(fixture, y, NULL);
    static const size_t left[] = { 16385, 16384, 16383, 16384, 30000, 20000,
                                   1,     16383, 0,     16384, 39999 };
    for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
        resize(fixture, x, (CHUNKS - left[i]) * CHUNK);
        assert_int_equal(stats_of(fixture->pool).largest_free_bytes, left[i] * CHUNK);
        if (left[i] == 0) continue;
        y = alloc(fixture, left[i] * CHUNK);
        assert_ptr_equal(y, x + (CHUNKS - left[i]) * CHUNK);
        free_on(fixture, y, NULL);
    }
}

static void within_a_chunk_nothing_but_the_size_changes(void **state)
{
    struct fixture *fixture = *state;
    char *x = alloc(fixture, 3 * KIB + 1), *y = alloc(fixture, KIB);
    resize(fixture, x, 4 * KIB);
    resize(fixture, x, 3 * KIB + 1);
    resize(fixture, x, 3 * KIB + 500);
    assert_int_equal(stats_of(fixture->pool).used_bytes, 5 * KIB);
    assert_int_equal(stats_of(fixture->pool).requested_bytes, 4 * KIB + 500);
    resize(fixture, y, 1);
    resize(fixture, y, 1);
}

static void an_alignment_stays(void **state)
{
    struct fixture *fixture = *state;
    void *address;
    expect_ok(tarn_pool_alloc_aligned(fixture->pool, 5 * KIB, 16 * KIB, &address));
    char *x = address;
    resize(fixture, x, 20 * KIB);
    resize(fixture, x, 3);
    assert_int_equal((uintptr_t)x % (16 * KIB), 0);
}

static void another_static_pool_is_never_taken(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.limit_bytes = 0;
    fixture->options.growth_factor = 1.0;
    create_anew(fixture);
    char *x = alloc(fixture, 64 * KIB), *y = alloc(fixture, KIB);
    expect_refused(fixture, TARN_STATUS_NOT_IN_PLACE, x, 65 * KIB, NULL, "room for 65536");
    resize(fixture, y, 64 * KIB);
    expect_refused(fixture, TARN_STATUS_NOT_IN_PLACE, y, 65 * KIB, NULL, "room for 65536");
    assert_int_equal(fixture->backend.acquire_count, 2);
}

/* --- counts -------------------------------------------------------------------------------------- */

static void statistics_stay_right(void **state)
{
    struct fixture *fixture = *state;
    char *x = alloc(fixture, 5000);
    tarn_stats before = stats_of(fixture->pool);
    resize(fixture, x, 20000);
    tarn_stats grown = stats_of(fixture->pool);
    assert_int_equal(grown.requested_bytes, 20000);
    assert_int_equal(grown.requested_bytes_max, 20000);
    assert_int_equal(grown.used_bytes, 20 * KIB);
    assert_int_equal(grown.used_bytes_max, 20 * KIB);
    assert_int_equal(grown.free_bytes, 44 * KIB);
    resize(fixture, x, 700);
    tarn_stats shrunk = stats_of(fixture->pool);
    assert_int_equal(shrunk.requested_bytes, 700);
    assert_int_equal(shrunk.requested_bytes_max, 20000);
    assert_int_equal(shrunk.used_bytes, KIB);
    assert_int_equal(shrunk.used_bytes_max, 20 * KIB);
    expect_status(TARN_STATUS_NOT_IN_PLACE, tarn_pool_resize(fixture->pool, x, 65 * KIB));
    expect_status(TARN_STATUS_INTERIOR_ADDRESS, tarn_pool_resize(fixture->pool, x + 1, 1));
    shrunk = stats_of(fixture->pool);
    assert_int_equal(shrunk.live_count, 1);
    assert_int_equal(shrunk.alloc_count, before.alloc_count);
    assert_int_equal(shrunk.free_count, before.free_count);
    assert_int_equal(shrunk.failed_count, before.failed_count);
    assert_memory_equal(shrunk.size_histogram, before.size_histogram, sizeof before.size_histogram);
    assert_int_equal(shrunk.vendor_alloc_count, before.vendor_alloc_count);
}

static void a_sized_free_wants_the_new_size(void **state)
{
    struct fixture *fixture = *state;
    char *x = alloc(fixture, 5000);
    resize(fixture, x, 9000);
    expect_status(TARN_STATUS_WRONG_SIZE, tarn_pool_free_sized(fixture->pool, x, 5000));
    expect_ok(tarn_pool_free_sized(fixture->pool, x, 9000));
}

/* --- bad arguments ------------------------------------------------------------------------------- */

static void bad_arguments_are_refused(void **state)
{
    struct fixture *fixture = *state;
    int mine;
    char *x = alloc(fixture, 5000), *y = alloc(fixture, 5000);
    expect_refused(fixture, TARN_STATUS_INVALID_ARGUMENT, x, 0, NULL, "size_bytes is 0");
    expect_refused(fixture, TARN_STATUS_INVALID_ARGUMENT, NULL, 100, NULL, "address is NULL");
    expect_refused(fixture, TARN_STATUS_SIZE_TOO_LARGE, x, SIZE_MAX, NULL, "18446744073709551615");
    expect_refused(fixture, TARN_STATUS_SIZE_TOO_LARGE, x, (size_t)INT32_MAX * KIB + 1, NULL,
                   "bytes");
    expect_refused(fixture, TARN_STATUS_NOT_IN_PLACE, x, (size_t)INT32_MAX * KIB, NULL, "room");
    expect_refused(fixture, TARN_STATUS_INTERIOR_ADDRESS, x + KIB, 100, NULL, "lies inside");
    expect_refused(fixture, TARN_STATUS_FOREIGN_ADDRESS, &mine, 100, NULL, "no pool");
    free_on(fixture, y, NULL);
    expect_refused(fixture, TARN_STATUS_NOT_LIVE, y, 100, NULL, "freed twice");
    struct fixture other = *fixture;
    expect_ok(tarn_pool_create(&fixture->options, &other.pool));
    expect_refused(&other, TARN_STATUS_WRONG_POOL, x, 100, NULL, "not to the one");
    expect_ok(tarn_pool_destroy(other.pool));
    expect_status(TARN_STATUS_INVALID_POOL, tarn_pool_resize(NULL, x, 1));
    expect_status(TARN_STATUS_INVALID_POOL, tarn_pool_resize_on(other.pool, x, 1, A));
}

/* --- streams ------------------------------------------------------------------------------------- */

static void what_a_stream_has_freed_it_grows_into(void **state)
{
    struct fixture *fixture = *state;
    char *x = alloc_on(fixture, 4 * KIB, A), *gap = alloc_on(fixture, 8 * KIB, B);
    alloc_on(fixture, 52 * KIB, A);
    free_on(fixture, gap, B);
    test_backend_take_calls(&fixture->backend);
    expect_refused(fixture, TARN_STATUS_NOT_IN_PLACE, x, 5 * KIB, A, "waits for other streams");
    resize_on(fixture, x, 5 * KIB, B);
    resize_on(fixture, x, 4 * KIB + 1, A);
    expect_refused(fixture, TARN_STATUS_NOT_IN_PLACE, x, 5 * KIB + 1, A, "waits for other streams");
    assert_int_equal(test_backend_take_calls(&fixture->backend), 0);
}

static void what_a_stream_has_waited_for_it_grows_into(void **state)
{
    struct fixture *fixture = *state;
    char *x = alloc_on(fixture, 4 * KIB, A), *gap = alloc_on(fixture, 8 * KIB, B);
    char *fence = alloc_on(fixture, 4 * KIB, B), *rest = alloc_on(fixture, 48 * KIB, B);
    free_on(fixture, gap, B);
    free_on(fixture, rest, B);
    /* A is made to wait for all that B has freed so far. */
    alloc_on(fixture, 48 * KIB, A);
    assert_int_equal(fixture->backend.wait_count, 1);
    test_backend_take_calls(&fixture->backend);
    resize_on(fixture, x, 12 * KIB, A);
    assert_int_equal(test_backend_take_calls(&fixture->backend), 0);
    assert_ptr_equal(fence, x + 12 * KIB);
}

static void what_it_gives_back_waits_for_the_stream(void **state)
{
    struct fixture *fixture = *state;
    char *x = alloc_on(fixture, 60 * KIB, A), *y = alloc_on(fixture, 4 * KIB, B);
    resize_on(fixture, x, 20 * KIB, A);
    assert_int_equal(stats_of(fixture->pool).pending_bytes, 40 * KIB);
    test_backend_take_calls(&fixture->backend);
    char *z = alloc_on(fixture, 10 * KIB, A);
    assert_int_equal(test_backend_take_calls(&fixture->backend), 0);
    char *w = alloc_on(fixture, 10 * KIB, B);
    assert_int_equal(fixture->backend.wait_count, 1);
    assert_ptr_equal(fixture->backend.waits[0].stream, B);
    assert_ptr_equal(fixture->backend.waits[0].awaited, A);
    assert_ptr_equal(z, x + 20 * KIB);
    assert_ptr_equal(w, x + 30 * KIB);
    free_on(fixture, y, B);
}

/* Nothing has been freed when the second stream comes, but for what a resize gave back. */
static void it_waits_for_the_stream_though_that_was_the_only_one(void **state)
{
    struct fixture *fixture = *state;
    char *x = alloc_on(fixture, 64 * KIB, A);
    resize_on(fixture, x, 20 * KIB, A);
    assert_int_equal(stats_of(fixture->pool).free_count, 0);
    char *y = alloc_on(fixture, 40 * KIB, B);
    assert_ptr_equal(y, x + 20 * KIB);
    assert_int_equal(fixture->backend.wait_count, 1);
    assert_ptr_equal(fixture->backend.waits[0].awaited, A);
}

static void a_stream_that_is_new_is_introduced(void **state)
{
    struct fixture *fixture = *state;
    char *x = alloc_on(fixture, 20 * KIB, A);
    fixture->backend.foreign_stream = B;
    expect_refused(fixture, TARN_STATUS_INVALID_ARGUMENT, x, 10 * KIB, B, "is no stream of");
    /* Where no stream matters none is looked at. */
    expect_ok(tarn_pool_resize_on(fixture->pool, x, 20 * KIB - 1, B));
    fixture->backend.foreign_stream = NULL;
    resize_on(fixture, x, 10 * KIB, B);
    assert_int_equal(stats_of(fixture->pool).pending_bytes, 10 * KIB);
    resize_on(fixture, x, 20 * KIB, B);
    expect_refused(fixture, TARN_STATUS_NOT_IN_PLACE, x, 70 * KIB, STREAM(2), "room for 65536");
    expect_refused(fixture, TARN_STATUS_INTERIOR_ADDRESS, x + KIB, KIB, STREAM(3), "lies inside");
}

/* A pool in which each call says anew which stream it is, and each free is recorded at once. */
static void what_ends_unannounced_is_recorded(void **state)
{
    struct fixture *fixture = *state;
    fixture->backend.has_ids = true;
    fixture->opened = test_backend_open(&fixture->backend);
    fixture->options.identifies_streams = true;
    create_anew(fixture);
    char *x = alloc_on(fixture, 64 * KIB, A);
    unsigned records = fixture->backend.call_counts[TEST_CALL_EVENT_RECORD];
    resize_on(fixture, x, 20 * KIB, A);
    assert_int_equal(fixture->backend.call_counts[TEST_CALL_EVENT_RECORD], records + 1);
    resize_on(fixture, x, 30 * KIB, A);
    assert_int_equal(fixture->backend.call_counts[TEST_CALL_EVENT_RECORD], records + 1);
    test_backend_end_stream(&fixture->backend, A);
    test_backend_begin_stream(&fixture->backend, A);
    expect_refused(fixture, TARN_STATUS_NOT_IN_PLACE, x, 40 * KIB, A, "waits for other streams");
    fixture->backend.fail_call_at[TEST_CALL_STREAM_ID] = 1;
    fixture->backend.call_failure = TARN_STATUS_VENDOR_ERROR;
    expect_refused(fixture, TARN_STATUS_VENDOR_ERROR, x, 25 * KIB, A, "failed to look at stream");
}

/* --- captured streams ---------------------------------------------------------------------------- */

static void a_captures_memory_grows_in_the_capture_alone(void **state)
{
    struct fixture *fixture = *state;
    char *outside = alloc_on(fixture, 4 * KIB, A);
    char *fence = alloc_on(fixture, 4 * KIB, A), *other = alloc_on(fixture, KIB, B);
    tarn_capture capture = 0;
    expect_ok(tarn_capture_begin(fixture->pool, A, &capture));
    char *inside = alloc_on(fixture, 4 * KIB, A);
    resize_on(fixture, inside, 10 * KIB, A);
    expect_refused(fixture, TARN_STATUS_NOT_IN_PLACE, inside, 12 * KIB, B, "belongs to a capture");
    resize_on(fixture, inside, 5 * KIB, B); /* what is given back is the capture's all the same */
    resize_on(fixture, inside, 6 * KIB, A);
    free_on(fixture, fence, B);
    expect_refused(fixture, TARN_STATUS_NOT_IN_PLACE, outside, 5 * KIB, A, "belongs to a capture");
    resize_on(fixture, outside, 5 * KIB, B);
    resize_on(fixture, outside, 4 * KIB, B);
    expect_ok(tarn_capture_end(fixture->pool, capture));

    /* The graph is still there. */
    expect_refused(fixture, TARN_STATUS_NOT_IN_PLACE, inside, 7 * KIB, A, "belongs to a capture");
    free_on(fixture, inside, A);
    tarn_shortage shortage = TARN_SHORTAGE_INIT;
    void *none;
    expect_status(TARN_STATUS_OVER_LIMIT, tarn_pool_alloc_on(fixture->pool, 64 * KIB, A, &none));
    expect_ok(tarn_last_shortage(&shortage));
    assert_int_equal(shortage.private_bytes, 10 * KIB);
    expect_ok(tarn_capture_release(fixture->pool, capture, NULL, 0));
    free_on(fixture, outside, B);
    free_on(fixture, other, B);
}

/* Others' memory that shrinks on a captured stream is the capture's, as after a free. */
static void what_is_given_back_in_a_capture_is_the_captures(void **state)
{
    struct fixture *fixture = *state;
    char *x = alloc_on(fixture, 60 * KIB, A), *y = alloc_on(fixture, 4 * KIB, B);
    tarn_capture capture = 0;
    expect_ok(tarn_capture_begin(fixture->pool, A, &capture));
    resize_on(fixture, x, 20 * KIB, A);
    expect_refused(fixture, TARN_STATUS_NOT_IN_PLACE, x, 21 * KIB, B, "waits for other streams");
    char *z = alloc_on(fixture, 40 * KIB, A);
    assert_ptr_equal(z, x + 20 * KIB);
    free_on(fixture, z, B);
    expect_ok(tarn_capture_end(fixture->pool, capture));
    expect_refused(fixture, TARN_STATUS_NOT_IN_PLACE, x, 21 * KIB, A, "waits for other streams");
    expect_ok(tarn_capture_release(fixture->pool, capture, NULL, 0));
    resize_on(fixture, x, 60 * KIB, B);
    free_on(fixture, y, B);
}

/* --- kinds of pools ------------------------------------------------------------------------------ */

static void a_contiguous_pool_resizes_in_what_is_mapped(void **state)
{
    struct fixture *fixture = *state;
    fixture->backend.range_granularity_bytes = 4 * KIB;
    fixture->backend.total_bytes = 64 * 64 * KIB;
    fixture->opened = test_backend_open(&fixture->backend);
    fixture->options.contiguous = true;
    fixture->options.step_bytes = 64 * KIB;
    fixture->options.initial_bytes = 0;
    fixture->options.limit_bytes = 0;
    fixture->options.release_threshold_bytes = 1;
    create_anew(fixture);
    char *x = alloc(fixture, 100 * KIB); /* two steps */
    resize(fixture, x, 128 * KIB);
    expect_refused(fixture, TARN_STATUS_NOT_IN_PLACE, x, 129 * KIB, NULL, "room for 131072");
    char *y = alloc(fixture, 128 * KIB); /* two more */
    assert_ptr_equal(y, x + 128 * KIB);
    free_on(fixture, y, NULL);
    assert_int_equal(fixture->backend.held_bytes, 192 * KIB); /* one is the spare */
    resize(fixture, x, 192 * KIB);
    /* Steps that it gives back may go back to the vendor. */
    resize(fixture, x, 10 * KIB);
    assert_int_equal(fixture->backend.held_bytes, 128 * KIB);
    resize(fixture, x, 128 * KIB);
}

static void a_pool_over_the_callers_memory_resizes(void **state)
{
    struct fixture *fixture = *state;
    struct fixture over = *fixture;
    /* No system maps user memory here. */
    void *const memory = (void *)((uintptr_t)1 << 56);
    expect_ok(tarn_pool_create_over(memory, 64 * KIB, NULL, &over.pool));
    char *x = alloc(&over, 10 * KIB);
    resize(&over, x, 64 * KIB);
    expect_refused(&over, TARN_STATUS_NOT_IN_PLACE, x, 65 * KIB, NULL, "room for 65536");
    resize(&over, x, 20 * KIB);
    /* There are no events: what was freed on one stream is not for another. */
    void *none;
    expect_status(TARN_STATUS_OVER_LIMIT, tarn_pool_alloc_on(over.pool, 20 * KIB, B, &none));
    expect_refused(&over, TARN_STATUS_NOT_IN_PLACE, x, 21 * KIB, B, "waits for other streams");
    resize(&over, x, 21 * KIB);
    expect_ok(tarn_pool_destroy_forced(over.pool, NULL));
}

static void a_pool_that_passes_through_stays_within_what_the_vendor_gave(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.passes_through = true;
    fixture->backend.granularity_bytes = 1;
    create_anew(fixture);
    char *x = alloc(fixture, 5000);
    expect_refused(fixture, TARN_STATUS_NOT_IN_PLACE, x, 5001, NULL, "passes through");
    expect_refused(fixture, TARN_STATUS_NOT_IN_PLACE, x, 4096, NULL, "passes through");
    expect_refused(fixture, TARN_STATUS_NOT_IN_PLACE, x, 50000, NULL, "passes through");
    resize(fixture, x, 4097);
    assert_int_equal(stats_of(fixture->pool).used_bytes, 4097);
    expect_refused(fixture, TARN_STATUS_NOT_IN_PLACE, x, 5001, NULL, "passes through");
    resize(fixture, x, 5000);
    assert_int_equal(fixture->backend.acquire_count, 1);
    assert_int_equal(fixture->backend.held_bytes_max, 5000);
    free_on(fixture, x, NULL);
    assert_int_equal(fixture->backend.held_bytes, 0);
}

/* Memory that a thread has allocated out of an arena of its own; each call but alloc and free gathers it. */
static void what_lies_in_an_arena_is_found(void **state)
{
    struct fixture *fixture = *state;
    const size_t sizes[] = { 3000, 0, 5000 };
    void *batch[4];
    fixture->options.initial_bytes = (size_t)64 << 20;
    fixture->options.limit_bytes = 0;
    create_anew(fixture);
    free_on(fixture, alloc(fixture, KIB), NULL);
    for (int round = 0; round < 3; round++) {
        void *x, *y;
        tn_biased_mutex_lock(&fixture->pool->lock);
        assert_true(tn_arenas_want(fixture->pool));
        tn_biased_mutex_unlock(&fixture->pool->lock);
        expect_ok(tarn_pool_alloc(fixture->pool, 5000, &x));
        expect_ok(tarn_pool_alloc(fixture->pool, 5000, &y));
        assert_int_equal(atomic_load(&fixture->pool->arenas.active_count), 1);
        if (round == 0) {
            resize(fixture, y, 300 * KIB);
            resize(fixture, x, 10);
            expect_ok(tarn_pool_free_sized(fixture->pool, x, 10));
            expect_ok(tarn_pool_free_sized(fixture->pool, y, 300 * KIB));
        } else if (round == 1) {
            expect_status(TARN_STATUS_WRONG_SIZE, tarn_pool_free_sized(fixture->pool, x, 5120));
            expect_ok(tarn_pool_free(fixture->pool, y));
            expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_free_sized(fixture->pool, y, 5000));
            expect_ok(tarn_pool_free_sized(fixture->pool, x, 5000));
        } else {
            expect_ok(tarn_pool_alloc_many(fixture->pool, 3, sizes, batch));
            assert_ptr_not_equal(batch[0], x);
            batch[3] = x;
            expect_ok(tarn_pool_free_many(fixture->pool, 4, batch));
            expect_ok(tarn_pool_free_many(fixture->pool, 1, &y));
        }
        assert_int_equal(stats_of(fixture->pool).live_count, 0);
        expect_ok(tarn_pool_check(fixture->pool));
    }
}

static void a_fallbacks_memory_is_resized_there(void **state)
{
    struct fixture *fixture = *state;
    struct fixture fallback = *fixture;
    fallback.options.limit_bytes = 0;
    fallback.options.initial_bytes = 256 * KIB;
    expect_ok(tarn_pool_create(&fallback.options, &fallback.pool));
    fixture->options.fallback = fallback.pool;
    create_anew(fixture);
    char *x = alloc(fixture, 100 * KIB);
    resize(fixture, x, 200 * KIB);
    resize(fixture, x, 20 * KIB);
    assert_int_equal(stats_of(fallback.pool).used_bytes, 20 * KIB);
    expect_refused(fixture, TARN_STATUS_NOT_IN_PLACE, x, 300 * KIB, NULL, "room for 262144");
    free_on(fixture, x, NULL);
    expect_refused(fixture, TARN_STATUS_NOT_LIVE, x, KIB, NULL, "freed twice");
    fixture->options.fallback = NULL;
    create_anew(fixture);
    expect_ok(tarn_pool_destroy(fallback.pool));
}

/* --- debug mode ---------------------------------------------------------------------------------- */

static void with_call_sites_it_is_as_without(void **state)
{
    struct fixture *fixture = *state;
    char text[4096];
    fixture->options.debug = TARN_DEBUG_SITES;
    create_anew(fixture);
    tarn_label_push("mesh");
    char *x = alloc(fixture, 5000);
    tarn_label_pop();
    resize(fixture, x, 20000);
    assert_int_equal(stats_of(fixture->pool).requested_bytes, 20000);
    assert_int_equal(stats_of(fixture->pool).requested_bytes_max, 20000);
    resize(fixture, x, 3000);
    assert_int_equal(stats_of(fixture->pool).requested_bytes, 3000);
    assert_int_equal(stats_of(fixture->pool).requested_bytes_max, 20000);
    expect_refused(fixture, TARN_STATUS_NOT_IN_PLACE, x, 70 * KIB, NULL, "room for 65536");
    expect_refused(fixture, TARN_STATUS_INTERIOR_ADDRESS, x + 1, KIB, NULL, "lies inside");
    FILE *file = tmpfile();
    expect_ok(tarn_pool_report_leaks(fixture->pool, file));
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    if (!strstr(text, "1 live allocation, 3000 bytes, \"mesh\"")) fail_msg("%s", text);
    free_on(fixture, x, NULL);
    assert_int_equal(stats_of(fixture->pool).requested_bytes, 0);
    expect_refused(fixture, TARN_STATUS_NOT_LIVE, x, KIB, NULL, "freed twice");
}

static void where_the_ends_are_watched_it_is_refused(void **state)
{
    struct fixture *fixture = *state;
    static const unsigned modes[] = { TARN_DEBUG_ZONES, TARN_DEBUG_POISON, TARN_DEBUG_QUARANTINE };
    tarn_backend host;
    expect_ok(tarn_host_backend_open(NULL, &host));
    struct fixture watched = *fixture;
    watched.options.backend = &host;
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        watched.options.debug = modes[i];
        expect_ok(tarn_pool_create(&watched.options, &watched.pool));
        char *x = alloc(&watched, 5000);
        static const size_t sizes[] = { 1, 4999, 5001, 20000 };
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
            expect_refused(&watched, TARN_STATUS_NOT_IN_PLACE, x, sizes[k], NULL, "debug mode");
        resize(&watched, x, 5000);
        free_on(&watched, x, NULL);
        expect_refused(&watched, TARN_STATUS_NOT_LIVE, x, 100, NULL, "freed");
        expect_ok(tarn_pool_destroy(watched.pool));
    }
    tarn_backend_close(&host);
}

/* --- host memory --------------------------------------------------------------------------------- */

/* Shrinks so many that records have to be made. */
static void one_life(struct fixture *fixture)
{
    enum {
        BLOCKS = 32
    };
    void *blocks[BLOCKS];
    size_t count = 0;
    tarn_pool *pool;
    tarn_status status = tarn_pool_create(&fixture->options, &pool);
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
        expect_ok(tarn_pool_free_on(pool, blocks[i], A));
    expect_ok(tarn_pool_check(pool));
    expect_ok(tarn_pool_destroy(pool));
}

static void every_host_allocation_may_fail(void **state)
{
    struct fixture *fixture = *state;
    bool has_failed = true;
    unsigned n = 1;
    for (; has_failed; n++) {
        host_memory_faults_begin(n);
        one_life(fixture);
        has_failed = host_memory_faults_end();
    }
    assert_true(n > 15);
}

static void growing_needs_no_host_memory(void **state)
{
    struct fixture *fixture = *state;
    char *x = alloc(fixture, KIB);
    host_memory_faults_begin(1);
    resize(fixture, x, 30 * KIB);
    resize(fixture, x, 64 * KIB);
    assert_false(host_memory_faults_end());
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

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
