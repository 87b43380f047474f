/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * measure: what the allocators cost on one workload.
 *
 * For each allocator, on one instance that starts empty:
 *   1. setup and a first pass over the body, every address verified, nothing timed. Footprint,
 *      vendor calls and metadata are those of this pass.
 *   2. a pass to warm up.
 *   3. repetitions: passes between two readings of the clock, as many as make 50 ms. The time of
 *      a pair is that of all calls divided by the number of allocations.
 *   4. a pass with the clock read around every call, for the percentiles.
 *   5. a last pass, every address verified: the allocator is now as it was while it was timed.
 *   6. everything is freed.
 *   7. where memory over time is asked for, one more pass on another new instance, which notes it.
 *
 * The allocators take turns within every step, so that a machine that slows down or speeds up does
 * so for all of them; where the device has no room for all at once, they run one after the other.
 * One more takes part that does nothing: what it costs is the harness.
 *
 * Workloads of other methods are measured as measure_threads.h, measure_faithful.h, measure_growth.h and
 * measure_streams.h say. When the user wants to end, what is under way ends as INTERRUPTED, and so does
 * all that would come after it.
 */
#ifndef TN_MEASURE_H
#define TN_MEASURE_H

#include "machine.h"
#include "options.h"
#include "result.h"
#include "workload.h"

/* Fills in one result for each allocator of the options, in their order. */
void tn_measure(const struct tn_workload *workload, const struct tn_options *options,
                const struct tn_machine *machine, struct tn_result *results);

#endif
