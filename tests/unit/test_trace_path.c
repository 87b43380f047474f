/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_trace_path: patterns, folders, and what cannot be written. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness/claims.h"

#include "base/host_memory.h"
#include "record/trace_path.h"

static void expect_expanded(const char *pattern, const char *format)
{
    char expected[256];
    snprintf(expected, sizeof expected, format, (int)getpid(), (int)getpid());
    char *expanded = tn_trace_path_expand(pattern);
    assert_non_null(expanded);
    assert_string_equal(expanded, expected);
    tn_host_memory_free(expanded);
}

static void test_patterns(void **state)
{
    expect_expanded("", "");
    expect_expanded("plain", "plain");
    expect_expanded("%p", "%d");
    expect_expanded("a-%p.%p", "a-%d.%d");
    expect_expanded("%%p%p", "%%p%d");
    expect_expanded("%%%p%%", "%%%d%%");
    expect_expanded("%q%", "%%q%%");
}

static void test_the_launcher_tells_the_rank(void **state)
{
    static const char *const names[] = {
        "OMPI_COMM_WORLD_RANK", "PMIX_RANK",      "PMI_RANK",
        "MV2_COMM_WORLD_RANK",  "PALS_RANKID",    "JSM_NAMESPACE_RANK",
        "SLURM_PROCID",         "FLUX_TASK_RANK", "RANK",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        unsetenv(names[i]);
    expect_expanded("r%r-%p", "r0-%d");
    for (size_t i = sizeof names / sizeof names[0]; i-- > 0;) {
        char rank[8];
        snprintf(rank, sizeof rank, "%zu", 100 + i);
        setenv(names[i], rank, 1);
        expect_expanded("%r", rank); /* before those that come later */
    }
    /* What is no rank does not lead to another folder. */
    static const char *const bad[] = { "", "../../1", "-1", "1 ", "12345678901", "x" };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        setenv(names[0], bad[i], 1);
        expect_expanded("%r", "101");
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        unsetenv(names[i]);
}

static void test_paths_hold_wherever_the_process_goes(void **state)
{
    char *absolute;
    expect_ok(tn_trace_path_absolute("/a/b", &absolute));
    assert_string_equal(absolute, "/a/b");
    tn_host_memory_free(absolute);
    assert_int_equal(chdir("/usr"), 0);
    expect_ok(tn_trace_path_absolute("b", &absolute));
    assert_string_equal(absolute, "/usr/b");
    tn_host_memory_free(absolute);
}

static void test_what_cannot_be_written(void **state)
{
    expect_status(TARN_STATUS_FILE_ERROR, tn_trace_path_check("/tmp"));
    expect_message("/tmp cannot be written: Is a directory");
    expect_status(TARN_STATUS_FILE_ERROR, tn_trace_path_check("/no/such/folder"));
    expect_message("No such file or directory");
    expect_ok(tn_trace_path_check("/tmp/tarn-no-such-file"));

    char folder[] = "/tmp/tarn-trace-path-XXXXXX";
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    assert_int_equal(rmdir(folder), 0);
    char *absolute;
    expect_status(TARN_STATUS_FILE_ERROR, tn_trace_path_absolute("b", &absolute));
    expect_message("the current folder");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_patterns),
        cmocka_unit_test(test_the_launcher_tells_the_rank),
        cmocka_unit_test(test_paths_hold_wherever_the_process_goes),
        cmocka_unit_test(test_what_cannot_be_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
