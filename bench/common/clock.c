/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* clock: wall time in nanoseconds, and what reading it costs. */
#include "clock.h"

#include <stddef.h>

#include "percentiles.h"

uint64_t tn_clock_cost_ns(void)
{
    enum {
        READING_COUNT = 20001
    };
    static uint64_t intervals_ns[READING_COUNT];
    for (size_t i = 0; i < READING_COUNT; i++) {
        uint64_t start_ns = tn_clock_now_ns();
        intervals_ns[i] = tn_clock_now_ns() - start_ns;
    }
    return tn_percentiles_compute(intervals_ns, READING_COUNT).p50;
}
