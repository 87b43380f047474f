/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* explain: tables with columns as wide as their widest text. */
#include "explain.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/arith.h"
#include "../recorders/launch.h"

/* --- nothing ------------------------------------------------------------------------------------------ */

void tn_explain_nothing(const struct tn_reports *reports, int status)
{
    uint64_t caught_count = 0, passed_count = 0;
    if (reports->left_out_count > 0) return; /* its process may have allocated */
    const char *reason =
        "it uses neither CUDA nor HIP, or finds their functions in a way that is not caught";
    for (size_t i = 0; i < reports->count; i++) {
        const struct tn_report *report = &reports->reports[i];
        if (report->pool_alloc_count > 0) return;
        caught_count += report->caught_count;
        for (size_t j = 0; j < report->passed_count; j++)
            passed_count += report->passed[j].count;
    }
    if (passed_count > 0)
        reason = "its calls passed through to the driver; --explain says why";
    else if (caught_count > 0)
        reason = "it looked functions up and allocated nothing with them";
    else if (reports->count == 0 && status > 128)
        reason = "it was killed before it could report";
    else if (reports->count == 0)
        reason = "it uses neither CUDA nor HIP, or drops LD_PRELOAD, or ends by _exit or a kill";
    tn_launch_tell("no device memory came from tarn: %s", reason);
}

/* --- all ---------------------------------------------------------------------------------------------- */

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

static double mib_of(uint64_t bytes)
{
    return (double)bytes / (1 << 20);
}

static void print_caught(const struct tn_report *report)
{
    int symbol_width = (int)strlen("caught"), route_width = 0;
    for (size_t i = 0; i < report->caught_count; i++) {
        const struct tn_report_catch *caught = &report->caught[i];
        symbol_width = (int)tn_max((size_t)symbol_width, strlen(caught->symbol));
        route_width = (int)tn_max((size_t)route_width, strlen(caught->route));
    }
    if (report->caught_count == 0) return;
    fprintf(stderr, "  %-*s  %-*s  %s\n", symbol_width, "caught", route_width, "by", "in");
    for (size_t i = 0; i < report->caught_count; i++) {
        const struct tn_report_catch *caught = &report->caught[i];
        fprintf(stderr, "  %-*s  %-*s  %s\n", symbol_width, caught->symbol, route_width,
                caught->route, caught->library);
    }
}

static void print_passed(const struct tn_report *report)
{
    int width = (int)strlen("passed through");
    for (size_t i = 0; i < report->passed_count; i++)
        width = (int)tn_max((size_t)width, strlen(report->passed[i].symbol));
    if (report->passed_count == 0) return;
    fprintf(stderr, "  %-*s  %10s  %s\n", width, "passed through", "calls", "because");
    for (size_t i = 0; i < report->passed_count; i++) {
        const struct tn_report_pass *passed = &report->passed[i];
        fprintf(stderr, "  %-*s  %10" PRIu64 "  %s\n", width, passed->symbol, passed->count,
                passed->reason);
    }
}

void tn_explain_print(const struct tn_reports *reports)
{
    for (size_t i = 0; i < reports->count; i++) {
        const struct tn_report *report = &reports->reports[i];
        if (report->caught_count + report->passed_count + report->alloc_count == 0)
            continue; /* a shell, a compiler */
        tn_launch_tell("process %" PRIu64 ", %s: %" PRIu64 " allocation%s, %" PRIu64
                       " free%s, %" PRIu64 " vendor call%s for memory and %" PRIu64
                       " for streams; at most %.1f MiB live, %.1f MiB held",
                       report->process, report->program, report->alloc_count,
                       plural(report->alloc_count), report->free_count, plural(report->free_count),
                       report->vendor_call_count, plural(report->vendor_call_count),
                       report->order_call_count, mib_of(report->peak_live_bytes),
                       mib_of(report->peak_held_bytes));
        print_caught(report);
        print_passed(report);
    }
}
