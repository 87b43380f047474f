/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * progress: one line on stderr that says what is being done, and about how long the rest will take. Silent
 * unless stderr is a terminal.
 *
 * The work is in parts that are taken to last equally long. After some time and some work, the line ends with
 * an estimate of the time that is left.
 */
#ifndef TN_PROGRESS_H
#define TN_PROGRESS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Replaces the line. */
__attribute__((format(printf, 1, 2))) void tn_progress_show(const char *format, ...);

/* Of `count` parts, counted from 0, part_count begin, from `first` on. The line begins with their numbers,
 * unless they are all. */
void tn_progress_set_place(size_t first, size_t part_count, size_t count);

/* How much of the parts under way is done, from 0 to 1. */
void tn_progress_set_share(double share);

/* Removes the line, so that other text may be printed. */
void tn_progress_clear(void);

#ifdef __cplusplus
}
#endif

#endif
