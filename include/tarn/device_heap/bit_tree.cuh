/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * device_heap/bit_tree: a set of numbers as a van Emde Boas tree of 64-bit words (McCoy and Pandey,
 * "Gallatin", PPoPP 2024): a bit for each number, a bit above for each word that is not 0, and one more level
 * of that.
 *
 *     level 2    ...1                            scanned from its first word
 *     level 1    ...0 1                a word for 64 words below
 *     level 0    ...0 0 0 ...1 0 1     a word for 64 numbers
 *
 * Only level 0 is the truth. A wave that sets the first bit of a word then sets the bit above. A wave that
 * clears the last bit clears the bit above, looks again whether the word is still 0, and if not, sets the bit
 * again. So a bit above may be missing while such a wave is not done, and others miss the word meanwhile. If
 * a bit above is wrongly set, the wave that comes upon it corrects it.
 */
#ifndef TARN_DEVICE_HEAP_BIT_TREE_CUH
#define TARN_DEVICE_HEAP_BIT_TREE_CUH

#include "tarn/device_heap/bits.cuh"
#include "tarn/device_heap/layout.h"

/* Passed by value, in registers. */
struct tn_tree {
    uint64_t *words; /* level by level */
    const tn_heap_tree_shape *shape;
};

#define TN_NO_NUMBER 0xFFFFFFFFU

TN_DEVICE uint64_t *tn_tree_level(tn_tree tree, uint32_t level)
{
    uint64_t *words = tree.words;
    if (level >= 1) words += tree.shape->words[0];
    if (level >= 2) words += tree.shape->words[1];
    return words;
}

TN_DEVICE uint64_t tn_bit(uint32_t number)
{
    return (uint64_t)1 << number % 64;
}

/* Reads a word after a fence, by an operation that changes memory: fences order those after earlier accesses,
 * but not all fences order loads. */
TN_DEVICE uint64_t tn_look_again(uint64_t *word)
{
    return tn_fetch_or(word, (uint64_t)0);
}

/* Sets the bits above: a word on the level below is not 0, or was not a moment ago. */
TN_DEVICE_SLOW void tn_tree_raise(tn_tree tree, uint32_t level, uint32_t number)
{
    for (; level < TN_HEAP_TREE_LEVELS; level++, number /= 64) {
        if (tn_fetch_or(&tn_tree_level(tree, level)[number / 64], tn_bit(number)) != 0) return;
        tn_fence();
    }
}

/* Clears the bits above: a word on the level below was seen to be 0. */
TN_DEVICE_SLOW void tn_tree_lower(tn_tree tree, uint32_t level, uint32_t number)
{
    for (; level < TN_HEAP_TREE_LEVELS; level++, number /= 64) {
        uint64_t before = tn_fetch_and(&tn_tree_level(tree, level)[number / 64], ~tn_bit(number));
        tn_fence();
        if (tn_look_again(&tn_tree_level(tree, level - 1)[number]) != 0) tn_tree_raise(tree, level, number);
        if ((before & ~tn_bit(number)) != 0) return;
    }
}

/* Inserts several numbers of one word of level 0. Returns the word's old value. */
TN_DEVICE uint64_t tn_tree_insert_word(tn_tree tree, uint32_t index, uint64_t bits)
{
    uint64_t before = tn_fetch_or(&tree.words[index], bits);
    if (before == 0) {
        tn_fence();
        tn_tree_raise(tree, 1, index);
    }
    return before;
}

/* Returns whether this call inserted the number. */
TN_DEVICE bool tn_tree_insert(tn_tree tree, uint32_t number)
{
    return (tn_tree_insert_word(tree, number / 64, tn_bit(number)) & tn_bit(number)) == 0;
}

/* Removes the number if it is in the set. Returns whether its word is empty now: then the caller lowers level
 * 1. */
TN_DEVICE bool tn_tree_drop(tn_tree tree, uint32_t number)
{
    return tn_fetch_and(&tree.words[number / 64], ~tn_bit(number)) == tn_bit(number);
}

/* Returns whether this call removed the number. */
TN_DEVICE bool tn_tree_remove(tn_tree tree, uint32_t number)
{
    uint64_t before = tn_fetch_and(&tree.words[number / 64], ~tn_bit(number));
    if (before == tn_bit(number)) tn_tree_lower(tree, 1, number / 64);
    return (before & tn_bit(number)) != 0;
}

/* Returns a nonzero word of level 0, among the first, or TN_NO_NUMBER. */
TN_DEVICE uint32_t tn_tree_first_word(tn_tree tree)
{
    for (uint32_t top = 0; top < tree.shape->words[2];) {
        uint64_t upper = tn_load(&tn_tree_level(tree, 2)[top]);
        if (upper == 0) {
            top++;
            continue;
        }
        uint32_t middle = top * 64 + tn_first_one(upper);
        uint64_t lower = tn_load(&tn_tree_level(tree, 1)[middle]);
        if (lower != 0) return middle * 64 + tn_first_one(lower);
        tn_tree_lower(tree, 2, middle);
    }
    return TN_NO_NUMBER;
}

/* Removes a number from a word of level 0, whose value the caller has seen. `place` selects it, so that
 * concurrent waves pick different numbers. Returns it, or TN_NO_NUMBER. */
TN_DEVICE uint32_t tn_tree_take_of_word(tn_tree tree, uint32_t index, uint64_t word, uint32_t place)
{
    while (word != 0) {
        uint32_t number = index * 64 + tn_spread_pick(word, place);
        uint64_t before = tn_fetch_and(&tree.words[index], ~tn_bit(number));
        word = before & ~tn_bit(number);
        if (word != before) {
            if (word == 0) tn_tree_lower(tree, 1, index);
            return number;
        }
    }
    return TN_NO_NUMBER;
}

/* Removes one of the first numbers and returns it, or TN_NO_NUMBER. */
TN_DEVICE_SLOW uint32_t tn_tree_take(tn_tree tree, uint32_t place)
{
    for (;;) {
        uint32_t index = tn_tree_first_word(tree);
        if (index == TN_NO_NUMBER) return TN_NO_NUMBER;
        uint32_t number = tn_tree_take_of_word(tree, index, tn_load(&tree.words[index]), place);
        if (number != TN_NO_NUMBER) return number;
        tn_tree_lower(tree, 1, index);
    }
}

/* Returns a nonzero word of level 0 from `index` on, according to level 1, or TN_NO_NUMBER. */
TN_DEVICE uint32_t tn_tree_next_word(tn_tree tree, uint32_t index)
{
    while (index < tree.shape->words[0]) {
        uint64_t upper = tn_load(&tn_tree_level(tree, 1)[index / 64]) >> index % 64;
        if (upper != 0) return index + tn_first_one(upper);
        index = (index / 64 + 1) * 64;
    }
    return TN_NO_NUMBER;
}

/* Finds the first number from *number on. False: there is none. Reads each word of level 0, so it misses
 * nothing; if it `skips`, only words that have a bit on level 1. */
TN_DEVICE bool tn_tree_next(tn_tree tree, uint32_t *number, bool skips)
{
    uint32_t index = *number / 64;
    uint64_t mask = ~(uint64_t)0 << *number % 64;
    while (index < tree.shape->words[0]) {
        uint64_t word = tn_load(&tree.words[index]) & mask;
        if (word != 0) {
            *number = index * 64 + tn_first_one(word);
            return true;
        }
        mask = ~(uint64_t)0;
        index = skips ? tn_tree_next_word(tree, index + 1) : index + 1;
    }
    return false;
}

#endif
