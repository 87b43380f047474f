/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * measure: what the allocators cost on one workload.
 *
 * The allocators take turns within every step, so that a machine that slows down or speeds up does
 * so for all of them; where the device has no room for all at once, they run one after the other.
 * One more takes part that does nothing: what it costs is the harness.
 *
 * How depends on the workload's method: measure_passes.h, measure_threads.h, measure_faithful.h, measure_growth.h and
 * measure_streams.h say it. When the user wants to end, what is under way ends as INTERRUPTED, and so does
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
