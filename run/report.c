/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* report: a JSON object for each process. Members that are not known here are left alone. */
#include "report.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "base/text/escape.h"

#include "../recorders/launch.h"

#define HIP_SUFFIX ".hip" /* of the name of a report by libtarn_run_hip.so */

/* --- the folder --------------------------------------------------------------------------------------- */

static char *folder_path;
static DIR *folder; /* open from the beginning: what removes the files must not fail for memory */
static unsigned run_number;

/* Goes through the files of the folder. NULL: there are no more. */
static const char *next_name(void)
{
    const struct dirent *entry = readdir(folder);
    return entry ? entry->d_name : NULL;
}

/* At the exit. A process that has outlived the program may still write; then the folder stays. */
static void remove_folder(void)
{
    if (folder) {
        rewinddir(folder);
        for (const char *name = next_name(); name; name = next_name())
            (void)unlinkat(dirfd(folder), name, 0);
        closedir(folder);
    }
    (void)rmdir(folder_path);
    free(folder_path);
}

void tn_report_create_folder(void)
{
    const char *parent = getenv("TMPDIR");
    if (!parent || parent[0] == '\0') parent = "/tmp";
    folder_path = tn_launch_text("%s/tarn-run-XXXXXX", parent);
    if (!mkdtemp(folder_path)) {
        tn_launch_fail("cannot make a folder for reports in %s: %s; set TMPDIR to another place",
                       parent, strerror(errno));
    }
    if (atexit(remove_folder) != 0) tn_launch_require(NULL);
    /* Programs of the run may have another current folder. */
    char *absolute = tn_launch_require(realpath(folder_path, NULL));
    free(folder_path);
    folder_path = absolute;
    folder = tn_launch_require(opendir(folder_path));
}

void tn_report_begin_run(void)
{
    char *prefix = tn_launch_text("%s/%u", folder_path, ++run_number);
    tn_launch_set(TN_REPORT_FILE_VARIABLE, prefix);
    free(prefix);
}

/* --- one report --------------------------------------------------------------------------------------- */

/* A text of the object, from malloc, escaped for a terminal. */
static char *text_of(const json_t *object, const char *key)
{
    const char *from = json_string_value(json_object_get(object, key));
    size_t room_bytes = from ? 4 * strlen(from) + 1 : 1;
    char *to = tn_launch_require(malloc(room_bytes));
    tn_escape_text(to, room_bytes, from ? from : "");
    return to;
}

static uint64_t number_of(const json_t *object, const char *key)
{
    json_int_t number = json_integer_value(json_object_get(object, key));
    return number > 0 ? (uint64_t)number : 0;
}

/* Returns the elements of an array, all zero, and how many there are. */
static void *elements_of(const json_t *array, size_t element_bytes, size_t *count_out)
{
    *count_out = json_array_size(array);
    return *count_out == 0 ? NULL : tn_launch_require(calloc(*count_out, element_bytes));
}

static void read_caught(const json_t *array, struct tn_report *report)
{
    report->caught = elements_of(array, sizeof *report->caught, &report->caught_count);
    for (size_t i = 0; i < report->caught_count; i++) {
        const json_t *caught = json_array_get(array, i);
        report->caught[i] =
            (struct tn_report_catch){ text_of(caught, "symbol"), text_of(caught, "route"),
                                      text_of(caught, "library") };
    }
}

static void read_passed(const json_t *array, struct tn_report *report)
{
    report->passed = elements_of(array, sizeof *report->passed, &report->passed_count);
    for (size_t i = 0; i < report->passed_count; i++) {
        const json_t *passed = json_array_get(array, i);
        report->passed[i] =
            (struct tn_report_pass){ text_of(passed, "symbol"), text_of(passed, "reason"),
                                     number_of(passed, "count") };
    }
}

static struct tn_report read_report(const json_t *json)
{
    struct tn_report report = {
        .process = number_of(json, "pid"),
        .program = text_of(json, "program"),
        .alloc_count = number_of(json, "allocations"),
        .free_count = number_of(json, "frees"),
        .pool_alloc_count = number_of(json, "pool_allocations"),
        .vendor_call_count = number_of(json, "vendor_calls"),
        .order_call_count = number_of(json, "order_calls"),
        .peak_live_bytes = number_of(json, "peak_live_bytes"),
        .peak_held_bytes = number_of(json, "peak_held_bytes"),
    };
    read_caught(json_object_get(json, "caught"), &report);
    read_passed(json_object_get(json, "passed"), &report);
    return report;
}

