/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* report_json: results as a JSON file, for programs. Through jansson. */
#include "report_json.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/interrupt.h"
#include "../measuring/family.h"
#include "tarn/version.h"

enum {
    FORMAT_VERSION = 1
};

struct tn_report_json {
    FILE *file;
    const char *path;
    json_t *results;
    json_t *skipped;
    json_t *not_found;
    json_t *families;
};

static void destroy_report(struct tn_report_json *report)
{
    if (report->file) fclose(report->file);
    json_decref(report->results);
    json_decref(report->skipped);
    json_decref(report->not_found);
    json_decref(report->families);
    free(report);
}

struct tn_report_json *tn_report_json_create(const char *path, struct tn_reason *reason_out)
{
    struct tn_report_json *report = calloc(1, sizeof *report);
    if (!report) {
        tn_reason_set(reason_out, "%s: there is not enough host memory for it", path);
        return NULL;
    }
    report->path = path;
    report->results = json_array();
    report->skipped = json_array();
    report->not_found = json_array();
    report->families = json_array();
    report->file = fopen(path, "w");
    if (!report->file || !report->results || !report->skipped || !report->not_found ||
        !report->families) {
        tn_reason_set(reason_out, "%s: cannot be written: %s", tn_path_show(path).text,
                      strerror(errno));
        destroy_report(report);
        return NULL;
    }
    return report;
}

static json_t *integer(uint64_t value)
{
    return json_integer(value < INT64_MAX ? (json_int_t)value : INT64_MAX);
}

/* A path or a text that was cut may be no UTF-8: then question marks replace all that is not ASCII. */
static json_t *text_json(const char *text)
{
    json_t *string = json_string(text);
    if (string) return string;
    char *plain = strdup(text);
    for (char *letter = plain; plain && *letter != '\0'; letter++)
        if ((unsigned char)*letter > 127) *letter = '?';
    string = plain ? json_string(plain) : NULL;
    free(plain);
    return string;
}

static json_t *percentiles_json(const struct tn_percentiles *percentiles)
{
    return json_pack("{s:o, s:o, s:o, s:f, s:o}", "p50", integer(percentiles->p50), "p99",
                     integer(percentiles->p99), "p999", integer(percentiles->p999), "mean",
                     percentiles->mean, "max", integer(percentiles->max));
}

/* How a faithful replay was played. */
static void set_faithful(json_t *row, const struct tn_result *result)
{
    json_object_set_new(row, "faithful", json_true());
    json_object_set_new(row, "order", json_string(tn_order_name(result->order)));
    json_object_set_new(row, "speed",
                        result->speed > 0.0 ? json_real(result->speed) : json_string("max"));
    if (result->speed > 0.0 && result->outcome == TN_OUTCOME_MEASURED)
        json_object_set_new(row, "late_ns", percentiles_json(&result->late_ns));
}

/* The subject of a row. */
static json_t *subject_json(const struct tn_result *result)
{
    json_t *row =
        json_pack("{s:s, s:s, s:s, s:o, s:o}", "bench", result->workload->bench, "workload",
                  result->workload->name, "allocator", result->allocator->name, "threads",
                  integer(result->thread_count), "streams", integer(result->stream_count));
    if (row && result->workload->family)
        json_object_set_new(row, "family", json_string(result->workload->family));
    if (row && result->touch_bytes > 0) json_object_set_new(row, "touched", json_true());
    if (row && result->workload->method == TN_METHOD_FAITHFUL) set_faithful(row, result);
    return row;
}

/* The rates of several threads; the ratio only if it is known. */
static json_t *rates_json(const struct tn_result *result)
{
    double all = result->pairs_per_s.median;
    json_t *figures = json_pack(
        "{s:b, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:o, s:o, s:f, s:o, s:o, s:o, s:o, s:o, s:i, s:b, s:b}",
        "shared", (int)result->workload->is_shared, "pairs_per_second", all, "pairs_per_second_min",
        result->pairs_per_s.min, "pairs_per_second_max", result->pairs_per_s.max,
        "pairs_per_second_per_thread", all / (double)result->workload->thread_count, "ns_per_pair",
        result->pair_ns.median, "ns_per_pair_min", result->pair_ns.min, "ns_per_pair_max",
        result->pair_ns.max, "repetitions", integer(result->repetition_count), "instances",
        integer(result->instance_count), "counted_share", result->counted_share, "peak_live_bytes",
        integer(result->live_bytes_max), "peak_live_count", integer(result->live_count_max),
        "peak_footprint_bytes", integer(result->usage.footprint_bytes_max), "vendor_calls",
        integer(result->usage.vendor_calls), "metadata_bytes",
        integer(result->usage.metadata_bytes), "failures", 0, "verified", 1, "interleaved",
        (int)result->is_interleaved);
    if (figures && result->one_thread_pairs_per_s > 0.0)
        json_object_set_new(figures, "ratio_to_one_thread",
                            json_real(all / result->one_thread_pairs_per_s));
    return figures;
}

