/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_growth: each rule by which the size of the next static pool is found, or of the next steps, as a claim. */
#include "core/parts/growth.h"

#include <math.h>
#include <stdbool.h>

#include "base/arith.h"
#include "harness/claims.h"
#include "harness/random.h"

#define KB ((size_t)1 << 10)
#define MB ((size_t)1 << 20)

/* No caps, and a granularity of 4 KB on all vendors. */
static const struct tn_growth_policy plain = {
    .initial_bytes = 64 * MB,
    .factor = 2.0,
    .growth_bytes_max = SIZE_MAX,
    .limit_bytes = SIZE_MAX,
    .allocation_bytes_max = SIZE_MAX,
    .granularity_bytes = 4 * KB,
    .common_granularity_bytes = 1,
};

static const struct tn_growth_state nothing_held = {
    .is_first = true,
    .refused_bytes = SIZE_MAX,
    .numbered_bytes_max = SIZE_MAX,
    .device_free_bytes = SIZE_MAX,
};

/* So many bytes are held, all were in use at some time, and so many of them are now. */
static struct tn_growth_state holding(size_t held_bytes, size_t used_bytes)
{
    struct tn_growth_state state = nothing_held;
    state.is_first = false;
    state.footprint_bytes = held_bytes;
    state.used_bytes = used_bytes;
    state.used_bytes_max = held_bytes;
    return state;
}

static void expect_first(const struct tn_growth_policy *policy, const struct tn_growth_state *state,
                         size_t needed, size_t expected)
{
    size_t first = tn_growth_first_bytes(policy, state, needed);
    if (first != expected) fail_msg("for %zu: %zu, not %zu", needed, first, expected);
}

/* Holding so much, all of it in use. */
static void expect_first_holding(const struct tn_growth_policy *policy, size_t held, size_t needed,
                                 size_t expected)
{
    struct tn_growth_state state = holding(held, held);
    expect_first(policy, &state, needed, expected);
}

/* Holding so much, some of it in use. */
static void expect_first_using(const struct tn_growth_policy *policy, size_t held, size_t used,
                               size_t needed, size_t expected)
{
    struct tn_growth_state state = holding(held, used);
    expect_first(policy, &state, needed, expected);
}

static void expect_next(const struct tn_growth_policy *policy, size_t asked, size_t needed,
                        size_t expected)
{
    size_t next = tn_growth_next_bytes(policy, &nothing_held, asked, needed);
    if (next != expected) fail_msg("after %zu: %zu, not %zu", asked, next, expected);
}

/* --- the wish ----------------------------------------------------------------------------------- */

static void the_first_static_pool_has_the_initial_size(void **state)
{
    expect_first(&plain, &nothing_held, 1, 64 * MB);
    expect_first(&plain, &nothing_held, 64 * MB - 4 * KB, 64 * MB);
    expect_first(&plain, &nothing_held, 64 * MB, 64 * MB);
}

static void a_need_beyond_the_initial_size_is_met(void **state)
{
    expect_first(&plain, &nothing_held, 64 * MB + 4 * KB, 64 * MB + 4 * KB);
    expect_first(&plain, &nothing_held, 700 * MB, 700 * MB);
}

static void without_an_initial_size_the_need_is_the_size(void **state)
{
    struct tn_growth_policy policy = plain;
    policy.initial_bytes = 0;
    expect_first(&policy, &nothing_held, 1, 4 * KB);
    expect_first(&policy, &nothing_held, 4 * KB - 1, 4 * KB);
    expect_first(&policy, &nothing_held, 4 * KB, 4 * KB);
    expect_first(&policy, &nothing_held, 4 * KB + 1, 8 * KB);
}

static void a_full_pool_grows_to_the_factor_times_what_it_holds(void **state)
{
    expect_first_holding(&plain, 64 * MB, 1, 64 * MB);
    expect_first_holding(&plain, 4 * KB, 1, 4 * KB);
    expect_first_holding(&plain, 64 * MB, 64 * MB, 64 * MB);
    expect_first_holding(&plain, 64 * MB, 64 * MB + 1, 64 * MB + 4 * KB);
}

static void a_pool_grows_to_the_factor_times_what_is_in_use(void **state)
{
    expect_first_using(&plain, 64 * MB, 48 * MB, 1, 32 * MB);
    expect_first_using(&plain, 64 * MB, 37 * MB, 1, 10 * MB);
    struct tn_growth_policy policy = plain;
    policy.factor = 3.0;
    expect_first_using(&policy, 64 * MB, 48 * MB, 1, 80 * MB);
}

/* Or else each of many small requests could need a piece of its own, while what is free is in parts too small. */
static void a_scattered_pool_grows_by_an_eighth(void **state)
{
    expect_first_using(&plain, 64 * MB, 36 * MB, 1, 8 * MB);
    expect_first_using(&plain, 64 * MB, 35 * MB, 1, 8 * MB);
    expect_first_using(&plain, 64 * MB, 0, 1, 8 * MB);
    expect_first_using(&plain, 64 * MB, 0, 9 * MB, 9 * MB);
    struct tn_growth_policy policy = plain;
    policy.factor = 1.5;
    expect_first_using(&policy, 64 * MB, 32 * MB, 1, 4 * MB);
}

static void a_pool_wishes_for_no_more_than_the_factor_times_its_peak(void **state)
{
    struct tn_growth_state scattered = holding(64 * MB, 10 * MB);
    scattered.used_bytes_max = 34 * MB;
    expect_first(&plain, &scattered, 1, 4 * MB);
    scattered.used_bytes_max = 34 * MB + 1; /* rounded up */
    expect_first(&plain, &scattered, 1, 4 * MB + 4 * KB);
    scattered.used_bytes_max = 32 * MB;
    expect_first(&plain, &scattered, 1, 4 * KB);
    expect_first(&plain, &scattered, 5 * MB, 5 * MB); /* but the need is met */
    expect_first(&plain, &scattered, 23 * MB, 23 * MB);
}

/* The bytes beyond that go back first, where they can. */
static void what_is_beyond_is_known_before_growth(void **state)
{
    struct tn_growth_state scattered = holding(64 * MB, 10 * MB);
    scattered.used_bytes_max = 40 * MB;
    assert_int_equal(tn_growth_excess_bytes(&plain, &scattered, 16 * MB), 0);
    assert_int_equal(tn_growth_excess_bytes(&plain, &scattered, 17 * MB), MB);
    assert_int_equal(tn_growth_excess_bytes(&plain, &scattered, 40 * MB), 4 * MB);
    assert_int_equal(tn_growth_excess_bytes(&plain, &scattered, 54 * MB), 0);
    assert_int_equal(tn_growth_excess_bytes(&plain, &scattered, SIZE_MAX), 0);
}

