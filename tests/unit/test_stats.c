/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_stats: counters, their high-water marks, and the bins of the size histogram. */
#include "core/parts/stats.h"

#include "harness/claims.h"

/* --- the histogram ------------------------------------------------------------------------------ */

static void bins_end_with_powers_of_two(void **state)
{
    assert_int_equal(tn_stats_histogram_bin(1), 0);
    assert_int_equal(tn_stats_histogram_bin(2), 1);
    assert_int_equal(tn_stats_histogram_bin(3), 2);
    for (unsigned bin = 2; bin < TARN_STATS_HISTOGRAM_BINS - 1; bin++) {
        size_t last = (size_t)1 << bin;
        assert_int_equal(tn_stats_histogram_bin(last - 1), bin);
        assert_int_equal(tn_stats_histogram_bin(last), bin);
        assert_int_equal(tn_stats_histogram_bin(last + 1), bin + 1);
    }
}

static void the_last_bin_takes_all_that_is_larger(void **state)
{
    size_t last = (size_t)1 << (TARN_STATS_HISTOGRAM_BINS - 1);
    assert_int_equal(tn_stats_histogram_bin(last), TARN_STATS_HISTOGRAM_BINS - 1);
    assert_int_equal(tn_stats_histogram_bin(last + 1), TARN_STATS_HISTOGRAM_BINS - 1);
    assert_int_equal(tn_stats_histogram_bin(SIZE_MAX - 1), TARN_STATS_HISTOGRAM_BINS - 1);
    assert_int_equal(tn_stats_histogram_bin(SIZE_MAX), TARN_STATS_HISTOGRAM_BINS - 1);
}

/* --- counting ----------------------------------------------------------------------------------- */

static void an_allocation_is_counted_in_every_way(void **state)
{
    struct tn_stats stats = { 0 };
    tn_stats_count_growth(&stats, 4096);
    tn_stats_count_alloc(&stats, 1000, 1024);
    assert_null(tn_stats_check(&stats));
    assert_int_equal(stats.alloc_count, 1);
    assert_int_equal(stats.live_count, 1);
    assert_int_equal(stats.requested_bytes, 1000);
    assert_int_equal(stats.used_bytes, 1024);
    assert_int_equal(stats.size_histogram[10], 1);
}

static void a_free_takes_back_all_but_the_marks(void **state)
{
    struct tn_stats stats = { 0 };
    tn_stats_count_growth(&stats, 4096);
    tn_stats_count_alloc(&stats, 1000, 1024);
    tn_stats_count_alloc(&stats, 1, 1024);
    tn_stats_count_free(&stats, 1000, 1024);
    assert_null(tn_stats_check(&stats));
    assert_int_equal(stats.free_count, 1);
    assert_int_equal(stats.live_count, 1);
    assert_int_equal(stats.live_count_max, 2);
    assert_int_equal(stats.requested_bytes, 1);
    assert_int_equal(stats.requested_bytes_max, 1001);
    assert_int_equal(stats.used_bytes, 1024);
    assert_int_equal(stats.used_bytes_max, 2048);
    assert_int_equal(stats.size_histogram[10], 1); /* of requests so far, live or not */
}

static void a_mark_rises_only_beyond_itself(void **state)
{
    struct tn_stats stats = { 0 };
    tn_stats_count_growth(&stats, 8192);
    tn_stats_count_alloc(&stats, 2048, 2048);
    tn_stats_count_free(&stats, 2048, 2048);
    tn_stats_count_alloc(&stats, 2047, 2048);
    assert_int_equal(stats.requested_bytes_max, 2048);
    tn_stats_count_alloc(&stats, 1, 1024);
    assert_int_equal(stats.requested_bytes_max, 2048);
    tn_stats_count_alloc(&stats, 1, 1024);
    assert_int_equal(stats.requested_bytes_max, 2049);
    assert_int_equal(stats.used_bytes_max, 4096);
    assert_int_equal(stats.live_count_max, 3);
}

