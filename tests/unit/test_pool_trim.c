/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a pool gives back by itself when something is freed, and what it keeps. */
#include <pthread.h>
#include <unistd.h>

#include "harness/claims.h"
#include "harness/random.h"
#include "harness/test_backend.h"

#define KIB ((size_t)1024)

struct fixture {
    struct test_backend backend;
    tarn_backend opened;
    tarn_pool_options options;
};

static int set_up(void **state)
{
    static struct fixture fixture;
    test_backend_init(&fixture.backend);
    fixture.opened = test_backend_open(&fixture.backend);
    fixture.options = (tarn_pool_options)TARN_POOL_OPTIONS_INIT;
    fixture.options.backend = &fixture.opened;
    fixture.options.initial_bytes = 64 * KIB;
    fixture.options.growth_factor = 1.0;
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
    assert_int_equal(stats_of(pool).footprint_bytes, fixture->backend.held_bytes);
    expect_ok(tarn_pool_destroy_forced(pool, NULL));
    assert_int_equal(fixture->backend.piece_count, 0);
}

/* A static pool of 64 KiB each. */
static void alloc_static_pools(tarn_pool *pool, void **addresses, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        expect_ok(tarn_pool_alloc(pool, 60 * KIB, &addresses[i]));
    assert_int_equal(stats_of(pool).static_pool_count, count);
}

static uint64_t id_of(const void *address)
{
    tarn_allocation found = TARN_ALLOCATION_INIT;
    expect_ok(tarn_pool_find(address, &found));
    return found.static_pool_id;
}

/* --- release_threshold_bytes ----------------------------------------------------------------------- */

static void without_a_threshold_a_free_gives_nothing_back(void **state)
{
    struct fixture *fixture = *state;
    tarn_pool *pool = create(fixture);
    void *addresses[6];
    alloc_static_pools(pool, addresses, 6);
    for (unsigned i = 0; i < 6; i++)
        expect_ok(tarn_pool_free(pool, addresses[i]));
    assert_int_equal(fixture->backend.release_count, 0);
    destroy(fixture, pool);
}

static void the_largest_threshold_keeps_everything(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.release_threshold_bytes = SIZE_MAX;
    without_a_threshold_a_free_gives_nothing_back(state);
}

/* Static pools that are left when six have become free, one after the other. */
static unsigned kept_of_six(struct fixture *fixture, size_t threshold_bytes)
{
    fixture->options.release_threshold_bytes = threshold_bytes;
    tarn_pool *pool = create(fixture);
    void *addresses[6];
    alloc_static_pools(pool, addresses, 6);
    for (unsigned i = 0; i < 6; i++)
        expect_ok(tarn_pool_free(pool, addresses[i]));
    unsigned kept = (unsigned)stats_of(pool).static_pool_count;
    destroy(fixture, pool);
    return kept;
}

static void what_is_above_the_threshold_goes_back_but_for_a_spare(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(kept_of_six(fixture, 1), 1);
    assert_int_equal(kept_of_six(fixture, 64 * KIB), 1);
    assert_int_equal(kept_of_six(fixture, 128 * KIB - 1), 1);
    assert_int_equal(kept_of_six(fixture, 128 * KIB), 2);
    assert_int_equal(kept_of_six(fixture, 128 * KIB + 1), 2);
    assert_int_equal(kept_of_six(fixture, 384 * KIB - 1), 5);
    assert_int_equal(kept_of_six(fixture, 384 * KIB), 6);
}

static void the_newest_goes_first(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.release_threshold_bytes = 128 * KIB;
    tarn_pool *pool = create(fixture);
    void *addresses[4];
    alloc_static_pools(pool, addresses, 4);
    uint64_t oldest = id_of(addresses[0]), second = id_of(addresses[1]);
    expect_ok(tarn_pool_free(pool, addresses[3]));
    expect_ok(tarn_pool_free(pool, addresses[0]));
    assert_int_equal(fixture->backend.release_count, 0);
    expect_ok(tarn_pool_free(pool, addresses[1]));
    assert_int_equal(fixture->backend.release_count, 1);
    expect_ok(tarn_pool_alloc(pool, 64 * KIB, &addresses[0]));
    expect_ok(tarn_pool_alloc(pool, 64 * KIB, &addresses[1]));
    assert_int_equal(id_of(addresses[0]), oldest);
    assert_int_equal(id_of(addresses[1]), second);
    destroy(fixture, pool);
}

