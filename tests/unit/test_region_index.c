/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_region_index: carving, freeing and coalescing around the edges of groups (64 chunks), of spans
 * and of the free set by size; compared with an array that says of each chunk what it is.
 */
#include "core/index/region_index.h"

#include <stdlib.h>

#include "harness/claims.h"
#include "harness/host_memory_faults.h"
#include "harness/random.h"

#define NONE TN_REGION_NONE

enum {
    SPANS_MAX = 8,
    FREE = TN_REGION_STATE_FREE,
    LIVE = TN_REGION_STATE_LIVE,
    VOID = TN_REGION_STATE_VOID
};

struct span {
    uint32_t head, first_chunk, chunk_count;
};

struct fixture {
    struct tn_region_index index;
    struct span spans[SPANS_MAX];
    int span_count;
};

static int setup(void **state)
{
    static struct fixture fixture;
    memset(&fixture, 0, sizeof fixture);
    memset(&fixture.index, 0x5a, sizeof fixture.index);
    host_memory_faults_begin(0);
    assert_true(tn_region_index_init(&fixture.index, TARN_FIT_BEST));
    *state = &fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    tn_region_index_fini(&fixture->index);
    assert_int_equal(host_memory_faults_outstanding(), 0);
    host_memory_faults_end();
    return 0;
}

/* --- steps, each of which leaves a sound index -------------------------------------------------- */

static void expect_sound(const struct fixture *fixture)
{
    const char *fault = tn_region_index_check(&fixture->index);
    if (fault) fail_msg("%s", fault);
    for (int i = 0; i < fixture->span_count; i++) {
        const struct span *span = &fixture->spans[i];
        fault = tn_region_index_check_span(&fixture->index, span->head, span->first_chunk,
                                           span->chunk_count);
        if (fault) fail_msg("span %d: %s", i, fault);
    }
}

static struct fixture *add_span(struct fixture *fixture, uint32_t first_chunk, uint32_t chunk_count)
{
    assert_true(tn_region_index_reserve_span(&fixture->index, first_chunk, chunk_count));
    uint32_t head = tn_region_index_add_span(&fixture->index, first_chunk, chunk_count);
    fixture->spans[fixture->span_count++] = (struct span){ head, first_chunk, chunk_count };
    expect_sound(fixture);
    return fixture;
}

static void remove_span(struct fixture *fixture, int place)
{
    tn_region_index_remove_span(&fixture->index, fixture->spans[place].head);
    fixture->spans[place] = fixture->spans[--fixture->span_count];
    expect_sound(fixture);
}

/* The free region that a chunk lies in. */
static uint32_t free_around(const struct tn_region_index *index, uint32_t chunk)
{
    uint32_t region = 0;
    while (region < index->fresh &&
           (index->regions[region].state != FREE ||
            chunk - index->regions[region].first_chunk >= index->regions[region].chunk_count))
        region++;
    assert_true(region < index->fresh);
    return region;
}

/* Makes chunks live that lie in a region that is free; returns the live region. */
static uint32_t carve_at(struct fixture *fixture, uint32_t first_chunk, uint32_t chunk_count)
{
    struct tn_region_index *index = &fixture->index;
    assert_true(tn_region_index_reserve(index));
    uint32_t region = free_around(index, first_chunk);
    uint32_t lead = first_chunk - index->regions[region].first_chunk;
    uint32_t live = tn_region_index_carve(index, region, lead, chunk_count, 0);
    expect_sound(fixture);
    return live;
}

static void free_at(struct fixture *fixture, uint32_t first_chunk)
{
    struct tn_freed freed;
    if (!tn_region_index_free(&fixture->index, first_chunk, TN_DEPENDENCY_NONE, &freed))
        fail_msg("no live region at %u", first_chunk);
    expect_sound(fixture);
}

static void expect_region(const struct fixture *fixture, uint32_t region, unsigned state,
                          uint32_t first_chunk, uint32_t chunk_count)
{
    const struct tn_region *record = &fixture->index.regions[region];
    assert_int_equal(record->state, state);
    assert_int_equal(record->first_chunk, first_chunk);
    assert_int_equal(record->chunk_count, chunk_count);
}

/* What the first span is made of, in address order: positive counts live, negative ones free. */
static void expect_tiles(const struct fixture *fixture, const int *tiles, int count)
{
    const struct tn_region_index *index = &fixture->index;
    uint32_t chunk = fixture->spans[0].first_chunk, region = fixture->spans[0].head;
    for (int i = 0; i < count; i++) {
        region = index->regions[region].next;
        expect_region(fixture, region, tiles[i] > 0 ? LIVE : FREE, chunk, (uint32_t)abs(tiles[i]));
        chunk += (uint32_t)abs(tiles[i]);
    }
    assert_int_equal(index->regions[region].next, fixture->spans[0].head);
}

/* The live region that the chunk lies in starts here; or NONE. */
static void expect_live_at(const struct fixture *fixture, uint32_t chunk, uint32_t first_chunk)
{
    uint32_t region = tn_region_index_find_live(&fixture->index, chunk);
    uint32_t found = region == NONE ? NONE : fixture->index.regions[region].first_chunk;
    if (found != first_chunk)
        fail_msg("chunk %u lies in what starts at %u, not %u", chunk, found, first_chunk);
}

static void expect_best_fit(const struct fixture *fixture, uint32_t chunk_count,
                            uint32_t first_chunk)
{
    uint32_t region = tn_region_index_find_best_fit(&fixture->index, 1, chunk_count);
    uint32_t found = region == NONE ? NONE : fixture->index.regions[region].first_chunk;
    if (found != first_chunk) fail_msg("for %u: at %u, not %u", chunk_count, found, first_chunk);
}

/* --- spans -------------------------------------------------------------------------------------- */

static void an_index_without_spans_is_empty(void **state)
{
    const struct fixture *fixture = *state;
    expect_sound(fixture);
    expect_best_fit(fixture, 1, NONE);
    expect_live_at(fixture, 0, NONE);
    assert_int_equal(tn_region_index_largest_free(&fixture->index), 0);
}

static void a_span_begins_as_one_free_region(void **state)
{
    static const uint32_t counts[] = { 1, 63, 64, 65, 16383, 16384, 16385 };
    struct fixture *fixture = *state;
    for (int i = 0; i < 7; i++) {
        add_span(fixture, 128, counts[i]);
        expect_tiles(fixture, (int[]){ -(int)counts[i] }, 1);
        assert_true(tn_region_index_span_is_free(&fixture->index, fixture->spans[0].head, 0));
        assert_int_equal(tn_region_index_largest_free(&fixture->index), counts[i]);
        assert_int_equal(fixture->index.chunk_count, counts[i]);
        expect_best_fit(fixture, counts[i], 128);
        expect_best_fit(fixture, counts[i] + 1, NONE);
        remove_span(fixture, 0);
        assert_int_equal(fixture->index.chunk_count, 0);
        assert_int_equal(fixture->index.region_count, 0);
        expect_best_fit(fixture, 1, NONE);
    }
}

static void a_span_with_anything_live_is_not_free(void **state)
{
    struct fixture *fixture = add_span(*state, 0, 10);
    uint32_t head = fixture->spans[0].head;
    carve_at(fixture, 0, 10);
    assert_false(tn_region_index_span_is_free(&fixture->index, head, 0));
    free_at(fixture, 0);
    assert_true(tn_region_index_span_is_free(&fixture->index, head, 0));
    carve_at(fixture, 0, 9);
    assert_false(tn_region_index_span_is_free(&fixture->index, head, 0));
    free_at(fixture, 0);
    carve_at(fixture, 4, 1);
    assert_false(tn_region_index_span_is_free(&fixture->index, head, 0));
}

static void spans_that_touch_do_not_join(void **state)
{
    struct fixture *fixture = add_span(*state, 64, 64);
    add_span(fixture, 0, 64);
    add_span(fixture, 128, 64);
    carve_at(fixture, 0, 64);
    carve_at(fixture, 64, 64);
    carve_at(fixture, 128, 64);
    free_at(fixture, 0);
    free_at(fixture, 128);
    free_at(fixture, 64);
    assert_int_equal(tn_region_index_largest_free(&fixture->index), 64);
    expect_best_fit(fixture, 65, NONE);
}

