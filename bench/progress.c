/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* progress: one line on stderr that says what is being done. */
#include "progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

/* Back to the first column, and clear the line from there. */
#define START_OF_CLEAR_LINE "\r\033[K"

static struct {
    size_t index;
    size_t count; /* 0 or 1: not worth saying */
} place;

void tn_progress_set_place(size_t index, size_t count)
{
    place.index = index;
    place.count = count;
}

void tn_progress_show(const char *format, ...)
{
    if (!isatty(STDERR_FILENO)) return;
    fputs(START_OF_CLEAR_LINE, stderr);
    if (place.count > 1) fprintf(stderr, "[%zu of %zu] ", place.index + 1, place.count);
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fflush(stderr);
}

void tn_progress_clear(void)
{
    if (isatty(STDERR_FILENO)) fputs(START_OF_CLEAR_LINE, stderr);
}
