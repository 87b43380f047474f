/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* stats: the functions off the hot path. */
#include "stats.h"

static const char *const part_names[] = {
    [TARN_FOOTPRINT_PART_REQUESTED] = "requested",
    [TARN_FOOTPRINT_PART_ROUNDING] = "rounding",
    [TARN_FOOTPRINT_PART_SLICES] = "slices",
    [TARN_FOOTPRINT_PART_QUARANTINED] = "quarantined",
    [TARN_FOOTPRINT_PART_CAPTURED] = "captured",
    [TARN_FOOTPRINT_PART_PENDING] = "pending",
    [TARN_FOOTPRINT_PART_ARENAS] = "arenas",
    [TARN_FOOTPRINT_PART_SHUT_IN] = "shut_in",
    [TARN_FOOTPRINT_PART_ON_HOLD] = "on_hold",
    [TARN_FOOTPRINT_PART_INITIAL] = "initial",
    [TARN_FOOTPRINT_PART_WHOLLY_FREE] = "wholly_free",
    [TARN_FOOTPRINT_PART_EDGES] = "edges",
    [TARN_FOOTPRINT_PART_UNRELEASED] = "unreleased",
    [TARN_FOOTPRINT_PART_TRANSIT] = "transit",
};

_Static_assert(sizeof part_names / sizeof part_names[0] == TN_FOOTPRINT_PART_COUNT,
               "each part has a name");
_Static_assert(TN_FOOTPRINT_PART_COUNT <= TARN_FOOTPRINT_PARTS_MAX,
               "arrays of parts have room for all");

const char *tarn_footprint_part_name(tarn_footprint_part part)
{
    size_t number = (size_t)part;
    return number < TN_FOOTPRINT_PART_COUNT ? part_names[number] : "unknown";
}

void tn_stats_take_alloc_back(struct tn_stats *stats, size_t requested_bytes, size_t used_bytes)
{
    stats->alloc_count--;
    stats->size_histogram[tn_stats_histogram_bin(requested_bytes)]--;
    stats->requested_bytes -= requested_bytes;
    stats->used_bytes -= used_bytes;
    stats->live_count--;
}

void tn_stats_add(struct tn_stats *stats, const struct tn_stats *arena)
{
    stats->alloc_count += arena->alloc_count;
    stats->free_count += arena->free_count;
    for (unsigned bin = 0; bin < TARN_STATS_HISTOGRAM_BINS; bin++)
        stats->size_histogram[bin] += arena->size_histogram[bin];
    tn_stats_add_to_mark(&stats->requested_bytes, &stats->requested_bytes_max,
                         arena->requested_bytes);
    tn_stats_add_to_mark(&stats->used_bytes, &stats->used_bytes_max, arena->used_bytes);
    tn_stats_add_to_mark(&stats->live_count, &stats->live_count_max, arena->live_count);
}

void tn_stats_count_resize(struct tn_stats *stats, size_t old_requested_bytes,
                           size_t old_used_bytes, size_t requested_bytes, size_t used_bytes)
{
    stats->requested_bytes -= old_requested_bytes;
    stats->used_bytes -= old_used_bytes;
    tn_stats_add_to_mark(&stats->requested_bytes, &stats->requested_bytes_max, requested_bytes);
    tn_stats_add_to_mark(&stats->used_bytes, &stats->used_bytes_max, used_bytes);
}

void tn_stats_count_growth(struct tn_stats *stats, size_t backing_bytes)
{
    tn_stats_add_to_mark(&stats->footprint_bytes, &stats->footprint_bytes_max, backing_bytes);
}

void tn_stats_count_release(struct tn_stats *stats, size_t backing_bytes, bool was_refused,
                            bool is_refused)
{
    stats->vendor_free_count++;
    stats->vendor_refusal_count += is_refused;
    if (was_refused) stats->unreleased_bytes -= backing_bytes;
    if (is_refused) {
        stats->unreleased_bytes += backing_bytes;
    } else {
        stats->footprint_bytes -= backing_bytes;
    }
}

void tn_stats_reset_peaks(struct tn_stats *stats)
{
    stats->requested_bytes_max = stats->requested_bytes;
    stats->used_bytes_max = stats->used_bytes;
    stats->footprint_bytes_max = stats->footprint_bytes;
    stats->live_count_max = stats->live_count;
}

const char *tn_stats_check(const struct tn_stats *stats)
{
    if (stats->requested_bytes > stats->used_bytes || stats->used_bytes > stats->footprint_bytes) {
        return "requested, used and footprint do not ascend";
    }
    if (stats->requested_bytes > stats->requested_bytes_max ||
        stats->used_bytes > stats->used_bytes_max ||
        stats->footprint_bytes > stats->footprint_bytes_max ||
        stats->live_count > stats->live_count_max) {
        return "a high-water mark is below its counter";
    }
    return NULL;
}
