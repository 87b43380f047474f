/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a pool gives back by itself when something is freed, and what it keeps. */
#include <pthread.h>
#include <unistd.h>

#include "harness/random.h"
#include "pool_fixture.h"

static int set_up_steady(void **state)
{
    begin_fixture(false);
    grow_by_pieces_of(64 * KIB);
    return 0;
}

/* What it holds is what the backend gave. */
static int tear_down_held(void **state)
{
    if (pool) assert_int_equal(stats_of(pool).footprint_bytes, backend.held_bytes);
    return tear_down(state);
}

static void *addresses[8];

/* A static pool of 64 KiB each. The first has 4 KiB left. */
static void alloc_static_pools(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        addresses[i] = alloc(i == 0 ? 60 * KIB : 64 * KIB);
    assert_int_equal(stats_of(pool).static_pool_count, count);
}

static uint64_t id_of(const void *address)
{
    return found_at(address).static_pool_id;
}

/* --- release_threshold_bytes ----------------------------------------------------------------------- */

static void without_a_threshold_a_free_gives_nothing_back(void **state)
{
    create();
    alloc_static_pools(6);
    for (unsigned i = 0; i < 6; i++)
        free_one(addresses[i]);
    assert_int_equal(backend.release_count, 0);
}

static void the_largest_threshold_keeps_everything(void **state)
{
    options.release_threshold_bytes = SIZE_MAX;
    without_a_threshold_a_free_gives_nothing_back(state);
}

/* Static pools that are left when six have become free, one after the other. */
static unsigned kept_of_six(size_t threshold_bytes)
{
    options.release_threshold_bytes = threshold_bytes;
    create();
    alloc_static_pools(6);
    for (unsigned i = 0; i < 6; i++)
        free_one(addresses[i]);
    unsigned kept = (unsigned)stats_of(pool).static_pool_count;
    destroy();
    return kept;
}

static void what_is_above_the_threshold_goes_back_but_for_a_spare(void **state)
{
    assert_int_equal(kept_of_six(1), 1);
    assert_int_equal(kept_of_six(64 * KIB), 1);
    assert_int_equal(kept_of_six(128 * KIB - 1), 1);
    assert_int_equal(kept_of_six(128 * KIB), 2);
    assert_int_equal(kept_of_six(128 * KIB + 1), 2);
    assert_int_equal(kept_of_six(384 * KIB - 1), 5);
    assert_int_equal(kept_of_six(384 * KIB), 6);
}

static void the_newest_goes_first(void **state)
{
    options.release_threshold_bytes = 128 * KIB;
    create();
    alloc_static_pools(4);
    uint64_t oldest = id_of(addresses[0]), second = id_of(addresses[1]);
    free_one(addresses[3]);
    free_one(addresses[0]);
    assert_int_equal(backend.release_count, 0);
    free_one(addresses[1]);
    assert_int_equal(backend.release_count, 1);
    addresses[0] = alloc(64 * KIB);
    addresses[1] = alloc(64 * KIB);
    assert_int_equal(id_of(addresses[0]), oldest);
    assert_int_equal(id_of(addresses[1]), second);
}

static void a_free_that_leaves_something_live_asks_nobody(void **state)
{
    options.release_threshold_bytes = 1;
    create();
    alloc_static_pools(3);
    void *small = alloc(KIB); /* beside the first */
    free_one(addresses[0]);
    free_one(addresses[1]);
    assert_int_equal(backend.release_count, 0);
    free_one(small);
    assert_int_equal(backend.release_count, 1);
}

static void a_spare_serves_a_pool_that_breathes(void **state)
{
    options.release_threshold_bytes = 1;
    create();
    for (unsigned i = 0; i < 100; i++) {
        void *address = alloc(60 * KIB);
        free_one(address);
    }
    assert_int_equal(backend.acquire_count, 1);
    assert_int_equal(backend.release_count, 0);
}

/* Regions that wait for different streams do not coalesce; the static pool is free all the same. */
static void so_it_is_with_several_streams(void **state)
{
    options.release_threshold_bytes = 1;
    create();
    void *halves[4];
    for (unsigned i = 0; i < 4; i++)
        halves[i] = alloc_on(32 * KIB, i % 2 ? B : A);
    assert_int_equal(stats_of(pool).static_pool_count, 2);
    for (unsigned i = 0; i < 4; i++)
        free_on(halves[i], i % 2 ? B : A);
    assert_int_equal(stats_of(pool).static_pool_count, 1);
    assert_int_equal(stats_of(pool).free_region_count, 2);
}

/* The free that makes a stream known goes another way. */
static void so_it_is_when_the_stream_is_new(void **state)
{
    options.release_threshold_bytes = 1;
    create();
    alloc_static_pools(2);
    free_one(addresses[0]);
    free_on(addresses[1], A);
    assert_int_equal(stats_of(pool).static_pool_count, 1);
}

static void a_refusal_of_the_vendor_is_no_error_of_the_free(void **state)
{
    options.release_threshold_bytes = 1;
    create();
    alloc_static_pools(2);
    backend.fail_release = true;
    free_one(addresses[0]);
    free_one(addresses[1]);
    assert_int_equal(backend.release_count, 1);
    backend.fail_release = false;
}

/* Hangs where a free waits for a thread that is in the vendor. */
static void free_while_the_vendor_is_busy(void *context)
{
    void **place = context, *address = *place;
    *place = NULL;
    free_one(address);
}