static void a_free_that_leaves_something_live_asks_nobody(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.release_threshold_bytes = 1;
    tarn_pool *pool = create(fixture);
    void *small, *rest[3];
    alloc_static_pools(pool, rest, 3);
    expect_ok(tarn_pool_alloc(pool, KIB, &small)); /* beside the first */
    expect_ok(tarn_pool_free(pool, rest[0]));
    expect_ok(tarn_pool_free(pool, rest[1]));
    assert_int_equal(fixture->backend.release_count, 0);
    expect_ok(tarn_pool_free(pool, small));
    assert_int_equal(fixture->backend.release_count, 1);
    destroy(fixture, pool);
}

static void a_spare_serves_a_pool_that_breathes(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.release_threshold_bytes = 1;
    tarn_pool *pool = create(fixture);
    for (unsigned i = 0; i < 100; i++) {
        void *address;
        expect_ok(tarn_pool_alloc(pool, 60 * KIB, &address));
        expect_ok(tarn_pool_free(pool, address));
    }
    assert_int_equal(fixture->backend.acquire_count, 1);
    assert_int_equal(fixture->backend.release_count, 0);
    destroy(fixture, pool);
}

/* Regions that wait for different streams do not coalesce; the static pool is free all the same. */
static void so_it_is_with_several_streams(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.release_threshold_bytes = 1;
    tarn_pool *pool = create(fixture);
    tarn_stream a = (tarn_stream)(uintptr_t)0x10, b = (tarn_stream)(uintptr_t)0x20;
    void *halves[4];
    for (unsigned i = 0; i < 4; i++)
        expect_ok(tarn_pool_alloc_on(pool, 32 * KIB, i % 2 ? b : a, &halves[i]));
    assert_int_equal(stats_of(pool).static_pool_count, 2);
    for (unsigned i = 0; i < 4; i++)
        expect_ok(tarn_pool_free_on(pool, halves[i], i % 2 ? b : a));
    assert_int_equal(stats_of(pool).static_pool_count, 1);
    assert_int_equal(stats_of(pool).free_region_count, 2);
    destroy(fixture, pool);
}

/* The free that makes a stream known goes another way. */
static void so_it_is_when_the_stream_is_new(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.release_threshold_bytes = 1;
    tarn_pool *pool = create(fixture);
    void *addresses[2];
    alloc_static_pools(pool, addresses, 2);
    expect_ok(tarn_pool_free(pool, addresses[0]));
    expect_ok(tarn_pool_free_on(pool, addresses[1], (tarn_stream)(uintptr_t)0x10));
    assert_int_equal(stats_of(pool).static_pool_count, 1);
    destroy(fixture, pool);
}

static void a_refusal_of_the_vendor_is_no_error_of_the_free(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.release_threshold_bytes = 1;
    tarn_pool *pool = create(fixture);
    void *addresses[2];
    alloc_static_pools(pool, addresses, 2);
    fixture->backend.fail_release = true;
    expect_ok(tarn_pool_free(pool, addresses[0]));
    expect_ok(tarn_pool_free(pool, addresses[1]));
    assert_int_equal(fixture->backend.release_count, 1);
    fixture->backend.fail_release = false;
    destroy(fixture, pool);
}

struct busy {
    tarn_pool *pool;
    void *address;
};

/* Hangs where a free waits for a thread that is in the vendor. */
static void free_while_the_vendor_is_busy(void *context)
{
    struct busy *busy = context;
    if (!busy->address) return;
    void *address = busy->address;
    busy->address = NULL;
    expect_ok(tarn_pool_free(busy->pool, address));
}

