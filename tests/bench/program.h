/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* program: tarn-bench run from outside, with what it printed and how it ended. For tests with cmocka, which fail where
 * something is not as it must be. */
#ifndef TN_PROGRAM_H
#define TN_PROGRAM_H

#include <jansson.h>

/* The path of tarn-bench, set by main. */
extern const char *program;

struct outcome {
    int exit_status;
    char *output;
    char *errors;
};

void outcome_fini(struct outcome *outcome);

/* Runs the program with these arguments, up to the first NULL. */
struct outcome run(const char *const *arguments);

/* The same, with its output in this file, of which the outcome has no text. */
struct outcome run_to(const char *output_path, const char *const *arguments);

/* The same, and so many seconds after it has printed something it gets the signal. */
struct outcome run_and_signal(const char *const *arguments, int signal_number, double seconds);

#define RUN(...) run((const char *const[]){ __VA_ARGS__, NULL })

void expect_part(const char *text, const char *part);

/* The command line is wrong, in the way that the message says. */
void expect_usage_error(struct outcome outcome, const char *message);

/* Skips the test where the device that tarn was built for is missing. */
void need_device(void);

json_t *load_json(const char *path);

#endif
