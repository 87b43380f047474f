/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* report_table: results as a table on stdout, for people. At most 120 columns wide. */
#include "report_table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../common/progress.h"
#include "../measuring/family.h"
#include "../playing/contents.h"
#include "tarn/version.h"

struct cell {
    char text[32];
};

/* One for the program, as standard output is. */
static int first_error;

static void flush(void)
{
    if (fflush(stdout) != 0 && first_error == 0) first_error = errno;
}

int tn_report_table_get_error(void)
{
    return first_error;
}

/* Bytes in powers of ten, three digits. */
static struct cell show_bytes(double bytes)
{
    static const char *const units[] = { "B", "KB", "MB", "GB", "TB" };
    size_t unit = 0;
    while (bytes >= 999.5 && unit + 1 < sizeof units / sizeof units[0]) {
        bytes /= 1000.0;
        unit++;
    }
    int decimals = unit == 0 || bytes >= 99.95 ? 0 : bytes >= 9.995 ? 1 : 2;
    struct cell cell;
    snprintf(cell.text, sizeof cell.text, "%.*f %s", decimals, bytes, units[unit]);
    return cell;
}

/* Nanoseconds: from 10 us up with a unit, so that no column grows wide. */
static struct cell show_ns(double ns)
{
    struct cell cell;
    if (ns < 99.95)
        snprintf(cell.text, sizeof cell.text, "%.1f", ns);
    else if (ns < 9999.5)
        snprintf(cell.text, sizeof cell.text, "%.0f", ns);
    else if (ns < 9999.5e3)
        snprintf(cell.text, sizeof cell.text, ns < 99.95e3 ? "%.1fus" : "%.0fus", ns / 1e3);
    else
        snprintf(cell.text, sizeof cell.text, ns < 99.95e6 ? "%.1fms" : "%.0fms", ns / 1e6);
    return cell;
}

/* One call's duration: whole nanoseconds, as the clock counts. */
static struct cell show_call_ns(uint64_t ns)
{
    struct cell cell;
    if (ns >= 10000) return show_ns((double)ns);
    snprintf(cell.text, sizeof cell.text, "%" PRIu64, ns);
    return cell;
}

static struct cell show_ratio(double ratio)
{
    struct cell cell;
    if (ratio < 9.995)
        snprintf(cell.text, sizeof cell.text, "%.2f", ratio);
    else if (ratio < 99999.5)
        snprintf(cell.text, sizeof cell.text, ratio < 99.95 ? "%.1f" : "%.0f", ratio);
    else
        snprintf(cell.text, sizeof cell.text, "%.0e", ratio);
    return cell;
}

static struct cell dash(void)
{
    return (struct cell){ "-" };
}

/* How many times as long a pair takes with `other`; a dash if that was not measured. */
static struct cell show_ratio_to(const struct tn_result *result, const struct tn_result *results,
                                 size_t count, const struct tn_allocator *other)
{
    for (size_t i = 0; i < count; i++) {
        if (results[i].allocator != other || results[i].outcome != TN_OUTCOME_MEASURED ||
            result->pair_ns.median <= 0.0)
            continue;
        struct cell ratio = show_ratio(results[i].pair_ns.median / result->pair_ns.median);
        struct cell cell;
        snprintf(cell.text, sizeof cell.text, "%.20sx", ratio.text);
        return cell;
    }
    return dash();
}

static struct cell show_spread(const struct tn_spread *spread)
{
    struct cell cell;
    snprintf(cell.text, sizeof cell.text, "%.12s-%.12s", show_ns(spread->min).text,
             show_ns(spread->max).text);
    return cell;
}

static struct cell show_footprint(const struct tn_result *result)
{
    if (result->live_bytes_max == 0 || result->usage.footprint_bytes_max == 0) return dash();
    return show_ratio((double)result->usage.footprint_bytes_max / (double)result->live_bytes_max);
}

static struct cell show_metadata(const struct tn_result *result)
{
    if (result->usage.metadata_bytes == 0 || result->live_count_max == 0) return dash();
    struct cell cell;
    double bytes = (double)result->usage.metadata_bytes / (double)result->live_count_max;
    snprintf(cell.text, sizeof cell.text, bytes < 1e6 ? "%.0f" : "%.0e", bytes);
    return cell;
}

static struct cell show_count(uint64_t count)
{
    struct cell cell;
    snprintf(cell.text, sizeof cell.text, "%" PRIu64, count);
    return cell;
}