static void what_takes_the_place_of_other_pieces_has_room(void **state)
{
    struct tn_growth_state after = holding(0, 0);
    after.course = TN_GROWTH_COURSE_MADE_WAY;
    expect_first(&plain, &after, 65 * MB, 80 * MB);
    expect_first(&plain, &after, 80 * MB, 80 * MB);
    expect_first(&plain, &after, 80 * MB + 1, 96 * MB);
    expect_first(&plain, &after, 1, 4 * KB);
    expect_first(&plain, &after, SIZE_MAX, SIZE_MAX);
    after.used_bytes_max = 70 * MB;
    after.footprint_bytes = 66 * MB;
    expect_first(&plain, &after, 65 * MB, 74 * MB); /* within the factor times the most in use */
    after = holding(0, 0);
    after.course = TN_GROWTH_COURSE_MADE_WAY;
    after.is_first = true;
    expect_first(&plain, &after, 65 * MB, 80 * MB);
    expect_first(&plain, &after, 3 * MB, 64 * MB); /* the initial size */
    struct tn_growth_policy policy = plain;
    policy.limit_bytes = 70 * MB;
    expect_first(&policy, &after, 65 * MB, 70 * MB);
    policy.allocation_bytes_max = 66 * MB;
    expect_first(&policy, &after, 65 * MB, 66 * MB);
}

static void requests_of_one_size_fill_their_pieces(void **state)
{
    expect_first_holding(&plain, 64 * MB, 3 * MB, 63 * MB);
    expect_first_holding(&plain, 64 * MB, 32 * MB, 64 * MB);
    expect_first_holding(&plain, 64 * MB, 33 * MB, 33 * MB);
    expect_first_holding(&plain, 64 * MB, 3 * KB, 64 * MB); /* but for whole granules */
    expect_first(&plain, &nothing_held, 3 * MB, 64 * MB);
    struct tn_growth_policy policy = plain;
    policy.limit_bytes = 80 * MB;
    size_t held = 2 * MB, pieces = 1;
    for (; held < 80 * MB; pieces++) {
        struct tn_growth_state full = holding(held, held);
        size_t piece = tn_growth_first_bytes(&policy, &full, 2 * MB);
        assert_int_equal(piece % (2 * MB), 0);
        held += piece;
    }
    assert_int_equal(held, 80 * MB);
    assert_in_range(pieces, 6, 20);
}

static void the_factor_may_be_one_or_a_fraction_more(void **state)
{
    struct tn_growth_policy policy = plain;
    policy.factor = 1.0;
    expect_first_holding(&policy, 64 * MB, 1, 4 * KB); /* just the need */
    expect_first_using(&policy, 64 * MB, 32 * MB, 5 * KB, 8 * KB);
    policy.factor = 1.5;
    expect_first_holding(&policy, 64 * MB, 1, 32 * MB);
    expect_first_holding(&policy, 4 * KB, 1, 4 * KB); /* 2 KB, rounded up */
}

static void a_wish_that_no_size_holds_is_cut_down(void **state)
{
    static const double factors[] = { 1e15, 1e300, INFINITY };
    for (int i = 0; i < 3; i++) {
        struct tn_growth_policy policy = plain;
        policy.factor = factors[i];
        policy.allocation_bytes_max = 100 * MB;
        expect_first_holding(&policy, 64 * MB, 1, 100 * MB);
        expect_first_using(&policy, 64 * MB, 0, 1, 100 * MB);
    }
    /* A quarter of what sizes leave. */
    expect_first_holding(&plain, SIZE_MAX / 2, 1, tn_round_down(SIZE_MAX / 8 + 1, 4 * KB));
}

static void the_largest_needs_are_met_as_they_are(void **state)
{
    expect_first(&plain, &nothing_held, SIZE_MAX - 2, SIZE_MAX - 2);
    expect_first(&plain, &nothing_held, SIZE_MAX - 1, SIZE_MAX - 1);
    expect_first(&plain, &nothing_held, SIZE_MAX, SIZE_MAX);
    expect_first(&plain, &nothing_held, SIZE_MAX - 4 * KB, SIZE_MAX - 4 * KB + 1);
}

/* --- caps --------------------------------------------------------------------------------------- */

static void the_users_cap_cuts_the_wish(void **state)
{
    struct tn_growth_policy policy = plain;
    policy.growth_bytes_max = 50 * MB;
    expect_first(&policy, &nothing_held, 1, 64 * MB);
    expect_first_holding(&policy, 50 * MB - 4 * KB, 1, 50 * MB - 4 * KB);
    expect_first_holding(&policy, 50 * MB, 1, 50 * MB);
    expect_first_holding(&policy, 50 * MB + 4 * KB, 1, 50 * MB);
}

static void the_users_cap_does_not_cut_the_first(void **state)
{
    struct tn_growth_policy policy = plain;
    policy.growth_bytes_max = 32 * MB;
    expect_first(&policy, &nothing_held, 1, 64 * MB);
    expect_first_holding(&policy, 64 * MB, 1, 32 * MB);
}

static void the_users_cap_does_not_cut_the_need(void **state)
{
    struct tn_growth_policy policy = plain;
    policy.growth_bytes_max = 100 * MB;
    expect_first_holding(&policy, 64 * MB, 100 * MB, 100 * MB);
    expect_first_holding(&policy, 64 * MB, 100 * MB + 4 * KB, 100 * MB + 4 * KB);
    expect_first_holding(&policy, 64 * MB, 700 * MB, 700 * MB);
}

static void a_wish_takes_a_quarter_of_what_the_limit_leaves(void **state)
{
    struct tn_growth_policy policy = plain;
    policy.limit_bytes = 200 * MB;
    expect_first_holding(&policy, 40 * MB - 4 * KB, 1, 40 * MB - 4 * KB);
    expect_first_holding(&policy, 40 * MB, 1, 40 * MB);
    expect_first_holding(&policy, 40 * MB + 16 * KB, 1, 40 * MB - 4 * KB);
    expect_first_holding(&policy, 100 * MB, 1, 25 * MB);
    expect_first_holding(&policy, 100 * MB, 26 * MB, 26 * MB);
    expect_first_holding(&policy, 100 * MB, 100 * MB, 100 * MB);
    /* Less than a granule would cost the vendor one. */
    expect_first_holding(&policy, 200 * MB - 12 * KB, 1, 4 * KB);
    expect_first_holding(&policy, 200 * MB - 3 * KB, 1, 3 * KB);
}

