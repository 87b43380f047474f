/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * process: what befalls the process as a whole, a fork and its end.
 *
 * A fork copies one thread. What the others were changing is half changed in the child for ever, and
 * what they had locked is locked for ever. So state that threads share is either brought to rest around a
 * fork, or given up in the child, which who keeps it finds out by the generation.
 *
 * Threads: any. Cost: asking is one load.
 */
#ifndef TN_PROCESS_H
#define TN_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

/* From now on forks are counted. Before any call of tn_process_generation that matters. False: no host
 * memory. */
bool tn_process_watch_forks(void);

/* The same in one process from its beginning to its end, and another in its children. */
uint32_t tn_process_generation(void);

/* From now on `prepare` runs before each fork, in the thread that forks; then `parent` in the parent and
 * `child` in the child, each NULL or not. Not to be taken back. False: no host memory. */
bool tn_process_call_around_forks(void (*prepare)(void), void (*parent)(void), void (*child)(void));

/* From now on it is noticed when the process begins to end. What was registered to run at the exit before
 * this call runs later than that, and what is registered afterwards runs earlier. */
void tn_process_watch_end(void);

/* Whether it has begun to end. */
bool tn_process_is_ending(void);

#endif
