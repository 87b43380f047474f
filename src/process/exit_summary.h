/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * exit_summary: a table of all pools at the end of the process.
 *
 * No vendor is called then, and other threads may still run, or may hold locks for ever; a thread may even hold one and
 * end the process from a signal's handler. So the table takes no lock of a pool: it reads the counters as they are, which
 * is exact for pools that no thread is using. The pools that are open are pinned by the registry's lock, so that none of
 * them ends meanwhile. If that lock cannot be had for a while, the table says that it lacks them.
 *
 * A pool that ends leaves a line; when there are too many, its figures go into a sum.
 *
 * Threads: any.
 */
#ifndef TN_EXIT_SUMMARY_H
#define TN_EXIT_SUMMARY_H

#include "../core/serve/pool_struct.h"

/* Pools that have ended and have a line each. */
#define TN_EXIT_SUMMARY_KEPT_MAX 32

/* Keeps the figures of a pool that is about to end. */
void tn_exit_summary_keep(struct tarn_pool *pool);

/* Forgets the pools that have ended, in a child that has one thread: they were the parent's. */
void tn_exit_summary_forget(void);

/* Writes the table of this moment to an open file. Without pools, writes nothing. Returns 0, or the errno of a write. */
int tn_exit_summary_write(int file_descriptor);

#endif
