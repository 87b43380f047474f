/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_step_range: sizes of steps, plans, steps that come and go, and faults that the check finds. */
#include "core/parts/step_range.h"

#include "harness/claims.h"
#include "harness/host_memory_faults.h"

enum {
    CHUNK_LOG2 = 10,
    STEP_CHUNKS = 64,
    STEP_COUNT = 16
};

#define STEP_BYTES ((size_t)STEP_CHUNKS << CHUNK_LOG2)
#define BASE       ((uintptr_t)1 << 40)
#define MIB        ((size_t)1 << 20)
#define GIB        ((size_t)1 << 30)

struct fixture {
    struct tn_region_index index;
    struct tn_step_range *range;
};

static int set_up(void **state)
{
    static struct fixture fixture;
    host_memory_faults_begin(0);
    assert_true(tn_region_index_init(&fixture.index, TARN_FIT_BEST));
    fixture.range = tn_step_range_create((void *)(BASE + 4096), (STEP_COUNT + 1) * STEP_BYTES,
                                         STEP_BYTES, STEP_COUNT, CHUNK_LOG2);
    assert_non_null(fixture.range);
    struct tn_static_pool *whole = fixture.range->static_pool;
    assert_true(tn_region_index_reserve_span(&fixture.index, 0, whole->chunk_count));
    whole->head = tn_region_index_add_void_span(&fixture.index, 0, whole->chunk_count);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    tn_static_pool_destroy(fixture->range->static_pool);
    tn_step_range_destroy(fixture->range);
    tn_region_index_fini(&fixture->index);
    assert_int_equal(host_memory_faults_outstanding(), 0);
    host_memory_faults_end();
    return 0;
}

static void expect_sound(const struct fixture *fixture)
{
    const struct tn_static_pool *whole = fixture->range->static_pool;
    const char *fault = tn_region_index_check(&fixture->index);
    if (!fault)
        fault = tn_region_index_check_span(&fixture->index, whole->head, 0, whole->chunk_count);
    if (!fault) fault = tn_step_range_check(fixture->range, &fixture->index);
    if (fault) fail_msg("%s", fault);
}

/* Maps `count` steps from `first` on; returns the free region. */
static uint32_t map(struct fixture *fixture, uint32_t first, uint32_t count)
{
    uint32_t region = TN_REGION_NONE;
    for (uint32_t step = first; step < first + count; step++) {
        assert_true(tn_step_range_take(fixture->range, &fixture->index, step));
        expect_sound(fixture);
        region = tn_step_range_arrive(fixture->range, &fixture->index, step);
        expect_sound(fixture);
    }
    return region;
}

/* Makes chunks of a free region live, from its `lead`-th on. */
static uint32_t carve(struct fixture *fixture, uint32_t region, uint32_t lead, uint32_t chunk_count)
{
    assert_true(tn_region_index_reserve(&fixture->index));
    return tn_region_index_carve(&fixture->index, region, lead, chunk_count, 0);
}

static void expect_plan(struct fixture *fixture, uint32_t chunk_count, size_t alignment_bytes,
                        uint32_t first_chunk, uint32_t missing_count)
{
    struct tn_step_plan plan;
    assert_true(tn_step_range_plan(fixture->range, &fixture->index, chunk_count, alignment_bytes, 0,
                                   &plan));
    assert_int_equal(plan.first_chunk, first_chunk);
    assert_int_equal(plan.missing_count, missing_count);
    assert_int_equal(plan.chunk_count, chunk_count);
}

static void expect_no_plan(struct fixture *fixture, uint32_t chunk_count, size_t alignment_bytes)
{
    struct tn_step_plan plan;
    assert_false(tn_step_range_plan(fixture->range, &fixture->index, chunk_count, alignment_bytes,
                                    0, &plan));
}

/* --- sizes -------------------------------------------------------------------------------------- */

