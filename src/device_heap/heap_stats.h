/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * heap_stats: counts from a heap's metadata. Cost: O(spans), and O(pages) for live objects.
 *
 * Kernels may have used the heap during the read, so no word is trusted to agree with another.
 */
#ifndef TN_HEAP_STATS_H
#define TN_HEAP_STATS_H

#include "heap_view.h"
#include "tarn/device_heap.h"

/* Returns all but the live counts, from the summary alone. size_bytes: the bytes of all pieces. */
tarn_device_heap_stats tn_heap_stats_of_summary(const struct tn_heap_view *view, size_t size_bytes);

/* Adds the live counts from the headers of consecutive pages. */
void tn_heap_stats_add_live(const uint64_t *headers, uint64_t page_count,
                            tarn_device_heap_stats *stats);

#endif
