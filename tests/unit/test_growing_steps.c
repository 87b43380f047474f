/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A contiguous pool whose steps follow its size: how large they are, how many calls of the vendor that takes, and what
 * goes back. Units are of 2 MiB here, as on NVIDIA. test_contiguous has steps of one size.
 */
#include <unistd.h>

#include "harness/host_memory_faults.h"
#include "pool_fixture.h"

#define UNIT (2 * MIB)
#define GIB  (1024 * MIB)

enum {
    STEPS_MAX = 1024
};

struct told_step {
    char *base;
    size_t size_bytes;
    uint64_t id;
    bool is_there;
};

/* What the pool has told. */
static struct told_step steps[STEPS_MAX];
static unsigned step_count, there_count;
static size_t told_bytes;
static char *lowest; /* of all steps */

static void note_created(void *user, void *base, size_t size_bytes, uint64_t id)
{
    assert_true(step_count < STEPS_MAX);
    assert_int_equal(size_bytes % UNIT, 0);
    assert_int_equal((uintptr_t)base % UNIT, 0);
    steps[step_count++] = (struct told_step){ base, size_bytes, id, true };
    there_count++;
    told_bytes += size_bytes;
    if (!lowest) lowest = base;
}

static void note_destroyed(void *user, void *base, size_t size_bytes, uint64_t id)
{
    unsigned i = 0;
    while (i < step_count && steps[i].id != id)
        i++;
    assert_true(i < step_count && steps[i].is_there);
    assert_ptr_equal(steps[i].base, base);
    assert_int_equal(steps[i].size_bytes, size_bytes);
    steps[i].is_there = false;
    there_count--;
    told_bytes -= size_bytes;
}

static int set_up_growing(void **state)
{
    begin_fixture(true);
    backend.range_granularity_bytes = UNIT;
    backend.total_bytes = 4 * GIB;
    opened = test_backend_open(&backend);
    options.contiguous = true;
    options.initial_bytes = 0;
    options.growth_bytes_max = TARN_GROWTH_BYTES_MAX_DEFAULT;
    options.on_static_pool_created = note_created;
    options.on_static_pool_destroyed = note_destroyed;
    checks_every_step = true;
    step_count = there_count = 0;
    told_bytes = 0;
    lowest = NULL;
    return 0;
}

static int tear_down_growing(void **state)
{
    tear_down(state);
    assert_int_equal(there_count, 0);
    return 0;
}

static void expect_held(size_t bytes, size_t steps_there)
{
    tarn_stats stats = stats_of(pool);
    assert_int_equal(stats.footprint_bytes, bytes);
    assert_int_equal(stats.static_pool_count, steps_there);
    assert_int_equal(backend.held_bytes, bytes);
    assert_int_equal(backend.piece_count, steps_there);
    assert_int_equal(stats.free_bytes, bytes - stats.used_bytes);
    assert_int_equal(told_bytes, bytes);
    assert_int_equal(there_count, steps_there);
}

/* Allocates blocks of that size until so much is live. */
static void fill(size_t block_bytes, size_t live_bytes)
{
    while (stats_of(pool).used_bytes < live_bytes)
        alloc(block_bytes);
}

static unsigned map_count(void)
{
    return backend.call_counts[TEST_CALL_RANGE_MAP];
}

/* --- growing ------------------------------------------------------------------------------------ */

static void the_first_step_is_the_need(void **state)
{
    create();
    alloc(1);
    expect_held(UNIT, 1);
    alloc(UNIT);
    expect_held(2 * UNIT, 2);
}

/* 64 units are one each, then each step is a 32nd of what is held before it, in whole units. */
static void steps_follow_what_is_held(void **state)
{
    create();
    fill(UNIT, 256 * MIB);
    size_t held = 0, expected = 0;
    for (unsigned i = 0; i < step_count; i++) {
        expected = held < 64 * UNIT ? UNIT : held / 32 / UNIT * UNIT;
        assert_int_equal(steps[i].size_bytes, expected);
        held += expected;
    }
    expect_held(held, 64 + 16 + 11);
}

