/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_static_pool_list: finding static pools by chunk and by address, and the chunk numbers that
 * none has; compared with looking at every static pool and every number.
 */
#include "core/parts/static_pool_list.h"

#include "base/arith.h"
#include "harness/claims.h"
#include "harness/host_memory_faults.h"
#include "harness/random.h"

#define CHUNK_BYTES ((uintptr_t)1024)
#define NO_LIMIT    ((uint32_t)INT32_MAX)

enum {
    ALIGNMENT = 64, /* of the first chunk of a static pool */
    POOL_COUNT = 40
};

static struct tn_static_pool_list list;
static struct tn_static_pool pools[POOL_COUNT];
static bool is_listed[POOL_COUNT];

static int setup(void **state)
{
    memset(&list, 0, sizeof list);
    memset(pools, 0, sizeof pools);
    memset(is_listed, 0, sizeof is_listed);
    memset(&list, 0x5a, sizeof list);
    host_memory_faults_begin(0);
    tn_static_pool_list_init(&list);
    return 0;
}

static int teardown(void **state)
{
    tn_static_pool_list_fini(&list);
    assert_int_equal(host_memory_faults_outstanding(), 0);
    host_memory_faults_end();
    return 0;
}

static void expect_sound(void)
{
    const char *fault = tn_static_pool_list_check(&list);
    if (fault) fail_msg("%s", fault);
}

static void insert(int i, uint32_t first_chunk, uint32_t chunk_count, uintptr_t first_address)
{
    pools[i] = (struct tn_static_pool){
        .first_address = first_address,
        .end_address = first_address + chunk_count * CHUNK_BYTES,
        .first_chunk = first_chunk,
        .piece.chunk_count = chunk_count,
        .chunk_log2 = 10,
    };
    assert_true(tn_static_pool_list_reserve(&list));
    tn_static_pool_list_insert(&list, &pools[i]);
    is_listed[i] = true;
    expect_sound();
}

static void take_out(int i)
{
    pools[i].piece.state = TN_PIECE_STATE_LEAVING;
    tn_static_pool_list_remove_leaving(&list);
    is_listed[i] = false;
    expect_sound();
}

static void expect_at_address(uintptr_t address, const struct tn_static_pool *expected)
{
    assert_ptr_equal(tn_static_pool_list_find_address(&list, address), expected);
}

/* From its first chunk to its last, and from its first byte to its last, and no further. */
static void expect_listed(int i)
{
    const struct tn_static_pool *pool = &pools[i];
    uint32_t last_chunk = pool->first_chunk + pool->piece.chunk_count - 1;
    assert_ptr_equal(tn_static_pool_list_find_chunk(&list, pool->first_chunk), pool);
    assert_ptr_equal(tn_static_pool_list_find_chunk(&list, last_chunk), pool);
    expect_at_address(pool->first_address, pool);
    expect_at_address(pool->first_address + 1, pool);
    expect_at_address(pool->end_address - 1, pool);
    assert_ptr_not_equal(tn_static_pool_list_find_address(&list, pool->first_address - 1), pool);
    assert_ptr_not_equal(tn_static_pool_list_find_address(&list, pool->end_address), pool);
}

/* --- finding static pools ----------------------------------------------------------------------- */

static void an_empty_list_holds_no_address(void **state)
{
    expect_sound();
    expect_at_address(0, NULL);
    expect_at_address(1 << 20, NULL);
    expect_at_address(UINTPTR_MAX, NULL);
}

/* With chunk numbers that ascend while addresses descend. */
static void each_is_found_among_however_many(void **state)
{
    for (int count = 1; count <= POOL_COUNT; count++) {
        int i = count - 1;
        insert(i, (uint32_t)i * 128, 100, (uintptr_t)(100 - i) << 30);
        for (int j = 0; j < count; j++)
            expect_listed(j);
    }
    for (int i = 0; i < POOL_COUNT; i += 2)
        take_out(i);
    for (int i = 0; i < POOL_COUNT; i++) {
        if (i % 2 == 1) expect_listed(i);
        if (i % 2 == 0) expect_at_address(pools[i].first_address, NULL);
    }
}

