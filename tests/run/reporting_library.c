/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * reporting_library: in the place of libtarn_run_cuda.so. At the exit of reporting_program it writes a report with the
 * members that the test has put into the environment: in TEST_REPORT, or in TEST_REPORT_PASS if it is to pass all
 * through. Without them it writes none. In the place of libtarn_run_hip.so it does so with TEST_HIP_REPORT.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef REPORT_VARIABLE
#define REPORT_VARIABLE "TEST_REPORT"
#define REPORT_SUFFIX   ""
#endif

__attribute__((destructor)) static void write_report(void)
{
    const char *prefix = getenv("TARN_RUN_REPORT"), *pass = getenv("TARN_RUN_PASS");
    const char *members =
        getenv(pass && strcmp(pass, "1") == 0 ? REPORT_VARIABLE "_PASS" : REPORT_VARIABLE);
    char path[4096];
    if (!prefix || !members || strcmp(program_invocation_short_name, "reporting_program") != 0)
        return;
    snprintf(path, sizeof path, "%s.%ld" REPORT_SUFFIX, prefix, (long)getpid());
    FILE *file = fopen(path, "w");
    if (!file) return;
    fprintf(file, "{\"pid\": %ld, %s", (long)getpid(), members);
    fclose(file);
}
