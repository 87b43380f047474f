/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* trace_lines: line by line, with a table of what is live by id. */
#include "trace_lines.h"

/* cmocka wants these four first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* clang-format off */
#include <cmocka.h>
/* clang-format on */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

static void take_key(struct reading *reading, const char *line)
{
    uint64_t number;
    int label_at;
    if (sscanf(line, "# events: %" SCNu64, &number) == 1) {
        reading->has_events = true;
        assert_int_equal(number, reading->trace.count);
    }
    if (sscanf(line, "# lost: %" SCNu64, &number) == 1) reading->trace.lost_count = number;
    if (sscanf(line, "# live_at_end: %" SCNu64, &number) == 1)
        assert_int_equal(number, reading->trace.live_count);
    if (sscanf(line, "# label: %" SCNu64 " %n", &reading->label_id, &label_at) == 1)
        snprintf(reading->label, sizeof reading->label, "%.*s", (int)strcspn(line + label_at, "\n"),
                 line + label_at);
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
    line->kind = text[0];
    if (text[0] == 'a') {
        assert_int_equal(
            5, sscanf(text, "a %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64, &line->id,
                      &line->bytes, &line->stream, &line->thread, &line->time_ns));
        take_alloc(reading, line);
    } else {
        assert_int_equal(4, sscanf(text, "f %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64,
                                   &line->id, &line->stream, &line->thread, &line->time_ns));
        take_free(reading, line);
    }
    if (reading->trace.count > 1) assert_true(line[-1].time_ns <= line->time_ns);
}

struct trace_lines read_trace_lines(const char *path)
{
    struct reading reading = { .live = calloc(IDS_MAX, sizeof *reading.live) };
    char text[1024];
    gzFile file = gzopen(path, "rb");
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
