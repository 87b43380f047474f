/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_size_set: best fit over bins of one region, bins of several and giants, which begin at 16384
 * chunks; compared with looking at every region.
 */
#include "core/index/size_set.h"

#include <stdlib.h>

#include "harness/claims.h"
#include "harness/host_memory_faults.h"
#include "harness/random.h"

#define NONE      TN_REGION_NONE
#define BIN_COUNT TN_SIZE_SET_BIN_COUNT

enum {
    REGION_COUNT = 64
};

/* --- a set with a store of its own ----------------------------------------------------------------- */

static bool set_init(struct tn_size_set *set)
{
    struct tn_key_tree_store *trees = malloc(sizeof *trees);
    assert_non_null(trees);
    tn_key_tree_store_init(trees);
    if (tn_size_set_init(set, trees)) return true;
    free(trees);
    return false;
}

static void set_fini(struct tn_size_set *set)
{
    tn_key_tree_store_fini(set->trees);
    free(set->trees);
    tn_size_set_fini(set);
}

static bool set_reserve(struct tn_size_set *set, uint32_t region_count, uint32_t chunk_count)
{
    return tn_size_set_reserve_trees(set->trees, 1, region_count) &&
           tn_size_set_reserve_giants(set, region_count, chunk_count);
}

static size_t set_metadata_bytes(const struct tn_size_set *set)
{
    return tn_size_set_metadata_bytes(set) + (size_t)set->trees->fresh * 128;
}

static struct tn_size_set set;
static struct tn_region regions[REGION_COUNT];

static int setup(void **state)
{
    memset(&set, 0x5a, sizeof set);
    memset(regions, 0x5a, sizeof regions);
    host_memory_faults_begin(0);
    assert_true(set_init(&set));
    assert_true(set_reserve(&set, REGION_COUNT, REGION_COUNT * BIN_COUNT));
    return 0;
}

static int teardown(void **state)
{
    set_fini(&set);
    assert_int_equal(host_memory_faults_outstanding(), 0);
    host_memory_faults_end();
    return 0;
}

static void expect_sound(void)
{
    const char *fault = tn_size_set_check(&set, regions);
    if (fault) fail_msg("%s", fault);
}

static void insert(uint32_t region, uint32_t chunk_count, uint32_t first_chunk)
{
    regions[region] = (struct tn_region){ .first_chunk = first_chunk,
                                          .chunk_count = chunk_count,
                                          .state = TN_REGION_STATE_FREE };
    tn_size_set_insert(&set, regions, region);
    expect_sound();
}

static void take_out(uint32_t region)
{
    tn_size_set_remove(&set, regions[region].chunk_count, regions[region].first_chunk);
    expect_sound();
}

static void change(uint32_t region, uint32_t chunk_count, uint32_t first_chunk)
{
    struct tn_region *record = &regions[region];
    uint32_t old_chunk_count = record->chunk_count, old_first_chunk = record->first_chunk;
    record->chunk_count = chunk_count;
    record->first_chunk = first_chunk;
    tn_size_set_change(&set, regions, region, old_chunk_count, old_first_chunk);
    expect_sound();
}

static void expect_found(uint32_t chunk_count, uint32_t expected)
{
    uint32_t found = tn_size_set_find(&set, chunk_count);
    if (found != expected) fail_msg("for %u: region %u, not %u", chunk_count, found, expected);
}

/* Of equals any one will do: asked is how large it is. 0: there is none. */
static void expect_largest(uint32_t chunk_count)
{
    uint32_t found = tn_size_set_find_largest(&set);
    assert_int_equal(found == NONE ? 0 : regions[found].chunk_count, chunk_count);
}

/* These regions and no others, in this order. */
static void expect_order(const uint32_t *expected, uint32_t count)
{
    assert_int_equal(set.region_count, count);
    uint32_t found = tn_size_set_find(&set, 1);
    for (uint32_t i = 0; i < count; i++) {
        if (found != expected[i]) fail_msg("place %u: region %u, not %u", i, found, expected[i]);
        const struct tn_region *record = &regions[found];
        found = tn_size_set_find_after(&set, regions, record->chunk_count, record->first_chunk);
    }
    assert_int_equal(found, NONE);
    expect_largest(count > 0 ? regions[expected[count - 1]].chunk_count : 0);
}

