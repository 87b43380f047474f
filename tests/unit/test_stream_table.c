/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_stream_table: known and ended handles, who has waited for whom up to when, and turns of polls. */
#include "core/parts/stream_table.h"

#include "harness/claims.h"

#define NONE TN_STREAM_NONE

/* Handles are never followed. */
static char handles[TN_STREAM_COUNT_MAX + 1];
#define HANDLE(number) ((tarn_stream)&handles[number])

#define NAME(handle) ((struct tn_stream_name){ handle, 0 })

/* As a pool does. */
static uint32_t find(struct tn_stream_table *table, tarn_stream handle)
{
    static uint32_t last;
    if (tn_stream_table_is_known(table, last, handle)) return last;
    uint32_t found = tn_stream_table_search(table, NAME(handle));
    if (found != NONE) last = found;
    return found;
}

static struct tn_stream_table *new_table(void)
{
    static struct tn_stream_table table;
    memset(&table, 0x5a, sizeof table);
    tn_stream_table_init(&table);
    return &table;
}

static void an_empty_table_knows_no_stream(void **state)
{
    struct tn_stream_table *table = new_table();
    assert_int_equal(find(table, NULL), NONE);
    assert_int_equal(find(table, HANDLE(0)), NONE);
    assert_int_equal(tn_stream_table_find_unused(table), 0);
    assert_int_equal(tn_stream_table_reachable(table), 0);
}

static void all_places_are_found_and_no_more(void **state)
{
    struct tn_stream_table *table = new_table();
    for (uint32_t i = 0; i < TN_STREAM_COUNT_MAX; i++) {
        assert_int_equal(tn_stream_table_find_unused(table), i);
        tn_stream_table_add(table, i, NAME(i == 7 ? NULL : HANDLE(i)));
    }
    assert_int_equal(tn_stream_table_find_unused(table), NONE);
    assert_int_equal(tn_stream_table_reachable(table), ((uint32_t)1 << TN_STREAM_COUNT_MAX) - 1);
    for (uint32_t i = 0; i < TN_STREAM_COUNT_MAX; i++) {
        /* Twice: the second one is found where the first was. */
        assert_int_equal(find(table, i == 7 ? NULL : HANDLE(i)), i);
        assert_int_equal(find(table, i == 7 ? NULL : HANDLE(i)), i);
    }
    assert_int_equal(find(table, HANDLE(7)), NONE);
    assert_int_equal(find(table, HANDLE(TN_STREAM_COUNT_MAX)), NONE);

    tn_stream_table_remove(table, 12);
    assert_int_equal(tn_stream_table_find_unused(table), 12);
    assert_int_equal(find(table, HANDLE(12)), NONE);
}

static void a_handle_that_has_ended_is_not_found(void **state)
{
    static const enum tn_stream_state ended[] = { TN_STREAM_STATE_RETIRED, TN_STREAM_STATE_LOST };
    for (int i = 0; i < 2; i++) {
        struct tn_stream_table *table = new_table();
        tn_stream_table_add(table, 0, NAME(HANDLE(0)));
        assert_int_equal(find(table, HANDLE(0)), 0);
        table->streams[0].state = ended[i];
        assert_int_equal(find(table, HANDLE(0)), NONE);
        assert_int_equal(tn_stream_table_find_unused(table), 1);
        assert_int_equal(tn_stream_table_reachable(table), ended[i] == TN_STREAM_STATE_RETIRED);
        /* The same handle again is another stream. */
        tn_stream_table_add(table, 1, NAME(HANDLE(0)));
        assert_int_equal(find(table, HANDLE(0)), 1);
    }
}

