/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_use_on: memory that is used on further streams: each way to free waits for them, what is refused, and the streams
 * that end, are captured, or are too many before the free. test_stream_callers has threads' own streams.
 */
#include <pthread.h>

#include "core/care/careful.h"
#include "core/arenas/pool_uses.h"
#include "core/supply/stream_reuse.h"
#include "harness/host_memory_faults.h"
#include "pool_fixture.h"
#include "tarn/debug.h"
#include "tarn/record.h"

static void use_on(void *address, tarn_stream stream)
{
    expect_ok(tarn_pool_use_on(pool, address, stream));
    if (checks_every_step) expect_ok(tarn_pool_check(pool));
}

/* The calls of a pool that has no uses take no slow path. */
static void expect_uses(size_t count)
{
    assert_int_equal(pool->uses.use_count, count);
    assert_int_equal(tn_pool_needs_care(pool), count > 0);
    expect_ok(tarn_pool_check(pool));
}

/* A block of all the pool, used on B, so that A waits for B to have it again. */
static void *all_of_a_used_on_b(void)
{
    alloc_on(0, C);
    void *address = alloc_on(64 * KIB, A);
    use_on(address, B);
    test_backend_take_calls(&backend);
    return address;
}

/* Whether any stream was made to wait for it, since wait_count was set to 0. */
static bool is_waited_for(tarn_stream stream)
{
    bool is_waited_for = false;
    assert_in_range(backend.wait_count, 0, TEST_BACKEND_WAITS_MAX);
    for (unsigned i = 0; i < backend.wait_count; i++)
        is_waited_for = is_waited_for || backend.waits[i].awaited == stream;
    return is_waited_for;
}

static void expect_a_waits_for_b(void *address)
{
    expect_uses(0);
    assert_ptr_equal(alloc_on(64 * KIB, A), address);
    expect_records_and_waits(1, 1);
    expect_last_wait(A, B);
}

/* --- the ways to free -------------------------------------------------------------------------------- */

static const size_t sizes_bytes[] = { 3 * KIB, 16 };

typedef tarn_status free_function(void *address, size_t size_bytes);

static tarn_status free_plainly(void *address, size_t size_bytes)
{
    return tarn_pool_free_on(pool, address, A);
}

static tarn_status free_by_size(void *address, size_t size_bytes)
{
    return tarn_pool_free_sized_on(pool, address, size_bytes, A);
}

static tarn_status free_in_a_batch(void *address, size_t size_bytes)
{
    void *const addresses[] = { NULL, address, NULL };
    return tarn_pool_free_many_on(pool, 3, addresses, A);
}

static tarn_status free_after_one(void *address, size_t size_bytes)
{
    return tarn_pool_free_after(pool, address, &(tarn_stream){ A }, 1);
}

static tarn_status free_after_both(void *address, size_t size_bytes)
{
    const tarn_stream both[] = { A, B };
    return tarn_pool_free_after(pool, address, both, 2);
}

static tarn_status free_after_none(void *address, size_t size_bytes)
{
    return tarn_pool_free_after(pool, address, NULL, 0);
}

static free_function *const ways[] = { free_plainly,   free_by_size,    free_in_a_batch,
                                       free_after_one, free_after_both, free_after_none };
#define EACH_WAY(way) (size_t(way) = 0; (way) < sizeof ways / sizeof *ways; (way)++)

/* The stream that allocated and freed it has to wait for the other one, too. */
static void each_free_waits_for_the_further_stream(void **state)
{
    for
        EACH_WAY(way)
        {
            for (size_t i = 0; i < 2; i++) {
                create_anew();
                void *address = alloc_on(sizes_bytes[i], A);
                use_on(address, B);
                expect_uses(1);
                test_backend_take_calls(&backend);
                expect_ok(ways[way](address, sizes_bytes[i]));
                expect_no_calls();
                assert_int_equal(stats_of(pool).live_count, 0);
                expect_a_waits_for_b(address);
            }
        }
}

static void the_default_stream_is_one_of_the_users(void **state)
{
    void *address = alloc(64 * KIB);
    use_on(address, B);
    free_one(address);
    test_backend_take_calls(&backend);
    assert_ptr_equal(alloc(64 * KIB), address);
    expect_records_and_waits(1, 1);
    expect_last_wait(NULL, B);
    /* And as the further one. */
    use_on(address, NULL);
    free_on(address, B);
    test_backend_take_calls(&backend);
    assert_ptr_equal(alloc_on(64 * KIB, B), address);
    expect_last_wait(B, NULL);
}

static void a_free_without_uses_beside_it_is_as_ever(void **state)
{
    void *used = alloc_on(4 * KIB, A), *other = alloc_on(60 * KIB, A);
    use_on(used, B);
    test_backend_take_calls(&backend);
    free_on(other, A);
    assert_ptr_equal(alloc_on(60 * KIB, A), other);
    expect_no_calls();
    void *both[] = { other, used };
    expect_ok(tarn_pool_free_many_on(pool, 2, both, A));
    expect_uses(0);
    expect_no_calls();
}

