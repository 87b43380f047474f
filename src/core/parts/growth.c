/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* growth: wish, caps, need. */
#include "growth.h"

#include <stdint.h>

#include "../../base/arith.h"

/* A wish is at least one of so many parts of the bytes by which a pool grows that has nothing free. */
#define SCATTERED_PARTS 8

/* A wish is at most one of so many parts of what is left. With 4 parts some 40 pieces use up 100 GB. */
#define LEFT_PARTS 4

/* Slack for streams is taken in at most so many parts, and mostly in so many. */
#define SLACK_PARTS_MAX   8
#define SLACK_PARTS_USUAL 4

/* For a smaller wish the device is not asked how much it has free. */
#define ASKING_WISH_BYTES_MIN ((size_t)64 << 20)

/* Returns the bytes of which sizes are whole multiples where that is possible. */
static size_t granule_bytes(const struct tn_growth_policy *policy,
                            const struct tn_growth_state *state)
{
    bool is_large = state->footprint_bytes >= policy->common_granularity_bytes;
    return is_large ? tn_max(policy->granularity_bytes, policy->common_granularity_bytes)
                    : policy->granularity_bytes;
}

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
    return policy->takes_all && state->is_first;
}

/* Returns the product, or SIZE_MAX if a size_t cannot hold it. The factor may be infinite. */
static size_t multiplied(size_t bytes, double factor)
{
    if (bytes == 0) return 0;
    double product = factor * (double)bytes;
    return product < (double)SIZE_MAX ? (size_t)product : SIZE_MAX;
}

static size_t further_wish_bytes(const struct tn_growth_policy *policy,
                                 const struct tn_growth_state *state)
{
    size_t total = multiplied(state->used_bytes, policy->factor);
    size_t held = state->footprint_bytes;
    size_t least = multiplied(held, policy->factor - 1) / SCATTERED_PARTS;
    return tn_max(total > held ? total - held : 0, least);
}

static size_t wish_bytes(const struct tn_growth_policy *policy, const struct tn_growth_state *state)
{
    if (tn_growth_wishes_all(policy, state)) return state->device_free_bytes;
    return state->is_first ? policy->initial_bytes : further_wish_bytes(policy, state);
}

bool tn_growth_asks_device(const struct tn_growth_policy *policy,
                           const struct tn_growth_state *state, size_t needed_bytes)
{
    if (tn_growth_wishes_all(policy, state)) return true;
    size_t wish = tn_min(wish_bytes(policy, state), policy->growth_bytes_max);
    return !state->is_first && wish > needed_bytes && wish >= ASKING_WISH_BYTES_MIN;
}

/* Returns the bound on what a pool holds that grows by the need. */
static size_t bound_bytes(const struct tn_growth_policy *policy,
                          const struct tn_growth_state *state, size_t needed_bytes)
{
    size_t used_bytes;
    if (!tn_add_fits(state->used_bytes, needed_bytes, &used_bytes)) return SIZE_MAX;
    return multiplied(tn_max(used_bytes, state->used_bytes_max), policy->factor);
}

static size_t room_bytes(const struct tn_growth_policy *policy, const struct tn_growth_state *state,
                         size_t needed_bytes)
{
    if (state->course == TN_GROWTH_COURSE_FOR_ARENAS) return SIZE_MAX;
    size_t bound = bound_bytes(policy, state, needed_bytes), held = state->footprint_bytes;
    return bound > held ? bound - held : 0;
}

size_t tn_growth_excess_bytes(const struct tn_growth_policy *policy,
                              const struct tn_growth_state *state, size_t needed_bytes)
{
    size_t bound = bound_bytes(policy, state, needed_bytes), held;
    if (!tn_add_fits(state->footprint_bytes, needed_bytes, &held)) held = SIZE_MAX;
    return held > bound ? held - bound : 0;
}

/* Returns the cap on the wish for a further static pool. The vendor takes a granule at least, so a wish of one is
 * always allowed. The first static pool has an option of its own. */
