/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_out_of_memory: each rung of the ladder by itself, and the report at its end. */
#include <pthread.h>
#include <setjmp.h>

#include "harness/claims.h"
#include "harness/test_backend.h"

#include "tarn/host.h"

#define KIB ((size_t)1024)

/* --- pools of 64 KiB at most, in pieces of 16 -------------------------------------------------------- */

static tarn_pool_options options_over(const tarn_backend *backend)
{
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.backend = backend;
    options.initial_bytes = 16 * KIB;
    options.growth_factor = 1.0;
    options.limit_bytes = 64 * KIB;
    return options;
}

static void *alloc(tarn_pool *pool, size_t size_bytes)
{
    return new_block(pool, size_bytes);
}

static tarn_stats figures_of(tarn_pool *pool)
{
    tarn_stats stats = TARN_STATS_INIT;
    expect_ok(tarn_pool_stats(pool, &stats));
    return stats;
}

static tarn_shortage last_shortage(void)
{
    tarn_shortage shortage = TARN_SHORTAGE_INIT;
    expect_ok(tarn_last_shortage(&shortage));
    return shortage;
}

/* --- waiting for the device --------------------------------------------------------------------------- */

static tarn_backend_result refuse_record(void *state, tarn_event event, tarn_stream stream)
{
    (void)state, (void)event, (void)stream;
    return (tarn_backend_result){ TARN_STATUS_VENDOR_ERROR, 7, "no record" };
}

/* A stream that ended without a record is one that nobody can be made to wait for. */
static void what_nobody_can_wait_for_is_waited_for_by_the_host(void **state)
{
    tarn_backend host = new_host_backend(NULL);
    tarn_backend_operations operations = *host.operations;
    operations.event_record = refuse_record;
    for (int can_wait = 0; can_wait < 2; can_wait++) {
        operations.synchronize = can_wait ? host.operations->synchronize : NULL;
        const tarn_backend backend = { &operations, host.state };
        tarn_pool_options options = options_over(&backend);
        options.initial_bytes = 64 * KIB;
        tarn_stream stream;
        void *address, *other = NULL;
        tarn_pool *pool = new_pool(&options);
        assert_int_equal(operations.stream_create(host.state, &stream).status, TARN_STATUS_OK);
        /* The small one keeps the static pool from being given back. */
        void *small = alloc(pool, KIB);
        expect_ok(tarn_pool_alloc_on(pool, 63 * KIB, stream, &address));
        unsigned char byte = 0;
        assert_int_equal(operations.fill(host.state, address, 1, 1, stream).status, TARN_STATUS_OK);
        assert_int_equal(operations.copy(host.state, &byte, address, 1, stream).status,
                         TARN_STATUS_OK);
        expect_ok(tarn_pool_free_on(pool, address, stream));
        expect_status(TARN_STATUS_VENDOR_ERROR, tarn_stream_retire(stream));
        tarn_status expected = can_wait ? TARN_STATUS_OK : TARN_STATUS_OVER_LIMIT;
        expect_status(expected, tarn_pool_alloc(pool, 63 * KIB, &other));
        assert_int_equal(byte, can_wait); /* the work was done before */
        if (can_wait) expect_ok(tarn_pool_free(pool, other));
        expect_ok(tarn_pool_free(pool, small));
        expect_ok(tarn_pool_check(pool));
        expect_ok(tarn_pool_destroy(pool));
        operations.stream_destroy(host.state, stream);
    }
    tarn_backend_close(&host);
}

/* --- other pools --------------------------------------------------------------------------------------- */

