/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* growth: wish, caps, need. */
#include "growth.h"

#include <stdint.h>

#include "../../base/arith.h"

/* Returns the bytes that the limit leaves. */
static size_t left_bytes(const struct tn_growth_policy *policy, const struct tn_growth_state *state)
{
    return state->footprint_bytes < policy->limit_bytes
               ? policy->limit_bytes - state->footprint_bytes
               : 0;
}

bool tn_growth_wishes_all(const struct tn_growth_policy *policy,
                          const struct tn_growth_state *state)
{
    return policy->takes_all && state->largest_bytes == 0;
}

static size_t wish_bytes(const struct tn_growth_policy *policy, const struct tn_growth_state *state)
{
    if (tn_growth_wishes_all(policy, state)) return state->device_free_bytes;
    if (state->largest_bytes == 0) return policy->initial_bytes;
    double wish = policy->factor * (double)state->largest_bytes;
    /* False for products that a size_t cannot hold, infinity included. */
    return wish < (double)SIZE_MAX ? (size_t)wish : SIZE_MAX;
}

/* Rounds `bytes` to a multiple of the granularity of at most `most`: up if possible, else down. If there is
 * none, returns the smaller of `bytes` and `most`. */
static size_t rounded_bytes(size_t bytes, size_t granularity, size_t most)
{
    size_t rounded;
    if (tn_round_up_fits(bytes, granularity, &rounded) && rounded <= most) return rounded;
    bytes = tn_min(bytes, most);
    rounded = tn_round_down(bytes, granularity);
    return rounded > 0 ? rounded : bytes;
}

size_t tn_growth_first_bytes(const struct tn_growth_policy *policy,
                             const struct tn_growth_state *state, size_t needed_bytes)
{
    size_t left = left_bytes(policy, state);
    size_t piece_max = tn_min(policy->allocation_bytes_max, state->numbered_bytes_max);
    if (needed_bytes > tn_min(left, piece_max)) return 0;

    size_t wish = wish_bytes(policy, state);
    /* The first static pool has an option of its own. */
    size_t cap = state->largest_bytes > 0 ? policy->growth_bytes_max : SIZE_MAX;
    size_t most = tn_min(tn_min(cap, piece_max), state->refused_bytes - 1);
    if (tn_growth_wishes_all(policy, state)) {
        most = tn_min(most, wish);
    } else {
        while (wish >= state->refused_bytes)
            wish /= 2;
    }
    wish = tn_min(rounded_bytes(wish, policy->granularity_bytes, most), left);
    if (wish >= needed_bytes) return wish;
    size_t rounded = rounded_bytes(needed_bytes, policy->granularity_bytes, piece_max);
    return tn_max(tn_min(rounded, left), needed_bytes);
}

size_t tn_growth_next_bytes(const struct tn_growth_policy *policy,
                            const struct tn_growth_state *state, size_t asked_bytes,
                            size_t needed_bytes)
{
    enum {
        STEPS = 64
    };
    if (asked_bytes <= needed_bytes) return 0;
    /* The vendor rounds smaller sizes up to the granularity. */
    if (asked_bytes <= policy->granularity_bytes) return needed_bytes;
    size_t step = tn_growth_wishes_all(policy, state) ? state->device_free_bytes / STEPS
                                                      : asked_bytes - asked_bytes / 2;
    size_t less = asked_bytes - tn_min(step, asked_bytes);
    /* Rounded so that the sizes keep falling. */
    return tn_max(rounded_bytes(less, policy->granularity_bytes, asked_bytes - 1), needed_bytes);
}
