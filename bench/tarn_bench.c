/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * tarn_bench: the program. Reads the command line, makes the workloads, measures the allocators on
 * each, and reports. README.md explains what is measured, and how.
 *
 * Exit status: 0 everything was measured, 1 something failed, 2 the command line is wrong, 130 or 143 the user
 * interrupted it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "allocators/allocator_list.h"
#include "common/interrupt.h"
#include "common/progress.h"
#include "measuring/family.h"
#include "measuring/measure.h"
#include "reporting/report_csv.h"
#include "reporting/report_json.h"
#include "reporting/report_table.h"
#include "workloads/commands.h"

enum {
    EXIT_INTERRUPTED = 128 /* and the signal's number, as a shell has it */
};

/* Where results are written besides the table; NULL: nowhere. */
struct files {
    struct tn_report_json *json;
    struct tn_report_csv *csv;
};

/* Prints each failure. Returns whether there was none. */
static bool print_failures(const struct tn_result *results, size_t count)
{
    bool is_ok = true;
    for (size_t i = 0; i < count; i++) {
        if (results[i].outcome != TN_OUTCOME_FAILED) continue;
        tn_reason_print(&results[i].reason);
        is_ok = false;
    }
    return is_ok;
}

/* The rate of each allocator with one thread, and the number of blocks that thread had. */
struct one_thread {
    size_t live_count;
    double pairs_per_s[TN_ALLOCATORS_MAX];
};

/* Notes the figures of one thread, or enters them into those of several with as many blocks each. */
static void compare_with_one_thread(struct tn_result *results, size_t count, struct one_thread *one)
{
    const struct tn_workload *workload = results[0].workload;
    if (workload->method != TN_METHOD_THREADS) return;
    size_t live_count = workload->slot_count / workload->thread_count;
    if (workload->thread_count == 1) {
        one->live_count = live_count;
        for (size_t i = 0; i < count; i++)
            one->pairs_per_s[i] = results[i].pairs_per_s.median;
    }
    for (size_t i = 0; i < count && one->live_count == live_count; i++)
        results[i].one_thread_pairs_per_s = one->pairs_per_s[i];
}

static bool write_results(const struct files *files, const struct tn_result *results,
                          size_t draw_count, size_t count)
{
    struct tn_reason reason;
    if (files->csv) tn_report_csv_add(files->csv, results, draw_count * count);
    if (!files->json || tn_report_json_add(files->json, results, draw_count, count, &reason))
        return true;
    tn_reason_print(&reason);
    return false;
}

/* Reports the results of one workload, or of the draws of a family. */
static bool report(struct tn_result *results, size_t draw_count, const struct tn_options *options,
                   struct one_thread *one, const struct files *files)
{
    size_t count = options->allocator_count;
    compare_with_one_thread(results, count, one);
    if (results[0].workload->family)
        tn_report_table_add_family(results, draw_count, count);
    else
        tn_report_table_add(results, count, options->repetitions);
    bool is_ok = print_failures(results, draw_count * count);
    is_ok = write_results(files, results, draw_count, count) && is_ok;
    tn_results_fini(results, draw_count * count);
    return is_ok;
}

/* Workloads that are measured together. */
static bool measure_together(const struct tn_workload *workloads, size_t workload_count,
                             const struct tn_options *options, const struct tn_machine *machine,
                             struct one_thread *one, const struct files *files)
{
    struct tn_result *results =
        calloc(workload_count * options->allocator_count, sizeof results[0]);
    if (!results) {
        struct tn_reason reason;
        tn_reason_set(&reason, "%s: there is not enough host memory for its results",
                      workloads[0].bench);
        tn_reason_print(&reason);
        return false;
    }
    bool is_ok = true;
    size_t begun_count = tn_measure(workloads, workload_count, options, machine, results);
    for (size_t i = 0, draw_count = 0; i < begun_count; i += draw_count) {
        draw_count = tn_family_count_draws(&workloads[i], begun_count - i);
        is_ok = report(&results[i * options->allocator_count], draw_count, options, one, files) &&
                is_ok;
    }
    free(results);
    return is_ok;
}

