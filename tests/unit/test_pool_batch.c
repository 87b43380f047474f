/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Batches: the places of so many calls, all of it or nothing, under one lock; and frees of which as many go well as
 * can.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "harness/host_memory_faults.h"
#include "harness/random.h"
#include "tarn/host.h"
#include "pool_fixture.h"

enum {
    MANY = 200
};

/* Nothing was written to what is the caller's. */
static void expect_untouched(void *const *addresses, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_ptr_equal(addresses[i], addresses);
}

static void mark_untouched(void **addresses, size_t count)
{
    for (size_t i = 0; i < count; i++)
        addresses[i] = addresses;
}

/* --- alloc --------------------------------------------------------------------------------------- */

/* Makes holes of several sizes, so that places differ. */
static void make_holes(void **kept)
{
    void *holes[20];
    for (size_t i = 0; i < 20; i++) {
        holes[i] = alloc((i % 7 + 1) * KIB);
        kept[i] = alloc(KIB);
    }
    for (size_t i = 0; i < 20; i++)
        free_one(holes[i]);
}

static void the_places_are_those_of_so_many_calls(void **state)
{
    struct random random = random_init(random_seed(20260301));
    size_t sizes[MANY];
    void *one_by_one[MANY], *at_once[MANY], *kept[20];
    for (size_t i = 0; i < MANY; i++)
        sizes[i] = i % 10 == 3 ? 0 : (size_t)random_size(&random, 14);
    make_holes(kept);
    uintptr_t lowest = (uintptr_t)kept[0];
    for (size_t i = 0; i < MANY; i++)
        one_by_one[i] = alloc(sizes[i]);
    expect_ok(tarn_pool_free_many(pool, MANY, one_by_one));
    expect_ok(tarn_pool_free_many(pool, 20, kept));
    tarn_stats before = stats_of(pool);

    /* In a pool like the first, over a backend that gives other addresses. */
    create_anew();
    make_holes(kept);
    uintptr_t shift = (uintptr_t)kept[0] - lowest;
    expect_ok(tarn_pool_alloc_many(pool, MANY, sizes, at_once));
    for (size_t i = 0; i < MANY; i++) {
        if (sizes[i] == 0) {
            assert_null(at_once[i]);
        } else {
            assert_int_equal((uintptr_t)at_once[i], (uintptr_t)one_by_one[i] + shift);
        }
    }
    expect_ok(tarn_pool_free_many(pool, MANY, at_once));
    expect_ok(tarn_pool_free_many(pool, 20, kept));
    tarn_stats after = stats_of(pool);
    assert_int_equal(after.alloc_count, before.alloc_count);
    assert_int_equal(after.free_count, before.free_count);
    assert_int_equal(after.used_bytes_max, before.used_bytes_max);
    assert_int_equal(after.requested_bytes_max, before.requested_bytes_max);
    assert_int_equal(after.footprint_bytes, before.footprint_bytes);
    assert_memory_equal(after.size_histogram, before.size_histogram, sizeof after.size_histogram);
}

static void a_batch_of_none_is_nothing(void **state)
{
    void *address = &backend;
    const size_t size = 1;
    expect_ok(tarn_pool_alloc_many(pool, 0, NULL, NULL));
    expect_ok(tarn_pool_alloc_many_on(pool, 0, &size, A, &address));
    expect_ok(tarn_pool_free_many(pool, 0, NULL));
    expect_ok(tarn_pool_free_many_on(pool, 0, &address, A));
    assert_ptr_equal(address, &backend);
    assert_int_equal(stats_of(pool).alloc_count, 0);
    assert_int_equal(stats_of(pool).free_count, 0);
    assert_int_equal(backend.acquire_count, 0);
}