/* --- finding ------------------------------------------------------------------------------------ */

static void an_empty_set_finds_nothing(void **state)
{
    expect_sound();
    expect_order(NULL, 0);
    expect_found(1, NONE);
    expect_found(BIN_COUNT - 1, NONE);
    expect_found(BIN_COUNT, NONE);
    expect_found(BIN_COUNT + 1, NONE);
    expect_found(TN_CHUNK_COUNT_MAX, NONE);
}

static void the_smallest_that_is_large_enough_is_found(void **state)
{
    insert(0, 100, 0);
    insert(1, 5, 200);
    insert(2, 64, 300);
    expect_found(1, 1);
    expect_found(5, 1);
    expect_found(6, 2);
    expect_found(63, 2);
    expect_found(64, 2);
    expect_found(65, 0);
    expect_found(100, 0);
    expect_found(101, NONE);
    expect_order((uint32_t[]){ 1, 2, 0 }, 3);
}

static void giants_follow_the_largest_bin(void **state)
{
    insert(0, BIN_COUNT, 0);
    insert(1, BIN_COUNT - 1, 100000);
    insert(2, BIN_COUNT + 1, 200000);
    insert(3, BIN_COUNT - 2, 300000);
    assert_int_equal(set.giant_count, 2);
    expect_found(1, 3);
    expect_found(BIN_COUNT - 2, 3);
    expect_found(BIN_COUNT - 1, 1);
    expect_found(BIN_COUNT, 0);
    expect_found(BIN_COUNT + 1, 2);
    expect_found(BIN_COUNT + 2, NONE);
    expect_order((uint32_t[]){ 3, 1, 0, 2 }, 4);
}

/* Three equal ones, inserted in this order of their first chunks. */
static void expect_lowest_first(uint32_t chunk_count, const uint32_t *order)
{
    for (uint32_t i = 0; i < 3; i++)
        insert(order[i], chunk_count, order[i] * 100000);
    expect_found(chunk_count, 0);
    expect_order((uint32_t[]){ 0, 1, 2 }, 3);
    for (uint32_t i = 0; i < 3; i++)
        take_out(order[i]);
    expect_order(NULL, 0);
}

static void among_equals_the_lowest_chunk_comes_first(void **state)
{
    static const uint32_t orders[6][3] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
                                           { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };
    static const uint32_t counts[] = { 1, 2, 7, BIN_COUNT - 1, BIN_COUNT, BIN_COUNT + 1, 99999 };
    for (int i = 0; i < 6; i++) {
        for (size_t j = 0; j < sizeof counts / sizeof counts[0]; j++)
            expect_lowest_first(counts[j], orders[i]);
    }
}

static void the_order_goes_through_bins_trees_and_giants(void **state)
{
    insert(9, 50000, 0);
    insert(8, 20000, 600000);
    insert(7, 20000, 500000);
    insert(6, 9000, 99);
    insert(5, 3, 300);
    insert(4, 3, 200);
    insert(3, 3, 100);
    insert(2, 2, 1000);
    insert(1, 1, 7000);
    insert(0, 1, 4000);
    expect_order((uint32_t[]){ 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 }, 10);
}

static void the_largest_is_found_among_bins_trees_and_giants(void **state)
{
    insert(0, 5, 0);
    expect_largest(5);
    insert(1, 4, 100);
    expect_largest(5);
    insert(2, 5, 200);
    expect_largest(5);
    insert(3, BIN_COUNT - 1, 300);
    expect_largest(BIN_COUNT - 1);
    insert(4, BIN_COUNT, 20000);
    expect_largest(BIN_COUNT);
    insert(5, BIN_COUNT + 1, 40000);
    expect_largest(BIN_COUNT + 1);
    take_out(5);
    expect_largest(BIN_COUNT);
    take_out(4);
    expect_largest(BIN_COUNT - 1);
}

static void the_outermost_chunks_have_their_place(void **state)
{
    insert(0, 1, TN_CHUNK_COUNT_MAX - 1);
    insert(1, 1, 0);
    expect_order((uint32_t[]){ 1, 0 }, 2);
    take_out(1);
    take_out(0);
    insert(2, TN_CHUNK_COUNT_MAX, 0);
    expect_found(TN_CHUNK_COUNT_MAX - 1, 2);
    expect_found(TN_CHUNK_COUNT_MAX, 2);
    expect_order((uint32_t[]){ 2 }, 1);
}