static void a_free_of_a_fallbacks_memory_waits_through_either_pool(void **state)
{
    tarn_pool *fallback = pool, *first;
    void *kept = alloc_on(4 * KIB, A); /* so that the fallback gives nothing back */
    backend.capacity_bytes = backend.held_bytes;
    options.fallback = fallback;
    first = new_pool(&options);
    for (int way = 0; way < 4; way++) {
        void *address;
        expect_ok(tarn_pool_alloc_on(first, 60 * KIB, A, &address));
        assert_ptr_equal(found_at(address).pool, fallback);
        expect_ok(tarn_pool_use_on(way % 2 ? first : fallback, address, B));
        expect_uses(1);
        assert_int_equal(first->uses.use_count, 0);
        expect_ok(tarn_pool_free_on(way / 2 ? first : fallback, address, A));
        expect_uses(0);
        test_backend_take_calls(&backend);
        assert_ptr_equal(alloc_on(60 * KIB, A), address);
        expect_records_and_waits(1, 1);
        expect_last_wait(A, B);
        free_on(address, A);
    }
    free_on(kept, A);
    expect_ok(tarn_pool_destroy(first));
}

static void the_process_wide_pool_knows_it_too(void **state)
{
    void *address;
    tarn_pool *wide;
    expect_ok(tarn_malloc(1000, &address));
    expect_ok(tarn_default_pool(&wide));
    expect_ok(tarn_pool_use_on(wide, address, NULL));
    assert_int_equal(wide->uses.use_count, 1);
    expect_ok(tarn_free(address));
    assert_int_equal(wide->uses.use_count, 0);
    expect_ok(tarn_default_pool_destroy());
}

/* --- which streams ---------------------------------------------------------------------------------- */

static void a_stream_counts_once(void **state)
{
    void *address = all_of_a_used_on_b();
    for (int i = 0; i < 3; i++)
        use_on(address, B);
    expect_uses(1);
    expect_no_calls();
    free_on(address, A);
    expect_a_waits_for_b(address);
}

static void its_own_stream_costs_nothing(void **state)
{
    void *address = alloc_on(64 * KIB, A);
    use_on(address, A);
    free_on(address, A);
    assert_ptr_equal(alloc_on(64 * KIB, A), address);
    use_on(address, A);
    test_backend_take_calls(&backend);
    free_on(address, A);
    assert_ptr_equal(alloc_on(64 * KIB, A), address);
    expect_no_calls();
    assert_null(pool->streams);
}

static void several_streams_are_all_waited_for(void **state)
{
    void *address = alloc_on(64 * KIB, A);
    for (unsigned i = 1; i < 8; i++)
        use_on(address, STREAM(i));
    expect_uses(7);
    free_on(address, A);
    test_backend_take_calls(&backend);
    assert_ptr_equal(alloc_on(64 * KIB, A), address);
    expect_records_and_waits(7, 7);
}

static void both_names_of_the_default_stream_are_one(void **state)
{
    destroy();
    backend.default_stream_alias = (tarn_stream)1;
    opened = test_backend_open(&backend);
    create();
    void *address = alloc_on(64 * KIB, A);
    use_on(address, NULL);
    use_on(address, (tarn_stream)1);
    expect_uses(1);
    free_on(address, A);
    test_backend_take_calls(&backend);
    assert_ptr_equal(alloc_on(64 * KIB, A), address);
    expect_records_and_waits(1, 1);
    expect_last_wait(A, NULL);
}

/* Work that was submitted to it before the free is covered, whenever the pool was told. */
static void what_is_freed_on_it_later_is_not_waited_for_twice(void **state)
{
    void *address = alloc_on(32 * KIB, A), *other = alloc_on(32 * KIB, B);
    use_on(address, B);
    free_on(other, B);
    free_on(address, A);
    test_backend_take_calls(&backend);
    assert_ptr_equal(alloc_on(64 * KIB, A), address);
    expect_records_and_waits(1, 1);
}

/* --- what is refused -------------------------------------------------------------------------------- */

static void bad_addresses_have_their_status(void **state)
{
    tarn_pool *other = new_pool(&options);
    void *address = alloc_on(4 * KIB, A), *freed = alloc_on(KIB, A), *of_other;
    expect_ok(tarn_pool_alloc_on(other, KIB, A, &of_other));
    free_on(freed, A);
    expect_ok(tarn_pool_use_on(pool, NULL, B));
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_use_on(pool, freed, B));
    expect_status(TARN_STATUS_INTERIOR_ADDRESS, tarn_pool_use_on(pool, (char *)address + KIB, B));
    expect_status(TARN_STATUS_WRONG_POOL, tarn_pool_use_on(pool, of_other, B));
    expect_status(TARN_STATUS_FOREIGN_ADDRESS, tarn_pool_use_on(pool, &backend, B));
    expect_status(TARN_STATUS_INVALID_POOL, tarn_pool_use_on(NULL, address, B));
    expect_uses(0);
    expect_ok(tarn_pool_free_on(other, of_other, A));
    expect_ok(tarn_pool_destroy(other));
    expect_status(TARN_STATUS_INVALID_POOL, tarn_pool_use_on(other, address, B));
    free_on(address, A);
}

static void bad_streams_change_nothing(void **state)
{
    void *address = alloc_on(64 * KIB, A);
    backend.foreign_stream = B;
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_pool_use_on(pool, address, B));
    expect_uses(0);
    backend.foreign_stream = NULL;
    backend.call_failure = TARN_STATUS_VENDOR_ERROR;
    backend.fail_call_at[TEST_CALL_STREAM_CHECK] = 1;
    expect_status(TARN_STATUS_VENDOR_ERROR, tarn_pool_use_on(pool, address, B));
    expect_uses(0);
    use_on(address, B);
    free_on(address, A);
}