static void arrays_that_are_missing_are_refused(void **state)
{
    void *address = &backend;
    const size_t size = 1;
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_pool_alloc_many(pool, 1, NULL, &address));
    expect_message("sizes_bytes");
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_pool_alloc_many_on(pool, 1, &size, A, NULL));
    expect_message("addresses_out");
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_pool_free_many(pool, 1, NULL));
    expect_message("addresses");
    expect_status(TARN_STATUS_INVALID_POOL, tarn_pool_alloc_many(NULL, 1, &size, &address));
    expect_status(TARN_STATUS_INVALID_POOL, tarn_pool_alloc_many_on(NULL, 1, &size, A, &address));
    expect_status(TARN_STATUS_INVALID_POOL, tarn_pool_free_many(NULL, 1, &address));
    expect_status(TARN_STATUS_INVALID_POOL, tarn_pool_free_many_on(NULL, 1, &address, A));
    assert_ptr_equal(address, &backend);
}

/* The entry that fails is the last, the first, or beyond what needs no host memory. */
static void all_or_nothing(void **state)
{
    static const size_t failing[] = { 0, 1, 7, 63, 64, MANY - 1 };
    size_t sizes[MANY];
    void *addresses[MANY];
    char entry[40];
    options.limit_bytes = 512 * KIB;
    create_anew();
    for (size_t i = 0; i < sizeof failing / sizeof *failing; i++) {
        for (size_t k = 0; k < MANY; k++)
            sizes[k] = k == failing[i] ? 600 * KIB : k % 3 * 700;
        mark_untouched(addresses, MANY);
        tarn_stats before = stats_of(pool);
        expect_status(TARN_STATUS_OVER_LIMIT, tarn_pool_alloc_many(pool, MANY, sizes, addresses));
        snprintf(entry, sizeof entry, "entry %zu of %d: ", failing[i], MANY);
        expect_message(entry);
        expect_untouched(addresses, MANY);
        tarn_stats after = stats_of(pool);
        assert_int_equal(after.live_count, 0);
        assert_int_equal(after.requested_bytes, 0);
        assert_int_equal(after.failed_count, before.failed_count + 1);
        assert_int_equal(after.alloc_count - before.alloc_count, failing[i]);
        assert_int_equal(after.free_count - before.free_count, failing[i]);
        tarn_shortage shortage = TARN_SHORTAGE_INIT;
        expect_ok(tarn_last_shortage(&shortage));
        assert_int_equal(shortage.size_bytes, 600 * KIB);
        expect_ok(tarn_pool_check(pool));
    }
}

static void a_size_that_cannot_be_is_refused_at_once(void **state)
{
    const size_t sizes[] = { 100, 100, SIZE_MAX, 100 };
    void *addresses[4];
    mark_untouched(addresses, 4);
    expect_status(TARN_STATUS_SIZE_TOO_LARGE, tarn_pool_alloc_many(pool, 4, sizes, addresses));
    expect_message("entry 2 of 4: 18446744073709551615 bytes");
    expect_untouched(addresses, 4);
    assert_int_equal(backend.acquire_count, 0);
    assert_int_equal(stats_of(pool).alloc_count, 0);
    assert_int_equal(stats_of(pool).failed_count, 1);
}

static void what_the_vendor_said_is_kept(void **state)
{
    const size_t sizes[] = { 60 * KIB, 60 * KIB };
    void *addresses[2];
    free_one(alloc(1));
    backend.fail_acquire_at = 1;
    backend.failure = TARN_STATUS_VENDOR_ERROR;
    tarn_error alone, at_once;
    void *first = alloc(sizes[0]), *second;
    expect_status(TARN_STATUS_VENDOR_ERROR, tarn_pool_alloc(pool, sizes[1], &second));
    alone = tarn_last_error();
    int code = alone.vendor_code;
    free_one(first);
    backend.fail_acquire_at = 1;
    expect_status(TARN_STATUS_VENDOR_ERROR, tarn_pool_alloc_many(pool, 2, sizes, addresses));
    at_once = tarn_last_error();
    assert_int_equal(at_once.status, TARN_STATUS_VENDOR_ERROR);
    assert_int_equal(at_once.vendor_code, code);
    expect_message("entry 1 of 2: ");
}

