/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_live_map: finding live regions by their first chunk while the table grows bucket by bucket;
 * compared with an array of all chunks.
 */
#include "core/index/live_map.h"

#include <stdlib.h>

#include "harness/claims.h"
#include "harness/host_memory_faults.h"
#include "harness/random.h"

#define NONE        TN_REGION_NONE
#define BUCKETS_MIN TN_LIVE_MAP_BUCKETS_MIN

enum {
    REGION_COUNT = 2000
};

static struct tn_live_map map;
static struct tn_region regions[REGION_COUNT];

static int setup(void **state)
{
    memset(&map, 0x5a, sizeof map);
    memset(regions, 0x5a, sizeof regions);
    host_memory_faults_begin(0);
    tn_live_map_init(&map);
    assert_true(tn_live_map_reserve(&map, REGION_COUNT));
    return 0;
}

static int teardown(void **state)
{
    tn_live_map_fini(&map);
    assert_int_equal(host_memory_faults_outstanding(), 0);
    host_memory_faults_end();
    return 0;
}

static void expect_sound(void)
{
    const char *fault = tn_live_map_check(&map, regions);
    if (fault) fail_msg("%s", fault);
}

static void insert(uint32_t region, uint32_t first_chunk)
{
    regions[region] = (struct tn_region){ .first_chunk = first_chunk,
                                          .chunk_count = 1,
                                          .state = TN_REGION_STATE_LIVE };
    tn_live_map_insert(&map, regions, region);
}

static void expect_found(uint32_t first_chunk, uint32_t expected)
{
    uint32_t found = tn_live_map_find(&map, regions, first_chunk);
    if (found != expected) fail_msg("at %u: region %u, not %u", first_chunk, found, expected);
}

static void expect_taken(uint32_t first_chunk, uint32_t expected)
{
    uint32_t taken = tn_live_map_take(&map, regions, first_chunk);
    if (taken != expected) fail_msg("at %u: region %u, not %u", first_chunk, taken, expected);
    if (taken != NONE) regions[taken].state = TN_REGION_STATE_FREE;
}

static uint32_t longest_chain(void)
{
    uint32_t longest = 0;
    for (uint32_t bucket = 0; bucket < map.bucket_count; bucket++) {
        uint32_t length = 0;
        for (uint32_t region = map.buckets[bucket]; region != NONE; region = regions[region].link) {
            length++;
        }
        longest = length > longest ? length : longest;
    }
    return longest;
}

/* --- insert, find, take ------------------------------------------------------------------------- */

static void a_map_that_was_never_used_finds_nothing(void **state)
{
    expect_sound();
    assert_int_equal(map.bucket_count, 0);
    assert_int_equal(tn_live_map_metadata_bytes(&map), 0);
    expect_found(0, NONE);
    expect_taken(0, NONE);
}

static void a_region_is_found_until_it_is_taken(void **state)
{
    insert(5, 77);
    expect_sound();
    expect_found(76, NONE);
    expect_found(77, 5);
    expect_found(78, NONE);
    expect_taken(76, NONE);
    assert_int_equal(tn_live_map_live_count(&map), 1);
    expect_taken(77, 5);
    assert_int_equal(tn_live_map_live_count(&map), 0);
    expect_sound();
    expect_found(77, NONE);
    expect_taken(77, NONE);
}

static void the_outermost_chunks_are_found(void **state)
{
    insert(0, 0);
    insert(1, TN_CHUNK_COUNT_MAX - 1);
    expect_sound();
    expect_found(0, 0);
    expect_found(TN_CHUNK_COUNT_MAX - 1, 1);
    expect_taken(0, 0);
    expect_taken(TN_CHUNK_COUNT_MAX - 1, 1);
}

/* First chunks that share a bucket. */
static void regions_of_one_bucket_are_taken_in_any_order(void **state)
{
    static const uint32_t orders[6][3] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
                                           { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };
    for (int i = 0; i < 6; i++) {
        uint32_t chunks[3], count = 0;
        for (uint32_t chunk = 0; count < 3; chunk++) {
            if (tn_live_map_hash_of(chunk) % BUCKETS_MIN == 3) chunks[count++] = chunk;
        }
        for (uint32_t region = 0; region < 3; region++)
            insert(region, chunks[region]);
        assert_int_equal(longest_chain(), 3);
        for (int j = 0; j < 3; j++) {
            expect_sound();
            expect_taken(chunks[orders[i][j]], orders[i][j]);
            expect_found(chunks[orders[i][j]], NONE);
        }
    }
}

/* --- growing bucket by bucket ------------------------------------------------------------------- */

static void each_region_brings_two_buckets(void **state)
{
    for (uint32_t region = 0; region < REGION_COUNT; region++) {
        insert(region, region * 3);
        uint32_t live_count = region + 1;
        uint32_t expected = live_count * 2 < BUCKETS_MIN ? BUCKETS_MIN : live_count * 2;
        assert_int_equal(tn_live_map_live_count(&map), live_count);
        assert_int_equal(map.bucket_count, expected);
        assert_int_equal(tn_live_map_metadata_bytes(&map), expected * 4);
        assert_true(map.mask >= expected - 1);
        assert_true(map.mask / 2 < expected - 1);
        assert_int_equal(map.lower_mask, map.mask / 2);
    }
    assert_true(map.bucket_count > BUCKETS_MIN);
}

