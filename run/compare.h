/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * compare: runs a program without tarn and with it, and prints figures of both side by side.
 *
 * The runs take turns: without and with, then with and without. Before each run the input, if it is a file, is set back
 * to where it was. The library is preloaded in the runs without tarn, too: it counts, and leaves the memory to the
 * driver.
 *
 * Threads: one.
 */
#ifndef TN_COMPARE_H
#define TN_COMPARE_H

#include <stdbool.h>

/* Runs a command `run_count` times each, and prints the table on standard error. Returns 0, or the status of the first
 * run that did not end with 0, which is the last one. */
int tn_compare(char **command, unsigned run_count, bool is_quiet);

#endif