/* --- bins --------------------------------------------------------------------------------------- */

static void a_bin_of_one_needs_no_tree(void **state)
{
    insert(7, 5, 100);
    assert_int_equal(set.bins->contents[5], 7);
    assert_int_equal(set.trees->used_count, 0);
    insert(8, 5, 200);
    assert_true(set.bins->contents[5] & TN_SIZE_SET_IS_TREE);
    assert_int_equal(set.trees->used_count, 1);
}

static void expect_back_to_one(uint32_t first_out, uint32_t left)
{
    insert(first_out, 5, first_out * 100);
    insert(left, 5, left * 100);
    take_out(first_out);
    assert_int_equal(set.bins->contents[5], left);
    assert_int_equal(set.trees->used_count, 0);
    expect_order(&left, 1);
    take_out(left);
    expect_found(1, NONE);
}

static void a_bin_that_falls_to_one_gives_its_tree_back(void **state)
{
    expect_back_to_one(1, 2);
    expect_back_to_one(2, 1);
}

static void an_emptied_bin_can_be_filled_again(void **state)
{
    for (uint32_t round = 0; round < 3; round++) {
        for (uint32_t region = 0; region < 20; region++)
            insert(region, 16383, region * 20000);
        for (uint32_t region = 0; region < 20; region++) {
            expect_found(1, region);
            take_out(region);
        }
        expect_order(NULL, 0);
    }
}

/* --- change ------------------------------------------------------------------------------------- */

static void a_region_changes_between_bins_and_giants(void **state)
{
    insert(0, 10, 1000000);
    insert(1, BIN_COUNT, 0);
    change(0, 11, 1000000); /* bin to bin */
    expect_found(11, 0);
    change(0, 11, 1000001); /* the same bin, elsewhere */
    expect_found(11, 0);
    change(0, BIN_COUNT, 1000000); /* bin to giants */
    expect_order((uint32_t[]){ 1, 0 }, 2);
    change(0, BIN_COUNT - 1, 1000000); /* giants to bin */
    expect_order((uint32_t[]){ 0, 1 }, 2);
    change(1, BIN_COUNT - 1, 0);
    expect_order((uint32_t[]){ 1, 0 }, 2);
    assert_int_equal(set.giant_count, 0);
}

static void a_region_changes_within_a_tree(void **state)
{
    insert(0, 10, 100);
    insert(1, 10, 200);
    insert(2, 10, 300);
    change(0, 10, 250);
    expect_order((uint32_t[]){ 1, 0, 2 }, 3);
    change(2, 10, 1);
    expect_order((uint32_t[]){ 2, 1, 0 }, 3);
}

static void insert_three_giants(void)
{
    insert(0, 20000, 0);
    insert(1, 30000, 100000);
    insert(2, 40000, 200000);
}

static void a_giant_that_keeps_its_place_is_changed_there(void **state)
{
    insert_three_giants();
    change(0, BIN_COUNT, 5);
    change(1, 20000, 100000);
    change(1, 39999, 100000);
    change(2, 40000, 200001);
    change(2, 39999, 200002);
    change(2, TN_CHUNK_COUNT_MAX, 200000);
    expect_order((uint32_t[]){ 0, 1, 2 }, 3);
}

static void a_giant_that_overtakes_others_moves(void **state)
{
    insert_three_giants();
    change(0, 30001, 0);
    expect_order((uint32_t[]){ 1, 0, 2 }, 3);
    change(2, 30000, 99999);
    expect_order((uint32_t[]){ 2, 1, 0 }, 3);
    change(2, 50000, 200000);
    expect_order((uint32_t[]){ 1, 0, 2 }, 3);
    change(2, 30000, 1);
    change(0, 30000, 0);
    expect_order((uint32_t[]){ 0, 2, 1 }, 3);
}

