/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * report: what variables ask the process to tell of all its pools: TARN_STATS=exit, the table of exit_summary.h at the end
 * of the process; TARN_MAP, a file with the maps of all open pools, as tarn_pool_dump writes them in JSON, in a list, at the
 * end or at each SIGUSR2.
 *
 * The end is that of a destructor of the library, after the functions of atexit and the destructors of the program.
 *
 * A thread of the library writes the map, which is made with the request. The handler of SIGUSR2 only posts a semaphore. At
 * the end of the process a thread may hold a lock that a map needs for ever; the thread that ends the process may even hold
 * one itself, in a signal's handler. So the end waits for the writing thread only if that gets all locks within a second.
 * The signal is taken only if it has no handler yet. The map is whole or not there: it is written beside, and renamed.
 *
 * A forked child reports only if it creates a pool itself. If its file has no name of its own, by %p, its table follows that
 * of its parent, and its map replaces that of its parent.
 *
 * Threads: any. Without these variables there is no cost but that of reading them, and a load for each pool that ends.
 */
#ifndef TN_REPORT_H
#define TN_REPORT_H

#include <stdatomic.h>
#include <stdbool.h>

extern atomic_bool tn_report_has_table;

/* Ask for the table or the map, if it was not asked for yet. pattern: a file, see tn_trace_path_expand; of the table also
 * NULL: standard error. If there will be none, that is told on standard error, once. In a program with raised rights, do
 * nothing. */
void tn_report_request_table(const char *pattern);
void tn_report_request_map(const char *pattern, bool at_signal);

/* Whether pools that end must leave their figures for the table. */
static inline bool tn_report_is_table_requested(void)
{
    return atomic_load_explicit(&tn_report_has_table, memory_order_relaxed);
}

#endif
