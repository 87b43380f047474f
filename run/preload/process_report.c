/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* process_report: written by a destructor of the library. */
#include "process_report.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text/escape.h"
#include "base/process.h"

#include "context_pools.h"
#include "notes.h"

static const char *const route_names[] = { "linked", "dlsym", TN_VENDOR_ADDRESS_ROUTE };

static const char *const reason_texts[TN_REASON_COUNT] = {
#define TEXT(reason, text) text,
    TN_REASONS(TEXT)
#undef TEXT
};

/* A text from outside: what is no printable UTF-8 becomes the character for that. */
static void write_text(FILE *file, const char *text)
{
    fputc('"', file);
    while (*text != '\0') {
        size_t length = tn_escape_printable_bytes(text);
        if (*text == '"' || *text == '\\') fputc('\\', file);
        if (length == 0) fputs("\\ufffd", file);
        fwrite(text, 1, length, file);
        text += length > 0 ? length : 1;
    }
    fputc('"', file);
}

/* The path of the program. */
static void write_own_path(FILE *file)
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    path[length > 0 ? length : 0] = '\0';
    write_text(file, path);
}

/* The loader knows the program by the name that it was called by. */
static void write_library(FILE *file, const char *library)
{
    if (strcmp(library, program_invocation_name) == 0)
        write_own_path(file);
    else
        write_text(file, library);
}

static void write_caught(FILE *file)
{
    size_t count = tn_notes_caught_count();
    fputs(",\n \"caught\": [", file);
    for (size_t i = 0; i < count; i++) {
        struct tn_caught caught = tn_notes_get_caught(i);
        fprintf(file,
                "%s\n  {\"symbol\": \"%s\", \"route\": \"%s\", \"library\": ", i > 0 ? "," : "",
                tn_intercepted[caught.call].symbol, route_names[caught.route]);
        write_library(file, caught.library);
        fputc('}', file);
    }
    fputs("]", file);
}

static void write_passed(FILE *file)
{
    const char *comma = "";
    fputs(",\n \"passed\": [", file);
    for (enum tn_call call = 0; call < TN_CALL_COUNT; call++) {
        for (enum tn_reason reason = 0; reason < TN_REASON_COUNT; reason++) {
            uint64_t count = tn_notes_passed_count(call, reason);
            if (count == 0) continue;
            fprintf(file, "%s\n  {\"symbol\": \"%s\", \"reason\": \"%s\", \"count\": %" PRIu64 "}",
                    comma, tn_intercepted[call].symbol, reason_texts[reason], count);
            comma = ",";
        }
    }
    fputs("]", file);
}

void tn_process_report_write(FILE *file)
{
    struct tn_pool_totals ended = tn_notes_totals(), live = tn_context_pools_totals();
    fprintf(file, "{\"pid\": %ld, \"program\": ", (long)getpid());
    write_own_path(file);
    write_caught(file);
    write_passed(file);
    fprintf(file, ",\n \"allocations\": %" PRIu64 ", \"frees\": %" PRIu64,
            ended.alloc_count + live.alloc_count, ended.free_count + live.free_count);
    fprintf(file, ", \"pool_allocations\": %" PRIu64,
            ended.pool_alloc_count + live.pool_alloc_count);
    fprintf(file, ", \"vendor_calls\": %" PRIu64 ", \"order_calls\": %" PRIu64,
            tn_notes_vendor_call_count(TN_PURPOSE_MEMORY),
            tn_notes_vendor_call_count(TN_PURPOSE_ORDER));
    fprintf(file, ", \"peak_live_bytes\": %zu, \"peak_held_bytes\": %zu}\n",
            ended.live_bytes_max + live.live_bytes_max, ended.held_bytes_max + live.held_bytes_max);
}

/* --- the end of the process -------------------------------------------------------------------------- */

static char *report_file; /* NULL: none is asked for */
static uint32_t generation_at_start;

__attribute__((constructor)) static void read_environment(void)
{
    const char *file = getenv("TARN_RUN_REPORT");
    if (file && file[0] != '\0') report_file = strdup(file);
    generation_at_start = tn_process_generation();
}

static bool write_to(const char *path)
{
    FILE *file = fopen(path, "we");
    if (!file) return false;
    tn_process_report_write(file);
    bool is_written = ferror(file) == 0;
    return fclose(file) == 0 && is_written;
}

__attribute__((destructor)) static void write_at_exit(void)
{
    char *path = NULL;
    bool is_fork = tn_process_generation() != generation_at_start;
    if (!report_file || (is_fork && !tn_context_pools_are_own())) return;
    if (asprintf(&path, "%s.%ld" TN_VENDOR_REPORT_SUFFIX, report_file, (long)getpid()) < 0) return;
    if (!write_to(path)) fprintf(stderr, "tarn: cannot write %s: %s\n", path, strerror(errno));
    free(path);
}
