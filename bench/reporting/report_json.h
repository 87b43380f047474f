/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* report_json: results as a JSON file, for programs. docs/file_formats.md describes it. */
#ifndef TN_REPORT_JSON_H
#define TN_REPORT_JSON_H

#include <stdbool.h>

#include "../common/machine.h"
#include "../measuring/measure.h"

struct tn_report_json;

/* Opens the file at once, so that a long run does not end with a file that cannot be written.
 * NULL: the reason names the file. */
struct tn_report_json *tn_report_json_create(const char *path, struct tn_reason *reason_out);

/* One workload, or the draws of a family, with a result for each of so many allocators. False: no host memory, and the
 * reason says so. */
bool tn_report_json_add(struct tn_report_json *report, const struct tn_result *results,
                        size_t draw_count, size_t count, struct tn_reason *reason_out);

/* Writes the file and ends the report. False: the reason names the file. */
bool tn_report_json_finish(struct tn_report_json *report, const struct tn_machine *machine,
                           const struct tn_options *options, struct tn_reason *reason_out);

#endif
