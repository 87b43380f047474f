/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * measure: what the allocators cost on the workloads of a command.
 *
 * All workloads of a command and all allocators take turns, in rounds (measure_rounds.h), one open at a time; so a
 * machine that slows down or speeds up does so for all of them. One more takes part that does nothing: what it
 * costs is the harness.
 *
 * What is done in a turn depends on the workloads' method: measure_passes.h, measure_threads.h, measure_faithful.h,
 * measure_growth.h and measure_streams.h say it. When the user wants to end, what is under way ends as INTERRUPTED,
 * with the repetitions that were done.
 */
#ifndef TN_MEASURE_H
#define TN_MEASURE_H

#include "../common/machine.h"
#include "../workloads/options.h"
#include "../workloads/workload.h"
#include "result.h"

/* How many of the workloads, from the first on, are measured together: those of one command. */
size_t tn_measure_count_together(const struct tn_workload *workloads, size_t count);

/* Fills in one result for each allocator of the options, in their order, for each of the workloads, which belong
 * together. Returns of how many workloads, from the first on: fewer when the user wanted to end before the others
 * had begun. */
size_t tn_measure(const struct tn_workload *workloads, size_t count,
                  const struct tn_options *options, const struct tn_machine *machine,
                  struct tn_result *results);

#endif
