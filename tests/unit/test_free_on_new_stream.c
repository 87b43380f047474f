/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_free_on_new_stream: when a free can fail, and what it leaves then.
 *
 * A pool looks at a stream that it has not met: the vendor says whether it is of the device, and host memory
 * describes it. Without that memory the free waits for the stream, and succeeds. If the vendor fails to look,
 * or to wait, the memory stays allocated and can be freed later. On a known stream nothing of it can happen.
 */
#include "harness/claims.h"
#include "harness/host_memory_faults.h"
#include "harness/test_backend.h"
#include "tarn/debug.h"

#define KIB ((size_t)1024)

/* Handles are never followed. */
static char handles[40];
#define STREAM(number) ((tarn_stream)&handles[number])
#define KNOWN          STREAM(0)
#define NEW            STREAM(1)

struct fixture {
    struct test_backend backend;
    tarn_backend opened;
    tarn_pool *pool;
    void *address; /* live, used on KNOWN, the only stream that the pool has met */
};

/* 3 KiB of whole chunks, or a slice of 16 bytes. */
static const size_t sizes_bytes[] = { 3 * KIB, 16 };
#define EACH_SIZE(i) (int(i) = 0; (i) < 2; (i)++)

static void open_pool(struct fixture *fixture, size_t size_bytes)
{
    test_backend_init(&fixture->backend);
    fixture->backend.has_streams = true;
    fixture->opened = test_backend_open(&fixture->backend);
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.backend = &fixture->opened;
    options.initial_bytes = 64 * KIB;
    options.limit_bytes = 64 * KIB;
    expect_ok(tarn_pool_create(&options, &fixture->pool));
    expect_ok(tarn_pool_alloc_on(fixture->pool, size_bytes, KNOWN, &fixture->address));
}

static void close_pool(struct fixture *fixture)
{
    expect_ok(tarn_pool_check(fixture->pool));
    expect_ok(tarn_pool_destroy(fixture->pool));
    assert_int_equal(fixture->backend.piece_count, 0);
    assert_int_equal(fixture->backend.event_count, 0);
    assert_int_equal(fixture->backend.misuse_count, 0);
}

static int set_up(void **state)
{
    static struct fixture fixture;
    *state = &fixture;
    return 0;
}

/* --- the ways to free -------------------------------------------------------------------------------- */

typedef tarn_status free_function(const struct fixture *fixture, size_t size_bytes);

static tarn_status free_plainly(const struct fixture *fixture, size_t size_bytes)
{
    (void)size_bytes;
    return tarn_pool_free_on(fixture->pool, fixture->address, NEW);
}

/* On the default stream, which is new to a pool that has served another one. */
static tarn_status free_by_default(const struct fixture *fixture, size_t size_bytes)
{
    (void)size_bytes;
    return tarn_pool_free(fixture->pool, fixture->address);
}

static tarn_status free_after_both(const struct fixture *fixture, size_t size_bytes)
{
    const tarn_stream both[] = { KNOWN, NEW };
    (void)size_bytes;
    return tarn_pool_free_after(fixture->pool, fixture->address, both, 2);
}

static tarn_status free_by_size(const struct fixture *fixture, size_t size_bytes)
{
    return tarn_pool_free_sized_on(fixture->pool, fixture->address, size_bytes, NEW);
}

static tarn_status free_in_a_batch(const struct fixture *fixture, size_t size_bytes)
{
    (void)size_bytes;
    return tarn_pool_free_many_on(fixture->pool, 1, &fixture->address, NEW);
}

static free_function *const ways[] = { free_plainly, free_by_default, free_after_both, free_by_size,
                                       free_in_a_batch };
#define EACH_WAY(way) (size_t(way) = 0; (way) < sizeof ways / sizeof *ways; (way)++)

/* A refused free has changed nothing but the count of failures. */
static void expect_still_live(const struct fixture *fixture, const tarn_stats *before)
{
    tarn_stats after = stats_of(fixture->pool);
    assert_int_equal(after.live_count, before->live_count);
    assert_int_equal(after.requested_bytes, before->requested_bytes);
    assert_int_equal(after.used_bytes, before->used_bytes);
    assert_int_equal(after.free_bytes, before->free_bytes);
    assert_int_equal(after.pending_bytes, before->pending_bytes);
    assert_int_equal(after.failed_count, before->failed_count + 1);
    tarn_allocation found = TARN_ALLOCATION_INIT;
    expect_ok(tarn_pool_find(fixture->address, &found));
    assert_ptr_equal(found.address, fixture->address);
    expect_ok(tarn_pool_check(fixture->pool));
}

static void expect_freed(const struct fixture *fixture)
{
    assert_int_equal(stats_of(fixture->pool).live_count, 0);
    assert_int_equal(stats_of(fixture->pool).requested_bytes, 0);
    expect_ok(tarn_pool_check(fixture->pool));
}

/* --- the vendor fails -------------------------------------------------------------------------------- */

