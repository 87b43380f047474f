/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* random: numbers for workloads, the same on every machine for one seed. */
#include "random.h"

#include <math.h>
#include <stdlib.h>

void tn_random_init(struct tn_random *random, uint64_t seed)
{
    /* The generator has 48 bits of state: the upper bits of the seed are folded in. */
    uint64_t folded = seed ^ (seed >> 48) * 0x9E3779B9U;
    for (unsigned i = 0; i < 3; i++)
        random->state[i] = (unsigned short)(folded >> (16 * i));
}

size_t tn_random_below(struct tn_random *random, size_t limit)
{
    size_t value = (size_t)(erand48(random->state) * (double)limit);
    return value < limit ? value : limit - 1;
}

size_t tn_random_log_uniform(struct tn_random *random, uint64_t min, uint64_t max)
{
    /* From min to below max + 1, so that max is as likely as its neighbours. */
    double ratio = ((double)max + 1.0) / (double)min;
    double value = (double)min * pow(ratio, erand48(random->state));
    return value < (double)max ? (size_t)value : (size_t)max;
}

void tn_random_shuffle(struct tn_random *random, size_t *items, size_t count)
{
    for (size_t i = count; i > 1; i--) {
        size_t other = tn_random_below(random, i);
        size_t item = items[i - 1];
        items[i - 1] = items[other];
        items[other] = item;
    }
}