/* Doubling what is held takes about as many steps again, whatever the size. */
static void the_number_of_steps_is_logarithmic(void **state)
{
    unsigned counts[5];
    create();
    checks_every_step = false;
    for (unsigned i = 0; i < 5; i++) {
        fill(512 * KIB, (size_t)128 * MIB << i);
        counts[i] = map_count();
    }
    for (unsigned i = 1; i < 5; i++)
        assert_in_range(counts[i] - counts[i - 1], 22, 28);
    assert_int_equal(counts[4], step_count);
    expect_ok(tarn_pool_check(pool));
}

static void little_more_is_held_than_is_in_use(void **state)
{
    create();
    checks_every_step = false;
    while (stats_of(pool).used_bytes < 512 * MIB) {
        alloc(700 * KIB);
        tarn_stats stats = stats_of(pool);
        assert_true(stats.footprint_bytes <= stats.used_bytes / 16 * 17 + 2 * UNIT);
    }
}

/* Free memory that the request does not fit into is counted: the pool takes a 64th beyond the need at most. */
static void scattered_memory_makes_the_wish_small(void **state)
{
    char *blocks[256];
    create();
    checks_every_step = false;
    for (unsigned i = 0; i < 256; i++)
        blocks[i] = alloc(UNIT);
    for (unsigned i = 0; i < 256; i += 2)
        free_one(blocks[i]);
    size_t held = stats_of(pool).footprint_bytes;
    while (stats_of(pool).footprint_bytes == held)
        alloc(UNIT + KIB);
    size_t more = stats_of(pool).footprint_bytes - held;
    assert_in_range(more, 2 * UNIT, held / 64 / UNIT * UNIT);
}

static void a_large_request_takes_thirty_two_steps(void **state)
{
    create();
    alloc(256 * MIB);
    expect_held(256 * MIB, 32);
    for (unsigned i = 0; i < step_count; i++)
        assert_int_equal(steps[i].size_bytes, 8 * MIB);
    alloc(768 * MIB);
    expect_held(1024 * MIB, 32 + 24);
}

static void the_users_cap_is_one_of_steps(void **state)
{
    options.growth_bytes_max = 5 * UNIT + 1;
    create();
    alloc(512 * MIB);
    fill(UNIT, 600 * MIB);
    for (unsigned i = 0; i < step_count; i++)
        assert_in_range(steps[i].size_bytes, UNIT, 5 * UNIT);
    assert_int_equal(steps[0].size_bytes, 5 * UNIT);
}

static void a_cap_below_a_unit_is_a_unit(void **state)
{
    options.growth_bytes_max = 1;
    create();
    alloc(8 * UNIT);
    expect_held(8 * UNIT, 8);
}

static void no_step_is_larger_than_the_largest_allocation(void **state)
{
    backend.allocation_bytes_max = 3 * UNIT;
    create();
    alloc(512 * MIB);
    for (unsigned i = 0; i < step_count; i++)
        assert_in_range(steps[i].size_bytes, UNIT, 3 * UNIT);
}

/* The initial size is no need: nothing else may want it. */
static void the_initial_size_is_had_in_few_steps(void **state)
{
    options.initial_bytes = 160 * MIB - 1;
    create();
    alloc(1);
    expect_held(160 * MIB, 40);
}

static void each_gap_is_a_step(void **state)
{
    create();
    char *low = alloc(UNIT), *first = alloc(3 * UNIT), *middle = alloc(UNIT),
         *second = alloc(2 * UNIT);
    alloc(UNIT);
    free_one(first);
    free_one(second);
    assert_int_equal(trim(0), 5 * UNIT);
    free_one(middle);
    unsigned before = map_count();
    /* Six units, of which the one in the middle is there. */
    assert_ptr_equal(alloc(6 * UNIT), low + UNIT);
    assert_int_equal(map_count() - before, 5);
    expect_held(8 * UNIT, 8);
}

