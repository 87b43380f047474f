/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Random sequences of allocations, aligned ones among them, frees, bad frees, batches of both and
 * resizing, on a pool and on the naive model of one, side by side, for each placement policy: the same
 * place for every request, the same refusals, the same free runs. Good fit, of which the model does not know
 * the place, has to give one that is free, and to grow only if there is none. tarn_pool_check holds after
 * every step.
 */
#include <stdio.h>

#include "harness/claims.h"
#include "harness/naive_pool.h"
#include "harness/random.h"
#include "harness/test_backend.h"

enum {
    LIVE_MAX = 300,
    BATCH_MAX = 12
};

struct block {
    char *address;
    size_t size_bytes;
    struct naive_place place;
};

/* A pool, its model, and what is live in both. */
struct pair {
    struct random random;
    struct test_backend backend;
    tarn_pool *pool;
    size_t chunk_bytes;
    unsigned chunk_log2;
    struct naive_pool model;
    uintptr_t bases[NAIVE_STATIC_POOLS_MAX]; /* of chunk 0 of each static pool of the model */
    struct block live[LIVE_MAX];
    size_t live_count;
    size_t resized_count;
    size_t step;
};

static size_t chunks_of(const struct pair *pair, size_t size_bytes)
{
    return (size_bytes + pair->chunk_bytes - 1) >> pair->chunk_log2;
}

static void pair_init(struct pair *pair, uint64_t seed, unsigned chunk_log2, size_t misalignment,
                      tarn_fit fit)
{
    size_t chunk_bytes = (size_t)1 << chunk_log2;
    memset(pair, 0, sizeof *pair);
    pair->random = random_init(seed);
    pair->chunk_log2 = chunk_log2;
    pair->chunk_bytes = chunk_bytes;
    naive_pool_init(&pair->model);
    pair->model.fit = fit;
    test_backend_init(&pair->backend);
    pair->backend.misalignment_bytes = misalignment;
    tarn_backend backend = test_backend_open(&pair->backend);
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.backend = &backend;
    options.chunk_bytes = chunk_bytes;
    options.initial_bytes = 256 * chunk_bytes;
    options.growth_factor = 1.5;
    options.limit_bytes = 8192 * chunk_bytes;
    options.fit = fit;
    options.slices = false; /* the model knows chunks */
    expect_ok(tarn_pool_create(&options, &pair->pool));
}

static void pair_fini(struct pair *pair)
{
    for (size_t i = 0; i < pair->live_count; i++)
        expect_ok(tarn_pool_free(pair->pool, pair->live[i].address));
    expect_ok(tarn_pool_check(pair->pool));
    expect_ok(tarn_pool_destroy(pair->pool));
    assert_int_equal(pair->backend.piece_count, 0);
    naive_pool_fini(&pair->model);
}

static uintptr_t base_of(const struct pair *pair, uintptr_t backing)
{
    return (backing + pair->chunk_bytes - 1) >> pair->chunk_log2 << pair->chunk_log2;
}

/* The pool has grown by itself: the model gets the same static pool. */
static void grow_model(struct pair *pair, uintptr_t backing, size_t backing_bytes)
{
    uintptr_t base = base_of(pair, backing);
    size_t chunk_count = (backing + backing_bytes - base) >> pair->chunk_log2;
    pair->bases[pair->model.static_pool_count] = base;
    naive_pool_add(&pair->model, chunk_count, base >> pair->chunk_log2);
}

/* Whether the piece is new to the model. The backend's addresses ascend. */
static bool is_new_piece(const struct pair *pair, const struct test_piece *piece)
{
    unsigned count = pair->model.static_pool_count;
    return piece->size_bytes > 0 &&
           (count == 0 || base_of(pair, piece->address) > pair->bases[count - 1]);
}

