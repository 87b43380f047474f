/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * measure_faithful: what the allocators cost in a recorded program's own threads, on its own streams.
 *
 * For each allocator, on one instance that starts empty:
 *   1. a pass in strict order, every address verified and, where memory is touched, its contents. Footprint,
 *      vendor calls and metadata are those of this pass. Then the threads end, and new ones start.
 *   2. a pass to warm up, in the order asked for, as what follows.
 *   3. repetitions: passes from the start of the first thread to the end of the last, as many as make 50 ms.
 *      The time of a pair is this time divided by the number of allocations of all threads.
 *   4. a pass with the clock read around every call, for the percentiles.
 *   5. a last pass, verified as the first.
 *
 * In recorded time a repetition is one pass in which every event waits for its time, and the clock is read around
 * every call; the time of a pair is then that of all calls, and 4 is left out.
 */
#ifndef TN_MEASURE_FAITHFUL_H
#define TN_MEASURE_FAITHFUL_H

#include "measure.h"

/* Fills in the results of what is not missing. Together: all allocators take turns; otherwise one follows the
 * other. */
void tn_measure_faithful(const struct tn_workload *workload, const struct tn_options *options,
                         const struct tn_machine *machine, bool is_interleaved,
                         struct tn_result *results);

#endif