/* With a step of its own for each unit of a gap above, because little was held. Here the gaps are less than a 32nd. */
static void a_gap_takes_one_call(void **state)
{
    create();
    alloc(256 * MIB);
    char *first = alloc(3 * UNIT), *middle = alloc(UNIT), *second = alloc(2 * UNIT);
    alloc(UNIT);
    free_one(first);
    free_one(second);
    free_one(middle);
    trim(0);
    size_t held = stats_of(pool).footprint_bytes;
    unsigned before = map_count();
    char *block = alloc(6 * UNIT);
    assert_in_range(map_count() - before, 0, 2);
    assert_in_range(stats_of(pool).footprint_bytes - held, 0, 2 * 16 * MIB);
    assert_true(block >= lowest);
}

/* --- near a limit ------------------------------------------------------------------------------- */

static void near_the_limit_steps_are_small_again(void **state)
{
    options.limit_bytes = 512 * MIB;
    create();
    checks_every_step = false;
    fill(UNIT, 512 * MIB);
    size_t held = 0, largest = 0;
    for (unsigned i = 0; i < step_count; i++) {
        size_t left = 512 * MIB - held;
        assert_true(steps[i].size_bytes == UNIT || steps[i].size_bytes <= left / 4);
        held += steps[i].size_bytes;
        if (steps[i].size_bytes > largest) largest = steps[i].size_bytes;
    }
    assert_in_range(largest, 10 * MIB, 16 * MIB);
    assert_int_equal(steps[step_count - 1].size_bytes, UNIT);
    assert_in_range(step_count, 80, 140);
    expect_refused(TARN_STATUS_OVER_LIMIT, 1);
    expect_held(512 * MIB, step_count);
}

static void a_limit_is_used_to_the_last_unit(void **state)
{
    options.limit_bytes = 37 * UNIT + UNIT / 2;
    backend.range_granularity_bytes = UNIT;
    create();
    alloc(36 * UNIT);
    alloc(UNIT);
    expect_refused(TARN_STATUS_OVER_LIMIT, 1);
    assert_int_equal(backend.held_bytes_max, 37 * UNIT);
}

/* The memory would do, but the free steps are in the wrong places. */
static void at_the_limit_free_steps_move(void **state)
{
    char *blocks[64];
    options.limit_bytes = 64 * UNIT;
    create();
    for (unsigned i = 0; i < 64; i++)
        blocks[i] = alloc(UNIT);
    for (unsigned i = 0; i < 64; i += 2)
        free_one(blocks[i]);
    alloc(16 * UNIT);
    assert_int_equal(backend.held_bytes_max, 64 * UNIT);
}

/* --- refusals ----------------------------------------------------------------------------------- */

/* So much is left that the wish is refused, but not half of it. */
static void a_refused_wish_halves_down_to_the_need(void **state)
{
    create();
    alloc(256 * MIB);
    for (size_t left = 1; left <= 9; left++) {
        backend.capacity_bytes = backend.held_bytes + left * UNIT;
        unsigned before = map_count();
        char *block = alloc(UNIT);
        size_t expected = left >= 4 ? 4 : left >= 2 ? 2 : 1;
        assert_int_equal(steps[step_count - 1].size_bytes, expected * UNIT);
        assert_in_range(map_count() - before, 1, 4);
        free_one(block);
        assert_true(trim(256 * MIB) >= expected * UNIT);
        expect_held(256 * MIB, 32);
    }
}

/* As long as nothing has gone back. */
static void a_refusal_is_remembered(void **state)
{
    create();
    alloc(256 * MIB);
    backend.capacity_bytes = backend.held_bytes + 10 * UNIT;
    unsigned before = map_count();
    alloc(UNIT);     /* 4 units */
    alloc(8 * UNIT); /* 4 and 1, where a wish of 4 is tried anew at most */
    assert_in_range(map_count() - before, 3, 5);
    alloc(UNIT);
    expect_refused(TARN_STATUS_OUT_OF_MEMORY, UNIT);
    assert_int_equal(backend.held_bytes, backend.capacity_bytes);
}

