/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * edits: how far a misspelt word is from a known one. It is all in this header, so that tarn-bench has it too.
 *
 * Threads: any. Cost: O(length of one times length of the other).
 */
#ifndef TN_EDITS_H
#define TN_EDITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../arith.h"

/* Longer words are far from every other. */
#define TN_EDITS_LENGTH_MAX 40

/* How many characters are left out, added, changed, or swapped with their neighbour: the optimal string alignment.
 * SIZE_MAX: a word is longer than TN_EDITS_LENGTH_MAX. */
static inline size_t tn_edits_count(const char *one, const char *other)
{
    size_t one_length = strlen(one), other_length = strlen(other);
    /* Of the prefixes of `one` with i - 2, i - 1 and i characters. */
    size_t rows[3][TN_EDITS_LENGTH_MAX + 1];
    if (one_length > TN_EDITS_LENGTH_MAX || other_length > TN_EDITS_LENGTH_MAX) return SIZE_MAX;
    for (size_t j = 0; j <= other_length; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= one_length; i++) {
        size_t *row = rows[i % 3], *before = rows[(i + 2) % 3], *before_that = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= other_length; j++) {
            row[j] = tn_min(before[j], row[j - 1]) + 1;
            row[j] = tn_min(row[j], before[j - 1] + (one[i - 1] != other[j - 1]));
            if (i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1])
                row[j] = tn_min(row[j], before_that[j - 2] + 1);
        }
    }
    return rows[one_length % 3][other_length];
}

/* Whether a word of the user's may have been meant as a known one: a third of it may be wrong. */
static inline bool tn_edits_are_few(const char *word, const char *known)
{
    return tn_edits_count(word, known) <= tn_min(strlen(word), strlen(known)) / 3;
}

#endif
