/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * debug_label: the labels that the calling thread has pushed. They are copied, so the program may free its
 * text. Their number is bounded, so a thread that ends has nothing to free.
 *
 * Threads: each has its own labels. Cost: a copy of the text.
 */
#ifndef TN_DEBUG_LABEL_H
#define TN_DEBUG_LABEL_H

#include "tarn/debug.h"

#define TN_LABEL_BYTES (TARN_LABEL_BYTES_MAX + 1)

/* The innermost label, or "". Valid until the next push or pop of the thread. */
const char *tn_label_current(void);

#endif