static void the_footprint_rises_and_falls(void **state)
{
    struct tn_stats stats = { 0 };
    tn_stats_count_growth(&stats, 1 << 20);
    tn_stats_count_growth(&stats, 2 << 20);
    tn_stats_count_release(&stats, 1 << 20, false, true);
    assert_int_equal(stats.footprint_bytes, 3 << 20);
    assert_int_equal(stats.unreleased_bytes, 1 << 20);
    tn_stats_count_release(&stats, 1 << 20, true, true);
    assert_int_equal(stats.unreleased_bytes, 1 << 20);
    tn_stats_count_release(&stats, 1 << 20, true, false);
    assert_int_equal(stats.unreleased_bytes, 0);
    assert_int_equal(stats.footprint_bytes, 2 << 20);
    assert_int_equal(stats.footprint_bytes_max, 3 << 20);
    assert_int_equal(stats.vendor_alloc_count, 0); /* counted with the calls, which may fail */
    assert_int_equal(stats.vendor_free_count, 3);
    assert_int_equal(stats.vendor_refusal_count, 2);
    assert_null(tn_stats_check(&stats));
}

static void sizes_and_marks_may_be_equal(void **state)
{
    struct tn_stats stats = { 0 };
    assert_null(tn_stats_check(&stats));
    tn_stats_count_growth(&stats, 1024);
    tn_stats_count_alloc(&stats, 1024, 1024);
    assert_null(tn_stats_check(&stats));
}

/* --- the check finds damage --------------------------------------------------------------------- */

static struct tn_stats stats_of_two(void)
{
    struct tn_stats stats = { 0 };
    tn_stats_count_growth(&stats, 4096);
    tn_stats_count_alloc(&stats, 1000, 1024);
    tn_stats_count_alloc(&stats, 1000, 1024);
    assert_null(tn_stats_check(&stats));
    return stats;
}

static void expect_fault(const struct tn_stats *stats, const char *expected)
{
    const char *fault = tn_stats_check(stats);
    assert_non_null(fault);
    assert_string_equal(fault, expected);
}

static void sizes_that_do_not_ascend_are_found(void **state)
{
    const char *fault = "requested, used and footprint do not ascend";
    struct tn_stats stats = stats_of_two();
    stats.requested_bytes = stats.used_bytes + 1;
    expect_fault(&stats, fault);
    stats = stats_of_two();
    stats.used_bytes = stats.footprint_bytes + 1;
    expect_fault(&stats, fault);
    stats = stats_of_two();
    tn_stats_count_free(&stats, 2001, 2048); /* more than there is wraps around */
    expect_fault(&stats, fault);
}

static void a_mark_below_its_counter_is_found(void **state)
{
    const char *fault = "a high-water mark is below its counter";
    struct tn_stats stats = stats_of_two();
    stats.requested_bytes_max = stats.requested_bytes - 1;
    expect_fault(&stats, fault);
    stats = stats_of_two();
    stats.used_bytes_max = stats.used_bytes - 1;
    expect_fault(&stats, fault);
    stats = stats_of_two();
    stats.footprint_bytes_max = stats.footprint_bytes - 1;
    expect_fault(&stats, fault);
    stats = stats_of_two();
    stats.live_count_max = stats.live_count - 1;
    expect_fault(&stats, fault);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(bins_end_with_powers_of_two),
        cmocka_unit_test(the_last_bin_takes_all_that_is_larger),
        cmocka_unit_test(an_allocation_is_counted_in_every_way),
        cmocka_unit_test(a_free_takes_back_all_but_the_marks),
        cmocka_unit_test(a_mark_rises_only_beyond_itself),
        cmocka_unit_test(the_footprint_rises_and_falls),
        cmocka_unit_test(sizes_and_marks_may_be_equal),
        cmocka_unit_test(sizes_that_do_not_ascend_are_found),
        cmocka_unit_test(a_mark_below_its_counter_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
