/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* growth: wish, caps, need. */
#include "growth.h"

#include <stdint.h>

#include "../base/arith.h"

/* The most that one more static pool may have: by the vendor's cap and by what the limit leaves. */
static size_t ceiling_bytes(const struct tn_growth_policy *policy,
                            const struct tn_growth_state *state)
{
    size_t left = state->footprint_bytes < policy->limit_bytes
                      ? policy->limit_bytes - state->footprint_bytes
                      : 0;
    return tn_min(left, policy->allocation_bytes_max);
}

static size_t wish_bytes(const struct tn_growth_policy *policy, const struct tn_growth_state *state)
{
    if (state->largest_bytes == 0) return policy->initial_bytes;
    double wish = policy->factor * (double)state->largest_bytes;
    /* The comparison is false for what a size_t cannot hold, an infinite product included. */
    return wish < (double)SIZE_MAX ? (size_t)wish : SIZE_MAX;
}

/* `bytes` as a multiple of the granularity, so that the vendor's rounding is not lost; unless that
 * would break a cap or fall below the need. */
static size_t rounded_bytes(size_t bytes, size_t granularity, size_t needed, size_t ceiling)
{
    size_t rounded;
    if (tn_round_up_fits(bytes, granularity, &rounded) && rounded <= ceiling) return rounded;
    rounded = tn_round_down(tn_min(bytes, ceiling), granularity);
    return rounded >= needed ? rounded : needed;
}

size_t tn_growth_first_bytes(const struct tn_growth_policy *policy,
                             const struct tn_growth_state *state, size_t needed_bytes)
{
    size_t ceiling = ceiling_bytes(policy, state);
    if (needed_bytes > ceiling) return 0;

    size_t wish = tn_min(wish_bytes(policy, state), tn_min(policy->growth_bytes_max, ceiling));
    while (wish >= state->refused_bytes) {
        wish /= 2;
    }
    return rounded_bytes(tn_max(wish, needed_bytes), policy->granularity_bytes, needed_bytes,
                         ceiling);
}

size_t tn_growth_next_bytes(const struct tn_growth_policy *policy, size_t asked_bytes,
                            size_t needed_bytes)
{
    if (asked_bytes <= needed_bytes) return 0;
    /* Half of it, but rounded so that the sizes keep falling. */
    size_t half = asked_bytes / 2;
    if (half <= needed_bytes) return needed_bytes;
    return rounded_bytes(half, policy->granularity_bytes, needed_bytes, asked_bytes - 1);
}
