/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * thread_number: who is calling.
 *
 * The system gives the name of a thread that has ended, and the place of its variables, to the next one. So
 * threads are numbered.
 *
 * Threads: any. Cost: one load, after the thread's first call.
 */
#ifndef TN_THREAD_NUMBER_H
#define TN_THREAD_NUMBER_H

#include <stdint.h>

/* The calling thread's, which no other thread of the process has or had. Never 0. */
uint64_t tn_thread_number(void);

#endif