static void removing_a_span_leaves_the_others(void **state)
{
    struct fixture *fixture = add_span(*state, 0, 100);
    add_span(fixture, 128, 200);
    add_span(fixture, 384, 300);
    carve_at(fixture, 0, 10);
    carve_at(fixture, 384, 300);
    remove_span(fixture, 1);
    assert_int_equal(fixture->index.chunk_count, 400);
    assert_int_equal(tn_region_index_largest_free(&fixture->index), 90);
    expect_live_at(fixture, 9, 0);
    expect_live_at(fixture, 10, NONE);
    expect_live_at(fixture, 683, 384);
    add_span(fixture, 128, 150);
    expect_best_fit(fixture, 91, 128);
}

/* A group in which the removed span began lies inside a region of the new one. */
static void a_removed_span_leaves_no_trace(void **state)
{
    struct fixture *fixture = add_span(*state, 0, 64);
    add_span(fixture, 128, 64);
    remove_span(fixture, 1);
    remove_span(fixture, 0);
    add_span(fixture, 0, 300);
    carve_at(fixture, 0, 250);
    expect_live_at(fixture, 249, 0);
    expect_live_at(fixture, 250, NONE);
}

static void the_last_chunk_number_can_be_used(void **state)
{
    struct fixture *fixture = add_span(*state, 0, TN_CHUNK_COUNT_MAX);
    carve_at(fixture, TN_CHUNK_COUNT_MAX - 1, 1);
    expect_live_at(fixture, TN_CHUNK_COUNT_MAX - 1, TN_CHUNK_COUNT_MAX - 1);
    expect_live_at(fixture, TN_CHUNK_COUNT_MAX - 2, NONE);
    carve_at(fixture, 0, TN_CHUNK_COUNT_MAX - 1);
    expect_live_at(fixture, TN_CHUNK_COUNT_MAX - 2, 0);
    free_at(fixture, TN_CHUNK_COUNT_MAX - 1);
    free_at(fixture, 0);
    assert_int_equal(tn_region_index_largest_free(&fixture->index), TN_CHUNK_COUNT_MAX);
}

/* --- carve -------------------------------------------------------------------------------------- */

static void a_cut_front_keeps_the_tails_record(void **state)
{
    struct fixture *fixture = add_span(*state, 0, 10);
    uint32_t whole = tn_region_index_find_best_fit(&fixture->index, 1, 1);
    uint32_t live = carve_at(fixture, 0, 3);
    expect_region(fixture, whole, FREE, 3, 7);
    expect_region(fixture, live, LIVE, 0, 3);
    assert_int_not_equal(live, whole);
}

static void a_carve_that_fits_exactly_takes_the_record(void **state)
{
    struct fixture *fixture = add_span(*state, 0, 10);
    uint32_t whole = tn_region_index_find_best_fit(&fixture->index, 1, 10);
    assert_int_equal(carve_at(fixture, 0, 10), whole);
    expect_tiles(fixture, (int[]){ 10 }, 1);
    expect_best_fit(fixture, 1, NONE);
}

static void what_lies_before_and_behind_a_carve_stays_free(void **state)
{
    struct fixture *fixture = add_span(*state, 0, 10);
    carve_at(fixture, 3, 4);
    expect_tiles(fixture, (int[]){ -3, 4, -3 }, 3);
    expect_best_fit(fixture, 3, 0);
    expect_best_fit(fixture, 4, NONE);
    carve_at(fixture, 1, 2); /* up to the end of a region */
    expect_tiles(fixture, (int[]){ -1, 2, 4, -3 }, 4);
    carve_at(fixture, 9, 1);
    expect_tiles(fixture, (int[]){ -1, 2, 4, -2, 1 }, 5);
    carve_at(fixture, 0, 1);
    carve_at(fixture, 7, 2);
    expect_tiles(fixture, (int[]){ 1, 2, 4, 2, 1 }, 5);
}

static void a_live_region_remembers_its_slack(void **state)
{
    static const uint32_t slacks[] = { 0, 1, 1023, (1U << 24) - 1, (1U << 25) - 1 };
    struct fixture *fixture = add_span(*state, 0, 10);
    for (int i = 0; i < 5; i++) {
        assert_true(tn_region_index_reserve(&fixture->index));
        uint32_t region = tn_region_index_find_best_fit(&fixture->index, 1, 7);
        uint32_t live = tn_region_index_carve(&fixture->index, region, 0, 7, slacks[i]);
        assert_int_equal(fixture->index.regions[live].extra, slacks[i]);
        struct tn_freed freed;
        assert_true(tn_region_index_free(&fixture->index, 0, TN_DEPENDENCY_NONE, &freed));
        assert_int_equal(freed.chunk_count, 7);
        assert_int_equal(freed.slack_bytes, slacks[i]);
    }
}

static void giants_are_carved_into_giants_and_less(void **state)
{
    struct fixture *fixture = add_span(*state, 0, 100000);
    carve_at(fixture, 0, 100000 - 16385);
    carve_at(fixture, 100000 - 16385, 1); /* leaves 16384, a giant */
    assert_int_equal(fixture->index.by_size[0].best.giant_count, 1);
    carve_at(fixture, 100000 - 16384, 1); /* leaves 16383, none */
    assert_int_equal(fixture->index.by_size[0].best.giant_count, 0);
    free_at(fixture, 100000 - 16384);
    assert_int_equal(fixture->index.by_size[0].best.giant_count, 1);
    free_at(fixture, 0);
    assert_int_equal(fixture->index.by_size[0].best.giant_count, 2);
    free_at(fixture, 100000 - 16385); /* joins two giants */
    assert_int_equal(fixture->index.by_size[0].best.giant_count, 1);
    expect_tiles(fixture, (int[]){ -100000 }, 1);
}

/* --- best fit ----------------------------------------------------------------------------------- */

static void best_fit_is_the_smallest_of_all_spans(void **state)
{
    struct fixture *fixture = add_span(*state, 0, 100);
    add_span(fixture, 128, 50);
    add_span(fixture, 192, 70);
    expect_best_fit(fixture, 1, 128);
    expect_best_fit(fixture, 50, 128);
    expect_best_fit(fixture, 51, 192);
    expect_best_fit(fixture, 70, 192);
    expect_best_fit(fixture, 71, 0);
    expect_best_fit(fixture, 100, 0);
    expect_best_fit(fixture, 101, NONE);
}

static void among_equals_the_lowest_index_fits_best(void **state)
{
    struct fixture *fixture = add_span(*state, 256, 50);
    add_span(fixture, 128, 50);
    add_span(fixture, 0, 50);
    expect_best_fit(fixture, 20, 0);
    carve_at(fixture, 0, 50);
    expect_best_fit(fixture, 20, 128);
    carve_at(fixture, 128, 50);
    expect_best_fit(fixture, 20, 256);
    free_at(fixture, 0);
    expect_best_fit(fixture, 20, 0);
}

static void the_next_fit_is_the_next_in_size_and_place(void **state)
{
    static const uint32_t order[] = { 128, 0, 256, 384, 512 };
    struct fixture *fixture = add_span(*state, 0, 50);
    add_span(fixture, 128, 49);
    add_span(fixture, 256, 50);
    add_span(fixture, 384, 51);
    add_span(fixture, 512, 20000);
    uint32_t region = tn_region_index_find_best_fit(&fixture->index, 1, 1);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(fixture->index.regions[region].first_chunk, order[i]);
        region = tn_region_index_find_next_fit(&fixture->index, region, 1);
    }
    assert_int_equal(region, NONE);
}

/* --- free --------------------------------------------------------------------------------------- */

/* Three live regions of 3, 4 and 5 chunks fill the first span. */
static struct fixture *carve_three(struct fixture *fixture)
{
    add_span(fixture, 0, 12);
    carve_at(fixture, 0, 3);
    carve_at(fixture, 3, 4);
    carve_at(fixture, 7, 5);
    return fixture;
}

static void a_freed_region_between_live_ones_stays_alone(void **state)
{
    struct fixture *fixture = carve_three(*state);
    free_at(fixture, 3);
    expect_tiles(fixture, (int[]){ 3, -4, 5 }, 3);
}

