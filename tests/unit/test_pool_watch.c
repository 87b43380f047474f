/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a backend's tool is told of a pool: when, and of which memory. */
#include "tarn/host.h"
#include "pool_fixture.h"

/* The host backend, with a tool. */
static tarn_backend host;
static tarn_backend_operations operations;
static bool has_tool;
static struct {
    unsigned begin_count, end_count, allow_count, forbid_count, forbid_all_count;
    unsigned fill_count;
    void *piece, *allowed, *forbidden;
    size_t piece_bytes, allowed_bytes;
} told;

static tarn_watch watch_begin(void *state, void *address, size_t size_bytes)
{
    assert_ptr_equal(state, host.state);
    told.begin_count++;
    told.piece = address;
    told.piece_bytes = size_bytes;
    return has_tool ? address : NULL;
}

static void watch_end(void *state, tarn_watch watch)
{
    assert_non_null(watch);
    told.end_count++;
}

static void watch_allow(void *state, tarn_watch watch, void *address, size_t size_bytes)
{
    assert_ptr_equal(watch, told.piece);
    told.allow_count++;
    told.allowed = address;
    told.allowed_bytes = size_bytes;
}

static void watch_forbid(void *state, tarn_watch watch, void *address)
{
    assert_ptr_equal(watch, told.piece);
    told.forbid_count += address != NULL;
    told.forbid_all_count += address == NULL;
    told.forbidden = address;
}

static tarn_backend_result fill(void *state, void *address, unsigned char value, size_t size_bytes,
                                tarn_stream stream)
{
    told.fill_count++;
    return host.operations->fill(state, address, value, size_bytes, stream);
}

static int set_up_watched(void **state)
{
    begin_fixture(true);
    memset(&told, 0, sizeof told);
    expect_ok(tarn_host_backend_open(NULL, &host));
    operations = *host.operations;
    operations.watch_begin = watch_begin;
    operations.watch_end = watch_end;
    operations.watch_allow = watch_allow;
    operations.watch_forbid = watch_forbid;
    operations.fill = fill;
    opened = (tarn_backend){ &operations, host.state };
    options.initial_bytes = MIB;
    has_tool = true;
    return 0;
}

static void create_with(unsigned debug)
{
    options.debug = debug;
    create();
}

static void what_is_live_is_allowed(void **state)
{
    create_with(TARN_DEBUG_ZONES | TARN_DEBUG_POISON);
    assert_int_equal(told.begin_count, 0);
    void *address = alloc(1000);
    assert_int_equal(told.begin_count, 1);
    assert_int_equal(told.piece_bytes, MIB);
    assert_int_equal(told.allow_count, 1);
    assert_ptr_equal(told.allowed, address);
    assert_int_equal(told.allowed_bytes, 1000);
    assert_int_equal(told.forbid_count, 0);
    free_one(address);
    assert_int_equal(told.forbid_count, 1);
    assert_ptr_equal(told.forbidden, address);
    expect_ok(tarn_pool_check(pool));
    destroy_empty();
    assert_int_equal(told.end_count, 1);
    /* The tool looks in debug mode's place. */
    assert_int_equal(told.fill_count, 0);
}

static void what_is_watched_is_used_to_its_end_and_no_further(void **state)
{
    create_with(TARN_DEBUG_SITES);
    void *address = alloc(1000);
    assert_int_equal(found_at(address).usable_bytes, 1000);
    free_one(address);
    destroy_empty();
}

/* The tool knows ends that a resize would change while work is under way. */
static void what_is_watched_is_not_resized(void **state)
{
    create_with(TARN_DEBUG_SITES);
    void *address = alloc(1000);
    expect_status(TARN_STATUS_NOT_IN_PLACE, tarn_pool_resize(pool, address, 999));
    expect_message("debug mode");
    expect_ok(tarn_pool_resize(pool, address, 1000));
    free_one(address);
    assert_int_equal(told.allow_count, 1);
    assert_int_equal(told.allowed_bytes, 1000);
    destroy_empty();

    /* No tool, no harm. */
    has_tool = false;
    create_with(TARN_DEBUG_SITES);
    address = alloc(1000);
    expect_ok(tarn_pool_resize(pool, address, 5000));
    expect_ok(tarn_pool_free_sized(pool, address, 5000));
}

static void pieces_come_and_go(void **state)
{
    create_with(TARN_DEBUG_SITES);
    void *first = alloc(MIB);
    void *second = alloc(2 * MIB);
    assert_int_equal(told.begin_count, 2);
    free_one(second);
    trim(0);
    assert_int_equal(told.end_count, 1);
    told.piece = first;
    free_one(first);
    destroy_empty();
    assert_int_equal(told.end_count, 2);
}

