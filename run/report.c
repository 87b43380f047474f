/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* report: each function reads one kind of JSON object, member by member. Unknown members are skipped. */
#include "report.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "json_reader.h"
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

/* A member that comes twice counts as it comes last. */
static void read_text(struct tn_json *json, char **text)
{
    free(*text);
    *text = tn_json_read_text(json);
}

static void read_catch(struct tn_json *json, struct tn_report_catch *caught)
{
    tn_json_enter(json, '{');
    while (tn_json_next(json, '}')) {
        char *key = tn_json_read_key(json);
        if (strcmp(key, "symbol") == 0)
            read_text(json, &caught->symbol);
        else if (strcmp(key, "route") == 0)
            read_text(json, &caught->route);
        else if (strcmp(key, "library") == 0)
            read_text(json, &caught->library);
        else
            tn_json_skip(json);
        free(key);
    }
}

static void read_pass(struct tn_json *json, struct tn_report_pass *passed)
{
    tn_json_enter(json, '{');
    while (tn_json_next(json, '}')) {
        char *key = tn_json_read_key(json);
        if (strcmp(key, "symbol") == 0)
            read_text(json, &passed->symbol);
        else if (strcmp(key, "reason") == 0)
            read_text(json, &passed->reason);
        else if (strcmp(key, "count") == 0)
            passed->count = tn_json_read_number(json);
        else
            tn_json_skip(json);
        free(key);
    }
}

/* Returns a place for one element more, which is zero. */
static void *grow(void *elements, size_t count, size_t element_bytes)
{
    char *grown = tn_launch_require(reallocarray(elements, count + 1, element_bytes));
    memset(grown + count * element_bytes, 0, element_bytes);
    return grown;
}

static void read_all_caught(struct tn_json *json, struct tn_report *report)
{
    tn_json_enter(json, '[');
    while (tn_json_next(json, ']')) {
        report->caught = grow(report->caught, report->caught_count, sizeof *report->caught);
        read_catch(json, &report->caught[report->caught_count++]);
    }
}

static void read_all_passed(struct tn_json *json, struct tn_report *report)
{
    tn_json_enter(json, '[');
    while (tn_json_next(json, ']')) {
        report->passed = grow(report->passed, report->passed_count, sizeof *report->passed);
        read_pass(json, &report->passed[report->passed_count++]);
    }
}

/* Returns the number that has this key in the file. NULL: it is no number that is known. */
static uint64_t *number_of(struct tn_report *report, const char *key)
{
    const struct {
        const char *key;
        uint64_t *number;
    } numbers[] = {
        { "pid", &report->process },
        { "allocations", &report->alloc_count },
        { "frees", &report->free_count },
        { "vendor_calls", &report->vendor_call_count },
        { "peak_live_bytes", &report->peak_live_bytes },
        { "peak_held_bytes", &report->peak_held_bytes },
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (strcmp(key, numbers[i].key) == 0) return numbers[i].number;
    }
    return NULL;
}

static void read_report(struct tn_json *json, struct tn_report *report)
{
    tn_json_enter(json, '{');
    while (tn_json_next(json, '}')) {
        char *key = tn_json_read_key(json);
        uint64_t *number = number_of(report, key);
        if (number)
            *number = tn_json_read_number(json);
        else if (strcmp(key, "program") == 0)
            read_text(json, &report->program);
        else if (strcmp(key, "caught") == 0)
            read_all_caught(json, report);
        else if (strcmp(key, "passed") == 0)
            read_all_passed(json, report);
        else
            tn_json_skip(json);
        free(key);
    }
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

/* Returns the whole text of a file from malloc. NULL: it cannot be read, see errno. */
static char *read_file(const char *path)
{
    char *text = NULL;
    size_t size_bytes = 0;
    FILE *file = fopen(path, "re");
    if (!file) return NULL;
    /* No JSON has a byte of zero. */
    ssize_t length = getdelim(&text, &size_bytes, '\0', file);
    bool is_empty = length < 0 && feof(file);
    fclose(file);
    if (length >= 0) return text;
    free(text);
    return is_empty ? tn_launch_text("%s", "") : NULL;
}

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
    const char *process = strchr(name, '.') + 1;
    char *path = tn_launch_text("%s/%s", folder_path, name);
    char *text = read_file(path);
    struct tn_report report = { .is_of_hip = strstr(name, HIP_SUFFIX) != NULL };
    struct tn_json json = tn_json_of(text ? text : "");
    if (text) read_report(&json, &report);
    if (!text) {
        tn_launch_tell("the report of process %s cannot be read: %s", process, strerror(errno));
    } else if (!tn_json_is_whole(&json)) {
        tn_launch_tell("the report of process %s is left out: it is damaged, or not complete",
                       process);
        fini_report(&report);
    } else {
        reports->reports = grow(reports->reports, reports->count, sizeof *reports->reports);
        reports->reports[reports->count++] = report;
    }
    free(text);
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
    report->vendor_call_count += other->vendor_call_count;
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
