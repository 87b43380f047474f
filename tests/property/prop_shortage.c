/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The promise of no false out-of-memory: whenever free, pending or releasable memory can serve a request,
 * it is served. Random programs over several streams under a low limit, with every placement policy; each time
 * that an allocation is refused, every static pool is walked for what could have served it.
 */
#include "core/supply/piece.h"
#include "core/serve/pool_struct.h"

#include "harness/claims.h"
#include "harness/random.h"

#include "tarn/host.h"

enum {
    STREAMS = 4,
    SLOTS = 40,
    SMALL_SLOTS = 400, /* of slices and nothing else */
    STEPS = 15000
};

#define KIB ((size_t)1024)

/* Of a pool, which takes a sixth of it at a time. */
static size_t limit_bytes;
static unsigned size_bits; /* of the largest request */

static tarn_backend_operations operations;
static tarn_backend_result (*real_record)(void *, tarn_event, tarn_stream);
static struct random dice;
static unsigned fail_permille;

/* A record that fails leaves its stream lost when it was retired. */
static tarn_backend_result fallible_record(void *state, tarn_event event, tarn_stream stream)
{
    if (random_below(&dice, 1000) < fail_permille)
        return (tarn_backend_result){ TARN_STATUS_VENDOR_ERROR, 1, "made up" };
    return real_record(state, event, stream);
}

struct block {
    void *address;
    unsigned stream;
};

struct scene {
    tarn_backend backend;
    tarn_pool *pool;
    tarn_stream streams[STREAMS];
    struct block blocks[SLOTS + SMALL_SLOTS];
};

/* Chunks of the longest run of free regions of a static pool, whatever they wait for. */
static uint32_t longest_run(const struct tarn_pool *pool, uint32_t head)
{
    uint32_t longest = 0, run = 0;
    for (uint32_t r = pool->own.index.regions[head].next; r != head;
         r = pool->own.index.regions[r].next) {
        const struct tn_region *region = &pool->own.index.regions[r];
        run = region->state == TN_REGION_STATE_FREE ? run + region->chunk_count : 0;
        if (run > longest) longest = run;
    }
    return longest;
}

/* Whether any slab has a slice that is not live and would do, whatever it waits for. */
static bool has_slice(const struct tarn_pool *pool, size_t size_bytes)
{
    const struct tn_slices *slices = &pool->own.slices;
    for (unsigned i = tn_slices_class_for(slices, size_bytes, 1); i < slices->class_count; i++) {
        if (tn_slices_find_next(slices, i, TN_SLAB_NONE) != TN_SLAB_NONE) return true;
    }
    return false;
}

/* Nothing that is free would have done, and what can be given back does not make room enough. */
static void expect_no_memory(struct tarn_pool *pool, size_t size_bytes)
{
    size_t needed = (size_bytes + KIB - 1) / KIB;
    for (uint32_t i = 0; i < pool->list.count; i++) {
        uint32_t run = longest_run(pool, pool->list.by_chunk[i].static_pool->head);
        if (run >= needed) fail_msg("%zu chunks refused, and %u in a row are free", needed, run);
    }
    if (has_slice(pool, size_bytes)) fail_msg("%zu bytes refused, and a slice is free", size_bytes);
    tn_pool_lock(pool);
    size_t releasable = tn_piece_wholly_free_bytes(pool);
    tn_pool_unlock(pool);
    size_t left = limit_bytes - (pool->own.stats.footprint_bytes - releasable);
    if (left >= needed * KIB) fail_msg("%zu chunks refused, and %zu bytes are left", needed, left);
    tarn_shortage shortage = TARN_SHORTAGE_INIT;
    expect_ok(tarn_last_shortage(&shortage));
    assert_int_equal(shortage.size_bytes, size_bytes);
    assert_int_equal(shortage.footprint_bytes, pool->own.stats.footprint_bytes);
    assert_int_equal(shortage.limit_bytes, limit_bytes);
}

static void take(struct scene *scene, struct block *block, unsigned bits)
{
    size_t size_bytes = (size_t)random_size(&dice, bits);
    block->stream = (unsigned)random_below(&dice, STREAMS);
    tarn_status status =
        tarn_pool_alloc_on(scene->pool, size_bytes, scene->streams[block->stream], &block->address);
    if (status == TARN_STATUS_OK) return;
    block->address = NULL;
    assert_int_equal(status, TARN_STATUS_OVER_LIMIT);
    expect_no_memory(scene->pool, size_bytes);
}