static void the_first_takes_all_that_the_limit_leaves(void **state)
{
    struct tn_growth_policy tight = plain;
    tight.limit_bytes = 32 * MB;
    expect_first(&tight, &nothing_held, 1, 32 * MB);
}

static void a_wish_takes_a_quarter_of_what_the_device_has_free(void **state)
{
    struct tn_growth_state held = holding(64 * MB, 64 * MB);
    held.device_free_bytes = 256 * MB;
    expect_first(&plain, &held, 1, 64 * MB);
    held.device_free_bytes = 256 * MB - 16 * KB;
    expect_first(&plain, &held, 1, 64 * MB - 4 * KB);
    held.device_free_bytes = 100 * MB;
    expect_first(&plain, &held, 1, 25 * MB);
    expect_first(&plain, &held, 99 * MB, 99 * MB);
    /* The need is tried, whatever the vendor says. */
    held.device_free_bytes = 0;
    expect_first(&plain, &held, 1, 4 * KB);
    expect_first(&plain, &held, 5 * MB, 5 * MB);
    struct tn_growth_state first = nothing_held;
    first.device_free_bytes = 10 * MB;
    expect_first(&plain, &first, 1, 64 * MB);
}

static void expect_asks(const struct tn_growth_policy *policy, const struct tn_growth_state *state,
                        size_t needed, bool expected)
{
    if (tn_growth_asks_device(policy, state, needed) != expected)
        fail_msg("for %zu of %zu in use: %s", needed, state->used_bytes,
                 expected ? "does not ask" : "asks");
}

static void the_device_is_asked_for_large_wishes_alone(void **state)
{
    struct tn_growth_state held = holding(64 * MB, 64 * MB), nearly = holding(64 * MB, 63 * MB);
    expect_asks(&plain, &held, 1, true);
    expect_asks(&plain, &nearly, 1, false);
    expect_asks(&plain, &held, 64 * MB - 1, true);
    expect_asks(&plain, &held, 64 * MB, false); /* the wish is the need */
    expect_asks(&plain, &nothing_held, 1, false);
    struct tn_growth_policy policy = plain;
    policy.growth_bytes_max = 64 * MB;
    held = holding(1000 * MB, 1000 * MB);
    expect_asks(&policy, &held, 1, true);
    policy.growth_bytes_max--;
    expect_asks(&policy, &held, 1, false);
    policy.takes_all = true;
    expect_asks(&policy, &nothing_held, 1, true);
}

/* The pieces become smaller and smaller, and few. */
static void a_limit_is_used_up_by_few_pieces(void **state)
{
    struct tn_growth_policy policy = plain;
    policy.limit_bytes = (size_t)80 << 30;
    policy.growth_bytes_max = (size_t)512 << 20;
    policy.granularity_bytes = 2 * MB;
    size_t held = 8 * MB;
    int count = 1;
    for (; held < policy.limit_bytes; count++) {
        struct tn_growth_state full = holding(held, held);
        held += tn_growth_first_bytes(&policy, &full, 1);
    }
    assert_int_equal(held, policy.limit_bytes);
    assert_in_range(count, 160, 200);
}

static void a_need_beyond_the_limit_is_not_asked_for(void **state)
{
    struct tn_growth_policy policy = plain;
    policy.limit_bytes = 200 * MB;
    expect_first(&policy, &nothing_held, 200 * MB, 200 * MB);
    expect_first(&policy, &nothing_held, 200 * MB + 1, 0);
    expect_first_holding(&policy, 100 * MB, 100 * MB + 1, 0);
    expect_first_holding(&policy, 200 * MB - 1, 1, 1);
    expect_first_holding(&policy, 200 * MB - 1, 2, 0);
    expect_first_holding(&policy, 200 * MB, 1, 0);
    expect_first_holding(&policy, 200 * MB + 1, 1, 0);
    expect_first(&policy, &nothing_held, SIZE_MAX, 0);
}

static void the_vendors_cap_cuts_the_wish_and_refuses_the_need(void **state)
{
    struct tn_growth_policy policy = plain;
    policy.allocation_bytes_max = 50 * MB;
    expect_first_holding(&policy, 64 * MB, 1, 50 * MB);
    expect_first_holding(&policy, 64 * MB, 50 * MB - 1, 50 * MB);
    expect_first_holding(&policy, 64 * MB, 50 * MB, 50 * MB);
    expect_first_holding(&policy, 64 * MB, 50 * MB + 1, 0);
}

static void the_chunk_numbers_left_cut_the_wish_and_refuse_the_need(void **state)
{
    struct tn_growth_state almost_numbered = holding(64 * MB, 64 * MB);
    almost_numbered.numbered_bytes_max = 50 * MB;
    expect_first(&plain, &almost_numbered, 1, 50 * MB);
    expect_first(&plain, &almost_numbered, 50 * MB - 1, 50 * MB);
    expect_first(&plain, &almost_numbered, 50 * MB, 50 * MB);
    expect_first(&plain, &almost_numbered, 50 * MB + 1, 0);
    almost_numbered.numbered_bytes_max = 0;
    expect_first(&plain, &almost_numbered, 1, 0);
}

/* --- rounding ----------------------------------------------------------------------------------- */

static void sizes_are_rounded_up_to_the_granularity(void **state)
{
    struct tn_growth_policy policy = plain;
    policy.granularity_bytes = 2 * MB;
    policy.initial_bytes = 3 * MB;
    expect_first(&policy, &nothing_held, 1, 4 * MB);
    expect_first(&policy, &nothing_held, 4 * MB - 1, 4 * MB);
    expect_first(&policy, &nothing_held, 4 * MB, 4 * MB);
    expect_first(&policy, &nothing_held, 4 * MB + 1, 6 * MB);
    policy.granularity_bytes = 1;
    expect_first(&policy, &nothing_held, 4 * MB + 1, 4 * MB + 1);
}

/* So the same calls have the same places. */
static void sizes_are_the_same_on_all_vendors(void **state)
{
    struct tn_growth_policy host = plain, device = plain;
    host.common_granularity_bytes = device.common_granularity_bytes = TN_GROWTH_COMMON_GRANULARITY;
    host.limit_bytes = device.limit_bytes = 300 * MB;
    device.granularity_bytes = 2 * MB;
    struct random random = random_init(random_seed(5));
    for (size_t held = 2 * MB; held < 300 * MB;) {
        struct tn_growth_state now = holding(held, (size_t)random_below(&random, held));
        size_t needed = (size_t)random_below(&random, 9 * MB) + 1;
        size_t size = tn_growth_first_bytes(&host, &now, needed);
        assert_int_equal(tn_growth_first_bytes(&device, &now, needed), size);
        if (size == 0) break;
        assert_int_equal(size % (2 * MB), 0);
        held += size;
    }
    expect_first_using(&host, 2 * MB - 1, 0, 5 * KB, 2 * MB / 8);
    expect_first_using(&host, 2 * MB, 0, 5 * KB, 2 * MB);
}

