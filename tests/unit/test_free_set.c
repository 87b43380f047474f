/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_free_set: every placement policy, compared with looking at every region: a request is offered what
 * is large enough, each region once, in the order that the policy promises.
 */
#include "core/index/free_set.h"

#include <stdlib.h>

#include "harness/claims.h"
#include "harness/host_memory_faults.h"
#include "harness/random.h"

#define NONE TN_REGION_NONE

enum {
    FIT_COUNT = 4,
    SET_COUNT = 2,
    CAPACITY_MAX = 3000
};

/* --- regions that do not overlap, in sets --------------------------------------------------------- */

/* Region i lies in slot i, of slot_chunks chunks; where the slots lie, `places` says. */
struct crowd {
    tarn_fit fit;
    struct tn_key_tree_store trees;
    struct tn_free_nodes nodes;
    struct tn_free_set sets[SET_COUNT];
    uint32_t capacity;
    uint32_t slot_chunks;
    uint32_t places[CAPACITY_MAX];
    struct tn_region regions[CAPACITY_MAX];
    unsigned set_of[CAPACITY_MAX];
    uint64_t freed_at[CAPACITY_MAX]; /* as the policy has it */
    uint64_t now;
};

static bool crowd_reserve(struct crowd *crowd, uint32_t capacity)
{
    for (unsigned set = 0; set < SET_COUNT; set++) {
        if (!tn_free_set_reserve(&crowd->sets[set], SET_COUNT, capacity,
                                 capacity * crowd->slot_chunks, capacity))
            return false;
    }
    return true;
}

static void crowd_fini(struct crowd *crowd)
{
    for (unsigned set = 0; set < SET_COUNT; set++) {
        if (crowd->sets[set].is_there) tn_free_set_fini(&crowd->sets[set]);
    }
    tn_key_tree_store_fini(&crowd->trees);
    tn_free_nodes_fini(&crowd->nodes);
}

static bool crowd_init(struct crowd *crowd, tarn_fit fit, uint32_t capacity, uint32_t slot_chunks)
{
    memset(crowd, 0, sizeof *crowd);
    crowd->fit = fit;
    crowd->capacity = capacity;
    crowd->slot_chunks = slot_chunks;
    for (uint32_t i = 0; i < capacity; i++)
        crowd->places[i] = i;
    tn_key_tree_store_init(&crowd->trees);
    tn_free_nodes_init(&crowd->nodes);
    for (unsigned set = 0; set < SET_COUNT; set++) {
        if (tn_free_set_init(&crowd->sets[set], fit, &crowd->trees, &crowd->nodes)) continue;
        assert_false(crowd->sets[set].is_there);
        crowd_fini(crowd);
        return false;
    }
    if (crowd_reserve(crowd, capacity)) return true;
    crowd_fini(crowd);
    return false;
}

static struct crowd *new_crowd(tarn_fit fit, uint32_t capacity, uint32_t slot_chunks)
{
    static struct crowd crowd;
    assert_true(crowd_init(&crowd, fit, capacity, slot_chunks));
    return &crowd;
}

static bool is_free(const struct crowd *crowd, uint32_t region)
{
    return crowd->regions[region].state == TN_REGION_STATE_FREE;
}

static void expect_sound(const struct crowd *crowd)
{
    for (unsigned set = 0; set < SET_COUNT; set++) {
        const char *fault = tn_free_set_check(&crowd->sets[set], crowd->regions);
        if (fault) fail_msg("%s: %s", tn_fit_name(crowd->fit), fault);
    }
}

static void insert(struct crowd *crowd, unsigned set, uint32_t region, uint32_t lead,
                   uint32_t chunk_count)
{
    assert_true(lead + chunk_count <= crowd->slot_chunks && !is_free(crowd, region));
    crowd->regions[region] = (struct tn_region){
        .first_chunk = crowd->places[region] * crowd->slot_chunks + lead,
        .chunk_count = chunk_count,
        .state = TN_REGION_STATE_FREE,
    };
    crowd->set_of[region] = set;
    crowd->freed_at[region] = crowd->now++;
    tn_free_set_insert(&crowd->sets[set], crowd->regions, region);
}

