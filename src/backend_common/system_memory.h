/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * system_memory: the machine's own memory. Host memory of every kind is a part of it.
 */
#ifndef TN_SYSTEM_MEMORY_H
#define TN_SYSTEM_MEMORY_H

#include <stddef.h>

#include "tarn/backend.h"

size_t tn_system_page_bytes(void);

/* How much memory the machine has and how much is free; SIZE_MAX where the system does not tell. The
 * free memory does not include the system's file cache, which the system would give up. */
tarn_memory_info tn_system_memory_info(void);

/* A device's memory and the machine's together, for memory that moves between the two. */
tarn_memory_info tn_system_memory_with_device(tarn_memory_info device);

#endif
