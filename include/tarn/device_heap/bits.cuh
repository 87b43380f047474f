/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* device_heap/bits: 64-bit words. */
#ifndef TARN_DEVICE_HEAP_BITS_CUH
#define TARN_DEVICE_HEAP_BITS_CUH

#include "tarn/device_heap/platform.cuh"

/* Returns the lowest `count` bits, 0 to 64. */
TN_DEVICE uint64_t tn_low_bits(uint32_t count)
{
    return count >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << count) - 1;
}

/* Returns the place of the n-th one, from 0. Requires: there are more than n. Mostly the ones are contiguous;
 * otherwise it takes five steps, each of which halves the searched half word. */
TN_DEVICE uint32_t tn_nth_one(uint64_t bits, uint32_t n)
{
    uint32_t first = tn_first_one(bits);
    if ((~(bits >> first) & tn_low_bits(n + 1)) == 0) return first + n;
    uint32_t half = (uint32_t)bits;
    uint32_t place = 0;
    uint32_t below = tn_count_ones(half);
    if (n >= below) {
        n -= below;
        half = (uint32_t)(bits >> 32);
        place = 32;
    }
    for (uint32_t width = 16; width != 0; width /= 2) {
        below = tn_count_ones(half & ((1U << width) - 1));
        if (n >= below) {
            n -= below;
            half >>= width;
            place += width;
        }
    }
    return place;
}

/* Returns the lowest `count` ones, or all if there are fewer. */
TN_DEVICE uint64_t tn_lowest_ones(uint64_t bits, uint32_t count)
{
    if (tn_count_ones(bits) <= count) return bits;
    return bits & tn_low_bits(tn_nth_one(bits, count));
}

/* Returns where runs of `length` ones begin, 1 to 64. Takes a step for each bit of the length. */
TN_DEVICE uint64_t tn_run_starts(uint64_t bits, uint32_t length)
{
    for (uint32_t have = 1; have < length;) {
        uint32_t step = have < length - have ? have : length - have;
        bits &= bits >> step;
        have += step;
    }
    return bits;
}

/* Returns a different one for different places, so that waves do not all try the same. */
TN_DEVICE uint32_t tn_spread_pick(uint64_t bits, uint32_t place)
{
    return tn_nth_one(bits, place % tn_count_ones(bits));
}

#endif
