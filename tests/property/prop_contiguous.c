/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Random allocations, aligned ones among them, frees and trims on a contiguous pool, beside a model that knows
 * of each chunk whether it is mapped and whether it is live. The model looks at every place there is:
 *  - what fits is placed by best fit over what is mapped, and nothing is mapped for it;
 *  - what does not is placed where it misses the fewest steps, and no others are mapped;
 *  - when it is refused, no place would do, even if all free steps were unmapped for it.
 */
#include "harness/claims.h"
#include "harness/random.h"
#include "harness/test_backend.h"

enum {
    LIVE_MAX = 200,
    CHUNK_BYTES = 1024,
    CHUNKS_MAX = 10240,
    LIMIT_STEPS = 20,
    RANGE_STEPS = 8 * LIMIT_STEPS
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
    size_t step_chunks; /* of one step */
    uintptr_t base;     /* 0 until the pool has told of it */
    bool is_mapped[RANGE_STEPS];
    bool is_live[CHUNKS_MAX];
    struct block live[LIVE_MAX];
    size_t live_count;
    size_t created_count, destroyed_count; /* since the call began */
    size_t step;
};

/* --- the model ---------------------------------------------------------------------------------- */

static size_t chunk_count_of(const struct pair *pair)
{
    return RANGE_STEPS * pair->step_chunks;
}

static size_t mapped_count(const struct pair *pair)
{
    size_t count = 0;
    for (size_t i = 0; i < RANGE_STEPS; i++)
        count += pair->is_mapped[i];
    return count;
}

static bool is_free(const struct pair *pair, size_t chunk)
{
    return pair->is_mapped[chunk / pair->step_chunks] && !pair->is_live[chunk];
}

static bool is_wholly_free(const struct pair *pair, size_t step)
{
    for (size_t i = 0; i < pair->step_chunks; i++) {
        if (!is_free(pair, step * pair->step_chunks + i)) return false;
    }
    return true;
}