static void what_other_pools_do_not_use_is_given_back(void **state)
{
    static struct test_backend memory, elsewhere;
    test_backend_init(&memory);
    test_backend_init(&elsewhere);
    memory.capacity_bytes = 48 * KIB;
    tarn_backend backend = test_backend_open(&memory), other = test_backend_open(&elsewhere);
    tarn_pool_options options = options_over(&backend), other_options = options_over(&other);
    tarn_pool *pool, *neighbour, *stranger;
    expect_ok(tarn_pool_create(&options, &pool));
    expect_ok(tarn_pool_create(&options, &neighbour));
    expect_ok(tarn_pool_create(&other_options, &stranger));
    void *kept = alloc(neighbour, KIB), *given[2];
    given[0] = alloc(neighbour, 16 * KIB);
    given[1] = alloc(neighbour, 16 * KIB);
    expect_ok(tarn_pool_free(neighbour, given[0]));
    expect_ok(tarn_pool_free(neighbour, given[1]));
    expect_ok(tarn_pool_free(stranger, alloc(stranger, KIB)));

    void *address = alloc(pool, 16 * KIB);
    assert_int_equal(figures_of(neighbour).footprint_bytes, 16 * KIB);
    assert_int_equal(figures_of(neighbour).live_count, 1);
    assert_int_equal(figures_of(stranger).footprint_bytes, 16 * KIB);
    void *second = alloc(pool, 16 * KIB), *none;
    expect_status(TARN_STATUS_OUT_OF_MEMORY, tarn_pool_alloc(pool, 16 * KIB, &none));
    assert_int_equal(last_shortage().other_pools_bytes, 16 * KIB);
    assert_int_equal(figures_of(pool).failed_count, 1);

    /* A pool's own limit is no concern of others. */
    expect_ok(tarn_pool_free(neighbour, kept));
    expect_status(TARN_STATUS_OVER_LIMIT, tarn_pool_alloc(pool, 64 * KIB, &none));
    assert_int_equal(figures_of(neighbour).footprint_bytes, 16 * KIB);
    expect_ok(tarn_pool_free(pool, address));
    expect_ok(tarn_pool_free(pool, second));
    expect_ok(tarn_pool_destroy(pool));
    expect_ok(tarn_pool_destroy(neighbour));
    expect_ok(tarn_pool_destroy(stranger));
    assert_int_equal(memory.held_bytes, 0);
}

/* Two pools that both run short at once, each of which would trim the other. */
static void *run_short(void *argument)
{
    tarn_pool *pool = argument;
    for (int i = 0; i < 2000; i++) {
        void *address;
        if (tarn_pool_alloc(pool, 16 * KIB, &address) == TARN_STATUS_OK)
            if (tarn_pool_free(pool, address) != TARN_STATUS_OK) return argument;
    }
    return NULL;
}

static void pools_that_run_short_of_each_other_go_on(void **state)
{
    static struct test_backend memory;
    test_backend_init(&memory);
    memory.capacity_bytes = 16 * KIB;
    tarn_backend backend = test_backend_open(&memory);
    tarn_pool_options options = options_over(&backend);
    tarn_pool *pools[2];
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        expect_ok(tarn_pool_create(&options, &pools[i]));
        assert_int_equal(pthread_create(&threads[i], NULL, run_short, pools[i]), 0);
    }
    for (int i = 0; i < 2; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    for (int i = 0; i < 2; i++)
        expect_ok(tarn_pool_destroy(pools[i]));
    assert_int_equal(memory.held_bytes, 0);
}

/* --- the user's function ------------------------------------------------------------------------------ */

struct asked {
    tarn_pool *pool;
    void *blocks[4];
    unsigned block_count;
    unsigned call_count;
    unsigned attempts[8];
    size_t size_bytes;
    bool allocates;
};

static bool free_one(void *user, tarn_pool *pool, size_t size_bytes, unsigned attempt)
{
    struct asked *asked = user;
    assert_ptr_equal(pool, asked->pool);
    asked->size_bytes = size_bytes;
    if (asked->call_count < 8) asked->attempts[asked->call_count] = attempt;
    asked->call_count++;
    /* No lock is held, and what fails in here is not what the caller hears of. */
    expect_ok(tarn_pool_check(pool));
    expect_status(TARN_STATUS_FOREIGN_ADDRESS, tarn_pool_free(pool, asked));
    void *none;
    if (asked->allocates)
        expect_status(TARN_STATUS_OVER_LIMIT, tarn_pool_alloc(pool, 64 * KIB, &none));
    if (asked->block_count == 0) return false;
    expect_ok(tarn_pool_free(pool, asked->blocks[--asked->block_count]));
    return true;
}

