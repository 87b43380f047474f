/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_gauge: that a moment is quiet, and what asking costs. What a neighbour does cannot be had here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/clock.h"
#include "common/gauge.h"

/* However busy the machine is. */
static void there_are_quiet_moments(void **state)
{
    (void)state;
    size_t quiet_count = 0;
    uint64_t end_ns = tn_clock_now_ns() + 20000000000;
    while (quiet_count < 10 && tn_clock_now_ns() < end_ns)
        quiet_count += tn_gauge_is_quiet();
    assert_int_equal(quiet_count, 10);
}

/* Little against a slice of 200 us; how much depends on the build, and on who else is there. */
static void asking_takes_microseconds(void **state)
{
    (void)state;
    uint64_t least_ns = UINT64_MAX;
    for (size_t i = 0; i < 1000; i++) {
        uint64_t start_ns = tn_clock_now_ns();
        tn_gauge_is_quiet();
        uint64_t duration_ns = tn_clock_now_ns() - start_ns;
        if (duration_ns < least_ns) least_ns = duration_ns;
    }
    assert_in_range(least_ns, 100, 100000);
}

/* What is quiet is found out by and by: the least time falls, and what came before may not hold. */
static void the_least_time_never_rises(void **state)
{
    (void)state;
    tn_gauge_is_quiet();
    for (size_t i = 0; i < 1000; i++) {
        double before_ns = tn_gauge_least_ns();
        tn_gauge_is_quiet();
        assert_true(tn_gauge_least_ns() > 0.0 && tn_gauge_least_ns() <= before_ns);
    }
    assert_true(tn_gauge_still_holds(tn_gauge_least_ns()));
    assert_false(tn_gauge_still_holds(2.0 * tn_gauge_least_ns()));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_are_quiet_moments),
        cmocka_unit_test(the_least_time_never_rises),
        cmocka_unit_test(asking_takes_microseconds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
