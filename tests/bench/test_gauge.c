/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_gauge: which moments count as quiet, by a clock of the test's own, and the cost of asking. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "common/clock.h"
#include "common/gauge.h"

/* The time between one reading of the clock and the next. 0: the clock is the system's. */
static uint64_t loop_ns;
static uint64_t now_ns;

int __real_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time);

/* The linker puts this function in the place of clock_gettime. */
int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
    if (loop_ns == 0) return __real_clock_gettime(clock, time);
    now_ns += loop_ns;
    time->tv_sec = (time_t)(now_ns / 1000000000);
    time->tv_nsec = (long)(now_ns % 1000000000);
    return 0;
}

static bool is_quiet_when_the_loop_takes(uint64_t ns)
{
    loop_ns = ns;
    bool is_quiet = tn_gauge_is_quiet();
    loop_ns = 0;
    return is_quiet;
}

/* When the least time falls, a time that was quiet before may be quiet no longer. */
static void a_moment_is_quiet_within_5_per_cent_of_the_least_time(void **state)
{
    (void)state;
    assert_true(is_quiet_when_the_loop_takes(4000));
    assert_true(is_quiet_when_the_loop_takes(4199));
    assert_false(is_quiet_when_the_loop_takes(4201));
    assert_true(tn_gauge_least_ns() == 4000.0);

    assert_true(is_quiet_when_the_loop_takes(3000));
    assert_false(is_quiet_when_the_loop_takes(4000));
    assert_true(tn_gauge_least_ns() == 3000.0);
    assert_false(tn_gauge_still_holds(4000.0));
    assert_true(tn_gauge_still_holds(3100.0));
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_moment_is_quiet_within_5_per_cent_of_the_least_time),
        cmocka_unit_test(asking_takes_microseconds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
