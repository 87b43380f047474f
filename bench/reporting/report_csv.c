/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* report_csv: results as a table of text, by RFC 4180 except for the ends of lines. */
#include "report_csv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tn_report_csv {
    FILE *file;
    const char *path;
    int error; /* the first one; 0: none */
};

static const char head[] =
    "bench,workload,allocator,outcome,threads,streams,touched,faithful,order,speed,pairs,"
    "ns_per_pair,ns_per_pair_min,ns_per_pair_max,pairs_per_second,"
    "alloc_ns_p50,alloc_ns_p99,alloc_ns_p999,alloc_ns_max,alloc_ns_mean,"
    "free_ns_p50,free_ns_p99,free_ns_p999,free_ns_max,free_ns_mean,"
    "late_ns_p50,late_ns_p99,late_ns_p999,late_ns_max,late_ns_mean,"
    "harness_ns_per_pair,repetitions,passes_per_repetition,peak_live_bytes,peak_live_count,"
    "peak_footprint_bytes,vendor_calls,metadata_bytes,reason\n";

static void note_error(struct tn_report_csv *report)
{
    if (report->error == 0) report->error = errno;
}

static void explain(const struct tn_report_csv *report, struct tn_reason *reason_out)
{
    tn_reason_set(reason_out, "%s: cannot be written: %s", tn_path_show(report->path).text,
                  strerror(report->error));
}

struct tn_report_csv *tn_report_csv_create(const char *path, struct tn_reason *reason_out)
{
    struct tn_report_csv *report = calloc(1, sizeof *report);
    if (!report) {
        tn_reason_set(reason_out, "%s: there is not enough host memory for it", path);
        return NULL;
    }
    report->path = path;
    report->file = fopen(path, "w");
    if (report->file && fputs(head, report->file) != EOF) return report;
    note_error(report);
    explain(report, reason_out);
    if (report->file) fclose(report->file);
    free(report);
    return NULL;
}

/* In quotes, since the name of a workload or a reason may have commas. */
static void write_text(FILE *file, const char *text)
{
    fputc('"', file);
    for (; *text != '\0'; text++) {
        if (*text == '"') fputc('"', file);
        fputc(*text, file);
    }
    fputc('"', file);
}

static void write_field(FILE *file, const char *text)
{
    write_text(file, text);
    fputc(',', file);
}

static void write_number(FILE *file, uint64_t number, bool is_known)
{
    if (is_known) fprintf(file, "%" PRIu64, number);
    fputc(',', file);
}

static void write_real(FILE *file, double number, bool is_known)
{
    if (is_known) fprintf(file, "%.9g", number);
    fputc(',', file);
}

static void write_percentiles(FILE *file, const struct tn_percentiles *percentiles, bool is_known)
{
    write_number(file, percentiles->p50, is_known);
    write_number(file, percentiles->p99, is_known);
    write_number(file, percentiles->p999, is_known);
    write_number(file, percentiles->max, is_known);
    write_real(file, percentiles->mean, is_known);
}

static void write_subject(FILE *file, const struct tn_result *result)
{
    static const char *const outcomes[] = { [TN_OUTCOME_MEASURED] = "measured",
                                            [TN_OUTCOME_SKIPPED] = "skipped",
                                            [TN_OUTCOME_NOT_FOUND] = "not found",
                                            [TN_OUTCOME_INTERRUPTED] = "interrupted",
                                            [TN_OUTCOME_FAILED] = "failed" };
    bool is_faithful = result->workload->method == TN_METHOD_FAITHFUL;
    write_field(file, result->workload->bench);
    write_field(file, result->workload->name);
    write_field(file, result->allocator->name);
    write_field(file, outcomes[result->outcome]);
    write_number(file, result->thread_count, true);
    write_number(file, result->stream_count, true);
    write_number(file, result->touch_bytes > 0, true);
    write_number(file, is_faithful, true);
    fprintf(file, "%s,", is_faithful ? tn_order_name(result->order) : "");
    if (is_faithful && result->speed <= 0.0)
        fputs("max,", file);
    else
        write_real(file, result->speed, is_faithful);
}

static void write_figures(FILE *file, const struct tn_result *result)
{
    bool is_measured = result->outcome == TN_OUTCOME_MEASURED;
    bool is_of_threads = result->workload->method == TN_METHOD_THREADS;
    bool has_times =
        is_measured || (result->outcome == TN_OUTCOME_INTERRUPTED && result->repetition_count > 0);
    bool has_calls = is_measured && !is_of_threads;
    write_number(file, result->pair_count, has_calls);
    write_real(file, result->pair_ns.median, has_times);
    write_real(file, result->pair_ns.min, has_times);
    write_real(file, result->pair_ns.max, has_times);
    write_real(file, result->pairs_per_s.median, has_times && is_of_threads);
    write_percentiles(file, &result->alloc_ns, has_calls);
    write_percentiles(file, &result->free_ns, has_calls);
    write_percentiles(file, &result->late_ns, has_calls && result->speed > 0.0);
    write_real(file, result->harness_pair_ns, has_calls);
    write_number(file, result->repetition_count, has_times);
    write_number(file, result->pass_count, has_calls);
    write_number(file, result->live_bytes_max, is_measured);
    write_number(file, result->live_count_max, is_measured);
    write_number(file, result->usage.footprint_bytes_max, is_measured);
    write_number(file, result->usage.vendor_calls, has_calls);
    write_number(file, result->usage.metadata_bytes, is_measured);
}

void tn_report_csv_add(struct tn_report_csv *report, const struct tn_result *results, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        write_subject(report->file, &results[i]);
        write_figures(report->file, &results[i]);
        write_text(report->file, results[i].reason.text);
        fputc('\n', report->file);
    }
    if (fflush(report->file) != 0 || ferror(report->file)) note_error(report);
}

bool tn_report_csv_finish(struct tn_report_csv *report, struct tn_reason *reason_out)
{
    if (fclose(report->file) != 0) note_error(report);
    bool is_written = report->error == 0;
    if (!is_written) explain(report, reason_out);
    free(report);
    return is_written;
}