static void give(struct scene *scene, struct block *block)
{
    tarn_stream both[2] = { scene->streams[block->stream],
                            scene->streams[random_below(&dice, STREAMS)] };
    size_t count = random_below(&dice, 4) == 0 ? 2 : 1;
    expect_ok(tarn_pool_free_after(scene->pool, block->address, both, count));
    block->address = NULL;
}

static void replace_stream(struct scene *scene)
{
    tarn_stream *stream = &scene->streams[1 + random_below(&dice, STREAMS - 1)];
    tarn_status status = tarn_stream_retire(*stream);
    assert_true(status == TARN_STATUS_OK || status == TARN_STATUS_VENDOR_ERROR);
    operations.stream_destroy(scene->backend.state, *stream);
    assert_int_equal(operations.stream_create(scene->backend.state, stream).status, TARN_STATUS_OK);
}

static void run(bool can_synchronize, bool is_contiguous, tarn_fit fit)
{
    struct scene scene = { 0 };
    expect_ok(tarn_host_backend_open(NULL, &scene.backend));
    operations = *scene.backend.operations;
    real_record = operations.event_record;
    operations.event_record = fallible_record;
    if (!can_synchronize) operations.synchronize = NULL;
    const tarn_backend backend = { &operations, scene.backend.state };
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.backend = &backend;
    options.initial_bytes = limit_bytes / 6;
    options.alignment_bytes = TARN_ALIGNMENT_BYTES_MIN; /* slices of all sizes */
    options.growth_factor = 1.0;
    options.limit_bytes = limit_bytes;
    options.contiguous = is_contiguous;
    options.fit = fit;
    options.step_bytes = 4 * KIB;
    if (random_below(&dice, 2) == 0) options.stream_slack = 0.25;
    expect_ok(tarn_pool_create(&options, &scene.pool));
    for (unsigned i = 1; i < STREAMS; i++)
        operations.stream_create(scene.backend.state, &scene.streams[i]);

    for (int step = 0; step < STEPS; step++) {
        bool is_small = random_below(&dice, 2) == 0;
        struct block *block = is_small ? &scene.blocks[SLOTS + random_below(&dice, SMALL_SLOTS)]
                                       : &scene.blocks[random_below(&dice, SLOTS)];
        if (block->address) {
            give(&scene, block);
        } else {
            take(&scene, block, is_small ? 9 : size_bits);
        }
        if (random_below(&dice, 500) == 0) replace_stream(&scene);
        if (step % 16 == 0) expect_ok(tarn_pool_check(scene.pool));
    }
    expect_ok(tarn_pool_destroy_forced(scene.pool, NULL));
    for (unsigned i = 1; i < STREAMS; i++)
        operations.stream_destroy(scene.backend.state, scene.streams[i]);
    tarn_backend_close(&scene.backend);
}

static void what_can_be_served_is_served(void **state)
{
    dice = random_init(random_seed(20261121));
    limit_bytes = 192 * KIB;
    size_bits = 17;
    for (int fit = TARN_FIT_BEST; fit <= TARN_FIT_TLSF; fit++) {
        fail_permille = 0;
        run(false, false, (tarn_fit)fit);
        fail_permille = 100;
        run(true, false, (tarn_fit)fit);
    }
}

static void a_contiguous_pool_serves_what_can_be_served(void **state)
{
    dice = random_init(random_seed(20261122));
    limit_bytes = 192 * KIB;
    size_bits = 17;
    for (int fit = TARN_FIT_BEST; fit <= TARN_FIT_TLSF; fit++) {
        fail_permille = 0;
        run(false, true, (tarn_fit)fit);
        fail_permille = 100;
        run(true, true, (tarn_fit)fit);
    }
}

/* There are fewer chunks than streams and sizes of slices. */
static void a_slice_is_served_where_there_is_one(void **state)
{
    dice = random_init(random_seed(20261123));
    limit_bytes = 24 * KIB;
    size_bits = 11;
    fail_permille = 0;
    run(false, false, TARN_FIT_BEST);
    run(false, true, TARN_FIT_BEST);
    fail_permille = 100;
    run(true, false, TARN_FIT_BEST);
    run(true, true, TARN_FIT_BEST);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_can_be_served_is_served),
        cmocka_unit_test(a_contiguous_pool_serves_what_can_be_served),
        cmocka_unit_test(a_slice_is_served_where_there_is_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
