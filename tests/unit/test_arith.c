/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_arith: sums, products and roundings at the edge of what a size_t holds. */
#include "base/arith.h"

#include "harness/claims.h"

#define HALF ((SIZE_MAX >> 1) + 1) /* the highest power of two */

static const size_t untouched = 12345;

/* --- sums and products -------------------------------------------------------------------------- */

static void expect_sum(size_t a, size_t b, size_t expected)
{
    size_t sum = untouched;
    if (!tn_add_fits(a, b, &sum)) fail_msg("%zu + %zu is said not to fit", a, b);
    if (sum != expected) fail_msg("%zu + %zu is %zu, not %zu", a, b, sum, expected);
}

static void expect_no_sum(size_t a, size_t b)
{
    size_t sum = untouched;
    if (tn_add_fits(a, b, &sum)) fail_msg("%zu + %zu is said to fit", a, b);
    assert_int_equal(sum, untouched);
}

static void expect_product(size_t a, size_t b, size_t expected)
{
    size_t product = untouched;
    if (!tn_multiply_fits(a, b, &product)) fail_msg("%zu * %zu is said not to fit", a, b);
    if (product != expected) fail_msg("%zu * %zu is %zu, not %zu", a, b, product, expected);
}

static void expect_no_product(size_t a, size_t b)
{
    size_t product = untouched;
    if (tn_multiply_fits(a, b, &product)) fail_msg("%zu * %zu is said to fit", a, b);
    assert_int_equal(product, untouched);
}

static void a_sum_fits_up_to_size_max(void **state)
{
    expect_sum(0, 0, 0);
    expect_sum(1, 2, 3);
    expect_sum(SIZE_MAX, 0, SIZE_MAX);
    expect_sum(0, SIZE_MAX, SIZE_MAX);
    expect_sum(SIZE_MAX - 1, 1, SIZE_MAX);
    expect_sum(SIZE_MAX - 2, 1, SIZE_MAX - 1);
    expect_sum(HALF, HALF - 1, SIZE_MAX);
}

static void a_sum_beyond_size_max_is_refused(void **state)
{
    expect_no_sum(SIZE_MAX, 1);
    expect_no_sum(1, SIZE_MAX);
    expect_no_sum(SIZE_MAX - 1, 2);
    expect_no_sum(SIZE_MAX - 2, 3);
    expect_no_sum(HALF, HALF);
    expect_no_sum(SIZE_MAX, SIZE_MAX);
}

static void a_product_fits_up_to_size_max(void **state)
{
    expect_product(0, 0, 0);
    expect_product(0, SIZE_MAX, 0);
    expect_product(SIZE_MAX, 0, 0);
    expect_product(6, 7, 42);
    expect_product(1, SIZE_MAX, SIZE_MAX);
    expect_product(SIZE_MAX / 2, 2, SIZE_MAX - 1);
    expect_product(HALF / 2, 2, HALF);
    expect_product(SIZE_MAX / 3, 3, SIZE_MAX);
}

static void a_product_beyond_size_max_is_refused(void **state)
{
    expect_no_product(HALF, 2);
    expect_no_product(2, HALF);
    expect_no_product(SIZE_MAX / 3 + 1, 3);
    expect_no_product(SIZE_MAX, 2);
    expect_no_product(SIZE_MAX - 1, 2);
    expect_no_product(SIZE_MAX, SIZE_MAX);
}

/* --- powers of two and roundings ---------------------------------------------------------------- */

static void powers_of_two_are_told_from_their_neighbours(void **state)
{
    assert_false(tn_is_power_of_two(0));
    assert_true(tn_is_power_of_two(1));
    assert_true(tn_is_power_of_two(2));
    assert_false(tn_is_power_of_two(SIZE_MAX));
    for (size_t power = 4; power != 0; power <<= 1) {
        assert_false(tn_is_power_of_two(power - 1));
        assert_true(tn_is_power_of_two(power));
        assert_false(tn_is_power_of_two(power + 1));
    }
}

static void expect_rounded(size_t value, size_t power_of_two, size_t down, size_t up)
{
    size_t rounded = untouched;
    assert_int_equal(tn_round_down(value, power_of_two), down);
    assert_true(tn_round_up_fits(value, power_of_two, &rounded));
    if (rounded != up) fail_msg("%zu rounds up to %zu, not %zu", value, rounded, up);
}

static void expect_no_rounding_up(size_t value, size_t power_of_two)
{
    size_t rounded = untouched;
    if (tn_round_up_fits(value, power_of_two, &rounded))
        fail_msg("%zu is said to round up to %zu", value, rounded);
    assert_int_equal(rounded, untouched);
}