static void expect_those_below(int count)
{
    for (int i = 0; i < POOL_COUNT; i++) {
        if (i < count) expect_listed(i);
        if (i >= count) expect_at_address((uintptr_t)(2 * i + 1) << 30, NULL);
    }
    expect_at_address(0, NULL);
    expect_at_address(UINTPTR_MAX, NULL);
    expect_at_address(UINTPTR_MAX - 1, NULL);
}

static void searches_grow_and_shrink_with_the_list(void **state)
{
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < POOL_COUNT; i++) {
            insert(i, (uint32_t)(i * 7 % POOL_COUNT) * 128, 100, (uintptr_t)(2 * i + 1) << 30);
            expect_those_below(i + 1);
        }
        for (int i = POOL_COUNT; i-- > 0;) {
            take_out(i);
            expect_those_below(i);
        }
    }
}

/* Many small ones beside a few that are large: the small ones share a group. */
static void small_static_pools_among_large_ones_are_found(void **state)
{
    uint32_t chunk = 0;
    for (int i = 0; i < POOL_COUNT; i++) {
        uint32_t chunk_count = i % 10 == 9 ? 1000000 : 1 + (uint32_t)i;
        insert(i, chunk, chunk_count, ((uintptr_t)1 << 40) + chunk * CHUNK_BYTES);
        chunk = (uint32_t)tn_round_down(chunk + chunk_count + ALIGNMENT - 1, ALIGNMENT);
        for (int j = 0; j <= i; j++)
            expect_listed(j);
    }
    for (int i = 0; i < POOL_COUNT; i++) {
        take_out(i);
        expect_at_address(pools[i].first_address, NULL);
        for (int j = i + 1; j < POOL_COUNT; j++)
            expect_listed(j);
    }
}

/* The last address that there is, too. */
static void the_last_address_belongs_to_nobody(void **state)
{
    uintptr_t first = UINTPTR_MAX - 64 * CHUNK_BYTES;
    for (int count = 1; count <= 9; count++) {
        int i = count - 1;
        insert(i, (uint32_t)i * 64, 64, first - (uintptr_t)i * 128 * CHUNK_BYTES);
        expect_at_address(UINTPTR_MAX, NULL);
        expect_at_address(UINTPTR_MAX - 1, &pools[0]);
        for (int j = 0; j < count; j++)
            expect_listed(j);
    }
}

static void addresses_that_touch_are_told_apart(void **state)
{
    const uintptr_t base = (uintptr_t)1 << 40;
    insert(0, 128, 64, base + 64 * CHUNK_BYTES);
    insert(1, 0, 64, base);
    insert(2, 64, 64, base + 128 * CHUNK_BYTES);
    expect_listed(0);
    expect_listed(1);
    expect_listed(2);
    expect_at_address(base - 1, NULL);
    expect_at_address(base + 192 * CHUNK_BYTES, NULL);
    take_out(0);
    expect_at_address(base + 64 * CHUNK_BYTES, NULL);
    expect_at_address(base + 128 * CHUNK_BYTES - 1, NULL);
    expect_listed(1);
    expect_listed(2);
}

static void the_last_chunk_number_belongs_to_somebody(void **state)
{
    insert(0, 0, NO_LIMIT, (uintptr_t)1 << 44);
    expect_listed(0);
}

/* Whether 4096 bytes from here on overlap with what is held. */
static void expect_overlap(uintptr_t address, bool expected)
{
    bool overlaps = tn_static_pool_list_overlaps(&list, address, 4096);
    if (overlaps != expected) fail_msg("at %#zx: %d, not %d", (size_t)address, overlaps, expected);
}

/* Backing is more than chunks: here 512 bytes before them and 500 behind. */
static void memory_that_shares_a_byte_with_backing_overlaps(void **state)
{
    const uintptr_t base = (uintptr_t)1 << 40, end = base + 512 + 64 * CHUNK_BYTES + 500;
    expect_overlap(base, false);
    insert(0, 0, 64, base + 512);
    pools[0].piece.base = (void *)base;
    pools[0].piece.size_bytes = end - base;
    insert(1, 64, 64, (uintptr_t)1 << 30);
    pools[1].piece.base = (void *)((uintptr_t)1 << 30);
    pools[1].piece.size_bytes = 64 * CHUNK_BYTES;
    expect_overlap(base - 4097, false);
    expect_overlap(base - 4096, false);
    expect_overlap(base - 4095, true);
    expect_overlap(base, true);
    expect_overlap(base + 1024, true);
    expect_overlap(end - 1, true);
    expect_overlap(end, false);
    expect_overlap(end + 1, false);
    assert_true(tn_static_pool_list_overlaps(&list, base - 1, end - base + 2));
    assert_true(tn_static_pool_list_overlaps(&list, 4096, base));
    expect_overlap((uintptr_t)1 << 30, true);
    take_out(0);
    expect_overlap(base, false);
}