static struct cell show_vendor_calls(const struct tn_result *result)
{
    if (result->live_bytes_max > 0 && result->usage.vendor_calls == 0) return dash();
    return show_count(result->usage.vendor_calls);
}

/* A number a second, three digits. */
static struct cell show_rate(double rate)
{
    static const char *const units[] = { "", "K", "M", "G" };
    size_t unit = 0;
    while (rate >= 999.5 && unit + 1 < sizeof units / sizeof units[0]) {
        rate /= 1000.0;
        unit++;
    }
    struct cell cell;
    snprintf(cell.text, sizeof cell.text, "%.*f%s",
             rate >= 99.95   ? 0
             : rate >= 9.995 ? 1
                             : 2,
             rate, units[unit]);
    return cell;
}

static const char row_format[] =
    "  %-12s %7s %6s %13s %6s %6s %6s %6s %6s %6s %5s %7s %6s %6s %6s\n";

static const char growth_row_format[] = "  %-15s %6s %9s %8s %15s %7s %7s %7s %6s %7s %7s %8s\n";

static const char streams_row_format[] = "  %-15s %8s %15s %9s %8s %8s %7s %7s %7s %7s %6s %6s\n";

static const char threads_row_format[] = "  %-15s %8s %13s %9s %8s %9s %7s %8s %7s %7s\n";

static const char family_row_format[] = "  %-15s %7s %7s %8s %8s %8s %9s %9s %9s %9s %7s\n";

static void print_family_head(void)
{
    printf(family_row_format, "", "held/", "live", "at any", "vendor", "calls", "ns/pair", "",
           "alloc", "p99.9", "");
    printf(family_row_format, "allocator", "worst", "median", "moment", "worst", "median", "worst",
           "median", "worst", "median", "draws");
}

static void print_head(void)
{
    printf(row_format, "", "", "ns/", "", "alloc", "", "", "free", "", "", "held/", "vendor",
           "meta B", "faster", "than");
    printf(row_format, "allocator", "pairs", "pair", "min-max", "p50", "p99", "p99.9", "p50", "p99",
           "p99.9", "live", "calls", "/block", "raw", "sets");
}

static void print_threads_head(void)
{
    printf(threads_row_format, "", "pairs/s", "", "pairs/s", "ns/pair", "times one", "held/",
           "meta B/", "faster", "than");
    printf(threads_row_format, "allocator", "of all", "min-max", "a thread", "a thread", "thread",
           "live", "block", "raw", "sets");
}

static void print_growth_head(void)
{
    printf(growth_row_format, "", "", "first", "ns/", "", "alloc", "", "ns/", "held/", "vendor",
           "left", "after");
    printf(growth_row_format, "allocator", "blocks", "alloc", "alloc", "pair min-max", "p50", "p99",
           "free", "live", "calls", "free", "trim");
}

static void print_streams_head(void)
{
    printf(streams_row_format, "", "thread", "", "without", "until", "event", "event", "stream",
           "host", "held/", "vendor", "");
    printf(streams_row_format, "allocator", "ns/pair", "min-max", "the work", "done", "records",
           "queries", "waits", "waits", "live", "calls", "frees");
}

static void print_head_of(enum tn_method method)
{
    switch (method) {
    case TN_METHOD_PASSES:
    case TN_METHOD_FAITHFUL:
        print_head();
        break;
    case TN_METHOD_THREADS:
        print_threads_head();
        break;
    case TN_METHOD_GROWTH:
        print_growth_head();
        break;
    case TN_METHOD_STREAMS:
        print_streams_head();
        break;
    }
}

void tn_report_table_head(const struct tn_workload *workload, const struct tn_workload *before)
{
    bool is_same =
        before && (before->family && workload->family ? true
                                                      : !before->family && !workload->family &&
                                                            before->method == workload->method);
    if (is_same) return;
    tn_progress_clear();
    printf("\n");
    if (workload->family)
        print_family_head();
    else
        print_head_of(workload->method);
    flush(); /* so that a reader sees that a long run has begun */
}

static void print_growth(const struct tn_result *result)
{
    const struct tn_growth_figures *growth = &result->growth;
    struct cell trimmed = dash();
    if (growth->can_trim) trimmed = show_bytes((double)growth->held_after_trim_bytes);
    printf(growth_row_format, result->allocator->name, show_count(result->pair_count).text,
           show_ns(growth->first_alloc_ns.median).text, show_ns(growth->alloc_ns.median).text,
           show_spread(&result->pair_ns).text, show_call_ns(result->alloc_ns.p50).text,
           show_call_ns(result->alloc_ns.p99).text, show_ns(growth->free_ns.median).text,
           show_footprint(result).text, show_count(result->usage.vendor_calls).text,
           show_bytes((double)growth->held_after_free_bytes).text, trimmed.text);
}

