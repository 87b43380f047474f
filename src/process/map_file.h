/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * map_file: TARN_MAP, a file with the maps of all open pools, as tarn_pool_dump writes them in JSON, in a list. It is
 * written at the end of the process, where exit_summary writes its table; or at each SIGUSR2.
 *
 * A thread of the library writes it, which is made with the request. The handler of SIGUSR2 only posts a semaphore. At the
 * end of the process a thread may hold a lock that a map needs for ever; the thread that ends the process may even hold one
 * itself, in a signal's handler. So the end waits for the writing thread only if that gets all locks within a second.
 * The signal is taken only if it has no handler yet.
 *
 * The file is whole or not there: it is written beside, and renamed. A forked child writes one only if it creates a pool
 * itself; if it has no name of its own, by %p, it replaces that of its parent.
 *
 * Threads: any. Without TARN_MAP there is no cost but that of reading the variable.
 */
#ifndef TN_MAP_FILE_H
#define TN_MAP_FILE_H

#include <stdbool.h>

/* Asks for the file, if it was not asked for yet. pattern: see tn_trace_path_expand. If there will be none, that is told
 * on standard error, once. In a program with raised rights, does nothing. */
void tn_map_file_request(const char *pattern, bool at_signal);

#endif
