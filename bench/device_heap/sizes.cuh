/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* sizes: the size of object number i of a test, the same for every heap, on host and device. C++ without CUDA
 * can include it, too. */
#ifndef TN_HEAP_BENCH_SIZES_CUH
#define TN_HEAP_BENCH_SIZES_CUH

#include <cstdint>

#if defined(__CUDACC__)
#define TN_EVERYWHERE __host__ __device__
#else
#define TN_EVERYWHERE
#endif

/* Numbers that look random: the finalizer of MurmurHash3 (A. Appleby, 2011), on 32 bits. */
TN_EVERYWHERE inline uint32_t mixed(uint32_t x)
{
    x ^= x >> 16;
    x *= 0x85ebca6bU;
    x ^= x >> 13;
    x *= 0xc2b2ae35U;
    return x ^ x >> 16;
}

enum class distribution {
    one,     /* all of the size `max` */
    uniform, /* each size from min to max alike */
    log      /* each power of two alike, and each size between two of them */
};

struct sizes {
    distribution kind;
    uint32_t min_bytes;
    uint32_t max_bytes;

    TN_EVERYWHERE uint32_t of(uint32_t number) const
    {
        if (kind == distribution::one) return max_bytes;
        uint32_t random = mixed(number * 2 + 1);
        if (kind == distribution::uniform) return min_bytes + random % (max_bytes - min_bytes + 1);
        uint32_t octaves = 1; /* max is twice min, or more */
        while (min_bytes << (octaves + 1) <= max_bytes)
            octaves++;
        uint32_t low = min_bytes << mixed(random) % octaves;
        return low + random % low;
    }
};

TN_EVERYWHERE inline uint32_t bits_in(uint32_t mask)
{
#if defined(__CUDA_ARCH__)
    return (uint32_t)__popc(mask);
#else
    return (uint32_t)__builtin_popcount(mask);
#endif
}

/* A permutation of 0 to count - 1, where count is a power of two: each step is invertible, so no number comes
 * twice. */
TN_EVERYWHERE inline uint32_t shuffled(uint32_t number, uint32_t count)
{
    uint32_t mask = count - 1;
    uint32_t half = bits_in(mask) / 2 + 1;
    for (int round = 0; round < 3; round++) {
        number = (number * 0x9e3779b1U + 0x7f4a7c15U) & mask;
        number ^= number >> half;
    }
    return number;
}

#endif