static void streams_that_end_unannounced_are_refused(void **state)
{
    destroy();
    backend.has_ids = true;
    opened = test_backend_open(&backend);
    options.identifies_streams = true;
    create();
    void *address = alloc_on(64 * KIB, A);
    expect_status(TARN_STATUS_NOT_SUPPORTED, tarn_pool_use_on(pool, address, B));
    expect_message("identifies_streams");
    expect_status(TARN_STATUS_NOT_SUPPORTED, tarn_pool_use_on(pool, address, A));
    use_on(address, NULL); /* which never ends */
    free_on(address, A);
    test_backend_take_calls(&backend);
    assert_ptr_equal(alloc_on(64 * KIB, A), address);
    expect_last_wait(A, NULL);
}

static void a_free_that_fails_forgets_nothing(void **state)
{
    void *address = all_of_a_used_on_b();
    expect_status(TARN_STATUS_WRONG_SIZE, tarn_pool_free_sized_on(pool, address, KIB, A));
    expect_uses(1);
    backend.foreign_stream = STREAM(9);
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_pool_free_on(pool, address, STREAM(9)));
    expect_uses(1);
    free_on(address, A);
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_free_on(pool, address, A));
    test_backend_take_calls(&backend);
    expect_a_waits_for_b(address);
}

/* --- host memory ------------------------------------------------------------------------------------ */

static void without_host_memory_nothing_changes(void **state)
{
    unsigned n = 1;
    for (bool has_failed = true; has_failed; n++) {
        create_anew();
        void *address = alloc_on(64 * KIB, A);
        host_memory_faults_begin(n);
        tarn_status status = tarn_pool_use_on(pool, address, B);
        has_failed = host_memory_faults_end();
        if (has_failed) {
            assert_int_equal(status, TARN_STATUS_OUT_OF_HOST_MEMORY);
            expect_uses(0);
            use_on(address, B);
        } else {
            assert_int_equal(status, TARN_STATUS_OK);
        }
        free_on(address, A);
        test_backend_take_calls(&backend);
        expect_a_waits_for_b(address);
    }
    assert_true(n > 4); /* buckets, the use, the table of streams, their free sets */
}

static void the_free_needs_no_host_memory(void **state)
{
    for
        EACH_WAY(way)
        {
            create_anew();
            void *address = alloc_on(3 * KIB, A);
            for (unsigned i = 1; i < 20; i++)
                use_on(address, STREAM(i));
            test_backend_take_calls(&backend);
            host_memory_faults_begin(1);
            tarn_status status = ways[way](address, 3 * KIB);
            assert_false(host_memory_faults_end());
            assert_int_equal(status, TARN_STATUS_OK);
            expect_no_calls();
            expect_uses(0);
        }
}

/* More buckets are wanted, and not had: then the chains are longer. */
static void many_uses_need_no_more_buckets(void **state)
{
    enum {
        COUNT = 1000
    };
    static void *addresses[COUNT];
    options.limit_bytes = 0;
    create_anew();
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < COUNT; i++)
            addresses[i] = alloc_on(i % 2 ? KIB : 16, A);
        for (int i = 0; i < COUNT; i++) {
            bool fails = round == 1 && pool->uses.use_count == pool->uses.bucket_count;
            if (fails) host_memory_faults_begin(2); /* the use, then the buckets */
            tarn_status status = tarn_pool_use_on(pool, addresses[i], B);
            if (fails) assert_true(host_memory_faults_end());
            assert_int_equal(status, TARN_STATUS_OK);
        }
        expect_uses(COUNT);
        for (int i = COUNT - 1; i >= 0; i--) {
            assert_true(tn_pool_is_used(pool, (uintptr_t)addresses[i]));
            free_on(addresses[i], A);
            assert_false(tn_pool_is_used(pool, (uintptr_t)addresses[i]));
        }
        expect_uses(0);
    }
}

/* --- resizing --------------------------------------------------------------------------------------- */

static void bytes_that_are_given_back_wait_too(void **state)
{
    char *address = all_of_a_used_on_b();
    expect_ok(tarn_pool_resize_on(pool, address, 32 * KIB, A));
    expect_uses(1);
    expect_no_calls();
    assert_ptr_equal(alloc_on(32 * KIB, A), address + 32 * KIB);
    expect_records_and_waits(1, 1);
    expect_last_wait(A, B);
    /* The rest is used there still. */
    free_on(address, A);
    assert_ptr_equal(alloc_on(32 * KIB, A), address);
    expect_records_and_waits(1, 1);
}

static void a_larger_block_is_used_there_still(void **state)
{
    char *address = alloc_on(32 * KIB, A);
    use_on(address, B);
    expect_ok(tarn_pool_resize_on(pool, address, 64 * KIB, A));
    expect_uses(1);
    test_backend_take_calls(&backend);
    free_on(address, A);
    expect_a_waits_for_b(address);
}

static void a_slice_is_resized_in_its_slice(void **state)
{
    void *address = alloc_on(9, A);
    use_on(address, B);
    expect_ok(tarn_pool_resize_on(pool, address, 16, A));
    expect_status(TARN_STATUS_NOT_IN_PLACE, tarn_pool_resize_on(pool, address, 17, A));
    expect_uses(1);
    free_on(address, A);
    test_backend_take_calls(&backend);
    expect_a_waits_for_b(address);
}

/* The pool has forgotten the stream meanwhile, and gives it a number again. */
static void forget(tarn_stream stream)
{
    tn_mutex_lock(&pool->growth_lock);
    uint32_t number = tn_stream_table_search(pool->streams, (struct tn_stream_name){ stream, 0 });
    assert_int_not_equal(number, TN_STREAM_NONE);
    tn_stream_reuse_forget_idle(pool, number);
    tn_mutex_unlock(&pool->growth_lock);
    assert_int_equal(tn_stream_table_search(pool->streams, (struct tn_stream_name){ stream, 0 }),
                     TN_STREAM_NONE);
    test_backend_take_calls(&backend);
}