static bool give_up_cache(void *user, tarn_pool *asking, size_t size_bytes, unsigned attempt)
{
    void **cache = user;
    assert_ptr_equal(asking, pool);
    if (!*cache) return false;
    free_one(*cache);
    *cache = NULL;
    return true;
}

static void an_entry_climbs_the_ladder(void **state)
{
    const size_t sizes[] = { 20 * KIB, 0, 20 * KIB, 20 * KIB };
    void *addresses[4], *cache;
    options.limit_bytes = 64 * KIB;
    options.on_out_of_memory = give_up_cache;
    options.user = &cache;
    create_anew();
    cache = alloc(20 * KIB);
    expect_ok(tarn_pool_alloc_many(pool, 4, sizes, addresses));
    assert_null(cache);
    assert_int_equal(stats_of(pool).live_count, 3);
    expect_ok(tarn_pool_free_many(pool, 4, addresses));
}

static void an_entry_goes_to_the_fallback(void **state)
{
    const size_t sizes[] = { KIB, 100 * KIB, 2 * KIB, 600 * KIB };
    void *addresses[4];
    options.limit_bytes = 512 * KIB;
    tarn_pool *fallback = new_pool(&options);
    options.fallback = fallback;
    options.limit_bytes = 64 * KIB;
    create_anew();
    expect_ok(tarn_pool_alloc_many(pool, 3, sizes, addresses));
    assert_int_equal(stats_of(pool).live_count, 2);
    assert_int_equal(stats_of(fallback).live_count, 1);
    expect_ok(tarn_pool_free_many(pool, 3, addresses));
    assert_int_equal(stats_of(fallback).live_count, 0);
    mark_untouched(addresses, 4);
    expect_status(TARN_STATUS_OVER_LIMIT, tarn_pool_alloc_many(pool, 4, sizes, addresses));
    expect_message("entry 3 of 4: ");
    expect_untouched(addresses, 4);
    assert_int_equal(stats_of(pool).live_count, 0);
    assert_int_equal(stats_of(fallback).live_count, 0);
    options.fallback = NULL;
    create_anew();
    expect_ok(tarn_pool_destroy(fallback));
}

static void a_pool_that_passes_through_asks_for_each(void **state)
{
    const size_t sizes[] = { 1000, 0, 3000 };
    void *addresses[3];
    options.passes_through = true;
    create_anew();
    expect_ok(tarn_pool_alloc_many(pool, 3, sizes, addresses));
    assert_int_equal(backend.piece_count, 2);
    assert_null(addresses[1]);
    expect_ok(tarn_pool_free_many(pool, 3, addresses));
    assert_int_equal(backend.piece_count, 0);
    backend.fail_acquire_at = 2;
    backend.failure = TARN_STATUS_VENDOR_ERROR;
    expect_status(TARN_STATUS_VENDOR_ERROR, tarn_pool_alloc_many(pool, 3, sizes, addresses));
    expect_message("entry 2 of 3: ");
    assert_int_equal(backend.piece_count, 0);

    /* While a stream is captured what is freed stays, and serves nobody. */
    tarn_capture capture = 0;
    expect_ok(tarn_capture_begin(pool, A, &capture));
    expect_ok(tarn_pool_alloc_many_on(pool, 3, sizes, A, addresses));
    expect_ok(tarn_pool_free_many_on(pool, 3, addresses, A));
    assert_int_equal(backend.piece_count, 2);
    expect_ok(tarn_pool_alloc_many_on(pool, 3, sizes, A, addresses));
    assert_int_equal(backend.piece_count, 4);
    expect_ok(tarn_pool_free_many_on(pool, 3, addresses, A));
    expect_ok(tarn_capture_end(pool, capture));
    expect_ok(tarn_capture_release(pool, capture, NULL, 0));
    assert_int_equal(backend.piece_count, 0);
}

/* --- free ---------------------------------------------------------------------------------------- */