static void all_are_found_however_far_the_table_has_split(void **state)
{
    for (uint32_t region = 0; region < 700; region++) {
        insert(region, region * 1000);
        expect_sound();
        for (uint32_t earlier = 0; earlier <= region; earlier++)
            expect_found(earlier * 1000, earlier);
        expect_found(region * 1000 + 1, NONE);
    }
}

static void buckets_stay_when_regions_go(void **state)
{
    for (uint32_t region = 0; region < 400; region++)
        insert(region, region);
    for (uint32_t region = 0; region < 400; region++) {
        expect_taken(region, region);
        expect_sound();
    }
    assert_int_equal(map.bucket_count, 800);
    for (uint32_t region = 0; region < 400; region++)
        insert(region, region + 5000);
    assert_int_equal(map.bucket_count, 800);
    expect_sound();
    insert(400, 6000);
    assert_int_equal(map.bucket_count, 802);
    expect_sound();
}

/* Comparisons of a find, 1000 times the mean, among so many regions at multiples of a distance. */
static uint32_t comparisons_among(uint32_t live_count, uint32_t distance)
{
    for (uint32_t region = 0; region < live_count; region++)
        insert(region, region * distance);
    uint32_t comparisons = 0;
    for (uint32_t bucket = 0; bucket < map.bucket_count; bucket++) {
        uint32_t length = 0;
        for (uint32_t region = map.buckets[bucket]; region != NONE; region = regions[region].link)
            comparisons += ++length;
    }
    for (uint32_t region = 0; region < live_count; region++)
        expect_taken(region * distance, region);
    return comparisons * 1000 / live_count;
}

/* From arrays of 1 KB to arrays of 256 GB, with chunks of 1 KB; what is random takes 1.25 comparisons. */
static void equally_large_regions_do_not_crowd_one_bucket(void **state)
{
    static const uint32_t live_counts[] = { 8, 64, 100, 256, 300, 1000, REGION_COUNT };
    uint32_t total = 0, case_count = 0;
    for (size_t i = 0; i < sizeof live_counts / sizeof live_counts[0]; i++) {
        uint32_t live_count = live_counts[i];
        for (uint32_t odd = 1; odd <= 9; odd += 2) {
            for (unsigned shift = 0; shift <= 28; shift++) {
                if ((uint64_t)live_count * odd << shift > TN_CHUNK_COUNT_MAX) break;
                uint32_t comparisons = comparisons_among(live_count, odd << shift);
                if (comparisons > 3300) {
                    fail_msg("%u at multiples of %u * 2^%u: %u comparisons for 1000 finds",
                             live_count, odd, shift, comparisons);
                }
                total += comparisons;
                case_count++;
            }
        }
    }
    assert_in_range(total / case_count, 1000, 1150);
}

/* --- room --------------------------------------------------------------------------------------- */

static void without_host_memory_there_is_no_room(void **state)
{
    struct tn_live_map fresh;
    tn_live_map_init(&fresh);
    host_memory_faults_begin(1);
    assert_false(tn_live_map_reserve(&fresh, 1));
    assert_int_equal(fresh.bucket_capacity, 0);
    assert_true(tn_live_map_reserve(&fresh, 1));
    tn_live_map_fini(&fresh);
    assert_int_equal(host_memory_faults_outstanding(), 0);
    assert_true(host_memory_faults_end());
}

static void reserving_keeps_what_is_live(void **state)
{
    tn_live_map_init(&map);
    for (uint32_t region = 0; region < 500; region++) {
        assert_true(tn_live_map_reserve(&map, region + 1));
        insert(region, region * 7);
    }
    expect_sound();
    host_memory_faults_begin(1);
    assert_false(tn_live_map_reserve(&map, 100000));
    assert_true(host_memory_faults_end());
    expect_sound();
    for (uint32_t region = 0; region < 500; region++)
        expect_found(region * 7, region);
    tn_live_map_fini(&map);
}

/* Two buckets for each region, which are counted in 32 bits. */
static void room_for_more_regions_than_there_are_is_refused(void **state)
{
    struct tn_live_map fresh;
    tn_live_map_init(&fresh);
    host_memory_faults_begin(1);
    assert_false(tn_live_map_reserve(&fresh, 0x7fffffff));
    assert_true(host_memory_faults_end()); /* was asked for */
    for (uint32_t live_count = 0x80000000; live_count <= 0x80000002; live_count++) {
        bool has_room = tn_live_map_reserve(&fresh, live_count);
        if (has_room) fail_msg("%u buckets for %u regions", fresh.bucket_capacity, live_count);
    }
    assert_false(tn_live_map_reserve(&fresh, UINT32_MAX));
}

