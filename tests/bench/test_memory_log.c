/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_memory_log: of millions of events some hundred points stay, and the peaks are among them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "measuring/memory_log.h"

static bool has_point(const struct tn_memory_log *log, struct tn_memory_point wanted)
{
    for (size_t i = 0; i < log->count; i++)
        if (log->points[i].event == wanted.event &&
            log->points[i].live_bytes == wanted.live_bytes &&
            log->points[i].held_bytes == wanted.held_bytes)
            return true;
    return false;
}

static void expect_rising_events(const struct tn_memory_log *log)
{
    assert_true(log->count <= TN_MEMORY_POINTS_MAX);
    for (size_t i = 1; i < log->count; i++)
        assert_true(log->points[i].event > log->points[i - 1].event);
}

/* Around the numbers at which windows grow; one event has more live than all, another more held. */
static void peaks_and_ends_stay(void **state)
{
    (void)state;
    static const size_t counts[] = { 1, 2, 163, 164, 165, 500, 501, 1000000 };
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        size_t count = counts[i];
        struct tn_memory_point most_live = { count / 3, 1000, 7 };
        struct tn_memory_point most_held = { count / 3 + 1, 5, 1000 };
        struct tn_memory_log *log = tn_memory_log_create(count);
        assert_non_null(log);
        for (size_t event = 0; event <= count; event++) {
            struct tn_memory_point point = { event, event % 10, event % 7 };
            if (event == most_live.event) point = most_live;
            if (event == most_held.event) point = most_held;
            tn_memory_log_add(log, point);
        }
        tn_memory_log_finish(log);
        expect_rising_events(log);
        assert_int_equal(log->points[0].event, 0);
        assert_int_equal(log->points[log->count - 1].event, count);
        assert_true(has_point(log, most_live));
        assert_true(has_point(log, most_held));
        free(log);
    }
}

static void few_events_all_stay(void **state)
{
    (void)state;
    struct tn_memory_log *log = tn_memory_log_create(100);
    for (size_t event = 0; event <= 100; event++)
        tn_memory_log_add(log, (struct tn_memory_point){ event, 2 * event, 3 * event });
    tn_memory_log_finish(log);
    assert_int_equal(log->count, 101);
    for (size_t event = 0; event <= 100; event++)
        assert_int_equal(log->points[event].live_bytes, 2 * event);
    free(log);
}

/* Numbers may be left out, and whole windows with them. */
static void events_may_be_left_out(void **state)
{
    (void)state;
    struct tn_memory_log *log = tn_memory_log_create(1000000);
    for (size_t event = 0; event <= 1000000; event += 100000)
        tn_memory_log_add(log, (struct tn_memory_point){ event, 1, 1 });
    tn_memory_log_finish(log);
    assert_int_equal(log->count, 11);
    expect_rising_events(log);
    free(log);
}

static void nothing_is_an_empty_list(void **state)
{
    (void)state;
    struct tn_memory_log *log = tn_memory_log_create(0);
    tn_memory_log_finish(log);
    assert_int_equal(log->count, 0);
    free(log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(peaks_and_ends_stay),
        cmocka_unit_test(few_events_all_stay),
        cmocka_unit_test(events_may_be_left_out),
        cmocka_unit_test(nothing_is_an_empty_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
