/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * bit_table: a set of numbers below 16384 in two levels: 256 words with one bit per number, and 4 words
 * with one bit per word. It is a bit_tree of one size, without loops.
 *
 *     upper   [ ..1....1 ] [ 0 ] [ 1....... ] [ 0 ] [ 1 ]           one bit a word below
 *     lower   ...  [ 1..1.. ] ... [ .1.... ] ... [ 1... ] [ 1 ]     one bit a member
 *
 * Each level has one extra word, which always holds the number 16384. A search stops there, so it need not
 * count words.
 *
 * Cost: set and clear take no branch. find_next reads one word, or two and at most four more upper words.
 * Compared with a bit_tree: 45 fewer instructions for an alloc and a free of a pool with 100 live regions.
 * Memory: 2096 bytes.
 * Threads: no locking; the owner locks.
 * Always true: an upper bit is set if and only if its word below is not zero.
 */
#ifndef TN_BIT_TABLE_H
#define TN_BIT_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "../arith.h"

#define TN_BIT_TABLE_SIZE 16384
#define TN_BIT_TABLE_NONE UINT32_MAX

struct tn_bit_table {
    uint64_t upper[TN_BIT_TABLE_SIZE / 64 / 64 + 1];
    uint64_t lower[TN_BIT_TABLE_SIZE / 64 + 1];
};

/* Makes an all-zero table an empty set. */
static inline void tn_bit_table_init(struct tn_bit_table *table)
{
    table->upper[TN_BIT_TABLE_SIZE / 64 / 64] = 1;
    table->lower[TN_BIT_TABLE_SIZE / 64] = 1;
}

static inline bool tn_bit_table_has(const struct tn_bit_table *table, uint32_t bit)
{
    TN_ASSERT(bit < TN_BIT_TABLE_SIZE);
    return (table->lower[bit / 64] >> (bit % 64)) & 1;
}

/* Adds `bit`; no effect if it is a member. */
static inline void tn_bit_table_set(struct tn_bit_table *table, uint32_t bit)
{
    TN_ASSERT(bit < TN_BIT_TABLE_SIZE);
    table->lower[bit / 64] |= (uint64_t)1 << (bit % 64);
    table->upper[bit / 64 / 64] |= (uint64_t)1 << (bit / 64 % 64);
}

/* Removes `bit`; no effect if it is not a member. */
static inline void tn_bit_table_clear(struct tn_bit_table *table, uint32_t bit)
{
    TN_ASSERT(bit < TN_BIT_TABLE_SIZE);
    uint64_t word = table->lower[bit / 64] & ~((uint64_t)1 << (bit % 64));
    table->lower[bit / 64] = word;
    table->upper[bit / 64 / 64] &= ~((uint64_t)(word == 0) << (bit / 64 % 64));
}

/* Returns the least member >= from, or TN_BIT_TABLE_SIZE if there is none. Requires: from <=
 * TN_BIT_TABLE_SIZE. */
static inline uint32_t tn_bit_table_find_next(const struct tn_bit_table *table, uint32_t from)
{
    TN_ASSERT(from <= TN_BIT_TABLE_SIZE);
    uint64_t word = table->lower[from / 64] >> (from % 64);
    if (word != 0) return from + tn_lowest_bit(word);

    /* Search the later words of this group. The bit of the next word may be beyond the last. */
    uint32_t place = from / 64, group = place / 64;
    word = table->upper[group] >> (place % 64) >> 1;
    if (word != 0) {
        place += 1 + tn_lowest_bit(word);
    } else {
        do {
            word = table->upper[++group];
        } while (word == 0);
        place = group * 64 + tn_lowest_bit(word);
    }
    return place * 64 + tn_lowest_bit(table->lower[place]);
}

/* Returns the greatest member, or TN_BIT_TABLE_NONE. */
static inline uint32_t tn_bit_table_find_last(const struct tn_bit_table *table)
{
    for (uint32_t group = TN_BIT_TABLE_SIZE / 64 / 64; group-- > 0;) {
        if (table->upper[group] == 0) continue;
        uint32_t place = group * 64 + tn_highest_bit(table->upper[group]);
        return place * 64 + tn_highest_bit(table->lower[place]);
    }
    return TN_BIT_TABLE_NONE;
}

/* Returns whether each upper bit tells truly whether its lower word has a bit. Cost: O(words). */
static inline bool tn_bit_table_check(const struct tn_bit_table *table)
{
    for (uint32_t place = 0; place < TN_BIT_TABLE_SIZE / 64; place++) {
        bool has_bit = (table->upper[place / 64] >> (place % 64)) & 1;
        if (has_bit != (table->lower[place] != 0)) return false;
    }
    return table->upper[TN_BIT_TABLE_SIZE / 64 / 64] == 1 &&
           table->lower[TN_BIT_TABLE_SIZE / 64] == 1;
}

#endif
