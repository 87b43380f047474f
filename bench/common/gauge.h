/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * gauge: whether the machine runs as fast just now as it can.
 *
 * A loop of some 3 us that needs nothing but the core's arithmetic is timed, and compared with the least time that it has
 * ever taken in this program. It takes longer while somebody else computes on the other hyperthread of the core, which
 * may be another virtual machine, and while the clock of the core is lower. It touches no memory, so what is in the
 * caches stays.
 *
 * Threads: one at a time.
 */
#ifndef TN_GAUGE_H
#define TN_GAUGE_H

#include <stdbool.h>

/* Whether the loop took hardly longer than it ever has. The first call looks for 50 ms how long it takes. */
bool tn_gauge_is_quiet(void);

/* The least time that the loop has taken so far. */
double tn_gauge_least_ns(void);

/* Whether what was quiet by an earlier least time is so by the one that is known now. */
bool tn_gauge_still_holds(double least_then_ns);

#endif