static void a_wait_covers_up_to_its_record_and_for_one_stream(void **state)
{
    enum {
        A = 0,
        B = 1,
        C = 29
    };
    struct tn_stream_table *table = new_table();
    tn_stream_table_add(table, A, NAME(HANDLE(A)));
    tn_stream_table_add(table, B, NAME(HANDLE(B)));
    tn_stream_table_add(table, C, NAME(HANDLE(C)));
    const uint32_t a = 1 << A, b = 1 << B, c = (uint32_t)1 << C;
    const struct tn_dependency a4 = { a, 4 }, a5 = { a, 5 }, a6 = { a, 6 }, a0 = { a, 0 };

    /* Nobody has waited, and time 0 is one that has to be waited for. */
    assert_int_equal(tn_stream_table_uncovered(table, B, a0), a);
    assert_int_equal(tn_stream_table_uncovered(table, A, a0), 0);
    assert_int_equal(tn_stream_table_uncovered(table, NONE, a0), a);
    assert_int_equal(tn_stream_table_uncovered(table, B, TN_DEPENDENCY_NONE), 0);

    tn_stream_table_cover(table, B, A, 5);
    assert_int_equal(tn_stream_table_uncovered(table, B, a4), 0);
    assert_int_equal(tn_stream_table_uncovered(table, B, a5), 0);
    assert_int_equal(tn_stream_table_uncovered(table, B, a6), a);
    assert_int_equal(tn_stream_table_uncovered(table, C, a4), a);
    assert_int_equal(tn_stream_table_uncovered(table, NONE, a4), a);

    /* An older record takes nothing back. */
    tn_stream_table_cover(table, B, A, 2);
    assert_int_equal(tn_stream_table_uncovered(table, B, a5), 0);

    /* Of several, those that are left. */
    const struct tn_dependency all5 = { a | b | c, 5 }, all6 = { a | b | c, 6 };
    assert_int_equal(tn_stream_table_uncovered(table, B, all5), c);
    assert_int_equal(tn_stream_table_uncovered(table, B, all6), a | c);
    assert_int_equal(tn_stream_table_uncovered(table, C, all5), a | b);
    assert_int_equal(tn_stream_table_uncovered(table, NONE, all5), a | b | c);

    /* The record of a stream that has ended covers all that it ever did. */
    tn_stream_table_cover(table, B, C, TN_STREAM_TIME_MAX);
    assert_int_equal(
        tn_stream_table_uncovered(table, B, (struct tn_dependency){ c, TN_STREAM_TIME_MAX }), 0);
}

static void a_new_stream_has_waited_for_nobody_and_nobody_for_it(void **state)
{
    struct tn_stream_table *table = new_table();
    tn_stream_table_add(table, 0, NAME(HANDLE(0)));
    tn_stream_table_add(table, 1, NAME(HANDLE(1)));
    tn_stream_table_cover(table, 0, 1, 9);
    tn_stream_table_cover(table, 1, 0, 9);
    tn_stream_table_remove(table, 1);
    tn_stream_table_add(table, 1, NAME(HANDLE(2)));
    const struct tn_dependency on_0 = { 1, 3 }, on_1 = { 2, 3 };
    assert_int_equal(tn_stream_table_uncovered(table, 0, on_1), 2);
    assert_int_equal(tn_stream_table_uncovered(table, 1, on_0), 1);
}

static void a_record_takes_the_time_and_later_frees_have_another(void **state)
{
    struct tn_stream_table *table = new_table();
    tn_stream_table_add(table, 3, NAME(HANDLE(3)));
    struct tn_dependency before = tn_stream_table_depend(table, 3);
    assert_int_equal(before.streams, 1 << 3);
    uint32_t time = tn_stream_table_advance(table);
    struct tn_dependency after = tn_stream_table_depend(table, 3);
    assert_true(before.time <= time);
    assert_true(after.time > time);
}

/* Turns that are left out before the next poll. */
static unsigned count_left_out(struct tn_poll_turns *turns)
{
    unsigned count = 0;
    while (!tn_poll_turns_take(turns))
        count++;
    return count;
}

static void each_poll_in_a_row_that_finds_nothing_leaves_out_more_turns(void **state)
{
    static const unsigned expected[] = { 1, 3, 7, 15, 31, 63, 63, 63 };
    struct tn_poll_turns *turns = &new_table()->polls;
    assert_int_equal(count_left_out(turns), 0);
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        tn_poll_turns_note(turns, false);
        assert_int_equal(count_left_out(turns), expected[i]);
    }
}

static void after_a_poll_that_finds_something_comes_another(void **state)
{
    struct tn_poll_turns *turns = &new_table()->polls;
    for (int i = 0; i < 5; i++)
        tn_poll_turns_note(turns, false);
    (void)count_left_out(turns);
    tn_poll_turns_note(turns, true);
    assert_int_equal(count_left_out(turns), 0);
    tn_poll_turns_note(turns, false);
    assert_int_equal(count_left_out(turns), 1);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_table_knows_no_stream),
        cmocka_unit_test(all_places_are_found_and_no_more),
        cmocka_unit_test(a_handle_that_has_ended_is_not_found),
        cmocka_unit_test(a_wait_covers_up_to_its_record_and_for_one_stream),
        cmocka_unit_test(a_new_stream_has_waited_for_nobody_and_nobody_for_it),
        cmocka_unit_test(a_record_takes_the_time_and_later_frees_have_another),
        cmocka_unit_test(each_poll_in_a_row_that_finds_nothing_leaves_out_more_turns),
        cmocka_unit_test(after_a_poll_that_finds_something_comes_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
