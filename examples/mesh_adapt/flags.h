/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * flags: from one flag an element to the list of those that are set.
 *
 *     flag   0  1  1  0  1
 *     sum    0  0  1  2  2  3      exclusive prefix sum: where each goes, and how many there are
 *     list   1  2  4
 *
 * This is how a device makes a list in parallel. The list's length is known only after the sum, so its array
 * can only be allocated then. That is why mesh codes allocate all the time.
 */
#ifndef FLAGS_H
#define FLAGS_H

#include <stdint.h>

#include "device_array.h"

/* An array of flag_count + 1 int32_t: the prefix sum, its last element the number of set flags.
 * `flags` has a uint8_t, 0 or 1, for each element. */
struct array flags_prefix_sum(struct array_space *space, const struct array *flags);

/* An array of int32_t with the numbers of the set flags; *count_out is how many there are. */
struct array flags_list(struct array_space *space, const struct array *flags, int32_t *count_out);

#endif