static void multiples_stay_and_others_are_rounded(void **state)
{
    for (size_t power = 2; power < HALF; power <<= 1) {
        expect_rounded(0, power, 0, 0);
        expect_rounded(1, power, 0, power);
        expect_rounded(power - 1, power, 0, power);
        expect_rounded(power, power, power, power);
        expect_rounded(power + 1, power, power, 2 * power);
    }
    expect_rounded(1023, 1, 1023, 1023);
    expect_rounded(SIZE_MAX, 1, SIZE_MAX, SIZE_MAX);
    expect_rounded(HALF, HALF, HALF, HALF);
    expect_rounded(HALF - 1, HALF, 0, HALF);
    expect_rounded(SIZE_MAX - 2, 2, SIZE_MAX - 3, SIZE_MAX - 1);
    expect_rounded(SIZE_MAX - 1, 2, SIZE_MAX - 1, SIZE_MAX - 1);
}

static void rounding_up_beyond_size_max_is_refused(void **state)
{
    for (size_t power = 4; power != 0; power <<= 1) {
        expect_no_rounding_up(SIZE_MAX, power);
        expect_no_rounding_up(SIZE_MAX - 1, power);
        expect_no_rounding_up(SIZE_MAX - 2, power);
    }
    expect_no_rounding_up(SIZE_MAX, 2);
    expect_no_rounding_up(HALF + 1, HALF);
}

static void units_are_counted_without_overflow(void **state)
{
    assert_int_equal(tn_count_units(0, 10), 0);
    assert_int_equal(tn_count_units(1, 10), 1);
    assert_int_equal(tn_count_units(1023, 10), 1);
    assert_int_equal(tn_count_units(1024, 10), 1);
    assert_int_equal(tn_count_units(1025, 10), 2);
    assert_int_equal(tn_count_units(SIZE_MAX, 10), (SIZE_MAX >> 10) + 1);
    assert_int_equal(tn_count_units(SIZE_MAX - 1023, 10), SIZE_MAX >> 10);
    assert_int_equal(tn_count_units(SIZE_MAX - 1022, 10), (SIZE_MAX >> 10) + 1);
    assert_int_equal(tn_count_units(SIZE_MAX, 0), SIZE_MAX);
    assert_int_equal(tn_count_units(HALF, 63), 1);
    assert_int_equal(tn_count_units(HALF + 1, 63), 2);
    assert_int_equal(tn_count_units(SIZE_MAX, 63), 2);
}

/* --- least, greatest, bits ---------------------------------------------------------------------- */

static void the_least_and_the_greatest_of_two(void **state)
{
    assert_int_equal(tn_min(1, 2), 1);
    assert_int_equal(tn_min(2, 1), 1);
    assert_int_equal(tn_min(2, 2), 2);
    assert_int_equal(tn_min(0, SIZE_MAX), 0);
    assert_int_equal(tn_max(1, 2), 2);
    assert_int_equal(tn_max(2, 1), 2);
    assert_int_equal(tn_max(2, 2), 2);
    assert_int_equal(tn_max(SIZE_MAX, SIZE_MAX - 1), SIZE_MAX);
}

static void the_outer_bits_of_a_word(void **state)
{
    for (unsigned bit = 0; bit < 64; bit++) {
        uint64_t only = (uint64_t)1 << bit;
        assert_int_equal(tn_lowest_bit(only), bit);
        assert_int_equal(tn_highest_bit(only), bit);
        assert_int_equal(tn_lowest_bit(UINT64_MAX << bit), bit);
        assert_int_equal(tn_highest_bit(UINT64_MAX << bit), 63);
        assert_int_equal(tn_lowest_bit(UINT64_MAX >> bit), 0);
        assert_int_equal(tn_highest_bit(UINT64_MAX >> bit), 63 - bit);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sum_fits_up_to_size_max),
        cmocka_unit_test(a_sum_beyond_size_max_is_refused),
        cmocka_unit_test(a_product_fits_up_to_size_max),
        cmocka_unit_test(a_product_beyond_size_max_is_refused),
        cmocka_unit_test(powers_of_two_are_told_from_their_neighbours),
        cmocka_unit_test(multiples_stay_and_others_are_rounded),
        cmocka_unit_test(rounding_up_beyond_size_max_is_refused),
        cmocka_unit_test(units_are_counted_without_overflow),
        cmocka_unit_test(the_least_and_the_greatest_of_two),
        cmocka_unit_test(the_outer_bits_of_a_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
