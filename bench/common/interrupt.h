/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * interrupt: Ctrl-C and SIGTERM as a wish to come to an end, with what was measured so far.
 *
 * A second one, of either kind, ends the program at once, as without this. A reader who has gone, SIGPIPE, is such a wish,
 * too, as often as it comes: the files of the results are still to be written.
 */
#ifndef TN_INTERRUPT_H
#define TN_INTERRUPT_H

#include <stdbool.h>

/* From now on these signals are wishes. Once, from the main thread. */
void tn_interrupt_watch(void);

/* Whether there was one. From any thread; costs a load. */
bool tn_interrupt_is_wanted(void);

#endif
