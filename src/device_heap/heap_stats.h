/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* heap_stats: counts what a heap's metadata says. Cost: O(pages). */
#ifndef TN_HEAP_STATS_H
#define TN_HEAP_STATS_H

#include "heap_view.h"
#include "tarn/device_heap.h"

/* From the summary alone, as much of it as the view has, of a heap that was given so many bytes in all. */
tarn_device_heap_stats tn_heap_stats(const struct tn_heap_view *view, size_t size_bytes);

#endif
