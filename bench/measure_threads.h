/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * measure_threads: how many pairs several threads do on one allocator at once.
 *
 * For each allocator, on one instance that starts empty, with threads that stay to the end:
 *   1. every thread plays its part of the setup, all at once; then every live block is verified.
 *   2. a play to warm up.
 *   3. repetitions, each a play of a fixed time. The rate is that of all pairs, from the start of the first
 *      thread to the end of the last.
 *   4. every live block is verified again, and freed by its thread.
 *
 * The allocators take turns as in measure.h.
 */
#ifndef TN_MEASURE_THREADS_H
#define TN_MEASURE_THREADS_H

#include "measure.h"

/* Fills in the results of what is not missing. Together: all allocators take turns; otherwise one follows the
 * other. */
void tn_measure_threads(const struct tn_workload *workload, const struct tn_options *options,
                        bool is_interleaved, struct tn_result *results);

#endif
