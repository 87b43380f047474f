/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* progress: one line on stderr that says what is being done. Silent unless stderr is a terminal. */
#ifndef TN_PROGRESS_H
#define TN_PROGRESS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Replaces the line. */
__attribute__((format(printf, 1, 2))) void tn_progress_show(const char *format, ...);

/* Before the line from now on: that it is about number `index`, counted from 0, of `count`. */
void tn_progress_set_place(size_t index, size_t count);

/* Removes the line, so that other text may be printed. */
void tn_progress_clear(void);

#ifdef __cplusplus
}
#endif

#endif