static bool is_aligned(const struct pair *pair, size_t chunk, size_t alignment)
{
    return (pair->base + chunk * CHUNK_BYTES) % alignment == 0;
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

/* The least number of steps that any place misses. A wholly free step counts as missing if so told. */
static size_t fewest_missing(const struct pair *pair, size_t chunk_count, size_t alignment,
                             bool counts_free_steps)
{
    size_t fewest = SIZE_MAX;
    bool is_missing[RANGE_STEPS];
    for (size_t i = 0; i < RANGE_STEPS; i++)
        is_missing[i] = !pair->is_mapped[i] || (counts_free_steps && is_wholly_free(pair, i));
    for (size_t first = 0; first + chunk_count <= chunk_count_of(pair); first++) {
        if (!is_aligned(pair, first, alignment)) continue;
        bool is_possible = true;
        for (size_t i = first; i < first + chunk_count && is_possible; i++)
            is_possible = !pair->is_live[i];
        if (!is_possible) continue;
        size_t missing = 0;
        for (size_t i = first / pair->step_chunks;
             i <= (first + chunk_count - 1) / pair->step_chunks; i++)
            missing += is_missing[i];
        if (missing < fewest) fewest = missing;
    }
    return fewest;
}

/* --- what the pool tells ------------------------------------------------------------------------ */

static size_t step_of(const struct pair *pair, const void *base, size_t size_bytes)
{
    assert_int_equal(size_bytes, pair->step_chunks * CHUNK_BYTES);
    assert_int_equal(((uintptr_t)base - pair->base) % size_bytes, 0);
    return ((uintptr_t)base - pair->base) / size_bytes;
}

static void note_created(void *user, void *base, size_t size_bytes, uint64_t id)
{
    struct pair *pair = user;
    if (pair->base == 0) pair->base = (uintptr_t)base;
    size_t step = step_of(pair, base, size_bytes);
    assert_false(pair->is_mapped[step]);
    pair->is_mapped[step] = true;
    pair->created_count++;
}

static void note_destroyed(void *user, void *base, size_t size_bytes, uint64_t id)
{
    struct pair *pair = user;
    size_t step = step_of(pair, base, size_bytes);
    assert_true(is_wholly_free(pair, step));
    pair->is_mapped[step] = false;
    pair->destroyed_count++;
}

/* --- both --------------------------------------------------------------------------------------- */

static void pair_init(struct pair *pair, uint64_t seed, size_t step_chunks)
{
    memset(pair, 0, sizeof *pair);
    pair->random = random_init(seed);
    pair->step_chunks = step_chunks;
    test_backend_init(&pair->backend);
    pair->backend.range_granularity_bytes = 4096;
    tarn_backend backend = test_backend_open(&pair->backend);
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.backend = &backend;
    options.chunk_bytes = CHUNK_BYTES;
    options.initial_bytes = 0;
    options.limit_bytes = LIMIT_STEPS * step_chunks * CHUNK_BYTES;
    options.contiguous = true;
    options.step_bytes = step_chunks * CHUNK_BYTES;
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

static void allocate(struct pair *pair)
{
    if (pair->live_count == LIVE_MAX) return;
    size_t size_bytes = (size_t)random_size(&pair->random, 18);
    size_t alignment =
        random_below(&pair->random, 4) == 0 ? (size_t)1 << random_below(&pair->random, 18) : 1;
    size_t chunk_count = (size_bytes + CHUNK_BYTES - 1) / CHUNK_BYTES;
    size_t place = best_fit(pair, chunk_count, alignment);
    size_t missing = fewest_missing(pair, chunk_count, alignment, false);
    size_t least = fewest_missing(pair, chunk_count, alignment, true);
    size_t free_count = 0, room = LIMIT_STEPS - mapped_count(pair);
    for (size_t i = 0; i < RANGE_STEPS; i++)
        free_count += is_wholly_free(pair, i);

    pair->created_count = pair->destroyed_count = 0;
    void *address = NULL;
    tarn_status status = tarn_pool_alloc_aligned(pair->pool, size_bytes, alignment, &address);
    if (status != TARN_STATUS_OK) {
        assert_true(status == TARN_STATUS_OVER_LIMIT || status == TARN_STATUS_OUT_OF_MEMORY);
        assert_true(place == NOWHERE);
        if (least != SIZE_MAX && least <= room + free_count)
            fail_msg("step %zu: %zu chunks are refused, but %zu steps would do", pair->step,
                     chunk_count, least);
        return;
    }
    if (place != NOWHERE || missing <= room) {
        assert_int_equal(pair->destroyed_count, 0);
        assert_int_equal(pair->created_count, place != NOWHERE ? 0 : missing);
    }
    if (pair->created_count > 0) place = best_fit(pair, chunk_count, alignment);
    if ((uintptr_t)address != pair->base + place * CHUNK_BYTES)
        fail_msg("step %zu: %zu chunks are at %p, not at chunk %zu", pair->step, chunk_count,
                 address, place);
    assert_int_equal((uintptr_t)address % alignment, 0);
    for (size_t i = place; i < place + chunk_count; i++) {
        assert_true(is_free(pair, i));
        pair->is_live[i] = true;
    }
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
                  tarn_pool_resize(pair->pool, block->address, chunk_count * CHUNK_BYTES));
    if (!fits) return;
    memset(&pair->is_live[block->first_chunk], 0, old_count);
    memset(&pair->is_live[block->first_chunk], 1, chunk_count);
    block->chunk_count = chunk_count;
}

/* Whole free steps go, the highest first, as long as so much is kept. */
static void trim(struct pair *pair)
{
    size_t before = mapped_count(pair), free_count = 0, released_bytes;
    size_t keep = (size_t)random_below(&pair->random, LIMIT_STEPS + 1);
    for (size_t i = 0; i < RANGE_STEPS; i++)
        free_count += is_wholly_free(pair, i);
    size_t step_bytes = pair->step_chunks * CHUNK_BYTES;
    expect_ok(tarn_pool_trim(pair->pool, keep * step_bytes, &released_bytes));
    size_t allowed = before > keep ? before - keep : 0;
    size_t expected = allowed < free_count ? allowed : free_count;
    assert_int_equal(released_bytes, expected * step_bytes);
    assert_int_equal(mapped_count(pair), before - expected);
    bool is_kept_below = false;
    for (size_t i = 0; i < RANGE_STEPS; i++)
        is_kept_below = is_kept_below || (!pair->is_mapped[i] && is_wholly_free(pair, i));
    assert_false(is_kept_below);
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
    assert_int_equal(stats.largest_free_bytes, largest * CHUNK_BYTES);
    assert_int_equal(stats.live_count, pair->live_count);
    assert_int_equal(stats.static_pool_count, mapped_count(pair));
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

static void run(uint64_t seed, size_t step_chunks, size_t steps)
{
    static struct pair pair;
    pair_init(&pair, seed, step_chunks);
    for (pair.step = 0; pair.step < steps; pair.step++)
        one_step(&pair);
    pair_fini(&pair);
}

static void maps_and_places_as_the_model_does(void **state)
{
    uint64_t seed = random_seed(20260111);
    run(seed, 16, 3000);
    run(seed + 1, 64, 1500);
    run(seed + 2, 4, 3000);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(maps_and_places_as_the_model_does) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
