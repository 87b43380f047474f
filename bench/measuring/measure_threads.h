/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * measure_threads: how many pairs several threads do on one allocator at once.
 *
 * In a visit (measure_rounds.h), on one instance that starts empty, with threads that stay to its end:
 *   1. every thread plays its part of the setup, all at once. In the first visit every live block is then verified.
 *   2. a play to warm up.
 *   3. repetitions, each a play of a fixed time. The rate is that of all pairs, from the start of the first
 *      thread to the end of the last.
 *   4. in the first visit every live block is verified again. Each is freed by its thread.
 * There are three visits at most.
 *
 * Held bytes and vendor calls are those of the first visit as a whole.
 */
#ifndef TN_MEASURE_THREADS_H
#define TN_MEASURE_THREADS_H

#include "measure_rounds.h"

extern const struct tn_measure_method tn_measure_threads;

#endif