static void a_forgotten_stream_is_waited_for(void **state)
{
    char *address = all_of_a_used_on_b();
    forget(B);
    expect_ok(tarn_pool_resize_on(pool, address, 32 * KIB, A));
    assert_ptr_equal(alloc_on(32 * KIB, A), address + 32 * KIB);
    expect_last_wait(A, B);
    expect_ok(tarn_pool_resize_on(pool, address, 16 * KIB, A));
    test_backend_complete(&backend, B);
    test_backend_complete(&backend, A);
    free_on(alloc_on(16 * KIB, C), C);
    forget(B);
    host_memory_faults_begin(1);
    tarn_status status = tarn_pool_free_on(pool, address, A);
    assert_false(host_memory_faults_end()); /* a number that was used before needs none */
    assert_int_equal(status, TARN_STATUS_OK);
    assert_int_equal(backend.call_counts[TEST_CALL_STREAM_CHECK], 0);
    expect_uses(0);
    assert_ptr_equal(alloc_on(16 * KIB, A), address);
    expect_last_wait(A, B);
}

/* --- many streams ----------------------------------------------------------------------------------- */

/* The pool has no number for each: the free names them all the same. */
static void more_streams_than_numbers_are_waited_for(void **state)
{
    enum {
        MANY = 60
    };
    void *address = alloc_on(64 * KIB, A);
    for (unsigned i = 1; i < MANY; i++)
        use_on(address, STREAM(i));
    expect_uses(MANY - 1);
    test_backend_take_calls(&backend);
    free_on(address, A);
    expect_uses(0);
    assert_int_equal(backend.call_counts[TEST_CALL_STREAM_SYNCHRONIZE], 0);
    backend.wait_count = 0;
    assert_ptr_equal(alloc_on(64 * KIB, STREAM(70)), address);
    for (unsigned i = 0; i < MANY; i++)
        assert_true(is_waited_for(STREAM(i)));
}

/* The pool has forgotten B, and has no free set for the number that it would get now. */
static void *all_of_a_used_on_forgotten_b(void)
{
    destroy();
    backend.has_synchronize = true;
    opened = test_backend_open(&backend);
    create();
    void *address = all_of_a_used_on_b();
    forget(B);
    use_on(address, C); /* has B's number */
    test_backend_take_calls(&backend);
    return address;
}

static tarn_status free_without_host_memory(void *address)
{
    host_memory_faults_begin(1);
    tarn_status status = tarn_pool_free_on(pool, address, A);
    assert_true(host_memory_faults_end());
    return status;
}

static void without_a_number_the_free_waits(void **state)
{
    void *address = all_of_a_used_on_forgotten_b();
    assert_int_equal(free_without_host_memory(address), TARN_STATUS_OK);
    assert_int_equal(backend.call_counts[TEST_CALL_SYNCHRONIZE], 1);
    expect_uses(0);
    expect_pending(0);
}

static void without_a_number_and_a_wait_nothing_is_freed(void **state)
{
    void *address = all_of_a_used_on_forgotten_b();
    tarn_capture capture = 0;
    expect_ok(tarn_capture_begin(pool, C, &capture));
    forget(A);
    expect_ok(tarn_capture_begin(pool, STREAM(4), &capture)); /* has A's number and a new one */
    assert_int_equal(free_without_host_memory(address), TARN_STATUS_OUT_OF_HOST_MEMORY);
    expect_uses(2);
    expect_ok(tarn_capture_end(pool, capture));
    expect_ok(tarn_capture_release(pool, capture, NULL, 0));
    backend.call_failure = TARN_STATUS_VENDOR_ERROR;
    backend.fail_call_at[TEST_CALL_SYNCHRONIZE] = 1;
    test_backend_take_calls(&backend);
    free_on(address, A);
    expect_uses(0);
}

/* --- streams that end ------------------------------------------------------------------------------- */

static void a_stream_may_end_before_the_free(void **state)
{
    char *address = all_of_a_used_on_b();
    retire(B);
    expect_records_and_waits(1, 0);
    test_backend_end_stream(&backend, B);
    expect_uses(1);
    expect_ok(tarn_pool_resize_on(pool, address, 32 * KIB, A));
    assert_ptr_equal(alloc_on(32 * KIB, A), address + 32 * KIB);
    expect_records_and_waits(0, 1);
    expect_last_wait(A, B);
    free_on(address, A);
    assert_ptr_equal(alloc_on(32 * KIB, A), address);
    expect_no_calls(); /* A has waited for it */
    free_on(address, A);
}

/* Its number is another stream's by then. */
static void the_work_of_an_ended_stream_may_come_to_its_end(void **state)
{
    void *address = all_of_a_used_on_b();
    retire(B);
    test_backend_end_stream(&backend, B);
    test_backend_complete(&backend, B);
    tn_mutex_lock(&pool->growth_lock);
    assert_true(tn_stream_reuse_poll(pool));
    tn_mutex_unlock(&pool->growth_lock);
    assert_int_equal(tn_stream_table_in_state(pool->streams, TN_STREAM_STATE_RETIRED), 0);
    alloc_on(0, STREAM(5));
    free_on(address, A);
    test_backend_take_calls(&backend);
    assert_ptr_equal(alloc_on(64 * KIB, A), address);
    expect_no_calls();
}

