/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_bit_tree: sets of integers around the sizes at which the tree gains a level (64, 4096, 262144
 * and further powers of 64), compared with an array of bool.
 */
#include "base/sets/bit_tree.h"

#include <stdlib.h>

#include "harness/claims.h"
#include "harness/host_memory_faults.h"
#include "harness/random.h"

#define NONE TN_BIT_TREE_NONE

static struct tn_bit_tree new_tree(uint32_t bit_count)
{
    struct tn_bit_tree tree;
    assert_true(tn_bit_tree_init(&tree, bit_count));
    return tree;
}

/* --- the form of a tree ------------------------------------------------------------------------- */

/* The way this tree's words should be counted: word_count of the leaves, then a 64th of it, ... */
static void expect_form(uint32_t bit_count, unsigned level_count, size_t word_count)
{
    struct tn_bit_tree tree = new_tree(bit_count);
    if (tree.level_count != level_count)
        fail_msg("%u bits have %u levels, not %u", bit_count, tree.level_count, level_count);
    assert_int_equal(tn_bit_tree_metadata_bytes(&tree), word_count * sizeof(uint64_t));

    uint32_t last = bit_count - 1;
    assert_int_equal(tn_bit_tree_find_next(&tree, 0), NONE);
    tn_bit_tree_set(&tree, last);
    assert_int_equal(tn_bit_tree_find_next(&tree, 0), last);
    assert_int_equal(tn_bit_tree_find_previous(&tree, last), last);
    assert_int_equal(tn_bit_tree_find_next(&tree, bit_count), NONE);
    tn_bit_tree_clear(&tree, last);
    assert_int_equal(tn_bit_tree_find_previous(&tree, last), NONE);
    tn_bit_tree_fini(&tree);
}

static void levels_come_with_powers_of_64(void **state)
{
    expect_form(1, 1, 1);
    expect_form(63, 1, 1);
    expect_form(64, 1, 1);
    expect_form(65, 2, 2 + 1);
    expect_form(4095, 2, 64 + 1);
    expect_form(4096, 2, 64 + 1);
    expect_form(4097, 3, 65 + 2 + 1);
    expect_form(262143, 3, 4096 + 64 + 1);
    expect_form(262144, 3, 4096 + 64 + 1);
    expect_form(262145, 4, 4097 + 65 + 2 + 1);
    expect_form((1U << 24) - 1, 4, (1U << 18) + 4096 + 64 + 1);
    expect_form(1U << 24, 4, (1U << 18) + 4096 + 64 + 1);
    expect_form((1U << 24) + 1, 5, (1U << 18) + 1 + 4097 + 65 + 2 + 1);
}

/* Pages that no member has touched are not resident, so this takes little memory. */
static void the_largest_tree_has_six_levels(void **state)
{
    expect_form(UINT32_MAX, 6, (1U << 26) + (1U << 20) + (1U << 14) + (1U << 8) + 4 + 1);
}

static void a_finished_tree_has_no_members(void **state)
{
    struct tn_bit_tree tree = new_tree(100);
    tn_bit_tree_set(&tree, 7);
    tn_bit_tree_fini(&tree);
    assert_int_equal(tn_bit_tree_find_next(&tree, 0), NONE);
    assert_int_equal(tn_bit_tree_find_previous(&tree, 99), NONE);
}

/* --- members ------------------------------------------------------------------------------------ */

