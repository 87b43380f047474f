/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* progress: one line on stderr that says what is being done. */
#include "progress.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "clock.h"

/* Back to the first column, and clear the line from there. */
#define START_OF_CLEAR_LINE "\r\033[K"

/* Before so much is known, a guess would jump about. */
static const double guess_after_s = 3.0;
static const double guess_after_share = 0.02;

/* There is one standard error, so there is one of this. */
static struct {
    uint64_t start_ns;
    size_t part_count; /* 0: it did not begin */
    size_t begun_count;
    double share; /* of the part under way */
} work;

void tn_progress_begin(size_t part_count)
{
    work.start_ns = tn_clock_now_ns();
    work.part_count = part_count;
    work.begun_count = 0;
    work.share = 0.0;
}

void tn_progress_next_part(void)
{
    work.begun_count++;
    work.share = 0.0;
}

void tn_progress_set_share(double share)
{
    work.share = share;
}

static void print_time_left(double seconds)
{
    if (seconds < 90.0)
        fprintf(stderr, ", about %.0f s left", seconds);
    else
        fprintf(stderr, ", about %.0f min left", seconds / 60.0);
}

static void print_rest(void)
{
    if (work.part_count == 0 || work.begun_count == 0) return;
    if (work.part_count > 1) fprintf(stderr, " (%zu of %zu", work.begun_count, work.part_count);
    double done = ((double)(work.begun_count - 1) + work.share) / (double)work.part_count;
    double passed_s = (double)(tn_clock_now_ns() - work.start_ns) / 1e9;
    bool is_known = passed_s >= guess_after_s && done >= guess_after_share;
    if (work.part_count == 1 && is_known) fputs(" (1 of 1", stderr);
    if (is_known) print_time_left(passed_s * (1.0 - done) / done);
    if (work.part_count > 1 || is_known) fputc(')', stderr);
}

void tn_progress_show(const char *format, ...)
{
    if (!isatty(STDERR_FILENO)) return;
    fputs(START_OF_CLEAR_LINE, stderr);
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    print_rest();
    fflush(stderr);
}

void tn_progress_clear(void)
{
    if (isatty(STDERR_FILENO)) fputs(START_OF_CLEAR_LINE, stderr);
}