static void a_freed_region_joins_the_free_one_before_it(void **state)
{
    struct fixture *fixture = carve_three(*state);
    free_at(fixture, 0);
    free_at(fixture, 3);
    expect_tiles(fixture, (int[]){ -7, 5 }, 2);
}

static void a_freed_region_joins_the_free_one_after_it(void **state)
{
    struct fixture *fixture = carve_three(*state);
    free_at(fixture, 7);
    free_at(fixture, 3);
    expect_tiles(fixture, (int[]){ 3, -9 }, 2);
}

static void a_freed_region_joins_both_its_neighbours(void **state)
{
    struct fixture *fixture = carve_three(*state);
    free_at(fixture, 0);
    free_at(fixture, 7);
    free_at(fixture, 3);
    expect_tiles(fixture, (int[]){ -12 }, 1);
    assert_int_equal(fixture->index.region_count, 2);
}

static void records_that_were_given_back_are_taken_again(void **state)
{
    struct fixture *fixture = add_span(*state, 0, 1000);
    for (uint32_t round = 0; round < 3; round++) {
        for (uint32_t chunk = 0; chunk < 1000; chunk += 100)
            carve_at(fixture, chunk, 50);
        assert_int_equal(fixture->index.fresh, 21);
        assert_int_equal(fixture->index.region_count, 21);
        for (uint32_t chunk = 0; chunk < 1000; chunk += 100)
            free_at(fixture, chunk);
        assert_int_equal(fixture->index.region_count, 2);
    }
}

static void freeing_what_is_not_live_changes_nothing(void **state)
{
    static const uint32_t wrong[] = { 0, 1, 2, 4, 5, 6, 8, 11, 12, 64, 1000, TN_CHUNK_COUNT_MAX };
    struct fixture *fixture = carve_three(*state);
    free_at(fixture, 0);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct tn_freed freed = { 123, 456, 789 };
        assert_false(tn_region_index_free(&fixture->index, wrong[i], TN_DEPENDENCY_NONE, &freed));
        assert_int_equal(freed.chunk_count, 123);
        assert_int_equal(freed.slack_bytes, 456);
    }
    expect_sound(fixture);
    expect_tiles(fixture, (int[]){ -3, 4, 5 }, 3);
}

/* Cuts a span of 200 chunks at three of these places and frees the four regions in every order, so
 * that every way in which regions can lie about the edges of groups is seen. */
static void free_in_order(struct fixture *fixture, const uint32_t *starts, const int *order)
{
    for (int i = 0; i < 4; i++)
        carve_at(fixture, starts[i], starts[i + 1] - starts[i]);
    for (int i = 0; i < 4; i++) {
        uint32_t start = starts[order[i]], last = starts[order[i] + 1] - 1;
        expect_live_at(fixture, start, start);
        expect_live_at(fixture, last, start);
        free_at(fixture, start);
        expect_live_at(fixture, start, NONE);
        expect_live_at(fixture, last, NONE);
    }
    expect_tiles(fixture, (int[]){ -200 }, 1);
}

static void free_in_every_order(struct fixture *fixture, const uint32_t *starts)
{
    for (int code = 0; code < 256; code++) {
        int order[4], seen = 0;
        for (int i = 0; i < 4; i++) {
            order[i] = code >> 2 * i & 3;
            seen |= 1 << order[i];
        }
        if (seen == 15) free_in_order(fixture, starts, order);
    }
}

static void regions_cut_anywhere_are_freed_in_every_order(void **state)
{
    static const uint32_t places[] = { 1, 63, 64, 65, 128, 129 };
    struct fixture *fixture = add_span(*state, 0, 200);
    for (int i = 0; i < 6; i++) {
        for (int j = i + 1; j < 6; j++) {
            for (int k = j + 1; k < 6; k++) {
                uint32_t starts[] = { 0, places[i], places[j], places[k], 200 };
                free_in_every_order(fixture, starts);
            }
        }
    }
}

/* --- find what a chunk lies in ------------------------------------------------------------------ */

/* Of each chunk of the span, given what it is made of. */
static void expect_live_as_tiles(const struct fixture *fixture, const int *tiles, int count)
{
    uint32_t first_chunk = fixture->spans[0].first_chunk;
    for (int i = 0; i < count; i++) {
        uint32_t end_chunk = first_chunk + (uint32_t)abs(tiles[i]);
        for (uint32_t chunk = first_chunk; chunk < end_chunk; chunk++)
            expect_live_at(fixture, chunk, tiles[i] > 0 ? first_chunk : NONE);
        first_chunk = end_chunk;
    }
}

static void a_chunk_is_found_in_a_region_of_many_groups(void **state)
{
    struct fixture *fixture = add_span(*state, 640, 1000);
    carve_at(fixture, 640 + 10, 900);
    expect_live_as_tiles(fixture, (int[]){ -10, 900, -90 }, 3);
    free_at(fixture, 640 + 10);
    expect_live_as_tiles(fixture, (int[]){ -1000 }, 1);
}

static void a_chunk_is_found_at_every_edge_of_a_group(void **state)
{
    struct fixture *fixture = add_span(*state, 0, 400);
    static const int tiles[] = { 63, 1, -1, 62, 2, -63, 64, 65, -79 };
    uint32_t chunk = 0;
    for (int i = 0; i < 9; i++) {
        if (tiles[i] > 0) carve_at(fixture, chunk, (uint32_t)tiles[i]);
        chunk += (uint32_t)abs(tiles[i]);
    }
    expect_tiles(fixture, tiles, 9);
    expect_live_as_tiles(fixture, tiles, 9);
}

static void a_chunk_is_not_found_in_another_span(void **state)
{
    struct fixture *fixture = add_span(*state, 0, 64);
    add_span(fixture, 128, 64);
    carve_at(fixture, 0, 64);
    expect_live_at(fixture, 63, 0);
    expect_live_at(fixture, 128, NONE);
    expect_live_at(fixture, 191, NONE);
    carve_at(fixture, 128, 64);
    expect_live_at(fixture, 128, 128);
}

/* --- room --------------------------------------------------------------------------------------- */

static void without_host_memory_there_is_no_index(void **state)
{
    unsigned failures = 0;
    for (unsigned n = 1;; n++) {
        struct tn_region_index index;
        host_memory_faults_begin(n);
        bool is_there = tn_region_index_init(&index, TARN_FIT_BEST);
        if (is_there) tn_region_index_fini(&index);
        assert_int_equal(host_memory_faults_outstanding(), 0);
        if (!host_memory_faults_end()) break;
        assert_false(is_there);
        failures++;
    }
    assert_int_equal(failures, 2);
}

/* A second span finds no room at the n-th allocation; the first stays usable, and the next try
 * succeeds. */
static bool second_span_fails_at(struct fixture *fixture, unsigned n)
{
    add_span(fixture, 0, 1000);
    carve_at(fixture, 10, 10);
    /* Fills the room of the first span's reserve, and the first buckets. */
    for (uint32_t chunk = 20; chunk < 700 || tn_region_index_has_room(&fixture->index); chunk += 2)
        carve_at(fixture, chunk, 1);
    host_memory_faults_begin(n);
    bool has_room = tn_region_index_reserve_span(&fixture->index, 6400, 100000);
    bool has_failed = host_memory_faults_end();
    assert_int_equal(has_room, !has_failed);
    expect_sound(fixture);
    free_at(fixture, 10);
    carve_at(fixture, 5, 10);
    add_span(fixture, 6400, 100000);
    expect_best_fit(fixture, 100000, 6400);
    return has_failed;
}

static void a_span_without_host_memory_is_not_added(void **state)
{
    unsigned n = 0;
    bool has_failed = true;
    while (has_failed) {
        struct fixture fixture = { 0 };
        n++;
        assert_true(tn_region_index_init(&fixture.index, TARN_FIT_BEST));
        has_failed = second_span_fails_at(&fixture, n);
        tn_region_index_fini(&fixture.index);
    }
    assert_true(n > 4); /* starts, records, trees, giants, buckets */
}

