/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_creeping_sizes: what a pool of static pools holds while each request is a little larger than the one before: what
 * goes back before the pool grows, what comes in its place, and small blocks that last and stay out of the way.
 */
#include "harness/host_memory_faults.h"
#include "pool_fixture.h"

static int set_up_with_1_mib(void **state)
{
    begin_fixture(true);
    options.initial_bytes = MIB;
    return 0;
}

static size_t footprint(void)
{
    size_t footprint_bytes = stats_of(pool).footprint_bytes;
    assert_int_equal(footprint_bytes, backend.held_bytes);
    return footprint_bytes;
}

static size_t piece_count(void)
{
    return stats_of(pool).static_pool_count;
}

static void *piece_of(const void *address)
{
    return found_at(address).static_pool_base;
}

static bool is_out(const void *base)
{
    for (size_t i = 0; i < backend.piece_count; i++) {
        if (backend.pieces[i].address == (uintptr_t)base) return true;
    }
    return false;
}

/* --- what goes back, and what comes --------------------------------------------------------------- */

static void what_is_wholly_free_goes_back_before_growth(void **state)
{
    create();
    void *first = alloc(MIB), *second = alloc(MIB + 4 * KIB);
    assert_int_equal(piece_count(), 2);
    free_one(first);
    free_one(second);
    unsigned release_count = backend.release_count;
    void *third = alloc(3 * MIB);
    assert_int_equal(backend.release_count, release_count + 2);
    assert_int_equal(piece_count(), 1);
    assert_int_equal(footprint(), 3 * MIB);
    free_one(third);
}

/* Up to the next quarter of a power of two. */
static void what_takes_the_place_has_room_for_more(void **state)
{
    create();
    free_one(alloc(MIB));
    free_one(alloc(MIB + 4 * KIB));
    assert_int_equal(footprint(), 1280 * KIB);
    unsigned acquire_count = backend.acquire_count;
    free_one(alloc(1280 * KIB));
    assert_int_equal(backend.acquire_count, acquire_count);
    free_one(alloc(1281 * KIB));
    assert_int_equal(footprint(), 1536 * KIB);
    free_one(alloc(100 * MIB + KIB));
    assert_int_equal(footprint(), 112 * MIB);
}

/* Live memory beside it keeps nothing else. */
static void what_is_partly_live_stays(void **state)
{
    create();
    void *kept = alloc(4 * KIB), *large = alloc(2 * MIB);
    void *base = piece_of(kept);
    free_one(large);
    free_one(alloc(3 * MIB));
    assert_int_equal(piece_count(), 2);
    assert_true(is_out(base));
    free_one(kept);
}

static void what_could_not_help_stays(void **state)
{
    options.limit_bytes = 8 * MIB;
    create();
    void *kept = alloc(MIB);
    free_one(alloc(MIB));
    assert_int_equal(piece_count(), 2);
    expect_refused(TARN_STATUS_OVER_LIMIT, 7 * MIB + 4 * KIB);
    assert_int_equal(backend.release_count, 0);
    free_one(alloc(2 * MIB));
    assert_int_equal(backend.release_count, 1);
    assert_int_equal(piece_count(), 2);
    free_one(alloc(7 * MIB));
    assert_int_equal(backend.release_count, 2);
    assert_int_equal(footprint(), 8 * MIB);
    free_one(kept);
}

/* --- what waits for work ------------------------------------------------------------------------------ */

static void what_waits_for_work_goes_only_beyond_the_bound(void **state)
{
    create();
    free_on(alloc_on(MIB, A), A);
    void *second = alloc_on(MIB + 4 * KIB, B);
    assert_int_equal(piece_count(), 2);
    void *base = piece_of(second);
    free_on(second, A);
    unsigned release_count = backend.release_count;
    free_on(alloc_on(MIB + 64 * KIB, B), B);
    assert_int_equal(backend.release_count, release_count + 1);
    assert_false(is_out(base));
    assert_int_equal(piece_count(), 2);
}

/* --- what may not go ---------------------------------------------------------------------------------- */

static void what_is_held_stays(void **state)
{
    create();
    void *first = alloc(MIB);
    tarn_allocation found = found_at(first);
    free_one(first);
    expect_ok(tarn_static_pool_hold(pool, found.static_pool_id));
    free_one(alloc(2 * MIB));
    free_one(alloc(3 * MIB));
    assert_true(is_out(found.static_pool_base));
    assert_int_equal(piece_count(), 2);
    expect_ok(tarn_static_pool_unhold(pool, found.static_pool_id));
    free_one(alloc(5 * MIB));
    assert_false(is_out(found.static_pool_base));
    assert_int_equal(piece_count(), 1);
}