/* With members a and b alone, every search from between them finds the right one. */
static void expect_neighbours(struct tn_bit_tree *tree, uint32_t a, uint32_t b)
{
    tn_bit_tree_set(tree, a);
    tn_bit_tree_set(tree, b);
    assert_true(tn_bit_tree_check(tree));
    assert_true(tn_bit_tree_has(tree, a));
    assert_true(tn_bit_tree_has(tree, b));
    assert_int_equal(tn_bit_tree_find_next(tree, 0), a);
    assert_int_equal(tn_bit_tree_find_next(tree, a), a);
    assert_int_equal(tn_bit_tree_find_next(tree, a + 1), b);
    assert_int_equal(tn_bit_tree_find_next(tree, b), b);
    assert_int_equal(tn_bit_tree_find_next(tree, b + 1), NONE);
    assert_int_equal(tn_bit_tree_find_previous(tree, UINT32_MAX), b);
    assert_int_equal(tn_bit_tree_find_previous(tree, b), b);
    assert_int_equal(tn_bit_tree_find_previous(tree, b - 1), a);
    assert_int_equal(tn_bit_tree_find_previous(tree, a), a);
    if (a > 0) assert_int_equal(tn_bit_tree_find_previous(tree, a - 1), NONE);
    tn_bit_tree_clear(tree, a);
    tn_bit_tree_clear(tree, b);
    assert_true(tn_bit_tree_check(tree));
    assert_int_equal(tn_bit_tree_find_next(tree, 0), NONE);
}

static void neighbours_are_found_across_every_edge(void **state)
{
    static const uint32_t edges[] = { 0,      1,      62,     63,     64,    65,   127,
                                      128,    4095,   4096,   4097,   8191,  8192, 262143,
                                      262144, 262145, 266240, 299998, 299999 };
    enum {
        COUNT = sizeof edges / sizeof edges[0]
    };
    struct tn_bit_tree tree = new_tree(300000);
    for (int i = 0; i < COUNT; i++) {
        for (int j = i + 1; j < COUNT; j++)
            expect_neighbours(&tree, edges[i], edges[j]);
    }
    tn_bit_tree_fini(&tree);
}

static void setting_a_member_again_does_nothing(void **state)
{
    struct tn_bit_tree tree = new_tree(5000);
    tn_bit_tree_set(&tree, 4999);
    tn_bit_tree_set(&tree, 4999);
    assert_true(tn_bit_tree_check(&tree));
    tn_bit_tree_clear(&tree, 4999);
    assert_int_equal(tn_bit_tree_find_next(&tree, 0), NONE);
    tn_bit_tree_fini(&tree);
}

static void clearing_what_is_no_member_does_nothing(void **state)
{
    struct tn_bit_tree tree = new_tree(5000);
    tn_bit_tree_set(&tree, 100);
    tn_bit_tree_clear(&tree, 101);  /* in the same word */
    tn_bit_tree_clear(&tree, 200);  /* in an empty word next to it */
    tn_bit_tree_clear(&tree, 4999); /* below another word of level 1 */
    assert_true(tn_bit_tree_check(&tree));
    assert_int_equal(tn_bit_tree_find_next(&tree, 0), 100);
    assert_int_equal(tn_bit_tree_find_next(&tree, 101), NONE);
    assert_false(tn_bit_tree_has(&tree, 101));
    tn_bit_tree_fini(&tree);
}

static void clearing_one_of_two_in_a_word_keeps_the_other(void **state)
{
    struct tn_bit_tree tree = new_tree(5000);
    tn_bit_tree_set(&tree, 64);
    tn_bit_tree_set(&tree, 127);
    tn_bit_tree_clear(&tree, 64);
    assert_true(tn_bit_tree_check(&tree));
    assert_int_equal(tn_bit_tree_find_next(&tree, 0), 127);
    assert_int_equal(tn_bit_tree_find_previous(&tree, 126), NONE);
    tn_bit_tree_fini(&tree);
}

/* --- growing ------------------------------------------------------------------------------------ */

static void expect_members_survive_growth(uint32_t from_count, uint32_t to_count)
{
    struct tn_bit_tree tree = new_tree(from_count);
    uint32_t middle = from_count / 2;
    tn_bit_tree_set(&tree, 0);
    tn_bit_tree_set(&tree, middle);
    tn_bit_tree_set(&tree, from_count - 1);

    assert_true(tn_bit_tree_grow(&tree, to_count));
    assert_true(tree.bit_count >= to_count);
    assert_true(tn_bit_tree_check(&tree));
    assert_int_equal(tn_bit_tree_find_next(&tree, 0), 0);
    if (middle > 0) assert_int_equal(tn_bit_tree_find_next(&tree, 1), middle);
    assert_int_equal(tn_bit_tree_find_next(&tree, middle + 1),
                     middle == from_count - 1 ? NONE : from_count - 1);
    assert_int_equal(tn_bit_tree_find_previous(&tree, to_count - 1), from_count - 1);
    tn_bit_tree_set(&tree, to_count - 1);
    assert_int_equal(tn_bit_tree_find_next(&tree, from_count), to_count - 1);
    tn_bit_tree_fini(&tree);
}