/* Every stream gets a number that one before it had: none is waited for in another's place. */
static void ended_streams_are_not_mistaken_for_others(void **state)
{
    destroy();
    options.limit_bytes = 0;
    create();
    void *addresses[70];
    for (unsigned i = 1; i < 70; i++) {
        addresses[i] = alloc_on(4 * KIB, A);
        use_on(addresses[i], STREAM(i));
        retire(STREAM(i));
        if (i % 2) test_backend_complete(&backend, STREAM(i));
    }
    expect_uses(69);
    test_backend_take_calls(&backend);
    for (unsigned i = 1; i < 70; i++)
        free_on(addresses[i], A);
    expect_uses(0);
    assert_int_equal(backend.call_counts[TEST_CALL_EVENT_RECORD], 0);
}

/* The pool has forgotten the stream: it is given a number again, and its end is recorded. */
static void a_forgotten_stream_may_end(void **state)
{
    void *address = all_of_a_used_on_b();
    forget(B);
    retire(B);
    test_backend_end_stream(&backend, B);
    expect_records_and_waits(1, 0);
    free_on(address, A);
    assert_ptr_equal(alloc_on(64 * KIB, A), address);
    expect_records_and_waits(0, 1);
    expect_last_wait(A, B);
}

static tarn_status retire_without_host_memory(tarn_stream stream)
{
    host_memory_faults_begin(1);
    tarn_status status = tarn_stream_retire(stream);
    assert_true(host_memory_faults_end());
    return status;
}

static void the_end_of_a_stream_that_has_no_room_is_waited_for(void **state)
{
    void *address = all_of_a_used_on_forgotten_b();
    assert_int_equal(retire_without_host_memory(B), TARN_STATUS_OK);
    assert_int_equal(backend.call_counts[TEST_CALL_STREAM_SYNCHRONIZE], 1);
    test_backend_end_stream(&backend, B);
    expect_uses(1); /* on C */
    free_on(address, A);
    test_backend_take_calls(&backend);
    assert_ptr_equal(alloc_on(64 * KIB, A), address);
    expect_records_and_waits(1, 1);
    expect_last_wait(A, C);
}

static void without_room_and_a_wait_a_stream_does_not_end(void **state)
{
    void *address = all_of_a_used_on_forgotten_b();
    backend.call_failure = TARN_STATUS_VENDOR_ERROR;
    backend.fail_call_at[TEST_CALL_STREAM_SYNCHRONIZE] = 1;
    assert_int_equal(retire_without_host_memory(B), TARN_STATUS_OUT_OF_HOST_MEMORY);
    expect_uses(2);
    tarn_capture capture = 0;
    expect_ok(tarn_capture_begin(pool, C, &capture));
    forget(A);
    expect_ok(tarn_capture_begin(pool, STREAM(4), &capture)); /* has A's number and a new one */
    test_backend_take_calls(&backend);
    assert_int_equal(retire_without_host_memory(B), TARN_STATUS_OUT_OF_HOST_MEMORY);
    assert_int_equal(backend.call_counts[TEST_CALL_STREAM_SYNCHRONIZE], 0);
    expect_uses(2);
    expect_ok(tarn_capture_end(pool, capture));
    expect_ok(tarn_capture_release(pool, capture, NULL, 0));
    retire(B);
    expect_uses(2);
    free_on(address, A);
}

/* Nothing was recorded, so nobody gets it until the device has been waited for. */
static void memory_of_a_stream_whose_end_is_not_recorded_is_lost(void **state)
{
    destroy();
    backend.has_synchronize = true;
    opened = test_backend_open(&backend);
    create();
    void *address = alloc_on(60 * KIB, A);
    alloc_on(KIB, A); /* keeps the vendor from having all back */
    use_on(address, B);
    backend.call_failure = TARN_STATUS_VENDOR_ERROR;
    backend.fail_call_at[TEST_CALL_EVENT_RECORD] = 1;
    expect_status(TARN_STATUS_VENDOR_ERROR, tarn_stream_retire(B));
    test_backend_end_stream(&backend, B);
    expect_uses(1);
    free_on(address, A);
    expect_pending(60 * KIB);
    backend.fail_call_at[TEST_CALL_SYNCHRONIZE] = 1;
    backend.fail_call_count = 1000;
    expect_refused_on(TARN_STATUS_OVER_LIMIT, 60 * KIB, A);
    backend.fail_call_at[TEST_CALL_SYNCHRONIZE] = 0;
    assert_ptr_equal(alloc_on(60 * KIB, A), address);
}

/* A number that only a live block's use waits for is evicted like any. */
static void an_ended_stream_may_be_evicted(void **state)
{
    void *address = all_of_a_used_on_b();
    retire(B);
    test_backend_end_stream(&backend, B);
    expect_ok(tarn_pool_resize_on(pool, address, 32 * KIB, A));
    for (unsigned i = 3; i < 70; i++) {
        void *small = alloc_on(16, STREAM(i));
        if (small) free_on(small, STREAM(i));
    }
    free_on(address, A);
    backend.wait_count = 0;
    assert_ptr_equal(alloc_on(32 * KIB, STREAM(75)), address);
    assert_true(is_waited_for(B));
}

