/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * measure_growth: what it costs an allocator to grow from nothing, and what it gives back.
 *
 * Every pass opens the allocator, plays the allocations and then the frees, and closes it:
 *   1. a pass with every address verified and the memory held noted after every call. Vendor calls and metadata
 *      are those up to the last allocation. After the last free, and after a trim where there
 *      is one, it is asked what it still holds.
 *   2. a pass with the clock read around every call, for the percentiles.
 *   3. repetitions: passes with a reading of the clock before and after the first allocation, after the last, and
 *      after the last free.
 * The allocators take turns, one open at a time; the one that does nothing takes part.
 */
#ifndef TN_MEASURE_GROWTH_H
#define TN_MEASURE_GROWTH_H

#include "measure.h"

/* Measures those of the results that are still to be measured. */
void tn_measure_growth(const struct tn_workload *workload, const struct tn_options *options,
                       struct tn_result *results);

#endif