static json_t *figures_json(const struct tn_result *result)
{
    return json_pack(
        "{s:o, s:o, s:o, s:f, s:f, s:f, s:f, s:o, s:o, s:f, s:o, s:o, s:o, s:o, s:o, s:o, s:i, s:b, s:b}",
        "pairs", integer(result->pair_count), "alloc_ns", percentiles_json(&result->alloc_ns),
        "free_ns", percentiles_json(&result->free_ns), "ns_per_pair", result->pair_ns.median,
        "ns_per_pair_min", result->pair_ns.min, "ns_per_pair_max", result->pair_ns.max,
        "harness_ns_per_pair", result->harness_pair_ns, "repetitions",
        integer(result->repetition_count), "instances", integer(result->instance_count),
        "counted_share", result->counted_share, "passes_per_repetition",
        integer(result->pass_count), "peak_live_bytes", integer(result->live_bytes_max),
        "peak_live_count", integer(result->live_count_max), "peak_footprint_bytes",
        integer(result->usage.footprint_bytes_max), "vendor_calls",
        integer(result->usage.vendor_calls), "metadata_bytes",
        integer(result->usage.metadata_bytes), "failures", 0, "verified", 1, "interleaved",
        (int)result->is_interleaved);
}

/* Takes over both. */
static json_t *join(json_t *figures, json_t *more)
{
    if (figures && more && json_object_update(figures, more) == 0) {
        json_decref(more);
        return figures;
    }
    json_decref(figures);
    json_decref(more);
    return NULL;
}

/* The further figures of growth; the last only if the allocator can give memory back. */
static json_t *growth_json(const struct tn_result *result)
{
    const struct tn_growth_figures *growth = &result->growth;
    json_t *own = json_pack(
        "{s:f, s:f, s:f, s:f, s:f, s:o}", "first_alloc_ns", growth->first_alloc_ns.median,
        "first_alloc_ns_min", growth->first_alloc_ns.min, "first_alloc_ns_max",
        growth->first_alloc_ns.max, "ns_per_alloc", growth->alloc_ns.median, "ns_per_free",
        growth->free_ns.median, "held_after_free_bytes", integer(growth->held_after_free_bytes));
    if (own && result->workload->is_until_full) json_object_set_new(own, "until_full", json_true());
    if (own && growth->can_trim)
        json_object_set_new(own, "held_after_trim_bytes", integer(growth->held_after_trim_bytes));
    return join(figures_json(result), own);
}

static json_t *per_pair(uint64_t count, const struct tn_stream_figures *figures)
{
    return json_real((double)count / (double)figures->counted_pair_count);
}

/* The further figures of streams. */
static json_t *streams_json(const struct tn_result *result)
{
    static const char *const orders[] = { [TN_FREE_NEEDS_WAIT] = "needs wait",
                                          [TN_FREE_WRITES] = "writes",
                                          [TN_FREE_WAITS] = "waits",
                                          [TN_FREE_IS_ORDERED] = "ordered" };
    const struct tn_stream_figures *streams = &result->streams;
    json_t *calls =
        json_pack("{s:o, s:o, s:o, s:o}", "records", per_pair(streams->calls.record_count, streams),
                  "queries", per_pair(streams->calls.query_count, streams), "stream_waits",
                  per_pair(streams->calls.wait_count, streams), "host_waits",
                  per_pair(streams->calls.block_count, streams));
    json_t *own =
        json_pack("{s:s, s:s, s:f, s:f, s:f, s:f, s:f, s:o}", "mode",
                  result->workload->hands_on ? "handed on" : "own", "free_order",
                  orders[result->allocator->free_order], "allocator_ns_per_pair",
                  result->pair_ns.median - result->harness_pair_ns, "total_ns_per_pair",
                  streams->total_ns.median, "total_ns_per_pair_min", streams->total_ns.min,
                  "total_ns_per_pair_max", streams->total_ns.max, "work_total_ns_per_pair",
                  streams->work_total_ns, "calls_per_pair", calls);
    return join(figures_json(result), own);
}

static json_t *memory_json(const struct tn_memory_log *log)
{
    json_t *points = json_array();
    for (size_t i = 0; i < log->count; i++) {
        const struct tn_memory_point *point = &log->points[i];
        json_array_append_new(points,
                              json_pack("[o, o, o]", integer(point->event),
                                        integer(point->live_bytes), integer(point->held_bytes)));
    }
    return points;
}