/* It has grown for what came to nothing: no allocation names the static pools. */
static void grow_model_by_pieces(struct pair *pair)
{
    const struct test_piece *lowest;
    do {
        lowest = NULL;
        for (size_t i = 0; i < pair->backend.piece_count; i++) {
            const struct test_piece *piece = &pair->backend.pieces[i];
            if (!is_new_piece(pair, piece)) continue;
            if (!lowest || piece->address < lowest->address) lowest = piece;
        }
        if (lowest) grow_model(pair, lowest->address, lowest->size_bytes);
    } while (lowest);
}

static tarn_allocation found_at(const void *address)
{
    tarn_allocation found = TARN_ALLOCATION_INIT;
    expect_ok(tarn_pool_find(address, &found));
    return found;
}

static bool is_good_fit(const struct pair *pair)
{
    return pair->model.fit == TARN_FIT_SEGREGATED || pair->model.fit == TARN_FIT_TLSF;
}

/* Where the pool has put something. A static pool that the model lacks is none of its. */
static struct naive_place place_of(const struct pair *pair, const void *address)
{
    struct naive_place place = { NAIVE_STATIC_POOLS_MAX, 0 };
    for (unsigned i = 0; i < pair->model.static_pool_count; i++) {
        uintptr_t offset = (uintptr_t)address - pair->bases[i];
        if (offset >> pair->chunk_log2 < pair->model.static_pools[i].chunk_count)
            place = (struct naive_place){ i, offset >> pair->chunk_log2 };
    }
    return place;
}

/* What was just allocated is where the model has it, and is live in both. */
static void expect_place(struct pair *pair, void *address, size_t size_bytes,
                         uint64_t alignment_chunks)
{
    struct block block = { .address = address, .size_bytes = size_bytes };
    size_t chunk_count = chunks_of(pair, size_bytes);
    if (!naive_pool_find(&pair->model, chunk_count, alignment_chunks, &block.place)) {
        tarn_allocation found = found_at(address);
        grow_model(pair, (uintptr_t)found.static_pool_base, found.static_pool_bytes);
        assert_true(naive_pool_find(&pair->model, chunk_count, alignment_chunks, &block.place));
    }
    if (is_good_fit(pair)) {
        block.place = place_of(pair, address);
        assert_true(naive_pool_is_free(&pair->model, block.place, chunk_count));
    }
    naive_pool_take(&pair->model, block.place, chunk_count);
    uintptr_t expected =
        pair->bases[block.place.static_pool] + block.place.first_chunk * pair->chunk_bytes;
    if ((uintptr_t)address != expected) {
        fail_msg("step %zu: %zu bytes aligned to %zu chunks are at %p, not at %p", pair->step,
                 size_bytes, (size_t)alignment_chunks, address, (void *)expected);
    }
    pair->live[pair->live_count++] = block;
}

/* What can never be had comes last. Where the others fit without growth all is as it was. */
static void fail_many(struct pair *pair, size_t *sizes, size_t count)
{
    struct naive_place places[BATCH_MAX];
    void *addresses[BATCH_MAX] = { NULL };
    size_t placed = 0;
    bool fits = true;
    sizes[count - 1] = 8193 * pair->chunk_bytes;
    for (size_t i = 0; i + 1 < count && fits; i++) {
        if (sizes[i] == 0) continue;
        fits = naive_pool_alloc(&pair->model, chunks_of(pair, sizes[i]), 1, &places[placed]);
        placed += fits;
    }
    for (size_t i = 0, freed = 0; freed < placed; i++) {
        if (sizes[i] > 0) naive_pool_free(&pair->model, places[freed++], chunks_of(pair, sizes[i]));
    }
    if (!fits) return;
    expect_status(TARN_STATUS_OVER_LIMIT,
                  tarn_pool_alloc_many(pair->pool, count, sizes, addresses));
    for (size_t i = 0; i < count; i++)
        assert_null(addresses[i]);
}

