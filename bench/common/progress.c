/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* progress: one line on stderr that says what is being done. */
#include "progress.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "clock.h"

/* Back to the first column, and clear the line from there. */
#define START_OF_CLEAR_LINE "\r\033[K"

/* A line that is wider than the terminal is cut: wrapped, it would stay there in part when it is replaced. */
#define STOP_WRAPPING  "\033[?7l"
#define START_WRAPPING "\033[?7h"

/* An earlier estimate would jump about. */
static const double guess_after_s = 3.0;
static const double guess_after_share = 0.02;

/* One for the program, as standard error is. */
static struct {
    size_t first;
    size_t part_count;
    size_t count;      /* 0: nothing has begun */
    double share;      /* that is done of these parts */
    uint64_t start_ns; /* of the first part */
} place;

void tn_progress_set_place(size_t first, size_t part_count, size_t count)
{
    if (place.count == 0) place.start_ns = tn_clock_now_ns();
    place.first = first;
    place.part_count = part_count;
    place.count = count;
    place.share = 0.0;
}

void tn_progress_set_share(double share)
{
    place.share = share;
}

static void print_place(void)
{
    if (place.part_count == place.count) return;
    if (place.part_count == 1)
        fprintf(stderr, "[%zu of %zu] ", place.first + 1, place.count);
    else
        fprintf(stderr, "[%zu to %zu of %zu] ", place.first + 1, place.first + place.part_count,
                place.count);
}

static void print_time_left(void)
{
    if (place.count == 0) return;
    double done =
        ((double)place.first + place.share * (double)place.part_count) / (double)place.count;
    double passed_s = (double)(tn_clock_now_ns() - place.start_ns) / 1e9;
    if (passed_s < guess_after_s || done < guess_after_share) return;
    double left_s = passed_s * (1.0 - done) / done;
    if (left_s < 90.0)
        fprintf(stderr, " (about %.0f s left)", left_s);
    else
        fprintf(stderr, " (about %.0f min left)", left_s / 60.0);
}

void tn_progress_show(const char *format, ...)
{
    if (!isatty(STDERR_FILENO)) return;
    fputs(START_OF_CLEAR_LINE STOP_WRAPPING, stderr);
    print_place();
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    print_time_left();
    fputs(START_WRAPPING, stderr);
    fflush(stderr);
}

void tn_progress_clear(void)
{
    if (isatty(STDERR_FILENO)) fputs(START_OF_CLEAR_LINE, stderr);
}