/* Reserves when the room is used up; the n-th allocation fails. */
static bool reserve_fails_at(struct fixture *fixture, unsigned n)
{
    struct tn_region_index *index = &fixture->index;
    add_span(fixture, 0, 1000);
    uint32_t chunk = 0;
    /* More than the first buckets are for. */
    for (; index->region_count < 400 || tn_region_index_has_room(index); chunk += 2)
        carve_at(fixture, chunk, 1);
    host_memory_faults_begin(n);
    bool has_room = tn_region_index_reserve(index);
    bool has_failed = host_memory_faults_end();
    assert_int_equal(has_room, !has_failed);
    expect_sound(fixture);
    for (uint32_t live = 0; live < chunk; live += 4)
        free_at(fixture, live);
    carve_at(fixture, chunk, 1);
    return has_failed;
}

static void a_carve_without_host_memory_is_not_made(void **state)
{
    unsigned n = 0;
    bool has_failed = true;
    while (has_failed) {
        struct fixture fixture = { 0 };
        n++;
        assert_true(tn_region_index_init(&fixture.index, TARN_FIT_BEST));
        has_failed = reserve_fails_at(&fixture, n);
        tn_region_index_fini(&fixture.index);
    }
    assert_true(n > 2); /* records, trees, buckets */
}

static uint32_t carve_all(struct fixture *fixture, uint32_t chunk_count)
{
    for (uint32_t chunk = 0; chunk < chunk_count; chunk++) {
        assert_true(tn_region_index_reserve(&fixture->index));
        uint32_t region = tn_region_index_find_best_fit(&fixture->index, 1, 1);
        tn_region_index_carve(&fixture->index, region, 0, 1, 0);
    }
    return chunk_count;
}

/* Every second one first, so that there are as many free regions as there can be. */
static void free_all(struct fixture *fixture, uint32_t chunk_count)
{
    struct tn_freed freed;
    for (uint32_t chunk = 0; chunk < chunk_count; chunk += 2)
        assert_true(tn_region_index_free(&fixture->index, chunk, TN_DEPENDENCY_NONE, &freed));
    expect_sound(fixture);
    for (uint32_t chunk = 1; chunk < chunk_count; chunk += 2)
        assert_true(tn_region_index_free(&fixture->index, chunk, TN_DEPENDENCY_NONE, &freed));
    expect_sound(fixture);
}

static void freeing_never_allocates(void **state)
{
    static const uint32_t counts[] = { 1, 2, 3, 15, 16, 17, 31, 32, 33, 1000, 20000 };
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        struct fixture fixture = { 0 };
        assert_true(tn_region_index_init(&fixture.index, TARN_FIT_BEST));
        add_span(&fixture, 0, counts[i]);
        carve_all(&fixture, counts[i]);
        host_memory_faults_begin(1);
        free_all(&fixture, counts[i]);
        assert_false(host_memory_faults_end());
        tn_region_index_fini(&fixture.index);
    }
}

/* Two free regions of each size, each between live ones, need most nodes: one for two regions. */
static void there_is_room_to_free_two_of_every_size(void **state)
{
    enum {
        SIZES = 200
    };
    struct fixture *fixture = add_span(*state, 0, SIZES * (SIZES + 1) + 2 * SIZES);
    uint32_t starts[2 * SIZES], chunk = 0;
    for (uint32_t i = 0; i < 2 * SIZES; i++) {
        starts[i] = chunk;
        chunk += i / 2 + 1;
        carve_at(fixture, starts[i], i / 2 + 1);
        carve_at(fixture, chunk++, 1);
    }
    for (uint32_t i = 0; i < 2 * SIZES; i++)
        free_at(fixture, starts[i]);
    assert_int_equal(fixture->index.trees.used_count, SIZES);
    assert_in_range(fixture->index.trees.capacity, SIZES, 2 * SIZES);
}

static void a_live_region_costs_few_bytes(void **state)
{
    struct fixture *fixture = add_span(*state, 0, 20000);
    size_t empty_bytes = tn_region_index_metadata_bytes(&fixture->index);
    carve_all(fixture, 20000);
    size_t live_bytes = tn_region_index_metadata_bytes(&fixture->index) - empty_bytes;
    assert_in_range(live_bytes / 20000, 1, 32);
}

/* --- against an array of chunks ----------------------------------------------------------------- */

enum {
    CHUNK_COUNT = 80000
};

/* What each chunk is. */
static struct {
    unsigned char state[CHUNK_COUNT]; /* FREE, LIVE, or 0: of no span */
    bool begins_span[CHUNK_COUNT];
    uint32_t start[CHUNK_COUNT]; /* of what is live */
    uint32_t end_chunk;          /* all spans lie before */
} naive;

struct run {
    uint32_t first_chunk, chunk_count;
};

static bool is_before(struct run a, struct run b)
{
    return a.chunk_count < b.chunk_count ||
           (a.chunk_count == b.chunk_count && a.first_chunk < b.first_chunk);
}

/* The free run that begins at the chunk or after it; chunk_count 0: there is none. */
static struct run naive_run(uint32_t chunk)
{
    struct run run = { chunk, 0 };
    while (run.first_chunk < naive.end_chunk && naive.state[run.first_chunk] != FREE)
        run.first_chunk++;
    for (chunk = run.first_chunk; chunk < naive.end_chunk && naive.state[chunk] == FREE; chunk++) {
        if (run.chunk_count > 0 && naive.begins_span[chunk]) break;
        run.chunk_count++;
    }
    return run;
}

/* The first in the order by size that is `least` or comes after it; chunk_count 0: there is none. */
static struct run naive_fit(struct run least)
{
    struct run found = { 0, 0 }, run = naive_run(0);
    for (; run.chunk_count > 0; run = naive_run(run.first_chunk + run.chunk_count)) {
        if (is_before(run, least)) continue;
        if (found.chunk_count == 0 || is_before(run, found)) found = run;
    }
    return found;
}

static void naive_set(uint32_t first_chunk, uint32_t chunk_count, unsigned char state)
{
    for (uint32_t chunk = first_chunk; chunk < first_chunk + chunk_count; chunk++) {
        naive.state[chunk] = state;
        naive.start[chunk] = first_chunk;
    }
}

static struct run run_of(const struct fixture *fixture, uint32_t region)
{
    if (region == NONE) return (struct run){ 0, 0 };
    const struct tn_region *record = &fixture->index.regions[region];
    return (struct run){ record->first_chunk, record->chunk_count };
}

static void expect_run(const struct fixture *fixture, uint32_t region, struct run expected)
{
    struct run run = run_of(fixture, region);
    if (run.first_chunk != expected.first_chunk || run.chunk_count != expected.chunk_count) {
        fail_msg("%u at %u, not %u at %u", run.chunk_count, run.first_chunk, expected.chunk_count,
                 expected.first_chunk);
    }
}

/* Best fit and the one after it are the naive ones. Returns one of the two, or NONE. */
static uint32_t find_fit(const struct fixture *fixture, struct random *random, uint32_t chunk_count)
{
    uint32_t best = tn_region_index_find_best_fit(&fixture->index, 1, chunk_count);
    struct run run = naive_fit((struct run){ 0, chunk_count });
    expect_run(fixture, best, run);
    if (best == NONE) return NONE;
    run.first_chunk++;
    uint32_t next = tn_region_index_find_next_fit(&fixture->index, best, 1);
    expect_run(fixture, next, naive_fit(run));
    return next != NONE && random_below(random, 4) == 0 ? next : best;
}

static void carve_random(struct fixture *fixture, struct random *random, unsigned bits_max)
{
    uint32_t chunk_count = (uint32_t)random_size(random, bits_max);
    uint32_t region = find_fit(fixture, random, chunk_count);
    if (region == NONE) return;
    struct run run = run_of(fixture, region);
    uint32_t lead = 0, room = run.chunk_count - chunk_count;
    if (random_below(random, 3) == 0) lead = (uint32_t)random_below(random, room + 1);
    if (random_below(random, 8) == 0) lead = room;
    assert_true(tn_region_index_reserve(&fixture->index));
    uint32_t live = tn_region_index_carve(&fixture->index, region, lead, chunk_count, lead & 1023);
    naive_set(run.first_chunk + lead, chunk_count, LIVE);
    expect_region(fixture, live, LIVE, run.first_chunk + lead, chunk_count);
}