static size_t further_bytes_max(const struct tn_growth_policy *policy,
                                const struct tn_growth_state *state)
{
    if (state->is_first) return SIZE_MAX;
    size_t part = tn_min(left_bytes(policy, state), state->device_free_bytes) / LEFT_PARTS;
    return tn_min(tn_max(part, granule_bytes(policy, state)), policy->growth_bytes_max);
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

/* Returns the need with room for the next ones, which may be a little larger: a whole multiple of a quarter of the power of two
 * below it. So pieces that take each other's places grow by a fifth on the mean, whatever the steps of the program. */
static size_t roomy_bytes(size_t needed_bytes)
{
    size_t rounded, quarter = (size_t)1 << tn_highest_bit(needed_bytes) >> 2;
    return tn_round_up_fits(needed_bytes, tn_max(quarter, 1), &rounded) ? rounded : needed_bytes;
}

/* Returns the wish within the caps but for the limit. */
static size_t capped_wish_bytes(const struct tn_growth_policy *policy,
                                const struct tn_growth_state *state, size_t needed_bytes,
                                size_t piece_bytes_max)
{
    size_t wish = wish_bytes(policy, state);
    size_t cap = further_bytes_max(policy, state);
    size_t most = tn_min(tn_min(cap, piece_bytes_max), state->refused_bytes - 1);
    if (tn_growth_wishes_all(policy, state)) {
        most = tn_min(most, wish);
    } else {
        while (wish >= state->refused_bytes)
            wish /= 2;
    }
    if (!state->is_first) {
        wish = tn_min(tn_min(wish, most), room_bytes(policy, state, needed_bytes));
        wish -= wish % tn_max(needed_bytes, 1);
    }
    return rounded_bytes(wish, granule_bytes(policy, state), most);
}

size_t tn_growth_first_bytes(const struct tn_growth_policy *policy,
                             const struct tn_growth_state *state, size_t needed_bytes)
{
    size_t left = left_bytes(policy, state);
    size_t piece_max = tn_min(policy->allocation_bytes_max, state->numbered_bytes_max);
    if (needed_bytes > tn_min(left, piece_max)) return 0;
    size_t wish = capped_wish_bytes(policy, state, needed_bytes, piece_max);
    size_t need = needed_bytes;
    if (state->course == TN_GROWTH_COURSE_MADE_WAY)
        need = tn_max(need, tn_min(roomy_bytes(need), room_bytes(policy, state, need)));
    if (wish < need) wish = rounded_bytes(need, granule_bytes(policy, state), piece_max);
    return tn_max(tn_min(wish, left), needed_bytes);
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
    if (!state->is_first) less -= less % needed_bytes;
    /* Rounded so that the sizes keep falling. */
    return tn_max(rounded_bytes(less, policy->granularity_bytes, asked_bytes - 1), needed_bytes);
}

/* --- steps --------------------------------------------------------------------------------------- */

/* A step is at most one of so many parts of what the pool holds with it. Then some 22 steps double what it holds. */
#define STEP_PARTS 32

/* A wish for steps is at least one of so many parts of what the pool holds. */
#define STEP_WISH_PARTS 64

size_t tn_growth_step_bytes_max(const struct tn_growth_policy *policy, size_t held_bytes,
                                size_t refused_bytes)
{
    size_t cap = tn_min(policy->growth_bytes_max, policy->allocation_bytes_max);
    size_t bytes = tn_min(held_bytes / STEP_PARTS, cap);
    while (bytes >= refused_bytes)
        bytes /= 2;
    return bytes;
}

size_t tn_growth_steps_wish_bytes(const struct tn_growth_policy *policy,
                                  const struct tn_growth_state *state)
{
    size_t held = state->footprint_bytes, total;
    size_t cap = tn_min(tn_growth_step_bytes_max(policy, held, state->refused_bytes),
                        left_bytes(policy, state) / LEFT_PARTS);
    if (!tn_add_fits(state->used_bytes, state->used_bytes / STEP_PARTS, &total)) total = SIZE_MAX;
    return tn_min(tn_max(total > held ? total - held : 0, held / STEP_WISH_PARTS), cap);
}

/* In parts of the most bytes in use: what the first bound is above them, and what is added to it at most. */
#define HELD_SHARE_PARTS  4
#define EXTRA_SHARE_PARTS 10

/* The bounds are at least so many units, since a pool cannot hold a part of one. */
#define HELD_UNITS_MIN 4

void tn_growth_note_need(struct tn_growth_need *need, size_t used_bytes)
{
    if (used_bytes > need->used_bytes_max) *need = (struct tn_growth_need){ used_bytes, 0 };
}

void tn_growth_note_moved(struct tn_growth_need *need, size_t moved_bytes)
{
    size_t most = need->used_bytes_max / EXTRA_SHARE_PARTS;
    need->extra_bytes += tn_min(moved_bytes / 2, most - need->extra_bytes);
}

/* The peak with so much on top of it and of the first step, within the limit. */
static size_t steps_bound_bytes(const struct tn_growth_policy *policy, size_t unit_bytes,
                                size_t used_bytes_max, size_t more_bytes)
{
    size_t bytes;
    if (policy->takes_all || !tn_add_fits(used_bytes_max, more_bytes, &bytes) ||
        !tn_add_fits(bytes, policy->initial_bytes, &bytes))
        bytes = SIZE_MAX;
    return tn_min(tn_max(bytes, HELD_UNITS_MIN * unit_bytes), policy->limit_bytes);
}

struct tn_growth_bounds tn_growth_steps_bounds(const struct tn_growth_policy *policy,
                                               size_t unit_bytes, const struct tn_growth_need *need,
                                               size_t used_bytes)
{
    struct tn_growth_need with_request = *need;
    tn_growth_note_need(&with_request, used_bytes);
    size_t most = with_request.used_bytes_max, share = most / HELD_SHARE_PARTS;
    return (struct tn_growth_bounds){
        .held_bytes = steps_bound_bytes(policy, unit_bytes, most, share + with_request.extra_bytes),
        .waiting_bytes =
            steps_bound_bytes(policy, unit_bytes, most, share + most / EXTRA_SHARE_PARTS),
    };
}

/* --- slack for streams --------------------------------------------------------------------------- */

static size_t slack_bytes(const struct tn_growth_policy *policy,
                          const struct tn_growth_state *state)
{
    return multiplied(state->used_bytes_max, policy->stream_slack);
}

size_t tn_growth_slack_bytes_max(const struct tn_growth_policy *policy,
                                 const struct tn_growth_state *state)
{
    size_t slack = slack_bytes(policy, state), most;
    if (slack == 0) return 0;
    if (!tn_add_fits(state->used_bytes_max, slack, &most)) most = SIZE_MAX;
    if (state->footprint_bytes >= most) return 0;
    size_t bytes = most - state->footprint_bytes;
    if (bytes < slack / SLACK_PARTS_MAX) return 0;
    (void)tn_round_up_fits(bytes, granule_bytes(policy, state), &bytes);
    return tn_min(tn_min(bytes, left_bytes(policy, state)), state->refused_bytes - 1);
}

size_t tn_growth_slack_bytes(const struct tn_growth_policy *policy,
                             const struct tn_growth_state *state, size_t needed_bytes)
{
    TN_ASSERT(needed_bytes > 0);
    size_t most = tn_growth_slack_bytes_max(policy, state);
    most = tn_min(most, tn_min(policy->allocation_bytes_max, state->numbered_bytes_max));
    most = tn_min(most, tn_max(policy->growth_bytes_max, needed_bytes));
    if (most < needed_bytes) return 0;
    size_t wish =
        tn_max(tn_min(slack_bytes(policy, state) / SLACK_PARTS_USUAL, most), needed_bytes);
    wish -= wish % needed_bytes;
    return tn_max(rounded_bytes(wish, granule_bytes(policy, state), most), needed_bytes);
}
