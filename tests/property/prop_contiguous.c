/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Random allocations, aligned ones among them, frees and trims on a contiguous pool, beside a model that knows
 * of each unit which step it belongs to, and of each chunk whether it is live. Steps are of one unit each, or follow the
 * size of the pool. The model looks at every place there is:
 *  - what fits is placed by best fit over what is mapped, and nothing is mapped for it;
 *  - what does not is placed where it misses the fewest units. No others are mapped, or, where steps follow the size, as
 *    many as the rule says;
 *  - when it is refused, no place would do, even if all free steps were unmapped for it;
 *  - free steps go for it only if the pool would hold more than 5/4 of the most that was in use, and afterwards it holds no
 *    more than 27/20, unless no free step is left outside the place.
 */
#include "harness/claims.h"
#include "harness/random.h"
#include "harness/test_backend.h"

enum {
    LIVE_MAX = 200,
    CHUNKS_MAX = 10240,
    LIMIT_UNITS_MAX = 160,
    RANGE_UNITS_MAX = 8 * LIMIT_UNITS_MAX,
    UNMAPPED = 0
};

#define NOWHERE SIZE_MAX

struct block {
    char *address;
    size_t first_chunk, chunk_count;
};

struct pair {
    struct random random;
    struct test_backend backend;
    tarn_pool *pool;
    size_t chunk_bytes;
    size_t unit_chunks; /* of one unit */
    size_t limit_units, range_units;
    bool is_growing;                   /* steps follow the size of the pool */
    uintptr_t base;                    /* 0 until the pool has told of it */
    uint64_t step_of[RANGE_UNITS_MAX]; /* id, or UNMAPPED */
    bool is_live[CHUNKS_MAX];
    struct block live[LIVE_MAX];
    size_t live_count;
    size_t created_count, destroyed_count; /* units since the call began */
    size_t largest_created;                /* units of a step */
    size_t used_bytes_max;                 /* the most, with the request when the pool grew */
    size_t step;
};

/* --- the model ---------------------------------------------------------------------------------- */

static size_t chunk_count_of(const struct pair *pair)
{
    return pair->range_units * pair->unit_chunks;
}

static size_t mapped_count(const struct pair *pair)
{
    size_t count = 0;
    for (size_t i = 0; i < pair->range_units; i++)
        count += pair->step_of[i] != UNMAPPED;
    return count;
}

static bool is_free(const struct pair *pair, size_t chunk)
{
    return pair->step_of[chunk / pair->unit_chunks] != UNMAPPED && !pair->is_live[chunk];
}

static bool is_unit_free(const struct pair *pair, size_t unit)
{
    for (size_t i = 0; i < pair->unit_chunks; i++) {
        if (!is_free(pair, unit * pair->unit_chunks + i)) return false;
    }
    return true;
}

/* The first unit of the step that a unit belongs to, and how many it has. */
static size_t whole_step(const struct pair *pair, size_t unit, size_t *unit_count_out)
{
    size_t first = unit, end = unit + 1;
    while (first > 0 && pair->step_of[first - 1] == pair->step_of[unit])
        first--;
    while (end < pair->range_units && pair->step_of[end] == pair->step_of[unit])
        end++;
    *unit_count_out = end - first;
    return first;
}

/* Whether the unit's step can go. */
static bool is_wholly_free(const struct pair *pair, size_t unit)
{
    size_t count, first = pair->step_of[unit] != UNMAPPED ? whole_step(pair, unit, &count) : 0;
    if (pair->step_of[unit] == UNMAPPED) return false;
    for (size_t i = first; i < first + count; i++) {
        if (!is_unit_free(pair, i)) return false;
    }
    return true;
}

static bool is_aligned(const struct pair *pair, size_t chunk, size_t alignment)
{
    return (pair->base + chunk * pair->chunk_bytes) % alignment == 0;
}