/* Frees what lies at a chunk, or finds that nothing does. */
static void free_random(struct fixture *fixture, uint32_t chunk)
{
    struct tn_freed freed;
    bool is_live = naive.state[chunk] == LIVE;
    uint32_t start = is_live ? naive.start[chunk] : chunk;
    if (start != chunk)
        assert_false(tn_region_index_free(&fixture->index, chunk, TN_DEPENDENCY_NONE, &freed));
    assert_int_equal(tn_region_index_free(&fixture->index, start, TN_DEPENDENCY_NONE, &freed),
                     is_live);
    if (is_live) naive_set(start, freed.chunk_count, FREE);
}

/* Adds a span where there is none, or removes it if it is free. */
static void change_span(struct fixture *fixture, uint32_t first_chunk, uint32_t chunk_count)
{
    if (naive.state[first_chunk] == 0) {
        add_span(fixture, first_chunk, chunk_count);
        naive_set(first_chunk, chunk_count, FREE);
        naive.begins_span[first_chunk] = true;
        return;
    }
    int place = 0;
    while (fixture->spans[place].first_chunk != first_chunk)
        place++;
    struct run run = naive_run(first_chunk);
    bool is_free = run.first_chunk == first_chunk && run.chunk_count == chunk_count;
    assert_int_equal(tn_region_index_span_is_free(&fixture->index, fixture->spans[place].head, 0),
                     is_free);
    if (!is_free) return;
    remove_span(fixture, place);
    naive_set(first_chunk, chunk_count, 0);
    naive.begins_span[first_chunk] = false;
}

static uint32_t naive_largest(void)
{
    uint32_t largest = 0;
    struct run run = naive_run(0);
    for (; run.chunk_count > 0; run = naive_run(run.first_chunk + run.chunk_count)) {
        if (run.chunk_count > largest) largest = run.chunk_count;
    }
    return largest;
}

static void expect_same_as_naive(const struct fixture *fixture, struct random *random)
{
    expect_sound(fixture);
    assert_int_equal(tn_region_index_largest_free(&fixture->index), naive_largest());
    for (int i = 0; i < 20; i++) {
        uint32_t chunk = (uint32_t)random_below(random, naive.end_chunk);
        expect_live_at(fixture, chunk, naive.state[chunk] == LIVE ? naive.start[chunk] : NONE);
    }
}

static void compare_random_steps(struct fixture *fixture, const struct run *spans, int span_count,
                                 unsigned bits_max, int step_count)
{
    struct random random = random_init(random_seed(7));
    memset(&naive, 0, sizeof naive);
    naive.end_chunk = spans[span_count - 1].first_chunk + spans[span_count - 1].chunk_count;
    for (int step = 0; step < step_count; step++) {
        uint64_t carve_percent = step / 300 % 3 == 2 ? 25 : 60;
        if (random_below(&random, 40) == 0) {
            const struct run *span = &spans[random_below(&random, (uint64_t)span_count)];
            change_span(fixture, span->first_chunk, span->chunk_count);
        } else if (random_below(&random, 100) < carve_percent) {
            carve_random(fixture, &random, bits_max);
        } else {
            free_random(fixture, (uint32_t)random_below(&random, naive.end_chunk));
        }
        expect_same_as_naive(fixture, &random);
    }
}

static void random_steps_are_those_of_an_array(void **state)
{
    static const struct run spans[] = { { 0, 1 },     { 64, 63 },   { 128, 64 },  { 192, 65 },
                                        { 320, 130 }, { 512, 700 }, { 1216, 800 } };
    compare_random_steps(*state, spans, 7, 7, 4000);
}

static void random_steps_among_giants_are_those_of_an_array(void **state)
{
    static const struct run spans[] = { { 0, 16384 }, { 16384, 17000 }, { 40000, 40000 } };
    compare_random_steps(*state, spans, 3, 15, 600);
}

/* --- older and newer spans ---------------------------------------------------------------------- */

enum {
    OLDER_SET = TN_FREE_SET_IDLE,
    NEWER_SET = TN_FREE_SET_IDLE_NEWER
};

/* The head of the span that starts at this chunk. */
static uint32_t head_at(const struct fixture *fixture, uint32_t first_chunk)
{
    int i = 0;
    while (i < fixture->span_count && fixture->spans[i].first_chunk != first_chunk)
        i++;
    assert_true(i < fixture->span_count);
    return fixture->spans[i].head;
}

static void make_newer(struct fixture *fixture, uint32_t first_chunk)
{
    tn_region_index_make_newer(&fixture->index, head_at(fixture, first_chunk));
    expect_sound(fixture);
}

static void make_older(struct fixture *fixture, uint32_t first_chunk)
{
    tn_region_index_make_older(&fixture->index, head_at(fixture, first_chunk));
    expect_sound(fixture);
}

/* So many free regions in both sets of regions that wait for nothing, and the border between them. */
static void expect_sides(const struct fixture *fixture, uint32_t older_count, uint32_t newer_count,
                         uint32_t newer_from)
{
    const struct tn_region_index *index = &fixture->index;
    assert_int_equal(tn_free_set_region_count(&index->by_size[OLDER_SET]), older_count);
    assert_int_equal(tn_free_set_region_count(&index->by_size[NEWER_SET]), newer_count);
    assert_int_equal(index->newer_from, newer_from);
}

/* Of the only free region in the set. */
static void expect_only(const struct fixture *fixture, unsigned set, uint32_t first_chunk,
                        uint32_t chunk_count)
{
    const struct tn_region_index *index = &fixture->index;
    assert_int_equal(tn_free_set_region_count(&index->by_size[set]), 1);
    expect_region(fixture, tn_region_index_find_best_fit(index, (uint64_t)1 << set, 1), FREE,
                  first_chunk, chunk_count);
}

/* Three spans, none of which is newer: chunks 0 to 59, 128 to 227 and 512 to 575. */
static void add_three(struct fixture *fixture)
{
    add_span(fixture, 0, 60);
    assert_true(tn_region_index_reserve_newer(&fixture->index));
    add_span(add_span(fixture, 128, 100), 512, 64);
    expect_sides(fixture, 3, 0, UINT32_MAX);
}

static void with_every_policy(void (*test)(struct fixture *))
{
    for (int fit = TARN_FIT_BEST; fit <= TARN_FIT_TLSF; fit++) {
        struct fixture fixture = { .span_count = 0 };
        assert_true(tn_region_index_init(&fixture.index, (tarn_fit)fit));
        add_three(&fixture);
        test(&fixture);
        tn_region_index_fini(&fixture.index);
    }
}

static void move_border_there_and_back(struct fixture *fixture)
{
    make_newer(fixture, 512);
    expect_sides(fixture, 2, 1, 512);
    expect_only(fixture, NEWER_SET, 512, 64);
    make_newer(fixture, 128);
    expect_sides(fixture, 1, 2, 128);
    expect_only(fixture, OLDER_SET, 0, 60);
    make_newer(fixture, 0);
    expect_sides(fixture, 0, 3, 0);
    make_older(fixture, 0);
    expect_sides(fixture, 1, 2, 60);
    make_older(fixture, 128);
    expect_sides(fixture, 2, 1, 228);
    make_older(fixture, 512);
    expect_sides(fixture, 3, 0, 576);
}

static void spans_become_newer_from_the_last_on_and_older_from_the_first_on(void **state)
{
    with_every_policy(move_border_there_and_back);
}

static void free_after_border_has_moved(struct fixture *fixture)
{
    carve_at(fixture, 140, 10);
    carve_at(fixture, 160, 10);
    expect_sides(fixture, 5, 0, UINT32_MAX);
    make_newer(fixture, 512);
    make_newer(fixture, 128);
    expect_sides(fixture, 1, 4, 128);
    free_at(fixture, 140);
    expect_sides(fixture, 1, 3, 128);
    make_older(fixture, 128);
    expect_sides(fixture, 3, 1, 228);
    free_at(fixture, 160);
    expect_sides(fixture, 2, 1, 228);
    expect_only(fixture, NEWER_SET, 512, 64);
    assert_true(tn_region_index_span_is_free(&fixture->index, head_at(fixture, 128), 0));
}

