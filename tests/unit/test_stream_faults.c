/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_stream_faults: streams with a vendor that fails or lacks calls, and with a host that has no
 * memory. Nothing is handed out that somebody may still use, nothing is lost, the pool's check holds,
 * and the same call passes when it is tried again.
 */
#include "harness/claims.h"
#include "harness/host_memory_faults.h"
#include "harness/test_backend.h"
#include "tarn/debug.h"

#include "core/index/dependency.h"
#include "core/care/pool_registry.h"

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
    bool identifies_streams;
};

static void open_backend(struct fixture *fixture)
{
    test_backend_init(&fixture->backend);
    fixture->backend.has_streams = true;
    fixture->backend.has_ids = fixture->identifies_streams;
    fixture->backend.has_synchronize = fixture->identifies_streams;
    fixture->opened = test_backend_open(&fixture->backend);
    fixture->options = (tarn_pool_options)TARN_POOL_OPTIONS_INIT;
    fixture->options.backend = &fixture->opened;
    fixture->options.initial_bytes = 64 * KIB;
    fixture->options.limit_bytes = 64 * KIB;
    fixture->options.identifies_streams = fixture->identifies_streams;
}

static int set_up(void **state)
{
    static struct fixture fixture;
    fixture.identifies_streams = false;
    open_backend(&fixture);
    *state = &fixture;
    return 0;
}

static tarn_pool *create(struct fixture *fixture)
{
    tarn_pool *pool;
    expect_ok(tarn_pool_create(&fixture->options, &pool));
    return pool;
}

static void destroy(struct fixture *fixture, tarn_pool *pool)
{
    expect_ok(tarn_pool_check(pool));
    expect_ok(tarn_pool_destroy_forced(pool, NULL));
    assert_int_equal(fixture->backend.piece_count, 0);
    assert_int_equal(fixture->backend.event_count, 0);
    assert_int_equal(fixture->backend.misuse_count, 0);
}

static void *alloc(tarn_pool *pool, size_t size_kib, tarn_stream stream)
{
    void *address;
    expect_ok(tarn_pool_alloc_on(pool, size_kib * KIB, stream, &address));
    expect_ok(tarn_pool_check(pool));
    return address;
}

/* A pool of which 16 KiB are free, half of them freed on A, half on B. All else is live. */
struct half_freed {
    tarn_pool *pool;
    void *of_a, *of_b;
};

