/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* clock: wall time in nanoseconds, and what reading it costs. */
#ifndef TN_CLOCK_H
#define TN_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t tn_clock_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

/* What one reading adds to an interval between two: the median of many empty intervals. */
uint64_t tn_clock_cost_ns(void);

#endif