static void what_is_freed_goes_to_the_side_of_its_span(void **state)
{
    with_every_policy(free_after_border_has_moved);
}

static void carve_in_a_newer_span(struct fixture *fixture)
{
    make_newer(fixture, 512);
    carve_at(fixture, 530, 10);
    expect_sides(fixture, 2, 2, 512);
    carve_at(fixture, 512, 18);
    expect_only(fixture, NEWER_SET, 540, 36);
    carve_at(fixture, 540, 36);
    expect_sides(fixture, 2, 0, 512);
    free_at(fixture, 512);
    expect_only(fixture, NEWER_SET, 512, 18);
}

static void what_a_carve_leaves_stays_on_its_side(void **state)
{
    with_every_policy(carve_in_a_newer_span);
}

static void add_spans_at_a_border_in_a_gap(struct fixture *fixture)
{
    make_newer(fixture, 512);
    make_newer(fixture, 128);
    remove_span(fixture, 1);
    expect_sides(fixture, 1, 1, 128);
    add_span(fixture, 64, 64);
    expect_sides(fixture, 2, 1, 128);
    add_span(fixture, 128, 64);
    expect_sides(fixture, 2, 2, 128);
}

static void a_span_before_or_after_the_border_leaves_it(void **state)
{
    with_every_policy(add_spans_at_a_border_in_a_gap);
}

static void add_span_across_the_border(struct fixture *fixture)
{
    make_newer(fixture, 512);
    make_newer(fixture, 128);
    remove_span(fixture, 1);
    add_span(fixture, 64, 300);
    expect_sides(fixture, 2, 1, 364);
    carve_at(fixture, 200, 10);
    expect_sides(fixture, 3, 1, 364);
    free_at(fixture, 200);
    expect_sides(fixture, 2, 1, 364);
    make_newer(fixture, 64);
    expect_sides(fixture, 1, 2, 64);
}

static void a_span_across_the_border_moves_it(void **state)
{
    with_every_policy(add_span_across_the_border);
}

/* Two regions wait: one for stream 0, one for streams 0 and 1. */
static void move_border_over_what_waits(struct fixture *fixture)
{
    struct tn_region_index *index = &fixture->index;
    struct tn_freed freed;
    assert_true(tn_region_index_add_stream(index, 0) && tn_region_index_add_stream(index, 1));
    carve_at(fixture, 140, 10);
    carve_at(fixture, 160, 10);
    assert_true(tn_region_index_free(index, 140, (struct tn_dependency){ 1, 1 }, &freed));
    assert_true(tn_region_index_free(index, 160, (struct tn_dependency){ 3, 2 }, &freed));
    make_newer(fixture, 512);
    make_newer(fixture, 128);
    expect_sides(fixture, 1, 4, 128);
    expect_only(fixture, tn_free_set_of_stream(0), 140, 10);
    expect_only(fixture, TN_FREE_SET_SHARED, 160, 10);
    tn_region_index_complete(index, 1, 1);
    expect_sound(fixture);
    expect_sides(fixture, 1, 3, 128);
    make_older(fixture, 128);
    expect_sides(fixture, 3, 1, 228);
    expect_only(fixture, TN_FREE_SET_SHARED, 160, 10);
    tn_region_index_complete(index, 3, 2);
    expect_sound(fixture);
    expect_sides(fixture, 2, 1, 228);
    assert_int_equal(index->pending_chunk_count, 0);
}

static void what_waits_goes_to_the_side_of_its_span_when_the_work_is_done(void **state)
{
    with_every_policy(move_border_over_what_waits);
}

/* The n-th allocation fails: all is as before, and the next try succeeds. */
static bool newer_fails_at(struct fixture *fixture, unsigned n)
{
    add_span(add_span(fixture, 0, 60), 128, 100);
    host_memory_faults_begin(n);
    bool has_room = tn_region_index_reserve_newer(&fixture->index);
    bool has_failed = host_memory_faults_end();
    assert_int_equal(has_room, !has_failed);
    expect_sound(fixture);
    assert_int_equal(fixture->index.newer_from, UINT32_MAX);
    carve_at(fixture, 10, 10);
    free_at(fixture, 10);
    assert_true(tn_region_index_reserve_newer(&fixture->index));
    make_newer(fixture, 128);
    expect_sides(fixture, 1, 1, 128);
    return has_failed;
}

static void without_host_memory_no_span_becomes_newer(void **state)
{
    unsigned failures = 0;
    for (int fit = TARN_FIT_BEST; fit <= TARN_FIT_TLSF; fit++) {
        unsigned n = 0;
        bool has_failed = true;
        while (has_failed) {
            struct fixture fixture = { .span_count = 0 };
            assert_true(tn_region_index_init(&fixture.index, (tarn_fit)fit));
            has_failed = newer_fails_at(&fixture, ++n);
            failures += has_failed;
            tn_region_index_fini(&fixture.index);
        }
    }
    assert_true(failures > 0);
}

/* --- the checks find damage --------------------------------------------------------------------- */

/* One span: 100 chunks live, 4900 free, 300 live. */
static struct fixture *tile_three(void **state)
{
    struct fixture *fixture = add_span(*state, 0, 5300);
    carve_at(fixture, 0, 100);
    carve_at(fixture, 5000, 300);
    expect_tiles(fixture, (int[]){ 100, -4900, 300 }, 3);
    return fixture;
}

/* The record of the tile in this place, from 0; -1: the head's. */
static struct tn_region *tile(struct fixture *fixture, int place)
{
    uint32_t region = fixture->spans[0].head;
    for (int i = 0; i <= place; i++)
        region = fixture->index.regions[region].next;
    return &fixture->index.regions[region];
}

static void expect_fault(const struct fixture *fixture, const char *expected)
{
    const char *fault = tn_region_index_check(&fixture->index);
    if (!fault) fail_msg("not found: %s", expected);
    assert_string_equal(fault, expected);
}

static void expect_span_fault(const struct fixture *fixture, const char *expected)
{
    const char *fault =
        tn_region_index_check_span(&fixture->index, fixture->spans[0].head, 0, 5300);
    if (!fault) fail_msg("not found: %s", expected);
    assert_string_equal(fault, expected);
}

static void starts_that_contradict_each_other_are_found(void **state)
{
    struct fixture *fixture = tile_three(state);
    fixture->index.starts.levels[1][0] = 0;
    expect_fault(fixture, "the starts' bit tree is inconsistent");
}

static void lost_counts_are_found(void **state)
{
    struct fixture *fixture = tile_three(state);
    fixture->index.region_count++;
    expect_fault(fixture, "the counts of the region index are wrong");
    fixture->index.region_count--;
    fixture->index.span_count--;
    expect_fault(fixture, "the counts of the region index are wrong");
    fixture->index.span_count++;
    tile(fixture, 1)->state = TN_REGION_STATE_UNUSED;
    expect_fault(fixture, "the counts of the region index are wrong");
}

static void faults_of_the_free_set_by_size_are_passed_on(void **state)
{
    struct fixture *fixture = tile_three(state);
    fixture->index.by_size[0].best.region_count++;
    expect_fault(fixture, "the count of the free set by size is wrong");
}

static void a_free_region_that_cannot_be_found_is_found(void **state)
{
    struct fixture *fixture = tile_three(state);
    tn_size_set_remove(&fixture->index.by_size[0].best, 4900, 100);
    expect_fault(fixture, "a free region is not in the free set by size of its dependency");
}