static void growing_keeps_the_members(void **state)
{
    expect_members_survive_growth(1, 2);
    expect_members_survive_growth(63, 64);
    expect_members_survive_growth(64, 65);
    expect_members_survive_growth(64, 4097);
    expect_members_survive_growth(4096, 4097);
    expect_members_survive_growth(4097, 262145);
}

static void expect_grown(uint32_t from_count, uint32_t to_count, uint32_t expected)
{
    struct tn_bit_tree tree = new_tree(from_count);
    assert_true(tn_bit_tree_grow(&tree, to_count));
    if (tree.bit_count != expected)
        fail_msg("from %u to %u: %u, not %u", from_count, to_count, tree.bit_count, expected);
    tn_bit_tree_set(&tree, expected - 1);
    assert_int_equal(tn_bit_tree_find_next(&tree, 0), expected - 1);
    tn_bit_tree_fini(&tree);
}

static void growing_a_little_grows_by_an_eighth(void **state)
{
    expect_grown(1, 2, 2);
    expect_grown(800, 801, 900);
    expect_grown(800, 899, 900);
    expect_grown(800, 900, 900);
    expect_grown(800, 901, 901);
    expect_grown(4096, 4097, 4608);
}

static void growing_to_less_does_nothing(void **state)
{
    struct tn_bit_tree tree = new_tree(100);
    const uint64_t *words = tree.levels[0];
    assert_true(tn_bit_tree_grow(&tree, 99));
    assert_true(tn_bit_tree_grow(&tree, 100));
    assert_int_equal(tree.bit_count, 100);
    assert_ptr_equal(tree.levels[0], words);
    tn_bit_tree_fini(&tree);
}

static void without_host_memory_there_is_no_tree(void **state)
{
    struct tn_bit_tree tree;
    host_memory_faults_begin(1);
    assert_false(tn_bit_tree_init(&tree, 1000));
    assert_int_equal(host_memory_faults_outstanding(), 0);
    assert_true(host_memory_faults_end());
}

static void growing_without_host_memory_changes_nothing(void **state)
{
    host_memory_faults_begin(2);
    struct tn_bit_tree tree = new_tree(1000);
    tn_bit_tree_set(&tree, 999);
    struct tn_bit_tree before = tree;
    assert_false(tn_bit_tree_grow(&tree, 5000));
    assert_memory_equal(&tree, &before, sizeof tree);
    assert_int_equal(tn_bit_tree_find_next(&tree, 0), 999);
    assert_true(tn_bit_tree_grow(&tree, 5000));
    assert_int_equal(tn_bit_tree_find_next(&tree, 0), 999);
    tn_bit_tree_fini(&tree);
    assert_int_equal(host_memory_faults_outstanding(), 0);
    assert_true(host_memory_faults_end());
}

/* --- against an array of bool ------------------------------------------------------------------- */

static uint32_t naive_next(const bool *is_member, uint32_t bit_count, uint32_t from)
{
    for (uint32_t bit = from; bit < bit_count; bit++) {
        if (is_member[bit]) return bit;
    }
    return NONE;
}

static uint32_t naive_previous(const bool *is_member, uint32_t bit_count, uint32_t from)
{
    for (uint32_t bit = from < bit_count ? from : bit_count - 1;; bit--) {
        if (is_member[bit]) return bit;
        if (bit == 0) return NONE;
    }
}

