/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * measure_passes: what the allocators cost when one thread plays a workload over and over.
 *
 * The first visit (measure_rounds.h) of an allocator, on an instance that starts empty:
 *   1. setup and a first pass over the body, every address verified, nothing timed. Footprint,
 *      vendor calls and metadata are those of this pass.
 *   2. a pass to warm up, and more if passes are short.
 *   3. repetitions: passes in slices between two readings of the clock (sliced_play.h), as many as make 12 ms. The time
 *      of a pair is that of a pass divided by the number of allocations.
 *   4. a pass with the clock read around every call, for the percentiles.
 *   5. a last pass, every address verified: the allocator is in the state in which it was timed.
 *   6. everything is freed.
 *   7. for memory over time, one more pass on another new instance. For --latency, some on instances of their own.
 * Later visits: setup, 2, 3 and 6.
 *
 * If memory is touched, all passes do it; contents are verified in 1 and 5.
 */
#ifndef TN_MEASURE_PASSES_H
#define TN_MEASURE_PASSES_H

#include "measure_rounds.h"

extern const struct tn_measure_method tn_measure_passes;

#endif