/* The first place in the smallest free run that has one, and how large that run is. */
static size_t best_fit(const struct pair *pair, size_t chunk_count, size_t alignment)
{
    size_t best = NOWHERE, best_length = SIZE_MAX, end = chunk_count_of(pair);
    for (size_t first = 0; first < end;) {
        size_t length = 0, lead = 0;
        while (first + length < end && is_free(pair, first + length))
            length++;
        while (!is_aligned(pair, first + lead, alignment))
            lead++;
        if (lead + chunk_count <= length && length < best_length) {
            best = first + lead;
            best_length = length;
        }
        first += length > 0 ? length : 1;
    }
    return best;
}

/* The least number of units that any place misses. A wholly free step counts as missing if so told. */
static size_t fewest_missing(const struct pair *pair, size_t chunk_count, size_t alignment,
                             bool counts_free_steps)
{
    size_t fewest = SIZE_MAX;
    bool is_missing[RANGE_UNITS_MAX];
    for (size_t i = 0; i < pair->range_units; i++)
        is_missing[i] =
            pair->step_of[i] == UNMAPPED || (counts_free_steps && is_wholly_free(pair, i));
    for (size_t first = 0; first + chunk_count <= chunk_count_of(pair); first++) {
        if (!is_aligned(pair, first, alignment)) continue;
        bool is_possible = true;
        for (size_t i = first; i < first + chunk_count && is_possible; i++)
            is_possible = !pair->is_live[i];
        if (!is_possible) continue;
        size_t missing = 0;
        for (size_t i = first / pair->unit_chunks;
             i <= (first + chunk_count - 1) / pair->unit_chunks; i++)
            missing += is_missing[i];
        if (missing < fewest) fewest = missing;
    }
    return fewest;
}

/* --- what the pool tells ------------------------------------------------------------------------ */

static size_t unit_of(const struct pair *pair, const void *base, size_t size_bytes)
{
    size_t unit_bytes = pair->unit_chunks * pair->chunk_bytes;
    assert_int_equal(size_bytes % unit_bytes, 0);
    if (!pair->is_growing) assert_int_equal(size_bytes, unit_bytes);
    assert_int_equal(((uintptr_t)base - pair->base) % unit_bytes, 0);
    return ((uintptr_t)base - pair->base) / unit_bytes;
}

static void note_created(void *user, void *base, size_t size_bytes, uint64_t id)
{
    struct pair *pair = user;
    if (pair->base == 0) pair->base = (uintptr_t)base;
    size_t unit = unit_of(pair, base, size_bytes);
    size_t count = size_bytes / (pair->unit_chunks * pair->chunk_bytes);
    for (size_t i = unit; i < unit + count; i++) {
        assert_true(pair->step_of[i] == UNMAPPED);
        pair->step_of[i] = id;
    }
    pair->created_count += count;
    if (count > pair->largest_created) pair->largest_created = count;
}

static void note_destroyed(void *user, void *base, size_t size_bytes, uint64_t id)
{
    struct pair *pair = user;
    size_t unit = unit_of(pair, base, size_bytes), count;
    assert_true(is_wholly_free(pair, unit));
    assert_int_equal(whole_step(pair, unit, &count), unit);
    assert_int_equal(count * pair->unit_chunks * pair->chunk_bytes, size_bytes);
    for (size_t i = unit; i < unit + count; i++) {
        assert_int_equal(pair->step_of[i], id);
        pair->step_of[i] = UNMAPPED;
    }
    pair->destroyed_count += count;
}

/* --- both --------------------------------------------------------------------------------------- */