static void allocate(struct pair *pair)
{
    if (pair->live_count == LIVE_MAX) return;
    size_t size_bytes = (size_t)random_size(&pair->random, 18);
    size_t alignment =
        random_below(&pair->random, 4) == 0 ? (size_t)1 << random_below(&pair->random, 16) : 1;
    uint64_t alignment_chunks = alignment > pair->chunk_bytes ? alignment >> pair->chunk_log2 : 1;

    void *address;
    tarn_status status = tarn_pool_alloc_aligned(pair->pool, size_bytes, alignment, &address);
    if (status == TARN_STATUS_OVER_LIMIT) {
        struct naive_place place;
        assert_false(
            naive_pool_alloc(&pair->model, chunks_of(pair, size_bytes), alignment_chunks, &place));
        return;
    }
    assert_int_equal(status, TARN_STATUS_OK);
    expect_place(pair, address, size_bytes, alignment_chunks);
    assert_int_equal((uintptr_t)address % alignment, 0);
}

/* A batch, which may have entries of no bytes, or fail by its last. What a failed one has taken and given back
 * was freed last then, of which the model knows nothing; nor does it know where good fit would have put it. */
static void allocate_many(struct pair *pair)
{
    size_t sizes[BATCH_MAX];
    void *addresses[BATCH_MAX];
    size_t count = 1 + (size_t)random_below(&pair->random, BATCH_MAX);
    if (pair->live_count + count > LIVE_MAX) return;
    for (size_t i = 0; i < count; i++) {
        bool is_empty = random_below(&pair->random, 8) == 0;
        sizes[i] = is_empty ? 0 : (size_t)random_size(&pair->random, 14);
    }
    bool may_fail = pair->model.fit == TARN_FIT_BEST || pair->model.fit == TARN_FIT_FIRST;
    if (may_fail && random_below(&pair->random, 4) == 0) {
        fail_many(pair, sizes, count);
        return;
    }
    tarn_status status = tarn_pool_alloc_many(pair->pool, count, sizes, addresses);
    if (status == TARN_STATUS_OVER_LIMIT) {
        grow_model_by_pieces(pair);
        return;
    }
    assert_int_equal(status, TARN_STATUS_OK);
    for (size_t i = 0; i < count; i++) {
        if (sizes[i] == 0) {
            assert_null(addresses[i]);
        } else {
            expect_place(pair, addresses[i], sizes[i], 1);
        }
    }
}

/* Any, which is no longer live in the model. */
static struct block take_block(struct pair *pair)
{
    size_t i = (size_t)random_below(&pair->random, pair->live_count);
    struct block block = pair->live[i];
    pair->live[i] = pair->live[--pair->live_count];
    naive_pool_free(&pair->model, block.place, chunks_of(pair, block.size_bytes));
    return block;
}

static void free_one(struct pair *pair)
{
    if (pair->live_count == 0) return;
    struct block block = take_block(pair);
    expect_ok(tarn_pool_free(pair->pool, block.address));
    expect_status(TARN_STATUS_NOT_LIVE, tarn_pool_free(pair->pool, block.address));
}

/* By the wrong size, then by the right one. */
static void free_one_sized(struct pair *pair)
{
    if (pair->live_count == 0) return;
    struct block block = take_block(pair);
    size_t wrong_bytes = (size_t)random_size(&pair->random, 18);
    if (wrong_bytes != block.size_bytes)
        expect_status(TARN_STATUS_WRONG_SIZE,
                      tarn_pool_free_sized(pair->pool, block.address, wrong_bytes));
    expect_ok(tarn_pool_free_sized(pair->pool, block.address, block.size_bytes));
    expect_status(TARN_STATUS_NOT_LIVE,
                  tarn_pool_free_sized(pair->pool, block.address, block.size_bytes));
}

