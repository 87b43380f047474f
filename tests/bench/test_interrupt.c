/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_interrupt: one signal is a wish, and the next one ends the program, unless it is that nobody reads. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/interrupt.h"

/* In a child, which is to be ended by the second. */
static void expect_end(int first, int second)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        tn_interrupt_watch();
        if (tn_interrupt_is_wanted()) _exit(1);
        raise(first);
        if (!tn_interrupt_is_wanted()) _exit(2);
        raise(second);
        _exit(3);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status)) fail_msg("it went on to step %d", WEXITSTATUS(status));
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), second);
}

static void a_second_signal_ends_the_program(void **state)
{
    (void)state;
    expect_end(SIGINT, SIGINT);
    expect_end(SIGTERM, SIGTERM);
    expect_end(SIGINT, SIGTERM);
    expect_end(SIGTERM, SIGINT);
}

/* In a child, whose files are still to be written. */
static void nobody_reads_any_more(void **state)
{
    (void)state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int ends[2];
        tn_interrupt_watch();
        if (pipe(ends) != 0 || close(ends[0]) != 0 || tn_interrupt_is_wanted()) _exit(1);
        for (int i = 0; i < 3; i++)
            if (write(ends[1], "x", 1) != -1 || !tn_interrupt_is_wanted()) _exit(2);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_second_signal_ends_the_program),
        cmocka_unit_test(nobody_reads_any_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
