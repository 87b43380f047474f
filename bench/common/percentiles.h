/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * percentiles: what a set of measurements looks like.
 *
 * Exact, from all samples: percentile p is the smallest sample that at least p per cent of the
 * samples do not exceed (the nearest rank). Cost: O(n log n).
 */
#ifndef TN_PERCENTILES_H
#define TN_PERCENTILES_H

#include <stddef.h>
#include <stdint.h>

struct tn_percentiles {
    uint64_t p50;
    uint64_t p99;
    uint64_t p999;
    uint64_t max;
    double mean;
};

/* Sorts the samples. All zero when there are none. */
struct tn_percentiles tn_percentiles_compute(uint64_t *samples, size_t count);

struct tn_spread {
    double min;
    double median; /* by weight; the mean of the two in the middle if each side has half of it */
    double max;
};

/* What was measured once, and how much that counts: 0 to 1. */
struct tn_weighted {
    double value;
    double weight;
};

/* Sorts the values. All zero when there are none. If no value has any weight, all count alike. Values without
 * weight count for min and max. */
struct tn_spread tn_spread_compute(struct tn_weighted *values, size_t count);

#endif
