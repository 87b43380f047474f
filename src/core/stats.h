/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * stats: plain counters of a pool, and their high-water marks. What can be computed from the regions
 * (free bytes, largest free region) is not counted here.
 *
 * Threads: none of it locks; the pool does. Cost: O(1), no branch that is hard to predict.
 */
#ifndef TN_STATS_H
#define TN_STATS_H

#include <stddef.h>
#include <stdint.h>

#include "tarn/stats.h"

struct tn_stats {
    size_t requested_bytes, requested_bytes_max;
    size_t used_bytes, used_bytes_max;
    size_t footprint_bytes, footprint_bytes_max;
    size_t live_count, live_count_max;
    uint64_t alloc_count, free_count, failed_count;
    uint64_t vendor_alloc_count, vendor_free_count;
    uint64_t size_histogram[TARN_STATS_HISTOGRAM_BINS];
};

void tn_stats_count_alloc(struct tn_stats *stats, size_t requested_bytes, size_t used_bytes);
/* An allocation that was counted came to nothing. The high-water marks stay. */
void tn_stats_take_alloc_back(struct tn_stats *stats, size_t requested_bytes, size_t used_bytes);
void tn_stats_count_free(struct tn_stats *stats, size_t requested_bytes, size_t used_bytes);
void tn_stats_count_growth(struct tn_stats *stats, size_t backing_bytes);
void tn_stats_count_shrinkage(struct tn_stats *stats, size_t backing_bytes);

/* The bin that a request of size_bytes, 1 or more, is counted in. */
unsigned tn_stats_histogram_bin(size_t size_bytes);

/* NULL, or what is wrong with the counters by themselves. */
const char *tn_stats_check(const struct tn_stats *stats);

#endif
