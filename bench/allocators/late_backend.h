/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * late_backend: a backend whose events complete late, as those of a device that is behind the program.
 *
 * Its clock is the number of bytes that the program has allocated, so that a run is the same on every machine. An event
 * completes when the clock has advanced by the lag since it was recorded. A wait of the host for an event, a stream or the
 * device ends at once, and completes all that was recorded until then. Memory is that of the backend below, whose own
 * events must have completed too. Giving memory back waits for nothing here, although a vendor's call may.
 *
 * It is another table of operations over the same state. A table has no place for a clock: there is one such backend at a
 * time in the process. Allocators that call the vendor themselves do not notice it.
 *
 * Threads: one at a time.
 */
#ifndef TN_LATE_BACKEND_H
#define TN_LATE_BACKEND_H

#include "tarn/backend.h"

/* Starts the clock. The backend must outlive the late one and its users. */
tarn_backend tn_late_backend_begin(const tarn_backend *backend, size_t lag_bytes);

/* The program has allocated so many bytes more. */
void tn_late_backend_advance(size_t size_bytes);

#endif