/* The first of three giants, and of one, cut and grown to each edge of its place. */
static void the_first_giant_is_found_whatever_becomes_of_it(void **state)
{
    for (uint32_t others = 0; others <= 2; others += 2) {
        insert(0, 20000, 100000);
        if (others > 0) insert(1, 30000, 500000);
        if (others > 0) insert(2, 30000, 600000);
        change(0, 20001, 99999);
        change(0, BIN_COUNT, 99999);
        expect_found(1, 0);
        expect_found(BIN_COUNT - 1, 0);
        expect_found(BIN_COUNT, 0);
        expect_found(BIN_COUNT + 1, others > 0 ? 1 : NONE);
        change(0, BIN_COUNT - 1, 99999);
        expect_found(BIN_COUNT - 1, 0);
        expect_found(BIN_COUNT, others > 0 ? 1 : NONE);
        change(0, BIN_COUNT + 1, 99999);
        expect_found(1, 0);
        change(0, 29999, 600001);
        change(0, 30000, 499999);
        expect_found(1, 0);
        change(0, 30000, 500001);
        expect_found(1, others > 0 ? 1 : 0);
        change(0, 30000, 600001);
        expect_found(30000, others > 0 ? 1 : 0);
        expect_found(30001, NONE);
        take_out(0);
        expect_found(1, others > 0 ? 1 : NONE);
        if (others > 0) take_out(1);
        if (others > 0) take_out(2);
        expect_order(NULL, 0);
    }
}

/* --- room --------------------------------------------------------------------------------------- */

static void without_host_memory_there_is_no_set(void **state)
{
    unsigned failures = 0;
    for (unsigned n = 1;; n++) {
        struct tn_size_set fresh;
        host_memory_faults_begin(n);
        bool is_there = set_init(&fresh);
        assert_int_equal(is_there, host_memory_faults_outstanding() > 0);
        if (is_there) set_fini(&fresh);
        assert_int_equal(host_memory_faults_outstanding(), 0);
        if (!host_memory_faults_end()) break;
        assert_false(is_there);
        failures++;
    }
    assert_int_equal(failures, 1);
}

/* A set of two trees and a giant, whose reserve for more fails at the n-th allocation. */
static bool reserve_fails_at(unsigned n)
{
    assert_true(set_init(&set));
    assert_true(set_reserve(&set, 5, BIN_COUNT));
    insert(0, 1, 10);
    insert(1, 1, 20);
    insert(2, BIN_COUNT, 30);
    host_memory_faults_begin(n);
    bool has_room = set_reserve(&set, 1000, 1000 * BIN_COUNT);
    bool has_failed = host_memory_faults_end();
    assert_int_equal(has_room, !has_failed);
    expect_sound();
    expect_order((uint32_t[]){ 0, 1, 2 }, 3);
    assert_true(set_reserve(&set, 1000, 1000 * BIN_COUNT));
    expect_order((uint32_t[]){ 0, 1, 2 }, 3);
    set_fini(&set);
    return has_failed;
}

static void reserving_without_host_memory_keeps_the_set(void **state)
{
    unsigned n = 1;
    while (reserve_fails_at(n))
        n++;
    assert_int_equal(n, 3); /* the trees, the giants, and then none */
}

static void nothing_but_reserve_allocates(void **state)
{
    assert_false(host_memory_faults_end());
    host_memory_faults_begin(1);
    for (uint32_t region = 0; region < REGION_COUNT; region++)
        insert(region, 1 + region % 2 * BIN_COUNT, region * 20000);
    for (uint32_t region = 0; region < REGION_COUNT; region++)
        take_out(region);
    assert_false(host_memory_faults_end());
    set_fini(&set);
    setup(state);
}

static void metadata_is_what_is_taken_not_what_is_reserved(void **state)
{
    size_t empty_bytes = set_metadata_bytes(&set);
    assert_int_equal(empty_bytes, 16384 * 4 + 8 + (256 + 1 + 4 + 1) * 8);
    assert_true(set_reserve(&set, 10000, 10000 * BIN_COUNT));
    assert_int_equal(set_metadata_bytes(&set), empty_bytes);
    insert(0, 1, 0);
    assert_int_equal(set_metadata_bytes(&set), empty_bytes);
    insert(1, 1, 10); /* a tree */
    assert_int_equal(set_metadata_bytes(&set), empty_bytes + 128);
    insert(2, BIN_COUNT, 20);
    assert_int_equal(set_metadata_bytes(&set), empty_bytes + 128 + sizeof(struct tn_giant));
}