/* A batch, in which one may stand twice, and NULL anywhere. */
static void free_many(struct pair *pair)
{
    void *addresses[BATCH_MAX + 1];
    char entry[40] = "";
    size_t count = 0, room = 1 + (size_t)random_below(&pair->random, BATCH_MAX);
    while (count < room && pair->live_count > 0) {
        bool is_empty = random_below(&pair->random, 8) == 0;
        addresses[count++] = is_empty ? NULL : take_block(pair).address;
    }
    size_t twice = (size_t)random_below(&pair->random, 2 * BATCH_MAX);
    bool is_double = twice < count && addresses[twice];
    if (is_double) {
        snprintf(entry, sizeof entry, "entry %zu of %zu: ", count, count + 1);
        addresses[count++] = addresses[twice];
    }
    expect_status(is_double ? TARN_STATUS_NOT_LIVE : TARN_STATUS_OK,
                  tarn_pool_free_many(pair->pool, count, addresses));
    if (is_double) expect_message(entry);
}

static void resize_one(struct pair *pair)
{
    if (pair->live_count == 0) return;
    struct block *block = &pair->live[random_below(&pair->random, pair->live_count)];
    size_t old_count = chunks_of(pair, block->size_bytes), new_bytes;
    /* Often by a little, which often can be. */
    if (random_below(&pair->random, 2) == 0) {
        new_bytes = (size_t)random_size(&pair->random, 18);
    } else {
        new_bytes =
            block->size_bytes + (size_t)random_below(&pair->random, 8) * pair->chunk_bytes / 2;
    }
    bool fits =
        naive_pool_resize(&pair->model, block->place, old_count, chunks_of(pair, new_bytes));
    expect_status(fits ? TARN_STATUS_OK : TARN_STATUS_NOT_IN_PLACE,
                  tarn_pool_resize(pair->pool, block->address, new_bytes));
    if (fits) block->size_bytes = new_bytes;
    pair->resized_count += fits;
    tarn_allocation found = found_at(block->address + block->size_bytes - 1);
    assert_ptr_equal(found.address, block->address);
    assert_int_equal(found.size_bytes, block->size_bytes);
}

/* Any address in a block names the block; freeing any but the first is refused. */
static void look_inside_one(struct pair *pair)
{
    if (pair->live_count == 0) return;
    const struct block *block = &pair->live[random_below(&pair->random, pair->live_count)];
    size_t usable = chunks_of(pair, block->size_bytes) * pair->chunk_bytes;
    char *inside = block->address + random_below(&pair->random, usable);
    tarn_allocation found = found_at(inside);
    assert_ptr_equal(found.pool, pair->pool);
    assert_ptr_equal(found.address, block->address);
    assert_int_equal(found.size_bytes, block->size_bytes);
    assert_int_equal(found.usable_bytes, usable);
    if (inside == block->address) return;
    expect_status(TARN_STATUS_INTERIOR_ADDRESS, tarn_pool_free(pair->pool, inside));
}

/* An address anywhere in a static pool is live in the pool where it is live in the model. */
static void look_anywhere(struct pair *pair)
{
    if (pair->model.static_pool_count == 0) return;
    unsigned i = (unsigned)random_below(&pair->random, pair->model.static_pool_count);
    const struct naive_static_pool *static_pool = &pair->model.static_pools[i];
    size_t chunk = (size_t)random_below(&pair->random, static_pool->chunk_count);
    const void *address = (const void *)(pair->bases[i] + chunk * pair->chunk_bytes);
    tarn_allocation found = TARN_ALLOCATION_INIT;
    expect_status(static_pool->is_live[chunk] ? TARN_STATUS_OK : TARN_STATUS_NOT_LIVE,
                  tarn_pool_find(address, &found));
}

static void expect_same_free_runs(struct pair *pair)
{
    size_t run_count;
    size_t largest = naive_pool_largest_free(&pair->model, &run_count);
    tarn_stats stats = stats_of(pair->pool);
    assert_int_equal(stats.free_region_count, run_count);
    assert_int_equal(stats.largest_free_bytes, largest * pair->chunk_bytes);
    assert_int_equal(stats.live_count, pair->live_count);
}