/* The record says something else before the set is told, as when a region is cut. */
static void take_out(struct crowd *crowd, uint32_t region, uint32_t lead, uint32_t chunk_count)
{
    struct tn_region old = crowd->regions[region];
    struct tn_region *r = &crowd->regions[region];
    r->first_chunk = crowd->places[region] * crowd->slot_chunks + lead;
    r->chunk_count = chunk_count;
    tn_free_set_remove(&crowd->sets[crowd->set_of[region]], crowd->regions, region, old.chunk_count,
                       old.first_chunk);
    r->state = TN_REGION_STATE_LIVE;
}

static void remove_region(struct crowd *crowd, uint32_t region)
{
    uint32_t first = crowd->regions[region].first_chunk;
    take_out(crowd, region, first - crowd->places[region] * crowd->slot_chunks,
             crowd->regions[region].chunk_count);
}

/* --- classes, by counting ------------------------------------------------------------------------- */

static uint32_t classes_an_octave(tarn_fit fit)
{
    return fit == TARN_FIT_TLSF ? 32 : fit == TARN_FIT_SEGREGATED ? 1 : 0;
}

/* The least count of the class that a count is in. */
static uint32_t class_start(tarn_fit fit, uint32_t chunk_count)
{
    uint32_t octave = 1, classes = classes_an_octave(fit);
    while (octave <= chunk_count / 2)
        octave *= 2;
    uint32_t width = octave > classes ? octave / classes : 1;
    return octave + (chunk_count - octave) / width * width;
}

static void change(struct crowd *crowd, uint32_t region, uint32_t lead, uint32_t chunk_count)
{
    struct tn_region *r = &crowd->regions[region], old = *r;
    r->first_chunk = crowd->places[region] * crowd->slot_chunks + lead;
    r->chunk_count = chunk_count;
    bool stays = classes_an_octave(crowd->fit) > 0 &&
                 class_start(crowd->fit, chunk_count) == class_start(crowd->fit, old.chunk_count);
    if (!stays) crowd->freed_at[region] = crowd->now++;
    tn_free_set_change(&crowd->sets[crowd->set_of[region]], crowd->regions, region, old.chunk_count,
                       old.first_chunk);
}

/* --- the naive order ------------------------------------------------------------------------------ */

struct offer {
    uint64_t rank; /* less is earlier */
    uint32_t region;
};

