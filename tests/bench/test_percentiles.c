/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_percentiles: the figures of small sets that can be counted by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/percentiles.h"

static void nothing_is_all_zero(void **state)
{
    (void)state;
    struct tn_percentiles percentiles = tn_percentiles_compute(NULL, 0);
    assert_int_equal(percentiles.p50, 0);
    assert_int_equal(percentiles.max, 0);
    assert_true(tn_spread_compute(NULL, 0).median == 0.0);
}

static void one_sample_is_every_percentile(void **state)
{
    (void)state;
    uint64_t sample = 7;
    struct tn_percentiles percentiles = tn_percentiles_compute(&sample, 1);
    assert_int_equal(percentiles.p50, 7);
    assert_int_equal(percentiles.p99, 7);
    assert_int_equal(percentiles.p999, 7);
    assert_int_equal(percentiles.max, 7);
    assert_true(percentiles.mean == 7.0);
}

/* The numbers 1 to count, the largest first. */
static struct tn_percentiles of_first(size_t count)
{
    static uint64_t samples[2000];
    for (size_t i = 0; i < count; i++)
        samples[i] = count - i;
    return tn_percentiles_compute(samples, count);
}

static void percentiles_are_nearest_ranks(void **state)
{
    (void)state;
    struct tn_percentiles percentiles = of_first(1000);
    assert_int_equal(percentiles.p50, 500);
    assert_int_equal(percentiles.p99, 990);
    assert_int_equal(percentiles.p999, 999);
    assert_int_equal(percentiles.max, 1000);
    assert_true(percentiles.mean == 500.5);
    assert_int_equal(of_first(2).p50, 1);
    assert_int_equal(of_first(3).p50, 2);
    assert_int_equal(of_first(100).p99, 99);
    assert_int_equal(of_first(101).p99, 100);
    assert_int_equal(of_first(1001).p999, 1000);
    assert_int_equal(of_first(2000).p999, 1998);
}

static void the_median_of_an_even_number_lies_between(void **state)
{
    (void)state;
    struct tn_weighted odd[] = { { 9.0, 1.0 }, { 1.0, 1.0 }, { 5.0, 1.0 } };
    struct tn_spread spread = tn_spread_compute(odd, 3);
    assert_true(spread.min == 1.0 && spread.median == 5.0 && spread.max == 9.0);
    struct tn_weighted even[] = { { 9.0, 1.0 }, { 1.0, 1.0 }, { 5.0, 1.0 }, { 6.0, 1.0 } };
    assert_true(tn_spread_compute(even, 4).median == 5.5);
}

/* As if a value stood there as often as its weight says. */
static void values_count_by_their_weight(void **state)
{
    (void)state;
    for (unsigned weights = 0; weights < 256; weights++) { /* 0 to 3, of four values */
        struct tn_weighted values[4];
        struct tn_weighted repeated[12];
        size_t count = 0;
        for (unsigned i = 0; i < 4; i++) {
            unsigned weight = weights >> 2 * i & 3;
            values[i] = (struct tn_weighted){ (double)(1 << i), weight / 4.0 };
            for (unsigned k = 0; k < weight; k++)
                repeated[count++] = (struct tn_weighted){ values[i].value, 1.0 };
        }
        double median = tn_spread_compute(repeated, count).median;
        struct tn_spread spread = tn_spread_compute(values, 4);
        if (weights == 0) median = 3.0; /* where none has any, all have the same */
        if (spread.median != median)
            fail_msg("weights %#x: %f, and not %f", weights, spread.median, median);
        assert_true(spread.min == 1.0 && spread.max == 8.0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_all_zero),
        cmocka_unit_test(one_sample_is_every_percentile),
        cmocka_unit_test(percentiles_are_nearest_ranks),
        cmocka_unit_test(the_median_of_an_even_number_lies_between),
        cmocka_unit_test(values_count_by_their_weight),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
