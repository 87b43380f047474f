/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_step_range: sizes of units, plans, steps of one unit and of several that come and go, and faults that the check finds. */
#include "core/parts/step_range.h"

#include "base/host_memory.h"
#include "harness/claims.h"
#include "harness/host_memory_faults.h"

enum {
    CHUNK_LOG2 = 10,
    UNIT_CHUNKS = 64,
    UNIT_COUNT = 16
};

#define UNIT_BYTES ((size_t)UNIT_CHUNKS << CHUNK_LOG2)
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
    fixture.range = tn_step_range_create((void *)(BASE + 4096), (UNIT_COUNT + 1) * UNIT_BYTES,
                                         UNIT_BYTES, UNIT_COUNT, UNIT_COUNT, CHUNK_LOG2);
    assert_non_null(fixture.range);
    struct tn_static_pool *whole = fixture.range->static_pool;
    assert_true(tn_region_index_reserve_span(&fixture.index, 0, whole->piece.chunk_count));
    whole->head = tn_region_index_add_void_span(&fixture.index, 0, whole->piece.chunk_count);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    for (uint32_t unit = 0; unit < UNIT_COUNT; unit++) {
        struct tn_step *step = fixture->range->unit_steps[unit];
        if (step && tn_step_end_unit(step) == unit + 1) tn_host_memory_free(step);
    }
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
        fault =
            tn_region_index_check_span(&fixture->index, whole->head, 0, whole->piece.chunk_count);
    if (!fault) fault = tn_step_range_check(fixture->range, &fixture->index);
    if (fault) fail_msg("%s", fault);
}

static struct tn_step *take(struct fixture *fixture, uint32_t first_unit, uint32_t unit_count)
{
    struct tn_step *step =
        tn_step_range_take(fixture->range, &fixture->index, first_unit, unit_count);
    assert_non_null(step);
    expect_sound(fixture);
    return step;
}

/* Maps a step of several units; returns the free region. */
static uint32_t map_step(struct fixture *fixture, uint32_t first_unit, uint32_t unit_count)
{
    struct tn_step *step = take(fixture, first_unit, unit_count);
    uint32_t region = tn_step_range_arrive(&fixture->index, step);
    step->piece.state = TN_PIECE_STATE_JOINED;
    expect_sound(fixture);
    return region;
}

/* The step of units that were taken out of the pool goes. */
static void leave(struct fixture *fixture, struct tn_step *step)
{
    tn_step_range_leave(fixture->range, &fixture->index, step);
    tn_host_memory_free(step);
    expect_sound(fixture);
}

static void take_free(struct fixture *fixture, struct tn_free_step_walk *walk, struct tn_step *step)
{
    assert_true(tn_step_range_take_free(fixture->range, &fixture->index, walk, step));
    step->piece.state = TN_PIECE_STATE_LEAVING;
    expect_sound(fixture);
}

/* Expects so many bytes of wholly free steps, and that has_free knows them. */
static void expect_free(struct fixture *fixture, bool has_holds, size_t expected_bytes)
{
    struct tn_free_step_walk walk = tn_step_range_begin_walk(fixture->range, 0);
    const struct tn_step *step;
    size_t bytes = 0;
    unsigned count = 0;
    for (; (step = tn_step_range_walk(fixture->range, &fixture->index, &walk)) != NULL; count++)
        bytes += step->piece.size_bytes;
    assert_int_equal(bytes, expected_bytes);
    bool has_more =
        tn_step_range_has_free(fixture->range, &fixture->index, 0, has_holds, expected_bytes - 1);
    assert_int_equal(has_more, count > 1);
    assert_false(
        tn_step_range_has_free(fixture->range, &fixture->index, 0, has_holds, expected_bytes));
}

