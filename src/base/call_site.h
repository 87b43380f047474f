/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * call_site: where in the program a call came from, by the system's backtrace. Systems without backtrace
 * give no frames.
 *
 * Threads: any. Cost: a capture takes microseconds; a description takes the system's search for a name.
 */
#ifndef TN_CALL_SITE_H
#define TN_CALL_SITE_H

#include <stdbool.h>
#include <stddef.h>

#define TN_CALL_SITE_FRAMES_MAX 8

/* Return addresses, innermost first. Frames from frame_count on are NULL. */
struct tn_call_site {
    void *frames[TN_CALL_SITE_FRAMES_MAX];
    unsigned frame_count;
};

/* Takes a first backtrace. The system may load a library and allocate memory for it: better now than in a
 * free. */
void tn_call_site_prepare(void);

/* Captures the stack from the frame that returns to `caller` outwards: this leaves out the library's own
 * frames. */
void tn_call_site_capture(struct tn_call_site *site, const void *caller);

/* The call site that the calling thread has noted last, for records that it makes later in the same call. To be read and
 * written. */
struct tn_call_site *tn_call_site_noted(void);

/* Writes a frame's function or file with an offset, or its address if the system knows no name. */
void tn_call_site_describe(const void *frame, char *text, size_t text_bytes);

#endif
