/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * launch: what tarn-record and tarn-run do alike. Both run a program with a library of tarn's preloaded, pass signals
 * on to it, and end with its exit status.
 *
 * The program that links this file defines tn_launch_name and tn_launch_usage. A function that has no host memory says
 * so and exits with TN_LAUNCH_EXIT_OURS.
 *
 * Threads: one.
 */
#ifndef TN_LAUNCH_H
#define TN_LAUNCH_H

#include <getopt.h>
#include <stdbool.h>

/* As in env and timeout. */
enum {
    TN_LAUNCH_EXIT_OURS = 125,
    TN_LAUNCH_EXIT_CANNOT_RUN = 126,
    TN_LAUNCH_EXIT_NOT_FOUND = 127
};

/* Of the program that uses this file: what its messages begin with, and its help. */
extern const char tn_launch_name[], tn_launch_usage[];

/* --- messages and memory ------------------------------------------------------------------------------ */

/* Prints a line, which begins with the name. */
__attribute__((format(printf, 1, 2))) void tn_launch_tell(const char *format, ...);

/* Prints a line and exits with TN_LAUNCH_EXIT_OURS. */
__attribute__((format(printf, 1, 2), noreturn)) void tn_launch_fail(const char *format, ...);

/* Prints a line and the help, and exits with TN_LAUNCH_EXIT_OURS. */
__attribute__((noreturn)) void tn_launch_fail_for_usage(const char *text);

/* Completes what getopt has told of an option: prints the options that may have been meant, and the help. Exits with
 * TN_LAUNCH_EXIT_OURS. */
__attribute__((noreturn)) void tn_launch_fail_for_option(const char *text,
                                                         const struct option *options);

/* Returns the pointer, which is not NULL: that would mean that there is no memory. */
void *tn_launch_require(void *pointer);

/* Returns a text from malloc. */
__attribute__((format(printf, 1, 2))) char *tn_launch_text(const char *format, ...);

/* --- environment -------------------------------------------------------------------------------------- */

/* Returns the path, from malloc, of a library beside this program: in the build or in the installation. Exits with
 * TN_LAUNCH_EXIT_OURS if there is none. */
char *tn_launch_library(const char *name);

/* Sets a variable of the environment. */
void tn_launch_set(const char *name, const char *value);

/* Sets LD_PRELOAD to the library, before the libraries that it names already. Exits with TN_LAUNCH_EXIT_OURS if the
 * loader cannot read the path. */
void tn_launch_preload(const char *library);

/* --- running ------------------------------------------------------------------------------------------ */

/* From now on signals that end or tell a program something are passed on to the running one, and do not end this one.
 * The terminal's signals, such as that of Ctrl-C, are not passed on: the terminal sends them to both. */
void tn_launch_watch_signals(void);

/* Runs a program and returns its exit status, or 128 + the number of the signal that ended it. If the program cannot be
 * run, prints why and returns TN_LAUNCH_EXIT_NOT_FOUND or TN_LAUNCH_EXIT_CANNOT_RUN. A quiet program writes its output
 * and errors to /dev/null. If a signal that ends programs came since tn_launch_watch_signals, which must have been
 * called, runs nothing and returns 128 + its number. */
int tn_launch_run(char **command, bool is_quiet);

#endif
