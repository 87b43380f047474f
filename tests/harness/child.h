/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * child: a part of a test in a process of its own, forked, or executed anew.
 *
 * The child may not use the test's own assertions, which would go on with the parent's tests. It claims by
 * CHILD_EXPECT, and a child that hangs is killed by its alarm.
 */
#ifndef TEST_CHILD_H
#define TEST_CHILD_H

/* cmocka wants these four first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* clang-format off */
#include <cmocka.h>
/* clang-format on */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* More than any of it takes under a sanitizer on a busy machine. */
#define CHILD_SECONDS_MAX 120

#define CHILD_EXPECT(claim)                                                             \
    do {                                                                                \
        if (!(claim)) {                                                                 \
            fprintf(stderr, "%s:%d: in a child: not %s\n", __FILE__, __LINE__, #claim); \
            _exit(1);                                                                   \
        }                                                                               \
    } while (0)

/* The child's own way out is to return. Fails when it did not come to its end, or claimed in vain. */
static inline void expect_child_to_end_well(pid_t child)
{
    int ended;
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &ended, 0), child);
    if (WIFSIGNALED(ended)) fail_msg("the child was ended by signal %d", WTERMSIG(ended));
    if (WEXITSTATUS(ended) != 0) fail_msg("the child ended with %d", WEXITSTATUS(ended));
}

/* cmocka catches what would end a test, and goes on with the next; a child must end by it. */
static inline void begin_child(void)
{
    const int signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS };
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        signal(signals[i], SIG_DFL);
    alarm(CHILD_SECONDS_MAX);
}

/* Runs a function in a forked child, which ends without functions of the exit. */
static inline void expect_in_child(void (*function)(void *), void *argument)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        begin_child();
        function(argument);
        _exit(0);
    }
    expect_child_to_end_well(child);
}

/* Runs the function in a forked child, and returns its output to standard error, up to a bound. Valid until the next such
 * call. */
static inline const char *error_output_of_child(void (*function)(void *))
{
    static char output[8192];
    int ends[2];
    ssize_t length = 0, got;
    assert_int_equal(pipe(ends), 0);
    int kept = dup(STDERR_FILENO);
    assert_true(kept >= 0);
    assert_true(dup2(ends[1], STDERR_FILENO) >= 0);
    expect_in_child(function, NULL);
    assert_true(dup2(kept, STDERR_FILENO) >= 0);
    close(kept);
    close(ends[1]);
    while ((got = read(ends[0], output + length, sizeof output - 1 - (size_t)length)) > 0)
        length += got;
    close(ends[0]);
    output[length] = '\0';
    return output;
}

/* Executes this program anew with one argument. */
static inline void expect_program_to_end_well(const char *argument)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        begin_child();
        execl("/proc/self/exe", "test", argument, (char *)NULL);
        _exit(127);
    }
    expect_child_to_end_well(child);
}

#endif