/* Maps `count` units from `first` on, each by a step of its own; returns the free region. */
static uint32_t map(struct fixture *fixture, uint32_t first, uint32_t count)
{
    uint32_t region = TN_REGION_NONE;
    for (uint32_t unit = first; unit < first + count; unit++)
        region = map_step(fixture, unit, 1);
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

static void units_are_of_2_mib_but_for_a_small_limit_and_a_large_floor(void **state)
{
    assert_int_equal(tn_unit_bytes_for(141 * GIB, SIZE_MAX, 2 * MIB), 2 * MIB);
    assert_int_equal(tn_unit_bytes_for(SIZE_MAX, SIZE_MAX, 4096), 2 * MIB);
    assert_int_equal(tn_unit_bytes_for(0, SIZE_MAX, 4096), 2 * MIB);
    assert_int_equal(tn_unit_bytes_for(141 * GIB, 32 * GIB, 4096), 2 * MIB);
    assert_int_equal(tn_unit_bytes_for(141 * GIB, 2 * MIB - 1, 4096), 4096);
    assert_int_equal(tn_unit_bytes_for(141 * GIB, MIB, 4096), MIB);
    assert_int_equal(tn_unit_bytes_for(141 * GIB, MIB, 2 * MIB), 2 * MIB);
    assert_int_equal(tn_unit_bytes_for(141 * GIB, SIZE_MAX, 128 * MIB), 128 * MIB);
}

/* What whole units leave of a limit is lost to the pool. */
static void whole_units_fill_a_limit(void **state)
{
    static const size_t limits[] = { 154000000,    154 * MIB,        GIB - 1,
                                     GIB + 1,      10 * GIB + MIB,   100 * GIB - 3 * MIB,
                                     3 * MIB + 17, 64 * GIB / 3 * 2, MIB + 1 };
    static const size_t floors[] = { 4096, 64 * 1024, 2 * MIB };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        for (size_t k = 0; k < sizeof floors / sizeof *floors; k++) {
            size_t limit = limits[i], unit = tn_unit_bytes_for(141 * GIB, limit, floors[k]);
            if (unit > limit) continue; /* refused by the pool */
            assert_int_equal(unit & (unit - 1), 0);
            assert_in_range(unit, floors[k], 2 * MIB);
            assert_true(limit % unit < floors[k] || limit % unit <= limit / 1000);
            if (unit < 2 * MIB) assert_in_range(limit / unit, 1, 2048);
        }
    }
}

static void a_range_begins_at_a_whole_unit(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(fixture->range->static_pool->first_address, BASE + UNIT_BYTES);
    assert_int_equal(tn_unit_first_chunk(fixture->range, 3), 3 * UNIT_CHUNKS);
    assert_int_equal(tn_unit_of_chunk(fixture->range, 3 * UNIT_CHUNKS - 1), 2);
    const struct tn_step *step = take(fixture, 3, 2);
    assert_int_equal((uintptr_t)step->piece.base, BASE + 4 * UNIT_BYTES);
    assert_int_equal(step->piece.size_bytes, 2 * UNIT_BYTES);
    assert_int_equal(step->piece.chunk_count, 2 * UNIT_CHUNKS);
}

/* The host gives the pages that are used. */
static void a_unit_takes_one_pointer(void **state)
{
    const struct fixture *fixture = *state;
    assert_int_equal(tn_step_range_metadata_bytes(fixture->range),
                     sizeof *fixture->range + sizeof *fixture->range->static_pool +
                         UNIT_COUNT * sizeof(void *));
}

/* --- plans -------------------------------------------------------------------------------------- */

static void an_empty_range_is_filled_from_its_beginning(void **state)
{
    struct fixture *fixture = *state;
    expect_plan(fixture, 1, 1, 0, 1);
    expect_plan(fixture, UNIT_CHUNKS, 1, 0, 1);
    expect_plan(fixture, UNIT_CHUNKS + 1, 1, 0, 2);
    expect_plan(fixture, UNIT_COUNT * UNIT_CHUNKS, 1, 0, UNIT_COUNT);
    expect_no_plan(fixture, UNIT_COUNT * UNIT_CHUNKS + 1, 1);
}

static void free_chunks_before_and_behind_a_void_help(void **state)
{
    struct fixture *fixture = *state;
    uint32_t region = map(fixture, 2, 2);
    carve(fixture, region, UNIT_CHUNKS / 2, 1); /* chunk 160: free are 32 before it, 95 behind */
    expect_plan(fixture, 100, 1, 161, 1);
    expect_plan(fixture, 159, 1, 161, 1);
    expect_plan(fixture, 160, 1, 0, 2);
    map(fixture, 6, 1);
    /* From behind the live chunk over the steps that are missing to the one that is there. */
    expect_plan(fixture, 4 * UNIT_CHUNKS, 1, 161, 2);
}