static int compare_offers(const void *a, const void *b)
{
    const struct offer *x = a, *y = b;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* What was freed last of the class of chunk_count. */
static uint32_t last_freed_of_class(const struct crowd *crowd, unsigned set, uint32_t chunk_count)
{
    uint32_t last = NONE, start = class_start(crowd->fit, chunk_count);
    for (uint32_t i = 0; i < crowd->capacity; i++) {
        if (!is_free(crowd, i) || crowd->set_of[i] != set ||
            class_start(crowd->fit, crowd->regions[i].chunk_count) != start)
            continue;
        if (last == NONE || crowd->freed_at[i] > crowd->freed_at[last]) last = i;
    }
    return last;
}

/* Time has less than 28 bits here, a chunk 32. */
static uint64_t rank_of(const struct crowd *crowd, uint32_t region, uint32_t chunk_count,
                        uint32_t first_of_own)
{
    const struct tn_region *r = &crowd->regions[region];
    uint64_t recency = ((uint64_t)1 << 28) - crowd->freed_at[region];
    switch (crowd->fit) {
    case TARN_FIT_BEST:
        return (uint64_t)r->chunk_count << 32 | r->first_chunk;
    case TARN_FIT_FIRST:
        return r->first_chunk;
    case TARN_FIT_SEGREGATED:
    case TARN_FIT_TLSF:
        break;
    }
    uint32_t start = class_start(crowd->fit, r->chunk_count);
    bool is_in_sure_class = start >= chunk_count;
    if (!is_in_sure_class && region == first_of_own) return 0;
    return (uint64_t)!is_in_sure_class << 63 | (uint64_t)start << 30 | recency;
}

/* The regions of a set that are large enough, in order. Returns how many. */
static uint32_t naive_offers(const struct crowd *crowd, unsigned set, uint32_t chunk_count,
                             struct offer *offers)
{
    uint32_t count = 0, first_of_own = NONE;
    if (classes_an_octave(crowd->fit) > 0)
        first_of_own = last_freed_of_class(crowd, set, chunk_count);
    for (uint32_t i = 0; i < crowd->capacity; i++) {
        if (!is_free(crowd, i) || crowd->set_of[i] != set) continue;
        if (crowd->regions[i].chunk_count < chunk_count) continue;
        offers[count++] = (struct offer){ rank_of(crowd, i, chunk_count, first_of_own), i };
    }
    qsort(offers, count, sizeof *offers, compare_offers);
    return count;
}

static void expect_same_offers(const struct crowd *crowd, unsigned set, uint32_t chunk_count)
{
    static struct offer offers[CAPACITY_MAX];
    const struct tn_free_set *s = &crowd->sets[set];
    uint32_t count = naive_offers(crowd, set, chunk_count, offers);
    uint32_t found = tn_free_set_find(s, crowd->regions, chunk_count);
    for (uint32_t i = 0; i < count; i++) {
        if (found != offers[i].region) {
            fail_msg("%s: for %u, place %u of %u: region %u, not %u", tn_fit_name(crowd->fit),
                     chunk_count, i, count, found, offers[i].region);
        }
        found = tn_free_set_find_after(s, crowd->regions, found, chunk_count);
    }
    if (found != NONE)
        fail_msg("%s: for %u: region %u after the last", tn_fit_name(crowd->fit), chunk_count,
                 found);
}

static void expect_right_largest(const struct crowd *crowd, unsigned set)
{
    uint32_t largest = 0, count = 0;
    for (uint32_t i = 0; i < crowd->capacity; i++) {
        if (!is_free(crowd, i) || crowd->set_of[i] != set) continue;
        count++;
        if (crowd->regions[i].chunk_count > largest) largest = crowd->regions[i].chunk_count;
    }
    uint32_t found = tn_free_set_find_largest(&crowd->sets[set], crowd->regions);
    assert_int_equal(found == NONE ? 0 : crowd->regions[found].chunk_count, largest);
    assert_int_equal(tn_free_set_region_count(&crowd->sets[set]), count);
}

/* Among the first offers of two sets the better one is what one set of all regions would offer, but for
 * good fit, whose order between classes is not that of sizes: there it is the smaller. */
static void expect_right_choice(const struct crowd *crowd, uint32_t chunk_count)
{
    uint32_t a = tn_free_set_find(&crowd->sets[0], crowd->regions, chunk_count);
    uint32_t b = tn_free_set_find(&crowd->sets[1], crowd->regions, chunk_count);
    if (a == NONE || b == NONE) return;
    bool is_a = rank_of(crowd, a, chunk_count, NONE) < rank_of(crowd, b, chunk_count, NONE);
    uint32_t x = crowd->regions[a].chunk_count, y = crowd->regions[b].chunk_count;
    if (classes_an_octave(crowd->fit) > 0)
        is_a = x != y ? x < y : crowd->freed_at[a] > crowd->freed_at[b];
    assert_int_equal(tn_free_set_is_better(&crowd->sets[0], crowd->regions, a, b), is_a);
    assert_int_equal(tn_free_set_is_better(&crowd->sets[1], crowd->regions, b, a), !is_a);
}

/* --- random steps --------------------------------------------------------------------------------- */

/* Many equals, classes of a few counts, and regions beyond all bins where slots are so large. */
static uint32_t random_count(const struct crowd *crowd, struct random *random)
{
    uint32_t most = crowd->slot_chunks;
    switch (random_below(random, 4)) {
    case 0:
        most = 4;
        break;
    case 1:
        most = 70;
        break;
    case 2:
        if (most > 16390) return 16380 + (uint32_t)random_below(random, 10);
        break;
    default:
        return (uint32_t)random_size(random, 31 - (unsigned)__builtin_clz(most));
    }
    return 1 + (uint32_t)random_below(random, tn_min(most, crowd->slot_chunks));
}

static void random_step(struct crowd *crowd, struct random *random, unsigned insert_percent)
{
    uint32_t region = (uint32_t)random_below(random, crowd->capacity);
    uint32_t chunk_count = random_count(crowd, random);
    uint32_t lead = (uint32_t)random_below(random, crowd->slot_chunks - chunk_count + 1);
    bool is_adding = random_below(random, 100) < insert_percent;
    if (!is_free(crowd, region) && is_adding) {
        insert(crowd, (unsigned)random_below(random, SET_COUNT), region, lead, chunk_count);
    } else if (is_free(crowd, region) && is_adding) {
        change(crowd, region, lead, chunk_count);
    } else if (is_free(crowd, region)) {
        take_out(crowd, region, lead, chunk_count);
    }
}

/* So that the order of the records says nothing about that of their chunks. */
static void shuffle_places(struct crowd *crowd, struct random *random)
{
    for (uint32_t i = crowd->capacity - 1; i > 0; i--) {
        uint32_t j = (uint32_t)random_below(random, i + 1), place = crowd->places[i];
        crowd->places[i] = crowd->places[j];
        crowd->places[j] = place;
    }
}

static void compare_random_steps(struct random *random, tarn_fit fit, uint32_t capacity,
                                 uint32_t slot_chunks, uint32_t step_count)
{
    struct crowd *crowd = new_crowd(fit, capacity, slot_chunks);
    shuffle_places(crowd, random);
    for (uint32_t step = 0; step < step_count; step++) {
        random_step(crowd, random, step / capacity % 3 == 2 ? 30 : 70);
        if (capacity > 100 && step % 16 != 0) continue;
        unsigned set = step / 16 % SET_COUNT;
        uint32_t chunk_count = random_count(crowd, random);
        expect_same_offers(crowd, set, chunk_count);
        expect_right_choice(crowd, chunk_count);
        expect_right_largest(crowd, set);
        if (step % 8 == 0) expect_sound(crowd);
    }
    for (uint32_t region = 0; region < capacity; region++) {
        if (is_free(crowd, region)) remove_region(crowd, region);
    }
    expect_sound(crowd);
    expect_same_offers(crowd, 0, 1);
    expect_right_largest(crowd, 1);
    crowd_fini(crowd);
}

static void every_policy_offers_what_a_linear_search_does(void **state)
{
    struct random random = random_init(random_seed(11));
    for (int fit = 0; fit < FIT_COUNT; fit++) {
        compare_random_steps(&random, (tarn_fit)fit, 4, 100, 1000);
        compare_random_steps(&random, (tarn_fit)fit, 40, 8, 3000);
        compare_random_steps(&random, (tarn_fit)fit, 60, 20000, 6000);
        compare_random_steps(&random, (tarn_fit)fit, 60, 200, 6000);
        compare_random_steps(&random, (tarn_fit)fit, CAPACITY_MAX, 20000, 20000);
    }
}

/* Every count around each edge of a class, in a set of that alone. */
static void a_region_serves_what_it_holds_and_nothing_more(void **state)
{
    for (int fit = 0; fit < FIT_COUNT; fit++) {
        struct crowd *crowd = new_crowd((tarn_fit)fit, 2, 1U << 30);
        for (unsigned log2 = 0; log2 <= 30; log2++) {
            for (int shift = -3; shift <= 3; shift++) {
                int64_t count = ((int64_t)1 << log2) + shift;
                if (count < 1 || count > (int64_t)1 << 30) continue;
                insert(crowd, 0, 1, 0, (uint32_t)count);
                expect_sound(crowd);
                const struct tn_free_set *set = &crowd->sets[0];
                for (uint32_t less = 0; less < 3 && less < count; less++) {
                    uint32_t found = tn_free_set_find(set, crowd->regions, (uint32_t)count - less);
                    assert_int_equal(found, 1);
                    assert_int_equal(
                        tn_free_set_find_after(set, crowd->regions, 1, (uint32_t)count - less),
                        NONE);
                }
                assert_int_equal(tn_free_set_find(set, crowd->regions, (uint32_t)count + 1), NONE);
                assert_int_equal(tn_free_set_find(set, crowd->regions, TN_CHUNK_COUNT_MAX), NONE);
                remove_region(crowd, 1);
            }
        }
        crowd_fini(crowd);
    }
}

/* --- each policy by example ----------------------------------------------------------------------- */

static void expect_order(struct crowd *crowd, uint32_t chunk_count, const uint32_t *expected,
                         uint32_t count)
{
    const struct tn_free_set *set = &crowd->sets[0];
    expect_sound(crowd);
    uint32_t found = tn_free_set_find(set, crowd->regions, chunk_count);
    for (uint32_t i = 0; i < count; i++) {
        if (found != expected[i]) fail_msg("place %u: region %u, not %u", i, found, expected[i]);
        found = tn_free_set_find_after(set, crowd->regions, found, chunk_count);
    }
    assert_int_equal(found, NONE);
}

/* 0: 10, 1: 40, 2: 10, 3: 35, 4: 34, 5: 64, 6: 10 chunks, in the order of the addresses. */
static struct crowd *crowd_of_seven(tarn_fit fit)
{
    static const uint32_t counts[] = { 10, 40, 10, 35, 34, 64, 10 };
    struct crowd *crowd = new_crowd(fit, 8, 100);
    for (uint32_t i = 0; i < 7; i++)
        insert(crowd, 0, i, 0, counts[i]);
    return crowd;
}

static void best_fit_takes_the_smallest_then_the_lowest(void **state)
{
    struct crowd *crowd = crowd_of_seven(TARN_FIT_BEST);
    expect_order(crowd, 9, (uint32_t[]){ 0, 2, 6, 4, 3, 1, 5 }, 7);
    crowd_fini(crowd);
}

static void first_fit_takes_the_lowest(void **state)
{
    struct crowd *crowd = crowd_of_seven(TARN_FIT_FIRST);
    expect_order(crowd, 1, (uint32_t[]){ 0, 1, 2, 3, 4, 5, 6 }, 7);
    expect_order(crowd, 11, (uint32_t[]){ 1, 3, 4, 5 }, 4);
    expect_order(crowd, 36, (uint32_t[]){ 1, 5 }, 2);
    expect_order(crowd, 41, (uint32_t[]){ 5 }, 1);
    expect_order(crowd, 65, NULL, 0);
    crowd_fini(crowd);
}

/* 9 and 34 are within a class, 8 and 32 at the start of one. */
static void segregated_fit_takes_the_next_class_before_it_searches_its_own(void **state)
{
    struct crowd *crowd = crowd_of_seven(TARN_FIT_SEGREGATED);
    expect_order(crowd, 9, (uint32_t[]){ 6, 4, 3, 1, 5, 2, 0 }, 7);
    expect_order(crowd, 8, (uint32_t[]){ 6, 2, 0, 4, 3, 1, 5 }, 7);
    expect_order(crowd, 32, (uint32_t[]){ 4, 3, 1, 5 }, 4);
    expect_order(crowd, 35, (uint32_t[]){ 5, 3, 1 }, 3);
    expect_order(crowd, 41, (uint32_t[]){ 5 }, 1);
    remove_region(crowd, 5);
    expect_order(crowd, 35, (uint32_t[]){ 3, 1 }, 2);
    expect_order(crowd, 41, NULL, 0);
    crowd_fini(crowd);
}

/* Classes are of one count up to 63, of two to 127. */
static void tlsf_takes_the_next_class_before_it_searches_its_own(void **state)
{
    struct crowd *crowd = crowd_of_seven(TARN_FIT_TLSF);
    expect_order(crowd, 9, (uint32_t[]){ 6, 2, 0, 4, 3, 1, 5 }, 7);
    change(crowd, 0, 0, 65);
    change(crowd, 2, 0, 64);
    change(crowd, 6, 0, 67);
    expect_order(crowd, 64, (uint32_t[]){ 2, 0, 5, 6 }, 4);
    expect_order(crowd, 65, (uint32_t[]){ 6, 0 }, 2);
    change(crowd, 0, 3, 64); /* within its class: no change of place */
    expect_order(crowd, 64, (uint32_t[]){ 2, 0, 5, 6 }, 4);
    crowd_fini(crowd);
}

/* --- host memory ---------------------------------------------------------------------------------- */

static void without_host_memory_there_is_no_set(void **state)
{
    static struct crowd crowd;
    for (int fit = 0; fit < FIT_COUNT; fit++) {
        unsigned failures = 0;
        for (unsigned n = 1;; n++) {
            host_memory_faults_begin(n);
            bool is_made = crowd_init(&crowd, (tarn_fit)fit, 100, 20000);
            if (is_made) crowd_fini(&crowd);
            assert_int_equal(host_memory_faults_outstanding(), 0);
            if (!host_memory_faults_end()) break;
            assert_false(is_made);
            failures++;
        }
        assert_true(failures > 0);
    }
}

/* What is there stays, and is served. */
static void reserving_without_host_memory_keeps_the_set(void **state)
{
    for (int fit = 0; fit < FIT_COUNT; fit++) {
        host_memory_faults_begin(0);
        struct random random = random_init(3);
        struct crowd *crowd = new_crowd((tarn_fit)fit, 20, 20000);
        for (int i = 0; i < 100; i++)
            random_step(crowd, &random, 80);
        host_memory_faults_end();
        crowd->capacity = 400;
        for (uint32_t i = 20; i < 400; i++)
            crowd->places[i] = i;
        for (unsigned n = 1;; n++) {
            host_memory_faults_begin(n);
            bool is_reserved = crowd_reserve(crowd, 400);
            bool has_failed = host_memory_faults_end();
            expect_sound(crowd);
            expect_same_offers(crowd, 0, 2);
            assert_int_equal(is_reserved, !has_failed);
            if (is_reserved) break;
        }
        for (int i = 0; i < 3000; i++)
            random_step(crowd, &random, 80);
        expect_same_offers(crowd, 1, 2);
        expect_sound(crowd);
        crowd_fini(crowd);
    }
}

static void nothing_but_init_and_reserve_allocates(void **state)
{
    for (int fit = 0; fit < FIT_COUNT; fit++) {
        struct random random = random_init(4);
        struct crowd *crowd = new_crowd((tarn_fit)fit, 50, 20000);
        host_memory_faults_begin(1);
        for (int i = 0; i < 2000; i++)
            random_step(crowd, &random, 70);
        assert_false(host_memory_faults_end());
        crowd_fini(crowd);
    }
}

static void metadata_are_a_few_kilobytes_a_set(void **state)
{
    static const struct {
        tarn_fit fit;
        size_t least_bytes;
        size_t most_bytes;
    } expected[] = {
        { TARN_FIT_BEST, 65536, 70000 },
        { TARN_FIT_FIRST, 0, 0 },
        { TARN_FIT_SEGREGATED, 256, 400 },
        { TARN_FIT_TLSF, 4 * 32 * 27, 4400 },
    };
    for (int i = 0; i < FIT_COUNT; i++) {
        struct crowd *crowd = new_crowd(expected[i].fit, 4, 20000);
        assert_in_range(tn_free_set_metadata_bytes(&crowd->sets[0]), expected[i].least_bytes,
                        expected[i].most_bytes);
        crowd_fini(crowd);
    }
}

/* --- the check finds damage ----------------------------------------------------------------------- */

static void expect_fault(const struct crowd *crowd, const char *expected)
{
    const char *fault = tn_free_set_check(&crowd->sets[0], crowd->regions);
    if (!fault) fail_msg("not found: %s", expected);
    assert_string_equal(fault, expected);
}

static const tarn_fit others[] = { TARN_FIT_FIRST, TARN_FIT_SEGREGATED, TARN_FIT_TLSF };

static void what_is_not_free_is_found(void **state)
{
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        struct crowd *crowd = crowd_of_seven(others[i]);
        crowd->regions[3].state = TN_REGION_STATE_LIVE;
        expect_fault(crowd, "a region in the free set is not free");
        crowd_fini(crowd);
    }
}