static void a_free_does_not_wait_for_the_vendors_calls_of_others(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.release_threshold_bytes = 1;
    tarn_pool *pool = create(fixture);
    void *addresses[3];
    alloc_static_pools(pool, addresses, 3);
    expect_ok(tarn_pool_free(pool, addresses[0]));
    struct busy busy = { pool, addresses[1] };
    fixture->backend.context = &busy;
    fixture->backend.while_acquiring = free_while_the_vendor_is_busy;
    void *large;
    expect_ok(tarn_pool_alloc(pool, 100 * KIB, &large));
    assert_int_equal(fixture->backend.release_count, 0);
    fixture->backend.while_acquiring = NULL;
    expect_ok(tarn_pool_free(pool, large)); /* which sees to both */
    assert_int_equal(fixture->backend.release_count, 2);
    destroy(fixture, pool);
}

/* --- returns_when_empty ---------------------------------------------------------------------------- */

static void with_the_last_free_everything_goes_back(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.returns_when_empty = true;
    tarn_pool *pool = create(fixture);
    for (unsigned round = 1; round <= 3; round++) {
        void *addresses[3];
        alloc_static_pools(pool, addresses, 3);
        expect_ok(tarn_pool_free(pool, addresses[2]));
        expect_ok(tarn_pool_free(pool, addresses[0]));
        assert_int_equal(stats_of(pool).static_pool_count, 3);
        expect_ok(tarn_pool_free(pool, addresses[1]));
        assert_int_equal(stats_of(pool).footprint_bytes, 0);
        assert_int_equal(fixture->backend.release_count, 3 * round);
    }
    assert_int_equal(fixture->backend.asked_bytes[3], 64 * KIB);
    destroy(fixture, pool);
}

static void and_with_a_threshold_the_spare_too(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.returns_when_empty = true;
    fixture->options.release_threshold_bytes = 1;
    tarn_pool *pool = create(fixture);
    void *addresses[3];
    alloc_static_pools(pool, addresses, 3);
    expect_ok(tarn_pool_free(pool, addresses[2]));
    expect_ok(tarn_pool_free(pool, addresses[0]));
    assert_int_equal(stats_of(pool).static_pool_count, 2);
    expect_ok(tarn_pool_free(pool, addresses[1]));
    assert_int_equal(stats_of(pool).static_pool_count, 0);
    destroy(fixture, pool);
}

static void what_was_taken_at_once_goes_back_too(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.returns_when_empty = true;
    fixture->options.takes_initial_at_once = true;
    tarn_pool *pool = create(fixture);
    assert_int_equal(stats_of(pool).footprint_bytes, 64 * KIB);
    void *address;
    expect_ok(tarn_pool_alloc(pool, KIB, &address));
    expect_ok(tarn_pool_free_on(pool, address, (tarn_stream)(uintptr_t)0x10));
    assert_int_equal(stats_of(pool).footprint_bytes, 0);
    destroy(fixture, pool);
}

struct empty_worker {
    tarn_pool *pool;
    bool has_failed;
};

/* The last free comes while another one is giving back. */
static void free_during_release(void *context)
{
    free_while_the_vendor_is_busy(context);
}

static void a_free_during_another_ones_release_is_not_forgotten(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.returns_when_empty = true;
    fixture->options.release_threshold_bytes = 1;
    tarn_pool *pool = create(fixture);
    void *addresses[3];
    alloc_static_pools(pool, addresses, 3);
    expect_ok(tarn_pool_free(pool, addresses[0]));
    struct busy busy = { pool, addresses[1] };
    fixture->backend.context = &busy;
    fixture->backend.while_releasing = free_during_release;
    expect_ok(tarn_pool_free(pool, addresses[2]));
    assert_null(busy.address);
    assert_int_equal(stats_of(pool).footprint_bytes, 0);
    fixture->backend.while_releasing = NULL;
    destroy(fixture, pool);
}

static void *come_and_go(void *context)
{
    struct empty_worker *worker = context;
    for (unsigned i = 0; i < 2000 && !worker->has_failed; i++) {
        void *address;
        worker->has_failed =
            tarn_pool_alloc(worker->pool, (i % 50 + 1) * KIB, &address) != TARN_STATUS_OK ||
            tarn_pool_free(worker->pool, address) != TARN_STATUS_OK;
    }
    return NULL;
}

