/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * debug_label: the labels that the calling thread has pushed. They are copied, so that none outlives its
 * text, and of a bounded number, so that nothing is left to give back when a thread ends.
 *
 * Threads: each has its own. Cost: a copy of the text.
 */
#ifndef TN_DEBUG_LABEL_H
#define TN_DEBUG_LABEL_H

#include "tarn/debug.h"

#define TN_LABEL_BYTES (TARN_LABEL_BYTES_MAX + 1)

/* The innermost label, or "". Until the next push or pop. */
const char *tn_label_current(void);

#endif