/* From a capture on what is free waits for work, so some goes only beyond the bound. */
static void nothing_goes_during_a_capture(void **state)
{
    tarn_capture capture = 0;
    create();
    free_one(alloc(MIB));
    expect_ok(tarn_capture_begin(pool, C, &capture));
    free_one(alloc(2 * MIB));
    free_one(alloc(2 * MIB + 64 * KIB));
    assert_int_equal(backend.release_count, 0);
    assert_int_equal(piece_count(), 3);
    expect_ok(tarn_capture_end(pool, capture));
    expect_ok(tarn_capture_release(pool, capture, NULL, 0));
    free_one(alloc(4 * MIB + 64 * KIB));
    assert_int_not_equal(backend.release_count, 0);
    assert_true(footprint() <= 2 * (4 * MIB + 64 * KIB) + 2 * MIB);
}

static void what_the_vendor_refuses_to_take_stays_counted(void **state)
{
    create();
    free_one(alloc(MIB));
    backend.fail_release = true;
    void *second = alloc(2 * MIB);
    assert_int_equal(stats_of(pool).unreleased_bytes, MIB);
    assert_int_equal(piece_count(), 1);
    assert_int_equal(footprint(), 3 * MIB);
    backend.fail_release = false;
    free_one(second);
    free_one(alloc(4 * MIB));
    assert_int_equal(stats_of(pool).unreleased_bytes, 0);
    assert_int_equal(footprint(), 4 * MIB);
}

/* --- who is told -------------------------------------------------------------------------------------- */

static unsigned told_count;

static void note_destroyed(void *user, void *base, size_t size_bytes, uint64_t id)
{
    assert_true(is_out(base));
    assert_int_equal(size_bytes, MIB);
    told_count++;
}

static void observers_are_told_before(void **state)
{
    tarn_observer observer;
    told_count = 0;
    create();
    expect_ok(tarn_pool_observe(pool, NULL, note_destroyed, NULL, &observer));
    free_one(alloc(MIB));
    void *second = alloc(2 * MIB);
    assert_int_equal(told_count, 1);
    assert_int_equal(backend.release_count, 1);
    expect_ok(tarn_pool_unobserve(pool, observer));
    free_one(second);
}

/* --- arenas ------------------------------------------------------------------------------------------- */

static void arenas_stay_at_work_unless_a_piece_can_go(void **state)
{
    options.initial_bytes = 16 * MIB;
    create();
    warm_up();
    void *kept = alloc(10 * MIB);
    expect_active(1);
    uint32_t loan_count = own_arena()->loan_count;
    void *large = alloc(20 * MIB);
    expect_active(1);
    assert_int_equal(own_arena()->loan_count, loan_count + 1);
    assert_int_equal(piece_count(), 2);
    void *base = piece_of(large);
    free_one(large);
    gather();
    want_arenas();
    void *small = alloc(4 * KIB);
    expect_active(1);
    large = alloc(40 * MIB);
    assert_false(is_out(base));
    assert_int_equal(piece_count(), 2);
    expect_ok(tarn_pool_check(pool));
    free_one(kept);
    free_one(small);
    free_one(large);
}

/* --- small blocks ------------------------------------------------------------------------------------- */

/* Two pieces of live blocks: the older has 24 MiB free, the newer 8 KiB. */
static void make_two(void **older_out, void **newer_out)
{
    *older_out = alloc(40 * MIB);
    void *newer = alloc(40 * MIB);
    free_one(newer);
    *newer_out = alloc(40 * MIB - 8 * KIB);
    assert_ptr_equal(*newer_out, newer);
    assert_int_equal(piece_count(), 2);
    assert_int_equal(footprint(), 104 * MIB);
}

static void a_small_block_goes_to_the_oldest_piece_with_room(void **state)
{
    void *older, *newer;
    make_two(&older, &newer);
    void *small = alloc(4 * KIB), *base = piece_of(newer);
    assert_ptr_equal(piece_of(small), piece_of(older));
    free_one(newer);
    void *large = alloc(50 * MIB);
    assert_false(is_out(base));
    assert_int_equal(piece_count(), 2);
    free_one(small);
    free_one(older);
    free_one(large);
}

static void a_small_block_goes_to_the_newer_one_when_the_older_is_full(void **state)
{
    void *older, *newer;
    make_two(&older, &newer);
    void *filler = alloc(24 * MIB), *small = alloc(4 * KIB);
    assert_ptr_equal(piece_of(filler), piece_of(older));
    assert_ptr_equal(piece_of(small), piece_of(newer));
    /* Which is an older one from now on, until the pool grows. */
    free_one(filler);
    void *next = alloc(4 * KIB);
    assert_ptr_equal(piece_of(next), piece_of(newer));
    void *large = alloc(60 * MIB);
    free_one(next);
    next = alloc(4 * KIB);
    assert_ptr_equal(piece_of(next), piece_of(older));
    free_one(next);
    free_one(small);
    free_one(older);
    free_one(newer);
    free_one(large);
}