static void a_free_does_not_wait_for_the_vendors_calls_of_others(void **state)
{
    options.release_threshold_bytes = 1;
    create();
    alloc_static_pools(3);
    free_one(addresses[0]);
    backend.context = &addresses[1];
    backend.while_acquiring = free_while_the_vendor_is_busy;
    void *large = alloc(100 * KIB);
    /* The growth does what the free has left undone. One is kept as a spare. */
    assert_int_equal(backend.release_count, 1);
    backend.while_acquiring = NULL;
    free_one(large);
    assert_int_equal(backend.release_count, 2);
}

/* --- returns_when_empty ---------------------------------------------------------------------------- */

static void with_the_last_free_everything_goes_back(void **state)
{
    options.returns_when_empty = true;
    create();
    for (unsigned round = 1; round <= 3; round++) {
        alloc_static_pools(3);
        free_one(addresses[2]);
        free_one(addresses[0]);
        assert_int_equal(stats_of(pool).static_pool_count, 3);
        free_one(addresses[1]);
        assert_int_equal(stats_of(pool).footprint_bytes, 0);
        assert_int_equal(backend.release_count, 3 * round);
    }
    assert_int_equal(backend.asked_bytes[3], 64 * KIB);
}

static void and_with_a_threshold_the_spare_too(void **state)
{
    options.returns_when_empty = true;
    options.release_threshold_bytes = 1;
    create();
    alloc_static_pools(3);
    free_one(addresses[2]);
    free_one(addresses[0]);
    assert_int_equal(stats_of(pool).static_pool_count, 2);
    free_one(addresses[1]);
    assert_int_equal(stats_of(pool).static_pool_count, 0);
}

static void what_was_taken_at_once_goes_back_too(void **state)
{
    options.returns_when_empty = true;
    options.takes_initial_at_once = true;
    create();
    assert_int_equal(stats_of(pool).footprint_bytes, 64 * KIB);
    free_on(alloc(KIB), A);
    assert_int_equal(stats_of(pool).footprint_bytes, 0);
}

/* The last free comes while another one is giving back. */
static void a_free_during_another_ones_release_is_not_forgotten(void **state)
{
    options.returns_when_empty = true;
    options.release_threshold_bytes = 1;
    create();
    alloc_static_pools(3);
    free_one(addresses[0]);
    backend.context = &addresses[1];
    backend.while_releasing = free_while_the_vendor_is_busy;
    free_one(addresses[2]);
    assert_null(addresses[1]);
    assert_int_equal(stats_of(pool).footprint_bytes, 0);
    backend.while_releasing = NULL;
}

static void *come_and_go(void *context)
{
    bool *has_failed = context;
    for (unsigned i = 0; i < 2000 && !*has_failed; i++) {
        void *address;
        *has_failed = tarn_pool_alloc(pool, (i % 50 + 1) * KIB, &address) != TARN_STATUS_OK ||
                      tarn_pool_free(pool, address) != TARN_STATUS_OK;
    }
    return NULL;
}

static void threads_may_come_and_go(void **state)
{
    options.returns_when_empty = true;
    create();
    pthread_t threads[3];
    bool have_failed[3] = { false };
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, come_and_go, &have_failed[i]), 0);
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
        assert_false(have_failed[i]);
    }
    free_one(alloc(KIB));
    assert_int_equal(stats_of(pool).footprint_bytes, 0);
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
static size_t wholly_free_bytes(const struct block *blocks, size_t *count_out)
{
    tarn_stats stats = stats_of(pool);
    size_t bytes = stats.footprint_bytes;
    *count_out = stats.static_pool_count;
    for (size_t i = 0; i < BLOCKS; i++) {
        bool is_first = blocks[i].address != NULL;
        for (size_t k = 0; k < i && is_first; k++)
            is_first = !blocks[k].address || blocks[k].static_pool_id != blocks[i].static_pool_id;
        if (!is_first) continue;
        bytes -= blocks[i].static_pool_bytes;
        (*count_out)--;
    }
    return bytes;
}

static void after_each_free_the_threshold_holds(void **state)
{
    struct random random = random_init(random_seed(20260110));
    options.release_threshold_bytes = 200 * KIB;
    options.growth_factor = 1.2;
    create();
    static struct block blocks[BLOCKS];
    memset(blocks, 0, sizeof blocks);
    for (unsigned step = 0; step < 4000; step++) {
        struct block *block = &blocks[random_below(&random, BLOCKS)];
        /* Mostly frees for a while, then mostly allocations. */
        bool is_shrinking = step / 200 % 2 == 1;
        if (block->address) {
            free_one(block->address);
            block->address = NULL;
            size_t count, bytes = wholly_free_bytes(blocks, &count);
            if (bytes > 200 * KIB) assert_int_equal(count, 1);
        } else if (!is_shrinking || random_below(&random, 4) == 0) {
            size_t size_bytes = (size_t)random_below(&random, 40 * KIB) + 1;
            block->address = alloc(size_bytes);
            tarn_allocation found = found_at(block->address);
            block->static_pool_id = found.static_pool_id;
            block->static_pool_bytes = found.static_pool_bytes;
        }
        expect_ok(tarn_pool_check(pool));
    }
    assert_true(backend.release_count > 10);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up_steady, tear_down_held)
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
