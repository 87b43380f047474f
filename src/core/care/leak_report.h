/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* leak_report: the live allocations of a pool, in groups by label and call site. Copies them first, so that
 * no thread waits for the file. Without debug mode, only their number and bytes. */
#ifndef TN_LEAK_REPORT_H
#define TN_LEAK_REPORT_H

#include "debug_pool.h"

/* As tarn_pool_report_leaks, with checked arguments. */
tarn_status tn_leak_report_write(struct tarn_pool *pool, FILE *file);

#endif