static void times_begin_anew(void **state)
{
    for (unsigned left = 0; left < 6; left++) {
        create_anew();
        char *address = all_of_a_used_on_b();
        use_on(address, C);
        pool->streams->now = TN_STREAM_TIME_MAX - left;
        retire(B);
        test_backend_end_stream(&backend, B);
        expect_ok(tarn_pool_resize_on(pool, address, 32 * KIB, A));
        for (int i = 0; i < 4; i++) { /* a record each */
            free_on(alloc_on(32 * KIB, C), C);
            free_on(alloc_on(32 * KIB, A), A);
        }
        assert_true(pool->streams->now < 100);
        free_on(address, A);
        backend.wait_count = 0;
        test_backend_take_calls(&backend);
        if (left % 2) {
            assert_non_null(alloc_on(64 * KIB, STREAM(9)));
            assert_true(is_waited_for(B));
        } else { /* nothing is left in the future */
            tn_mutex_lock(&pool->growth_lock);
            tn_stream_reuse_settle(pool, 0);
            for (unsigned i = 0; i < 3; i++)
                test_backend_complete(&backend, STREAM(i));
            assert_true(tn_stream_reuse_poll(pool));
            tn_mutex_unlock(&pool->growth_lock);
            expect_pending(0);
        }
        backend.begun_stream_count = backend.ended_stream_count = 0;
    }
}

static void a_captured_stream_cannot_end(void **state)
{
    void *address = all_of_a_used_on_b();
    tarn_capture capture = 0;
    expect_ok(tarn_capture_begin(pool, B, &capture));
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_stream_retire(B));
    expect_uses(1);
    expect_ok(tarn_capture_end(pool, capture));
    expect_ok(tarn_capture_release(pool, capture, NULL, 0));
    retire(B);
    free_on(address, A);
}

/* --- captures --------------------------------------------------------------------------------------- */

static void a_free_during_the_capture_gives_it_to_the_capture(void **state)
{
    void *address = all_of_a_used_on_b();
    tarn_capture capture = 0;
    expect_ok(tarn_capture_begin(pool, B, &capture));
    use_on(address, B);
    expect_uses(1);
    free_on(address, A);
    assert_int_equal(stats_of(pool).captured_bytes, 64 * KIB);
    expect_refused_on(TARN_STATUS_OVER_LIMIT, KIB, A);
    expect_refused_on(TARN_STATUS_OVER_LIMIT, KIB, B);
    expect_ok(tarn_capture_end(pool, capture));
    expect_refused_on(TARN_STATUS_OVER_LIMIT, KIB, A);
    expect_ok(tarn_capture_release(pool, capture, &(tarn_stream){ C }, 1));
    test_backend_take_calls(&backend);
    assert_ptr_equal(alloc_on(64 * KIB, C), address);
    expect_records_and_waits(2, 2); /* A's and B's work before the capture */
}

static void a_use_of_a_capture_is_over_with_it(void **state)
{
    void *address = alloc_on(64 * KIB, A);
    tarn_capture capture = 0;
    expect_ok(tarn_capture_begin(pool, B, &capture));
    use_on(address, B);
    expect_ok(tarn_capture_end(pool, capture));
    free_on(address, A);
    assert_int_equal(stats_of(pool).captured_bytes, 0);
    expect_ok(tarn_capture_release(pool, capture, NULL, 0));
    test_backend_take_calls(&backend);
    expect_a_waits_for_b(address);
}

/* Both streams of one capture use it, so it does not serve the first again. */
static void memory_of_the_capture_is_used_on_its_other_stream(void **state)
{
    tarn_capture capture = 0;
    expect_ok(tarn_capture_begin(pool, A, &capture));
    expect_ok(tarn_capture_begin(pool, B, &capture));
    char *used = alloc_on(KIB, A), *plain = alloc_on(KIB, A);
    use_on(used, B);
    free_on(used, A);
    free_on(plain, A);
    assert_ptr_equal(alloc_on(KIB, A), plain);
    assert_ptr_not_equal(alloc_on(KIB, A), used);
    expect_ok(tarn_capture_end(pool, capture));
    expect_ok(tarn_capture_release(pool, capture, NULL, 0));
}

/* --- pools of other kinds --------------------------------------------------------------------------- */

static void a_pool_that_passes_through_gives_it_back(void **state)
{
    destroy();
    options.passes_through = true;
    options.limit_bytes = 0;
    opened = test_backend_open(&backend);
    create();
    void *address = alloc_on(1000, A);
    use_on(address, B);
    expect_uses(1);
    free_on(address, A);
    expect_uses(0);
    assert_int_equal(backend.piece_count, 0);
}

static void without_events_it_serves_nobody(void **state)
{
    void *memory = (void *)((uintptr_t)1 << 56);
    destroy();
    expect_ok(tarn_pool_create_over(memory, 64 * KIB, NULL, &pool));
    void *address = alloc_on(64 * KIB, A);
    use_on(address, B);
    expect_ok(tarn_pool_free_on(pool, address, A));
    expect_uses(0);
    expect_refused_on(TARN_STATUS_OVER_LIMIT, 64 * KIB, A);
    expect_refused_on(TARN_STATUS_OVER_LIMIT, 64 * KIB, B);
    destroy();
    expect_ok(tarn_pool_create_over(memory, 64 * KIB, NULL, &pool));
    address = alloc_on(64 * KIB, A);
    use_on(address, B);
    expect_status(TARN_STATUS_VENDOR_ERROR, tarn_stream_retire(B));
    free_on(address, A);
    expect_refused_on(TARN_STATUS_OVER_LIMIT, 64 * KIB, A);
}

