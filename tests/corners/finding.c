/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* finding: a ring of lines, and a last word. */
#include "finding.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    LINES = 40,
    LINE_BYTES = 160
};

static struct {
    const char *command;
    bool is_verbose;
    bool is_ignored[FINDING_COUNT];
    uint64_t operation;
    uint64_t line_count;
    char lines[LINES][LINE_BYTES];
} record;

static const char *const names[] = {
#define FINDING_NAME(name, text, meaning) text,
    FINDING_TABLE(FINDING_NAME)
#undef FINDING_NAME
};

static const char *const meanings[] = {
#define FINDING_MEANING(name, text, meaning) meaning,
    FINDING_TABLE(FINDING_MEANING)
#undef FINDING_MEANING
};

const char *finding_name(enum finding finding)
{
    return names[finding];
}

bool finding_ignore(const char *name)
{
    for (int i = 0; i < FINDING_COUNT; i++) {
        if (strcmp(names[i], name) != 0) continue;
        record.is_ignored[i] = true;
        return true;
    }
    return false;
}

bool finding_is_ignored(enum finding finding)
{
    return record.is_ignored[finding];
}

bool finding_is_verbose(void)
{
    return record.is_verbose;
}

void finding_begin(const char *command, bool is_verbose)
{
    record.command = command;
    record.is_verbose = is_verbose;
    record.operation = 0;
    record.line_count = 0;
}

void finding_count(uint64_t operation)
{
    record.operation = operation;
}

void note(const char *format, ...)
{
    char *line = record.lines[record.line_count++ % LINES];
    int length = snprintf(line, LINE_BYTES, "%" PRIu64 ": ", record.operation);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line + length, LINE_BYTES - (size_t)length, format, arguments);
    va_end(arguments);
    if (record.is_verbose) {
        puts(line);
        fflush(stdout);
    }
}

void find(enum finding finding, const char *format, ...)
{
    if (record.is_ignored[finding]) return;
    printf("finding %s: %s\n    ", names[finding], meanings[finding]);
    va_list arguments;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n  the last operations:\n");
    uint64_t first = record.line_count > LINES ? record.line_count - LINES : 0;
    for (uint64_t i = first; i < record.line_count && !record.is_verbose; i++)
        printf("    %s\n", record.lines[i % LINES]);
    printf("  again: %s --operations %" PRIu64 " --worlds 1\n", record.command,
           record.operation > 0 ? record.operation : 1);
    fflush(stdout);
    _exit(FINDING_EXIT_FIRST + (int)finding);
}
