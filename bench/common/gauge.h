/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * gauge: whether the machine runs as fast just now as it can.
 *
 * It times a loop of arithmetic, some 3 us long, and compares that with the least time the loop has taken in
 * this program. The loop takes longer while another program, or another virtual machine, computes on the
 * other hyperthread of the core, and while the core's clock is lower. It touches no memory, so the caches
 * stay as they are.
 *
 * Threads: one at a time.
 */
#ifndef TN_GAUGE_H
#define TN_GAUGE_H

#include <stdbool.h>

/* Whether the loop now takes at most 5 % longer than its least time. The first call looks for that time for
 * 50 ms. */
bool tn_gauge_is_quiet(void);

/* The least time that the loop has taken so far. */
double tn_gauge_least_ns(void);

/* Whether a time that was quiet by an earlier least time still is by the one known now. */
bool tn_gauge_still_holds(double least_then_ns);

#endif
