/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * test_assert: a failed assertion says what must hold, and where, and ends the program. It fails in a
 * child, which leaves by exit so that what it ran is counted by coverage builds.
 */
#include "base/assert.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/claims.h"

enum {
    ABORTED = 42
};

static void leave(int signal_number)
{
    (void)signal_number;
    exit(ABORTED);
}

/* Runs `act` in a child. Answers its exit status, and what it wrote to stderr. */
static int run_in_child(void (*act)(void), char *text, size_t text_bytes)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        signal(SIGABRT, leave);
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        act();
        exit(0);
    }
    close(ends[1]);
    size_t length = 0;
    ssize_t count;
    while ((count = read(ends[0], text + length, text_bytes - 1 - length)) > 0) {
        length += (size_t)count;
    }
    text[length] = '\0';
    close(ends[0]);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void fail_assertion(void)
{
    tn_assert_failed("chunk_count > 0", "pool.c", 123);
}

static void assert_what_holds(void)
{
    TN_ASSERT(ABORTED == 42);
}

static void assert_what_does_not_hold(void)
{
    TN_ASSERT(ABORTED == 43);
}

static void a_failed_assertion_says_what_and_where_and_aborts(void **state)
{
    (void)state;
    char text[200];
    assert_int_equal(run_in_child(fail_assertion, text, sizeof text), ABORTED);
    assert_string_equal(text, "pool.c:123: this must hold: chunk_count > 0\n");
}

static void what_holds_passes(void **state)
{
    (void)state;
    char text[200];
    assert_int_equal(run_in_child(assert_what_holds, text, sizeof text), 0);
    assert_string_equal(text, "");
}

static void assertions_are_checked_from_level_one_on(void **state)
{
    (void)state;
    char text[400];
    bool is_checked = TN_CHECK_LEVEL >= 1;
    assert_int_equal(run_in_child(assert_what_does_not_hold, text, sizeof text),
                     is_checked ? ABORTED : 0);
    assert_int_equal(strstr(text, "this must hold: ABORTED == 43") != NULL, is_checked);
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
