/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * measure: what the allocators cost on the workloads of a command.
 *
 * All workloads of a command and all allocators take turns, in rounds (measure_rounds.h), with one allocator
 * open at a time. So a change of the machine's speed meets all of them. An allocator that does nothing takes
 * part too: its time is the harness.
 *
 * The method of the workloads decides about a turn: see measure_passes.h, measure_threads.h,
 * measure_faithful.h, measure_growth.h and measure_streams.h. When the user wants to end, results under way
 * become INTERRUPTED, and keep their repetitions so far.
 */
#ifndef TN_MEASURE_H
#define TN_MEASURE_H

#include "../common/machine.h"
#include "../workloads/options.h"
#include "../workloads/workload.h"
#include "result.h"

/* How many workloads, from the first on, belong to one command and are measured together. */
size_t tn_measure_count_together(const struct tn_workload *workloads, size_t count);

/* Measures workloads of one command. Fills in, for each workload, one result for each allocator of the
 * options, in their order. Returns for how many workloads, from the first on, it did: fewer if the user
 * wanted to end before the others had begun. */
size_t tn_measure(const struct tn_workload *workloads, size_t count,
                  const struct tn_options *options, const struct tn_machine *machine,
                  struct tn_result *results);

#endif
