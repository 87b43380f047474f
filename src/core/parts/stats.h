/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * stats: counters of a pool and their high-water marks. Values that follow from the regions (free bytes,
 * largest free region) are not counted here.
 *
 * Threads: no locking; the pool locks. Cost: O(1), no unpredictable branch.
 */
#ifndef TN_STATS_H
#define TN_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../base/arith.h"
#include "tarn/stats.h"

/* The parts of a footprint that there are today. */
#define TN_FOOTPRINT_PART_COUNT (TARN_FOOTPRINT_PART_TRANSIT + 1)

struct tn_stats {
    size_t requested_bytes, requested_bytes_max;
    size_t used_bytes, used_bytes_max;
    size_t footprint_bytes, footprint_bytes_max;
    size_t live_count, live_count_max;
    uint64_t alloc_count, free_count, failed_count;
    uint64_t vendor_alloc_count, vendor_free_count, vendor_refusal_count;
    size_t unreleased_bytes;
    uint64_t size_histogram[TARN_STATS_HISTOGRAM_BINS];
};

/* Returns the histogram bin of a request of at least 1 byte. */
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

/* Undoes the count of an allocation that failed later. High-water marks stay. */
void tn_stats_take_alloc_back(struct tn_stats *stats, size_t requested_bytes, size_t used_bytes);
/* Adds an arena's counters. Its high-water marks do not apply to the pool. */
void tn_stats_add(struct tn_stats *stats, const struct tn_stats *arena);
/* Counts a live allocation that has grown or shrunk. */
void tn_stats_count_resize(struct tn_stats *stats, size_t old_requested_bytes,
                           size_t old_used_bytes, size_t requested_bytes, size_t used_bytes);
void tn_stats_count_growth(struct tn_stats *stats, size_t backing_bytes);
/* Counts the vendor's answer to a release of memory that it has refused before, or not. */
void tn_stats_count_release(struct tn_stats *stats, size_t backing_bytes, bool was_refused,
                            bool is_refused);

/* Makes the high-water marks the present values. */
void tn_stats_reset_peaks(struct tn_stats *stats);

/* Returns NULL, or the fault in the counters. */
const char *tn_stats_check(const struct tn_stats *stats);

#endif