static void no_more_is_reserved_than_can_be_needed(void **state)
{
    struct tn_size_set fresh;
    assert_true(set_init(&fresh));
    assert_true(set_reserve(&fresh, 60, BIN_COUNT - 1));
    assert_int_equal(fresh.giant_capacity, 0);
    assert_true(set_reserve(&fresh, 60, 60 * BIN_COUNT - 1));
    assert_int_equal(fresh.trees->capacity, 30);
    assert_int_equal(fresh.giant_capacity, 59 + 1);
    assert_true(set_reserve(&fresh, 80000, 70 * BIN_COUNT));
    assert_int_equal(fresh.trees->capacity, 80000 / 4 + BIN_COUNT);
    assert_int_equal(fresh.giant_capacity, 70 + 1);
    assert_true(set_reserve(&fresh, 80, UINT32_MAX));
    assert_int_equal(fresh.giant_capacity, 80 + 1);
    set_fini(&fresh);
}

static void the_last_giant_that_there_is_room_for_can_change(void **state)
{
    assert_true(set_init(&set));
    assert_true(set_reserve(&set, 16, 16 * BIN_COUNT));
    assert_int_equal(set.giant_capacity, 16 + 1);
    for (uint32_t region = 0; region < 16; region++)
        insert(region, BIN_COUNT + region, region * 20000);
    change(15, BIN_COUNT + 16, 300000);
    change(15, BIN_COUNT, 1);
    change(14, BIN_COUNT + 15, 280000);
    expect_largest(BIN_COUNT + 15);
    set_fini(&set);
}

/* --- against looking at every region ------------------------------------------------------------ */

/* As many regions as one likes; those in the set are free, the others unused. */
struct crowd {
    struct tn_size_set set;
    struct tn_region *regions;
    uint32_t capacity;
    uint64_t chunk_count; /* of all that are free */
};

static struct crowd new_crowd(uint32_t capacity)
{
    struct crowd crowd = { .capacity = capacity };
    assert_true(set_init(&crowd.set));
    crowd.regions = test_calloc(capacity, sizeof *crowd.regions);
    assert_non_null(crowd.regions);
    return crowd;
}

static void fini_crowd(struct crowd *crowd)
{
    set_fini(&crowd->set);
    test_free(crowd->regions);
}

/* What size_set.c says that so many regions can take; a set that takes more writes beyond its room. */
static void expect_nodes_within_bound(const struct crowd *crowd)
{
    uint32_t count = crowd->set.region_count;
    uint32_t half = count / 2, quarter = count / 4 + BIN_COUNT;
    uint32_t bound = half < quarter ? half : quarter;
    if (crowd->set.trees->used_count > bound) {
        fail_msg("%u regions take %u nodes, more than %u", count, crowd->set.trees->used_count,
                 bound);
    }
}

static void add_to_crowd(struct crowd *crowd, uint32_t region, uint32_t chunk_count,
                         uint32_t first_chunk)
{
    crowd->chunk_count += chunk_count;
    assert_true(
        set_reserve(&crowd->set, crowd->set.region_count + 1, (uint32_t)crowd->chunk_count));
    crowd->regions[region] = (struct tn_region){ .first_chunk = first_chunk,
                                                 .chunk_count = chunk_count,
                                                 .state = TN_REGION_STATE_FREE };
    tn_size_set_insert(&crowd->set, crowd->regions, region);
    expect_nodes_within_bound(crowd);
}

static void remove_from_crowd(struct crowd *crowd, uint32_t region)
{
    struct tn_region *record = &crowd->regions[region];
    crowd->chunk_count -= record->chunk_count;
    tn_size_set_remove(&crowd->set, record->chunk_count, record->first_chunk);
    record->state = TN_REGION_STATE_UNUSED;
    expect_nodes_within_bound(crowd);
}

static void change_in_crowd(struct crowd *crowd, uint32_t region, uint32_t chunk_count,
                            uint32_t first_chunk)
{
    struct tn_region *record = &crowd->regions[region];
    uint32_t old_chunk_count = record->chunk_count, old_first_chunk = record->first_chunk;
    crowd->chunk_count += chunk_count;
    assert_true(set_reserve(&crowd->set, crowd->set.region_count, (uint32_t)crowd->chunk_count));
    crowd->chunk_count -= old_chunk_count;
    record->chunk_count = chunk_count;
    record->first_chunk = first_chunk;
    tn_size_set_change(&crowd->set, crowd->regions, region, old_chunk_count, old_first_chunk);
    expect_nodes_within_bound(crowd);
}

