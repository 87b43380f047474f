/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* compare: a figure that a run lacks is not a number, and a dash in the table. */
#include "compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/arith.h"
#include "../recorders/launch.h"

#include "explain.h"
#include "report.h"

enum figure {
    FIGURE_SECONDS,
    FIGURE_VENDOR_CALLS,
    FIGURE_ORDER_CALLS,
    FIGURE_PEAK_LIVE_MIB,
    FIGURE_PEAK_HELD_MIB,
    FIGURE_COUNT
};

enum side {
    SIDE_WITHOUT,
    SIDE_WITH,
    SIDE_COUNT
};

struct comparison {
    double *values[SIDE_COUNT][FIGURE_COUNT]; /* of each run */
    unsigned run_count;                       /* of each side, in the end */
    size_t process_count_max;                 /* of those with memory in one run */
};

/* --- running ------------------------------------------------------------------------------------------ */

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Calls of several processes add up. Their peaks may be at different times: the largest counts. */
static void note_reports(struct comparison *comparison, enum side side, unsigned run,
                         const struct tn_reports *reports)
{
    const double mib = 1 << 20;
    uint64_t vendor_call_count = 0, order_call_count = 0, live_bytes = 0, held_bytes = 0;
    size_t process_count = 0; /* with memory */
    for (size_t i = 0; i < reports->count; i++) {
        const struct tn_report *report = &reports->reports[i];
        vendor_call_count += report->vendor_call_count;
        process_count += report->vendor_call_count > 0;
        order_call_count += report->order_call_count;
        live_bytes = tn_max(live_bytes, report->peak_live_bytes);
        /* Without a pool the allocations are all that is held. */
        held_bytes = tn_max(held_bytes, tn_max(report->peak_held_bytes, report->peak_live_bytes));
    }
    bool is_known = reports->count > 0;
    double *const *values = comparison->values[side];
    values[FIGURE_VENDOR_CALLS][run] = is_known ? (double)vendor_call_count : NAN;
    values[FIGURE_ORDER_CALLS][run] = is_known ? (double)order_call_count : NAN;
    values[FIGURE_PEAK_LIVE_MIB][run] = is_known ? (double)live_bytes / mib : NAN;
    values[FIGURE_PEAK_HELD_MIB][run] = is_known ? (double)held_bytes / mib : NAN;
    comparison->process_count_max = tn_max(comparison->process_count_max, process_count);
}

/* Returns the status of one run. */
static int run_once(struct comparison *comparison, enum side side, unsigned run, char **command,
                    bool is_quiet)
{
    tn_report_begin_run();
    if (side == SIDE_WITHOUT)
        tn_launch_set(TN_REPORT_PASS_VARIABLE, "1");
    else
        (void)unsetenv(TN_REPORT_PASS_VARIABLE);
    double begun = now();
    int status = tn_launch_run(command, is_quiet);
    comparison->values[side][FIGURE_SECONDS][run] = now() - begun;
    struct tn_reports reports = tn_reports_read();
    note_reports(comparison, side, run, &reports);
    if (side == SIDE_WITH && run + 1 == comparison->run_count) tn_explain_nothing(&reports, status);
    tn_reports_fini(&reports);
    return status;
}

static const char *name_of(enum side side)
{
    return side == SIDE_WITH ? "with tarn" : "without tarn";
}

static int run_all(struct comparison *comparison, char **command, bool is_quiet)
{
    off_t input_begin = lseek(STDIN_FILENO, 0, SEEK_CUR); /* negative: no file */
    for (unsigned i = 0; i < 2 * comparison->run_count; i++) {
        /* 0, 1, 1, 0, 0, 1, 1, 0, ... */
        enum side side = (i + i / 2) % 2 == 0 ? SIDE_WITHOUT : SIDE_WITH;
        if (input_begin >= 0) (void)lseek(STDIN_FILENO, input_begin, SEEK_SET);
        int status = run_once(comparison, side, i / 2, command, is_quiet);
        if (status == EXIT_SUCCESS) continue;
        tn_launch_tell("run %u of %u, %s, ended with %d, so there is nothing to compare%s", i + 1,
                       2 * comparison->run_count, name_of(side), status,
                       is_quiet ? "; without --quiet its output tells more" : "");
        return status;
    }
    return EXIT_SUCCESS;
}

/* --- the table ---------------------------------------------------------------------------------------- */

/* Sorts numbers; what is none comes last. */
static int compare_values(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    if (isnan(a) || isnan(b)) return isnan(a) - isnan(b);
    return (a > b) - (a < b);
}

static void print_value(int width, const char *format, double value)
{
    char text[64] = "-";
    if (!isnan(value)) snprintf(text, sizeof text, format, value);
    fprintf(stderr, "%*s", width, text);
}

static void print_row(const char *name, const char *format, double without, double with)
{
    fprintf(stderr, "%-20s", name);
    print_value(16, format, without);
    print_value(16, format, with);
    print_value(10, "%.3g", without > 0 ? with / without : NAN);
    fputc('\n', stderr);
}

/* The mean of the two in the middle if there are two. */
static double median_of(const double *sorted, unsigned count)
{
    if (isnan(sorted[count - 1])) return NAN;
    return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

static void print_table(const struct comparison *comparison, char *const *command)
{
    static const struct {
        const char *name, *format;
    } rows[FIGURE_COUNT] = {
        [FIGURE_SECONDS] = { "time, median", "%.3f s" },
        [FIGURE_VENDOR_CALLS] = { "calls for memory", "%.0f" },
        [FIGURE_ORDER_CALLS] = { "pools' stream calls", "%.0f" },
        [FIGURE_PEAK_LIVE_MIB] = { "peak live", "%.1f MiB" },
        [FIGURE_PEAK_HELD_MIB] = { "peak held", "%.1f MiB" },
    };
    unsigned count = comparison->run_count;
    for (int side = 0; side < SIDE_COUNT; side++) {
        for (int figure = 0; figure < FIGURE_COUNT; figure++)
            qsort(comparison->values[side][figure], count, sizeof(double), compare_values);
    }
    tn_launch_tell("%s, %u run%s each, in turn", command[0], count, count == 1 ? "" : "s");
    fprintf(stderr, "%-20s%16s%16s%10s\n", "", "without tarn", "with tarn", "ratio");
    for (int figure = 0; figure < FIGURE_COUNT; figure++) {
        const double *without = comparison->values[SIDE_WITHOUT][figure];
        const double *with = comparison->values[SIDE_WITH][figure];
        print_row(rows[figure].name, rows[figure].format, median_of(without, count),
                  median_of(with, count));
        if (figure != FIGURE_SECONDS) continue;
        print_row("time, least", "%.3f s", without[0], with[0]);
        print_row("time, most", "%.3f s", without[count - 1], with[count - 1]);
    }
    if (comparison->process_count_max > 1)
        fprintf(stderr, "Calls are those of up to %zu processes, peaks those of the largest.\n",
                comparison->process_count_max);
}

int tn_compare(char **command, unsigned run_count, bool is_quiet)
{
    struct comparison comparison = { .run_count = run_count };
    double *values = tn_launch_require(
        reallocarray(NULL, run_count, SIDE_COUNT * FIGURE_COUNT * sizeof *values));
    for (int i = 0; i < SIDE_COUNT * FIGURE_COUNT; i++)
        comparison.values[i / FIGURE_COUNT][i % FIGURE_COUNT] = values + (size_t)i * run_count;
    int status = run_all(&comparison, command, is_quiet);
    if (status == EXIT_SUCCESS) print_table(&comparison, command);
    free(values);
    return status;
}