static void steps_are_by_device_and_limit_within_bounds(void **state)
{
    assert_int_equal(tn_step_bytes_for(141 * GIB, SIZE_MAX, 2 * MIB), 64 * MIB);
    assert_int_equal(tn_step_bytes_for(SIZE_MAX, SIZE_MAX, 2 * MIB), 64 * MIB);
    assert_int_equal(tn_step_bytes_for(32 * GIB, SIZE_MAX, 2 * MIB), 64 * MIB);
    assert_int_equal(tn_step_bytes_for(32 * GIB - 1, SIZE_MAX, 2 * MIB), 32 * MIB);
    assert_int_equal(tn_step_bytes_for(GIB, SIZE_MAX, 4096), 2 * MIB);
    assert_int_equal(tn_step_bytes_for(0, SIZE_MAX, 4096), 2 * MIB);
    assert_int_equal(tn_step_bytes_for(141 * GIB, 32 * GIB, 2 * MIB), 64 * MIB);
    assert_int_equal(tn_step_bytes_for(141 * GIB, GIB, 2 * MIB), 4 * MIB);
    assert_int_equal(tn_step_bytes_for(141 * GIB, MIB, 4096), MIB);
    assert_int_equal(tn_step_bytes_for(141 * GIB, MIB, 2 * MIB), 2 * MIB);
    assert_int_equal(tn_step_bytes_for(141 * GIB, SIZE_MAX, 128 * MIB), 128 * MIB);
}

/* What whole steps leave of a limit is lost to the pool. */
static void whole_steps_fill_a_limit(void **state)
{
    static const size_t limits[] = { 154000000,    154 * MIB,        GIB - 1,
                                     GIB + 1,      10 * GIB + MIB,   100 * GIB - 3 * MIB,
                                     3 * MIB + 17, 64 * GIB / 3 * 2, MIB + 1 };
    static const size_t floors[] = { 4096, 64 * 1024, 2 * MIB };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        for (size_t k = 0; k < sizeof floors / sizeof *floors; k++) {
            size_t limit = limits[i], step = tn_step_bytes_for(141 * GIB, limit, floors[k]);
            if (step > limit) continue; /* refused by the pool */
            assert_int_equal(step & (step - 1), 0);
            assert_true(limit % step < floors[k] || limit % step <= limit / 1000);
            assert_in_range(limit / step, 1, 2048);
        }
    }
}

static void a_range_begins_at_a_whole_step(void **state)
{
    const struct fixture *fixture = *state;
    assert_int_equal((uintptr_t)tn_step_address(fixture->range, 0), BASE + STEP_BYTES);
    assert_int_equal((uintptr_t)tn_step_address(fixture->range, 3), BASE + 4 * STEP_BYTES);
    assert_int_equal(tn_step_first_chunk(fixture->range, 3), 3 * STEP_CHUNKS);
    assert_int_equal(tn_step_of_chunk(fixture->range, 3 * STEP_CHUNKS - 1), 2);
    expect_sound(fixture);
}

/* --- plans -------------------------------------------------------------------------------------- */

static void an_empty_range_is_filled_from_its_beginning(void **state)
{
    struct fixture *fixture = *state;
    expect_plan(fixture, 1, 1, 0, 1);
    expect_plan(fixture, STEP_CHUNKS, 1, 0, 1);
    expect_plan(fixture, STEP_CHUNKS + 1, 1, 0, 2);
    expect_plan(fixture, STEP_COUNT * STEP_CHUNKS, 1, 0, STEP_COUNT);
    expect_no_plan(fixture, STEP_COUNT * STEP_CHUNKS + 1, 1);
}

static void free_chunks_before_and_behind_a_void_help(void **state)
{
    struct fixture *fixture = *state;
    uint32_t region = map(fixture, 2, 2);
    carve(fixture, region, STEP_CHUNKS / 2, 1); /* chunk 160: free are 32 before it, 95 behind */
    expect_plan(fixture, 100, 1, 161, 1);
    expect_plan(fixture, 159, 1, 161, 1);
    expect_plan(fixture, 160, 1, 0, 2);
    map(fixture, 6, 1);
    /* From behind the live chunk over the steps that are missing to the one that is there. */
    expect_plan(fixture, 4 * STEP_CHUNKS, 1, 161, 2);
}

static void what_is_live_or_in_transit_is_in_the_way(void **state)
{
    struct fixture *fixture = *state;
    carve(fixture, map(fixture, 4, 1), 0, 1);
    expect_plan(fixture, 4 * STEP_CHUNKS, 1, 0, 4);
    expect_plan(fixture, 5 * STEP_CHUNKS, 1, 4 * STEP_CHUNKS + 1, 5);
    assert_true(tn_step_range_take(fixture->range, &fixture->index, 1));
    expect_plan(fixture, 3 * STEP_CHUNKS, 1, 4 * STEP_CHUNKS + 1, 3);
    tn_step_range_refuse(fixture->range, 1);
    expect_sound(fixture);
    expect_plan(fixture, 2 * STEP_CHUNKS, 1, 2 * STEP_CHUNKS, 2);
}