static bool is_before(const struct tn_region *a, const struct tn_region *b)
{
    return a->chunk_count < b->chunk_count ||
           (a->chunk_count == b->chunk_count && a->first_chunk < b->first_chunk);
}

/* The first in the order that is at least this large and lies at least here. */
static uint32_t naive_find(const struct crowd *crowd, uint32_t chunk_count, uint32_t first_chunk)
{
    const struct tn_region least = { .first_chunk = first_chunk, .chunk_count = chunk_count };
    uint32_t found = NONE;
    for (uint32_t region = 0; region < crowd->capacity; region++) {
        const struct tn_region *record = &crowd->regions[region];
        if (record->state != TN_REGION_STATE_FREE || is_before(record, &least)) continue;
        if (found == NONE || is_before(record, &crowd->regions[found])) found = region;
    }
    return found;
}

static void expect_same_as_naive(const struct crowd *crowd, uint32_t chunk_count)
{
    uint32_t expected = naive_find(crowd, chunk_count, 0);
    uint32_t found = tn_size_set_find(&crowd->set, chunk_count);
    if (found != expected) fail_msg("for %u: region %u, not %u", chunk_count, found, expected);
    if (found == NONE) return;
    const struct tn_region *record = &crowd->regions[found];
    /* Also from before it, where no region need be. */
    for (uint32_t before = 0; before < 2 && before <= record->first_chunk; before++) {
        uint32_t first_chunk = record->first_chunk - before;
        uint32_t after =
            tn_size_set_find_after(&crowd->set, crowd->regions, record->chunk_count, first_chunk);
        expected = naive_find(crowd, record->chunk_count, first_chunk + 1);
        if (after != expected) {
            fail_msg("after %u chunks at %u: region %u, not %u", record->chunk_count, first_chunk,
                     after, expected);
        }
    }
}

/* Crowded bins, few in a bin, the edge to the giants, giants. */
static uint32_t random_chunk_count(struct random *random)
{
    switch (random_below(random, 4)) {
    case 0:
        return 1 + (uint32_t)random_below(random, 3);
    case 1:
        return 1 + (uint32_t)random_below(random, 1000);
    case 2:
        return BIN_COUNT - 2 + (uint32_t)random_below(random, 4);
    default:
        return BIN_COUNT + (uint32_t)random_below(random, 5000);
    }
}

/* No two regions lie at the same place, and their numbers say nothing about their order. */
static uint32_t random_first_chunk(struct random *random, uint32_t region)
{
    uint32_t place = region * 0x9E3779B1U & 0x1ffffff;
    return place * 64 + (uint32_t)random_below(random, 64);
}

static void random_step(struct crowd *crowd, struct random *random, uint64_t insert_percent)
{
    uint32_t region = (uint32_t)random_below(random, crowd->capacity);
    uint32_t chunk_count = random_chunk_count(random);
    uint32_t first_chunk = random_first_chunk(random, region);
    bool is_free = crowd->regions[region].state == TN_REGION_STATE_FREE;
    bool is_adding = random_below(random, 100) < insert_percent;
    if (!is_free && is_adding) {
        add_to_crowd(crowd, region, chunk_count, first_chunk);
    } else if (is_free && is_adding) {
        change_in_crowd(crowd, region, chunk_count, first_chunk);
    } else if (is_free) {
        remove_from_crowd(crowd, region);
    }
}

static void compare_random_steps(struct random *random, uint32_t capacity, int step_count)
{
    struct crowd crowd = new_crowd(capacity);
    for (int step = 0; step < step_count; step++) {
        random_step(&crowd, random, step / (int)capacity % 3 == 2 ? 30 : 70);
        expect_same_as_naive(&crowd, random_chunk_count(random));
        if (step % 8 == 0) assert_null(tn_size_set_check(&crowd.set, crowd.regions));
    }
    for (uint32_t region = 0; region < capacity; region++) {
        if (crowd.regions[region].state == TN_REGION_STATE_FREE) remove_from_crowd(&crowd, region);
    }
    assert_int_equal(crowd.set.region_count, 0);
    assert_int_equal(crowd.set.trees->used_count, 0);
    fini_crowd(&crowd);
}

