/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * contents: checks, before blocks are freed, whether they still have the bytes that touch.h wrote into them.
 *
 * On the host the processor compares every byte that was written, at once.
 *
 * On a device the thread does not wait. In the order of the block's stream the bytes are copied aside, as a
 * program's last kernel would read them; the block may be freed before the copy has run. When
 * TN_CONTENTS_BLOCKS_MAX blocks are aside, and at the end, the thread waits for their streams, takes all
 * copies to the host at once, and compares them. If more than TN_CONTENTS_SAMPLE_BYTES of a block were
 * written, only that many are copied. Each half of the block gives
 *
 *     | 4 KB |    2 KB     |       2 KB  |    the other half mirrored;
 *      outer   somewhere in   somewhere in
 *       end    this quarter    that one       "somewhere" is another place for every block.
 *
 * So a change of either end, or of half a block, is always found. A smaller change in the middle is found by
 * chance, with a new chance in every block and pass.
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
    size_t alloc_place;    /* these two are the caller's, and come back in a finding */
    size_t free_place;
};

/* A fault, and its block, which may be one of an earlier call. */
struct tn_contents_finding {
    struct tn_contents_block block;
    bool has_changed; /* else the vendor refused */
    struct tn_reason reason;
};

/* On a device this takes 4 MB of its memory. `touch`, and all it refers to, must outlive it. NULL: no memory,
 * as the reason says. */
struct tn_contents *tn_contents_create(const struct tn_touch *touch, struct tn_reason *reason_out);

/* False: something is wrong. */
bool tn_contents_look(struct tn_contents *contents, const struct tn_contents_block *block,
                      struct tn_contents_finding *finding_out);

/* Compares the copies that are still aside. */
bool tn_contents_finish(struct tn_contents *contents, struct tn_contents_finding *finding_out);

/* Waits for copies under way. NULL is allowed. */
void tn_contents_destroy(struct tn_contents *contents);

#endif
