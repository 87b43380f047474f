/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * lanes: four 32-bit integers that are compared at once. GCC and clang compile this form to vector
 * instructions, or to plain ones on machines without them.
 *
 * Cost: a comparison takes two instructions on x86-64, a sum takes seven.
 * Threads: values only.
 */
#ifndef TN_LANES_H
#define TN_LANES_H

#include <stdint.h>

typedef int32_t tn_lanes __attribute__((vector_size(16)));

/* Loads four integers. Requires: the address is a multiple of 16. */
static inline tn_lanes tn_lanes_at(const int32_t *four)
{
    return *(const tn_lanes *)__builtin_assume_aligned(four, 16);
}

/* Comparisons give -1 in each lane where they hold, else 0. */
static inline tn_lanes tn_lanes_less(tn_lanes lanes, int32_t than)
{
    return lanes < (tn_lanes){ than, than, than, than };
}

static inline tn_lanes tn_lanes_equal(tn_lanes lanes, int32_t to)
{
    return lanes == (tn_lanes){ to, to, to, to };
}

/* Adds the four lanes. Requires: none is negative. */
static inline uint32_t tn_lanes_sum(tn_lanes lanes)
{
    typedef uint64_t halves __attribute__((vector_size(16)));
    halves pairs = (halves)lanes;
    uint64_t both = pairs[0] + pairs[1];
    return (uint32_t)both + (uint32_t)(both >> 32);
}

#endif
