/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_stream_faults: streams with a vendor that fails or lacks calls, and with a host that has no
 * memory. Nothing is handed out that somebody may still use, nothing is lost, the pool's check holds,
 * and the same call passes when it is tried again.
 */
#include "harness/host_memory_faults.h"
#include "tarn/debug.h"

#include "core/index/dependency.h"
#include "core/care/pool_registry.h"
#include "pool_fixture.h"

static void open_anew(bool identifies_streams)
{
    expect_nothing_left();
    begin_fixture(true);
    backend.has_ids = identifies_streams;
    backend.has_synchronize = backend.has_device_events = identifies_streams;
    backend.completes_after = identifies_streams ? 5 : 0;
    opened = test_backend_open(&backend);
    options.initial_bytes = 64 * KIB;
    options.limit_bytes = 64 * KIB;
    options.identifies_streams = identifies_streams;
    checks_every_step = true;
}

static int set_up_without_ids(void **state)
{
    open_anew(false);
    return 0;
}

/* A pool of which 16 KiB are free, half of them freed on A, half on B. All else is live. */
struct half_freed {
    void *of_a, *of_b;
};

static struct half_freed create_half_freed(void)
{
    create();
    struct half_freed half = { alloc_on(8 * KIB, A), alloc_on(8 * KIB, B) };
    alloc_on(48 * KIB, B);
    free_on(half.of_a, A);
    free_on(half.of_b, B);
    return half;
}

/* What a call that fails must not change. */
static void expect_same_state(const tarn_stats *before, const tarn_stats *after)
{
    assert_int_equal(after->requested_bytes, before->requested_bytes);
    assert_int_equal(after->used_bytes, before->used_bytes);
    assert_int_equal(after->footprint_bytes, before->footprint_bytes);
    assert_int_equal(after->live_count, before->live_count);
    assert_int_equal(after->free_bytes, before->free_bytes);
    assert_int_equal(after->pending_bytes, before->pending_bytes);
    assert_int_equal(after->alloc_count, before->alloc_count);
    assert_int_equal(after->free_count, before->free_count);
    assert_memory_equal(after->size_histogram, before->size_histogram,
                        sizeof before->size_histogram);
}

static void expect_refused_unchanged(tarn_status status, size_t size_bytes, tarn_stream stream)
{
    tarn_stats before = stats_of(pool);
    expect_refused_on(status, size_bytes, stream);
    tarn_stats after = stats_of(pool);
    expect_same_state(&before, &after);
    assert_int_equal(after.failed_count, before.failed_count + 1);
}

/* --- the vendor fails ----------------------------------------------------------------------------- */

static const enum test_call ordering_calls[] = { TEST_CALL_EVENT_CREATE, TEST_CALL_EVENT_RECORD,
                                                 TEST_CALL_STREAM_WAIT_EVENT };

enum {
    ORDERING_CALL_COUNT = sizeof ordering_calls / sizeof *ordering_calls
};

/* The n-th such call fails, and so do those after it, until told otherwise: a pool tries again when the
 * vendor has no memory either. */
static void break_calls(enum test_call call, unsigned n)
{
    backend.fail_call_at[call] = n;
    backend.fail_call_count = 1000;
}

static void mend_calls(enum test_call call)
{
    assert_int_equal(backend.fail_call_at[call], 1);
    backend.fail_call_at[call] = 0;
    backend.fail_call_count = 0;
}

/* What cannot be waited for is not handed out, and is later. */
static void who_cannot_wait_gets_nothing(void **state)
{
    for (int i = 0; i < ORDERING_CALL_COUNT; i++) {
        struct half_freed half = create_half_freed();
        break_calls(ordering_calls[i], 1);
        expect_refused_unchanged(TARN_STATUS_OVER_LIMIT, 8 * KIB, C);
        mend_calls(ordering_calls[i]);
        assert_ptr_equal(alloc_on(8 * KIB, C), half.of_a);
        destroy();
    }
}

/* Of two that have to be waited for, the second fails. */
static void who_cannot_wait_for_all_gets_nothing(void **state)
{
    for (int i = 0; i < ORDERING_CALL_COUNT; i++) {
        struct half_freed half = create_half_freed();
        unsigned waits_before = backend.wait_count;
        break_calls(ordering_calls[i], 2);
        expect_refused_unchanged(TARN_STATUS_OVER_LIMIT, 16 * KIB, C);
        mend_calls(ordering_calls[i]);
        assert_int_equal(backend.wait_count, waits_before + 1);
        /* The first wait counts. */
        assert_ptr_equal(alloc_on(16 * KIB, C), half.of_a);
        assert_int_equal(backend.wait_count, waits_before + 2);
        destroy();
    }
}

