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
    bool has_lost_border; /* the model no longer knows it */
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

/* The pool has a piece for a request of so many chunks: so does the model. */
static void add_to_model(struct pair *pair, uintptr_t backing, size_t backing_bytes,
                         size_t request_chunk_count)
{
    uintptr_t base = base_of(pair, backing);
    size_t chunk_count = (backing + backing_bytes - base) >> pair->chunk_log2;
    unsigned place =
        naive_pool_add(&pair->model, chunk_count, base >> pair->chunk_log2, request_chunk_count);
    pair->bases[place] = base;
}

/* The pool has grown: first, what was wholly free has gone. */
static void grow_model(struct pair *pair, uintptr_t backing, size_t backing_bytes,
                       size_t request_chunk_count)
{
    naive_pool_remove_free(&pair->model);
    add_to_model(pair, backing, backing_bytes, request_chunk_count);
}

/* Whether the backend's piece is a static pool of the model. */
static bool is_in_model(const struct pair *pair, const struct test_piece *piece)
{
    uintptr_t base = base_of(pair, piece->address);
    for (unsigned i = 0; i < NAIVE_STATIC_POOLS_MAX; i++) {
        if (pair->model.static_pools[i].chunk_count > 0 && pair->bases[i] == base) return true;
    }
    return false;
}

static bool is_in_backend(const struct pair *pair, unsigned static_pool)
{
    for (size_t i = 0; i < pair->backend.piece_count; i++) {
        if (base_of(pair, pair->backend.pieces[i].address) == pair->bases[static_pool]) return true;
    }
    return false;
}

/* The oldest piece that the model lacks: the backend's addresses ascend. NULL: there is none. */
static const struct test_piece *oldest_new_piece(const struct pair *pair)
{
    const struct test_piece *oldest = NULL;
    for (size_t i = 0; i < pair->backend.piece_count; i++) {
        const struct test_piece *piece = &pair->backend.pieces[i];
        if (is_in_model(pair, piece)) continue;
        if (!oldest || piece->address < oldest->address) oldest = piece;
    }
    return oldest;
}

/* A request that failed may have let static pools go: which, the backend tells. */
static void forget_what_is_gone(struct pair *pair)
{
    for (unsigned i = 0; i < NAIVE_STATIC_POOLS_MAX; i++) {
        if (pair->model.static_pools[i].chunk_count > 0 && !is_in_backend(pair, i))
            naive_pool_remove(&pair->model, i);
    }
}

static void expect_same_static_pools(const struct pair *pair)
{
    size_t count = 0;
    for (unsigned i = 0; i < NAIVE_STATIC_POOLS_MAX; i++) {
        if (pair->model.static_pools[i].chunk_count == 0) continue;
        if (!is_in_backend(pair, i)) fail_msg("step %zu: static pool %u has gone", pair->step, i);
        count++;
    }
    if (count != pair->backend.piece_count)
        fail_msg("step %zu: %zu static pools, not %zu", pair->step, pair->backend.piece_count,
                 count);
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
    for (unsigned i = 0; i < NAIVE_STATIC_POOLS_MAX; i++) {
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
        grow_model(pair, (uintptr_t)found.static_pool_base, found.static_pool_bytes, chunk_count);
        assert_true(naive_pool_find(&pair->model, chunk_count, alignment_chunks, &block.place));
    }
    if (is_good_fit(pair)) {
        block.place = place_of(pair, address);
        assert_true(naive_pool_is_free(&pair->model, block.place, chunk_count));
        assert_true(pair->has_lost_border ||
                    naive_pool_may_use(&pair->model, block.place.static_pool, chunk_count));
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

/* Takes the entries in turn until nothing fits any more, and gives them back. grows: as often as the pool has. Whether all
 * but the last have fitted. */
static bool try_many_in_model(struct pair *pair, const size_t *sizes, size_t count, bool grows)
{
    struct naive_place places[BATCH_MAX];
    bool fits = true;
    size_t tried = 0;
    for (; tried < count; tried++) {
        size_t chunk_count = chunks_of(pair, sizes[tried]);
        if (chunk_count == 0) continue;
        fits = naive_pool_alloc(&pair->model, chunk_count, 1, &places[tried]);
        const struct test_piece *grown = fits || !grows ? NULL : oldest_new_piece(pair);
        if (grown) {
            grow_model(pair, grown->address, grown->size_bytes, chunk_count);
            fits = naive_pool_alloc(&pair->model, chunk_count, 1, &places[tried]);
        }
        if (!fits) break;
    }
    for (size_t i = 0; i < tried; i++) {
        if (sizes[i] > 0) naive_pool_free(&pair->model, places[i], chunks_of(pair, sizes[i]));
    }
    return tried + 1 >= count;
}

/* What can never be had comes last. Where the others fit without growth all is as it was. */
static void fail_many(struct pair *pair, size_t *sizes, size_t count)
{
    void *addresses[BATCH_MAX] = { NULL };
    struct naive_pool before = pair->model;
    sizes[count - 1] = 8193 * pair->chunk_bytes;
    if (!try_many_in_model(pair, sizes, count, false)) {
        pair->model = before; /* but for its chunks, which are as before */
        return;
    }
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
        forget_what_is_gone(pair);
        return;
    }
    assert_int_equal(status, TARN_STATUS_OK);
    expect_place(pair, address, size_bytes, alignment_chunks);
    assert_int_equal((uintptr_t)address % alignment, 0);
}

/* A batch has failed, perhaps after growth. Where good fit has put its entries the model does not know, nor so where the
 * border is. */
static void follow_failed_many(struct pair *pair, const size_t *sizes, size_t count)
{
    if (!is_good_fit(pair)) (void)try_many_in_model(pair, sizes, count, true);
    forget_what_is_gone(pair);
    if (!is_good_fit(pair)) return;
    const struct test_piece *grown;
    pair->has_lost_border = true;
    while ((grown = oldest_new_piece(pair)) != NULL)
        add_to_model(pair, grown->address, grown->size_bytes, 0);
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
        follow_failed_many(pair, sizes, count);
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
    unsigned i = (unsigned)random_below(&pair->random, NAIVE_STATIC_POOLS_MAX);
    const struct naive_static_pool *static_pool = &pair->model.static_pools[i];
    if (static_pool->chunk_count == 0) return;
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
    expect_same_static_pools(pair);
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
