/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * process: forks and the end of the process.
 *
 * A fork copies one thread only. In the child, data that other threads were changing stays half changed,
 * and their locks stay locked. So shared state either comes to rest around a fork, or the child abandons
 * it: the generation tells a child that it is one.
 *
 * Threads: any. Cost: a query is one load.
 */
#ifndef TN_PROCESS_H
#define TN_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

/* Counts forks from now on. Call it before the first generation that matters. False: no host memory. */
bool tn_process_watch_forks(void);

/* Returns a number that stays the same in one process and differs in its children. */
uint32_t tn_process_generation(void);

/* From now on each fork runs `prepare` before it, in the forking thread, then `parent` in the parent and
 * `child` in the child. Each may be NULL. Cannot be undone. False: no host memory. */
bool tn_process_call_around_forks(void (*prepare)(void), void (*parent)(void), void (*child)(void));

/* From now on tarn notices when the process begins to end. Exit handlers registered before this call run
 * after that moment, those registered later run before it. */
void tn_process_watch_end(void);

/* Returns whether the process has begun to end. */
bool tn_process_is_ending(void);

#endif
