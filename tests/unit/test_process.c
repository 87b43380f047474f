/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What is noticed of forks and of the end of the process. */
#include "harness/child.h"

#include "base/process.h"

static uint32_t of_parent;
static char order[8];
static size_t order_length;

static void note_prepare(void)
{
    order[order_length++] = 'p';
}

static void note_parent(void)
{
    order[order_length++] = 'r';
}

static void note_child(void)
{
    order[order_length++] = 'c';
}

static void be_of_the_next_generation(void *unused)
{
    CHILD_EXPECT(tn_process_generation() == of_parent + 1);
}

static void a_child_is_of_another_generation(void **state)
{
    assert_true(tn_process_watch_forks());
    assert_true(tn_process_watch_forks());
    of_parent = tn_process_generation();
    expect_in_child(be_of_the_next_generation, NULL);
    assert_int_equal(tn_process_generation(), of_parent);
}

static void expect_order_in_child(void *unused)
{
    CHILD_EXPECT(order_length == 2 && order[0] == 'p' && order[1] == 'c');
}

static void handlers_run_around_a_fork(void **state)
{
    assert_true(tn_process_call_around_forks(note_prepare, note_parent, note_child));
    expect_in_child(expect_order_in_child, NULL);
    assert_int_equal(order_length, 2);
    assert_memory_equal(order, "pr", 2);
}

/* --- the end, in a program of its own --------------------------------------------------------------- */

static void expect_no_end_yet(void)
{
    CHILD_EXPECT(!tn_process_is_ending());
}

static void expect_end(void)
{
    CHILD_EXPECT(tn_process_is_ending());
    _exit(0);
}

static int end(void)
{
    atexit(expect_end);
    tn_process_watch_end();
    tn_process_watch_end();
    atexit(expect_no_end_yet);
    return 1; /* which expect_end makes good */
}

static void the_end_begins_where_it_was_first_watched(void **state)
{
    assert_false(tn_process_is_ending());
    expect_program_to_end_well("end");
}

int main(int argc, char **argv)
{
    if (argc == 2) return end();
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_is_of_another_generation),
        cmocka_unit_test(handlers_run_around_a_fork),
        cmocka_unit_test(the_end_begins_where_it_was_first_watched),
    };
    return cmocka_run_group_tests_name("process", tests, NULL, NULL);
}