static void a_finished_map_is_one_that_was_never_used(void **state)
{
    insert(0, 7);
    tn_live_map_fini(&map);
    expect_found(7, NONE);
    assert_int_equal(tn_live_map_metadata_bytes(&map), 0);
    assert_true(tn_live_map_reserve(&map, 1));
    insert(0, 8);
    expect_found(8, 0);
    expect_sound();
}

static void nothing_but_reserve_allocates(void **state)
{
    host_memory_faults_begin(1);
    for (uint32_t region = 0; region < REGION_COUNT; region++)
        insert(region, region);
    for (uint32_t region = 0; region < REGION_COUNT; region++)
        expect_taken(region, region);
    assert_int_equal(host_memory_faults_outstanding(), 0);
    assert_false(host_memory_faults_end());
    tn_live_map_fini(&map);
    setup(state);
}

/* --- against an array of all chunks ------------------------------------------------------------- */

enum {
    CHUNK_COUNT = 4096
};

/* Which region starts at each chunk, or NONE. */
static uint32_t starts[CHUNK_COUNT];

static void random_step(struct random *random, uint64_t insert_percent)
{
    uint32_t chunk = (uint32_t)random_below(random, CHUNK_COUNT);
    uint32_t region = (uint32_t)random_below(random, REGION_COUNT);
    bool is_unused = regions[region].state != TN_REGION_STATE_LIVE;
    if (random_below(random, 100) >= insert_percent) {
        expect_taken(chunk, starts[chunk]);
        starts[chunk] = NONE;
    } else if (is_unused && starts[chunk] == NONE) {
        insert(region, chunk);
        starts[chunk] = region;
    }
}

static void random_maps_are_those_of_an_array(void **state)
{
    struct random random = random_init(random_seed(6));
    memset(starts, 0xff, sizeof starts);
    for (int step = 0; step < 30000; step++) {
        random_step(&random, step / 5000 % 2 == 0 ? 80 : 30);
        uint32_t chunk = (uint32_t)random_below(&random, CHUNK_COUNT);
        expect_found(chunk, starts[chunk]);
        if (step % 16 == 0) expect_sound();
    }
    expect_sound();
    for (uint32_t chunk = 0; chunk < CHUNK_COUNT; chunk++)
        expect_taken(chunk, starts[chunk]);
    assert_int_equal(tn_live_map_live_count(&map), 0);
}

/* --- the check finds damage --------------------------------------------------------------------- */

static void expect_fault(const char *expected)
{
    const char *fault = tn_live_map_check(&map, regions);
    if (!fault) fail_msg("not found: %s", expected);
    assert_string_equal(fault, expected);
}

static void insert_ten(void)
{
    for (uint32_t region = 0; region < 10; region++)
        insert(region, region * 64);
}

static void a_count_that_is_too_small_is_found(void **state)
{
    insert_ten();
    map.room++;
    expect_fault("the live map holds more regions than it counts");
    map.room += 9;
    expect_fault("the live map holds more regions than it counts");
}

static void a_chain_without_end_is_found(void **state)
{
    insert_ten();
    regions[3].link = 3;
    expect_fault("the live map holds more regions than it counts");
}

static void a_count_that_is_too_large_is_found(void **state)
{
    insert_ten();
    map.room--;
    expect_fault("the live map holds fewer regions than it counts");
}

static void a_region_that_is_not_live_is_found(void **state)
{
    insert_ten();
    regions[7].state = TN_REGION_STATE_FREE;
    expect_fault("a region in the live map is not live");
    regions[7].state = TN_REGION_STATE_UNUSED;
    expect_fault("a region in the live map is not live");
}

static void a_region_in_the_wrong_bucket_is_found(void **state)
{
    insert_ten();
    uint32_t bucket = tn_live_map_bucket_of(&map, regions[4].first_chunk);
    uint32_t elsewhere = 0;
    while (tn_live_map_bucket_of(&map, elsewhere) == bucket)
        elsewhere++;
    regions[4].first_chunk = elsewhere;
    expect_fault("a region is in the wrong bucket of the live map");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(a_map_that_was_never_used_finds_nothing),
        TEST(a_region_is_found_until_it_is_taken),
        TEST(the_outermost_chunks_are_found),
        TEST(regions_of_one_bucket_are_taken_in_any_order),
        TEST(each_region_brings_two_buckets),
        TEST(all_are_found_however_far_the_table_has_split),
        TEST(buckets_stay_when_regions_go),
        TEST(equally_large_regions_do_not_crowd_one_bucket),
        cmocka_unit_test(without_host_memory_there_is_no_room),
        cmocka_unit_test(reserving_keeps_what_is_live),
        cmocka_unit_test(room_for_more_regions_than_there_are_is_refused),
        TEST(a_finished_map_is_one_that_was_never_used),
        TEST(nothing_but_reserve_allocates),
        TEST(random_maps_are_those_of_an_array),
        TEST(a_count_that_is_too_small_is_found),
        TEST(a_chain_without_end_is_found),
        TEST(a_count_that_is_too_large_is_found),
        TEST(a_region_that_is_not_live_is_found),
        TEST(a_region_in_the_wrong_bucket_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
