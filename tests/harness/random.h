/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * random: numbers for random tests, the same on every machine for the same seed.
 * xorshift64*, after S. Vigna, ACM Transactions on Mathematical Software 42 (2016).
 */
#ifndef TEST_RANDOM_H
#define TEST_RANDOM_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct random {
    uint64_t state;
};

/* The seed of TARN_SEED, or else fallback; printed, so that a failing run can be repeated. */
static inline uint64_t random_seed(uint64_t fallback)
{
    const char *text = getenv("TARN_SEED");
    uint64_t seed = text ? strtoull(text, NULL, 0) : fallback;
    printf("TARN_SEED=%" PRIu64 "\n", seed);
    return seed;
}

static inline struct random random_init(uint64_t seed)
{
    return (struct random){ seed * 0x9E3779B97F4A7C15U + 1 };
}

static inline uint64_t random_next(struct random *random)
{
    random->state ^= random->state >> 12;
    random->state ^= random->state << 25;
    random->state ^= random->state >> 27;
    return random->state * 0x2545F4914F6CDD1DU;
}

/* 0 to bound - 1. */
static inline uint64_t random_below(struct random *random, uint64_t bound)
{
    return (random_next(random) >> 11) % bound;
}

/* 1 to 2^bits_max, about as often in each octave. */
static inline uint64_t random_size(struct random *random, unsigned bits_max)
{
    uint64_t octave = (uint64_t)1 << random_below(random, bits_max + 1);
    return octave - random_below(random, (octave + 1) / 2);
}

#endif