static void random_sets_are_those_of_a_linear_search(void **state)
{
    struct random random = random_init(random_seed(5));
    compare_random_steps(&random, 4, 500);
    compare_random_steps(&random, 50, 1500);
    compare_random_steps(&random, 3000, 9000);
}

/* Two in every bin take as many nodes as half the regions; many in one bin, placed in ascending
 * order, less than a quarter of them. */
static void the_nodes_stay_within_what_reserve_reckons(void **state)
{
    enum {
        MANY = 60000
    };
    struct crowd crowd = new_crowd(MANY);
    uint32_t region = 0;
    for (uint32_t bin = 1; bin < BIN_COUNT; bin++) {
        add_to_crowd(&crowd, region, bin, region * 2);
        add_to_crowd(&crowd, region + 1, bin, region * 2 + 1);
        region += 2;
    }
    assert_int_equal(crowd.set.trees->used_count, crowd.set.region_count / 2);
    for (; region < MANY; region++)
        add_to_crowd(&crowd, region, 3, region * 2);
    assert_null(tn_size_set_check(&crowd.set, crowd.regions));
    for (region = 0; region < MANY; region++)
        remove_from_crowd(&crowd, region);
    assert_int_equal(crowd.set.trees->used_count, 0);
    fini_crowd(&crowd);
}

/* --- the check finds damage --------------------------------------------------------------------- */

static void expect_fault(const char *expected)
{
    const char *fault = tn_size_set_check(&set, regions);
    if (!fault) fail_msg("not found: %s", expected);
    assert_string_equal(fault, expected);
}

/* Regions 0, 1 and 2 in a tree, 3 alone in a bin, 4 and 5 giants. */
static void insert_six(void)
{
    for (uint32_t region = 0; region < 3; region++)
        insert(region, 10, 100 + 10 * region);
    insert(3, 20, 200);
    insert(4, 20000, 20000);
    insert(5, 30000, 50000);
}

static void bits_that_contradict_each_other_are_found(void **state)
{
    insert_six();
    set.bins->filled.upper[3] = 1;
    expect_fault("the bins' bit table is inconsistent");
}

static void a_damaged_key_tree_is_found(void **state)
{
    insert_six();
    uint32_t root = set.bins->contents[10] - TN_SIZE_SET_IS_TREE;
    set.trees->nodes[root].count = 0;
    expect_fault("a key tree of the free set by size is damaged");
}

static void a_key_tree_of_one_is_found(void **state)
{
    insert_six();
    take_out(3);
    uint32_t root = tn_key_tree_create(set.trees, 200, 3);
    set.bins->contents[20] = TN_SIZE_SET_IS_TREE + root;
    tn_bit_table_set(&set.bins->filled, 20);
    set.region_count++;
    expect_fault("a key tree of the free set by size holds fewer than two regions");
}

static void a_region_that_is_not_free_is_found(void **state)
{
    insert_six();
    const char *fault = "a region in the free set by size is not free";
    regions[3].state = TN_REGION_STATE_LIVE;
    expect_fault(fault);
    regions[3].state = TN_REGION_STATE_FREE;
    regions[1].state = TN_REGION_STATE_UNUSED;
    expect_fault(fault);
}

static void a_region_in_the_wrong_bin_is_found(void **state)
{
    insert_six();
    const char *fault = "a region is in the wrong bin of the free set by size";
    regions[3].chunk_count = 21;
    expect_fault(fault);
    regions[3].chunk_count = 20;
    regions[2].chunk_count = 9;
    expect_fault(fault);
}

static void a_lost_count_is_found(void **state)
{
    insert_six();
    set.region_count++;
    expect_fault("the count of the free set by size is wrong");
    set.region_count -= 2;
    expect_fault("the count of the free set by size is wrong");
}

static void a_giant_that_has_changed_is_found(void **state)
{
    insert_six();
    const char *fault = "a giant in the free set by size does not match its region";
    regions[4].state = TN_REGION_STATE_LIVE;
    expect_fault(fault);
    regions[4].state = TN_REGION_STATE_FREE;
    regions[4].chunk_count++;
    expect_fault(fault);
    regions[4].chunk_count--;
    regions[4].first_chunk++;
    expect_fault(fault);
    regions[4].chunk_count = BIN_COUNT - 1; /* belongs to a bin */
    set.giants[0].key = (uint64_t)(BIN_COUNT - 1) << 32 | regions[4].first_chunk;
    expect_fault(fault);
}