static void threads_may_come_and_go(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.returns_when_empty = true;
    tarn_pool *pool = create(fixture);
    pthread_t threads[3];
    struct empty_worker workers[3];
    for (int i = 0; i < 3; i++) {
        workers[i] = (struct empty_worker){ pool, false };
        assert_int_equal(pthread_create(&threads[i], NULL, come_and_go, &workers[i]), 0);
    }
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
        assert_false(workers[i].has_failed);
    }
    void *address;
    expect_ok(tarn_pool_alloc(pool, KIB, &address));
    expect_ok(tarn_pool_free(pool, address));
    assert_int_equal(stats_of(pool).footprint_bytes, 0);
    destroy(fixture, pool);
}

/* --- at random ------------------------------------------------------------------------------------- */

enum {
    BLOCKS = 60
};

struct block {
    void *address;
    uint64_t static_pool_id;
    size_t static_pool_bytes;
};

/* Bytes and number of static pools in which nothing of the blocks is live. */
static size_t wholly_free_bytes(tarn_pool *pool, const struct block *blocks, size_t *count_out)
{
    tarn_stats stats = stats_of(pool);
    size_t bytes = stats.footprint_bytes;
    *count_out = stats.static_pool_count;
    for (size_t i = 0; i < BLOCKS; i++) {
        bool is_first = blocks[i].address != NULL;
        for (size_t k = 0; k < i && is_first; k++) {
            is_first = !blocks[k].address || blocks[k].static_pool_id != blocks[i].static_pool_id;
        }
        if (!is_first) continue;
        bytes -= blocks[i].static_pool_bytes;
        (*count_out)--;
    }
    return bytes;
}

static void after_each_free_the_threshold_holds(void **state)
{
    struct fixture *fixture = *state;
    struct random random = random_init(random_seed(20260110));
    fixture->options.release_threshold_bytes = 200 * KIB;
    fixture->options.growth_factor = 1.2;
    tarn_pool *pool = create(fixture);
    static struct block blocks[BLOCKS];
    memset(blocks, 0, sizeof blocks);
    for (unsigned step = 0; step < 4000; step++) {
        struct block *block = &blocks[random_below(&random, BLOCKS)];
        /* Mostly frees for a while, then mostly allocations. */
        bool is_shrinking = step / 200 % 2 == 1;
        if (block->address) {
            expect_ok(tarn_pool_free(pool, block->address));
            block->address = NULL;
            size_t count, bytes = wholly_free_bytes(pool, blocks, &count);
            if (bytes > 200 * KIB) assert_int_equal(count, 1);
        } else if (!is_shrinking || random_below(&random, 4) == 0) {
            size_t size_bytes = (size_t)random_below(&random, 40 * KIB) + 1;
            expect_ok(tarn_pool_alloc(pool, size_bytes, &block->address));
            tarn_allocation found = TARN_ALLOCATION_INIT;
            expect_ok(tarn_pool_find(block->address, &found));
            block->static_pool_id = found.static_pool_id;
            block->static_pool_bytes = found.static_pool_bytes;
        }
        expect_ok(tarn_pool_check(pool));
    }
    assert_true(fixture->backend.release_count > 10);
    destroy(fixture, pool);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup(name, set_up)
    const struct CMUnitTest tests[] = {
        CASE(without_a_threshold_a_free_gives_nothing_back),
        CASE(the_largest_threshold_keeps_everything),
        CASE(what_is_above_the_threshold_goes_back_but_for_a_spare),
        CASE(the_newest_goes_first),
        CASE(a_free_that_leaves_something_live_asks_nobody),
        CASE(a_spare_serves_a_pool_that_breathes),
        CASE(so_it_is_with_several_streams),
        CASE(so_it_is_when_the_stream_is_new),
        CASE(a_refusal_of_the_vendor_is_no_error_of_the_free),
        CASE(a_free_does_not_wait_for_the_vendors_calls_of_others),
        CASE(with_the_last_free_everything_goes_back),
        CASE(and_with_a_threshold_the_spare_too),
        CASE(what_was_taken_at_once_goes_back_too),
        CASE(a_free_during_another_ones_release_is_not_forgotten),
        CASE(threads_may_come_and_go),
        CASE(after_each_free_the_threshold_holds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
