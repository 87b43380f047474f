/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_interrupt: one signal is a wish, and the next one, of either kind, ends the program. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "interrupt.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_second_signal_ends_the_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