static void pools_end_with_uses(void **state)
{
    for (int way = 0; way < 3; way++) {
        create_anew();
        for (unsigned i = 1; i < 5; i++)
            use_on(alloc_on(KIB, A), STREAM(i));
        retire(STREAM(1));
        if (way == 0) continue; /* destroyed by force */
        if (way == 1) expect_status(TARN_STATUS_LIVE_REGIONS, tarn_pool_destroy(pool));
        if (way == 2) {
            expect_ok(tarn_pool_abandon(pool));
            pool = NULL;
            test_backend_init(&backend);
            backend.has_streams = true;
            opened = test_backend_open(&backend);
            create();
        }
    }
}

static void releases_are_made_after_such_a_free(void **state)
{
    destroy();
    options.returns_when_empty = true;
    opened = test_backend_open(&backend);
    create();
    void *address = alloc_on(1000, A);
    use_on(address, B);
    free_on(address, A);
    assert_int_equal(backend.piece_count, 0);
}

/* --- debug mode ------------------------------------------------------------------------------------- */

static tarn_stream host_stream(void)
{
    tarn_stream stream;
    expect_done(opened, stream_create, &stream);
    return stream;
}

/* What the further stream still writes is done before the block is looked at, filled and held back. */
static void debug_mode_waits_for_late_writes(void **state)
{
    static const unsigned flags[] = { TARN_DEBUG_SITES, TARN_DEBUG_POISON,
                                      TARN_DEBUG_POISON | TARN_DEBUG_QUARANTINE,
                                      TARN_DEBUG_ZONES | TARN_DEBUG_POISON |
                                          TARN_DEBUG_QUARANTINE };
    destroy();
    tarn_backend_close(&opened);
    options.limit_bytes = 0;
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        expect_ok(tarn_host_backend_open(NULL, &opened));
        options.debug = flags[i];
        create();
        tarn_stream stream = host_stream();
        void *address = alloc(1000), *other = alloc(1000);
        expect_ok(tarn_pool_use_on(pool, address, stream));
        expect_ok(tarn_pool_use_on(pool, other, NULL));
        expect_status(flags[i] & TARN_DEBUG_ZONES ? TARN_STATUS_NOT_LIVE
                                                  : TARN_STATUS_INTERIOR_ADDRESS,
                      tarn_pool_use_on(pool, (char *)address - 16 + (i < 3 ? 32 : 0), stream));
        assert_int_equal(pool->uses.use_count, 2);
        expect_ok(tarn_pool_check(pool));
        expect_done(opened, fill, address, 7, 1000, stream);
        expect_ok(tarn_pool_free(pool, address));
        assert_int_equal(pool->uses.use_count, 1);
        expect_done(opened, synchronize);
        expect_ok(tarn_pool_check(pool));
        expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_use_on(pool, address, stream));
        expect_ok(tarn_pool_trim(pool, 0, NULL));
        expect_ok(tarn_pool_check(pool));
        expect_ok(tarn_pool_free(pool, other));
        assert_int_equal(pool->uses.use_count, 0);
        retire(stream);
        expect_done(opened, stream_destroy, stream);
        destroy_empty();
        tarn_backend_close(&opened);
    }
    opened = test_backend_open(&backend);
}

static void a_damaged_block_is_forgotten(void **state)
{
    destroy();
    tarn_backend_close(&opened);
    expect_ok(tarn_host_backend_open(NULL, &opened));
    options.debug = TARN_DEBUG_ZONES;
    options.limit_bytes = 0;
    create();
    unsigned char *address = alloc(1000);
    expect_ok(tarn_pool_use_on(pool, address, NULL));
    address[1000]++;
    expect_status(TARN_STATUS_CORRUPT, tarn_pool_free(pool, address));
    assert_int_equal(pool->uses.use_count, 0);
    expect_ok(tarn_pool_destroy_forced(pool, NULL));
    pool = NULL;
    tarn_backend_close(&opened);
    opened = test_backend_open(&backend);
}

/* --- the reasons for care ----------------------------------------------------------------------------- */

static void reasons_for_care_do_not_clear_each_other(void **state)
{
    void *address = all_of_a_used_on_b();
    expect_ok(tarn_record_start("use_on.trace"));
    assert_true(tn_pool_needs_care(pool));
    expect_ok(tarn_record_stop());
    assert_true(tn_pool_has_uses(pool));
    expect_ok(tarn_record_start("use_on.trace"));
    free_on(address, A);
    assert_false(tn_pool_has_uses(pool));
    assert_true(tn_pool_needs_care(pool));
    expect_ok(tarn_record_stop());
    assert_false(tn_pool_needs_care(pool));
    (void)remove("use_on.trace");
}

/* --- threads ------------------------------------------------------------------------------------------ */

static void *free_on_a(void *address)
{
    static tarn_status status;
    status = tarn_pool_free_on(pool, address, A);
    return &status;
}

static void free_in_another_thread(void *address)
{
    pthread_t thread;
    void *status;
    assert_int_equal(pthread_create(&thread, NULL, free_on_a, address), 0);
    pthread_join(thread, &status);
    assert_int_equal(*(tarn_status *)status, TARN_STATUS_OK);
}

static void pools_with_arenas_wait_too(void **state)
{
    destroy();
    options.initial_bytes = 4 * MIB;
    options.limit_bytes = 4 * MIB;
    opened = test_backend_open(&backend);
    create();
    alloc_on(0, C);
    free_on(alloc_on(4 * MIB, A), A);
    free_on(alloc_on(KIB, B), B);
    for (int i = 0; i < 4; i++) {
        checks_every_step = false; /* a check gathers */
        want_arenas();
        void *address = alloc_on(i < 2 ? 100 * KIB : 16, A), *other = alloc_on(100 * KIB, A);
        use_on(address, B);
        expect_active(1);
        if (i % 2) {
            free_in_another_thread(address);
        } else {
            free_on(address, A);
        }
        expect_active(1);
        free_on(other, A);
        checks_every_step = true;
        test_backend_take_calls(&backend);
        void *all = alloc_on(4 * MIB, A);
        expect_last_wait(A, B);
        free_on(all, A);
        expect_uses(0);
    }
}

