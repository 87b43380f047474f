/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* random: numbers for workloads, the same on every machine for one seed. From the C library's
 * 48-bit generator, whose sequence POSIX fixes. */
#ifndef TN_RANDOM_H
#define TN_RANDOM_H

#include <stddef.h>
#include <stdint.h>

struct tn_random {
    unsigned short state[3];
};

void tn_random_init(struct tn_random *random, uint64_t seed);

/* From 0 to limit - 1. limit is not zero. */
size_t tn_random_below(struct tn_random *random, size_t limit);

/* From min to max, every doubling equally likely. 1 <= min <= max. */
size_t tn_random_log_uniform(struct tn_random *random, uint64_t min, uint64_t max);

/* Puts the items into a random order. */
void tn_random_shuffle(struct tn_random *random, size_t *items, size_t count);

#endif