static void all_that_the_device_has_is_had(void **state)
{
    create();
    checks_every_step = false;
    backend.capacity_bytes = 777 * MIB;
    void *address;
    size_t count = 0;
    while (tarn_pool_alloc(pool, UNIT, &address) == TARN_STATUS_OK)
        count++;
    assert_int_equal(count, 388);
    expect_held(776 * MIB, step_count);
}

static void all_there_is_may_be_the_initial_size(void **state)
{
    options.initial_bytes = TARN_INITIAL_ALL;
    backend.capacity_bytes = 777 * MIB;
    create();
    alloc(1);
    expect_held(776 * MIB, step_count);
    assert_in_range(map_count(), 2, 16);
}

static void a_need_is_had_in_pieces_if_not_at_once(void **state)
{
    create();
    alloc(256 * MIB);
    backend.call_failure = TARN_STATUS_OUT_OF_MEMORY;
    backend.fail_call_at[TEST_CALL_RANGE_MAP] = 1;
    alloc(13 * UNIT); /* not 4, 4, 4 and 1, but six of 2, and 1 */
    expect_held(256 * MIB + 13 * UNIT, 32 + 7);
}

static void when_the_vendor_refuses_nothing_stays_mapped_in_vain(void **state)
{
    create();
    alloc(64 * MIB);
    backend.capacity_bytes = backend.held_bytes + 7 * UNIT;
    expect_refused(TARN_STATUS_OUT_OF_MEMORY, 8 * UNIT);
    expect_held(64 * MIB, step_count);
    alloc(7 * UNIT);
}

/* Each map call in turn fails, with lack of memory or with an error. */
static void each_map_may_fail(void **state)
{
    for (unsigned n = 1; n < 40; n++) {
        backend.call_failure = n % 2 ? TARN_STATUS_VENDOR_ERROR : TARN_STATUS_OUT_OF_MEMORY;
        backend.failed_count = 0;
        create();
        backend.fail_call_at[TEST_CALL_RANGE_MAP] = n;
        size_t live_count = 0, failed_count = 0;
        for (unsigned i = 0; i < 12; i++) {
            void *address;
            size_t held = stats_of(pool).footprint_bytes;
            bool is_served =
                tarn_pool_alloc(pool, (1 + i % 5) * 3 * UNIT, &address) == TARN_STATUS_OK;
            live_count += is_served;
            failed_count += !is_served;
            if (!is_served) assert_int_equal(stats_of(pool).footprint_bytes, held);
            expect_ok(tarn_pool_check(pool));
        }
        assert_int_equal(stats_of(pool).live_count, live_count);
        assert_int_equal(backend.held_bytes, told_bytes);
        assert_true(failed_count <= backend.failed_count);
        backend.fail_call_at[TEST_CALL_RANGE_MAP] = 0;
        destroy();
        expect_nothing_left();
        step_count = 0;
    }
}

static void a_large_step_that_the_vendor_keeps_is_used_again(void **state)
{
    create();
    alloc(256 * MIB);
    char *block = alloc(UNIT);
    size_t step_bytes = steps[step_count - 1].size_bytes;
    assert_int_equal(step_bytes, 8 * MIB);
    free_one(block);
    backend.fail_call_at[TEST_CALL_RANGE_UNMAP] = 1;
    expect_status(TARN_STATUS_VENDOR_ERROR, tarn_pool_trim(pool, 0, NULL));
    assert_int_equal(stats_of(pool).unreleased_bytes, step_bytes);
    assert_int_equal(stats_of(pool).footprint_bytes, 256 * MIB + step_bytes);
    assert_ptr_equal(alloc(step_bytes), block);
    assert_int_equal(stats_of(pool).unreleased_bytes, 0);
    expect_held(256 * MIB + step_bytes, 33);
    free_one(block);
    backend.fail_call_at[TEST_CALL_RANGE_UNMAP] = 1;
    expect_status(TARN_STATUS_VENDOR_ERROR, tarn_pool_trim(pool, 0, NULL));
    trim(0);
    expect_held(256 * MIB, 32);
}