static void one_step(struct pair *pair)
{
    /* Phases of growing and of shrinking, so that it is sometimes nearly full and nearly empty. */
    unsigned towards_alloc = (pair->step / 500) % 2 == 0 ? 60 : 40;
    unsigned die = (unsigned)random_below(&pair->random, 140);
    if (die < towards_alloc) {
        allocate(pair);
    } else if (die < 95) {
        free_one(pair);
    } else if (die < 100) {
        free_one_sized(pair);
    } else if (die >= 134) {
        allocate_many(pair);
    } else if (die >= 128) {
        free_many(pair);
    } else if (die >= 110) {
        resize_one(pair);
    } else if (die < 105) {
        look_inside_one(pair);
    } else {
        look_anywhere(pair);
    }
    expect_ok(tarn_pool_check(pair->pool));
    if (pair->step % 16 == 0) expect_same_free_runs(pair);
}

static void run(uint64_t seed, unsigned chunk_log2, size_t misalignment, size_t steps, tarn_fit fit)
{
    static struct pair pair;
    pair_init(&pair, seed, chunk_log2, misalignment, fit);
    for (pair.step = 0; pair.step < steps; pair.step++)
        one_step(&pair);
    assert_true(pair.resized_count > steps / 50);
    pair_fini(&pair);
}

static void places_as_the_model_does(void **state)
{
    uint64_t seed = random_seed(20260101);
    run(seed, 10, 0, 6000, TARN_FIT_BEST);
    run(seed + 1, 8, 0, 3000, TARN_FIT_BEST);
    run(seed + 2, 12, 0, 3000, TARN_FIT_BEST);
}

static void places_as_the_model_does_on_misaligned_backing(void **state)
{
    uint64_t seed = random_seed(20260102);
    run(seed, 10, 256, 3000, TARN_FIT_BEST);
    run(seed + 1, 12, 768, 3000, TARN_FIT_BEST);
}

static void every_policy_places_as_the_model_allows(void **state)
{
    static const tarn_fit fits[] = { TARN_FIT_FIRST, TARN_FIT_SEGREGATED, TARN_FIT_TLSF };
    uint64_t seed = random_seed(20260104);
    for (size_t i = 0; i < sizeof fits / sizeof fits[0]; i++) {
        run(seed, 10, 0, 4000, fits[i]);
        run(seed + 1, 8, 0, 2000, fits[i]);
        run(seed + 2, 12, 768, 2000, fits[i]);
    }
}

/* Two pools that are called alike place alike, wherever their memory lies. */
static void compare_two_pools(uint64_t seed, tarn_fit fit)
{
    static struct pair one, other;
    pair_init(&one, seed, 10, 0, fit);
    pair_init(&other, seed, 10, 0, fit);
    other.backend.next_address += (uintptr_t)77 << 22;
    for (size_t i = 0; i < 2000; i++) {
        one.step = other.step = i;
        one_step(&one);
        one_step(&other);
        assert_int_equal(one.live_count, other.live_count);
        for (size_t k = 0; k < one.live_count; k++) {
            assert_int_equal(one.live[k].place.static_pool, other.live[k].place.static_pool);
            assert_int_equal(one.live[k].place.first_chunk, other.live[k].place.first_chunk);
        }
    }
    pair_fini(&one);
    pair_fini(&other);
}

static void placement_depends_on_the_calls_alone(void **state)
{
    uint64_t seed = random_seed(20260103);
    for (int fit = TARN_FIT_BEST; fit <= TARN_FIT_TLSF; fit++)
        compare_two_pools(seed, (tarn_fit)fit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_as_the_model_does),
        cmocka_unit_test(places_as_the_model_does_on_misaligned_backing),
        cmocka_unit_test(every_policy_places_as_the_model_allows),
        cmocka_unit_test(placement_depends_on_the_calls_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
