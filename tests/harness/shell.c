/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "harness/shell.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/claims.h"

static const char *beginning = "";

void begin_commands_with(const char *assignments)
{
    beginning = assignments;
}

static int run(const char *command)
{
    char line[4096];
    int ended;
    int length = snprintf(line, sizeof line, "%s { %s ; } >output 2>&1", beginning, command);
    assert_true(length > 0 && (size_t)length < sizeof line);
    pid_t child = fork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", line, (char *)NULL);
        _exit(1);
    }
    assert_int_equal(waitpid(child, &ended, 0), child);
    return WIFEXITED(ended) ? WEXITSTATUS(ended) : 128 + WTERMSIG(ended);
}

void expect_exit(int status, const char *command)
{
    int found = run(command);
    if (found != status)
        fail_msg("%s\nended with %d and not %d:\n%s", command, found, status, read_output());
}

const char *read_output(void)
{
    static char text[16384];
    FILE *file = fopen("output", "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

void expect_output(const char *part)
{
    if (!strstr(read_output(), part))
        fail_msg("the output does not say \"%s\":\n%s", part, read_output());
}

void expect_no_output(const char *part)
{
    if (strstr(read_output(), part)) fail_msg("the output says \"%s\":\n%s", part, read_output());
}
