/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * verifier: checks what an allocator hands out. Blocks that are live must not overlap, a block of one byte or
 * more has an address, and that is a multiple of 256; of up to 128 bytes, of its size rounded up to a power
 * of two, and at least of 16. Less is asked of an allocator that promises less.
 *
 * It knows the blocks by their addresses alone and never touches the memory.
 * Cost: O(log n) in live blocks for each call. Threads: one at a time.
 */
#ifndef TN_VERIFIER_H
#define TN_VERIFIER_H

#include <stdbool.h>
#include <stddef.h>

#include "../common/reason.h"
#include "../workloads/workload.h"

#define TN_VERIFIER_ALIGNMENT_BYTES     256
#define TN_VERIFIER_ALIGNMENT_BYTES_MIN 16 /* of a small block */
#define TN_VERIFIER_LIMITED_BYTES_MIN   8  /* the same, of an allocator that promises less */

/* The place of a block that was live before the verifier looked. */
#define TN_VERIFIER_NO_PLACE SIZE_MAX

struct tn_verifier;

/* For the blocks of this workload, which it refers to, from an allocator with this alignment_bytes_max, if that is not
 * 0: it asks for multiples of the block's size rounded up to a power of two, of no less than 8 and no more than that.
 * NULL: no host memory. */
struct tn_verifier *tn_verifier_create(const struct tn_workload *workload,
                                       size_t alignment_bytes_max);
void tn_verifier_destroy(struct tn_verifier *verifier); /* NULL is allowed */

/* A new block, allocated by the operation at `place`. False: something is wrong with it, which the
 * reason says; the block is then not taken in. */
bool tn_verifier_add(struct tn_verifier *verifier, size_t slot, const void *address,
                     size_t size_bytes, size_t place, struct tn_reason *reason_out);

/* The block in this slot is about to be freed. */
void tn_verifier_remove(struct tn_verifier *verifier, size_t slot);

#endif