static struct cell show_calls(uint64_t count, const struct tn_stream_figures *figures)
{
    return count == 0 ? dash() : show_ratio((double)count / (double)figures->counted_pair_count);
}

static void print_streams(const struct tn_result *result)
{
    static const char *const orders[] = { [TN_FREE_NEEDS_WAIT] = "after",
                                          [TN_FREE_WRITES] = "after",
                                          [TN_FREE_WAITS] = "wait",
                                          [TN_FREE_IS_ORDERED] = "order" };
    const struct tn_stream_figures *streams = &result->streams;
    printf(streams_row_format, result->allocator->name, show_ns(result->pair_ns.median).text,
           show_spread(&result->pair_ns).text,
           show_ns(result->pair_ns.median - result->harness_pair_ns).text,
           show_ns(streams->total_ns.median).text,
           show_calls(streams->calls.record_count, streams).text,
           show_calls(streams->calls.query_count, streams).text,
           show_calls(streams->calls.wait_count, streams).text,
           show_calls(streams->calls.block_count, streams).text, show_footprint(result).text,
           show_count(result->usage.vendor_calls).text, orders[result->allocator->free_order]);
}

static void print_rates(const struct tn_result *result, const struct tn_result *results,
                        size_t count)
{
    const struct tn_spread *rates = &result->pairs_per_s;
    struct cell range;
    snprintf(range.text, sizeof range.text, "%.12s-%.12s", show_rate(rates->min).text,
             show_rate(rates->max).text);
    struct cell times_one = dash();
    if (result->one_thread_pairs_per_s > 0.0)
        times_one = show_ratio(rates->median / result->one_thread_pairs_per_s);
    printf(threads_row_format, result->allocator->name, show_rate(rates->median).text, range.text,
           show_rate(rates->median / (double)result->workload->thread_count).text,
           show_ns(result->pair_ns.median).text, times_one.text, show_footprint(result).text,
           show_metadata(result).text,
           show_ratio_to(result, results, count, &tn_allocator_raw).text,
           show_ratio_to(result, results, count, &tn_allocator_ordered_sets).text);
}

static void print_measured(const struct tn_result *result, const struct tn_result *results,
                           size_t count)
{
    printf(row_format, result->allocator->name, show_count(result->pair_count).text,
           show_ns(result->pair_ns.median).text, show_spread(&result->pair_ns).text,
           show_call_ns(result->alloc_ns.p50).text, show_call_ns(result->alloc_ns.p99).text,
           show_call_ns(result->alloc_ns.p999).text, show_call_ns(result->free_ns.p50).text,
           show_call_ns(result->free_ns.p99).text, show_call_ns(result->free_ns.p999).text,
           show_footprint(result).text, show_vendor_calls(result).text, show_metadata(result).text,
           show_ratio_to(result, results, count, &tn_allocator_raw).text,
           show_ratio_to(result, results, count, &tn_allocator_ordered_sets).text);
}

static void print_interrupted(const struct tn_result *result)
{
    printf("  %-12s interrupted after %zu repetitions", result->allocator->name,
           result->repetition_count);
    if (result->repetition_count > 0)
        printf(": %s ns/pair, %s", show_ns(result->pair_ns.median).text,
               show_spread(&result->pair_ns).text);
    printf("\n");
}

static void print_figures(const struct tn_result *result, const struct tn_result *results,
                          size_t count)
{
    switch (result->workload->method) {
    case TN_METHOD_PASSES:
    case TN_METHOD_FAITHFUL:
        print_measured(result, results, count);
        break;
    case TN_METHOD_THREADS:
        print_rates(result, results, count);
        break;
    case TN_METHOD_GROWTH:
        print_growth(result);
        break;
    case TN_METHOD_STREAMS:
        print_streams(result);
        break;
    }
}