static void sizes_are_rounded_down_where_the_vendor_ends(void **state)
{
    struct tn_growth_policy policy = plain;
    policy.granularity_bytes = 2 * MB;
    policy.allocation_bytes_max = 5 * MB;
    expect_first(&policy, &nothing_held, 1, 4 * MB);
    expect_first(&policy, &nothing_held, 4 * MB, 4 * MB);
    expect_first(&policy, &nothing_held, 4 * MB + 1, 4 * MB + 1);
    expect_first(&policy, &nothing_held, 5 * MB, 5 * MB);
}

/* The vendor takes a whole granule for the last bytes of the limit anyway, and that is not the pool's. */
static void the_limit_is_used_to_the_last_byte(void **state)
{
    static const size_t limits[] = { 1, 2 * MB - 1, 2 * MB, 2 * MB + 1, 5 * MB, 6 * MB - 1 };
    struct tn_growth_policy policy = plain;
    policy.granularity_bytes = 2 * MB;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        policy.limit_bytes = limits[i];
        expect_first(&policy, &nothing_held, 1, limits[i]);
        expect_first(&policy, &nothing_held, limits[i], limits[i]);
        expect_first(&policy, &nothing_held, limits[i] + 1, 0);
    }
    policy.limit_bytes = 5 * MB;
    expect_first(&policy, &nothing_held, 4 * MB + 1, 5 * MB);
    expect_first_holding(&policy, 4 * MB, 1, 1 * MB);
    expect_first_holding(&policy, 2 * MB, 3 * MB, 3 * MB);
}

/* Also the initial size is no smaller than wished where the limit has room for the wish and not for rounding. */
static void an_initial_size_near_the_limit_is_had_in_full(void **state)
{
    struct tn_growth_policy policy = plain;
    policy.granularity_bytes = 2 * MB;
    for (size_t limit = 4 * MB - 1; limit <= 4 * MB + 1; limit++) {
        for (size_t initial = limit - 1; initial <= limit + 1; initial++) {
            policy.initial_bytes = initial;
            policy.limit_bytes = limit;
            size_t rounded = initial <= 4 * MB ? 4 * MB : 6 * MB;
            expect_first(&policy, &nothing_held, 1, tn_min(rounded, limit));
        }
    }
    policy.initial_bytes = 3 * MB;
    policy.limit_bytes = 3 * MB + 1;
    expect_first(&policy, &nothing_held, 1, 3 * MB + 1);
}

static void the_need_is_not_rounded_beyond_the_chunk_numbers(void **state)
{
    struct tn_growth_policy policy = plain;
    struct tn_growth_state almost_numbered = nothing_held;
    policy.granularity_bytes = 2 * MB;
    almost_numbered.numbered_bytes_max = 5 * MB;
    expect_first(&policy, &almost_numbered, 4 * MB + 1, 4 * MB + 1);
    expect_first(&policy, &almost_numbered, 5 * MB, 5 * MB);
}

static void caps_below_the_granularity_are_used_up(void **state)
{
    struct tn_growth_policy policy = plain;
    policy.granularity_bytes = 2 * MB;
    policy.limit_bytes = MB;
    expect_first(&policy, &nothing_held, 1, MB);
    expect_first(&policy, &nothing_held, MB, MB);
    policy.limit_bytes = SIZE_MAX;
    policy.growth_bytes_max = MB;
    expect_first_holding(&policy, MB, 1, MB);
    expect_first_holding(&policy, MB, MB, MB);
    expect_first_holding(&policy, MB, MB + 1, 2 * MB);
}

/* The user's cap is a promise: no further static pool is larger unless one request alone needs it. */
static void rounding_does_not_break_the_users_cap(void **state)
{
    struct tn_growth_policy policy = plain;
    policy.granularity_bytes = 2 * MB;
    policy.growth_bytes_max = 5 * MB;
    expect_first_holding(&policy, 40 * MB, 1, 4 * MB);
    expect_first_holding(&policy, 40 * MB, 3 * MB, 4 * MB);
}

/* --- what was refused --------------------------------------------------------------------------- */

static void a_refused_wish_halves_until_it_is_less(void **state)
{
    struct tn_growth_state refused = holding(64 * MB, 64 * MB);
    refused.refused_bytes = 64 * MB + 1;
    expect_first(&plain, &refused, 1, 64 * MB);
    refused.refused_bytes = 64 * MB;
    expect_first(&plain, &refused, 1, 32 * MB);
    refused.refused_bytes = 64 * MB - 1;
    expect_first(&plain, &refused, 1, 32 * MB);
    refused.refused_bytes = 32 * MB;
    expect_first(&plain, &refused, 1, 16 * MB);
    refused.refused_bytes = 5 * KB;
    expect_first(&plain, &refused, 1, 4 * KB);
}

static void a_refused_initial_size_is_not_repeated_either(void **state)
{
    struct tn_growth_state refused = nothing_held;
    refused.refused_bytes = 64 * MB;
    expect_first(&plain, &refused, 1, 32 * MB);
}

static void the_need_is_tried_whatever_was_refused(void **state)
{
    struct tn_growth_state refused = holding(64 * MB, 64 * MB);
    refused.refused_bytes = 32 * MB;
    expect_first(&plain, &refused, 32 * MB, 32 * MB);
    expect_first(&plain, &refused, 33 * MB, 33 * MB);
    expect_first(&plain, &refused, 500 * MB, 500 * MB);
    refused.refused_bytes = 1;
    expect_first(&plain, &refused, 8 * KB, 8 * KB);
}

static void rounding_does_not_repeat_what_was_refused(void **state)
{
    struct tn_growth_policy policy = plain;
    policy.granularity_bytes = 2 * MB;
    policy.initial_bytes = 7 * MB;
    struct tn_growth_state refused = nothing_held;
    refused.refused_bytes = 4 * MB;
    expect_first(&policy, &refused, 1, 2 * MB);
}

/* --- after a refusal ---------------------------------------------------------------------------- */

static void a_refused_size_halves(void **state)
{
    expect_next(&plain, 128 * MB, 1, 64 * MB);
    expect_next(&plain, 96 * KB, 4 * KB, 48 * KB);
    expect_next(&plain, 12 * KB, 4 * KB, 8 * KB); /* 6 KB, rounded up */
}

