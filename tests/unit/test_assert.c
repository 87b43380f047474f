/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_assert: a failed assertion says what must hold, and where, and ends the program: here a child. */
#include "base/assert.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/claims.h"

/* How a child ended, and what it wrote to standard error. */
struct ending {
    bool has_aborted;
    char text[400];
};

static _Noreturn void act_as_child(void (*act)(void), const int *ends)
{
    const struct rlimit no_core = { 0, 0 };
    setrlimit(RLIMIT_CORE, &no_core);
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
    act();
    _exit(0);
}

static struct ending run_in_child(void (*act)(void))
{
    struct ending ending = { 0 };
    int ends[2], status;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) act_as_child(act, ends);
    close(ends[1]);

    size_t length = 0;
    ssize_t count;
    while ((count = read(ends[0], ending.text + length, sizeof ending.text - 1 - length)) > 0)
        length += (size_t)count;
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    ending.has_aborted = WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
    assert_true(ending.has_aborted || (WIFEXITED(status) && WEXITSTATUS(status) == 0));
    return ending;
}

static void fail_assertion(void)
{
    tn_assert_failed("chunk_count > 0", "pool.c", 123);
}

static void assert_what_holds(void)
{
    TN_ASSERT(getpid() > 0);
}

static void assert_what_does_not_hold(void)
{
    TN_ASSERT(getpid() < 0);
}

static void a_failed_assertion_says_what_and_where_and_aborts(void **state)
{
    struct ending ending = run_in_child(fail_assertion);
    assert_true(ending.has_aborted);
    assert_string_equal(ending.text, "pool.c:123: this must hold: chunk_count > 0\n");
}

static void what_holds_passes(void **state)
{
    struct ending ending = run_in_child(assert_what_holds);
    assert_false(ending.has_aborted);
    assert_string_equal(ending.text, "");
}

static void assertions_are_checked_from_level_one_on(void **state)
{
    struct ending ending = run_in_child(assert_what_does_not_hold);
    bool is_checked = TN_CHECK_LEVEL >= 1;
    assert_int_equal(ending.has_aborted, is_checked);
    assert_int_equal(strstr(ending.text, "this must hold: getpid() < 0") != NULL, is_checked);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failed_assertion_says_what_and_where_and_aborts),
        cmocka_unit_test(what_holds_passes),
        cmocka_unit_test(assertions_are_checked_from_level_one_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