static void pair_init(struct pair *pair, uint64_t seed, size_t unit_chunks, size_t limit_units,
                      bool is_growing)
{
    memset(pair, 0, sizeof *pair);
    pair->random = random_init(seed);
    pair->unit_chunks = unit_chunks;
    /* Units that the pool chooses have 2 MiB, as the granularity. */
    pair->chunk_bytes = is_growing ? ((size_t)2 << 20) / unit_chunks : 1024;
    pair->limit_units = limit_units;
    pair->range_units = 8 * limit_units;
    pair->is_growing = is_growing;
    test_backend_init(&pair->backend);
    pair->backend.range_granularity_bytes = is_growing ? (size_t)2 << 20 : 4096;
    /* Whether the pool may know that the device is idle. */
    pair->backend.has_idle_unmaps = pair->backend.has_streams = pair->backend.has_device_events =
        seed % 2 == 0;
    pair->backend.completes_after = 1;
    tarn_backend backend = test_backend_open(&pair->backend);
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.backend = &backend;
    options.chunk_bytes = pair->chunk_bytes;
    options.initial_bytes = 0;
    options.limit_bytes = pair->limit_units * unit_chunks * pair->chunk_bytes;
    options.contiguous = true;
    options.step_bytes = is_growing ? 0 : unit_chunks * pair->chunk_bytes;
    options.slices = false; /* the model knows chunks */
    options.on_static_pool_created = note_created;
    options.on_static_pool_destroyed = note_destroyed;
    options.user = pair;
    expect_ok(tarn_pool_create(&options, &pair->pool));
}

static void pair_fini(struct pair *pair)
{
    for (size_t i = 0; i < pair->live_count; i++)
        expect_ok(tarn_pool_free(pair->pool, pair->live[i].address));
    memset(pair->is_live, 0, sizeof pair->is_live);
    expect_ok(tarn_pool_check(pair->pool));
    expect_ok(tarn_pool_destroy(pair->pool));
    assert_int_equal(mapped_count(pair), 0);
    assert_int_equal(pair->backend.piece_count, 0);
    assert_int_equal(pair->backend.misuse_count, 0);
}

/* As many units as are missing; where steps follow the size, up to the wish, in steps of a 32nd. */
static void expect_created(const struct pair *pair, size_t missing, size_t held, size_t used_bytes)
{
    size_t unit_bytes = pair->unit_chunks * pair->chunk_bytes, created = pair->created_count;
    if (!pair->is_growing || missing == 0) {
        assert_int_equal(created, missing);
        return;
    }
    size_t total_bytes = used_bytes + used_bytes / 32, held_bytes = held * unit_bytes;
    size_t wish = total_bytes > held_bytes ? (total_bytes - held_bytes) / unit_bytes : 0;
    size_t least = held / 64, room = (pair->limit_units - held) / 4;
    if (wish < least) wish = least;
    if (wish > held / 32) wish = held / 32;
    if (wish > room) wish = room;
    assert_in_range(created, missing, missing > wish ? missing : wish);
    size_t largest = (held + created) / 32;
    assert_in_range(pair->largest_created, 1, largest > 1 ? largest : 1);
}

/* So many parts of a hundred of the most in use, in whole units; four units at least. */
static size_t bound_units(const struct pair *pair, size_t parts)
{
    size_t bound = pair->used_bytes_max / 100 * parts / (pair->unit_chunks * pair->chunk_bytes);
    return bound > 4 ? bound : 4;
}

/* The pool has grown for a block at that place, and holds more than it is to: only because nothing else could go. */
static void expect_no_free_step_outside(const struct pair *pair, size_t place, size_t chunk_count)
{
    size_t first = place / pair->unit_chunks, last = (place + chunk_count - 1) / pair->unit_chunks;
    for (size_t unit = 0; unit < pair->range_units; unit++) {
        size_t count, begin = 0;
        if (!is_wholly_free(pair, unit)) continue;
        begin = whole_step(pair, unit, &count);
        if (begin > last || begin + count <= first)
            fail_msg("step %zu: unit %zu is free, and %zu units are held", pair->step, unit,
                     mapped_count(pair));
    }
}

