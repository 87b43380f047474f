/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * report_csv: results as a table of text, one line each, for spreadsheets and scripts.
 *
 * The first line names the columns; README.md explains them. A field that does not apply is empty. A line is
 * in the file as soon as it is added.
 */
#ifndef TN_REPORT_CSV_H
#define TN_REPORT_CSV_H

#include "../measuring/measure.h"

struct tn_report_csv;

/* Opens the file at once, so that a wrong path is known before anything is measured. NULL: the
 * reason says why. */
struct tn_report_csv *tn_report_csv_create(const char *path, struct tn_reason *reason_out);

/* Adds the results of one workload. A failure to write is reported by finish. */
void tn_report_csv_add(struct tn_report_csv *report, const struct tn_result *results, size_t count);

/* Closes the file. False: not all could be written, and the reason says why. */
bool tn_report_csv_finish(struct tn_report_csv *report, struct tn_reason *reason_out);

#endif