static void a_vendor_that_cannot_look_leaves_it_allocated(void **state)
{
    struct fixture *fixture = *state;
    for
        EACH_WAY(way)
        {
        for
            EACH_SIZE(i)
            {
                open_pool(fixture, sizes_bytes[i]);
                tarn_stats before = stats_of(fixture->pool);
                fixture->backend.call_failure = TARN_STATUS_VENDOR_ERROR;
                fixture->backend.fail_call_at[TEST_CALL_STREAM_CHECK] = 1;
                expect_status(TARN_STATUS_VENDOR_ERROR, ways[way](fixture, sizes_bytes[i]));
                assert_int_equal(tarn_last_error().vendor_code, -7);
                expect_still_live(fixture, &before);
                expect_ok(ways[way](fixture, sizes_bytes[i]));
                expect_freed(fixture);
                close_pool(fixture);
            }
        }
}

static void a_stream_of_another_device_leaves_it_allocated(void **state)
{
    struct fixture *fixture = *state;
    for
        EACH_WAY(way)
        {
            if (ways[way] == free_by_default) continue; /* a NULL stream is of no other device */
        for
            EACH_SIZE(i)
            {
                open_pool(fixture, sizes_bytes[i]);
                tarn_stats before = stats_of(fixture->pool);
                fixture->backend.foreign_stream = NEW;
                expect_status(TARN_STATUS_INVALID_ARGUMENT, ways[way](fixture, sizes_bytes[i]));
                expect_still_live(fixture, &before);
                expect_ok(tarn_pool_free_on(fixture->pool, fixture->address, KNOWN));
                expect_freed(fixture);
                close_pool(fixture);
            }
        }
}

/* --- the host has no memory -------------------------------------------------------------------------- */

/* Each allocation that introducing a stream makes fails once. The free waits for the stream, so that afterwards
 * the memory is free for all. */
static void without_host_memory_it_waits(void **state)
{
    struct fixture *fixture = *state;
    for
        EACH_WAY(way)
        {
            unsigned n = 1;
            for (bool has_failed = true; has_failed; n++) {
                open_pool(fixture, 3 * KIB);
                host_memory_faults_begin(n);
                tarn_status status = ways[way](fixture, 3 * KIB);
                has_failed = host_memory_faults_end();
                assert_int_equal(status, TARN_STATUS_OK);
                unsigned wait_count = fixture->backend.call_counts[TEST_CALL_STREAM_SYNCHRONIZE];
                unsigned stream_count = ways[way] == free_after_both ? 2 : 1;
                assert_int_equal(wait_count, has_failed ? stream_count : 0);
                expect_freed(fixture);
                if (has_failed) assert_int_equal(stats_of(fixture->pool).pending_bytes, 0);
                close_pool(fixture);
            }
            assert_true(n > 3);
        }
}

static void without_memory_and_without_a_wait_it_stays_allocated(void **state)
{
    struct fixture *fixture = *state;
    for
        EACH_WAY(way)
        {
            for (int lacks_call = 0; lacks_call < 2; lacks_call++) {
                open_pool(fixture, 3 * KIB);
                tarn_stats before = stats_of(fixture->pool);
                fixture->backend.call_failure = TARN_STATUS_VENDOR_ERROR;
                fixture->backend.fail_call_at[TEST_CALL_STREAM_SYNCHRONIZE] = 1;
                if (lacks_call) fixture->backend.operations.stream_synchronize = NULL;
                host_memory_faults_begin(1);
                tarn_status status = ways[way](fixture, 3 * KIB);
                assert_true(host_memory_faults_end());
                assert_int_equal(status, TARN_STATUS_VENDOR_ERROR);
                fixture->backend.fail_call_at[TEST_CALL_STREAM_SYNCHRONIZE] = 0;
                expect_still_live(fixture, &before);
                expect_ok(ways[way](fixture, 3 * KIB));
                expect_freed(fixture);
                close_pool(fixture);
            }
        }
}

/* --- a stream that the pool knows -------------------------------------------------------------------- */

/* Neither the host nor the vendor is asked. */
static void on_a_known_stream_nothing_can_fail(void **state)
{
    struct fixture *fixture = *state;
    for
        EACH_WAY(way)
        {
        for
            EACH_SIZE(i)
            {
                void *other;
                const tarn_stream met = ways[way] == free_by_default ? NULL : NEW;
                open_pool(fixture, sizes_bytes[i]);
                expect_ok(tarn_pool_alloc_on(fixture->pool, 5 * KIB, met, &other));
                expect_ok(tarn_pool_free_on(fixture->pool, other, met));
                (void)test_backend_take_calls(&fixture->backend);
                host_memory_faults_begin(1);
                tarn_status status = ways[way](fixture, sizes_bytes[i]);
                assert_false(host_memory_faults_end());
                assert_int_equal(status, TARN_STATUS_OK);
                assert_int_equal(test_backend_take_calls(&fixture->backend), 0);
                expect_freed(fixture);
                close_pool(fixture);
            }
        }
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup(function, set_up)
    static const struct CMUnitTest tests[] = {
        TEST(a_vendor_that_cannot_look_leaves_it_allocated),
        TEST(a_stream_of_another_device_leaves_it_allocated),
        TEST(without_host_memory_it_waits),
        TEST(without_memory_and_without_a_wait_it_stays_allocated),
        TEST(on_a_known_stream_nothing_can_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