/* Or a rest would be of no use to requests of that size. */
static void a_refused_size_falls_to_whole_multiples_of_the_need(void **state)
{
    const struct tn_growth_state held = holding(MB, MB);
    assert_int_equal(tn_growth_next_bytes(&plain, &held, 10 * MB, 2 * MB), 4 * MB);
    assert_int_equal(tn_growth_next_bytes(&plain, &held, 5 * MB, 3 * MB), 3 * MB);
    assert_int_equal(tn_growth_next_bytes(&plain, &held, 21 * MB, 3 * MB), 9 * MB);
}

static void halving_ends_exactly_at_the_need(void **state)
{
    expect_next(&plain, 128 * MB, 64 * MB - 1, 64 * MB);
    expect_next(&plain, 128 * MB, 64 * MB, 64 * MB);
    expect_next(&plain, 128 * MB, 64 * MB + 1, 64 * MB + 1);
    expect_next(&plain, 128 * MB, 128 * MB - 1, 128 * MB - 1);
    expect_next(&plain, 8 * KB, 1, 4 * KB);
    expect_next(&plain, 4 * KB, 1, 1); /* less is the same to the vendor */
    expect_next(&plain, 2 * KB, 2 * KB - 1, 2 * KB - 1);
    expect_next(&plain, 2, 1, 1);
    expect_next(&plain, SIZE_MAX, SIZE_MAX - 1, SIZE_MAX - 1);
}

static void nothing_is_left_when_the_need_was_refused(void **state)
{
    expect_next(&plain, 64 * MB, 64 * MB, 0);
    expect_next(&plain, 64 * MB, 64 * MB + 1, 0);
    expect_next(&plain, 1, 1, 0);
    expect_next(&plain, SIZE_MAX, SIZE_MAX, 0);
}

static void halving_stays_on_the_granularity(void **state)
{
    struct tn_growth_policy policy = plain;
    policy.granularity_bytes = 2 * MB;
    expect_next(&policy, 10 * MB, MB, 6 * MB);
    expect_next(&policy, 6 * MB, MB, 4 * MB);
    expect_next(&policy, 4 * MB, MB, 2 * MB);
    expect_next(&policy, 2 * MB, MB, MB);
    expect_next(&policy, 3 * MB, MB, 2 * MB);
    expect_next(&policy, SIZE_MAX, 1, SIZE_MAX / 2 + 1);
}

/* --- for any numbers ---------------------------------------------------------------------------- */

static size_t random_bytes(struct random *random)
{
    static const size_t edges[] = { SIZE_MAX, SIZE_MAX - 1, SIZE_MAX - 2, SIZE_MAX / 2 + 1 };
    if (random_below(random, 8) == 0) return edges[random_below(random, 4)];
    return random_size(random, 40);
}

static struct tn_growth_policy random_policy(struct random *random)
{
    static const double factors[] = { 1.0, 1.1, 2.0, 10.0, 1e30 };
    return (struct tn_growth_policy){
        .initial_bytes = random_below(random, 4) == 0 ? 0 : random_bytes(random),
        .factor = factors[random_below(random, 5)],
        .growth_bytes_max = random_bytes(random),
        .limit_bytes = random_bytes(random),
        .allocation_bytes_max = random_bytes(random),
        .granularity_bytes = (size_t)1 << random_below(random, 22),
        .common_granularity_bytes = (size_t)1 << random_below(random, 22),
    };
}

static struct tn_growth_state random_state(struct random *random)
{
    size_t footprint = random_below(random, 3) == 0 ? 0 : random_bytes(random);
    return (struct tn_growth_state){
        .footprint_bytes = footprint,
        .used_bytes = footprint / (1 + random_below(random, 3)),
        .is_first = footprint == 0,
        .refused_bytes = random_bytes(random),
        .numbered_bytes_max = random_bytes(random),
        .device_free_bytes = random_below(random, 2) == 0 ? SIZE_MAX : random_bytes(random),
    };
}

static size_t ceiling_of(const struct tn_growth_policy *policy, const struct tn_growth_state *state)
{
    size_t held = tn_min(state->footprint_bytes, policy->limit_bytes);
    return tn_min(policy->limit_bytes - held,
                  tn_min(policy->allocation_bytes_max, state->numbered_bytes_max));
}

/* No less than the need, no more than is allowed; and no more than the need where it is more than what
 * the user wants or the vendor refused, but for rounding. */
static void expect_within_bounds(const struct tn_growth_policy *policy,
                                 const struct tn_growth_state *state, size_t needed, size_t first)
{
    size_t rounded_need = needed;
    size_t granule = policy->granularity_bytes;
    if (state->footprint_bytes >= policy->common_granularity_bytes)
        granule = tn_max(granule, policy->common_granularity_bytes);
    tn_round_up_fits(needed, granule, &rounded_need);
    assert_in_range(first, needed, ceiling_of(policy, state));
    if (first > rounded_need) {
        assert_in_range(first, 1, state->refused_bytes - 1);
        if (state->is_first) return;
        size_t left =
            tn_min(policy->limit_bytes - state->footprint_bytes, state->device_free_bytes);
        assert_in_range(first, 1, policy->growth_bytes_max);
        assert_in_range(first, 1, tn_max(left / 4, granule));
    }
}

/* Each size is less than the one before and no less than the need, which is the last. */
static void expect_falls_to_need(const struct tn_growth_policy *policy, size_t first, size_t needed)
{
    size_t asked = first;
    for (int tries = 0; asked != needed; tries++) {
        size_t next = tn_growth_next_bytes(policy, &nothing_held, asked, needed);
        assert_in_range(next, needed, asked - 1);
        assert_in_range(tries, 0, 100);
        asked = next;
    }
    assert_int_equal(tn_growth_next_bytes(policy, &nothing_held, needed, needed), 0);
}

static void whatever_the_numbers_the_rules_hold(void **state)
{
    struct random random = random_init(random_seed(4));
    for (int i = 0; i < 100000; i++) {
        struct tn_growth_policy policy = random_policy(&random);
        struct tn_growth_state held = random_state(&random);
        size_t needed = random_bytes(&random);
        size_t first = tn_growth_first_bytes(&policy, &held, needed);
        if (needed > ceiling_of(&policy, &held)) {
            assert_int_equal(first, 0);
            continue;
        }
        expect_within_bounds(&policy, &held, needed, first);
        expect_falls_to_need(&policy, first, needed);
    }
}

/* --- all there is ------------------------------------------------------------------------------- */