static void the_user_is_asked_as_long_as_the_answer_is_yes(void **state)
{
    static struct test_backend memory;
    test_backend_init(&memory);
    tarn_backend backend = test_backend_open(&memory);
    struct asked asked = { .allocates = true };
    tarn_pool_options options = options_over(&backend);
    options.on_out_of_memory = free_one;
    options.user = &asked;
    expect_ok(tarn_pool_create(&options, &asked.pool));
    for (int i = 0; i < 4; i++)
        asked.blocks[asked.block_count++] = alloc(asked.pool, 16 * KIB);
    void *address =
        alloc(asked.pool, 32 * KIB); /* two pieces go, and one of twice the size comes */
    assert_int_equal(asked.call_count, 2);
    assert_int_equal(asked.attempts[0], 0);
    assert_int_equal(asked.attempts[1], 1);
    assert_int_equal(asked.size_bytes, 32 * KIB);

    void *none = &asked;
    asked.call_count = 0;
    expect_status(TARN_STATUS_OVER_LIMIT, tarn_pool_alloc(asked.pool, 48 * KIB, &none));
    assert_ptr_equal(none, &asked);
    assert_int_equal(asked.call_count, 3); /* the last answer was no */
    assert_int_equal(asked.attempts[0], 0);
    assert_int_equal(tarn_last_error().status, TARN_STATUS_OVER_LIMIT);
    assert_non_null(strstr(tarn_last_error().message, "48 KiB"));
    /* What is no lack of memory is none of the user's business. */
    asked.call_count = 0;
    expect_status(TARN_STATUS_SIZE_TOO_LARGE, tarn_pool_alloc(asked.pool, SIZE_MAX, &none));
    assert_int_equal(asked.call_count, 0);
    expect_ok(tarn_pool_free(asked.pool, address));
    expect_ok(tarn_pool_destroy(asked.pool));
}

/* Memory of another pool on the device is given back after the function has freed it there. */
static tarn_pool *neighbour;
static void *in_neighbour;

static bool free_in_neighbour(void *user, tarn_pool *pool, size_t size_bytes, unsigned attempt)
{
    if (!in_neighbour) return false;
    expect_ok(tarn_pool_free(neighbour, in_neighbour));
    in_neighbour = NULL;
    return true;
}

static void what_the_function_frees_in_another_pool_is_found(void **state)
{
    static struct test_backend memory;
    test_backend_init(&memory);
    memory.capacity_bytes = 16 * KIB;
    tarn_backend backend = test_backend_open(&memory);
    tarn_pool_options options = options_over(&backend);
    expect_ok(tarn_pool_create(&options, &neighbour));
    options.on_out_of_memory = free_in_neighbour;
    tarn_pool *pool = new_pool(&options);
    in_neighbour = alloc(neighbour, 16 * KIB);
    void *address = alloc(pool, 16 * KIB);
    expect_ok(tarn_pool_free(pool, address));
    expect_ok(tarn_pool_destroy(pool));
    expect_ok(tarn_pool_destroy(neighbour));
}

/* Nothing can be recorded on the stream, so only the device can be waited for. */
static char a_stream;
static void *pending;

static bool free_on_stream(void *user, tarn_pool *pool, size_t size_bytes, unsigned attempt)
{
    if (!pending) return false;
    expect_ok(tarn_pool_free_on(pool, pending, (tarn_stream)&a_stream));
    pending = NULL;
    return true;
}

static void what_the_function_frees_on_a_stream_is_found(void **state)
{
    static struct test_backend memory;
    test_backend_init(&memory);
    memory.has_streams = memory.has_synchronize = true;
    tarn_backend backend = test_backend_open(&memory);
    memory.operations.event_record = refuse_record;
    tarn_pool_options options = options_over(&backend);
    options.on_out_of_memory = free_on_stream;
    tarn_pool *pool = new_pool(&options);
    pending = alloc(pool, 60 * KIB);
    void *kept = alloc(pool, KIB);
    void *address = alloc(pool, 60 * KIB);
    expect_ok(tarn_pool_free(pool, address));
    expect_ok(tarn_pool_free(pool, kept));
    expect_ok(tarn_pool_destroy(pool));
}

/* A function may run short in another pool, whose function is called then. */
static unsigned inner_count, outer_count;
static tarn_pool *inner;

static bool run_short_in_other(void *user, tarn_pool *pool, size_t size_bytes, unsigned attempt)
{
    void *none;
    outer_count++;
    expect_status(TARN_STATUS_OVER_LIMIT, tarn_pool_alloc(inner, 128 * KIB, &none));
    expect_status(TARN_STATUS_OVER_LIMIT, tarn_pool_alloc(pool, 128 * KIB, &none));
    return false;
}