static void what_is_live_is_freed_and_the_first_failure_told(void **state)
{
    int mine;
    char *blocks[3];
    for (size_t i = 0; i < 3; i++)
        blocks[i] = alloc(3 * KIB);
    void *const addresses[] = { blocks[0], NULL, blocks[1] + KIB, &mine, blocks[1], blocks[2] };
    expect_status(TARN_STATUS_INTERIOR_ADDRESS, tarn_pool_free_many(pool, 6, addresses));
    expect_message("entry 2 of 6: ");
    expect_message("lies inside");
    tarn_stats stats = stats_of(pool);
    assert_int_equal(stats.live_count, 0);
    assert_int_equal(stats.free_count, 4);
    assert_int_equal(stats.failed_count, 2);
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_free_many(pool, 6, addresses));
    expect_message("entry 0 of 6: ");
}

static void a_duplicate_is_a_double_free(void **state)
{
    void *x = alloc(3 * KIB), *y = alloc(3 * KIB);
    void *const addresses[] = { x, x, y, y };
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_free_many_on(pool, 4, addresses, NULL));
    expect_message("entry 1 of 4: ");
    expect_message("freed twice");
    assert_int_equal(stats_of(pool).free_count, 2);
    assert_int_equal(stats_of(pool).failed_count, 2);
    assert_int_equal(stats_of(pool).live_count, 0);
}

static void memory_goes_back_after_the_batch(void **state)
{
    const size_t sizes[] = { 3 * KIB, 100 * KIB };
    void *addresses[3] = { NULL, NULL, &addresses };
    options.returns_when_empty = true;
    create_anew();
    expect_ok(tarn_pool_alloc_many(pool, 2, sizes, addresses));
    expect_status(TARN_STATUS_FOREIGN_ADDRESS, tarn_pool_free_many(pool, 3, addresses));
    expect_message("entry 2 of 3: ");
    assert_int_equal(backend.held_bytes, 0);
}

/* --- streams ------------------------------------------------------------------------------------- */

static void batches_are_in_a_streams_order(void **state)
{
    const size_t sizes[] = { 20 * KIB, 20 * KIB, 20 * KIB };
    void *x[3], *y[3];
    options.limit_bytes = 64 * KIB;
    create_anew();
    expect_ok(tarn_pool_alloc_many_on(pool, 3, sizes, A, x));
    expect_ok(tarn_pool_free_many_on(pool, 3, x, A));
    test_backend_take_calls(&backend);
    expect_ok(tarn_pool_alloc_many_on(pool, 3, sizes, A, y));
    assert_memory_equal(x, y, sizeof x);
    expect_ok(tarn_pool_free_many_on(pool, 3, x, A));
    assert_int_equal(test_backend_take_calls(&backend), 0);

    /* Another has it after one record and one wait. */
    expect_ok(tarn_pool_alloc_many_on(pool, 3, sizes, B, y));
    assert_int_equal(backend.wait_count, 1);
    assert_ptr_equal(backend.waits[0].stream, B);
    expect_ok(tarn_pool_free_many_on(pool, 3, y, B));
    assert_int_equal(stats_of(pool).pending_bytes, 64 * KIB);
}

static void a_stream_of_another_device_is_refused(void **state)
{
    const size_t sizes[] = { 0, 20 * KIB };
    void *addresses[2];
    mark_untouched(addresses, 2);
    backend.foreign_stream = B;
    expect_status(TARN_STATUS_INVALID_ARGUMENT,
                  tarn_pool_alloc_many_on(pool, 2, sizes, B, addresses));
    expect_message("entry 1 of 2: ");
    expect_untouched(addresses, 2);
    expect_ok(tarn_pool_alloc_many_on(pool, 2, sizes, A, addresses));
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_pool_free_many_on(pool, 2, addresses, B));
    expect_message("entry 1 of 2: ");
    assert_int_equal(stats_of(pool).live_count, 1);
    expect_ok(tarn_pool_free_many_on(pool, 2, addresses, A));
}

