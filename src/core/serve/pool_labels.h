/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * pool_labels: the labels of live regions and slices in a part of a pool, and their counts.
 *
 *     alloc    labels are used, and the thread has one? ── no ──► nothing
 *                    │ yes
 *                    ▼
 *              its number goes into the region, or into the slice's note; the part counts it
 *
 *     free     the bits above the slack are set? ── no ──► nothing
 *                    │ yes
 *                    ▼
 *              the part of these bits that is a label tells which counters go down
 *
 * An allocation gets no label in a pool whose chunks are larger than 64 KiB, in one in debug mode, which has records
 * with labels of its own, and while the host has no memory for the counters. Gathering moves the counters of arenas to
 * the pool.
 *
 * Requires: the lock of the part. Cost: O(1).
 */
#ifndef TN_POOL_LABELS_H
#define TN_POOL_LABELS_H

#include "pool_struct.h"

/* Gives a new allocation of the part the label of the calling thread, if it has one, and counts it. Finds the allocation
 * by its address: then the hot path of an allocation without a label need not keep anything else. */
TN_HOT void tn_pool_label(struct tarn_pool *pool, struct tn_part *part, uintptr_t address);

/* Count a labelled allocation of the part that is freed, that is resized, or that failed after all. TN_LABEL_NONE:
 * nothing is counted. */
static inline void tn_part_count_label_free(const struct tn_part *part, uint32_t label,
                                            size_t size_bytes)
{
    if (label != TN_LABEL_NONE)
        tn_label_stats_count_free(tn_label_stats_get(&part->labels), label, size_bytes);
}

static inline void tn_part_count_label_resize(const struct tn_part *part, uint32_t label,
                                              size_t old_bytes, size_t size_bytes)
{
    if (label != TN_LABEL_NONE)
        tn_label_stats_count_resize(tn_label_stats_get(&part->labels), label, old_bytes,
                                    size_bytes);
}

static inline void tn_part_take_label_back(const struct tn_part *part, uint32_t label,
                                           size_t size_bytes)
{
    if (label != TN_LABEL_NONE)
        tn_label_stats_take_alloc_back(tn_label_stats_get(&part->labels), label, size_bytes);
}

/* Moves the counters of an arena to the pool. Requires the pool's lock, and that the arena is not active. */
void tn_pool_adopt_labels(struct tarn_pool *pool, struct tn_part *part);

/* Compares the counters with the regions and slices. Requires the pool's lock, with the arenas gathered. Returns NULL,
 * or the fault. */
const char *tn_pool_check_labels(const struct tarn_pool *pool);

/* --- the common case ------------------------------------------------------------------------------- */

/* The rest of tn_pool_label where labels are used. */
void tn_pool_label_slowly(struct tarn_pool *pool, struct tn_part *part, uintptr_t address);

TN_HOT void tn_pool_label(struct tarn_pool *pool, struct tn_part *part, uintptr_t address)
{
    if (TN_UNLIKELY(tn_labels_are_used())) tn_pool_label_slowly(pool, part, address);
}

#endif
