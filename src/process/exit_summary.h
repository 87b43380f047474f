/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * exit_summary: TARN_STATS=exit, a table of all pools at the end of the process.
 *
 * It is written by a destructor of the library, after the functions of atexit and the destructors of the program: so it
 * shows what these have freed and ended. No vendor is called then, and other threads may still run, or may hold locks
 * for ever; a thread may even hold one and end the process from a signal's handler. So the table takes no lock of a pool:
 * it reads the counters as they are, which is exact for pools that no thread is using. The pools that are open are pinned
 * by the registry's lock, so that none of them ends meanwhile. If that lock cannot be had for a while, the table says
 * that it lacks them.
 *
 * A pool that ends leaves its figures in a slot; when all slots are taken, in a sum. A forked child begins with none, and
 * writes a table only if it creates a pool itself.
 *
 * Threads: any. Without TARN_STATS all this costs a load for each pool that ends.
 */
#ifndef TN_EXIT_SUMMARY_H
#define TN_EXIT_SUMMARY_H

#include <stdatomic.h>
#include <stdbool.h>

#include "../core/serve/pool_struct.h"

/* Pools that have ended and have a line each. */
#define TN_EXIT_SUMMARY_KEPT_MAX 32

extern atomic_bool tn_exit_summary_requested;

/* Asks for a table at the end, if none was asked for yet. pattern: a file, see tn_trace_path_expand; NULL: standard
 * error. A file that cannot be written is told of on standard error, once. In a program with raised rights, does
 * nothing. */
void tn_exit_summary_request(const char *pattern);

static inline bool tn_exit_summary_is_requested(void)
{
    return atomic_load_explicit(&tn_exit_summary_requested, memory_order_relaxed);
}

/* Keeps the figures of a pool that is about to end. */
void tn_exit_summary_keep(const struct tarn_pool *pool, const tarn_stats *stats);

/* Writes the table of this moment to an open file. Without pools, writes nothing. Returns 0, or the errno of a write. */
int tn_exit_summary_write(int file_descriptor);

#endif