static void what_is_live_or_in_transit_is_in_the_way(void **state)
{
    struct fixture *fixture = *state;
    carve(fixture, map(fixture, 4, 1), 0, 1);
    expect_plan(fixture, 4 * UNIT_CHUNKS, 1, 0, 4);
    expect_plan(fixture, 5 * UNIT_CHUNKS, 1, 4 * UNIT_CHUNKS + 1, 5);
    take(fixture, 1, 1);
    expect_plan(fixture, 3 * UNIT_CHUNKS, 1, 4 * UNIT_CHUNKS + 1, 3);
    expect_plan(fixture, 2 * UNIT_CHUNKS, 1, 2 * UNIT_CHUNKS, 2);
}

/* In steps of several units, too. */
static void the_units_of_a_place_count_and_not_its_steps(void **state)
{
    struct fixture *fixture = *state;
    carve(fixture, map_step(fixture, 2, 3), UNIT_CHUNKS + 10, 1); /* chunk 202 */
    carve(fixture, map_step(fixture, 8, 1), 0, UNIT_CHUNKS);
    /* The last 117 chunks of the first step, and then a void of three units. */
    expect_plan(fixture, 117, 1, 203, 0);
    expect_plan(fixture, 117 + 3 * UNIT_CHUNKS, 1, 203, 3);
    /* Before it are two units that are missing, and 74 chunks that are not. */
    expect_plan(fixture, 118, 1, UNIT_CHUNKS, 1);
    expect_plan(fixture, UNIT_CHUNKS + 74, 1, UNIT_CHUNKS, 1);
    expect_plan(fixture, UNIT_CHUNKS + 75, 1, 203, 1);
}

static void a_place_is_as_aligned_as_asked_for(void **state)
{
    struct fixture *fixture = *state;
    /* The first step begins at one step past a multiple of all these. */
    expect_plan(fixture, 1, 2 * UNIT_BYTES, UNIT_CHUNKS, 1);
    expect_plan(fixture, 1, 4 * UNIT_BYTES, 3 * UNIT_CHUNKS, 1);
    expect_no_plan(fixture, 10 * UNIT_CHUNKS, 16 * UNIT_BYTES);
    carve(fixture, map(fixture, 1, 1), 0, 1);
    expect_plan(fixture, 2 * UNIT_CHUNKS, UNIT_BYTES / 2, UNIT_CHUNKS + UNIT_CHUNKS / 2, 2);
}

/* Every aligned place counts, also where the alignment skips units. */
static void far_apart_places_are_all_tried(void **state)
{
    struct fixture *fixture = *state;
    /* Aligned to 4 units are the units 3, 7 and 11. */
    map_step(fixture, 8, 3);
    expect_plan(fixture, 4 * UNIT_CHUNKS, 4 * UNIT_BYTES, 7 * UNIT_CHUNKS, 1);
    expect_plan(fixture, UNIT_CHUNKS, 4 * UNIT_BYTES, 3 * UNIT_CHUNKS, 1);
    expect_plan(fixture, 8 * UNIT_CHUNKS, 4 * UNIT_BYTES, 3 * UNIT_CHUNKS, 5);
    carve(fixture, map(fixture, 4, 1), 0, 1);
    expect_plan(fixture, 8 * UNIT_CHUNKS, 4 * UNIT_BYTES, 7 * UNIT_CHUNKS, 5);
}

/* --- steps that come ---------------------------------------------------------------------------- */

static void a_step_may_have_several_units(void **state)
{
    struct fixture *fixture = *state;
    struct tn_step_range *range = fixture->range;
    uint32_t region = map_step(fixture, 1, 5);
    assert_int_equal(fixture->index.regions[region].first_chunk, UNIT_CHUNKS);
    assert_int_equal(fixture->index.regions[region].chunk_count, 5 * UNIT_CHUNKS);
    const struct tn_step *step = range->unit_steps[1];
    assert_int_equal(step->unit_count, 5);
    for (uint32_t unit = 0; unit < UNIT_COUNT; unit++)
        assert_ptr_equal(range->unit_steps[unit], unit >= 1 && unit < 6 ? step : NULL);
    assert_int_equal(tn_step_range_count_gap(range, &fixture->index, 0), 1);
    assert_int_equal(tn_step_range_count_gap(range, &fixture->index, 1), 0);
    assert_int_equal(tn_step_range_count_gap(range, &fixture->index, 7), UNIT_COUNT - 7);
    assert_int_equal(tn_step_range_count_gap(range, &fixture->index, UNIT_COUNT), 0);
}

