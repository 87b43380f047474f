/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* allocator_list: which allocators this machine has, and why others are missing. The command `allocators`. */
#ifndef TN_ALLOCATOR_LIST_H
#define TN_ALLOCATOR_LIST_H

#include <stdbool.h>

#include "allocator.h"

/* Opens each, and prints a line for it on stdout. False: at least one is there but fails to open; its line
 * says why. */
bool tn_allocator_list_print(const struct tn_allocator_settings *settings);

#endif
