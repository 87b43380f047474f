/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * over_backend: the backend of a pool over memory of the caller's. It never acquires memory, and release does
 * nothing.
 *
 * Threads: any. Cost: O(1).
 */
#ifndef TN_OVER_BACKEND_H
#define TN_OVER_BACKEND_H

#include "tarn/backend.h"

tarn_backend tn_over_backend(void);

#endif