static struct half_freed create_half_freed(struct fixture *fixture)
{
    struct half_freed half = { .pool = create(fixture) };
    half.of_a = alloc(half.pool, 8, A);
    half.of_b = alloc(half.pool, 8, B);
    alloc(half.pool, 48, B);
    expect_ok(tarn_pool_free_on(half.pool, half.of_a, A));
    expect_ok(tarn_pool_free_on(half.pool, half.of_b, B));
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

static void expect_refused(tarn_pool *pool, tarn_status status, size_t size_kib, tarn_stream stream)
{
    void *address = &address;
    tarn_stats before = stats_of(pool);
    expect_status(status, tarn_pool_alloc_on(pool, size_kib * KIB, stream, &address));
    assert_ptr_equal(address, &address);
    tarn_stats after = stats_of(pool);
    expect_same_state(&before, &after);
    assert_int_equal(after.failed_count, before.failed_count + 1);
    expect_ok(tarn_pool_check(pool));
}

/* --- the vendor fails ----------------------------------------------------------------------------- */

static const enum test_call ordering_calls[] = { TEST_CALL_EVENT_CREATE, TEST_CALL_EVENT_RECORD,
                                                 TEST_CALL_STREAM_WAIT_EVENT };

enum {
    ORDERING_CALL_COUNT = sizeof ordering_calls / sizeof *ordering_calls
};

/* The n-th such call fails, and so do those after it, until told otherwise: a pool tries again when the
 * vendor has no memory either. */
static void break_calls(struct fixture *fixture, enum test_call call, unsigned n)
{
    fixture->backend.fail_call_at[call] = n;
    fixture->backend.fail_call_count = 1000;
}

static void mend_calls(struct fixture *fixture, enum test_call call)
{
    assert_int_equal(fixture->backend.fail_call_at[call], 1);
    fixture->backend.fail_call_at[call] = 0;
    fixture->backend.fail_call_count = 0;
}

/* What cannot be waited for is not handed out, and is later. */
static void who_cannot_wait_gets_nothing(void **state)
{
    struct fixture *fixture = *state;
    for (int i = 0; i < ORDERING_CALL_COUNT; i++) {
        struct half_freed half = create_half_freed(fixture);
        break_calls(fixture, ordering_calls[i], 1);
        expect_refused(half.pool, TARN_STATUS_OVER_LIMIT, 8, C);
        mend_calls(fixture, ordering_calls[i]);
        assert_ptr_equal(alloc(half.pool, 8, C), half.of_a);
        destroy(fixture, half.pool);
    }
}

/* Of two that have to be waited for, the second fails. */
static void who_cannot_wait_for_all_gets_nothing(void **state)
{
    struct fixture *fixture = *state;
    for (int i = 0; i < ORDERING_CALL_COUNT; i++) {
        struct half_freed half = create_half_freed(fixture);
        unsigned waits_before = fixture->backend.wait_count;
        break_calls(fixture, ordering_calls[i], 2);
        expect_refused(half.pool, TARN_STATUS_OVER_LIMIT, 16, C);
        mend_calls(fixture, ordering_calls[i]);
        assert_int_equal(fixture->backend.wait_count, waits_before + 1);
        /* The first wait counts. */
        assert_ptr_equal(alloc(half.pool, 16, C), half.of_a);
        assert_int_equal(fixture->backend.wait_count, waits_before + 2);
        destroy(fixture, half.pool);
    }
}

static void who_cannot_wait_gets_new_memory_if_there_is_some(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.limit_bytes = 0;
    for (int i = 0; i < ORDERING_CALL_COUNT; i++) {
        struct half_freed half = create_half_freed(fixture);
        tarn_stats before = stats_of(half.pool);
        fixture->backend.fail_call_at[ordering_calls[i]] = 1;
        alloc(half.pool, 8, C);
        tarn_stats after = stats_of(half.pool);
        assert_int_equal(after.static_pool_count, before.static_pool_count + 1);
        assert_int_equal(after.pending_bytes, before.pending_bytes);
        assert_int_equal(after.live_count, before.live_count + 1);
        assert_int_equal(after.alloc_count, before.alloc_count + 1);
        destroy(fixture, half.pool);
    }
}

/* A record that fails in the place of the newest one takes that one along, and no other. */
static void a_record_may_fail_with_all_under_way(void **state)
{
    struct fixture *fixture = *state;
    tarn_pool *pool = create(fixture);
    void *pieces[64];
    for (int i = 0; i < 64; i++)
        pieces[i] = alloc(pool, 1, i == 0 ? A : B);
    for (int i = 0; i < 6; i++) {
        expect_ok(tarn_pool_free_on(pool, pieces[2 * i], A));
        assert_ptr_equal(alloc(pool, 1, B), pieces[2 * i]);
    }
    expect_ok(tarn_pool_free_on(pool, pieces[20], A));
    for (int i = 0; i < 6; i++) {
        break_calls(fixture, TEST_CALL_EVENT_RECORD, 1);
        expect_refused(pool, TARN_STATUS_OVER_LIMIT, 1, B);
        mend_calls(fixture, TEST_CALL_EVENT_RECORD);
    }
    assert_ptr_equal(alloc(pool, 1, B), pieces[20]);
    expect_ok(tarn_pool_free_on(pool, pieces[22], A));
    test_backend_complete(&fixture->backend, A);
    alloc(pool, 1, C);
    destroy(fixture, pool);
}

static void a_stream_that_cannot_be_looked_at_is_not_known(void **state)
{
    struct fixture *fixture = *state;
    static const tarn_status failures[] = { TARN_STATUS_VENDOR_ERROR, TARN_STATUS_OUT_OF_MEMORY,
                                            TARN_STATUS_NOT_SUPPORTED };
    tarn_pool *pool = create(fixture);
    void *address = alloc(pool, 8, A);
    for (int i = 0; i < 3; i++) {
        fixture->backend.call_failure = failures[i];
        fixture->backend.fail_call_at[TEST_CALL_STREAM_CHECK] = 1;
        expect_refused(pool, TARN_STATUS_VENDOR_ERROR, 8, B);
        assert_int_equal(tarn_last_error().vendor_code, -7);
        assert_string_equal(tarn_last_error().vendor_name, "testError");
        fixture->backend.fail_call_at[TEST_CALL_STREAM_CHECK] = 1;
        tarn_stats before = stats_of(pool);
        expect_status(TARN_STATUS_VENDOR_ERROR, tarn_pool_free_on(pool, address, B));
        tarn_stats after = stats_of(pool);
        expect_same_state(&before, &after);
        fixture->backend.fail_call_at[TEST_CALL_STREAM_CHECK] = 2;
        expect_status(
            TARN_STATUS_VENDOR_ERROR,
            tarn_pool_free_after(pool, address, (tarn_stream[]){ A, STREAM(3 + i), B }, 3));
    }
    expect_ok(tarn_pool_free_on(pool, address, B));
    destroy(fixture, pool);
}

/* Whatever the vendor says when it cannot record, retiring has the status that the header names. */
static void a_stream_that_cannot_be_recorded_is_lost(void **state)
{
    struct fixture *fixture = *state;
    static const tarn_status failures[] = { TARN_STATUS_VENDOR_ERROR, TARN_STATUS_OUT_OF_MEMORY,
                                            TARN_STATUS_OUT_OF_HOST_MEMORY,
                                            TARN_STATUS_INVALID_ARGUMENT,
                                            TARN_STATUS_NOT_SUPPORTED };
    static const enum test_call calls[] = { TEST_CALL_EVENT_CREATE, TEST_CALL_EVENT_RECORD };
    for (int i = 0; i < 10; i++) {
        open_backend(fixture);
        tarn_pool *pool = create(fixture);
        void *address = alloc(pool, 64, A);
        expect_ok(tarn_pool_free_on(pool, address, A));
        fixture->backend.call_failure = failures[i / 2];
        fixture->backend.fail_call_at[calls[i % 2]] = 1;
        expect_status(TARN_STATUS_VENDOR_ERROR, tarn_stream_retire(A));
        assert_int_equal(tarn_last_error().vendor_code, -7);
        assert_int_equal(stats_of(pool).pending_bytes, 64 * KIB);
        test_backend_end_stream(&fixture->backend, A);
        /* The static pool is wholly free, so it goes back to make room. */
        alloc(pool, 64, B);
        assert_int_equal(fixture->backend.release_count, 1);
        assert_int_equal(stats_of(pool).pending_bytes, 0);
        destroy(fixture, pool);
    }
}

static void lost_streams_do_not_fill_the_table_for_ever(void **state)
{
    struct fixture *fixture = *state;
    tarn_pool *pool = create(fixture);
    for (int i = 0; i < 2 * TN_STREAM_COUNT_MAX; i++) {
        tarn_stream stream = STREAM(i % 3);
        expect_ok(tarn_pool_free_on(pool, alloc(pool, 1, stream), stream));
        fixture->backend.fail_call_at[TEST_CALL_EVENT_RECORD] = 1;
        expect_status(TARN_STATUS_VENDOR_ERROR, tarn_stream_retire(stream));
        expect_ok(tarn_pool_trim(pool, 0, NULL));
    }
    destroy(fixture, pool);
}

/* --- another thread frees meanwhile ------------------------------------------------------------------- */

struct meanwhile {
    tarn_pool *pool;
    void *address;
};

/* As another thread does while the vendor is asked for memory. */
static void free_on_b(void *context)
{
    struct meanwhile *meanwhile = context;
    if (!meanwhile->address) return;
    expect_ok(tarn_pool_free_on(meanwhile->pool, meanwhile->address, B));
    meanwhile->address = NULL;
}

static void what_is_freed_while_the_vendor_refuses_is_handed_over(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.limit_bytes = 0;
    fixture->backend.capacity_bytes = 64 * KIB;
    tarn_pool *pool = create(fixture);
    alloc(pool, 32, A);
    struct meanwhile meanwhile = { pool, alloc(pool, 32, B) };
    void *address = meanwhile.address;
    fixture->backend.while_acquiring = free_on_b;
    fixture->backend.context = &meanwhile;
    assert_ptr_equal(alloc(pool, 32, A), address);
    assert_int_equal(fixture->backend.wait_count, 1);
    destroy(fixture, pool);
}

/* --- every call of a program fails once ------------------------------------------------------------- */

/* Several streams that free and take; some steps may be refused. */
static void use_streams(struct fixture *fixture, tarn_pool *pool)
{
    void *blocks[48] = { NULL };
    for (int step = 0; step < 300; step++) {
        unsigned failed_before = fixture->backend.failed_count;
        tarn_stream stream = STREAM(step * 7 % 5);
        void **block = &blocks[step * 11 % 48];
        if (*block) {
            const tarn_stream both[] = { stream, STREAM(step % 3) };
            tarn_status status = tarn_pool_free_after(pool, *block, both, 1 + (size_t)step % 2);
            if (status != TARN_STATUS_OK) {
                assert_int_equal(status, TARN_STATUS_VENDOR_ERROR);
                expect_ok(tarn_pool_free_after(pool, *block, both, 1 + (size_t)step % 2));
            }
            *block = NULL;
        } else {
            tarn_status status =
                tarn_pool_alloc_on(pool, (size_t)(step % 5 + 1) * KIB, stream, block);
            if (status == TARN_STATUS_VENDOR_ERROR)
                status = tarn_pool_alloc_on(pool, (size_t)(step % 5 + 1) * KIB, stream, block);
            if (status != TARN_STATUS_OK) assert_int_equal(status, TARN_STATUS_OVER_LIMIT);
        }
        if (step % 5 == 4) test_backend_complete(&fixture->backend, STREAM(step % 4));
        if (step % 60 == 59) {
            tarn_stream ended = STREAM(step % 5);
            tarn_status status = tarn_stream_retire(ended);
            if (status != TARN_STATUS_OK) assert_int_equal(status, TARN_STATUS_VENDOR_ERROR);
            test_backend_complete(&fixture->backend, ended);
        }
        bool has_just_failed = fixture->backend.failed_count != failed_before;
        if (has_just_failed || step % 30 == 0) expect_ok(tarn_pool_check(pool));
    }
    for (int i = 0; i < 48; i++) {
        tarn_status status = tarn_pool_free_on(pool, blocks[i], A);
        if (status == TARN_STATUS_VENDOR_ERROR) status = tarn_pool_free_on(pool, blocks[i], A);
        assert_int_equal(status, TARN_STATUS_OK);
    }
    assert_int_equal(stats_of(pool).live_count, 0);
    expect_ok(tarn_pool_trim(pool, 0, NULL));
    assert_int_equal(stats_of(pool).footprint_bytes, 0);
}

static void let_every_call_fail(struct fixture *fixture)
{
    for (int call = 0; call < TEST_CALL_OF_STREAMS_COUNT; call++) {
        bool is_there = call != TEST_CALL_STREAM_ID && call != TEST_CALL_SYNCHRONIZE;
        if (!is_there && !fixture->identifies_streams) continue;
        unsigned n = 1;
        for (;; n++) {
            open_backend(fixture);
            tarn_pool *pool = create(fixture);
            fixture->backend.fail_call_at[call] = n;
            use_streams(fixture, pool);
            bool has_failed = fixture->backend.fail_call_at[call] == 0;
            fixture->backend.fail_call_at[call] = 0;
            destroy(fixture, pool);
            if (!has_failed) break;
        }
        printf("call %d failed %u times, each once\n", call, n - 1);
        if (call != TEST_CALL_STREAM_SYNCHRONIZE && call != TEST_CALL_EVENT_DESTROY)
            assert_true(n > 3);
    }
}

static void every_call_may_fail(void **state)
{
    let_every_call_fail(*state);
}

static void every_call_may_fail_where_streams_end_unannounced(void **state)
{
    struct fixture *fixture = *state;
    fixture->identifies_streams = true;
    let_every_call_fail(fixture);
}

/* From some call on, all of a kind. */
static void every_kind_of_call_may_fail_from_now_on(void **state)
{
    struct fixture *fixture = *state;
    for (unsigned i = 0; i < 4 * 10; i++) {
        static const enum test_call kinds[] = { TEST_CALL_EVENT_CREATE, TEST_CALL_EVENT_RECORD,
                                                TEST_CALL_EVENT_QUERY,
                                                TEST_CALL_STREAM_WAIT_EVENT };
        open_backend(fixture);
        tarn_pool *pool = create(fixture);
        fixture->backend.fail_call_at[kinds[i % 4]] = 1 + i / 4 * 3;
        fixture->backend.fail_call_count = 1000000;
        use_streams(fixture, pool);
        destroy(fixture, pool);
    }
}

/* --- the vendor lacks calls ------------------------------------------------------------------------- */

/* Each stream has what it freed itself, and nobody what another did. */
static void use_backend_without_order(struct fixture *fixture)
{
    struct half_freed half = create_half_freed(fixture);
    expect_refused(half.pool, TARN_STATUS_OVER_LIMIT, 8, C);
    expect_refused(half.pool, TARN_STATUS_OVER_LIMIT, 16, B);
    assert_ptr_equal(alloc(half.pool, 8, B), half.of_b);
    assert_ptr_equal(alloc(half.pool, 8, A), half.of_a);
    /* What touches its own and waits for nobody is as good as its own. */
    expect_ok(tarn_pool_free_on(half.pool, half.of_a, A));
    expect_ok(tarn_pool_free_after(half.pool, half.of_b, NULL, 0));
    assert_ptr_equal(alloc(half.pool, 16, A), half.of_a);
    expect_ok(tarn_pool_free_on(half.pool, half.of_a, A));
    assert_ptr_equal(alloc(half.pool, 8, A), half.of_a);
    alloc(half.pool, 8, A);
    /* The caller has waited itself. */
    expect_ok(tarn_pool_free_after(half.pool, half.of_a, NULL, 0));
    assert_ptr_equal(alloc(half.pool, 8, C), half.of_a);
    expect_ok(tarn_pool_free_on(half.pool, half.of_a, A));
    expect_status(TARN_STATUS_VENDOR_ERROR, tarn_stream_retire(A));
    expect_ok(tarn_stream_retire(C));
    expect_refused(half.pool, TARN_STATUS_OVER_LIMIT, 8, A);
    assert_int_equal(fixture->backend.wait_count, 0);
    destroy(fixture, half.pool);
}

static void without_streams_at_all_nothing_is_handed_over(void **state)
{
    struct fixture *fixture = *state;
    fixture->backend.has_streams = false;
    fixture->opened = test_backend_open(&fixture->backend);
    use_backend_without_order(fixture);
}

static void without_one_of_the_calls_nothing_is_handed_over(void **state)
{
    struct fixture *fixture = *state;
    for (int missing = 0; missing < 5; missing++) {
        open_backend(fixture);
        tarn_backend_operations *operations = &fixture->backend.operations;
        if (missing == 0) operations->event_create = NULL;
        if (missing == 1) operations->event_destroy = NULL;
        if (missing == 2) operations->event_record = NULL;
        if (missing == 3) operations->event_query = NULL;
        if (missing == 4) operations->stream_wait_event = NULL;
        use_backend_without_order(fixture);
    }
}

static void without_a_check_every_stream_is_taken(void **state)
{
    struct fixture *fixture = *state;
    fixture->backend.operations.stream_check = NULL;
    struct half_freed half = create_half_freed(fixture);
    assert_ptr_equal(alloc(half.pool, 16, C), half.of_a);
    destroy(fixture, half.pool);
}

/* --- the host has no memory ------------------------------------------------------------------------- */

static void *alloc_twice(tarn_pool *pool, size_t size_bytes, tarn_stream stream)
{
    void *address;
    tarn_status status = tarn_pool_alloc_on(pool, size_bytes, stream, &address);
    if (status == TARN_STATUS_OK) return address;
    assert_int_equal(status, TARN_STATUS_OUT_OF_HOST_MEMORY);
    expect_ok(tarn_pool_check(pool));
    expect_ok(tarn_pool_alloc_on(pool, size_bytes, stream, &address));
    return address;
}

/* New streams come while there are regions enough for the arrays and trees of each set to grow. */
static void use_host_memory(struct fixture *fixture)
{
    enum {
        BLOCKS = 300,
        STREAMS = 6
    };
    void *blocks[BLOCKS];
    tarn_pool *pool;
    if (tarn_pool_create(&fixture->options, &pool) != TARN_STATUS_OK) pool = create(fixture);
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = alloc_twice(pool, (size_t)(i % 7 + 1) * KIB, STREAM(i / 100));
    /* Some on streams that nobody has seen: a free needs no host memory, and waits instead. */
    for (int i = 0; i < BLOCKS; i++) {
        if (i % 4 == 0) continue;
        const tarn_stream both[] = { STREAM(i * STREAMS / BLOCKS), STREAM(i % 2) };
        expect_ok(tarn_pool_free_after(pool, blocks[i], both, 1 + (size_t)i % 2));
        blocks[i] = NULL;
    }
    expect_ok(tarn_pool_check(pool));
    for (int i = 0; i < BLOCKS; i++) {
        if (!blocks[i])
            blocks[i] = alloc_twice(pool, (size_t)(i % 5 + 1) * KIB, STREAM(i % STREAMS));
    }
    for (int i = 0; i < BLOCKS; i++)
        expect_ok(tarn_pool_free_on(pool, blocks[i], STREAM(i % STREAMS)));
    expect_ok(tarn_pool_check(pool));
    /* Giants. */
    void *giants[3];
    for (int i = 0; i < 3; i++)
        giants[i] = alloc_twice(pool, 20000 * KIB, STREAM(i));
    for (int i = 0; i < 3; i++)
        expect_ok(tarn_pool_free_on(pool, giants[i], STREAM(2 - i)));
    expect_ok(tarn_pool_check(pool));
    destroy(fixture, pool);
}

static void every_host_allocation_may_fail(void **state)
{
    struct fixture *fixture = *state;
    unsigned n = 1;
    for (bool has_failed = true; has_failed; n++) {
        open_backend(fixture);
        fixture->options.limit_bytes = 0;
        size_t resting_before = tn_pool_registry_resting_count();
        host_memory_faults_begin(n);
        use_host_memory(fixture);
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
    struct fixture *fixture = *state;
    for (unsigned n = 1;; n++) {
        open_backend(fixture);
        tarn_pool *pool = create(fixture);
        void *address = alloc(pool, 64, A);
        expect_ok(tarn_pool_free_on(pool, address, A));
        host_memory_faults_begin(n);
        tarn_status status = tarn_stream_retire(A);
        bool has_failed = host_memory_faults_end();
        expect_ok(tarn_pool_check(pool));
        if (has_failed) {
            assert_int_equal(status, TARN_STATUS_OUT_OF_HOST_MEMORY);
            /* All is as it was. */
            assert_ptr_equal(alloc(pool, 64, A), address);
            expect_ok(tarn_pool_free_on(pool, address, A));
            expect_ok(tarn_stream_retire(A));
        } else {
            assert_int_equal(status, TARN_STATUS_OK);
            assert_true(n > 3); /* the table, the sets of the stream and of several */
        }
        test_backend_end_stream(&fixture->backend, A);
        assert_ptr_equal(alloc(pool, 64, B), address);
        assert_int_equal(fixture->backend.wait_count, 1);
        destroy(fixture, pool);
        if (!has_failed) break;
    }
}

/* Frees of what is live allocate nothing, whatever the streams, once these are known. */
static void freeing_on_known_streams_allocates_nothing(void **state)
{
    struct fixture *fixture = *state;
    enum {
        BLOCKS = 3000,
        STREAMS = 12
    };
    static void *blocks[BLOCKS];
    fixture->options.limit_bytes = 0;
    tarn_pool *pool = create(fixture);
    for (int i = 0; i < BLOCKS; i++) {
        expect_ok(
            tarn_pool_alloc_on(pool, (size_t)(i % 3 + 1) * KIB, STREAM(i % STREAMS), &blocks[i]));
    }
    host_memory_faults_begin(1);
    for (int i = 0; i < BLOCKS; i++) {
        const tarn_stream streams[] = { STREAM(i % STREAMS), STREAM(i / 7 % STREAMS) };
        expect_ok(tarn_pool_free_after(pool, blocks[i], streams, (size_t)(i / 5 % 3)));
    }
    assert_false(host_memory_faults_end());
    destroy(fixture, pool);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup(function, set_up)
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
