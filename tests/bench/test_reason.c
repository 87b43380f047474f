/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_reason: a reason is one line, and has its end even where a path is long. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/reason.h"
#include "playing/verifier.h"
#include "scratch.h"
#include "workloads/trace_reader.h"

static void a_reason_is_one_line(void **state)
{
    (void)state;
    struct tn_reason reason;
    tn_reason_set(&reason, "%s (%d)", "what\nand where", 5);
    assert_string_equal(reason.text, "what");
    tn_reason_set(&reason, "'%s' is no event", "\x1b[2J\xff");
    assert_string_equal(reason.text, "'\\x1b[2J\\xff' is no event");
    tn_reason_set(&reason, "%s", "");
    assert_string_equal(reason.text, "");
    tn_reason_set(&reason, "%0600d", 0);
    assert_int_equal(strlen(reason.text), sizeof reason.text - 1);
}

static void a_long_path_shows_its_end(void **state)
{
    (void)state;
    char path[TN_PATH_SHOWN_BYTES + 2];
    for (size_t length = 0; length < sizeof path; length++) {
        memset(path, 'x', length);
        path[length] = '\0';
        if (length > 0) path[length - 1] = 'z';
        struct tn_path_text shown = tn_path_show(path);
        if (length < TN_PATH_SHOWN_BYTES) {
            assert_string_equal(shown.text, path);
            continue;
        }
        assert_int_equal(strlen(shown.text), TN_PATH_SHOWN_BYTES - 1);
        assert_memory_equal(shown.text, "...x", 4);
        assert_int_equal(shown.text[TN_PATH_SHOWN_BYTES - 2], 'z');
    }
}

/* A good file and a bad one in a folder many levels down, as good as: the name has them all. */
static const char *deep_path(void)
{
    static char path[3000];
    const char *folder = scratch_path(".");
    size_t length = (size_t)snprintf(path, sizeof path, "%s", folder);
    while (length < 2000)
        length += (size_t)snprintf(path + length, sizeof path - length, "/.");
    snprintf(path + length, sizeof path - length, "/deep.trace");
    return path;
}

static void a_line_is_named_though_the_path_is_long(void **state)
{
    (void)state;
    struct tn_trace trace;
    struct tn_reason reason = { "" };
    scratch_write_text("deep.trace", "# tarn-trace 1\na 0 8 0 0 5\nf 0 0 0 4\n");
    assert_false(tn_trace_read(deep_path(), &trace, &reason));
    assert_non_null(strstr(reason.text, "/deep.trace:3: time goes back from 5 to 4 ns"));

    scratch_write_text("deep.trace", "# tarn-trace 1\na 0 8 0 0 5\n");
    char source[3000];
    snprintf(source, sizeof source, "%s", deep_path());
    assert_true(tn_trace_read(source, &trace, &reason));
    struct tn_workload workload = { .is_recorded = true, .source = source, .slot_count = 2 };
    workload.lines = trace.lines;
    tn_workload_describe_place(&workload, 0, &reason);
    assert_non_null(strstr(reason.text, "/deep.trace:2"));
    assert_true(strlen(reason.text) <= 150);
    tn_workload_describe_place(&workload, 1, &reason);
    assert_non_null(strstr(reason.text, "/deep.trace, freeing what was left live"));
    assert_true(strlen(reason.text) <= 150);

    /* Both lines of an overlap. */
    struct tn_verifier *verifier = tn_verifier_create(&workload, 0);
    assert_non_null(verifier);
    assert_true(tn_verifier_add(verifier, 0, (void *)0x1000, 8, 0, &reason));
    assert_false(tn_verifier_add(verifier, 1, (void *)0x1000, 8, 1, &reason));
    assert_non_null(strstr(reason.text, "/deep.trace:2"));
    tn_verifier_destroy(verifier);
    tn_trace_fini(&trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reason_is_one_line),
        cmocka_unit_test(a_long_path_shows_its_end),
        cmocka_unit_test(a_line_is_named_though_the_path_is_long),
    };
    return cmocka_run_group_tests(tests, scratch_create, scratch_destroy);
}