static void who_cannot_wait_gets_new_memory_if_there_is_some(void **state)
{
    options.limit_bytes = 0;
    for (int i = 0; i < ORDERING_CALL_COUNT; i++) {
        create_half_freed();
        tarn_stats before = stats_of(pool);
        backend.fail_call_at[ordering_calls[i]] = 1;
        alloc_on(8 * KIB, C);
        tarn_stats after = stats_of(pool);
        assert_int_equal(after.static_pool_count, before.static_pool_count + 1);
        assert_int_equal(after.pending_bytes, before.pending_bytes);
        assert_int_equal(after.live_count, before.live_count + 1);
        assert_int_equal(after.alloc_count, before.alloc_count + 1);
        destroy();
    }
}

/* A record that fails in the place of the newest one takes that one along, and no other. */
static void a_record_may_fail_with_all_under_way(void **state)
{
    create();
    void *pieces[64];
    for (int i = 0; i < 64; i++)
        pieces[i] = alloc_on(KIB, i == 0 ? A : B);
    for (int i = 0; i < 6; i++) {
        free_on(pieces[2 * i], A);
        assert_ptr_equal(alloc_on(KIB, B), pieces[2 * i]);
    }
    free_on(pieces[20], A);
    for (int i = 0; i < 6; i++) {
        break_calls(TEST_CALL_EVENT_RECORD, 1);
        expect_refused_unchanged(TARN_STATUS_OVER_LIMIT, KIB, B);
        mend_calls(TEST_CALL_EVENT_RECORD);
    }
    assert_ptr_equal(alloc_on(KIB, B), pieces[20]);
    free_on(pieces[22], A);
    test_backend_complete(&backend, A);
    alloc_on(KIB, C);
}

static void a_stream_that_cannot_be_looked_at_is_not_known(void **state)
{
    static const tarn_status failures[] = { TARN_STATUS_VENDOR_ERROR, TARN_STATUS_OUT_OF_MEMORY,
                                            TARN_STATUS_NOT_SUPPORTED };
    create();
    void *address = alloc_on(8 * KIB, A);
    for (int i = 0; i < 3; i++) {
        backend.call_failure = failures[i];
        backend.fail_call_at[TEST_CALL_STREAM_CHECK] = 1;
        expect_refused_unchanged(TARN_STATUS_VENDOR_ERROR, 8 * KIB, B);
        assert_int_equal(tarn_last_error().vendor_code, -7);
        assert_string_equal(tarn_last_error().vendor_name, "testError");
        backend.fail_call_at[TEST_CALL_STREAM_CHECK] = 1;
        tarn_stats before = stats_of(pool);
        expect_status(TARN_STATUS_VENDOR_ERROR, tarn_pool_free_on(pool, address, B));
        tarn_stats after = stats_of(pool);
        expect_same_state(&before, &after);
        backend.fail_call_at[TEST_CALL_STREAM_CHECK] = 2;
        expect_status(
            TARN_STATUS_VENDOR_ERROR,
            tarn_pool_free_after(pool, address, (tarn_stream[]){ A, STREAM(3 + i), B }, 3));
    }
    free_on(address, B);
}

/* Whatever the vendor says when it cannot record, retiring has the status that the header names. */
static void a_stream_that_cannot_be_recorded_is_lost(void **state)
{
    static const tarn_status failures[] = { TARN_STATUS_VENDOR_ERROR, TARN_STATUS_OUT_OF_MEMORY,
                                            TARN_STATUS_OUT_OF_HOST_MEMORY,
                                            TARN_STATUS_INVALID_ARGUMENT,
                                            TARN_STATUS_NOT_SUPPORTED };
    static const enum test_call calls[] = { TEST_CALL_EVENT_CREATE, TEST_CALL_EVENT_RECORD };
    for (int i = 0; i < 10; i++) {
        open_anew(false);
        create();
        void *address = alloc_on(64 * KIB, A);
        free_on(address, A);
        backend.call_failure = failures[i / 2];
        backend.fail_call_at[calls[i % 2]] = 1;
        expect_status(TARN_STATUS_VENDOR_ERROR, tarn_stream_retire(A));
        assert_int_equal(tarn_last_error().vendor_code, -7);
        assert_int_equal(stats_of(pool).pending_bytes, 64 * KIB);
        test_backend_end_stream(&backend, A);
        /* The static pool is wholly free, so it goes back to make room. */
        alloc_on(64 * KIB, B);
        assert_int_equal(backend.release_count, 1);
        assert_int_equal(stats_of(pool).pending_bytes, 0);
        destroy();
    }
}