static void expect_same_as_naive(const struct tn_bit_tree *tree, const bool *is_member,
                                 uint32_t from)
{
    uint32_t next = naive_next(is_member, tree->bit_count, from);
    uint32_t previous = naive_previous(is_member, tree->bit_count, from);
    if (tn_bit_tree_find_next(tree, from) != next ||
        tn_bit_tree_find_previous(tree, from) != previous) {
        fail_msg("of %u bits, from %u: next %u and not %u, or previous %u and not %u",
                 tree->bit_count, from, tn_bit_tree_find_next(tree, from), next,
                 tn_bit_tree_find_previous(tree, from), previous);
    }
}

/* Half the bits are near an edge, so that words fill and empty. */
static uint32_t random_bit(struct random *random, uint32_t bit_count)
{
    uint32_t bit = (uint32_t)random_below(random, bit_count);
    if (random_below(random, 2)) return bit;
    return (bit & ~(uint32_t)4095) | (uint32_t)(random_below(random, 70) % bit_count);
}

static void compare_random_steps(struct random *random, uint32_t bit_count, int step_count)
{
    struct tn_bit_tree tree = new_tree(bit_count);
    bool *is_member = calloc(bit_count, sizeof *is_member);
    assert_non_null(is_member);
    for (int step = 0; step < step_count; step++) {
        uint32_t bit = (uint32_t)tn_min(random_bit(random, bit_count), bit_count - 1);
        is_member[bit] = random_below(random, 2);
        if (is_member[bit]) {
            tn_bit_tree_set(&tree, bit);
        } else {
            tn_bit_tree_clear(&tree, bit);
        }
        assert_int_equal(tn_bit_tree_has(&tree, bit), is_member[bit]);
        assert_true(tn_bit_tree_check(&tree));
        expect_same_as_naive(&tree, is_member, bit);
        expect_same_as_naive(&tree, is_member, random_bit(random, bit_count) + 1);
    }
    free(is_member);
    tn_bit_tree_fini(&tree);
}

static void random_sets_are_those_of_an_array(void **state)
{
    static const uint32_t counts[] = { 1, 2, 63, 64, 65, 127, 4095, 4096, 4097, 9000 };
    struct random random = random_init(random_seed(1));
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        compare_random_steps(&random, counts[i], 1000);
    compare_random_steps(&random, 262143, 100);
    compare_random_steps(&random, 262144, 100);
    compare_random_steps(&random, 262145, 100);
}

/* --- the check finds damage --------------------------------------------------------------------- */

static void expect_damage_found(struct tn_bit_tree *tree, unsigned level, uint64_t flipped)
{
    assert_true(tn_bit_tree_check(tree));
    tree->levels[level][0] ^= flipped;
    assert_false(tn_bit_tree_check(tree));
    tree->levels[level][0] ^= flipped;
}

static void a_bit_above_that_lies_is_found(void **state)
{
    struct tn_bit_tree tree = new_tree(5000);
    tn_bit_tree_set(&tree, 3);
    expect_damage_found(&tree, 0,
                        1 << 3); /* the only member goes: level 1 says that there is one */
    expect_damage_found(&tree, 1, 1 << 0); /* level 1 denies the member */
    expect_damage_found(&tree, 1, 1 << 1); /* level 1 has one bit too many */
    expect_damage_found(&tree, 2, 1 << 0);
    expect_damage_found(&tree, 2, 1 << 1);
    tn_bit_tree_fini(&tree);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_come_with_powers_of_64),
        cmocka_unit_test(the_largest_tree_has_six_levels),
        cmocka_unit_test(a_finished_tree_has_no_members),
        cmocka_unit_test(neighbours_are_found_across_every_edge),
        cmocka_unit_test(setting_a_member_again_does_nothing),
        cmocka_unit_test(clearing_what_is_no_member_does_nothing),
        cmocka_unit_test(clearing_one_of_two_in_a_word_keeps_the_other),
        cmocka_unit_test(growing_keeps_the_members),
        cmocka_unit_test(growing_a_little_grows_by_an_eighth),
        cmocka_unit_test(growing_to_less_does_nothing),
        cmocka_unit_test(without_host_memory_there_is_no_tree),
        cmocka_unit_test(growing_without_host_memory_changes_nothing),
        cmocka_unit_test(random_sets_are_those_of_an_array),
        cmocka_unit_test(a_bit_above_that_lies_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