enum {
    ROUNDS = 2000
};

/* Allocates, tells, and frees, on streams that all threads use. */
static void *use_and_free(void *number)
{
    static const char wrong[] = "wrong";
    const char *result = NULL;
    uintptr_t own = (uintptr_t)number;
    for (uintptr_t i = 0; i < ROUNDS && !result; i++) {
        void *address;
        tarn_stream one = STREAM(own), other = STREAM((own + i) % 8);
        if (tarn_pool_alloc_on(pool, i % 3 ? 16 : KIB, one, &address) != TARN_STATUS_OK)
            return (void *)wrong;
        if (i % 2 && tarn_pool_use_on(pool, address, other) != TARN_STATUS_OK) result = wrong;
        if (i % 5 == 0 && tarn_pool_use_on(pool, address, STREAM(9)) != TARN_STATUS_OK)
            result = wrong;
        if (own == 0 && i % 64 == 0) (void)tarn_stream_retire(STREAM(20 + i % 7));
        if (tarn_pool_free_on(pool, address, one) != TARN_STATUS_OK) result = wrong;
        if (i % 256 == 0 && tarn_pool_check(pool) != TARN_STATUS_OK) result = wrong;
    }
    return (void *)result;
}

static void threads_use_and_free_at_once(void **state)
{
    pthread_t threads[3];
    destroy();
    options.initial_bytes = 64 * MIB;
    options.limit_bytes = 0;
    opened = test_backend_open(&backend);
    create();
    for (uintptr_t i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, use_and_free, (void *)i), 0);
    for (int i = 0; i < 3; i++) {
        void *result;
        pthread_join(threads[i], &result);
        assert_null(result);
    }
    expect_uses(0);
}

/* --- check -------------------------------------------------------------------------------------------- */

static void a_use_of_nothing_is_a_fault(void **state)
{
    void *address = all_of_a_used_on_b();
    assert_non_null(address);
    struct tn_use *use = tn_use_create((uintptr_t)address + KIB, (struct tn_stream_name){ B, 0 });
    tn_pool_insert_use(pool, use);
    expect_fault("used on further streams");
    tn_pool_remove_uses(pool, (uintptr_t)address + KIB);
    expect_ok(tarn_pool_check(pool));
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up_that_cannot_grow, tear_down)
    static const struct CMUnitTest tests[] = {
        TEST(each_free_waits_for_the_further_stream),
        TEST(the_default_stream_is_one_of_the_users),
        TEST(a_free_without_uses_beside_it_is_as_ever),
        TEST(a_free_of_a_fallbacks_memory_waits_through_either_pool),
        TEST(the_process_wide_pool_knows_it_too),
        TEST(a_stream_counts_once),
        TEST(its_own_stream_costs_nothing),
        TEST(several_streams_are_all_waited_for),
        TEST(both_names_of_the_default_stream_are_one),
        TEST(what_is_freed_on_it_later_is_not_waited_for_twice),
        TEST(bad_addresses_have_their_status),
        TEST(bad_streams_change_nothing),
        TEST(streams_that_end_unannounced_are_refused),
        TEST(a_free_that_fails_forgets_nothing),
        TEST(without_host_memory_nothing_changes),
        TEST(the_free_needs_no_host_memory),
        TEST(many_uses_need_no_more_buckets),
        TEST(bytes_that_are_given_back_wait_too),
        TEST(a_larger_block_is_used_there_still),
        TEST(a_slice_is_resized_in_its_slice),
        TEST(a_forgotten_stream_is_waited_for),
        TEST(more_streams_than_numbers_are_waited_for),
        TEST(without_a_number_the_free_waits),
        TEST(without_a_number_and_a_wait_nothing_is_freed),
        TEST(a_stream_may_end_before_the_free),
        TEST(the_work_of_an_ended_stream_may_come_to_its_end),
        TEST(ended_streams_are_not_mistaken_for_others),
        TEST(a_forgotten_stream_may_end),
        TEST(the_end_of_a_stream_that_has_no_room_is_waited_for),
        TEST(without_room_and_a_wait_a_stream_does_not_end),
        TEST(memory_of_a_stream_whose_end_is_not_recorded_is_lost),
        TEST(an_ended_stream_may_be_evicted),
        TEST(times_begin_anew),
        TEST(a_captured_stream_cannot_end),
        TEST(a_free_during_the_capture_gives_it_to_the_capture),
        TEST(a_use_of_a_capture_is_over_with_it),
        TEST(memory_of_the_capture_is_used_on_its_other_stream),
        TEST(a_pool_that_passes_through_gives_it_back),
        TEST(without_events_it_serves_nobody),
        TEST(pools_end_with_uses),
        TEST(releases_are_made_after_such_a_free),
        TEST(debug_mode_waits_for_late_writes),
        TEST(a_damaged_block_is_forgotten),
        TEST(reasons_for_care_do_not_clear_each_other),
        TEST(pools_with_arenas_wait_too),
        TEST(threads_use_and_free_at_once),
        TEST(a_use_of_nothing_is_a_fault),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