static void fini_report(struct tn_report *report)
{
    for (size_t i = 0; i < report->caught_count; i++) {
        free(report->caught[i].symbol);
        free(report->caught[i].route);
        free(report->caught[i].library);
    }
    for (size_t i = 0; i < report->passed_count; i++) {
        free(report->passed[i].symbol);
        free(report->passed[i].reason);
    }
    free(report->caught);
    free(report->passed);
    free(report->program);
}

/* --- all of a run ------------------------------------------------------------------------------------- */

/* Whether the process of this number wrote the file, in the run. */
static bool is_report(const char *name)
{
    char prefix[16];
    size_t length = (size_t)snprintf(prefix, sizeof prefix, "%u.", run_number);
    if (strncmp(name, prefix, length) != 0) return false;
    size_t digit_count = strspn(name + length, "0123456789");
    const char *rest = name + length + digit_count;
    return digit_count > 0 && (rest[0] == '\0' || strcmp(rest, HIP_SUFFIX) == 0);
}

static void add_report(struct tn_reports *reports, const char *name)
{
    json_error_t error;
    char *path = tn_launch_text("%s/%s", folder_path, name);
    json_t *json = json_load_file(path, 0, &error);
    if (json) {
        reports->reports = tn_launch_require(
            reallocarray(reports->reports, reports->count + 1, sizeof *reports->reports));
        struct tn_report *report = &reports->reports[reports->count++];
        *report = read_report(json);
        report->is_of_hip = strstr(name, HIP_SUFFIX) != NULL;
    } else if (json_error_code(&error) == json_error_out_of_memory) {
        tn_launch_require(NULL);
    } else {
        tn_launch_tell("the report of process %s is left out: %s", strchr(name, '.') + 1,
                       error.text);
        reports->left_out_count++;
    }
    json_decref(json);
    free(path);
}

static int compare_processes(const void *left, const void *right)
{
    const struct tn_report *a = left, *b = right;
    if (a->process == b->process) return a->is_of_hip - b->is_of_hip;
    return a->process > b->process ? 1 : -1;
}

/* Appends elements to an array, which may move, and frees the array that they were in. */
static void *append(void *elements, size_t count, size_t element_bytes, void *others,
                    size_t other_count)
{
    if (other_count == 0) return elements;
    char *grown = tn_launch_require(reallocarray(elements, count + other_count, element_bytes));
    memcpy(grown + count * element_bytes, others, other_count * element_bytes);
    free(others);
    return grown;
}

/* Two libraries have reported of one process. */
static void merge(struct tn_report *report, struct tn_report *other)
{
    report->caught = append(report->caught, report->caught_count, sizeof *report->caught,
                            other->caught, other->caught_count);
    report->caught_count += other->caught_count;
    report->passed = append(report->passed, report->passed_count, sizeof *report->passed,
                            other->passed, other->passed_count);
    report->passed_count += other->passed_count;
    report->alloc_count += other->alloc_count;
    report->free_count += other->free_count;
    report->pool_alloc_count += other->pool_alloc_count;
    report->vendor_call_count += other->vendor_call_count;
    report->order_call_count += other->order_call_count;
    report->peak_live_bytes += other->peak_live_bytes;
    report->peak_held_bytes += other->peak_held_bytes;
    report->is_of_hip = true;
    free(other->program);
}

/* The reports are sorted by their processes. */
static void merge_neighbours(struct tn_reports *reports)
{
    size_t count = 0;
    for (size_t i = 0; i < reports->count; i++) {
        if (count > 0 && reports->reports[count - 1].process == reports->reports[i].process)
            merge(&reports->reports[count - 1], &reports->reports[i]);
        else
            reports->reports[count++] = reports->reports[i];
    }
    reports->count = count;
}

struct tn_reports tn_reports_read(void)
{
    struct tn_reports reports = { 0 };
    rewinddir(folder);
    for (const char *name = next_name(); name; name = next_name()) {
        if (is_report(name)) add_report(&reports, name);
    }
    if (reports.count > 0)
        qsort(reports.reports, reports.count, sizeof *reports.reports, compare_processes);
    merge_neighbours(&reports);
    return reports;
}

void tn_reports_fini(struct tn_reports *reports)
{
    for (size_t i = 0; i < reports->count; i++)
        fini_report(&reports->reports[i]);
    free(reports->reports);
    *reports = (struct tn_reports){ 0 };
}
