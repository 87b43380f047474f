/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* program: tarn-bench run from outside. */
#include "program.h"

#include <fcntl.h>
#include <setjmp.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "scratch.h"
#include "tarn/backend.h"

extern char **environ;

const char *program;

enum {
    ARGUMENT_COUNT_MAX = 32
};

void outcome_fini(struct outcome *outcome)
{
    free(outcome->output);
    free(outcome->errors);
}

static pid_t start(char *const *arguments, const char *output_path, const char *errors_path)
{
    posix_spawn_file_actions_t actions;
    int flags = O_WRONLY | O_CREAT | O_TRUNC;
    assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output_path, flags, 0600);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors_path, flags, 0600);
    pid_t child;
    int error = posix_spawn(&child, program, &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    assert_int_equal(error, 0);
    return child;
}

struct outcome run(const char *const *arguments)
{
    char *copies[ARGUMENT_COUNT_MAX + 2] = { strdup(program) };
    size_t count = 1;
    for (; arguments[count - 1]; count++) {
        assert_true(count <= ARGUMENT_COUNT_MAX);
        copies[count] = strdup(arguments[count - 1]);
    }
    const char *output_path = scratch_path("output");
    const char *errors_path = scratch_path("errors");
    pid_t child = start(copies, output_path, errors_path);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    for (size_t i = 0; i < count; i++)
        free(copies[i]);

    assert_true(WIFEXITED(status));
    return (struct outcome){ WEXITSTATUS(status), scratch_read(output_path),
                             scratch_read(errors_path) };
}

void expect_part(const char *text, const char *part)
{
    if (!strstr(text, part)) fail_msg("'%s' is not in:\n%s", part, text);
}

void need_device(void)
{
    tarn_backend backend;
    tarn_status status = tarn_backend_open(0, TARN_MEMORY_KIND_DEVICE, &backend);
    if (status == TARN_STATUS_NO_DEVICE) skip();
    assert_int_equal(status, TARN_STATUS_OK);
    tarn_backend_close(&backend);
}

json_t *load_json(const char *path)
{
    json_error_t error;
    json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (!root) fail_msg("%s:%d: %s", path, error.line, error.text);
    return root;
}