/* Returns whether all went well. */
static bool run_scenario(void)
{
    void *one = NULL, *other = NULL, *third = NULL;
    if (tarn_pool_create(&options, &pool) != TARN_STATUS_OK) {
        pool = NULL;
        return false;
    }
    bool is_well = tarn_pool_alloc(pool, 64 * MIB, &one) == TARN_STATUS_OK;
    is_well = tarn_pool_alloc(pool, UNIT, &other) == TARN_STATUS_OK && is_well;
    expect_ok(tarn_pool_check(pool));
    if (one) free_one(one);
    is_well = tarn_pool_trim(pool, 0, NULL) == TARN_STATUS_OK && is_well;
    expect_ok(tarn_pool_check(pool));
    is_well = tarn_pool_alloc(pool, 80 * MIB, &third) == TARN_STATUS_OK && is_well;
    expect_ok(tarn_pool_check(pool));
    return is_well;
}

static void each_host_allocation_may_fail(void **state)
{
    checks_every_step = false;
    for (unsigned n = 1;; n++) {
        host_memory_faults_begin(n);
        bool is_well = run_scenario();
        assert_true(is_well || host_memory_faults_happened());
        if (pool) destroy();
        expect_nothing_left();
        step_count = 0;
        if (!host_memory_faults_end()) break;
    }
}

/* --- going back --------------------------------------------------------------------------------- */

static void the_highest_steps_go_first_and_as_a_whole(void **state)
{
    create();
    alloc(64 * MIB);
    char *high = alloc(64 * MIB);
    expect_held(128 * MIB, 32 + 16);
    char *top = alloc(1); /* a step of 4 MiB behind them */
    expect_held(132 * MIB, 49);
    free_one(high);
    /* Steps of 4 MiB, of which two are too many. */
    assert_int_equal(trim(132 * MIB - 3 * 4 * MIB + 1), 2 * 4 * MIB);
    for (unsigned i = 0; i < 49; i++)
        assert_int_equal(steps[i].is_there, i < 46 || i == 48);
    free_one(top);
    assert_int_equal(trim(0), 15 * 4 * MIB);
    expect_held(64 * MIB, 32);
}

/* A small live block keeps all of its step. */
static void a_block_holds_its_step(void **state)
{
    create();
    char *large = alloc(256 * MIB);
    free_one(large);
    char *small = alloc(1);
    assert_ptr_equal(small, large);
    assert_int_equal(trim(0), 248 * MIB);
    expect_held(8 * MIB, 1);
}

static void a_step_that_is_too_large_is_passed_by(void **state)
{
    create();
    alloc(UNIT);
    char *low = alloc(62 * MIB), *high = alloc(64 * MIB);
    expect_held(128 * MIB, 1 + 31 + 16);
    free_one(low);
    free_one(high);
    /* From above: 16 of 4 MiB, 31 of 2 MiB. */
    assert_int_equal(trim(126 * MIB), 2 * MIB);
    assert_int_equal(trim(122 * MIB), 4 * MIB);
    assert_int_equal(trim(60 * MIB), 62 * MIB);
    expect_held(60 * MIB, there_count);
}

static void above_a_threshold_all_but_a_spare_goes_back(void **state)
{
    char *blocks[40];
    options.release_threshold_bytes = 1;
    create();
    alloc(1);
    for (unsigned i = 0; i < 40; i++)
        blocks[i] = alloc(4 * UNIT);
    for (unsigned i = 0; i < 40; i++)
        free_one(blocks[i]);
    tarn_stats stats = stats_of(pool);
    assert_int_equal(stats.static_pool_count, 2); /* of the first block, and the spare */
    /* Nothing goes twice: a free with nothing above the threshold leaves the spare. */
    unsigned before = backend.call_counts[TEST_CALL_RANGE_UNMAP];
    free_one(alloc(1));
    assert_int_equal(backend.call_counts[TEST_CALL_RANGE_UNMAP], before);
}

static void a_threshold_is_of_bytes(void **state)
{
    for (size_t threshold = 8 * UNIT; threshold <= 32 * UNIT; threshold += UNIT / 2) {
        options.release_threshold_bytes = threshold;
        create();
        checks_every_step = false;
        char *low = alloc(64 * MIB), *block = alloc(128 * MIB);
        free_one(block);
        tarn_stats stats = stats_of(pool);
        assert_in_range(stats.free_bytes, threshold > 12 * MIB ? threshold - 12 * MIB : 0,
                        threshold);
        free_one(low);
        destroy();
        step_count = 0;
    }
}

