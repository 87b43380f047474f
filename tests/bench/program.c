/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* program: tarn-bench run from outside. */
#include "program.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
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

/* Tests write over the files of earlier ones, whose names they give by "--json", NAME. */
static bool replaces_files(const char *argument)
{
    return strcmp(argument, "--json") == 0 || strcmp(argument, "--csv") == 0;
}

/* Starts the program with these arguments, up to the first NULL. */
static pid_t start_with(const char *const *arguments, const char *output_path,
                        const char *errors_path)
{
    char *copies[ARGUMENT_COUNT_MAX + 2] = { strdup(program) };
    size_t count = 1;
    bool has_file = false;
    for (size_t i = 0; arguments[i]; i++) {
        assert_true(count < ARGUMENT_COUNT_MAX);
        if (replaces_files(arguments[i]) && !has_file) copies[count++] = strdup("--force");
        has_file |= replaces_files(arguments[i]);
        copies[count++] = strdup(arguments[i]);
    }
    pid_t child = start(copies, output_path, errors_path);
    for (size_t i = 0; i < count; i++)
        free(copies[i]);
    return child;
}

static struct outcome finish(pid_t child, const char *output_path, const char *errors_path)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return (struct outcome){ WEXITSTATUS(status), scratch_read(output_path),
                             scratch_read(errors_path) };
}

struct outcome run(const char *const *arguments)
{
    const char *output_path = scratch_path("output");
    const char *errors_path = scratch_path("errors");
    return finish(start_with(arguments, output_path, errors_path), output_path, errors_path);
}

struct outcome run_to(const char *output_path, const char *const *arguments)
{
    const char *errors_path = scratch_path("errors");
    pid_t child = start_with(arguments, output_path, errors_path);
    struct outcome outcome = finish(child, errors_path, errors_path);
    outcome.output[0] = '\0';
    return outcome;
}

static void sleep_for(double seconds)
{
    struct timespec time = { .tv_sec = (time_t)seconds };
    time.tv_nsec = (long)((seconds - (double)time.tv_sec) * 1e9);
    nanosleep(&time, NULL);
}

static bool is_empty(const char *path)
{
    struct stat status;
    return stat(path, &status) != 0 || status.st_size == 0;
}

struct outcome run_and_signal(const char *const *arguments, int signal_number, double seconds)
{
    const char *output_path = scratch_path("output");
    const char *errors_path = scratch_path("errors");
    pid_t child = start_with(arguments, output_path, errors_path);
    /* What an earlier run left has been cut off by now. A program that prints nothing gets it all the same. */
    for (unsigned i = 0; i < 6000 && is_empty(output_path); i++)
        sleep_for(0.01);
    sleep_for(seconds);
    assert_int_equal(kill(child, signal_number), 0);
    return finish(child, output_path, errors_path);
}

void expect_part(const char *text, const char *part)
{
    if (!strstr(text, part)) fail_msg("'%s' is not in:\n%s", part, text);
}

void expect_usage_error(struct outcome outcome, const char *message)
{
    assert_int_equal(outcome.exit_status, 2);
    assert_string_equal(outcome.output, "");
    expect_part(outcome.errors, message);
    outcome_fini(&outcome);
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
