/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * part: a part of a pool in which allocations and frees work: the pool's own, or an arena. It has an index of its chunks,
 * slices of some of them, and counters.
 *
 * Threads: the lock of the pool, or of the arena.
 */
#ifndef TN_PART_H
#define TN_PART_H

#include "../index/region_index_parts.h"

#include "label_stats.h"
#include "slices.h"
#include "stats.h"

struct tn_part {
    struct tn_region_index index;
    struct tn_slices slices;
    struct tn_stats stats;
    tn_label_stats_pointer labels; /* if those of an arena exist, those of the pool's own part do */
    uint32_t last_stream;          /* number of the stream that was looked up last */
    bool has_shrunk;               /* a resize freed chunks; it does not count as a free */
};

#endif