/* Allocators that were not built have their line in the head of the report. */
static void print_row(const struct tn_result *result, const struct tn_result *results, size_t count)
{
    static const char *const words[] = { [TN_OUTCOME_SKIPPED] = "skipped",
                                         [TN_OUTCOME_NOT_FOUND] = "not found",
                                         [TN_OUTCOME_FAILED] = "FAILED" };
    if (result->outcome == TN_OUTCOME_INTERRUPTED)
        print_interrupted(result);
    else if (result->outcome == TN_OUTCOME_MEASURED)
        print_figures(result, results, count);
    else if (!result->allocator->missing_because)
        printf("  %-12s %s: %s\n", result->allocator->name, words[result->outcome],
               result->reason.text);
}

static const struct tn_result *find_measured(const struct tn_result *results, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (results[i].outcome == TN_OUTCOME_MEASURED) return &results[i];
    return NULL;
}

/* For replays in recorded time. */
static void print_lateness(const struct tn_result *results, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (results[i].outcome == TN_OUTCOME_MEASURED)
            printf("  (%s: events began late by %s ns at the median, %s at p99, %s at most)\n",
                   results[i].allocator->name, show_call_ns(results[i].late_ns.p50).text,
                   show_call_ns(results[i].late_ns.p99).text,
                   show_call_ns(results[i].late_ns.max).text);
}

/* An entry of a list in a note. The list continues in another line if this one is full. Returns the width so
 * far. */
static int print_entry(int width, const char *begin, const char *entry)
{
    if (width > 0 && width + (int)strlen(entry) + 3 <= 120) return width + printf(", %s", entry);
    if (width > 0) printf(",\n");
    return printf(width > 0 ? "   %s%s" : "  (%s%s", width > 0 ? "" : begin, entry);
}

/* Lists those with fewer repetitions than the head of the report says. */
static void print_repetitions(const struct tn_result *results, size_t count, size_t repetitions)
{
    char begin[64];
    snprintf(begin, sizeof begin, "of %zu repetitions: ", repetitions);
    int width = 0;
    for (size_t i = 0; i < count; i++) {
        if (results[i].outcome != TN_OUTCOME_MEASURED || results[i].repetition_count >= repetitions)
            continue;
        char entry[64];
        snprintf(entry, sizeof entry, "%.40s %zu", results[i].allocator->name,
                 results[i].repetition_count);
        width = print_entry(width, begin, entry);
    }
    if (width > 0) printf(")\n");
}

static void print_those_in_a_row(const struct tn_result *results, size_t count)
{
    int width = 0;
    for (size_t i = 0; i < count; i++)
        if (results[i].outcome == TN_OUTCOME_MEASURED && !results[i].is_interleaved)
            width = print_entry(width,
                                "repetitions in a row, not by turns: ", results[i].allocator->name);
    if (width > 0) printf(")\n");
}

/* Lists those of which little time, or none, was undisturbed. */
static void print_disturbed(const struct tn_result *results, size_t count)
{
    int width = 0;
    for (size_t i = 0; i < count; i++) {
        if (results[i].outcome != TN_OUTCOME_MEASURED || results[i].counted_share >= 0.1) continue;
        char entry[64];
        snprintf(entry, sizeof entry, "%.40s %.0f %%", results[i].allocator->name,
                 100.0 * results[i].counted_share);
        width = print_entry(width, "little time was not disturbed by others: ", entry);
    }
    if (width > 0) printf(")\n");
}

/* Notes all that differs from the head of the report. */
static void print_notes(const struct tn_result *results, size_t count, size_t repetitions)
{
    print_repetitions(results, count, repetitions);
    print_those_in_a_row(results, count);
    print_disturbed(results, count);
    if (results[0].speed > 0.0) print_lateness(results, count);
}

static void print_touch(const struct tn_machine *machine, const struct tn_options *options)
{
    if (options->touch_bytes == 0) {
        printf("memory is not touched\n");
        return;
    }
    if (options->touch_bytes == SIZE_MAX)
        printf("memory is written after each allocation, and verified before its free");
    else
        printf("of each block up to %s are written after its allocation, and verified before its "
               "free",
               show_bytes((double)options->touch_bytes).text);
    bool is_sampled = !machine->is_host && options->touch_bytes > TN_CONTENTS_SAMPLE_BYTES;
    printf(is_sampled ? ", 16 KB of larger ones\n" : "\n");
}

