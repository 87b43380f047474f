/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * measure_growth: what it costs an allocator to grow from nothing, and what it gives back.
 *
 * Every pass opens the allocator, plays the allocations and then the frees, and closes it. In the first visit
 * (measure_rounds.h):
 *   1. a pass with every address verified, and the held memory noted after every call. Vendor calls and metadata
 *      are those up to the last allocation. After the last free, and after a trim if the allocator
 *      has one, it is asked how much it still holds.
 *   2. a pass like a repetition, to see how long one takes.
 *   3. after the repetitions, a pass with the clock read around every call, for the percentiles.
 * Repetitions: passes with a reading of the clock before and after the first allocation, after the last, and
 * after the last free.
 *
 * Until full: a block that the allocator refuses for lack of memory is the end of the allocations. From then on it
 * and those after it are no part of the workload for this allocator. If a later pass is refused an earlier one, the
 * pass is played again with fewer.
 */
#ifndef TN_MEASURE_GROWTH_H
#define TN_MEASURE_GROWTH_H

#include "measure_rounds.h"

extern const struct tn_measure_method tn_measure_growth;

#endif