/* While it is in quarantine it is free for the program, and live for the pool. */
static void what_is_in_quarantine_is_forbidden(void **state)
{
    create_with(TARN_DEBUG_QUARANTINE);
    void *address = alloc(1000);
    free_one(address);
    assert_int_equal(told.forbid_count, 1);
    assert_ptr_not_equal(alloc(1000), address);
    destroy();
}

static void where_nobody_watches_debug_mode_looks_itself(void **state)
{
    has_tool = false;
    create_with(TARN_DEBUG_ZONES);
    free_one(alloc(1000));
    assert_int_equal(told.begin_count, 1);
    assert_int_equal(told.allow_count + told.forbid_count, 0);
    assert_int_equal(told.fill_count, 2);
    destroy_empty();
    assert_int_equal(told.end_count, 0);
}

static void others_are_told_nothing(void **state)
{
    create_with(0);
    free_one(alloc(1000));
    destroy_empty();
    options.debug = TARN_DEBUG_SITES;
    options.contiguous = true;
    create();
    free_one(alloc(1000));
    destroy_empty();
    operations.stream_synchronize = NULL;
    create_with(TARN_DEBUG_SITES);
    free_one(alloc(1000));
    destroy_empty();
    assert_int_equal(told.begin_count + told.allow_count + told.forbid_count, 0);
}

static void abandoning_tells_nothing(void **state)
{
    create_with(TARN_DEBUG_SITES);
    alloc(1000);
    expect_ok(tarn_pool_abandon(pool));
    assert_int_equal(told.end_count, 0);
    expect_done(host, release, told.piece, told.piece_bytes);
    pool = NULL;
}

static void a_capture_ends_it(void **state)
{
    tarn_stream stream;
    tarn_capture capture = 0, again = 0;
    create_with(TARN_DEBUG_ZONES);
    void *address = alloc(1000);
    assert_int_equal(operations.stream_create(host.state, &stream).status, TARN_STATUS_OK);
    expect_ok(tarn_capture_begin(pool, stream, &capture));
    assert_int_equal(told.forbid_all_count, 1);
    assert_int_equal(told.allow_count, 2);
    assert_ptr_equal(told.allowed, told.piece);
    assert_int_equal(told.allowed_bytes, told.piece_bytes);
    expect_ok(tarn_capture_end(pool, capture));
    expect_ok(tarn_capture_release(pool, capture, NULL, 0));

    expect_ok(tarn_capture_begin(pool, stream, &again));
    expect_ok(tarn_capture_end(pool, again));
    expect_ok(tarn_capture_release(pool, again, NULL, 0));
    void *later = alloc(4 * MIB);
    free_one(later);
    free_one(address);
    assert_int_equal(told.begin_count, 1);
    assert_int_equal(told.allow_count, 2);
    assert_int_equal(told.forbid_count, 0);
    assert_int_equal(told.forbid_all_count, 1);
    assert_int_equal(operations.stream_destroy(host.state, stream).status, TARN_STATUS_OK);
    destroy_empty();
    assert_int_equal(told.end_count, 1);
}

static void a_capture_that_does_not_begin_ends_nothing(void **state)
{
    create_with(TARN_DEBUG_SITES);
    void *address = alloc(1000);
    tarn_capture none = 77;
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_capture_begin(pool, NULL, &none));
    assert_int_equal(told.forbid_all_count, 0);
    free_one(address);
    assert_int_equal(told.forbid_count, 1);
}

/* A stream that the vendor does not know: the memory stays the program's. */
static tarn_backend_result refuse_stream(void *state, tarn_stream stream)
{
    tarn_status status = stream ? TARN_STATUS_INVALID_ARGUMENT : TARN_STATUS_OK;
    return (tarn_backend_result){ status, 0, NULL };
}

static void a_refused_free_is_allowed_again(void **state)
{
    operations.stream_check = refuse_stream;
    create_with(TARN_DEBUG_SITES);
    void *address = alloc(1000);
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_pool_free_on(pool, address, &told));
    assert_int_equal(told.forbid_count, 1);
    assert_int_equal(told.allow_count, 2);
    assert_ptr_equal(told.allowed, address);
    free_one(address);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up_watched, tear_down_empty)
    const struct CMUnitTest tests[] = {
        CASE(what_is_live_is_allowed),
        CASE(what_is_watched_is_used_to_its_end_and_no_further),
        CASE(what_is_watched_is_not_resized),
        CASE(pieces_come_and_go),
        CASE(what_is_in_quarantine_is_forbidden),
        CASE(where_nobody_watches_debug_mode_looks_itself),
        CASE(others_are_told_nothing),
        CASE(abandoning_tells_nothing),
        CASE(a_capture_ends_it),
        CASE(a_capture_that_does_not_begin_ends_nothing),
        CASE(a_refused_free_is_allowed_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