static bool count_call(void *user, tarn_pool *pool, size_t size_bytes, unsigned attempt)
{
    void *none;
    inner_count++;
    /* Not called again for the pool that it is for, nor for the one around it. */
    expect_status(TARN_STATUS_OVER_LIMIT, tarn_pool_alloc(inner, 128 * KIB, &none));
    return false;
}

static void a_function_may_run_short_in_another_pool(void **state)
{
    static struct test_backend memory;
    test_backend_init(&memory);
    tarn_backend backend = test_backend_open(&memory);
    tarn_pool_options options = options_over(&backend);
    options.on_out_of_memory = count_call;
    inner = new_pool(&options);
    options.on_out_of_memory = run_short_in_other;
    tarn_pool *pool = new_pool(&options);
    void *none;
    inner_count = outer_count = 0;
    for (unsigned i = 1; i <= 3; i++) {
        expect_status(TARN_STATUS_OVER_LIMIT, tarn_pool_alloc(pool, 128 * KIB, &none));
        assert_int_equal(outer_count, i);
        assert_int_equal(inner_count, i);
    }
    expect_ok(tarn_pool_destroy(pool));
    expect_ok(tarn_pool_destroy(inner));
}

/* A function that is left by longjmp is called again by the next allocation, from wherever. */
static jmp_buf leave;

static bool jump_out(void *user, tarn_pool *pool, size_t size_bytes, unsigned attempt)
{
    outer_count++;
    longjmp(leave, 1);
}

/* As deep in the stack as the caller wishes. */
static void run_short_deep(tarn_pool *pool, unsigned depth)
{
    volatile char room[64] = { 0 };
    if (depth > 0) {
        run_short_deep(pool, depth - 1);
    } else {
        void *none;
        (void)tarn_pool_alloc(pool, 128 * KIB, &none);
    }
    (void)room[depth % 64];
}

static void a_function_may_be_left_by_longjmp(void **state)
{
    static struct test_backend memory;
    test_backend_init(&memory);
    tarn_backend backend = test_backend_open(&memory);
    tarn_pool_options options = options_over(&backend);
    options.on_out_of_memory = jump_out;
    tarn_pool *pool = new_pool(&options);
    static const unsigned depths[] = { 0, 0, 1, 0, 20, 3, 200, 0 };
    static volatile unsigned i;
    outer_count = 0;
    for (i = 0; i < sizeof depths / sizeof depths[0]; i++) {
        if (setjmp(leave) == 0) run_short_deep(pool, depths[i]);
        assert_int_equal(outer_count, i + 1);
    }
    expect_ok(tarn_pool_check(pool));
    expect_ok(tarn_pool_destroy(pool));
}

/* --- the fallback -------------------------------------------------------------------------------------- */

static void the_fallback_serves_what_the_pool_cannot(void **state)
{
    static struct test_backend scarce;
    test_backend_init(&scarce);
    tarn_backend backend = test_backend_open(&scarce), other;
    expect_ok(tarn_host_backend_open(NULL, &other));
    tarn_pool_options options = options_over(&backend), fallback_options = options_over(&other);
    tarn_pool *pool, *fallback;
    expect_ok(tarn_pool_create(&fallback_options, &fallback));
    options.limit_bytes = 16 * KIB;
    options.fallback = fallback;
    expect_ok(tarn_pool_create(&options, &pool));
    void *own = alloc(pool, 16 * KIB), *first = alloc(pool, 8 * KIB),
         *second = alloc(pool, 8 * KIB);
    assert_int_equal(figures_of(pool).live_count, 1);
    assert_int_equal(figures_of(fallback).live_count, 2);
    tarn_allocation found = TARN_ALLOCATION_INIT;
    expect_ok(tarn_pool_find(first, &found));
    assert_ptr_equal(found.pool, fallback);
    expect_ok(tarn_pool_free(pool, first));      /* through the one that was asked */
    expect_ok(tarn_pool_free(fallback, second)); /* or the one that has it */
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_free(pool, first));
    expect_status(TARN_STATUS_FOREIGN_ADDRESS, tarn_pool_free(pool, &found));

    void *none;
    expect_status(TARN_STATUS_OVER_LIMIT, tarn_pool_alloc(pool, 128 * KIB, &none));
    assert_int_equal(last_shortage().limit_bytes, 64 * KIB); /* the fallback's, which was last */
    expect_ok(tarn_pool_free(pool, own));
    expect_ok(tarn_pool_destroy(pool));
    expect_ok(tarn_pool_destroy(fallback));
    tarn_backend_close(&other);
}

