/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * host_memory_faults: makes the n-th host allocation of the library fail, and counts what is out.
 *
 *     for (unsigned n = 1; ; n++) {
 *         host_memory_faults_begin(n);
 *         ... the scenario, which copes with OUT_OF_HOST_MEMORY ...
 *         if (!host_memory_faults_end()) break;       the n-th was never reached: all have failed once
 *     }
 *
 * Threads: one at a time.
 */
#ifndef HOST_MEMORY_FAULTS_H
#define HOST_MEMORY_FAULTS_H

#include <stdbool.h>
#include <stddef.h>

/* Allocation number fail_at from now on fails; 0: none does. */
void host_memory_faults_begin(unsigned fail_at);

/* Back to the C library. Whether the failure happened. */
bool host_memory_faults_end(void);

/* Whether it has happened by now. */
bool host_memory_faults_happened(void);

/* Allocations made since begin and not freed. */
long host_memory_faults_outstanding(void);

#endif