static void units_of_steps_that_left_are_used_again(void **state)
{
    struct fixture *fixture = *state;
    struct tn_step *first = take(fixture, 0, 2), *second = take(fixture, 4, 1);
    leave(fixture, first);
    assert_null(fixture->range->unit_steps[1]);
    take(fixture, 8, 8);
    leave(fixture, second);
    assert_int_equal(tn_step_range_count_gap(fixture->range, &fixture->index, 0), 8);
    take(fixture, 0, 8);
}

/* --- steps that go ------------------------------------------------------------------------------ */

/* Takes the steps that a walk finds, and expects that they begin at these units. */
static void expect_taken(struct fixture *fixture, const uint32_t *units, unsigned count)
{
    struct tn_step_range *range = fixture->range;
    struct tn_free_step_walk walk = tn_step_range_begin_walk(range, 0);
    for (unsigned i = 0; i < count; i++) {
        struct tn_step *step = tn_step_range_walk(range, &fixture->index, &walk);
        assert_non_null(step);
        assert_int_equal(step->first_unit, units[i]);
        take_free(fixture, &walk, step);
        leave(fixture, step);
        /* A walk does not know a step that has left: it begins anew. */
        walk = tn_step_range_begin_walk(range, 0);
    }
}

static void the_highest_free_steps_are_taken_first(void **state)
{
    struct fixture *fixture = *state;
    carve(fixture, map(fixture, 0, 8), 3 * UNIT_CHUNKS + 1, UNIT_CHUNKS);
    expect_free(fixture, false, 6 * UNIT_BYTES);
    static const uint32_t expected[] = { 7, 6, 5, 2 };
    expect_taken(fixture, expected, 4);
    expect_free(fixture, false, 2 * UNIT_BYTES);
}

static void a_walk_goes_on_behind_taken_steps_and_others(void **state)
{
    struct fixture *fixture = *state;
    struct tn_step_range *range = fixture->range;
    map_step(fixture, 0, 2);
    map_step(fixture, 2, 3);
    map_step(fixture, 5, 1);
    carve(fixture, map_step(fixture, 6, 2), 6 * UNIT_CHUNKS, 1);
    map_step(fixture, 8, 4);
    static const uint32_t expected[] = { 8, 5, 2, 0 };
    struct tn_free_step_walk walk = tn_step_range_begin_walk(range, 0);
    for (unsigned i = 0; i < 4; i++) {
        struct tn_step *step = tn_step_range_walk(range, &fixture->index, &walk);
        assert_non_null(step);
        assert_int_equal(step->first_unit, expected[i]);
        if (i % 2 == 1) take_free(fixture, &walk, step);
    }
    assert_null(tn_step_range_walk(range, &fixture->index, &walk));
    expect_free(fixture, false, 7 * UNIT_BYTES);
}

/* From the lowest up, without those that a place touches, and over steps that the walk has had taken. */
static void a_walk_outside_a_place_goes_up(void **state)
{
    struct fixture *fixture = *state;
    struct tn_step_range *range = fixture->range;
    map_step(fixture, 0, 2);
    carve(fixture, map_step(fixture, 2, 1), 2 * UNIT_CHUNKS, 1);
    map_step(fixture, 3, 2);
    map_step(fixture, 5, 1);
    map_step(fixture, 6, 3);
    map_step(fixture, 9, 1);
    /* The end of one step, and the beginning of another. */
    const struct tn_step_plan place = { .first_chunk = 5 * UNIT_CHUNKS - 1, .chunk_count = 2 };
    static const uint32_t expected[] = { 0, 6, 9 };
    for (unsigned taken = 0; taken < 8; taken++) {
        struct tn_free_step_walk walk = tn_step_range_begin_walk_outside(range, 0, &place);
        struct tn_step *step;
        unsigned count = 0;
        for (unsigned i = 0; i < 3; i++) {
            if (!range->unit_steps[expected[i]]) continue;
            step = tn_step_range_walk(range, &fixture->index, &walk);
            assert_non_null(step);
            assert_int_equal(step->first_unit, expected[i]);
            if ((taken >> i & 1) == 0 || count++ > 0) continue;
            take_free(fixture, &walk, step);
            leave(fixture, step);
            break;
        }
        if (count == 0) assert_null(tn_step_range_walk(range, &fixture->index, &walk));
    }
    expect_free(fixture, false, 3 * UNIT_BYTES); /* of the place */
}