/* The border has moved, but not the regions; and one region has, but not the border. */
static void put_regions_on_the_wrong_side(struct fixture *fixture)
{
    static const char fault[] = "a free region is not in the free set by size of its dependency";
    struct tn_region_index *index = &fixture->index;
    index->newer_from = 512;
    expect_fault(fixture, fault);
    index->newer_from = UINT32_MAX;
    make_newer(fixture, 512);
    index->newer_from = 576;
    expect_fault(fixture, fault);
    index->newer_from = 512;
    uint32_t region = index->regions[head_at(fixture, 512)].next;
    tn_free_set_remove(&index->by_size[NEWER_SET], index->regions, region, 64, 512);
    tn_free_set_insert(&index->by_size[OLDER_SET], index->regions, region);
    expect_fault(fixture, fault);
    /* Another one is in its place, so that the counts are right. */
    region = index->regions[head_at(fixture, 0)].next;
    tn_free_set_remove(&index->by_size[OLDER_SET], index->regions, region, 60, 0);
    tn_free_set_insert(&index->by_size[NEWER_SET], index->regions, region);
    expect_fault(fixture, fault);
}

static void a_free_region_on_the_wrong_side_of_the_border_is_found(void **state)
{
    with_every_policy(put_regions_on_the_wrong_side);
}

static void faults_of_the_live_map_are_passed_on(void **state)
{
    struct fixture *fixture = tile_three(state);
    fixture->index.live.room--;
    expect_fault(fixture, "the live map holds fewer regions than it counts");
}

static void a_live_region_that_cannot_be_found_is_found(void **state)
{
    struct fixture *fixture = tile_three(state);
    tn_live_map_take(&fixture->index.live, fixture->index.regions, 5000);
    expect_fault(fixture, "a live region is not in the live map");
}

static void a_head_that_is_none_is_found(void **state)
{
    struct fixture *fixture = tile_three(state);
    tile(fixture, -1)->state = TN_REGION_STATE_FREE;
    expect_span_fault(fixture, "a span's head is not a head");
}

static void a_link_to_nowhere_is_found(void **state)
{
    const char *fault = "a region links to a record that does not exist";
    struct fixture *fixture = tile_three(state);
    for (int place = -1; place <= 2; place++) {
        uint32_t next = tile(fixture, place)->next;
        struct tn_region *record = tile(fixture, place);
        record->next = fixture->index.fresh;
        expect_span_fault(fixture, fault);
        record->next = NONE;
        expect_span_fault(fixture, fault);
        record->next = next;
        expect_sound(fixture);
    }
}

static void a_gap_between_regions_is_found(void **state)
{
    const char *fault = "a region does not start where the one before it ends";
    struct fixture *fixture = tile_three(state);
    tile(fixture, 1)->first_chunk++;
    expect_span_fault(fixture, fault);
    tile(fixture, 1)->first_chunk -= 2;
    expect_span_fault(fixture, fault);
    tile(fixture, 1)->first_chunk++;
    tile(fixture, 0)->chunk_count--;
    expect_span_fault(fixture, fault);
}

static void a_record_that_is_no_region_is_found(void **state)
{
    const char *fault = "an unused record is among the regions";
    struct fixture *fixture = tile_three(state);
    tile(fixture, 1)->state = TN_REGION_STATE_UNUSED;
    expect_span_fault(fixture, fault);
}

static void a_region_of_impossible_size_is_found(void **state)
{
    const char *fault = "a region is empty or reaches beyond its static pool";
    struct fixture *fixture = tile_three(state);
    tile(fixture, 1)->chunk_count = 0;
    expect_span_fault(fixture, fault);
    tile(fixture, 1)->chunk_count = 4900;
    tile(fixture, 2)->chunk_count = 301;
    expect_span_fault(fixture, fault);
    tile(fixture, 2)->chunk_count = UINT32_MAX;
    expect_span_fault(fixture, fault);
}

static void a_link_back_that_is_wrong_is_found(void **state)
{
    struct fixture *fixture = tile_three(state);
    uint32_t previous = tile(fixture, 2)->previous;
    tile(fixture, 2)->previous = fixture->spans[0].head;
    expect_span_fault(fixture, "a region's link to the one before it is wrong");
    tile(fixture, 2)->previous = previous;
    tile(fixture, -1)->previous = previous;
    expect_span_fault(fixture, "a head's link to the last region is wrong");
}

static void free_regions_that_touch_are_found(void **state)
{
    struct fixture *fixture = tile_three(state);
    tile(fixture, 2)->state = TN_REGION_STATE_FREE;
    expect_span_fault(fixture, "two free regions that depend on the same streams touch");
}

static void wrong_starts_are_found(void **state)
{
    const char *fault = "the groups in which regions start are wrong";
    struct fixture *fixture = tile_three(state);
    struct tn_bit_tree *starts = &fixture->index.starts;
    static const uint32_t missing[] = { 0, 1, 78 }, surplus[] = { 2, 40, 77, 79, 82 };
    for (int i = 0; i < 3; i++) {
        tn_bit_tree_clear(starts, missing[i]);
        expect_span_fault(fixture, fault);
        tn_bit_tree_set(starts, missing[i]);
        expect_sound(fixture);
    }
    for (int i = 0; i < 5; i++) {
        tn_bit_tree_set(starts, surplus[i]);
        expect_span_fault(fixture, fault);
        tn_bit_tree_clear(starts, surplus[i]);
        expect_sound(fixture);
    }
}

static void a_span_after_the_last_region_has_starts_of_its_own(void **state)
{
    struct fixture *fixture = tile_three(state);
    add_span(fixture, 5312, 100);
    tn_bit_tree_set(&fixture->index.starts, 82);
    expect_span_fault(fixture, "the groups in which regions start are wrong");
}

