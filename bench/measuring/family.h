/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* family: the results of one allocator on the draws of a family, of a command such as patterns, as one. */
#ifndef TN_FAMILY_H
#define TN_FAMILY_H

#include "result.h"

/* Over the draws; the worst is the most. All zero: not known. */
struct tn_family_figures {
    size_t measured_count;         /* draws; the others failed, were skipped, or interrupted */
    struct tn_spread held_by_live; /* most bytes held by most bytes live */
    struct tn_spread held_by_peak; /* held_by_peak_max of the results */
    struct tn_spread vendor_calls;
    struct tn_spread pair_ns;
    struct tn_spread alloc_p999_ns;
};

/* How many workloads, from the first on, are of its family: 1 if it has none. */
size_t tn_family_count_draws(const struct tn_workload *workloads, size_t count);

/* `results` has those of one allocator, each `stride` after the one before. False: no host memory. */
bool tn_family_summarise(const struct tn_result *results, size_t stride, size_t count,
                         struct tn_family_figures *figures_out);

#endif
