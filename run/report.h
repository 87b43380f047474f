/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * report: the reports that libtarn_run_cuda.so and libtarn_run_hip.so have written of the processes of a run: each has
 * one file for each process. The two of a process become one report.
 *
 * The files are in a temporary folder, which is removed with all that is in it when tarn-run exits. A function that has
 * no host memory exits: see launch.h.
 *
 * Threads: one.
 */
#ifndef TN_REPORT_H
#define TN_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Variables of the environment, from tarn-run to the library. */
#define TN_REPORT_FILE_VARIABLE \
    "TARN_RUN_REPORT" /* beginning of the files' names, before .<process> and .<process>.hip */
#define TN_REPORT_PASS_VARIABLE \
    "TARN_RUN_PASS" /* "1": count only, and leave the memory to the driver */

/* A function of the vendor's that tarn acts for. */
struct tn_report_catch {
    char *symbol;
    char *
        route; /* how the program found it: "linked", "dlsym", "cuGetProcAddress" or "hipGetProcAddress" */
    char *library; /* path of the program or library that found it */
};

/* Calls that went to the driver as they were. */
struct tn_report_pass {
    char *symbol;
    char *reason;
    uint64_t count;
};

/* Texts are escaped for a terminal. Those that the file lacks are empty, numbers 0. */
struct tn_report {
    uint64_t process;
    bool is_of_hip; /* by libtarn_run_hip.so, or by both */
    char *program;
    struct tn_report_catch *caught;
    size_t caught_count;
    struct tn_report_pass *passed;
    size_t passed_count;
    uint64_t alloc_count, free_count;
    uint64_t pool_alloc_count;  /* of these, by pools; the driver has served the others */
    uint64_t vendor_call_count; /* for memory */
    uint64_t order_call_count;  /* of pools, for streams and events */
    uint64_t peak_live_bytes;   /* in allocations of the program */
    uint64_t peak_held_bytes;   /* of the driver */
};

struct tn_reports {
    struct tn_report *reports; /* in the order of the processes' numbers */
    size_t count;
    size_t left_out_count; /* of processes whose report could not be read */
};

/* Makes the temporary folder in TMPDIR or /tmp. Signals must be watched already, or one would leave it behind. Exits with TN_LAUNCH_EXIT_OURS if it cannot. */
void tn_report_create_folder(void);

/* Sets the environment so that the next run writes reports, apart from those of earlier runs. */
void tn_report_begin_run(void);

/* Reads the reports of the run. A report that cannot be read is left out, and a line says why. */
struct tn_reports tn_reports_read(void);

void tn_reports_fini(struct tn_reports *reports);

#endif
