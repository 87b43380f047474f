/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * system_barrier: makes all threads of the process pass a memory barrier, at the cost of the caller alone.
 *
 * Threads: any. Linux's membarrier(2), private and expedited; other systems have none here.
 */
#ifndef TN_SYSTEM_BARRIER_H
#define TN_SYSTEM_BARRIER_H

#include <stdbool.h>

/* Must be called before the first barrier. False: the system has none. Cost: a system call. The first one
 * in a process with several threads may take ten milliseconds. */
bool tn_system_barrier_prepare(void);

/* Returns when each other thread of the process has passed a barrier since the call. */
void tn_system_barrier(void);

#endif