static void all_is_what_the_device_has_free_in_whole_pages(void **state)
{
    struct tn_growth_policy policy = plain;
    struct tn_growth_state held = nothing_held;
    policy.takes_all = true;
    held.device_free_bytes = 100 * MB + 4 * KB - 1;
    assert_true(tn_growth_wishes_all(&policy, &held));
    expect_first(&policy, &held, 1, 100 * MB);
    held.device_free_bytes++;
    expect_first(&policy, &held, 1, 100 * MB + 4 * KB);
    policy.growth_bytes_max = 30 * MB;
    expect_first(&policy, &held, 1, 100 * MB + 4 * KB);
    policy.limit_bytes = 20 * MB;
    expect_first(&policy, &held, 1, 20 * MB);
    held.refused_bytes = 10 * MB;
    expect_first(&policy, &held, 1, 10 * MB - 4 * KB);
    /* The need is tried, whatever the vendor says. */
    held.device_free_bytes = 0;
    expect_first(&policy, &held, 5 * KB, 8 * KB);
}

static void all_shrinks_by_64ths_down_to_the_need(void **state)
{
    struct tn_growth_policy policy = plain;
    struct tn_growth_state held = nothing_held;
    policy.takes_all = true;
    held.device_free_bytes = 64 * MB;
    size_t asked = tn_growth_first_bytes(&policy, &held, 3 * KB);
    for (size_t left = 63; left > 0; left--) {
        asked = tn_growth_next_bytes(&policy, &held, asked, 3 * KB);
        assert_int_equal(asked, left * MB);
    }
    asked = tn_growth_next_bytes(&policy, &held, asked, 3 * KB);
    assert_int_equal(asked, 3 * KB);
    assert_int_equal(tn_growth_next_bytes(&policy, &held, asked, 3 * KB), 0);
    /* Less than a page is no step. */
    held.device_free_bytes = 64 * KB;
    assert_int_equal(tn_growth_next_bytes(&policy, &held, 64 * KB, KB), 60 * KB);
}

static void only_the_first_is_all(void **state)
{
    struct tn_growth_policy policy = plain;
    policy.takes_all = true;
    struct tn_growth_state held = holding(10 * MB, 10 * MB);
    held.device_free_bytes = 500 * MB;
    assert_false(tn_growth_wishes_all(&policy, &held));
    expect_first(&policy, &held, 1, 10 * MB);
    assert_int_equal(tn_growth_next_bytes(&policy, &held, 20 * MB, 1), 10 * MB);
}

/* --- steps --------------------------------------------------------------------------------------- */

static void expect_wish(const struct tn_growth_policy *policy, size_t held, size_t used,
                        size_t expected)
{
    struct tn_growth_state state = holding(held, used);
    size_t wish = tn_growth_steps_wish_bytes(policy, &state);
    if (wish != expected)
        fail_msg("holding %zu, using %zu: %zu, not %zu", held, used, wish, expected);
}

static void a_step_is_a_32nd_of_what_is_held(void **state)
{
    assert_int_equal(tn_growth_step_bytes_max(&plain, 0, SIZE_MAX), 0);
    assert_int_equal(tn_growth_step_bytes_max(&plain, 31, SIZE_MAX), 0);
    assert_int_equal(tn_growth_step_bytes_max(&plain, 128 * MB, SIZE_MAX), 4 * MB);
    assert_int_equal(tn_growth_step_bytes_max(&plain, SIZE_MAX, SIZE_MAX), SIZE_MAX / 32);
}

static void caps_cut_a_step(void **state)
{
    struct tn_growth_policy policy = plain;
    policy.growth_bytes_max = 3 * MB;
    assert_int_equal(tn_growth_step_bytes_max(&policy, 128 * MB, SIZE_MAX), 3 * MB);
    policy.allocation_bytes_max = MB;
    assert_int_equal(tn_growth_step_bytes_max(&policy, 128 * MB, SIZE_MAX), MB);
    expect_wish(&policy, 64 * MB, 64 * MB, MB);
}

static void a_step_is_less_than_what_was_refused(void **state)
{
    assert_int_equal(tn_growth_step_bytes_max(&plain, 128 * MB, 4 * MB + 1), 4 * MB);
    assert_int_equal(tn_growth_step_bytes_max(&plain, 128 * MB, 4 * MB), 2 * MB);
    assert_int_equal(tn_growth_step_bytes_max(&plain, 128 * MB, MB), MB / 2);
    assert_int_equal(tn_growth_step_bytes_max(&plain, 128 * MB, 1), 0);
}

static void steps_are_wished_for_up_to_33_32nds_of_what_is_in_use(void **state)
{
    expect_wish(&plain, 128 * MB, 128 * MB, 4 * MB);
    expect_wish(&plain, 129 * MB, 128 * MB, 3 * MB);
    /* Never less than a 64th of what is held. */
    expect_wish(&plain, 132 * MB, 128 * MB, 132 * MB / 64);
    expect_wish(&plain, 64 * MB, 0, MB);
    expect_wish(&plain, SIZE_MAX / 2, SIZE_MAX / 2, SIZE_MAX / 2 / 32);
    expect_wish(&plain, SIZE_MAX - 127, SIZE_MAX - 127, 127 / 4); /* the sum overflows */
}

static void wished_steps_are_a_quarter_of_what_the_limit_leaves(void **state)
{
    struct tn_growth_policy policy = plain;
    policy.limit_bytes = 80 * MB;
    expect_wish(&policy, 64 * MB, 64 * MB, 2 * MB);
    policy.limit_bytes = 68 * MB;
    expect_wish(&policy, 64 * MB, 64 * MB, MB);
    policy.limit_bytes = 64 * MB;
    expect_wish(&policy, 64 * MB, 64 * MB, 0);
    policy.limit_bytes = 63 * MB;
    expect_wish(&policy, 64 * MB, 64 * MB, 0);
}

/* --- bounds -------------------------------------------------------------------------------------- */

static void expect_bounds(const struct tn_growth_policy *policy, const struct tn_growth_need *need,
                          size_t used_bytes, size_t held_bytes, size_t waiting_bytes)
{
    struct tn_growth_bounds bounds = tn_growth_steps_bounds(policy, 2 * MB, need, used_bytes);
    assert_int_equal(bounds.held_bytes, held_bytes);
    assert_int_equal(bounds.waiting_bytes, waiting_bytes);
}

/* No first step, and no limit. */
static struct tn_growth_policy unbounded(void)
{
    struct tn_growth_policy policy = plain;
    policy.initial_bytes = 0;
    policy.limit_bytes = SIZE_MAX;
    return policy;
}