static void a_finished_list_is_empty(void **state)
{
    insert(0, 0, 64, (uintptr_t)1 << 30);
    tn_static_pool_list_fini(&list);
    assert_int_equal(list.count, 0);
    expect_at_address((uintptr_t)1 << 30, NULL);
    insert(0, 0, 64, (uintptr_t)2 << 30);
    expect_listed(0);
}

/* --- chunk numbers ------------------------------------------------------------------------------ */

/* So many chunks have their place from here on. */
static void expect_numbers(uint32_t chunk_count, uint32_t limit, uint32_t expected)
{
    uint32_t first = 12345;
    if (!tn_static_pool_list_find_numbers(&list, chunk_count, ALIGNMENT, limit, &first))
        fail_msg("no numbers for %u chunks", chunk_count);
    if (first != expected) fail_msg("%u chunks at %u, not %u", chunk_count, first, expected);
}

/* So many chunks have their place, and not one more. */
static void expect_longest_run(uint32_t limit, uint32_t expected)
{
    uint32_t first = 12345;
    uint32_t longest = tn_static_pool_list_longest_run(&list, ALIGNMENT, limit);
    if (longest != expected) fail_msg("the longest run is %u, not %u", longest, expected);
    assert_false(tn_static_pool_list_find_numbers(&list, longest + 1, ALIGNMENT, limit, &first));
    assert_int_equal(first, 12345);
    if (longest == 0) return;
    assert_true(tn_static_pool_list_find_numbers(&list, longest, ALIGNMENT, limit, &first));
    assert_int_equal(first % ALIGNMENT, 0);
}

static void an_empty_list_leaves_all_numbers(void **state)
{
    expect_numbers(1, 1, 0);
    expect_numbers(1000, 1000, 0);
    expect_numbers(NO_LIMIT, NO_LIMIT, 0);
    expect_longest_run(1, 1);
    expect_longest_run(1000, 1000);
    expect_longest_run(NO_LIMIT, NO_LIMIT);
}

static void the_lowest_numbers_that_suffice_are_taken(void **state)
{
    insert(0, 64, 1, (uintptr_t)1 << 30);
    insert(1, 256, 65, (uintptr_t)2 << 30);
    expect_numbers(63, NO_LIMIT, 0);
    expect_numbers(64, NO_LIMIT, 0);
    expect_numbers(65, NO_LIMIT, 128); /* a group begins with a static pool's first chunk */
    expect_numbers(128, NO_LIMIT, 128);
    expect_numbers(129, NO_LIMIT, 384);
    take_out(0);
    expect_numbers(256, NO_LIMIT, 0);
    expect_numbers(257, NO_LIMIT, 384);
}

static void numbers_end_at_the_limit(void **state)
{
    insert(0, 0, 64, (uintptr_t)1 << 30);
    expect_longest_run(63, 0);
    expect_longest_run(64, 0);
    expect_longest_run(65, 1);
    expect_longest_run(1000, 936);
    insert(1, 64, 1, (uintptr_t)2 << 30);
    expect_longest_run(128, 0); /* what is left of the group has no number to begin with */
    expect_longest_run(129, 1);
    expect_longest_run(NO_LIMIT, NO_LIMIT - 128);
}

static void where_all_numbers_are_used_there_are_none(void **state)
{
    insert(0, 0, NO_LIMIT - 64, (uintptr_t)1 << 44);
    expect_longest_run(NO_LIMIT, 63);
    take_out(0);
    insert(0, 0, NO_LIMIT, (uintptr_t)1 << 44);
    expect_longest_run(NO_LIMIT, 0);
}

