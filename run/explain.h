/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* explain: tells on standard error what the reports of a run say. Threads: one. */
#ifndef TN_EXPLAIN_H
#define TN_EXPLAIN_H

#include "report.h"

/* If no allocation was caught, prints a line that says so, and what is known of the reason. The status is that of the
 * program. */
void tn_explain_nothing(const struct tn_reports *reports, int status);

/* Prints what was caught and what passed through, process by process. */
void tn_explain_print(const struct tn_reports *reports);

#endif
