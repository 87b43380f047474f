/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* trace_lines: line by line, with a table of what is live by id. */
#include "harness/claims.h"
#include "lines_of_events.h"
#include "trace_lines.h"

/* cmocka wants these four first. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define IDS_MAX ((uint64_t)1 << 19)

struct reading {
    struct trace_lines trace;
    size_t capacity;
    size_t *live; /* by id: the line of the allocation, counted from 1; 0: it is not live */
    uint64_t label_id;
    char label[600];
    bool has_events;
};

/* The number at *text, which then is behind it and a space. */
static uint64_t take_number(const char **text)
{
    char *end;
    uint64_t number = strtoull(*text, &end, 10);
    assert_ptr_not_equal(end, *text);
    *text = *end == ' ' ? end + 1 : end;
    return number;
}

/* Whether the line has this key; then *value is where its value begins. */
static bool has_key(const char *line, const char *key, const char **value)
{
    size_t length = strlen(key);
    if (strncmp(line + 2, key, length) != 0 || strncmp(line + 2 + length, ": ", 2) != 0)
        return false;
    *value = line + length + 4;
    return true;
}

static void take_key(struct reading *reading, const char *line)
{
    const char *value;
    if (has_key(line, "events", &value)) {
        reading->has_events = true;
        assert_int_equal(take_number(&value), reading->trace.count);
    } else if (has_key(line, "lost", &value)) {
        reading->trace.lost_count = take_number(&value);
    } else if (has_key(line, "frees_of_earlier", &value)) {
        reading->trace.unknown_count = take_number(&value);
    } else if (has_key(line, "live_at_end", &value)) {
        assert_int_equal(take_number(&value), reading->trace.live_count);
    } else if (has_key(line, "label", &value)) {
        reading->label_id = take_number(&value);
        snprintf(reading->label, sizeof reading->label, "%.*s", (int)strcspn(value, "\n"), value);
    }
}

static struct trace_line *add_line(struct reading *reading)
{
    struct trace_lines *trace = &reading->trace;
    if (trace->count == reading->capacity) {
        reading->capacity = reading->capacity ? 2 * reading->capacity : 1024;
        trace->lines = realloc(trace->lines, reading->capacity * sizeof *trace->lines);
        assert_non_null(trace->lines);
    }
    memset(&trace->lines[trace->count], 0, sizeof *trace->lines);
    return &trace->lines[trace->count++];
}

static void take_alloc(struct reading *reading, struct trace_line *line)
{
    assert_in_range(line->id, 0, IDS_MAX - 1);
    assert_int_equal(reading->live[line->id], 0);
    reading->live[line->id] = reading->trace.count;
    reading->trace.live_count++;
    if (reading->label[0] == '\0') return;
    assert_int_equal(line->id, reading->label_id);
    memcpy(line->label, reading->label, sizeof line->label);
    reading->label[0] = '\0';
}

static void take_free(struct reading *reading, struct trace_line *line)
{
    assert_in_range(line->id, 0, IDS_MAX - 1);
    assert_int_not_equal(reading->live[line->id], 0);
    line->bytes = reading->trace.lines[reading->live[line->id] - 1].bytes;
    reading->live[line->id] = 0;
    reading->trace.live_count--;
}

static void take_event(struct reading *reading, const char *text)
{
    struct trace_line *line = add_line(reading);
    assert_true(text[0] == 'a' || text[0] == 'f');
    line->kind = text[0];
    text += 2;
    line->id = take_number(&text);
    if (line->kind == 'a') line->bytes = take_number(&text);
    line->stream = take_number(&text);
    line->thread = take_number(&text);
    line->time_ns = take_number(&text);
    assert_string_equal(text, "\n");
    if (line->kind == 'a') {
        take_alloc(reading, line);
    } else {
        take_free(reading, line);
    }
    if (reading->trace.count > 1) assert_true(line[-1].time_ns <= line->time_ns);
}

struct trace_lines read_trace_lines(const char *path)
{
    struct reading reading = { .live = calloc(IDS_MAX, sizeof *reading.live) };
    char text[1024], made[64] = "";
    if (tn_trace_is_of_events(path)) {
        snprintf(made, sizeof made, "/tmp/tarn-trace-lines-%d", (int)getpid());
        write_lines_of_events(path, made);
    }
    gzFile file = gzopen(made[0] ? made : path, "rb");
    if (!file) fail_msg("there is no trace %s", path);
    assert_non_null(gzgets(file, text, sizeof text));
    assert_string_equal(text, "# tarn-trace 1\n");
    while (gzgets(file, text, sizeof text)) {
        assert_int_equal(text[strlen(text) - 1], '\n');
        if (text[0] == '#')
            take_key(&reading, text);
        else
            take_event(&reading, text);
    }
    assert_int_equal(gzclose_r(file), Z_OK);
    assert_true(reading.has_events);
    if (made[0]) unlink(made);
    free(reading.live);
    return reading.trace;
}

void free_trace_lines(struct trace_lines *trace)
{
    free(trace->lines);
    trace->lines = NULL;
}

size_t count_lines(const struct trace_lines *trace, char kind)
{
    size_t count = 0;
    for (size_t i = 0; i < trace->count; i++)
        count += trace->lines[i].kind == kind;
    return count;
}

void expect_trace_lines(const char *path, const char *expected)
{
    struct trace_lines trace = read_trace_lines(path);
    char text[4096] = "";
    size_t length = 0;
    for (size_t i = 0; i < trace.count && length < sizeof text; i++) {
        const struct trace_line *line = &trace.lines[i];
        length += (size_t)snprintf(text + length, sizeof text - length, "%c %d %d %d%s%s\n",
                                   line->kind, (int)line->id, (int)line->bytes, (int)line->stream,
                                   line->label[0] ? " " : "", line->label);
    }
    free_trace_lines(&trace);
    assert_string_equal(text, expected);
}
