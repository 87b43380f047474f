/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * struct_size: public structs that begin with their size, struct_bytes. A later version adds fields at the end and
 * changes no other. So a program that was compiled with an older header passes a smaller struct, which is a valid
 * beginning of today's. docs/abi.md has the rules.
 *
 * Threads: any. Cost: O(1).
 */
#ifndef TN_STRUCT_SIZE_H
#define TN_STRUCT_SIZE_H

#include <stddef.h>

#include "tarn/status.h"

/* Fails with `refusal` unless a struct of this name has a size from its first version's to today's. */
tarn_status tn_check_struct_bytes(const char *name, size_t struct_bytes, size_t first_bytes,
                                  size_t today_bytes, tarn_status refusal);

#endif
