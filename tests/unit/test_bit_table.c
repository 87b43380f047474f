/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_bit_table: sets of integers around the ends of words (63, 64, 65), of upper words (4095, 4096, 4097)
 * and of the table, compared with an array of bool.
 */
#include "base/sets/bit_table.h"

#include "harness/claims.h"
#include "harness/random.h"

#define SIZE TN_BIT_TABLE_SIZE

static struct tn_bit_table table;
static bool model[SIZE];

static int empty(void **state)
{
    memset(&table, 0, sizeof table);
    tn_bit_table_init(&table);
    memset(model, 0, sizeof model);
    return 0;
}

static void expect_next(uint32_t from, uint32_t expected)
{
    /* With -O3 GCC follows single values past an end that no search comes to, and warns. */
    volatile uint32_t start = from;
    uint32_t found = tn_bit_table_find_next(&table, start);
    if (found != expected) fail_msg("from %u: %u, not %u", from, found, expected);
}

static void an_empty_table_has_no_member(void **state)
{
    for (uint32_t bit = 0; bit < SIZE; bit++) {
        assert_false(tn_bit_table_has(&table, bit));
        expect_next(bit, SIZE);
    }
    assert_int_equal(tn_bit_table_find_last(&table), TN_BIT_TABLE_NONE);
    assert_true(tn_bit_table_check(&table));
}

static void nothing_is_found_at_the_end(void **state)
{
    tn_bit_table_set(&table, SIZE - 1);
    expect_next(SIZE - 1, SIZE - 1);
    expect_next(SIZE, SIZE);
}

/* Each as the only member, found from every number before it and from none behind. */
static void a_member_is_found_from_all_before_it(void **state)
{
    static const uint32_t members[] = { 0,    1,    62,    63,    64,    65,    127,   128,
                                        4031, 4032, 4095,  4096,  4097,  8191,  8192,  8193,
                                        4160, 9000, 12287, 12288, 16319, 16320, 16382, 16383 };
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        uint32_t member = members[i];
        tn_bit_table_set(&table, member);
        assert_true(tn_bit_table_has(&table, member));
        assert_true(tn_bit_table_check(&table));
        assert_int_equal(tn_bit_table_find_last(&table), member);
        for (uint32_t from = 0; from < SIZE; from++)
            expect_next(from, from <= member ? member : SIZE);
        tn_bit_table_clear(&table, member);
        assert_false(tn_bit_table_has(&table, member));
        assert_true(tn_bit_table_check(&table));
    }
}

static void setting_and_clearing_twice_does_nothing(void **state)
{
    tn_bit_table_set(&table, 70);
    tn_bit_table_set(&table, 70);
    tn_bit_table_set(&table, 71);
    tn_bit_table_clear(&table, 71);
    tn_bit_table_clear(&table, 71);
    assert_true(tn_bit_table_check(&table));
    expect_next(0, 70);
    tn_bit_table_clear(&table, 70);
    tn_bit_table_clear(&table, 70);
    assert_true(tn_bit_table_check(&table));
    expect_next(0, SIZE);
}

static void a_wrong_upper_bit_is_found(void **state)
{
    tn_bit_table_set(&table, 5000);
    table.upper[3] = 1;
    assert_false(tn_bit_table_check(&table));
    table.upper[3] = 0;
    assert_true(tn_bit_table_check(&table));
    table.upper[1] = 0;
    assert_false(tn_bit_table_check(&table));
    table.upper[1] = 1 << (5000 / 64 - 64);
    assert_true(tn_bit_table_check(&table));
    table.upper[4] = 0;
    assert_false(tn_bit_table_check(&table));
    tn_bit_table_init(&table);
    table.lower[256] = 0;
    assert_false(tn_bit_table_check(&table));
}

/* --- against a model ------------------------------------------------------------------------------ */

static uint32_t model_next(uint32_t from)
{
    while (from < SIZE && !model[from])
        from++;
    return from;
}

static uint32_t model_last(void)
{
    for (uint32_t bit = SIZE; bit-- > 0;) {
        if (model[bit]) return bit;
    }
    return TN_BIT_TABLE_NONE;
}

/* Few members at first, then many, then few. */
static void random_steps_are_those_of_a_model(void **state)
{
    struct random random = random_init(random_seed(7));
    for (int step = 0; step < 30000; step++) {
        bool sets = random_below(&random, 100) < (step / 10000 == 1 ? 70 : 40);
        uint32_t bit = (uint32_t)random_below(&random, SIZE);
        if (sets) {
            tn_bit_table_set(&table, bit);
        } else {
            tn_bit_table_clear(&table, bit);
        }
        model[bit] = sets;
        uint32_t from = (uint32_t)random_below(&random, SIZE);
        expect_next(from, model_next(from));
        if (step % 100 != 0) continue;
        assert_true(tn_bit_table_check(&table));
        assert_int_equal(tn_bit_table_find_last(&table), model_last());
    }
}

#define TEST(function) cmocka_unit_test_setup(function, empty)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(an_empty_table_has_no_member),         TEST(nothing_is_found_at_the_end),
        TEST(a_member_is_found_from_all_before_it), TEST(setting_and_clearing_twice_does_nothing),
        TEST(a_wrong_upper_bit_is_found),           TEST(random_steps_are_those_of_a_model),
    };
    return cmocka_run_group_tests_name("bit_table", tests, NULL, NULL);
}
