/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * bit_tree: a set of small integers as a tree of 64-bit words (a van Emde Boas tree of width 64).
 *
 *     level 2   [ ........ 1 ]                              one bit a word of level 1
 *     level 1   [ 1.....1 ] [ 0 ] ...                       one bit a word of level 0
 *     level 0   [ 1..1.. ] [ 0 ] ... [ .1.... ] ...         one bit a member
 *
 * To find the next member, a search climbs to the first level with a later bit. From there it descends
 * along lowest bits and reads no empty word.
 *
 * Cost: set, clear and find take O(levels): three levels hold a quarter of a million members. Other calls
 * take O(members).
 * Memory: one bit per possible member and 1/63 more. Pages without members are not resident.
 * Threads: no locking; the owner locks.
 * Always true: a bit above level 0 is set if and only if its word below is not zero.
 */
#ifndef TN_BIT_TREE_H
#define TN_BIT_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../arith.h"

#define TN_BIT_TREE_LEVELS_MAX 6
#define TN_BIT_TREE_NONE       UINT32_MAX

struct tn_bit_tree {
    uint64_t *levels[TN_BIT_TREE_LEVELS_MAX];
    unsigned level_count;
    uint32_t bit_count; /* members are 0 to bit_count - 1 */
};

/* Makes an empty set of numbers below bit_count. Requires: bit_count >= 1. False: no host memory. */
bool tn_bit_tree_init(struct tn_bit_tree *tree, uint32_t bit_count);

void tn_bit_tree_fini(struct tn_bit_tree *tree);

/* Makes room for members below bit_count, perhaps for more. Requires: bit_count <= INT32_MAX. False: no
 * host memory, nothing has changed. Cost: copies the tree. */
bool tn_bit_tree_grow(struct tn_bit_tree *tree, uint32_t bit_count);

/* Returns the least member >= from, or TN_BIT_TREE_NONE. `from` may lie past the end. */
static inline uint32_t tn_bit_tree_find_next(const struct tn_bit_tree *tree, uint32_t from);

/* Returns the greatest member <= from, or TN_BIT_TREE_NONE. `from` may lie past the end. */
uint32_t tn_bit_tree_find_previous(const struct tn_bit_tree *tree, uint32_t from);

/* Returns the bytes of host memory allocated. */
size_t tn_bit_tree_metadata_bytes(const struct tn_bit_tree *tree);

/* Returns whether each bit above level 0 matches its word. Walks everything. */
bool tn_bit_tree_check(const struct tn_bit_tree *tree);

/* The slow path of find_next: the word of `from` has no member at or after it. */
uint32_t tn_bit_tree_find_in_later_word(const struct tn_bit_tree *tree, uint32_t from);

/* Update the upper levels after a word of level 0 got its first member, or lost its last. */
void tn_bit_tree_set_above(struct tn_bit_tree *tree, uint32_t word);
void tn_bit_tree_clear_above(struct tn_bit_tree *tree, uint32_t word);

static inline uint32_t tn_bit_tree_find_next(const struct tn_bit_tree *tree, uint32_t from)
{
    if (from >= tree->bit_count) return TN_BIT_TREE_NONE;
    uint64_t word = tree->levels[0][from / 64] >> (from % 64);
    if (word != 0) return from + tn_lowest_bit(word);
    return tn_bit_tree_find_in_later_word(tree, from);
}

static inline bool tn_bit_tree_has(const struct tn_bit_tree *tree, uint32_t bit)
{
    TN_ASSERT(bit < tree->bit_count);
    return (tree->levels[0][bit / 64] >> (bit % 64)) & 1;
}

/* Adds `bit`; no effect if it is a member. */
static inline void tn_bit_tree_set(struct tn_bit_tree *tree, uint32_t bit)
{
    TN_ASSERT(bit < tree->bit_count);
    uint64_t *word = &tree->levels[0][bit / 64];
    uint64_t before = *word;
    *word = before | (uint64_t)1 << (bit % 64);
    if (TN_UNLIKELY(before == 0)) tn_bit_tree_set_above(tree, bit / 64);
}

/* Removes `bit`; no effect if it is not a member. */
static inline void tn_bit_tree_clear(struct tn_bit_tree *tree, uint32_t bit)
{
    TN_ASSERT(bit < tree->bit_count);
    uint64_t *word = &tree->levels[0][bit / 64];
    *word &= ~((uint64_t)1 << (bit % 64));
    if (TN_UNLIKELY(*word == 0)) tn_bit_tree_clear_above(tree, bit / 64);
}

#endif
