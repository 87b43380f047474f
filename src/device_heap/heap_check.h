/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* heap_check: whether all metadata of a heap agrees. Cost: O(metadata). */
#ifndef TN_HEAP_CHECK_H
#define TN_HEAP_CHECK_H

#include "heap_view.h"

/* Checks the whole metadata. Requires: no kernel uses the heap. CORRUPT, with the first fault in the last
 * error; OUT_OF_HOST_MEMORY. */
tarn_status tn_heap_check(const struct tn_heap_view *view);

#endif