/* A live block at the edge of a step holds all of it. */
static void a_step_goes_as_a_whole(void **state)
{
    struct fixture *fixture = *state;
    map_step(fixture, 0, 4);
    uint32_t free = map_step(fixture, 4, 4);
    carve(fixture, free, 4 * UNIT_CHUNKS - 1, 1); /* in the first step's last chunk */
    expect_free(fixture, false, 4 * UNIT_BYTES);
    map_step(fixture, 8, 1);
    expect_free(fixture, false, 5 * UNIT_BYTES);
    static const uint32_t expected[] = { 8, 4 };
    expect_taken(fixture, expected, 2);
}

static void held_steps_are_passed_by(void **state)
{
    struct fixture *fixture = *state;
    struct tn_step_range *range = fixture->range;
    map_step(fixture, 0, 2);
    map_step(fixture, 2, 3);
    map_step(fixture, 5, 1);
    range->unit_steps[3]->piece.hold_count = 1;
    expect_free(fixture, true, 3 * UNIT_BYTES);
    static const uint32_t expected[] = { 5, 0 };
    expect_taken(fixture, expected, 2);
    struct tn_free_step_walk walk = tn_step_range_begin_walk(range, 0);
    assert_null(tn_step_range_walk(range, &fixture->index, &walk));
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
    struct tn_step *step = take(fixture, 5, 2), *other = range->unit_steps[0];
    range->unit_steps[6] = other;
    expect_fault(fixture, "a unit does not know its step");
    range->unit_steps[6] = step;
    range->unit_steps[7] = step;
    expect_fault(fixture, "a unit has a step that is elsewhere");
    range->unit_steps[7] = NULL;
    step->unit_count = 0;
    expect_fault(fixture, "a step has no units, or such as the range lacks");
    step->unit_count = 2;
    step->region++;
    expect_fault(fixture, "a step's link to its void is wrong");
    step->region--;
    step->piece.state = TN_PIECE_STATE_JOINED;
    expect_fault(fixture, "a step of the pool is void");
    step->piece.state = TN_PIECE_STATE_ARRIVING;
    other->piece.state = TN_PIECE_STATE_LEAVING;
    expect_fault(fixture, "a unit that is not mapped is not a void");
    other->piece.state = TN_PIECE_STATE_JOINED;
    struct tn_region *region = &fixture->index.regions[step->region];
    region->chunk_count--;
    expect_fault(fixture, "a void is not whole units");
    region->chunk_count++;
    expect_sound(fixture);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(units_are_of_2_mib_but_for_a_small_limit_and_a_large_floor),
        TEST(whole_units_fill_a_limit),
        TEST(a_range_begins_at_a_whole_unit),
        TEST(a_unit_takes_one_pointer),
        TEST(an_empty_range_is_filled_from_its_beginning),
        TEST(free_chunks_before_and_behind_a_void_help),
        TEST(what_is_live_or_in_transit_is_in_the_way),
        TEST(the_units_of_a_place_count_and_not_its_steps),
        TEST(a_place_is_as_aligned_as_asked_for),
        TEST(far_apart_places_are_all_tried),
        TEST(a_step_may_have_several_units),
        TEST(units_of_steps_that_left_are_used_again),
        TEST(the_highest_free_steps_are_taken_first),
        TEST(a_walk_goes_on_behind_taken_steps_and_others),
        TEST(a_walk_outside_a_place_goes_up),
        TEST(a_step_goes_as_a_whole),
        TEST(held_steps_are_passed_by),
        TEST(faults_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