static void giants_that_do_not_ascend_are_found(void **state)
{
    insert_six();
    struct tn_giant first = set.giants[0];
    set.giants[0] = set.giants[1];
    set.giants[1] = first;
    expect_fault("the giants of the free set by size do not ascend");
    set.giants[1] = set.giants[0]; /* one twice */
    expect_fault("the giants of the free set by size do not ascend");
}

static void giants_without_end_are_found(void **state)
{
    insert_six();
    set.giants[2].key = (uint64_t)40000 << 32;
    expect_fault("the giants of the free set by size have no end mark");
}

static void another_first_giant_is_found(void **state)
{
    insert_six();
    set.bins->contents[BIN_COUNT] = 5;
    expect_fault("the first giant of the free set by size is wrong");
    set.bins->contents[BIN_COUNT] = NONE;
    expect_fault("the first giant of the free set by size is wrong");
}

static void a_key_that_is_not_the_regions_first_chunk_is_found(void **state)
{
    insert_six();
    for (uint32_t region = 0; region < 3; region++) {
        uint32_t first_chunk = regions[region].first_chunk;
        for (uint32_t wrong = 95; wrong <= 125; wrong += 5) {
            if (wrong == first_chunk) continue;
            regions[region].first_chunk = wrong;
            expect_fault("a region has a wrong key in the free set by size");
        }
        regions[region].first_chunk = first_chunk;
        expect_sound();
    }
}

/* One of three keys leads to the region of the next key. */
static void expect_twice(uint32_t slot, const char *fault)
{
    uint32_t root = set.bins->contents[10] - TN_SIZE_SET_IS_TREE;
    uint32_t *links = set.trees->nodes[root].links, region = links[slot];
    links[slot] = links[(slot + 1) % 3];
    expect_fault(fault);
    links[slot] = region;
    expect_sound();
}

static void a_region_that_stands_twice_in_a_tree_is_found(void **state)
{
    insert_six();
    expect_twice(0, "a region is twice in the free set by size");
    expect_twice(1, "a region is twice in the free set by size");
    expect_twice(2, "a region has a wrong key in the free set by size");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(an_empty_set_finds_nothing),
        TEST(the_smallest_that_is_large_enough_is_found),
        TEST(giants_follow_the_largest_bin),
        TEST(among_equals_the_lowest_chunk_comes_first),
        TEST(the_order_goes_through_bins_trees_and_giants),
        TEST(the_largest_is_found_among_bins_trees_and_giants),
        TEST(the_outermost_chunks_have_their_place),
        TEST(a_bin_of_one_needs_no_tree),
        TEST(a_bin_that_falls_to_one_gives_its_tree_back),
        TEST(an_emptied_bin_can_be_filled_again),
        TEST(a_region_changes_between_bins_and_giants),
        TEST(a_region_changes_within_a_tree),
        TEST(a_giant_that_keeps_its_place_is_changed_there),
        TEST(a_giant_that_overtakes_others_moves),
        TEST(the_first_giant_is_found_whatever_becomes_of_it),
        cmocka_unit_test(without_host_memory_there_is_no_set),
        cmocka_unit_test(reserving_without_host_memory_keeps_the_set),
        TEST(nothing_but_reserve_allocates),
        TEST(metadata_is_what_is_taken_not_what_is_reserved),
        cmocka_unit_test(no_more_is_reserved_than_can_be_needed),
        cmocka_unit_test(the_last_giant_that_there_is_room_for_can_change),
        cmocka_unit_test(random_sets_are_those_of_a_linear_search),
        cmocka_unit_test(the_nodes_stay_within_what_reserve_reckons),
        TEST(bits_that_contradict_each_other_are_found),
        TEST(a_damaged_key_tree_is_found),
        TEST(a_key_tree_of_one_is_found),
        TEST(a_region_that_is_not_free_is_found),
        TEST(a_region_in_the_wrong_bin_is_found),
        TEST(a_lost_count_is_found),
        TEST(a_giant_that_has_changed_is_found),
        TEST(giants_that_do_not_ascend_are_found),
        TEST(giants_without_end_are_found),
        TEST(another_first_giant_is_found),
        TEST(a_key_that_is_not_the_regions_first_chunk_is_found),
        TEST(a_region_that_stands_twice_in_a_tree_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
