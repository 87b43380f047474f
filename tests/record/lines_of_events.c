/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* lines_of_events: a stream as the sink. */
#include "harness/claims.h"
#include "lines_of_events.h"

/* cmocka wants these four first. */

#include <stdio.h>
#include <string.h>

static bool write_line(void *to, const char *line, size_t length)
{
    FILE *stream = to;
    assert_int_equal(line[length - 1], '\n');
    assert_ptr_equal(memchr(line, '\n', length), line + length - 1);
    if (stream) assert_int_equal(fwrite(line, 1, length, stream), length);
    return true;
}

struct tn_trace_summary write_lines_of_events(const char *event_path, const char *trace_path)
{
    struct tn_failure failure;
    struct tn_trace_summary summary;
    FILE *stream = trace_path ? fopen(trace_path, "w") : NULL;
    const struct tn_trace_sink sink = { write_line, stream };
    if (trace_path) assert_non_null(stream);
    if (!tn_trace_write(event_path, &sink, &summary, &failure)) fail_msg("%s", failure.text);
    if (stream) assert_int_equal(fclose(stream), 0);
    return summary;
}

void expect_no_lines_of_events(const char *event_path, const char *part)
{
    struct tn_failure failure;
    struct tn_trace_summary summary;
    const struct tn_trace_sink sink = { write_line, NULL };
    assert_false(tn_trace_write(event_path, &sink, &summary, &failure));
    if (!strstr(failure.text, part)) fail_msg("\"%s\" is not in \"%s\"", part, failure.text);
}