static void allocate(struct pair *pair)
{
    if (pair->live_count == LIVE_MAX) return;
    size_t scale = pair->chunk_bytes / 1024;
    size_t size_bytes = (size_t)random_size(&pair->random, 18) * scale;
    size_t alignment =
        random_below(&pair->random, 4) == 0 ? scale << random_below(&pair->random, 18) : 1;
    size_t chunk_count = (size_bytes + pair->chunk_bytes - 1) / pair->chunk_bytes;
    size_t place = best_fit(pair, chunk_count, alignment);
    size_t missing = fewest_missing(pair, chunk_count, alignment, false);
    size_t least = fewest_missing(pair, chunk_count, alignment, true);
    size_t free_count = 0, room = pair->limit_units - mapped_count(pair);
    for (size_t i = 0; i < pair->range_units; i++)
        free_count += is_wholly_free(pair, i);

    tarn_stats stats = stats_of(pair->pool);
    size_t held = mapped_count(pair), used = stats.used_bytes;
    pair->created_count = pair->destroyed_count = pair->largest_created = 0;
    void *address = NULL;
    tarn_status status = tarn_pool_alloc_aligned(pair->pool, size_bytes, alignment, &address);
    if (status != TARN_STATUS_OK) {
        assert_true(status == TARN_STATUS_OVER_LIMIT || status == TARN_STATUS_OUT_OF_MEMORY);
        assert_true(place == NOWHERE);
        if (least != SIZE_MAX && least <= room + free_count)
            fail_msg("step %zu: %zu chunks are refused, but %zu units would do", pair->step,
                     chunk_count, least);
        return;
    }
    bool has_grown = place == NOWHERE;
    if (stats.used_bytes_max > pair->used_bytes_max) pair->used_bytes_max = stats.used_bytes_max;
    if (has_grown && used + chunk_count * pair->chunk_bytes > pair->used_bytes_max)
        pair->used_bytes_max = used + chunk_count * pair->chunk_bytes;
    if (!has_grown || (missing <= room && held + missing <= bound_units(pair, 125))) {
        assert_int_equal(pair->destroyed_count, 0);
        expect_created(pair, has_grown ? missing : 0, held, used);
    }
    if (pair->created_count > 0) place = best_fit(pair, chunk_count, alignment);
    if ((uintptr_t)address != pair->base + place * pair->chunk_bytes)
        fail_msg("step %zu: %zu chunks are at %p, not at chunk %zu", pair->step, chunk_count,
                 address, place);
    assert_int_equal((uintptr_t)address % alignment, 0);
    for (size_t i = place; i < place + chunk_count; i++) {
        assert_true(is_free(pair, i));
        pair->is_live[i] = true;
    }
    if (has_grown && mapped_count(pair) > bound_units(pair, 135))
        expect_no_free_step_outside(pair, place, chunk_count);
    pair->live[pair->live_count++] = (struct block){ address, place, chunk_count };
}

static void free_one(struct pair *pair)
{
    if (pair->live_count == 0) return;
    size_t i = (size_t)random_below(&pair->random, pair->live_count);
    struct block block = pair->live[i];
    pair->live[i] = pair->live[--pair->live_count];
    memset(&pair->is_live[block.first_chunk], 0, block.chunk_count);
    expect_ok(tarn_pool_free(pair->pool, block.address));
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_free(pair->pool, block.address));
}

/* Into what is mapped and free right behind. */
static void resize_one(struct pair *pair)
{
    if (pair->live_count == 0) return;
    struct block *block = &pair->live[random_below(&pair->random, pair->live_count)];
    size_t old_count = block->chunk_count, end = chunk_count_of(pair);
    size_t chunk_count = 1 + (size_t)random_below(&pair->random, 2 * old_count + 8);
    bool fits = block->first_chunk + chunk_count <= end;
    for (size_t i = old_count; i < chunk_count && fits; i++)
        fits = is_free(pair, block->first_chunk + i);
    expect_status(fits ? TARN_STATUS_OK : TARN_STATUS_NOT_IN_PLACE,
                  tarn_pool_resize(pair->pool, block->address, chunk_count * pair->chunk_bytes));
    if (!fits) return;
    memset(&pair->is_live[block->first_chunk], 0, old_count);
    memset(&pair->is_live[block->first_chunk], 1, chunk_count);
    block->chunk_count = chunk_count;
}

