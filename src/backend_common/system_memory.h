/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * system_memory: the machine's own memory, which host memory of every kind is a part of.
 */
#ifndef TN_SYSTEM_MEMORY_H
#define TN_SYSTEM_MEMORY_H

#include <stddef.h>

#include "tarn/backend.h"

size_t tn_system_page_bytes(void);

/* How much the machine has, and how much of it is left; SIZE_MAX where the system does not tell.
 * What is left leaves out what the system's file cache holds and would give up. */
tarn_memory_info tn_system_memory_info(void);

#endif