static void lost_streams_do_not_fill_the_table_for_ever(void **state)
{
    create();
    for (int i = 0; i < 2 * TN_STREAM_COUNT_MAX; i++) {
        tarn_stream stream = STREAM(i % 3);
        free_on(alloc_on(KIB, stream), stream);
        backend.fail_call_at[TEST_CALL_EVENT_RECORD] = 1;
        expect_status(TARN_STATUS_VENDOR_ERROR, tarn_stream_retire(stream));
        trim(0);
    }
}

/* --- another thread frees meanwhile ------------------------------------------------------------------- */

/* As another thread does while the vendor is asked for memory. */
static void free_on_b(void *context)
{
    void **address = context;
    if (*address) free_on(*address, B);
    *address = NULL;
}

static void what_is_freed_while_the_vendor_refuses_is_handed_over(void **state)
{
    options.limit_bytes = 0;
    backend.capacity_bytes = 64 * KIB;
    create();
    alloc_on(32 * KIB, A);
    void *address = alloc_on(32 * KIB, B), *to_free = address;
    backend.while_acquiring = free_on_b;
    backend.context = &to_free;
    assert_ptr_equal(alloc_on(32 * KIB, A), address);
    assert_int_equal(backend.wait_count, 1);
}

/* --- every call of a program fails once ------------------------------------------------------------- */

/* Several streams that free and take; some steps may be refused. */
static void use_streams(void)
{
    void *blocks[48] = { NULL };
    for (int step = 0; step < 300; step++) {
        unsigned failed_before = backend.failed_count;
        tarn_stream stream = STREAM(step * 7 % 5);
        if (backend.has_device_events && step % 9 == 0) stream = TARN_STREAM_ANY;
        void **block = &blocks[step * 11 % 48];
        if (*block) {
            const tarn_stream both[] = { stream, STREAM(step % 3) };
            tarn_status status = tarn_pool_free_after(pool, *block, both, 1 + (size_t)step % 2);
            if (status != TARN_STATUS_OK) {
                assert_int_equal(status, TARN_STATUS_VENDOR_ERROR);
                free_after(*block, both, 1 + (size_t)step % 2);
            }
            *block = NULL;
        } else {
            tarn_status status =
                tarn_pool_alloc_on(pool, (size_t)(step % 5 + 1) * KIB, stream, block);
            if (status == TARN_STATUS_VENDOR_ERROR)
                status = tarn_pool_alloc_on(pool, (size_t)(step % 5 + 1) * KIB, stream, block);
            if (status != TARN_STATUS_OK) assert_int_equal(status, TARN_STATUS_OVER_LIMIT);
        }
        if (step % 5 == 4) test_backend_complete(&backend, STREAM(step % 4));
        if (step % 60 == 59) {
            tarn_stream ended = STREAM(step % 5);
            tarn_status status = tarn_stream_retire(ended);
            if (status != TARN_STATUS_OK) assert_int_equal(status, TARN_STATUS_VENDOR_ERROR);
            test_backend_complete(&backend, ended);
        }
        bool has_just_failed = backend.failed_count != failed_before;
        if (has_just_failed || step % 30 == 0) expect_ok(tarn_pool_check(pool));
    }
    for (int i = 0; i < 48; i++) {
        tarn_status status = tarn_pool_free_on(pool, blocks[i], A);
        if (status == TARN_STATUS_VENDOR_ERROR) status = tarn_pool_free_on(pool, blocks[i], A);
        assert_int_equal(status, TARN_STATUS_OK);
    }
    assert_int_equal(stats_of(pool).live_count, 0);
    trim(0);
    assert_int_equal(stats_of(pool).footprint_bytes, 0);
}

static void let_every_call_fail(bool identifies_streams)
{
    for (int call = 0; call < TEST_CALL_OF_STREAMS_COUNT; call++) {
        bool is_there = call != TEST_CALL_STREAM_ID && call != TEST_CALL_SYNCHRONIZE &&
                        call != TEST_CALL_EVENT_RECORD_DEVICE;
        if (!is_there && !identifies_streams) continue;
        unsigned n = 1;
        for (;; n++) {
            open_anew(identifies_streams);
            create();
            backend.fail_call_at[call] = n;
            use_streams();
            bool has_failed = backend.fail_call_at[call] == 0;
            backend.fail_call_at[call] = 0;
            destroy();
            if (!has_failed) break;
        }
        printf("call %d failed %u times, each once\n", call, n - 1);
        if (call != TEST_CALL_STREAM_SYNCHRONIZE && call != TEST_CALL_EVENT_DESTROY)
            assert_true(n > 3);
    }
}