static json_t *part_json(const struct tn_latency_part *part)
{
    return json_pack("[o, o, o, o, o, o, o]", integer(part->first), integer(part->alloc.count),
                     integer(part->alloc.p50_ns), integer(part->alloc.worst_ns),
                     integer(part->free.count), integer(part->free.p50_ns),
                     integer(part->free.worst_ns));
}

static json_t *parts_json(const struct tn_latency_part *parts, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, part_json(&parts[i]));
    return list;
}

static json_t *latency_json(const struct tn_latency *latency)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "passes", integer(latency->pass_count),
                     "alloc_worst_ns", integer(latency->alloc.worst_ns), "alloc_worst_once_ns",
                     integer(latency->alloc_worst_once_ns), "free_worst_ns",
                     integer(latency->free.worst_ns), "free_worst_once_ns",
                     integer(latency->free_worst_once_ns), "over_time",
                     parts_json(latency->over_time, latency->over_time_count), "by_size",
                     parts_json(latency->by_size, latency->by_size_count));
}

static json_t *method_json(const struct tn_result *result)
{
    switch (result->workload->method) {
    case TN_METHOD_PASSES:
    case TN_METHOD_FAITHFUL:
        return figures_json(result);
    case TN_METHOD_THREADS:
        return rates_json(result);
    case TN_METHOD_GROWTH:
        return growth_json(result);
    case TN_METHOD_STREAMS:
        return streams_json(result);
    }
    return NULL;
}

static json_t *measured_json(const struct tn_result *result)
{
    json_t *row = subject_json(result);
    json_t *figures = method_json(result);
    if (!row || !figures || json_object_update_new(row, figures) != 0) {
        json_decref(row);
        return NULL;
    }
    if (result->workload->family && result->held_by_peak_max > 0.0)
        json_object_set_new(row, "held_by_peak_max", json_real(result->held_by_peak_max));
    /* An allocator that cannot tell how much it holds has no series. */
    if (result->memory && result->usage.footprint_bytes_max > 0)
        json_object_set_new(row, "memory_over_time", memory_json(result->memory));
    if (result->latency) json_object_set_new(row, "latency", latency_json(result->latency));
    return row;
}

/* Has figures only if a repetition was done. */
static json_t *interrupted_json(const struct tn_result *result)
{
    json_t *row = subject_json(result);
    if (!row) return NULL;
    json_object_set_new(row, "interrupted", json_true());
    json_object_set_new(row, "repetitions", integer(result->repetition_count));
    if (result->repetition_count == 0) return row;
    json_object_set_new(row, "ns_per_pair", json_real(result->pair_ns.median));
    json_object_set_new(row, "ns_per_pair_min", json_real(result->pair_ns.min));
    json_object_set_new(row, "ns_per_pair_max", json_real(result->pair_ns.max));
    return row;
}

static json_t *failed_json(const struct tn_result *result)
{
    json_t *row = subject_json(result);
    json_t *failure = json_pack("{s:i, s:b, s:o}", "failures", 1, "verified", 0, "error",
                                text_json(result->reason.text));
    if (!row || !failure || json_object_update_new(row, failure) != 0) {
        json_decref(row);
        return NULL;
    }
    return row;
}

static json_t *skipped_json(const struct tn_result *result)
{
    return json_pack("{s:s, s:s, s:s, s:o}", "bench", result->workload->bench, "workload",
                     result->workload->name, "allocator", result->allocator->name, "reason",
                     text_json(result->reason.text));
}

/* A missing allocator is listed once, not for every workload. */
static int add_not_found(json_t *not_found, const struct tn_result *result)
{
    size_t index;
    json_t *entry;
    json_array_foreach(not_found, index, entry)
    {
        const char *name = json_string_value(json_object_get(entry, "allocator"));
        if (strcmp(name, result->allocator->name) == 0) return 0;
    }
    return json_array_append_new(not_found,
                                 json_pack("{s:s, s:o}", "allocator", result->allocator->name,
                                           "reason", text_json(result->reason.text)));
}

static int add_result(struct tn_report_json *report, const struct tn_result *result)
{
    switch (result->outcome) {
    case TN_OUTCOME_MEASURED:
        return json_array_append_new(report->results, measured_json(result));
    case TN_OUTCOME_INTERRUPTED:
        return json_array_append_new(report->results, interrupted_json(result));
    case TN_OUTCOME_FAILED:
        return json_array_append_new(report->results, failed_json(result));
    case TN_OUTCOME_SKIPPED:
        return json_array_append_new(report->skipped, skipped_json(result));
    case TN_OUTCOME_NOT_FOUND:
        return add_not_found(report->not_found, result);
    }
    return -1;
}

