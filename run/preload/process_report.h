/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * process_report: at the exit of the process, what the library has done, as a JSON object in the file that TARN_RUN_REPORT names,
 * with ".<process>" behind it, and ".hip" behind that for HIP. A process that ends in another way than by exit leaves none; neither does a fork, unless
 * it has made a pool itself.
 *
 *     {"pid": 4711, "program": "/usr/bin/app",
 *      "caught": [{"symbol": "cuMemAlloc_v2", "route": "cuGetProcAddress", "library": "/usr/bin/app"}],
 *      "passed": [{"symbol": "cuMemAllocManaged", "reason": "memory of this kind stays the driver's", "count": 3}],
 *      "allocations": 12, "frees": 12, "vendor_calls": 5, "order_calls": 8,
 *      "peak_live_bytes": 4096, "peak_held_bytes": 8388608}
 *
 * vendor_calls are calls of the vendor for memory, order_calls those of the pools for streams and events. The peaks are
 * sums of what each pool, and the vendor beside them, had at its own peak.
 */
#ifndef TN_PROCESS_REPORT_H
#define TN_PROCESS_REPORT_H

#include <stdio.h>

void tn_process_report_write(FILE *file);

#endif