/* The one that is left is newer than the one that went. */
static void one_piece_alone_serves_small_blocks(void **state)
{
    void *older, *newer;
    make_two(&older, &newer);
    free_one(older);
    void *large = alloc(80 * MIB);
    assert_int_equal(piece_count(), 2);
    free_one(large);
    trim(0);
    assert_int_equal(piece_count(), 1);
    unsigned acquire_count = backend.acquire_count;
    void *small = alloc(4 * KIB);
    assert_ptr_equal(piece_of(small), piece_of(newer));
    assert_int_equal(backend.acquire_count, acquire_count);
    expect_ok(tarn_pool_check(pool));
    free_one(small);
    free_one(newer);
}

/* --- host memory ---------------------------------------------------------------------------------------- */

/* The n-th allocation fails while the second piece comes. Whether it came to that. */
static bool second_piece_fails_at(unsigned n)
{
    void *older, *newer;
    begin_fixture(true);
    options.initial_bytes = 64 * MIB;
    create();
    older = alloc(40 * MIB);
    size_t footprint_bytes = footprint();
    host_memory_faults_begin(n);
    tarn_status status = tarn_pool_alloc(pool, 40 * MIB, &newer);
    bool has_failed = host_memory_faults_end();
    if (status == TARN_STATUS_OK) {
        free_one(newer);
    } else {
        assert_int_equal(status, TARN_STATUS_OUT_OF_HOST_MEMORY);
        assert_int_equal(footprint(), footprint_bytes);
        assert_int_equal(piece_count(), 1);
    }
    expect_ok(tarn_pool_check(pool));
    free_one(alloc(4 * KIB));
    newer = alloc(40 * MIB - 8 * KIB);
    if (piece_count() == 1) fail_msg("the first piece has 24 MiB free");
    free_one(newer);
    newer = alloc(footprint() - footprint_bytes - 8 * KIB);
    void *small = alloc(4 * KIB);
    assert_ptr_equal(piece_of(small), piece_of(older));
    tear_down(NULL);
    return has_failed;
}

static void without_host_memory_for_a_second_piece_all_is_as_before(void **state)
{
    unsigned n = 1;
    while (second_piece_fails_at(n))
        n++;
    assert_true(n > 2);
}

/* --- sizes that creep ----------------------------------------------------------------------------------- */

enum {
    STEPS = 300
};

/* One array is made anew, 1 % larger each time, and a block of 2 KiB stays each time. frees_first: the array's contents are
 * not copied. */
static void creep(bool frees_first)
{
    size_t size_bytes = 4 * MIB, first_bytes;
    void *array = alloc(size_bytes), *blocks[STEPS];
    first_bytes = footprint();
    for (int step = 0; step < STEPS; step++) {
        size_bytes += size_bytes / 100;
        if (frees_first) free_one(array);
        void *larger = alloc(size_bytes);
        if (!frees_first) free_one(array);
        array = larger;
        blocks[step] = alloc(2 * KIB);
        double used_bytes = (double)stats_of(pool).used_bytes_max;
        if (used_bytes < 32e6) continue;
        if ((double)footprint() > 2.1 * used_bytes + (double)first_bytes)
            fail_msg("step %d: %zu bytes are held, of at most %.0f in use", step, footprint(),
                     used_bytes);
    }
    assert_true(size_bytes > 64 * MIB);
    for (int step = 0; step < STEPS; step++)
        free_one(blocks[step]);
    free_one(array);
}

static void an_array_made_anew_holds_about_twice_what_it_used(void **state)
{
    create();
    creep(false);
}

static void an_array_freed_and_made_anew_holds_about_twice_what_it_used(void **state)
{
    create();
    creep(true);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up_with_1_mib, tear_down_empty)
#define TEST_OF_64_MIB(test) \
    cmocka_unit_test_setup_teardown(test, set_up_with_64_mib, tear_down_empty)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_wholly_free_goes_back_before_growth),
        TEST(what_takes_the_place_has_room_for_more),
        TEST(what_is_partly_live_stays),
        TEST(what_could_not_help_stays),
        TEST(what_waits_for_work_goes_only_beyond_the_bound),
        TEST(what_is_held_stays),
        TEST(nothing_goes_during_a_capture),
        TEST(what_the_vendor_refuses_to_take_stays_counted),
        TEST(observers_are_told_before),
        TEST(arenas_stay_at_work_unless_a_piece_can_go),
        TEST_OF_64_MIB(a_small_block_goes_to_the_oldest_piece_with_room),
        TEST_OF_64_MIB(a_small_block_goes_to_the_newer_one_when_the_older_is_full),
        TEST_OF_64_MIB(one_piece_alone_serves_small_blocks),
        cmocka_unit_test(without_host_memory_for_a_second_piece_all_is_as_before),
        TEST(an_array_made_anew_holds_about_twice_what_it_used),
        TEST(an_array_freed_and_made_anew_holds_about_twice_what_it_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
