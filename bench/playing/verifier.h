/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * verifier: checks the addresses that an allocator hands out. Live blocks must not overlap, and a block of
 * one byte or more must have an address. It must be a multiple of 256; for blocks of up to 128 bytes, of the
 * size rounded up to a power of two, and at least of 16. An allocator that promises less is checked for that.
 *
 * It never touches the memory.
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
#define TN_VERIFIER_LIMITED_BYTES_MIN   8 /* of a small block, of an allocator that promises less */

/* The place of a block that was live before the verifier began. */
#define TN_VERIFIER_NO_PLACE SIZE_MAX

struct tn_verifier;

/* For the blocks of this workload, which must outlive it. If the allocator's alignment_bytes_max is not 0, an
 * address must be a multiple of the block's size rounded up to a power of two, of no less than 8 and no more
 * than that. NULL: no host memory. */
struct tn_verifier *tn_verifier_create(const struct tn_workload *workload,
                                       size_t alignment_bytes_max);
void tn_verifier_destroy(struct tn_verifier *verifier); /* NULL is allowed */

/* Adds a block, allocated by the operation at `place`. False: it has a fault, which the reason names, and is
 * not added. */
bool tn_verifier_add(struct tn_verifier *verifier, size_t slot, const void *address,
                     size_t size_bytes, size_t place, struct tn_reason *reason_out);

/* The block in this slot is about to be freed. */
void tn_verifier_remove(struct tn_verifier *verifier, size_t slot);

#endif
