/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * system_barrier: a memory barrier in all threads of the process, at the cost of one of them.
 *
 * Threads: any. Linux's membarrier(2), private and expedited; other systems have none here.
 */
#ifndef TN_SYSTEM_BARRIER_H
#define TN_SYSTEM_BARRIER_H

#include <stdbool.h>

/* Before the first barrier. False: there is none. Cost: a system call; the first of a process that has
 * several threads already may take ten milliseconds. */
bool tn_system_barrier_prepare(void);

/* When it returns every other thread of the process has passed a barrier since it was called. */
void tn_system_barrier(void);

#endif