static json_t *spread_json(const struct tn_spread *spread)
{
    return json_pack("{s:f, s:f, s:f}", "worst", spread->max, "median", spread->median, "best",
                     spread->min);
}

/* One allocator on the draws of a family, unless none was measured. */
static int add_family(struct tn_report_json *report, const struct tn_result *results,
                      size_t draw_count, size_t count)
{
    struct tn_family_figures figures;
    if (!tn_family_summarise(results, count, draw_count, &figures)) return -1;
    if (figures.measured_count == 0) return 0;
    json_t *row = json_pack(
        "{s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "bench", results[0].workload->bench, "family",
        results[0].workload->family, "allocator", results[0].allocator->name, "draws",
        integer(figures.measured_count), "held_by_live", spread_json(&figures.held_by_live),
        "vendor_calls", spread_json(&figures.vendor_calls), "ns_per_pair",
        spread_json(&figures.pair_ns), "alloc_ns_p999", spread_json(&figures.alloc_p999_ns));
    if (row && figures.held_by_peak.max > 0.0)
        json_object_set_new(row, "held_by_peak_max", spread_json(&figures.held_by_peak));
    return json_array_append_new(report->families, row);
}

bool tn_report_json_add(struct tn_report_json *report, const struct tn_result *results,
                        size_t draw_count, size_t count, struct tn_reason *reason_out)
{
    bool has_memory = true;
    for (size_t i = 0; i < draw_count * count && has_memory; i++)
        has_memory = add_result(report, &results[i]) == 0;
    for (size_t i = 0; i < count && has_memory && results[0].workload->family; i++)
        has_memory = add_family(report, &results[i], draw_count, count) == 0;
    if (!has_memory)
        tn_reason_set(reason_out, "%s: there is not enough host memory for it", report->path);
    return has_memory;
}

static json_t *machine_json(const struct tn_machine *machine)
{
    char version[32];
    snprintf(version, sizeof version, "%d.%d.%d", TARN_VERSION_MAJOR, TARN_VERSION_MINOR,
             TARN_VERSION_PATCH);
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:i, s:i, s:o, s:s, s:o, s:s, s:s, s:s, s:s, s:o}", "tarn_version",
        version, "commit", machine->commit, "backend", machine->backend, "device_name",
        machine->device_name, "driver_version", machine->driver_version, "runtime_version",
        machine->runtime_version, "device_bytes", integer(machine->device_total_bytes), "cpu_model",
        machine->cpu_model, "cores", integer(machine->core_count), "kernel", machine->kernel,
        "c_library", machine->c_library, "compiler", machine->compiler, "build_type",
        machine->build_type, "clock_cost_ns", integer(machine->clock_cost_ns));
}

static json_t *options_json(const struct tn_options *options)
{
    return json_pack("{s:o, s:o, s:f, s:i, s:o, s:o, s:o, s:f, s:o}", "seed",
                     integer(options->seed), "repetitions", integer(options->repetitions),
                     "time_seconds", options->time_seconds, "device", options->settings.device,
                     "initial_bytes", integer(options->settings.initial_bytes), "growth_bytes_max",
                     integer(options->settings.growth_bytes_max), "alignment_bytes",
                     integer(options->settings.alignment_bytes), "stream_slack",
                     options->settings.stream_slack, "touch_bytes", integer(options->touch_bytes));
}

static bool write_file(struct tn_report_json *report, const json_t *root)
{
    bool is_written = json_dumpf(root, report->file, JSON_INDENT(2) | JSON_REAL_PRECISION(9)) == 0;
    is_written = fputc('\n', report->file) != EOF && is_written;
    is_written = fclose(report->file) == 0 && is_written;
    report->file = NULL;
    return is_written;
}

bool tn_report_json_finish(struct tn_report_json *report, const struct tn_machine *machine,
                           const struct tn_options *options, struct tn_reason *reason_out)
{
    errno = 0;
    json_t *root =
        json_pack("{s:i, s:o, s:o, s:O, s:O, s:O}", "tarn_bench", FORMAT_VERSION, "machine",
                  machine_json(machine), "options", options_json(options), "results",
                  report->results, "skipped", report->skipped, "not_found", report->not_found);
    if (root && json_array_size(report->families) > 0)
        json_object_set(root, "families", report->families);
    if (root && tn_interrupt_is_wanted()) json_object_set_new(root, "interrupted", json_true());
    bool is_written = root && write_file(report, root);
    if (!is_written)
        tn_reason_set(reason_out, "%s: cannot be written: %s", tn_path_show(report->path).text,
                      errno ? strerror(errno) : "there is not enough host memory");
    json_decref(root);
    destroy_report(report);
    return is_written;
}