/* Wrong frees and resizes through a pool, of memory that it or a fallback has, in pieces of 16 KiB. `freed` was freed,
 * and `live` is not. */
static void expect_wrong_calls_told(tarn_pool *pool, char *freed, char *live)
{
    tarn_stream stream = NULL;
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_free(pool, freed));
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_free_sized(pool, freed, 4 * KIB));
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_free_after(pool, freed, &stream, 1));
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_free_many(pool, 1, (void *[]){ freed }));
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_resize(pool, freed, KIB));
    expect_status(TARN_STATUS_INTERIOR_ADDRESS, tarn_pool_free(pool, live + 1));
    expect_status(TARN_STATUS_INTERIOR_ADDRESS, tarn_pool_free(pool, live + 5 * KIB));
    expect_status(TARN_STATUS_INTERIOR_ADDRESS, tarn_pool_resize(pool, live + KIB, KIB));
    expect_status(TARN_STATUS_WRONG_SIZE, tarn_pool_free_sized(pool, live, KIB));
}

/* A fallback of a fallback, that of a pool. Each has memory that was allocated through the last one. */
static void what_a_fallback_has_is_no_other_pools(void **state)
{
    tarn_backend host = new_host_backend(NULL);
    tarn_pool_options options = options_over(&host);
    options.limit_bytes = 16 * KIB;
    for (int debug = 0; debug < 2; debug++) {
        tarn_pool *pools[3], *other = new_pool(&options);
        char *freed[3], *live[3];
        options.debug = debug ? TARN_DEBUG_SITES : 0;
        for (size_t i = 3; i-- > 0;) {
            pools[i] = new_pool(&options);
            options.fallback = pools[i];
        }
        options.fallback = NULL;
        for (size_t i = 0; i < 3; i++) {
            live[i] = alloc(pools[0], 8 * KIB);
            freed[i] = alloc(pools[0], 8 * KIB);
            tarn_allocation found = TARN_ALLOCATION_INIT;
            expect_ok(tarn_pool_find(freed[i], &found));
            assert_ptr_equal(found.pool, pools[i]);
        }
        for (size_t i = 0; i < 3; i++)
            expect_ok(tarn_pool_free(pools[0], freed[i]));
        for (size_t asked = 0; asked < 3; asked++)
            for (size_t i = asked; i < 3; i++)
                expect_wrong_calls_told(pools[asked], freed[i], live[i]);
        /* A fallback does not reach the pool that it serves, and another pool reaches none of them. */
        for (size_t i = 0; i < 3; i++) {
            if (i > 0) expect_status(TARN_STATUS_WRONG_POOL, tarn_pool_free(pools[i], live[i - 1]));
            expect_status(TARN_STATUS_WRONG_POOL, tarn_pool_free(other, freed[i]));
            expect_status(TARN_STATUS_WRONG_POOL, tarn_pool_resize(other, live[i], KIB));
        }
        for (size_t i = 0; i < 3; i++)
            expect_ok(tarn_pool_free(pools[0], live[i]));
        for (size_t i = 0; i < 3; i++)
            expect_ok(tarn_pool_destroy(pools[i]));
        expect_ok(tarn_pool_destroy(other));
    }
    tarn_backend_close(&host);
}

/* --- the report ---------------------------------------------------------------------------------------- */

static void *look_at_own_shortage(void *argument)
{
    *(tarn_shortage *)argument = last_shortage();
    return NULL;
}

/* It names the variables where they count. */
static void the_hint_for_scattered_memory_is_a_variable_or_an_option(void **state)
{
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.limit_bytes = options.initial_bytes = 64 * KIB;
    options.reads_environment = true;
    tarn_pool *pool = new_pool(&options);
    void *blocks[4], *none;
    for (int i = 0; i < 4; i++)
        blocks[i] = alloc(pool, 16 * KIB);
    expect_ok(tarn_pool_free(pool, blocks[0]));
    expect_ok(tarn_pool_free(pool, blocks[2]));
    expect_status(TARN_STATUS_OVER_LIMIT, tarn_pool_alloc(pool, 20 * KIB, &none));
    expect_message("and TARN_CONTIGUOUS=1 may join them");
    expect_ok(tarn_pool_free(pool, blocks[1]));
    expect_ok(tarn_pool_free(pool, blocks[3]));
    expect_ok(tarn_pool_destroy(pool));
}