/* --- room --------------------------------------------------------------------------------------- */

static void without_host_memory_the_list_stays(void **state)
{
    assert_false(host_memory_faults_end());
    int count = 0;
    for (; count == 0 || list.count + 2 <= list.by_chunk_capacity; count++)
        insert(count, (uint32_t)count * 64, 64, (uintptr_t)(count + 1) << 30);
    for (unsigned n = 1; n <= 2; n++) {
        host_memory_faults_begin(n);
        assert_false(tn_static_pool_list_reserve(&list));
        assert_true(host_memory_faults_end());
        expect_sound();
        for (int i = 0; i < count; i++)
            expect_listed(i);
    }
    insert(count, (uint32_t)count * 64, 64, (uintptr_t)(count + 1) << 30);
    expect_listed(count);
    tn_static_pool_list_fini(&list);
    setup(state);
}

/* --- against looking at all --------------------------------------------------------------------- */

enum {
    NUMBER_COUNT = 3000
};

static bool is_number_free(uint32_t chunk)
{
    for (int i = 0; i < POOL_COUNT; i++) {
        const struct tn_static_pool *pool = &pools[i];
        if (is_listed[i] && chunk - pool->first_chunk < pool->piece.chunk_count) return false;
    }
    return true;
}

/* The lowest place for so many chunks; NUMBER_COUNT: there is none. */
static uint32_t naive_numbers(uint32_t chunk_count)
{
    for (uint32_t first = 0; first + chunk_count <= NUMBER_COUNT; first += ALIGNMENT) {
        uint32_t length = 0;
        while (length < chunk_count && is_number_free(first + length))
            length++;
        if (length == chunk_count) return first;
    }
    return NUMBER_COUNT;
}

static void change_random(struct random *random)
{
    int i = (int)random_below(random, POOL_COUNT);
    uint32_t chunk_count = 1 + (uint32_t)random_below(random, 200), first;
    if (is_listed[i]) {
        take_out(i);
        return;
    }
    bool is_found =
        tn_static_pool_list_find_numbers(&list, chunk_count, ALIGNMENT, NUMBER_COUNT, &first);
    uint32_t expected = naive_numbers(chunk_count);
    assert_int_equal(is_found, expected != NUMBER_COUNT);
    if (!is_found) return;
    assert_int_equal(first, expected);
    /* A place of its own that says nothing about the order of the chunks. */
    insert(i, first, chunk_count, (uintptr_t)(1 + i * 7 % POOL_COUNT) << 30);
}

static void random_lists_are_those_of_a_search(void **state)
{
    struct random random = random_init(random_seed(8));
    for (int step = 0; step < 2000; step++) {
        change_random(&random);
        uint32_t longest = tn_static_pool_list_longest_run(&list, ALIGNMENT, NUMBER_COUNT);
        if (longest > 0) assert_int_not_equal(naive_numbers(longest), NUMBER_COUNT);
        assert_int_equal(naive_numbers(longest + 1), NUMBER_COUNT);
        for (int i = 0; i < POOL_COUNT; i++) {
            if (is_listed[i]) expect_listed(i);
        }
    }
}

/* --- the check finds damage --------------------------------------------------------------------- */

static void expect_fault(const char *expected)
{
    const char *fault = tn_static_pool_list_check(&list);
    if (!fault) fail_msg("not found: %s", expected);
    assert_string_equal(fault, expected);
}

static void insert_three(void)
{
    insert(0, 0, 64, (uintptr_t)3 << 30);
    insert(1, 64, 64, (uintptr_t)1 << 30);
    insert(2, 128, 64, (uintptr_t)2 << 30);
}

static void swap_places(struct tn_static_pool_place *places)
{
    struct tn_static_pool_place first = places[0];
    places[0] = places[1];
    places[1] = first;
}

static void wrong_orders_are_found(void **state)
{
    insert_three();
    swap_places(list.by_chunk);
    expect_fault("the static pools are not in the order of their chunks");
    swap_places(list.by_chunk);
    swap_places(list.by_address);
    expect_fault("the static pools are not in the order of their addresses");
}