static void every_call_may_fail(void **state)
{
    let_every_call_fail(false);
}

static void every_call_may_fail_where_streams_end_unannounced(void **state)
{
    let_every_call_fail(true);
}

/* From some call on, all of a kind. */
static void every_kind_of_call_may_fail_from_now_on(void **state)
{
    for (unsigned i = 0; i < 4 * 10; i++) {
        static const enum test_call kinds[] = { TEST_CALL_EVENT_CREATE, TEST_CALL_EVENT_RECORD,
                                                TEST_CALL_EVENT_QUERY,
                                                TEST_CALL_STREAM_WAIT_EVENT };
        open_anew(false);
        create();
        backend.fail_call_at[kinds[i % 4]] = 1 + i / 4 * 3;
        backend.fail_call_count = 1000000;
        use_streams();
        destroy();
    }
}

/* --- the vendor lacks calls ------------------------------------------------------------------------- */

/* Each stream has what it freed itself, and nobody what another did. */
static void use_backend_without_order(void)
{
    struct half_freed half = create_half_freed();
    expect_refused_unchanged(TARN_STATUS_OVER_LIMIT, 8 * KIB, C);
    expect_refused_unchanged(TARN_STATUS_OVER_LIMIT, 16 * KIB, B);
    assert_ptr_equal(alloc_on(8 * KIB, B), half.of_b);
    assert_ptr_equal(alloc_on(8 * KIB, A), half.of_a);
    /* What touches its own and waits for nobody is as good as its own. */
    free_on(half.of_a, A);
    free_after(half.of_b, NULL, 0);
    assert_ptr_equal(alloc_on(16 * KIB, A), half.of_a);
    free_on(half.of_a, A);
    assert_ptr_equal(alloc_on(8 * KIB, A), half.of_a);
    alloc_on(8 * KIB, A);
    /* The caller has waited itself. */
    free_after(half.of_a, NULL, 0);
    assert_ptr_equal(alloc_on(8 * KIB, C), half.of_a);
    free_on(half.of_a, A);
    expect_status(TARN_STATUS_VENDOR_ERROR, tarn_stream_retire(A));
    expect_ok(tarn_stream_retire(C));
    expect_refused_unchanged(TARN_STATUS_OVER_LIMIT, 8 * KIB, A);
    assert_int_equal(backend.wait_count, 0);
    destroy();
}

static void without_streams_at_all_nothing_is_handed_over(void **state)
{
    backend.has_streams = false;
    opened = test_backend_open(&backend);
    use_backend_without_order();
}

static void without_one_of_the_calls_nothing_is_handed_over(void **state)
{
    for (int missing = 0; missing < 5; missing++) {
        open_anew(false);
        tarn_backend_operations *operations = &backend.operations;
        if (missing == 0) operations->event_create = NULL;
        if (missing == 1) operations->event_destroy = NULL;
        if (missing == 2) operations->event_record = NULL;
        if (missing == 3) operations->event_query = NULL;
        if (missing == 4) operations->stream_wait_event = NULL;
        use_backend_without_order();
    }
}

static void without_a_check_every_stream_is_taken(void **state)
{
    backend.operations.stream_check = NULL;
    struct half_freed half = create_half_freed();
    assert_ptr_equal(alloc_on(16 * KIB, C), half.of_a);
    destroy();
}

/* --- the host has no memory ------------------------------------------------------------------------- */

static void *alloc_twice(size_t size_bytes, tarn_stream stream)
{
    void *address;
    tarn_status status = tarn_pool_alloc_on(pool, size_bytes, stream, &address);
    if (status == TARN_STATUS_OK) return address;
    assert_int_equal(status, TARN_STATUS_OUT_OF_HOST_MEMORY);
    expect_ok(tarn_pool_check(pool));
    address = alloc_on(size_bytes, stream);
    return address;
}

