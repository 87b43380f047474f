/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * measure_faithful: what the allocators cost in a program's own threads, on its own streams.
 *
 * The first visit (measure_rounds.h) of an allocator, on an instance that starts empty:
 *   1. a pass in strict order, with every address verified, and the contents if memory is touched. Footprint,
 *      vendor calls and metadata are those of this pass. Then the threads end, and new ones start.
 *   2. a pass to warm up. From here on the order is that of the options.
 *   3. repetitions: passes from the start of the first thread to the end of the last, as many as make 12 ms.
 *      The time of a pair is this time divided by the number of allocations of all threads.
 *   4. a pass with the clock read around every call, for the percentiles.
 *   5. a last pass, verified as the first.
 * Later visits: 2 and 3.
 *
 * The threads of a pattern (patterns.h) have the footprint of all passes of the first visit: in strict order no thread
 * meets another.
 *
 * In recorded time there is one visit. A repetition is one pass in which every event waits for its time, and
 * the clock is read around every call. The time of a pair is then the sum of all calls by the number of
 * allocations, and 4 is left out.
 */
#ifndef TN_MEASURE_FAITHFUL_H
#define TN_MEASURE_FAITHFUL_H

#include "measure_rounds.h"

extern const struct tn_measure_method tn_measure_faithful;

#endif