static void static_pools_that_overlap_are_found(void **state)
{
    insert_three();
    list.by_chunk[0].end++;
    expect_fault("the static pools are not in the order of their chunks");
    list.by_chunk[0].end--;
    list.by_address[0].end = ((uintptr_t)2 << 30) + 1;
    expect_fault("the static pools are not in the order of their addresses");
}

static void wrong_values_are_found(void **state)
{
    insert_three();
    struct tn_static_pool_place *orders[] = { list.by_chunk, list.by_address };
    for (int i = 0; i < 2; i++) {
        struct tn_static_pool_place right = orders[i][1];
        orders[i][1].first++;
        expect_fault("a place of a static pool has wrong values");
        orders[i][1] = right;
        orders[i][1].end--;
        expect_fault("a place of a static pool has wrong values");
        orders[i][1] = right;
        orders[i][1].chunk_0_address++;
        expect_fault("a place of a static pool has wrong values");
        orders[i][1] = right;
        expect_sound();
    }
}

static void expect_search_wrong(void)
{
    const char *fault = tn_static_pool_list_check(&list);
    assert_non_null(fault);
    assert_true(strcmp(fault, "a search finds the wrong static pool") == 0 ||
                strcmp(fault, "the two orders have different static pools") == 0);
}

static void wrong_groups_are_found(void **state)
{
    insert_three();
    struct tn_static_pool_groups *orders[] = { &list.chunk_groups, &list.address_groups };
    for (int i = 0; i < 2; i++) {
        orders[i]->places[0]++;
        expect_search_wrong();
        orders[i]->places[0]--;
        orders[i]->value_log2 += 32;
        expect_search_wrong();
        orders[i]->value_log2 -= 32;
        orders[i]->first++;
        expect_search_wrong();
        orders[i]->first--;
        expect_sound();
    }
}

static void a_place_of_no_static_pool_is_found(void **state)
{
    insert_three();
    struct tn_static_pool_place *orders[] = { list.by_chunk, list.by_address };
    for (int i = 0; i < 2; i++) {
        struct tn_static_pool_place *unused = &orders[i][3];
        unused->static_pool = &pools[0];
        expect_fault("the place behind the last static pool looks used");
        unused->static_pool = NULL;
        unused->end--;
        expect_fault("the place behind the last static pool looks used");
        unused->end++;
        expect_sound();
    }
}

/* A static pool that is in one order only, with chunks at this place. */
static void expect_stranger_found(uint32_t first_chunk)
{
    struct tn_static_pool stranger = pools[2];
    struct tn_static_pool_place right = list.by_address[1];
    stranger.first_chunk = first_chunk;
    list.by_address[1].static_pool = &stranger;
    list.by_address[1].chunk_0_address = stranger.first_address - first_chunk * CHUNK_BYTES;
    expect_fault("the two orders have different static pools");
    list.by_address[1] = right;
    expect_sound();
}

static void a_static_pool_in_one_order_only_is_found(void **state)
{
    insert_three();
    expect_stranger_found(0);
    expect_stranger_found(128);
    expect_stranger_found(191);
    expect_stranger_found(192); /* beyond all chunks */
    expect_stranger_found(NO_LIMIT);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(an_empty_list_holds_no_address),
        TEST(each_is_found_among_however_many),
        TEST(searches_grow_and_shrink_with_the_list),
        TEST(small_static_pools_among_large_ones_are_found),
        TEST(the_last_address_belongs_to_nobody),
        TEST(addresses_that_touch_are_told_apart),
        TEST(the_last_chunk_number_belongs_to_somebody),
        TEST(memory_that_shares_a_byte_with_backing_overlaps),
        TEST(a_finished_list_is_empty),
        TEST(an_empty_list_leaves_all_numbers),
        TEST(the_lowest_numbers_that_suffice_are_taken),
        TEST(numbers_end_at_the_limit),
        TEST(where_all_numbers_are_used_there_are_none),
        TEST(without_host_memory_the_list_stays),
        TEST(random_lists_are_those_of_a_search),
        TEST(wrong_orders_are_found),
        TEST(static_pools_that_overlap_are_found),
        TEST(wrong_values_are_found),
        TEST(wrong_groups_are_found),
        TEST(a_place_of_no_static_pool_is_found),
        TEST(a_static_pool_in_one_order_only_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