static void the_report_says_how_things_stood(void **state)
{
    tarn_host_options host_options = TARN_HOST_OPTIONS_INIT;
    host_options.memory_bytes = 1024 * KIB;
    tarn_backend backend = new_host_backend(&host_options);
    tarn_pool_options options = options_over(&backend);
    options.initial_bytes = 64 * KIB;
    tarn_pool *pool = new_pool(&options);
    void *blocks[4], *none;
    for (int i = 0; i < 4; i++)
        blocks[i] = alloc(pool, 16 * KIB);
    expect_ok(tarn_pool_free(pool, blocks[0]));
    expect_ok(tarn_pool_free(pool, blocks[2]));
    expect_status(TARN_STATUS_OVER_LIMIT, tarn_pool_alloc_aligned(pool, 20 * KIB, 4096, &none));
    tarn_shortage shortage = last_shortage();
    assert_int_equal(shortage.status, TARN_STATUS_OVER_LIMIT);
    assert_int_equal(shortage.size_bytes, 20 * KIB);
    assert_int_equal(shortage.alignment_bytes, 4096);
    assert_null(shortage.stream);
    assert_int_equal(shortage.footprint_bytes, 64 * KIB);
    assert_int_equal(shortage.limit_bytes, 64 * KIB);
    assert_int_equal(shortage.used_bytes, 32 * KIB);
    assert_int_equal(shortage.free_bytes, 32 * KIB);
    assert_int_equal(shortage.pending_bytes, 0);
    assert_int_equal(shortage.captured_bytes, 0);
    assert_int_equal(shortage.largest_free_bytes, 16 * KIB);
    assert_int_equal(shortage.wholly_free_bytes, 0);
    assert_int_equal(shortage.other_pools_bytes, 0);
    assert_int_equal(shortage.device_total_bytes, 1024 * KIB);
    assert_int_equal(shortage.device_free_bytes, 960 * KIB);
    assert_true(shortage.fits_if_in_one_piece);
    assert_true(shortage.fits_without_limit);

    expect_message(
        "no free region holds 20 KiB, and the pool cannot grow by the 20 KiB that this takes: it "
        "holds 64 KiB of at most 64 KiB, which limit_bytes sets; of 32 KiB free, the "
        "largest region has 16 KiB, and the option contiguous may join them");

    tarn_shortage others;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, look_at_own_shortage, &others), 0);
    pthread_join(thread, NULL);
    assert_int_equal(others.status, TARN_STATUS_OK);

    expect_status(TARN_STATUS_OVER_LIMIT, tarn_pool_alloc(pool, 1000 * KIB, &none));
    assert_false(last_shortage().fits_if_in_one_piece);
    assert_false(last_shortage().fits_without_limit);
    shortage.struct_bytes--;
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_last_shortage(&shortage));
    expect_status(TARN_STATUS_INVALID_ARGUMENT, tarn_last_shortage(NULL));
    expect_ok(tarn_pool_destroy_forced(pool, NULL));
    tarn_backend_close(&backend);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_nobody_can_wait_for_is_waited_for_by_the_host),
        cmocka_unit_test(what_other_pools_do_not_use_is_given_back),
        cmocka_unit_test(pools_that_run_short_of_each_other_go_on),
        cmocka_unit_test(the_user_is_asked_as_long_as_the_answer_is_yes),
        cmocka_unit_test(what_the_function_frees_in_another_pool_is_found),
        cmocka_unit_test(what_the_function_frees_on_a_stream_is_found),
        cmocka_unit_test(a_function_may_run_short_in_another_pool),
        cmocka_unit_test(a_function_may_be_left_by_longjmp),
        cmocka_unit_test(the_fallback_serves_what_the_pool_cannot),
        cmocka_unit_test(what_a_fallback_has_is_no_other_pools),
        cmocka_unit_test(the_hint_for_scattered_memory_is_a_variable_or_an_option),
        cmocka_unit_test(the_report_says_how_things_stood),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
