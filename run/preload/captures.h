/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * captures: streams that the program captures into graphs.
 *
 * While one is captured, a pool may not record an event for all streams: that makes the capture invalid. So allocations go
 * to the vendor, which knows what a capture allows, and frees of a pool's memory are held until no stream is captured.
 *
 * Threads: any. Cost: whether a stream is captured is a load.
 */
#ifndef TN_CAPTURES_H
#define TN_CAPTURES_H

#include <stdbool.h>

/* A stream's handle, or TN_STREAM_PER_THREAD for the calling thread's own stream. False: it is captured already, or
 * too many streams are. */
bool tn_captures_begin(void *stream);

/* Returns whether this was the last capture: then the held frees are due. A stream that is not captured is no capture. */
bool tn_captures_end(void *stream);

/* Whether any stream of the process is captured. */
bool tn_captures_any(void);

/* Holds a free. False: no host memory. */
bool tn_captures_hold_free(void *address);

/* Takes a held free, the one that was held last. NULL: there is none. */
void *tn_captures_take_free(void);

#endif
