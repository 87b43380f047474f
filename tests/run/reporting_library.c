/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * reporting_library: in the place of libtarn_run_cuda.so. At the exit of reporting_program it writes a report with the
 * members that the test has put into the environment: in TEST_REPORT, or in TEST_REPORT_PASS if it is to pass all
 * through. Without them it writes none.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((destructor)) static void write_report(void)
{
    const char *prefix = getenv("TARN_RUN_REPORT"), *pass = getenv("TARN_RUN_PASS");
    const char *members =
        getenv(pass && strcmp(pass, "1") == 0 ? "TEST_REPORT_PASS" : "TEST_REPORT");
    char path[4096];
    if (!prefix || !members || strcmp(program_invocation_short_name, "reporting_program") != 0)
        return;
    snprintf(path, sizeof path, "%s.%ld", prefix, (long)getpid());
    FILE *file = fopen(path, "w");
    if (!file) return;
    fprintf(file, "{\"pid\": %ld, %s", (long)getpid(), members);
    fclose(file);
}