static void a_place_is_as_aligned_as_asked_for(void **state)
{
    struct fixture *fixture = *state;
    /* The first step begins at one step past a multiple of all these. */
    expect_plan(fixture, 1, 2 * STEP_BYTES, STEP_CHUNKS, 1);
    expect_plan(fixture, 1, 4 * STEP_BYTES, 3 * STEP_CHUNKS, 1);
    expect_no_plan(fixture, 10 * STEP_CHUNKS, 16 * STEP_BYTES);
    carve(fixture, map(fixture, 1, 1), 0, 1);
    expect_plan(fixture, 2 * STEP_CHUNKS, STEP_BYTES / 2, STEP_CHUNKS + STEP_CHUNKS / 2, 2);
}

/* --- steps that go ------------------------------------------------------------------------------ */

static void the_highest_free_steps_are_taken_first(void **state)
{
    struct fixture *fixture = *state;
    struct tn_step_range *range = fixture->range;
    carve(fixture, map(fixture, 0, 8), 3 * STEP_CHUNKS + 1, STEP_CHUNKS);
    assert_int_equal(tn_step_range_count_free(range, &fixture->index, 0), 6);
    assert_true(tn_step_range_has_free(range, &fixture->index, 0, 5));
    assert_false(tn_step_range_has_free(range, &fixture->index, 0, 6));
    static const uint32_t expected[] = { 7, 6, 5, 2 };
    uint32_t step = tn_step_range_take_free(range, &fixture->index, 0, 4);
    expect_sound(fixture);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(step, expected[i]);
        uint32_t next = range->steps[step].next;
        tn_step_range_leave(range, &fixture->index, step);
        expect_sound(fixture);
        step = next;
    }
    assert_int_equal(step, TN_STEP_NONE);
    assert_int_equal(range->mapped_count, 4);
    assert_int_equal(tn_step_range_count_free(range, &fixture->index, 0), 2);
}

/* --- check -------------------------------------------------------------------------------------- */

static void expect_fault(const struct fixture *fixture, const char *expected)
{
    const char *fault = tn_step_range_check(fixture->range, &fixture->index);
    if (!fault) fail_msg("not found: %s", expected);
    assert_string_equal(fault, expected);
}

static void faults_are_found(void **state)
{
    struct fixture *fixture = *state;
    struct tn_step_range *range = fixture->range;
    map(fixture, 0, 2);
    assert_true(tn_step_range_take(range, &fixture->index, 5));
    range->mapped_count++;
    expect_fault(fixture, "the count of mapped steps is wrong");
    range->mapped_count--;
    range->steps[0].state = TN_STEP_STATE_UNMAPPED;
    range->mapped_count--;
    expect_fault(fixture, "a step that is not mapped is not a void");
    range->steps[0].state = TN_STEP_STATE_MAPPED;
    range->steps[3].state = TN_STEP_STATE_MAPPED;
    range->mapped_count += 2;
    expect_fault(fixture, "a mapped step is void");
    range->mapped_count--;
    range->steps[3].state = TN_STEP_STATE_REFUSED;
    expect_fault(fixture, "a step that is not mapped is in the wrong kind of void");
    range->steps[3].state = TN_STEP_STATE_UNMAPPED;
    range->steps[5].region++;
    expect_fault(fixture, "a step's link to its void is wrong");
    range->steps[5].region--;
    struct tn_region *taken = &fixture->index.regions[range->steps[5].region];
    taken->chunk_count--;
    expect_fault(fixture, "a void is not whole steps");
    taken->chunk_count++;
    expect_sound(fixture);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_are_by_device_and_limit_within_bounds),
        cmocka_unit_test(whole_steps_fill_a_limit),
        TEST(a_range_begins_at_a_whole_step),
        TEST(an_empty_range_is_filled_from_its_beginning),
        TEST(free_chunks_before_and_behind_a_void_help),
        TEST(what_is_live_or_in_transit_is_in_the_way),
        TEST(a_place_is_as_aligned_as_asked_for),
        TEST(the_highest_free_steps_are_taken_first),
        TEST(faults_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