static void steps_are_bounded_by_the_most_in_use(void **state)
{
    struct tn_growth_policy policy = unbounded();
    struct tn_growth_need need = { 0, 0 };
    expect_bounds(&policy, &need, 400 * MB, 500 * MB, 540 * MB);
    tn_growth_note_need(&need, 400 * MB);
    expect_bounds(&policy, &need, 1, 500 * MB, 540 * MB);
    expect_bounds(&policy, &need, 800 * MB, 1000 * MB, 1080 * MB);
    /* Four units at least. */
    expect_bounds(&policy, &(struct tn_growth_need){ 0, 0 }, 1, 8 * MB, 8 * MB);
}

static void the_first_step_and_the_limit_bound_steps_too(void **state)
{
    struct tn_growth_policy policy = unbounded();
    struct tn_growth_need need = { 400 * MB, 0 };
    policy.initial_bytes = 100 * MB;
    expect_bounds(&policy, &need, 1, 600 * MB, 640 * MB);
    policy.limit_bytes = 620 * MB;
    expect_bounds(&policy, &need, 1, 600 * MB, 620 * MB);
    policy.limit_bytes = 450 * MB;
    expect_bounds(&policy, &need, 1, 450 * MB, 450 * MB);
    policy.limit_bytes = SIZE_MAX;
    policy.takes_all = true;
    expect_bounds(&policy, &need, 1, SIZE_MAX, SIZE_MAX);
    policy = unbounded();
    expect_bounds(&policy, &need, SIZE_MAX, SIZE_MAX, SIZE_MAX); /* the sum overflows */
}

static void moving_wears_itself_out_until_more_is_in_use(void **state)
{
    struct tn_growth_policy policy = unbounded();
    struct tn_growth_need need = { 400 * MB, 0 };
    tn_growth_note_moved(&need, 20 * MB);
    expect_bounds(&policy, &need, 1, 510 * MB, 540 * MB);
    tn_growth_note_moved(&need, SIZE_MAX);
    expect_bounds(&policy, &need, 1, 540 * MB, 540 * MB);
    tn_growth_note_need(&need, 400 * MB);
    expect_bounds(&policy, &need, 400 * MB, 540 * MB, 540 * MB);
    expect_bounds(&policy, &need, 440 * MB, 550 * MB, 594 * MB);
    tn_growth_note_need(&need, 440 * MB);
    expect_bounds(&policy, &need, 1, 550 * MB, 594 * MB);
}

/* --- slack for streams ------------------------------------------------------------------------------- */

/* Holding so much, all of it in use once, with a slack of a quarter. */
static struct tn_growth_policy with_slack(double slack)
{
    struct tn_growth_policy policy = plain;
    policy.stream_slack = slack;
    return policy;
}

static void expect_slack(const struct tn_growth_policy *policy, size_t held, size_t used_max,
                         size_t needed, size_t expected)
{
    struct tn_growth_state state = holding(held, 0);
    state.used_bytes_max = used_max;
    size_t bytes = tn_growth_slack_bytes(policy, &state, needed);
    if (bytes != expected) fail_msg("for %zu: %zu, not %zu", needed, bytes, expected);
}

static void without_slack_there_is_no_growth_for_streams(void **state)
{
    expect_slack(&plain, 64 * MB, 64 * MB, 1, 0);
}

static void slack_is_taken_in_quarters(void **state)
{
    struct tn_growth_policy policy = with_slack(0.25);
    expect_slack(&policy, 64 * MB, 64 * MB, 1, 4 * MB);
    expect_slack(&policy, 68 * MB, 64 * MB, 1, 4 * MB);
    expect_slack(&policy, 76 * MB, 64 * MB, 1, 4 * MB);
    expect_slack(&policy, 80 * MB, 64 * MB, 1, 0);
    expect_slack(&policy, 200 * MB, 64 * MB, 1, 0);
}

static void a_request_may_need_more_of_the_slack(void **state)
{
    struct tn_growth_policy policy = with_slack(0.25);
    expect_slack(&policy, 64 * MB, 64 * MB, 15 * MB, 15 * MB);
    expect_slack(&policy, 64 * MB, 64 * MB, 16 * MB, 16 * MB);
    expect_slack(&policy, 64 * MB, 64 * MB, 16 * MB + 1, 0);
}

static void slack_is_not_taken_in_many_small_pieces(void **state)
{
    struct tn_growth_policy policy = with_slack(0.25);
    expect_slack(&policy, 78 * MB, 64 * MB, 1, 2 * MB);
    expect_slack(&policy, 78 * MB + 1, 64 * MB, 1, 0);
}

/* Small pools could have none else. */
static void slack_is_rounded_up_to_a_granule(void **state)
{
    struct tn_growth_policy policy = with_slack(0.25);
    policy.common_granularity_bytes = 2 * MB;
    expect_slack(&policy, 12 * MB, 12 * MB, 1, 2 * MB);
    expect_slack(&policy, 14 * MB, 12 * MB, 1, 2 * MB);
    expect_slack(&policy, 16 * MB, 12 * MB, 1, 0);
    expect_slack(&policy, MB, MB, 1, 64 * KB);
}

static void all_caps_bound_the_slack(void **state)
{
    struct tn_growth_policy policy = with_slack(0.25);
    policy.limit_bytes = 67 * MB;
    expect_slack(&policy, 64 * MB, 64 * MB, 1, 3 * MB);
    expect_slack(&policy, 64 * MB, 64 * MB, 3 * MB + 1, 0);
    policy = with_slack(0.25);
    policy.growth_bytes_max = MB;
    expect_slack(&policy, 64 * MB, 64 * MB, 1, MB);
    expect_slack(&policy, 64 * MB, 64 * MB, 2 * MB, 2 * MB);
    policy = with_slack(0.25);
    policy.allocation_bytes_max = 2 * MB;
    expect_slack(&policy, 64 * MB, 64 * MB, 1, 2 * MB);
    expect_slack(&policy, 64 * MB, 64 * MB, 3 * MB, 0);
    policy = with_slack(0.25);
    struct tn_growth_state held = holding(64 * MB, 0);
    held.used_bytes_max = 64 * MB;
    held.refused_bytes = 4 * MB;
    assert_int_equal(tn_growth_slack_bytes(&policy, &held, 1), 4 * MB - 4 * KB);
    assert_int_equal(tn_growth_slack_bytes(&policy, &held, 4 * MB), 0);
    held.refused_bytes = SIZE_MAX;
    held.numbered_bytes_max = MB;
    assert_int_equal(tn_growth_slack_bytes(&policy, &held, 1), MB);
    assert_int_equal(tn_growth_slack_bytes(&policy, &held, MB + 1), 0);
}