static void regions_that_end_too_early_are_found(void **state)
{
    const char *fault = "the regions do not tile their static pool";
    struct fixture *fixture = tile_three(state);
    tile(fixture, 2)->chunk_count = 299;
    expect_span_fault(fixture, fault);
    tile(fixture, -1)->next = fixture->spans[0].head; /* a ring of nothing */
    tile(fixture, -1)->previous = fixture->spans[0].head;
    expect_span_fault(fixture, fault);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

/* --- chunks without memory ------------------------------------------------------------------------ */

static struct fixture *add_void_span(void **state, uint32_t chunk_count)
{
    struct fixture *fixture = *state;
    assert_true(tn_region_index_reserve_span(&fixture->index, 0, chunk_count));
    uint32_t head = tn_region_index_add_void_span(&fixture->index, 0, chunk_count);
    fixture->spans[fixture->span_count++] = (struct span){ head, 0, chunk_count };
    expect_sound(fixture);
    return fixture;
}

static uint32_t take_void(struct fixture *fixture, uint32_t region, uint32_t first_chunk,
                          uint32_t chunk_count)
{
    assert_true(tn_region_index_reserve(&fixture->index));
    uint32_t taken = tn_region_index_take_void(&fixture->index, region, first_chunk, chunk_count);
    expect_region(fixture, taken, VOID, first_chunk, chunk_count);
    expect_sound(fixture);
    return taken;
}

static uint32_t take_free(struct fixture *fixture, uint32_t region, uint32_t first_chunk,
                          uint32_t chunk_count)
{
    assert_true(tn_region_index_reserve(&fixture->index));
    struct tn_dependency dependency;
    uint32_t taken =
        tn_region_index_take_free(&fixture->index, region, first_chunk, chunk_count, &dependency);
    expect_region(fixture, taken, VOID, first_chunk, chunk_count);
    expect_sound(fixture);
    return taken;
}

static uint32_t fill(struct fixture *fixture, uint32_t taken)
{
    uint32_t region = tn_region_index_fill(&fixture->index, taken);
    expect_sound(fixture);
    return region;
}

static void rest(struct fixture *fixture, uint32_t taken)
{
    tn_region_index_rest(&fixture->index, taken);
    expect_sound(fixture);
}

static void a_void_is_neither_found_nor_counted_as_free(void **state)
{
    struct fixture *fixture = add_void_span(state, 640);
    assert_int_equal(tn_region_index_find_best_fit(&fixture->index, 1, 1), NONE);
    assert_int_equal(tn_region_index_free_count(&fixture->index), 0);
    assert_int_equal(tn_region_index_largest_free(&fixture->index), 0);
    assert_int_equal(tn_region_index_find_live(&fixture->index, 100), NONE);
}

static void what_is_filled_is_free_and_coalesces(void **state)
{
    struct fixture *fixture = add_void_span(state, 640);
    uint32_t middle = take_void(fixture, fixture->index.first_void, 128, 64);
    uint32_t before = take_void(fixture, fixture->index.first_void, 64, 64);
    uint32_t after = take_void(fixture, fixture->index.regions[middle].next, 192, 64);
    expect_region(fixture, fill(fixture, before), FREE, 64, 64);
    expect_region(fixture, fill(fixture, after), FREE, 192, 64);
    expect_region(fixture, fill(fixture, middle), FREE, 64, 192);
    assert_int_equal(tn_region_index_free_count(&fixture->index), 1);
}

static void what_rests_joins_the_voids_beside_it(void **state)
{
    struct fixture *fixture = add_void_span(state, 640);
    uint32_t middle = take_void(fixture, fixture->index.first_void, 128, 64);
    uint32_t front = take_void(fixture, fixture->index.first_void, 0, 128);
    assert_int_equal(fixture->index.void_count, 3);
    rest(fixture, middle);
    assert_int_equal(fixture->index.void_count, 2);
    rest(fixture, front);
    assert_int_equal(fixture->index.void_count, 1);
    expect_region(fixture, fixture->index.first_void, VOID, 0, 640);
}

static void what_is_taken_out_of_a_free_region_leaves_the_rest_free(void **state)
{
    struct fixture *fixture = add_void_span(state, 640);
    uint32_t region = fill(fixture, take_void(fixture, fixture->index.first_void, 0, 640));
    uint32_t taken = take_free(fixture, region, 64, 64);
    assert_int_equal(tn_region_index_free_count(&fixture->index), 2);
    uint32_t next = fixture->index.regions[taken].next;
    expect_region(fixture, next, FREE, 128, 512);
    uint32_t last = take_free(fixture, next, 576, 64);
    rest(fixture, taken);
    rest(fixture, last);
    assert_int_equal(fixture->index.void_count, 2);
    expect_region(fixture, fixture->index.first_void, VOID, 64, 64);
}

/* Regions of three dependencies, one after the other: the middle one goes whole, the others in part. */
static void what_is_taken_may_be_of_several_free_regions(void **state)
{
    struct fixture *fixture = add_void_span(state, 640);
    struct tn_freed freed;
    assert_true(tn_region_index_add_stream(&fixture->index, 1));
    fill(fixture, take_void(fixture, fixture->index.first_void, 0, 640));
    uint32_t first = carve_at(fixture, 0, 100);
    carve_at(fixture, 100, 50);
    carve_at(fixture, 150, 490);
    const struct tn_dependency one = { 2, 1 };
    assert_true(tn_region_index_free(&fixture->index, 0, TN_DEPENDENCY_NONE, &freed));
    assert_true(tn_region_index_free(&fixture->index, 100, one, &freed));
    assert_true(tn_region_index_free(&fixture->index, 150, TN_DEPENDENCY_NONE, &freed));
    expect_sound(fixture);
    uint32_t taken = take_free(fixture, first, 64, 128);
    expect_region(fixture, fixture->index.regions[taken].previous, FREE, 0, 64);
    expect_region(fixture, fixture->index.regions[taken].next, FREE, 192, 448);
    rest(fixture, taken);
    assert_int_equal(fixture->index.pending_chunk_count, 0);
}

static void faults_of_voids_are_found(void **state)
{
    struct fixture *fixture = add_void_span(state, 640);
    uint32_t taken = take_void(fixture, fixture->index.first_void, 64, 64);
    fixture->index.regions[taken].extra = 0;
    expect_span_fault(fixture, "two voids at rest touch");
    expect_fault(fixture, "a void is not in the list of voids");
    fixture->index.regions[taken].extra = 1;
    uint32_t first = fixture->index.first_void, second = fixture->index.regions[first].link;
    fixture->index.first_void = second;
    expect_fault(fixture, "a void is not in the list of voids");
    fixture->index.regions[second].link = first;
    fixture->index.regions[first].link = NONE;
    expect_fault(fixture, "the voids are not in order");
    fixture->index.first_void = taken;
    expect_fault(fixture, "the list of voids holds a region that is not a void");
    fixture->index.first_void = first;
    fixture->index.regions[first].link = second;
    fixture->index.regions[second].link = NONE;
    fixture->index.void_count++;
    expect_fault(fixture, "the counts of the region index are wrong");
    fixture->index.void_count--;
    expect_sound(fixture);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(an_index_without_spans_is_empty),
        TEST(a_span_begins_as_one_free_region),
        TEST(a_span_with_anything_live_is_not_free),
        TEST(spans_that_touch_do_not_join),
        TEST(removing_a_span_leaves_the_others),
        TEST(a_removed_span_leaves_no_trace),
        TEST(the_last_chunk_number_can_be_used),
        TEST(a_cut_front_keeps_the_tails_record),
        TEST(a_carve_that_fits_exactly_takes_the_record),
        TEST(what_lies_before_and_behind_a_carve_stays_free),
        TEST(a_live_region_remembers_its_slack),
        TEST(giants_are_carved_into_giants_and_less),
        TEST(best_fit_is_the_smallest_of_all_spans),
        TEST(among_equals_the_lowest_index_fits_best),
        TEST(the_next_fit_is_the_next_in_size_and_place),
        TEST(a_freed_region_between_live_ones_stays_alone),
        TEST(a_freed_region_joins_the_free_one_before_it),
        TEST(a_freed_region_joins_the_free_one_after_it),
        TEST(a_freed_region_joins_both_its_neighbours),
        TEST(records_that_were_given_back_are_taken_again),
        TEST(freeing_what_is_not_live_changes_nothing),
        TEST(regions_cut_anywhere_are_freed_in_every_order),
        TEST(a_chunk_is_found_in_a_region_of_many_groups),
        TEST(a_chunk_is_found_at_every_edge_of_a_group),
        TEST(a_chunk_is_not_found_in_another_span),
        cmocka_unit_test(without_host_memory_there_is_no_index),
        cmocka_unit_test(a_span_without_host_memory_is_not_added),
        cmocka_unit_test(a_carve_without_host_memory_is_not_made),
        cmocka_unit_test(freeing_never_allocates),
        cmocka_unit_test(spans_become_newer_from_the_last_on_and_older_from_the_first_on),
        cmocka_unit_test(what_is_freed_goes_to_the_side_of_its_span),
        cmocka_unit_test(what_a_carve_leaves_stays_on_its_side),
        cmocka_unit_test(a_span_before_or_after_the_border_leaves_it),
        cmocka_unit_test(a_span_across_the_border_moves_it),
        cmocka_unit_test(what_waits_goes_to_the_side_of_its_span_when_the_work_is_done),
        cmocka_unit_test(without_host_memory_no_span_becomes_newer),
        TEST(there_is_room_to_free_two_of_every_size),
        TEST(a_live_region_costs_few_bytes),
        TEST(random_steps_are_those_of_an_array),
        TEST(random_steps_among_giants_are_those_of_an_array),
        TEST(starts_that_contradict_each_other_are_found),
        TEST(lost_counts_are_found),
        TEST(faults_of_the_free_set_by_size_are_passed_on),
        TEST(a_free_region_that_cannot_be_found_is_found),
        cmocka_unit_test(a_free_region_on_the_wrong_side_of_the_border_is_found),
        TEST(faults_of_the_live_map_are_passed_on),
        TEST(a_live_region_that_cannot_be_found_is_found),
        TEST(a_head_that_is_none_is_found),
        TEST(a_link_to_nowhere_is_found),
        TEST(a_gap_between_regions_is_found),
        TEST(a_record_that_is_no_region_is_found),
        TEST(a_region_of_impossible_size_is_found),
        TEST(a_link_back_that_is_wrong_is_found),
        TEST(free_regions_that_touch_are_found),
        TEST(wrong_starts_are_found),
        TEST(a_span_after_the_last_region_has_starts_of_its_own),
        TEST(regions_that_end_too_early_are_found),
        TEST(a_void_is_neither_found_nor_counted_as_free),
        TEST(what_is_filled_is_free_and_coalesces),
        TEST(what_rests_joins_the_voids_beside_it),
        TEST(what_is_taken_out_of_a_free_region_leaves_the_rest_free),
        TEST(what_is_taken_may_be_of_several_free_regions),
        TEST(faults_of_voids_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