static void a_lost_count_is_found(void **state)
{
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        struct crowd *crowd = crowd_of_seven(others[i]);
        crowd->sets[0].region_count++;
        expect_fault(crowd, "the count of the free set is wrong");
        crowd->sets[0].region_count -= 2;
        expect_fault(crowd, "the count of the free set is wrong");
        crowd_fini(crowd);
    }
}

static void a_changed_count_is_found(void **state)
{
    static const char *const faults[] = { "a largest count in the free set is wrong",
                                          "a region is in the wrong class",
                                          "a region is in the wrong class" };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        struct crowd *crowd = crowd_of_seven(others[i]);
        crowd->regions[5].chunk_count = 140;
        expect_fault(crowd, faults[i]);
        crowd_fini(crowd);
    }
}

static void a_damaged_list_is_found(void **state)
{
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (others[i] == TARN_FIT_FIRST) continue;
        struct crowd *crowd = crowd_of_seven(others[i]);
        union tn_free_node *nodes = crowd->nodes.nodes;
        nodes[2].previous = 0;
        expect_fault(crowd, "a list of the free set is damaged");
        nodes[2].previous = 6;
        expect_sound(crowd);
        nodes[0].freed_at = nodes[2].freed_at;
        expect_fault(crowd, "a list of the free set is damaged");
        crowd_fini(crowd);
    }
}

