/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * numbering: numbers keys from 0 on, in the order in which they are first asked for.
 *
 * Cost: O(log n) in keys for each call, and a comparison when the key is that of the call before.
 */
#ifndef TN_NUMBERING_H
#define TN_NUMBERING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tn_numbering_key;

/* All zero: no keys. */
struct tn_numbering {
    void *tree;                          /* of keys */
    const struct tn_numbering_key *last; /* that was asked for */
    size_t count;
};

/* False: no host memory, or more keys than 32 bits can number. */
bool tn_numbering_find(struct tn_numbering *numbering, uint64_t key, uint32_t *number_out);
void tn_numbering_fini(struct tn_numbering *numbering);

#endif
