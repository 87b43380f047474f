/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * thread_number: a unique number for each thread.
 *
 * The system reuses the identifier and the thread-local storage of a thread that has ended. Numbers are
 * never reused.
 *
 * Threads: any. Cost: one load, after the thread's first call.
 */
#ifndef TN_THREAD_NUMBER_H
#define TN_THREAD_NUMBER_H

#include <stdint.h>

/* Returns the calling thread's number, which no other thread of the process has or had. Never 0. */
uint64_t tn_thread_number(void);

#endif