static void a_damaged_tree_is_found(void **state)
{
    struct crowd *crowd = crowd_of_seven(TARN_FIT_FIRST);
    union tn_free_node *nodes = crowd->nodes.nodes;
    uint32_t root = crowd->sets[0].root;
    uint32_t child = nodes[root].left != NONE ? nodes[root].left : nodes[root].right;
    nodes[child].parent = child;
    expect_fault(crowd, "a child's link to its parent is wrong in the free set");
    nodes[child].parent = root;
    nodes[root].parent = child;
    expect_fault(crowd, "the root has a parent");
    nodes[root].parent = NONE;
    nodes[child].chunk_count_max++;
    expect_fault(crowd, "a largest count in the free set is wrong");
    nodes[child].chunk_count_max--;
    uint32_t first = crowd->regions[root].first_chunk;
    crowd->regions[root].first_chunk = nodes[root].left == child ? 0 : 700;
    expect_fault(crowd, "the free set is not in order");
    crowd->regions[root].first_chunk = first;
    expect_sound(crowd);
    crowd_fini(crowd);
}

/* --- names ---------------------------------------------------------------------------------------- */

static void policies_have_names(void **state)
{
    assert_string_equal(tn_fit_name(TARN_FIT_BEST), "best_fit");
    assert_string_equal(tn_fit_name(TARN_FIT_FIRST), "first_fit");
    assert_string_equal(tn_fit_name(TARN_FIT_SEGREGATED), "segregated_fit");
    assert_string_equal(tn_fit_name(TARN_FIT_TLSF), "tlsf");
    assert_null(tn_fit_name((tarn_fit)FIT_COUNT));
    assert_null(tn_fit_name((tarn_fit)-1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_policy_offers_what_a_linear_search_does),
        cmocka_unit_test(a_region_serves_what_it_holds_and_nothing_more),
        cmocka_unit_test(best_fit_takes_the_smallest_then_the_lowest),
        cmocka_unit_test(first_fit_takes_the_lowest),
        cmocka_unit_test(segregated_fit_takes_the_next_class_before_it_searches_its_own),
        cmocka_unit_test(tlsf_takes_the_next_class_before_it_searches_its_own),
        cmocka_unit_test(without_host_memory_there_is_no_set),
        cmocka_unit_test(reserving_without_host_memory_keeps_the_set),
        cmocka_unit_test(nothing_but_init_and_reserve_allocates),
        cmocka_unit_test(metadata_are_a_few_kilobytes_a_set),
        cmocka_unit_test(what_is_not_free_is_found),
        cmocka_unit_test(a_lost_count_is_found),
        cmocka_unit_test(a_changed_count_is_found),
        cmocka_unit_test(a_damaged_list_is_found),
        cmocka_unit_test(a_damaged_tree_is_found),
        cmocka_unit_test(policies_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