/* --- callbacks ---------------------------------------------------------------------------------- */

static void allocate_inside(void *user, void *base, size_t size_bytes, uint64_t id)
{
    static unsigned depth;
    note_created(user, base, size_bytes, id);
    if (++depth == 1) {
        size_t held = backend.held_bytes;
        /* By the need alone. */
        alloc(UNIT);
        assert_in_range(backend.held_bytes - held, 0, UNIT);
    }
    expect_ok(tarn_pool_check(pool));
    depth--;
}

static void a_function_that_is_told_grows_the_pool_by_its_need(void **state)
{
    options.on_static_pool_created = allocate_inside;
    create();
    alloc(256 * MIB);
    alloc(64 * MIB);
    assert_int_equal(backend.held_bytes, told_bytes);
}

/* --- exporting ---------------------------------------------------------------------------------- */

static void a_large_step_is_exported_as_one(void **state)
{
    backend.has_sharing = true;
    opened = test_backend_open(&backend);
    options.is_shareable = true;
    create();
    alloc(256 * MIB);
    char *first = alloc(UNIT), *second = alloc(2 * UNIT);
    tarn_exported_step of_first = TARN_EXPORTED_STEP_INIT, of_second = TARN_EXPORTED_STEP_INIT;
    expect_ok(tarn_pool_export(pool, first, &of_first));
    expect_ok(tarn_pool_export(pool, second + KIB, &of_second));
    close(of_first.file_descriptor);
    close(of_second.file_descriptor);
    assert_int_equal(of_first.size_bytes, 8 * MIB);
    assert_int_equal(of_first.offset_bytes, 0);
    assert_int_equal(of_first.id, steps[step_count - 1].id);
    assert_ptr_equal(of_second.base, of_first.base);
    assert_int_equal(of_second.offset_bytes, UNIT + KIB);
    assert_int_equal(of_second.id, of_first.id);
    /* Behind the last block the step is free. */
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_export(pool, second + 2 * UNIT, &of_second));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_growing, tear_down_growing)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_first_step_is_the_need),
        TEST(steps_follow_what_is_held),
        TEST(the_number_of_steps_is_logarithmic),
        TEST(little_more_is_held_than_is_in_use),
        TEST(scattered_memory_makes_the_wish_small),
        TEST(a_large_request_takes_thirty_two_steps),
        TEST(the_users_cap_is_one_of_steps),
        TEST(a_cap_below_a_unit_is_a_unit),
        TEST(no_step_is_larger_than_the_largest_allocation),
        TEST(the_initial_size_is_had_in_few_steps),
        TEST(each_gap_is_a_step),
        TEST(a_gap_takes_one_call),
        TEST(near_the_limit_steps_are_small_again),
        TEST(a_limit_is_used_to_the_last_unit),
        TEST(at_the_limit_free_steps_move),
        TEST(a_refused_wish_halves_down_to_the_need),
        TEST(a_refusal_is_remembered),
        TEST(all_that_the_device_has_is_had),
        TEST(all_there_is_may_be_the_initial_size),
        TEST(a_need_is_had_in_pieces_if_not_at_once),
        TEST(when_the_vendor_refuses_nothing_stays_mapped_in_vain),
        TEST(each_map_may_fail),
        TEST(a_large_step_that_the_vendor_keeps_is_used_again),
        TEST(each_host_allocation_may_fail),
        TEST(the_highest_steps_go_first_and_as_a_whole),
        TEST(a_block_holds_its_step),
        TEST(a_step_that_is_too_large_is_passed_by),
        TEST(above_a_threshold_all_but_a_spare_goes_back),
        TEST(a_threshold_is_of_bytes),
        TEST(a_function_that_is_told_grows_the_pool_by_its_need),
        TEST(a_large_step_is_exported_as_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
