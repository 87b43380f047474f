/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * contents: looks, before blocks are freed, whether what touch.h wrote into them is still there.
 *
 * On the host the processor compares every byte that was written, at once.
 *
 * On a device nobody waits: in the order of the block's stream its bytes are copied aside, as a program's last kernel
 * would read them, and the block may be freed while that has yet to run. When TN_CONTENTS_BLOCKS_MAX are aside, and at
 * the end, their streams are waited for, all comes to the host in one copy, and is compared. Of a block of which more
 * than TN_CONTENTS_SAMPLE_BYTES were written, so much is copied. Each half gives
 *
 *     | 4 KB |    2 KB     |       2 KB  |    and the other the same in the mirror, with
 *      outer   somewhere in   somewhere in
 *       end    this quarter    that one       "somewhere" another place for every block.
 *
 * So a change of either end is always found, and one that covers half of a block; a smaller one between the ends by
 * chance, which repeats with every block and pass.
 *
 * Threads: any; those on a device take turns.
 */
#ifndef TN_CONTENTS_H
#define TN_CONTENTS_H

#include <stdbool.h>
#include <stddef.h>

#include "touch.h"

#define TN_CONTENTS_BLOCKS_MAX   256
#define TN_CONTENTS_SAMPLE_BYTES ((size_t)16 << 10)

struct tn_contents;

/* A block that is about to be freed. */
struct tn_contents_block {
    const void *address;
    size_t size_bytes;
    unsigned char pattern; /* which was written */
    tarn_stream stream;    /* of a device: that its last work is on */
    size_t alloc_place;    /* these two are the caller's, who gets them back with what is wrong */
    size_t free_place;
};

/* What is wrong, and with which block: it may have been looked at some time ago. */
struct tn_contents_finding {
    struct tn_contents_block block;
    bool has_changed; /* else the vendor refused */
    struct tn_reason reason;
};

/* On a device takes 4 MB of it. All of `touch` outlives it. NULL: no memory, and the reason says so. */
struct tn_contents *tn_contents_create(const struct tn_touch *touch, struct tn_reason *reason_out);

/* False: something is wrong. */
bool tn_contents_look(struct tn_contents *contents, const struct tn_contents_block *block,
                      struct tn_contents_finding *finding_out);

/* Compares what is still aside. */
bool tn_contents_finish(struct tn_contents *contents, struct tn_contents_finding *finding_out);

/* Waits for what is still being copied. NULL is allowed. */
void tn_contents_destroy(struct tn_contents *contents);

#endif
