/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * interrupt: Ctrl-C and SIGTERM as a wish to come to an end, with what was measured so far.
 *
 * A second one, of either kind, ends the program at once, as without this.
 */
#ifndef TN_INTERRUPT_H
#define TN_INTERRUPT_H

#include <stdbool.h>

/* From now on the two signals are wishes. Once, from the main thread. */
void tn_interrupt_watch(void);

/* Whether there was one. From any thread; costs a load. */
bool tn_interrupt_is_wanted(void);

#endif