void tn_report_table_begin(const struct tn_machine *machine, const struct tn_options *options)
{
    tn_progress_clear();
    printf("tarn-bench %d.%d.%d, %s backend, device %s\n", TARN_VERSION_MAJOR, TARN_VERSION_MINOR,
           TARN_VERSION_PATCH, machine->backend, machine->device_name);
    printf("%s, %zu core%s, %s, %s, %s, %s build\n", machine->cpu_model, machine->core_count,
           machine->core_count == 1 ? "" : "s", machine->kernel, machine->c_library,
           machine->compiler, machine->build_type);
    printf("commit %s, seed %" PRIu64 ", %zu repetition%s; a reading of the clock costs %" PRIu64
           " ns\n",
           machine->commit, options->seed, options->repetitions,
           options->repetitions == 1 ? "" : "s", machine->clock_cost_ns);
    for (size_t i = 0; i < options->allocator_count; i++)
        if (options->allocators[i]->missing_because)
            printf("%s: not found: %s\n", options->allocators[i]->name,
                   options->allocators[i]->missing_because);
    print_touch(machine, options);
}

static void print_faithful(const struct tn_result *measured)
{
    printf("; %zu thread%s, %zu stream%s, order %s", measured->thread_count,
           measured->thread_count == 1 ? "" : "s", measured->stream_count,
           measured->stream_count == 1 ? "" : "s", tn_order_name(measured->order));
    if (measured->speed > 0.0) printf(", at %g of the recorded speed", measured->speed);
}

/* The rest of the workload's line. */
static void print_extent(const struct tn_result *measured)
{
    if (!measured) {
        printf("\n");
        return;
    }
    printf(": %s %s live, at most %zu block%s",
           measured->workload->method == TN_METHOD_THREADS ? "about" : "at most",
           show_bytes((double)measured->live_bytes_max).text, measured->live_count_max,
           measured->live_count_max == 1 ? "" : "s");
    bool is_faithful = measured->workload->method == TN_METHOD_FAITHFUL;
    if (is_faithful) print_faithful(measured);
    if (is_faithful || measured->workload->method == TN_METHOD_PASSES)
        printf("; %.1f ns of each pair are the harness", measured->harness_pair_ns);
    if (measured->workload->method == TN_METHOD_STREAMS)
        printf("; the work alone: %.0f ns, until done %.0f", measured->harness_pair_ns,
               measured->streams.work_total_ns);
    printf("\n");
}

void tn_report_table_add(const struct tn_result *results, size_t count, size_t repetitions)
{
    tn_progress_clear();
    printf("\n%s %s", results[0].workload->bench, results[0].workload->name);
    print_extent(find_measured(results, count));
    for (size_t i = 0; i < count; i++)
        print_row(&results[i], results, count);
    print_notes(results, count, repetitions);
    flush();
}

/* --- families ------------------------------------------------------------------------------------- */

/* A figure that no allocator has as 0 is not known then. */
static struct cell show_known(double value, struct cell (*show)(double value))
{
    return value > 0.0 ? show(value) : dash();
}

static struct cell show_whole(double value)
{
    return show_count((uint64_t)value);
}

static void print_family_figures(const struct tn_allocator *allocator,
                                 const struct tn_family_figures *figures)
{
    printf(family_row_format, allocator->name,
           show_known(figures->held_by_live.max, show_ratio).text,
           show_known(figures->held_by_live.median, show_ratio).text,
           show_known(figures->held_by_peak.max, show_ratio).text,
           show_known(figures->vendor_calls.max, show_whole).text,
           show_known(figures->vendor_calls.median, show_whole).text,
           show_ns(figures->pair_ns.max).text, show_ns(figures->pair_ns.median).text,
           show_ns(figures->alloc_p999_ns.max).text, show_ns(figures->alloc_p999_ns.median).text,
           show_count(figures->measured_count).text);
}

/* One allocator. The first draw without figures has its line, too. */
static void print_family_row(const struct tn_result *results, size_t draw_count, size_t count)
{
    struct tn_family_figures figures;
    bool has_figures = tn_family_summarise(results, count, draw_count, &figures);
    if (has_figures && figures.measured_count > 0)
        print_family_figures(results[0].allocator, &figures);
    for (size_t i = 0; i < draw_count; i++)
        if (results[i * count].outcome != TN_OUTCOME_MEASURED) {
            print_row(&results[i * count], results, count);
            return;
        }
}