/* Each call that tells streams apart fails once, in a batch that comes to nothing by that or otherwise. */
static void nothing_is_left_where_streams_cannot_be_told_apart(void **state)
{
    const size_t sizes[] = { KIB, 2 * KIB, 3 * KIB, 600 * KIB };
    void *addresses[4];
    backend.has_ids = true;
    opened = test_backend_open(&backend);
    options.identifies_streams = true;
    options.limit_bytes = 512 * KIB;
    unsigned failed_count = 1;
    for (unsigned n = 1; failed_count > 0; n++) {
        create_anew();
        backend.call_failure = TARN_STATUS_VENDOR_ERROR;
        backend.failed_count = 0;
        backend.fail_call_at[TEST_CALL_STREAM_ID] = n;
        backend.fail_call_count = 100;
        mark_untouched(addresses, 4);
        tarn_status status = tarn_pool_alloc_many_on(pool, 4, sizes, A, addresses);
        failed_count = backend.failed_count;
        backend.fail_call_at[TEST_CALL_STREAM_ID] = 0;
        backend.fail_call_count = 0;
        assert_true(status == TARN_STATUS_VENDOR_ERROR || status == TARN_STATUS_OVER_LIMIT);
        assert_int_equal(tarn_last_error().status, status);
        expect_message(status == TARN_STATUS_OVER_LIMIT ? "entry 3 of 4: " : " of 4: ");
        expect_untouched(addresses, 4);
        assert_int_equal(stats_of(pool).live_count, 0);
        expect_ok(tarn_pool_check(pool));
        if (n > 50) fail_msg("the calls do not end");
    }
}

/* --- debug mode ---------------------------------------------------------------------------------- */

static void debug_mode_looks_at_each(void **state)
{
    const size_t sizes[] = { 1000, 0, 2000, 3000 }, too_much[] = { 1000, 0, 2000, 600 * KIB };
    void *addresses[4];
    destroy();
    tarn_backend host = new_host_backend(NULL);
    options.backend = &host;
    options.debug = TARN_DEBUG_SITES | TARN_DEBUG_ZONES | TARN_DEBUG_QUARANTINE;
    options.limit_bytes = 512 * KIB;
    create();
    tarn_label_push("batch");
    expect_ok(tarn_pool_alloc_many(pool, 4, sizes, addresses));
    tarn_label_pop();
    assert_null(addresses[1]);
    ((unsigned char *)addresses[2])[2000] = 1;
    expect_status(TARN_STATUS_CORRUPT, tarn_pool_free_many(pool, 4, addresses));
    expect_message("entry 2 of 4: ");
    expect_message("label \"batch\", allocated by ");
    assert_int_equal(stats_of(pool).live_count, 0);
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_free_many(pool, 4, addresses));
    expect_message("entry 0 of 4: ");
    expect_message("was freed before");
    mark_untouched(addresses, 4);
    expect_status(TARN_STATUS_OVER_LIMIT, tarn_pool_alloc_many(pool, 4, too_much, addresses));
    expect_message("entry 3 of 4: ");
    expect_untouched(addresses, 4);
    assert_int_equal(stats_of(pool).live_count, 0);
    destroy_empty();
    tarn_backend_close(&host);
}

/* --- host memory --------------------------------------------------------------------------------- */

static void one_life(size_t count, const size_t *sizes, void **addresses)
{
    tarn_status status = tarn_pool_create(&options, &pool);
    if (status == TARN_STATUS_OUT_OF_HOST_MEMORY) return;
    expect_ok(status);
    for (int round = 0; round < 2; round++) {
        mark_untouched(addresses, count);
        status = tarn_pool_alloc_many_on(pool, count, sizes, round == 0 ? A : B, addresses);
        expect_ok(tarn_pool_check(pool));
        if (status == TARN_STATUS_OK) {
            status = tarn_pool_free_many_on(pool, count, addresses, round == 0 ? A : B);
            expect_ok(status);
        } else {
            expect_status(TARN_STATUS_OUT_OF_HOST_MEMORY, status);
            expect_untouched(addresses, count);
        }
        assert_int_equal(stats_of(pool).live_count, 0);
        expect_ok(tarn_pool_check(pool));
    }
    destroy();
}

