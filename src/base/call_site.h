/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * call_site: where in the program a call came from, as the system's backtrace tells it. Where the system
 * has none, there are no frames.
 *
 * Threads: any. Cost: to capture, microseconds; to describe, the system's search for a name.
 */
#ifndef TN_CALL_SITE_H
#define TN_CALL_SITE_H

#include <stdbool.h>
#include <stddef.h>

#define TN_CALL_SITE_FRAMES_MAX 8

/* Return addresses, the innermost first. What is beyond frame_count is NULL. */
struct tn_call_site {
    void *frames[TN_CALL_SITE_FRAMES_MAX];
    unsigned frame_count;
};

/* The system may load something at its first backtrace, and allocate for it: better early than in a free. */
void tn_call_site_prepare(void);

/* The frames from the one on that returns to `caller`, so that the library's own are left out. */
void tn_call_site_capture(struct tn_call_site *site, const void *caller);

/* Writes a frame's function or file, with an offset; its address where nothing is known. */
void tn_call_site_describe(const void *frame, char *text, size_t text_bytes);

#endif