static void the_largest_slack_does_not_overflow(void **state)
{
    struct tn_growth_policy policy = with_slack(8.0);
    expect_slack(&policy, 1, SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / 2 + 1); /* rounded */
    expect_slack(&policy, SIZE_MAX, SIZE_MAX, 1, 0);
    expect_slack(&policy, 0, 0, 1, 0);
}

/* Whatever the numbers, the bound holds, and the need is met or nothing is asked for. */
static void whatever_the_numbers_the_slack_is_bounded(void **state)
{
    struct random dice = random_init(random_seed(1));
    for (int i = 0; i < 100000; i++) {
        struct tn_growth_policy policy = with_slack((double)random_below(&dice, 33) / 4);
        if (random_below(&dice, 2) == 0) policy.common_granularity_bytes = 2 * MB;
        if (random_below(&dice, 2) == 0) policy.limit_bytes = (size_t)random_size(&dice, 40);
        if (random_below(&dice, 2) == 0) policy.growth_bytes_max = (size_t)random_size(&dice, 40);
        size_t held = (size_t)random_size(&dice, 38), used = (size_t)random_size(&dice, 38);
        size_t needed = 1 + (size_t)random_size(&dice, 38);
        struct tn_growth_state holds = holding(held, 0);
        holds.used_bytes_max = used;
        size_t bytes = tn_growth_slack_bytes(&policy, &holds, needed);
        if (bytes == 0) continue;
        size_t granule = held >= 2 * MB ? tn_max(4 * KB, policy.common_granularity_bytes) : 4 * KB;
        size_t most = used + (size_t)((double)used * policy.stream_slack);
        assert_true(bytes >= needed);
        assert_true(held < most && held + bytes < most + granule);
        assert_true(held + bytes <= policy.limit_bytes);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_static_pool_has_the_initial_size),
        cmocka_unit_test(a_need_beyond_the_initial_size_is_met),
        cmocka_unit_test(without_an_initial_size_the_need_is_the_size),
        cmocka_unit_test(a_full_pool_grows_to_the_factor_times_what_it_holds),
        cmocka_unit_test(a_pool_grows_to_the_factor_times_what_is_in_use),
        cmocka_unit_test(a_scattered_pool_grows_by_an_eighth),
        cmocka_unit_test(a_pool_wishes_for_no_more_than_the_factor_times_its_peak),
        cmocka_unit_test(what_is_beyond_is_known_before_growth),
        cmocka_unit_test(what_takes_the_place_of_other_pieces_has_room),
        cmocka_unit_test(requests_of_one_size_fill_their_pieces),
        cmocka_unit_test(the_factor_may_be_one_or_a_fraction_more),
        cmocka_unit_test(a_wish_that_no_size_holds_is_cut_down),
        cmocka_unit_test(the_largest_needs_are_met_as_they_are),
        cmocka_unit_test(the_users_cap_cuts_the_wish),
        cmocka_unit_test(the_users_cap_does_not_cut_the_first),
        cmocka_unit_test(the_users_cap_does_not_cut_the_need),
        cmocka_unit_test(a_wish_takes_a_quarter_of_what_the_limit_leaves),
        cmocka_unit_test(the_first_takes_all_that_the_limit_leaves),
        cmocka_unit_test(a_wish_takes_a_quarter_of_what_the_device_has_free),
        cmocka_unit_test(the_device_is_asked_for_large_wishes_alone),
        cmocka_unit_test(a_limit_is_used_up_by_few_pieces),
        cmocka_unit_test(a_need_beyond_the_limit_is_not_asked_for),
        cmocka_unit_test(the_vendors_cap_cuts_the_wish_and_refuses_the_need),
        cmocka_unit_test(the_chunk_numbers_left_cut_the_wish_and_refuse_the_need),
        cmocka_unit_test(sizes_are_rounded_up_to_the_granularity),
        cmocka_unit_test(sizes_are_the_same_on_all_vendors),
        cmocka_unit_test(sizes_are_rounded_down_where_the_vendor_ends),
        cmocka_unit_test(the_limit_is_used_to_the_last_byte),
        cmocka_unit_test(an_initial_size_near_the_limit_is_had_in_full),
        cmocka_unit_test(the_need_is_not_rounded_beyond_the_chunk_numbers),
        cmocka_unit_test(caps_below_the_granularity_are_used_up),
        cmocka_unit_test(rounding_does_not_break_the_users_cap),
        cmocka_unit_test(a_refused_wish_halves_until_it_is_less),
        cmocka_unit_test(a_refused_initial_size_is_not_repeated_either),
        cmocka_unit_test(the_need_is_tried_whatever_was_refused),
        cmocka_unit_test(rounding_does_not_repeat_what_was_refused),
        cmocka_unit_test(a_refused_size_halves),
        cmocka_unit_test(a_refused_size_falls_to_whole_multiples_of_the_need),
        cmocka_unit_test(halving_ends_exactly_at_the_need),
        cmocka_unit_test(nothing_is_left_when_the_need_was_refused),
        cmocka_unit_test(halving_stays_on_the_granularity),
        cmocka_unit_test(whatever_the_numbers_the_rules_hold),
        cmocka_unit_test(all_is_what_the_device_has_free_in_whole_pages),
        cmocka_unit_test(all_shrinks_by_64ths_down_to_the_need),
        cmocka_unit_test(only_the_first_is_all),
        cmocka_unit_test(a_step_is_a_32nd_of_what_is_held),
        cmocka_unit_test(caps_cut_a_step),
        cmocka_unit_test(a_step_is_less_than_what_was_refused),
        cmocka_unit_test(steps_are_wished_for_up_to_33_32nds_of_what_is_in_use),
        cmocka_unit_test(wished_steps_are_a_quarter_of_what_the_limit_leaves),
        cmocka_unit_test(steps_are_bounded_by_the_most_in_use),
        cmocka_unit_test(the_first_step_and_the_limit_bound_steps_too),
        cmocka_unit_test(moving_wears_itself_out_until_more_is_in_use),
        cmocka_unit_test(without_slack_there_is_no_growth_for_streams),
        cmocka_unit_test(slack_is_taken_in_quarters),
        cmocka_unit_test(a_request_may_need_more_of_the_slack),
        cmocka_unit_test(slack_is_not_taken_in_many_small_pieces),
        cmocka_unit_test(slack_is_rounded_up_to_a_granule),
        cmocka_unit_test(all_caps_bound_the_slack),
        cmocka_unit_test(the_largest_slack_does_not_overflow),
        cmocka_unit_test(whatever_the_numbers_the_slack_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