static void every_host_allocation_may_fail(void **state)
{
    size_t sizes[MANY];
    void *addresses[MANY];
    for (size_t i = 0; i < MANY; i++)
        sizes[i] = i % 5 * 900;
    destroy();
    bool has_failed = true;
    unsigned n = 1;
    for (; has_failed; n++) {
        host_memory_faults_begin(n);
        one_life(MANY, sizes, addresses);
        has_failed = host_memory_faults_end();
    }
    assert_true(n > 15);
}

static void freeing_a_batch_allocates_no_host_memory(void **state)
{
    size_t sizes[MANY];
    void *addresses[MANY];
    for (size_t i = 0; i < MANY; i++)
        sizes[i] = i + 1;
    expect_ok(tarn_pool_alloc_many(pool, MANY, sizes, addresses));
    host_memory_faults_begin(1);
    expect_ok(tarn_pool_free_many(pool, MANY, addresses));
    assert_false(host_memory_faults_end());

    /* A few entries need none for their addresses. */
    host_memory_faults_begin(1);
    expect_ok(tarn_pool_alloc_many(pool, 64, sizes, addresses));
    assert_false(host_memory_faults_end());
    expect_ok(tarn_pool_free_many(pool, 64, addresses));
}

/* --- one lock ------------------------------------------------------------------------------------ */

enum {
    BATCH = 16,
    ROUNDS = 3000
};

static tarn_pool *shared_pool;
static atomic_bool is_over;

/* Whoever looks sees whole batches. */
static void *look(void *seen)
{
    while (!atomic_load(&is_over)) {
        tarn_stats stats = TARN_STATS_INIT;
        if (tarn_pool_stats(shared_pool, &stats) != TARN_STATUS_OK) break;
        if (stats.live_count % BATCH != 0) *(size_t *)seen += 1;
    }
    return NULL;
}

static void a_batch_is_one_step_for_others(void **state)
{
    size_t sizes[BATCH], broken_count = 0;
    void *addresses[BATCH], *warm[2 * BATCH];
    pthread_t thread;
    for (size_t i = 0; i < BATCH; i++)
        sizes[i] = 1000 + i;
    shared_pool = pool;
    /* There is room for all of it from the beginning, in the metadata too. */
    for (size_t i = 0; i < 2 * BATCH; i++)
        warm[i] = alloc(1100);
    expect_ok(tarn_pool_free_many(pool, 2 * BATCH, warm));
    atomic_store(&is_over, false);
    assert_int_equal(pthread_create(&thread, NULL, look, &broken_count), 0);
    for (int round = 0; round < ROUNDS; round++) {
        expect_ok(tarn_pool_alloc_many(pool, BATCH, sizes, addresses));
        expect_ok(tarn_pool_free_many(pool, BATCH, addresses));
    }
    atomic_store(&is_over, true);
    pthread_join(thread, NULL);
    assert_int_equal(broken_count, 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down_empty)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(the_places_are_those_of_so_many_calls),
        CASE(a_batch_of_none_is_nothing),
        CASE(arrays_that_are_missing_are_refused),
        CASE(all_or_nothing),
        CASE(a_size_that_cannot_be_is_refused_at_once),
        CASE(what_the_vendor_said_is_kept),
        CASE(an_entry_climbs_the_ladder),
        CASE(an_entry_goes_to_the_fallback),
        CASE(a_pool_that_passes_through_asks_for_each),
        CASE(what_is_live_is_freed_and_the_first_failure_told),
        CASE(a_duplicate_is_a_double_free),
        CASE(memory_goes_back_after_the_batch),
        CASE(batches_are_in_a_streams_order),
        CASE(a_stream_of_another_device_is_refused),
        CASE(nothing_is_left_where_streams_cannot_be_told_apart),
        CASE(debug_mode_looks_at_each),
        CASE(every_host_allocation_may_fail),
        CASE(freeing_a_batch_allocates_no_host_memory),
        CASE(a_batch_is_one_step_for_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