/* Says that a file was written, or why not. */
static bool tell_written(bool is_written, const char *path, const struct tn_reason *reason)
{
    if (is_written)
        fprintf(stderr, "tarn-bench: wrote %s\n", path);
    else
        tn_reason_print(reason);
    return is_written;
}

static bool finish_files(const struct files *files, const struct tn_machine *machine,
                         const struct tn_options *options)
{
    struct tn_reason reason;
    bool is_ok = true;
    if (files->json) {
        bool is_written = tn_report_json_finish(files->json, machine, options, &reason);
        is_ok = tell_written(is_written, options->json_path, &reason) && is_ok;
    }
    if (files->csv) {
        bool is_written = tn_report_csv_finish(files->csv, &reason);
        is_ok = tell_written(is_written, options->csv_path, &reason) && is_ok;
    }
    return is_ok;
}

static bool measure_all(const struct tn_workload_list *workloads, const struct tn_options *options,
                        const struct tn_machine *machine, const struct files *files)
{
    bool is_ok = true;
    struct one_thread one = { 0, { 0.0 } };
    tn_report_table_begin(machine, options);
    size_t count = 0;
    for (size_t i = 0; i < workloads->count && !tn_interrupt_is_wanted(); i += count) {
        const struct tn_workload *workload = &workloads->items[i];
        count = tn_measure_count_together(workload, workloads->count - i);
        tn_report_table_head(workload, i > 0 ? &workload[-1] : NULL);
        tn_progress_set_place(i, count, workloads->count);
        is_ok = measure_together(workload, count, options, machine, &one, files) && is_ok;
    }
    tn_report_table_end(machine, workloads);
    return finish_files(files, machine, options) && is_ok;
}

/* All or none. */
static bool open_files(const struct tn_options *options, struct files *files,
                       struct tn_reason *reason_out)
{
    *files = (struct files){ NULL, NULL };
    if (options->csv_path && !(files->csv = tn_report_csv_create(options->csv_path, reason_out)))
        return false;
    if (!options->json_path ||
        (files->json = tn_report_json_create(options->json_path, reason_out)))
        return true;
    struct tn_reason ignored;
    if (files->csv) tn_report_csv_finish(files->csv, &ignored);
    return false;
}

static bool run(const struct tn_options *options, struct tn_workload_list *workloads)
{
    struct tn_reason reason;
    struct tn_machine machine;
    struct files files;
    if (!tn_machine_look(options->settings.device, &machine, &reason)) {
        tn_reason_print(&reason);
        return false;
    }
    if (options->command == &tn_command_allocators)
        return tn_allocator_list_print(&options->settings);
    if (!options->command->make_workloads(options, &machine, workloads, &reason) ||
        !open_files(options, &files, &reason)) {
        tn_reason_print(&reason);
        return false;
    }
    return measure_all(workloads, options, &machine, &files);
}

/* The table is a result too: a full disk is a failure. */
static void check_output(void)
{
    struct tn_reason reason;
    int error = fflush(stdout) == 0 ? tn_report_table_get_error() : errno;
    if (error == 0 && !ferror(stdout)) return;
    tn_reason_set(&reason, "standard output: cannot be written: %s",
                  error != 0 ? strerror(error) : "some of it was lost");
    tn_reason_print(&reason);
    _exit(EXIT_FAILURE);
}

int main(int argc, char **argv)
{
    struct tn_options options;
    atexit(check_output); /* also if the options end the program */
    tn_options_parse(argc, argv, &options);
    struct tn_workload_list workloads = { NULL, 0 };
    tn_interrupt_watch();
    bool is_ok = run(&options, &workloads);
    tn_workload_list_fini(&workloads);
    if (tn_interrupt_is_wanted()) return EXIT_INTERRUPTED + tn_interrupt_signal();
    return is_ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
