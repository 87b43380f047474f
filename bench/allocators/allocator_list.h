/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* allocator_list: which allocators there are here, and why others are not. The command `allocators`. */
#ifndef TN_ALLOCATOR_LIST_H
#define TN_ALLOCATOR_LIST_H

#include <stdbool.h>

#include "allocator.h"

/* Opens each, and prints a line for it on stdout. False: one is there but does not open, which its line says. */
bool tn_allocator_list_print(const struct tn_allocator_settings *settings);

#endif
