/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* bit_tree: the functions that are too large to be inline. */
#include "bit_tree.h"

#include <string.h>

#include "../host_memory.h"

static uint32_t word_count_for(uint32_t bit_count)
{
    return (uint32_t)(((uint64_t)bit_count + 63) / 64);
}

static size_t total_word_count(uint32_t bit_count)
{
    size_t total = 0;
    do {
        bit_count = word_count_for(bit_count);
        total += bit_count;
    } while (bit_count > 1);
    return total;
}

bool tn_bit_tree_init(struct tn_bit_tree *tree, uint32_t bit_count)
{
    TN_ASSERT(bit_count > 0);
    *tree = (struct tn_bit_tree){ .bit_count = bit_count };
    uint64_t *words = tn_host_memory_alloc_zeroed(total_word_count(bit_count) * sizeof *words);
    if (!words) return false;

    uint32_t count = bit_count;
    do {
        TN_ASSERT(tree->level_count < TN_BIT_TREE_LEVELS_MAX);
        count = word_count_for(count);
        tree->levels[tree->level_count++] = words;
        words += count;
    } while (count > 1);
    return true;
}

void tn_bit_tree_fini(struct tn_bit_tree *tree)
{
    tn_host_memory_free(tree->levels[0]);
    *tree = (struct tn_bit_tree){ 0 };
}

/* Sets the bits of all upper levels from level 0. */
static void rebuild_upper_levels(struct tn_bit_tree *tree)
{
    uint32_t word_count = word_count_for(tree->bit_count);
    for (unsigned level = 1; level < tree->level_count; level++) {
        for (uint32_t i = 0; i < word_count; i++) {
            if (tree->levels[level - 1][i] == 0) continue;
            tree->levels[level][i / 64] |= (uint64_t)1 << (i % 64);
        }
        word_count = word_count_for(word_count);
    }
}

bool tn_bit_tree_grow(struct tn_bit_tree *tree, uint32_t bit_count)
{
    if (bit_count <= tree->bit_count) return true;
    /* Grow by at least an eighth, so that many small steps do not copy everything each time. */
    size_t larger_count = tn_max(bit_count, (size_t)tree->bit_count + tree->bit_count / 8);
    struct tn_bit_tree larger;
    if (!tn_bit_tree_init(&larger, (uint32_t)tn_min(larger_count, INT32_MAX))) return false;
    memcpy(larger.levels[0], tree->levels[0],
           word_count_for(tree->bit_count) * sizeof tree->levels[0][0]);
    rebuild_upper_levels(&larger);
    tn_bit_tree_fini(tree);
    *tree = larger;
    return true;
}

static uint32_t word_count_of_level(const struct tn_bit_tree *tree, unsigned level)
{
    uint32_t count = tree->bit_count;
    for (unsigned i = 0; i <= level; i++) {
        count = word_count_for(count);
    }
    return count;
}

/* Descend from `bit` of `level` to a member, always by the lowest (or highest) bit. */
static uint32_t descend_lowest(const struct tn_bit_tree *tree, unsigned level, uint32_t bit)
{
    while (level > 0) {
        level--;
        bit = bit * 64 + tn_lowest_bit(tree->levels[level][bit]);
    }
    return bit;
}

static uint32_t descend_highest(const struct tn_bit_tree *tree, unsigned level, uint32_t bit)
{
    while (level > 0) {
        level--;
        bit = bit * 64 + tn_highest_bit(tree->levels[level][bit]);
    }
    return bit;
}

uint32_t tn_bit_tree_find_in_later_word(const struct tn_bit_tree *tree, uint32_t from)
{
    /* One level up, continue after the word just searched. */
    for (unsigned level = 1; level < tree->level_count; level++) {
        from = from / 64 + 1;
        uint32_t word_count = word_count_of_level(tree, level);
        if (from / 64 >= word_count) return TN_BIT_TREE_NONE;
        uint64_t later = tree->levels[level][from / 64] & (UINT64_MAX << (from % 64));
        if (later != 0) {
            return descend_lowest(tree, level, from / 64 * 64 + tn_lowest_bit(later));
        }
    }
    return TN_BIT_TREE_NONE;
}

uint32_t tn_bit_tree_find_previous(const struct tn_bit_tree *tree, uint32_t from)
{
    if (from >= tree->bit_count) from = tree->bit_count - 1;
    for (unsigned level = 0; level < tree->level_count; level++) {
        uint64_t earlier = tree->levels[level][from / 64] & (UINT64_MAX >> (63 - from % 64));
        if (earlier != 0) {
            return descend_highest(tree, level, from / 64 * 64 + tn_highest_bit(earlier));
        }
        if (from / 64 == 0) return TN_BIT_TREE_NONE;
        from = from / 64 - 1;
    }
    return TN_BIT_TREE_NONE;
}

void tn_bit_tree_set_above(struct tn_bit_tree *tree, uint32_t word)
{
    uint32_t bit = word;
    for (unsigned level = 1; level < tree->level_count; level++, bit /= 64) {
        uint64_t *above = &tree->levels[level][bit / 64];
        uint64_t before = *above;
        *above = before | (uint64_t)1 << (bit % 64);
        if (before != 0) return;
    }
}

void tn_bit_tree_clear_above(struct tn_bit_tree *tree, uint32_t word)
{
    uint32_t bit = word;
    for (unsigned level = 1; level < tree->level_count; level++, bit /= 64) {
        uint64_t *above = &tree->levels[level][bit / 64];
        *above &= ~((uint64_t)1 << (bit % 64));
        if (*above != 0) return;
    }
}

size_t tn_bit_tree_metadata_bytes(const struct tn_bit_tree *tree)
{
    return total_word_count(tree->bit_count) * sizeof(uint64_t);
}

bool tn_bit_tree_check(const struct tn_bit_tree *tree)
{
    uint32_t bit_count = tree->bit_count;
    for (unsigned level = 0; level + 1 < tree->level_count; level++) {
        uint32_t word_count = word_count_for(bit_count);
        for (uint32_t i = 0; i < word_count; i++) {
            bool is_set = (tree->levels[level + 1][i / 64] >> (i % 64)) & 1;
            if (is_set != (tree->levels[level][i] != 0)) return false;
        }
        bit_count = word_count;
    }
    return true;
}
