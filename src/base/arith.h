/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * arith: arithmetic on sizes. Values from outside go through the `_fits` functions: these return whether
 * the true result fits, and write it only if it does.
 */
#ifndef TN_ARITH_H
#define TN_ARITH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "assert.h"
#include "compiler.h"

_Static_assert(sizeof(size_t) == 8, "tarn is for systems with 64-bit addresses");

static inline bool tn_add_fits(size_t a, size_t b, size_t *sum_out)
{
    size_t sum;
    if (__builtin_add_overflow(a, b, &sum)) return false;
    *sum_out = sum;
    return true;
}

static inline bool tn_multiply_fits(size_t a, size_t b, size_t *product_out)
{
    size_t product;
    if (__builtin_mul_overflow(a, b, &product)) return false;
    *product_out = product;
    return true;
}

static inline bool tn_is_power_of_two(size_t value)
{
    return value != 0 && (value & (value - 1)) == 0;
}

static inline size_t tn_round_down(size_t value, size_t power_of_two)
{
    TN_ASSERT(tn_is_power_of_two(power_of_two));
    return value & ~(power_of_two - 1);
}

/* Rounds up to a multiple of power_of_two, if that fits. */
static inline bool tn_round_up_fits(size_t value, size_t power_of_two, size_t *rounded_out)
{
    size_t sum;
    if (!tn_add_fits(value, power_of_two - 1, &sum)) return false;
    *rounded_out = tn_round_down(sum, power_of_two);
    return true;
}

/* Returns how many units of 2^unit_log2 bytes hold `value`. Cannot overflow. */
static inline size_t tn_count_units(size_t value, unsigned unit_log2)
{
    return (value >> unit_log2) + ((value & (((size_t)1 << unit_log2) - 1)) != 0);
}

static inline size_t tn_min(size_t a, size_t b)
{
    return a < b ? a : b;
}

static inline size_t tn_max(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Return the number of the highest and of the lowest set bit. Requires: word != 0. */
static inline unsigned tn_highest_bit(uint64_t word)
{
    TN_ASSERT(word != 0);
    /* Compilers find the x86 instruction for this with ^, but not with a minus. */
    return 63U ^ (unsigned)__builtin_clzll(word);
}

static inline unsigned tn_lowest_bit(uint64_t word)
{
    TN_ASSERT(word != 0);
    return (unsigned)__builtin_ctzll(word);
}

static inline unsigned tn_bit_count(uint64_t word)
{
    return (unsigned)__builtin_popcountll(word);
}

#endif