/* New streams come while there are regions enough for the arrays and trees of each set to grow. */
static void use_host_memory(void)
{
    enum {
        BLOCKS = 300,
        STREAMS = 6
    };
    void *blocks[BLOCKS];
    if (tarn_pool_create(&options, &pool) != TARN_STATUS_OK) create();
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = alloc_twice((size_t)(i % 7 + 1) * KIB, STREAM(i / 100));
    /* Some on streams that nobody has seen: a free needs no host memory, and waits instead. */
    for (int i = 0; i < BLOCKS; i++) {
        if (i % 4 == 0) continue;
        const tarn_stream both[] = { STREAM(i * STREAMS / BLOCKS), STREAM(i % 2) };
        free_after(blocks[i], both, 1 + (size_t)i % 2);
        blocks[i] = NULL;
    }
    expect_ok(tarn_pool_check(pool));
    for (int i = 0; i < BLOCKS; i++) {
        if (!blocks[i]) blocks[i] = alloc_twice((size_t)(i % 5 + 1) * KIB, STREAM(i % STREAMS));
    }
    for (int i = 0; i < BLOCKS; i++)
        free_on(blocks[i], STREAM(i % STREAMS));
    expect_ok(tarn_pool_check(pool));
    /* Giants. */
    void *giants[3];
    for (int i = 0; i < 3; i++)
        giants[i] = alloc_twice(20000 * KIB, STREAM(i));
    for (int i = 0; i < 3; i++)
        free_on(giants[i], STREAM(2 - i));
    destroy();
}

static void every_host_allocation_may_fail(void **state)
{
    unsigned n = 1;
    for (bool has_failed = true; has_failed; n++) {
        open_anew(false);
        checks_every_step = false;
        options.limit_bytes = 0;
        size_t resting_before = tn_pool_registry_resting_count();
        host_memory_faults_begin(n);
        use_host_memory();
        size_t handles_resting = tn_pool_registry_resting_count() - resting_before;
        long outstanding = host_memory_faults_outstanding();
        has_failed = host_memory_faults_end();
        assert_int_equal(outstanding, handles_resting);
    }
    printf("%u host allocations failed, each once\n", n - 2);
    assert_true(n > 60);
}

/* The end of an only stream divides the pool, which needs host memory. */
static void the_only_stream_may_have_to_retire_twice(void **state)
{
    for (unsigned n = 1;; n++) {
        open_anew(false);
        create();
        void *address = alloc_on(64 * KIB, A);
        free_on(address, A);
        host_memory_faults_begin(n);
        tarn_status status = tarn_stream_retire(A);
        bool has_failed = host_memory_faults_end();
        expect_ok(tarn_pool_check(pool));
        if (has_failed) {
            assert_int_equal(status, TARN_STATUS_OUT_OF_HOST_MEMORY);
            /* All is as it was. */
            assert_ptr_equal(alloc_on(64 * KIB, A), address);
            free_on(address, A);
            expect_ok(tarn_stream_retire(A));
        } else {
            assert_int_equal(status, TARN_STATUS_OK);
            assert_true(n > 3); /* the table, the sets of the stream and of several */
        }
        test_backend_end_stream(&backend, A);
        assert_ptr_equal(alloc_on(64 * KIB, B), address);
        assert_int_equal(backend.wait_count, 1);
        destroy();
        if (!has_failed) break;
    }
}

/* Frees of what is live allocate nothing, whatever the streams, once these are known. */
static void freeing_on_known_streams_allocates_nothing(void **state)
{
    enum {
        BLOCKS = 3000,
        STREAMS = 12
    };
    static void *blocks[BLOCKS];
    options.limit_bytes = 0;
    checks_every_step = false;
    create();
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = alloc_on((size_t)(i % 3 + 1) * KIB, STREAM(i % STREAMS));
    host_memory_faults_begin(1);
    for (int i = 0; i < BLOCKS; i++) {
        const tarn_stream streams[] = { STREAM(i % STREAMS), STREAM(i / 7 % STREAMS) };
        free_after(blocks[i], streams, (size_t)(i / 5 % 3));
    }
    assert_false(host_memory_faults_end());
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up_without_ids, tear_down)
    static const struct CMUnitTest tests[] = {
        TEST(who_cannot_wait_gets_nothing),
        TEST(who_cannot_wait_for_all_gets_nothing),
        TEST(who_cannot_wait_gets_new_memory_if_there_is_some),
        TEST(a_record_may_fail_with_all_under_way),
        TEST(a_stream_that_cannot_be_looked_at_is_not_known),
        TEST(a_stream_that_cannot_be_recorded_is_lost),
        TEST(lost_streams_do_not_fill_the_table_for_ever),
        TEST(what_is_freed_while_the_vendor_refuses_is_handed_over),
        TEST(every_call_may_fail),
        TEST(every_call_may_fail_where_streams_end_unannounced),
        TEST(every_kind_of_call_may_fail_from_now_on),
        TEST(without_streams_at_all_nothing_is_handed_over),
        TEST(without_one_of_the_calls_nothing_is_handed_over),
        TEST(without_a_check_every_stream_is_taken),
        TEST(every_host_allocation_may_fail),
        TEST(the_only_stream_may_have_to_retire_twice),
        TEST(freeing_on_known_streams_allocates_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
