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

#include "../../base/arith.h"
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

/* The bin that a request of size_bytes, 1 or more, is counted in. */
static inline unsigned tn_stats_histogram_bin(size_t size_bytes)
{
    TN_ASSERT(size_bytes > 0);
    unsigned bin = tn_highest_bit(2 * size_bytes -
                                  1); /* of 2^k is k, and of what lies below down to 2^(k-1) */
    return bin < TARN_STATS_HISTOGRAM_BINS ? bin : TARN_STATS_HISTOGRAM_BINS - 1;
}

static inline void tn_stats_add_to_mark(size_t *now, size_t *max, size_t bytes)
{
    *now += bytes;
    if (TN_UNLIKELY(*now > *max)) *max = *now;
}

static inline void tn_stats_count_alloc(struct tn_stats *stats, size_t requested_bytes,
                                        size_t used_bytes)
{
    stats->alloc_count++;
    stats->size_histogram[tn_stats_histogram_bin(requested_bytes)]++;
    tn_stats_add_to_mark(&stats->requested_bytes, &stats->requested_bytes_max, requested_bytes);
    tn_stats_add_to_mark(&stats->used_bytes, &stats->used_bytes_max, used_bytes);
    tn_stats_add_to_mark(&stats->live_count, &stats->live_count_max, 1);
}

static inline void tn_stats_count_free(struct tn_stats *stats, size_t requested_bytes,
                                       size_t used_bytes)
{
    stats->free_count++;
    stats->requested_bytes -= requested_bytes;
    stats->used_bytes -= used_bytes;
    stats->live_count--;
}

/* An allocation that was counted came to nothing. The high-water marks stay. */
void tn_stats_take_alloc_back(struct tn_stats *stats, size_t requested_bytes, size_t used_bytes);
/* Counts what an arena has counted by itself. Its high-water marks say nothing of the pool's. */
void tn_stats_add(struct tn_stats *stats, const struct tn_stats *arena);
/* A live allocation has become larger or smaller. */
void tn_stats_count_resize(struct tn_stats *stats, size_t old_requested_bytes,
                           size_t old_used_bytes, size_t requested_bytes, size_t used_bytes);
void tn_stats_count_growth(struct tn_stats *stats, size_t backing_bytes);
void tn_stats_count_shrinkage(struct tn_stats *stats, size_t backing_bytes);

/* NULL, or what is wrong with the counters by themselves. */
const char *tn_stats_check(const struct tn_stats *stats);

#endif
