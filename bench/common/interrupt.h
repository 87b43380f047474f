/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * interrupt: Ctrl-C and SIGTERM ask the program to end with what was measured so far.
 *
 * A second signal, of either kind, ends the program at once, by the system's default. SIGPIPE (the reader of
 * stdout has gone) also asks the program to end. It never ends it at once: the files of the results are still
 * to be written.
 */
#ifndef TN_INTERRUPT_H
#define TN_INTERRUPT_H

#include <stdbool.h>

/* From now on these signals ask. To be called once, from the main thread. */
void tn_interrupt_watch(void);

/* Whether a signal has asked for the end. From any thread; costs a load. */
bool tn_interrupt_is_wanted(void);

/* The signal that has asked last; 0: none. */
int tn_interrupt_signal(void);

#endif
