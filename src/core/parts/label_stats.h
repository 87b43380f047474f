/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * label_stats: counters by label of one part of a pool, for the labels of label.h. Allocations without a label are not
 * counted here.
 *
 * Labels are listed in the order in which the part first counted them, and stay listed.
 *
 * Threads: no locking; the lock of the part. A pool's own counters may be created by any thread, see
 * tn_label_stats_ensure.
 * Cost: O(1) for counts, O(listed labels) for the rest. Memory: 21 KB.
 */
#ifndef TN_LABEL_STATS_H
#define TN_LABEL_STATS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "label.h"
#include "stats.h"

struct tn_label_counts {
    size_t live_bytes, live_bytes_max; /* requested */
    size_t live_count;
    uint64_t alloc_count;
    bool is_listed;
};

struct tn_label_stats {
    uint32_t listed_count;
    uint16_t listed[TN_LABEL_COUNT];
    struct tn_label_counts counts[TN_LABEL_COUNT]; /* by number */
};

/* NULL: nothing was labelled. Set once, and freed with its owner. */
typedef _Atomic(struct tn_label_stats *) tn_label_stats_pointer;

static inline struct tn_label_stats *tn_label_stats_get(const tn_label_stats_pointer *stats)
{
    return atomic_load_explicit(stats, memory_order_acquire);
}

/* Creates the counters if there are none yet. Several threads may do so at once. NULL: no host memory. */
struct tn_label_stats *tn_label_stats_ensure(tn_label_stats_pointer *stats);

void tn_label_stats_free(tn_label_stats_pointer *stats);

/* Returns bytes of host memory. */
static inline size_t tn_label_stats_bytes(const tn_label_stats_pointer *stats)
{
    return tn_label_stats_get(stats) ? sizeof(struct tn_label_stats) : 0;
}

void tn_label_stats_list(struct tn_label_stats *stats, uint32_t label);

static inline void tn_label_stats_count_alloc(struct tn_label_stats *stats, uint32_t label,
                                              size_t size_bytes)
{
    struct tn_label_counts *counts = &stats->counts[label];
    TN_ASSERT(label != TN_LABEL_NONE && label < TN_LABEL_COUNT);
    if (TN_UNLIKELY(!counts->is_listed)) tn_label_stats_list(stats, label);
    counts->alloc_count++;
    counts->live_count++;
    tn_stats_add_to_mark(&counts->live_bytes, &counts->live_bytes_max, size_bytes);
}

static inline void tn_label_stats_count_free(struct tn_label_stats *stats, uint32_t label,
                                             size_t size_bytes)
{
    struct tn_label_counts *counts = &stats->counts[label];
    TN_ASSERT(counts->live_count > 0 && counts->live_bytes >= size_bytes);
    counts->live_count--;
    counts->live_bytes -= size_bytes;
}

/* Undoes the count of an allocation that failed later. High-water marks stay. */
void tn_label_stats_take_alloc_back(struct tn_label_stats *stats, uint32_t label,
                                    size_t size_bytes);

/* Counts a live allocation that has grown or shrunk. */
void tn_label_stats_count_resize(struct tn_label_stats *stats, uint32_t label, size_t old_bytes,
                                 size_t size_bytes);

/* Moves an arena's counters to those of the pool. The arena's high-water marks do not apply to the pool. */
void tn_label_stats_move(struct tn_label_stats *stats, struct tn_label_stats *arena);

/* Makes the high-water marks the present values. */
void tn_label_stats_reset_peaks(struct tn_label_stats *stats);

/* Writes the counters of the label that was listed after so many others. `stats` may be NULL. False: there is none. */
bool tn_label_stats_write(const struct tn_label_stats *stats, size_t index,
                          tarn_label_stats *stats_out);

/* Live allocations by label, as someone else has counted them. */
struct tn_label_sums {
    size_t bytes[TN_LABEL_COUNT];
    size_t counts[TN_LABEL_COUNT];
};

static inline void tn_label_sums_add(struct tn_label_sums *sums, uint32_t label, size_t size_bytes)
{
    sums->bytes[label] += size_bytes;
    sums->counts[label]++;
}

/* Compares the counters with live allocations. Sums of TN_LABEL_NONE are ignored. Returns NULL, or the fault. */
const char *tn_label_stats_check(const struct tn_label_stats *stats,
                                 const struct tn_label_sums *sums);

#endif
