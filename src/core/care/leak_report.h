/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* leak_report: what is live in a pool, in groups by label and call site. Copied first, so that nothing waits
 * for the file. */
#ifndef TN_LEAK_REPORT_H
#define TN_LEAK_REPORT_H

#include "debug_pool.h"

/* As tarn_pool_report_leaks; the arguments are checked. */
tarn_status tn_leak_report_write(struct tarn_pool *pool, FILE *file);

#endif