/* Whole free steps go, the highest first, but for those that would leave the pool with less than is kept. */
static void trim(struct pair *pair)
{
    static uint64_t expected[RANGE_UNITS_MAX];
    size_t held = mapped_count(pair), before = held, released_bytes;
    size_t keep = (size_t)random_below(&pair->random, pair->limit_units + 1);
    memcpy(expected, pair->step_of, sizeof expected);
    for (size_t unit = pair->range_units; unit-- > 0;) {
        size_t count;
        if (!is_wholly_free(pair, unit) || whole_step(pair, unit, &count) != unit) continue;
        if (held - count < keep || held < count) continue;
        held -= count;
        for (size_t i = unit; i < unit + count; i++)
            expected[i] = UNMAPPED;
    }
    size_t unit_bytes = pair->unit_chunks * pair->chunk_bytes;
    expect_ok(tarn_pool_trim(pair->pool, keep * unit_bytes, &released_bytes));
    assert_int_equal(released_bytes, (before - held) * unit_bytes);
    assert_memory_equal(expected, pair->step_of, sizeof expected);
}

static size_t count_told_steps(const struct pair *pair)
{
    size_t count = 0;
    for (size_t i = 0; i < pair->range_units; i++)
        count +=
            pair->step_of[i] != UNMAPPED && (i == 0 || pair->step_of[i] != pair->step_of[i - 1]);
    return count;
}

static void expect_same(struct pair *pair)
{
    size_t run_count = 0, largest = 0, length = 0;
    for (size_t chunk = 0; chunk < chunk_count_of(pair); chunk++) {
        length = is_free(pair, chunk) ? length + 1 : 0;
        run_count += length == 1;
        if (length > largest) largest = length;
    }
    tarn_stats stats = stats_of(pair->pool);
    assert_int_equal(stats.free_region_count, run_count);
    assert_int_equal(stats.largest_free_bytes, largest * pair->chunk_bytes);
    assert_int_equal(stats.live_count, pair->live_count);
    assert_int_equal(stats.static_pool_count, count_told_steps(pair));
    assert_int_equal(stats.footprint_bytes,
                     mapped_count(pair) * pair->unit_chunks * pair->chunk_bytes);
    assert_int_equal(stats.footprint_bytes, pair->backend.held_bytes);
}

static void one_step(struct pair *pair)
{
    unsigned towards_alloc = (pair->step / 300) % 2 == 0 ? 60 : 40;
    unsigned die = (unsigned)random_below(&pair->random, 112);
    if (die < towards_alloc) {
        allocate(pair);
    } else if (die < 100) {
        free_one(pair);
    } else if (die < 110) {
        resize_one(pair);
    } else {
        trim(pair);
    }
    expect_ok(tarn_pool_check(pair->pool));
    expect_same(pair);
}

static void run(uint64_t seed, size_t unit_chunks, size_t limit_units, bool is_growing,
                size_t steps)
{
    static struct pair pair;
    pair_init(&pair, seed, unit_chunks, limit_units, is_growing);
    for (pair.step = 0; pair.step < steps; pair.step++)
        one_step(&pair);
    pair_fini(&pair);
}

static void maps_and_places_as_the_model_does(void **state)
{
    uint64_t seed = random_seed(20260111);
    run(seed, 16, 20, false, 3000);
    run(seed + 1, 64, 20, false, 1500);
    run(seed + 2, 4, 20, false, 3000);
}

static void steps_that_follow_the_size_do_so_too(void **state)
{
    uint64_t seed = random_seed(20261127);
    run(seed, 4, 160, true, 1200);
    run(seed + 1, 8, 160, true, 1200);
    run(seed + 2, 16, 40, true, 2000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(maps_and_places_as_the_model_does),
        cmocka_unit_test(steps_that_follow_the_size_do_so_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
