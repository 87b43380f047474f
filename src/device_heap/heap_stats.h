/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * heap_stats: counts what a heap's metadata says. Cost: O(spans), and O(pages) for what is live.
 *
 * Kernels may have been at work while it was read, so nothing is taken for granted that one word says of another.
 */
#ifndef TN_HEAP_STATS_H
#define TN_HEAP_STATS_H

#include "heap_view.h"
#include "tarn/device_heap.h"

/* All but what is live, from the summary alone, of a heap that was given so many bytes in all. */
tarn_device_heap_stats tn_heap_stats_of_summary(const struct tn_heap_view *view, size_t size_bytes);

/* Adds what is live, by the headers of pages in a row. */
void tn_heap_stats_add_live(const uint64_t *headers, uint64_t page_count,
                            tarn_device_heap_stats *stats);

#endif
