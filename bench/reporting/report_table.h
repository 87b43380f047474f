/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* report_table: results as a table on stdout, for people. */
#ifndef TN_REPORT_TABLE_H
#define TN_REPORT_TABLE_H

#include "../common/machine.h"
#include "../measuring/measure.h"

/* The head of the report: the options and the machine. */
void tn_report_table_begin(const struct tn_machine *machine, const struct tn_options *options);

/* The head of the columns for the workload, unless they are those of the one before it. NULL: there is none. */
void tn_report_table_head(const struct tn_workload *workload, const struct tn_workload *before);

/* One workload: a line for each allocator, and notes on what differs from the head of the report. */
void tn_report_table_add(const struct tn_result *results, size_t count, size_t repetitions);

/* The draws of a family: a line for each allocator. The results lie draw after draw. */
void tn_report_table_add_family(const struct tn_result *results, size_t draw_count, size_t count);

/* The meanings of the columns. */
void tn_report_table_end(const struct tn_machine *machine,
                         const struct tn_workload_list *workloads);

/* errno of the first line that could not be written; 0: none failed so far. */
int tn_report_table_get_error(void);

#endif