void tn_report_table_add_family(const struct tn_result *results, size_t draw_count, size_t count)
{
    tn_progress_clear();
    size_t least_bytes = SIZE_MAX;
    size_t most_bytes = 0;
    for (size_t i = 0; i < draw_count * count; i++) {
        if (results[i].live_bytes_max < least_bytes) least_bytes = results[i].live_bytes_max;
        if (results[i].live_bytes_max > most_bytes) most_bytes = results[i].live_bytes_max;
    }
    printf("\n%s %s: %zu draw%s, at most %s to %s live\n", results[0].workload->bench,
           results[0].workload->family, draw_count, draw_count == 1 ? "" : "s",
           show_bytes((double)least_bytes).text, show_bytes((double)most_bytes).text);
    for (size_t i = 0; i < count; i++)
        print_family_row(&results[i], draw_count, count);
    flush();
}

/* --- the end -------------------------------------------------------------------------------------- */

static const char calls_legend[] =
    "ns/pair: the time of a pass divided by its number of allocations; it contains the harness.\n"
    "  alloc, free: single calls, each with one reading of the clock.\n";

static const char faithful_legend[] =
    "ns/pair: the time of a pass, from the start of its first thread to the end of its last, divided by\n"
    "  the number of all allocations; in recorded time the sum of all calls. alloc, free: single calls,\n"
    "  each with one reading of the clock.\n";

static const char threads_legend[] =
    "pairs/s: an allocation and a free; of all threads together, and divided by their number.\n"
    "ns/pair a thread: while the other threads work too. times one thread: pairs/s of all divided by\n"
    "  those of this allocator with one thread. Each thread has a stream of its own, if allocator and\n"
    "  device have streams, unless the workload says one stream.\n";

static const char growth_legend[] =
    "first alloc, ns/alloc, ns/free: of an allocator that was just opened; the time of all allocations,\n"
    "  and then of all frees, divided by their number; min-max: both together. p50, p99: single\n"
    "  allocations. left after free, trim: bytes held after all was freed, and after a trim.\n";

static const char streams_legend[] =
    "thread ns/pair: the time of the thread that allocates, fills and frees for all streams; without the\n"
    "  work: less the time of the fills alone. until done: with the wait for the streams that follows.\n"
    "records, queries, waits: calls for events, by pairs, if they could be counted; host waits: waits of\n"
    "  the thread, by pairs. frees: order, in the order of the stream; wait, the free waits for the\n"
    "  device; after, the thread waits for the stream first, as the allocator knows no streams (also\n"
    "  with one stream, if its free writes into the block).\n";

static const char family_legend[] =
    "patterns: worst and median of the draws. at any moment: the most that was held by the most that had been\n"
    "  live until then, from 32 MB live on, of one thread without streams.\n";

static const char common_legend[] =
    "held/live: most bytes ever held from the vendor divided by most bytes ever live; small workloads\n"
    "  may hold nothing but the first piece (--initial).\n"
    "meta B/block: host memory for bookkeeping divided by most blocks ever live. A dash: it cannot tell.\n"
    "faster than raw, sets: ns/pair of raw, or of ordered-sets, divided by this ns/pair.\n"
    "ordered-sets: the pool of today's mesh codes, over the C++ library's sets.\n";

static bool has_method(const struct tn_workload_list *workloads, enum tn_method method)
{
    for (size_t i = 0; i < workloads->count; i++)
        if (workloads->items[i].method == method) return true;
    return false;
}

static bool has_family(const struct tn_workload_list *workloads)
{
    for (size_t i = 0; i < workloads->count; i++)
        if (workloads->items[i].family) return true;
    return false;
}

void tn_report_table_end(const struct tn_machine *machine, const struct tn_workload_list *workloads)
{
    static const char *const legends[] = { [TN_METHOD_PASSES] = calls_legend,
                                           [TN_METHOD_THREADS] = threads_legend,
                                           [TN_METHOD_FAITHFUL] = faithful_legend,
                                           [TN_METHOD_GROWTH] = growth_legend,
                                           [TN_METHOD_STREAMS] = streams_legend };
    printf("\nTimes are in ns unless a unit is given.\n");
    for (enum tn_method method = TN_METHOD_PASSES; method <= TN_METHOD_STREAMS; method++)
        if (has_method(workloads, method)) fputs(legends[method], stdout);
    if (has_family(workloads)) fputs(family_legend, stdout);
    fputs(common_legend, stdout);
    if (machine->is_host)
        printf(
            "raw is mmap and munmap: the host stands in for a device, and streams are queues.\n"
            "jemalloc, mimalloc, libc-malloc: the floor. They may write into their blocks, and align to 16.\n");
    else
        printf("raw is the vendor's own allocation and free.\n");
    flush();
}
