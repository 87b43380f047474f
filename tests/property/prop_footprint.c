/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Why each byte is held: random programs over pools of all kinds, with streams, captures, holds, arenas and a vendor that
 * refuses. After each step the parts are the footprint together, and each is what a naive model finds that looks at every
 * chunk. While arenas are active, the sums alone are checked: a look at the chunks would take the arenas back.
 */
#include "core/arenas/gather.h"
#include "core/pool/pool_arenas.h"
#include "core/serve/pool_streams.h"
#include "core/arenas/footprint.h"

#include "harness/claims.h"
#include "harness/random.h"
#include "harness/test_backend.h"
#include "tarn/debug.h"

#define KIB ((size_t)1024)
#define MIB ((size_t)1024 * 1024)

enum {
    STREAMS = 3,
    SLOTS = 120,
    STEPS = 3000
};

static char stream_handles[STREAMS];

struct scene {
    struct random dice;
    struct test_backend source;
    tarn_backend backend;
    tarn_pool *pool;
    bool has_captures, has_arenas;
    tarn_capture capture; /* 0: none is under way */
    uint64_t held_ids[4];
    void *blocks[SLOTS];
};

/* --- the model ------------------------------------------------------------------------------------- */

struct model {
    size_t bytes[TARN_FOOTPRINT_PARTS_MAX];
};

/* Bytes of a chunk. The last one of a pool that passes through may be cut short. */
static size_t chunk_bytes_of(const tarn_pool *pool, const struct tn_static_pool *owner,
                             uint32_t chunk)
{
    uintptr_t address = tn_static_pool_address_of(owner, chunk);
    size_t left = owner->end_address - address;
    return left < KIB << (pool->chunk_log2 - 10) ? left : KIB << (pool->chunk_log2 - 10);
}

static void add_live(const tarn_pool *pool, const struct tn_region *region, struct model *model)
{
    size_t used = (size_t)region->chunk_count << pool->chunk_log2, requested, slices = 0;
    if (tn_region_is_slab(region)) {
        uint32_t slab = tn_region_slab(region);
        unsigned count = 1U << tn_slices_per_slab_log2(&pool->own.slices, tn_slab_class(slab));
        requested = tn_pool_requested_of_slab(pool, slab);
        for (unsigned i = 0; i < count; i++)
            slices += tn_slices_is_live(&pool->own.slices, slab, i)
                          ? 0
                          : tn_slices_slice_bytes(&pool->own.slices, slab);
    } else {
        requested = used - tn_region_slack_bytes(region, pool->own.index.slack_mask);
    }
    if (pool->passes_through) used = requested;
    model->bytes[TARN_FOOTPRINT_PART_REQUESTED] += requested;
    model->bytes[TARN_FOOTPRINT_PART_SLICES] += slices;
    model->bytes[TARN_FOOTPRINT_PART_ROUNDING] += used - requested - slices;
}

/* The region of a chunk of the static pool, by a walk from one that is not behind it. */
static const struct tn_region *region_of(const tarn_pool *pool, const struct tn_region *from,
                                         uint32_t chunk)
{
    while (tn_region_end_chunk(from) <= chunk)
        from = &pool->own.index.regions[from->next];
    return from;
}

/* The chunks first to end are one piece. */
static void add_piece(const tarn_pool *pool, const struct tn_static_pool *owner,
                      const struct tn_piece *piece, uint32_t first, uint32_t end,
                      struct model *model)
{
    size_t captured = 0, pending = 0, idle = 0, inside = 0;
    bool is_shut_in = false;
    uint32_t captures = tn_pool_held_streams(pool);
    const struct tn_region *region =
        &pool->own.index.regions[pool->own.index.regions[owner->head].next];
    for (uint32_t chunk = first; chunk < end; chunk++) {
        region = region_of(pool, region, chunk);
        size_t bytes = chunk_bytes_of(pool, owner, chunk);
        inside += bytes;
        assert_true(region->state == TN_REGION_STATE_LIVE || region->state == TN_REGION_STATE_FREE);
        if (region->state == TN_REGION_STATE_LIVE) {
            if (region->first_chunk == chunk) add_live(pool, region, model);
            is_shut_in = true;
        } else if (tn_region_dependency(region).streams & captures) {
            captured += bytes;
            is_shut_in = true;
        } else if (tn_region_dependency(region).streams != 0) {
            pending += bytes;
        } else {
            idle += bytes;
        }
    }
    model->bytes[TARN_FOOTPRINT_PART_CAPTURED] += captured;
    model->bytes[TARN_FOOTPRINT_PART_PENDING] += pending;
    model->bytes[is_shut_in              ? TARN_FOOTPRINT_PART_SHUT_IN
                 : piece->hold_count > 0 ? TARN_FOOTPRINT_PART_ON_HOLD
                 : piece->is_initial     ? TARN_FOOTPRINT_PART_INITIAL
                                         : TARN_FOOTPRINT_PART_WHOLLY_FREE] += idle;
    model->bytes[TARN_FOOTPRINT_PART_EDGES] += piece->size_bytes - inside;
}

/* Of a pool whose arenas are gathered, and that no other thread uses. */
static struct model model_of(const tarn_pool *pool)
{
    struct model model = { { 0 } };
    for (struct tn_piece *piece = pool->pieces.joined.newest; piece; piece = piece->older) {
        const struct tn_static_pool *owner =
            pool->range ? pool->range->static_pool : tn_static_pool_of(piece);
        uint32_t first = pool->range
                             ? tn_unit_first_chunk(pool->range, tn_step_of(piece)->first_unit)
                             : owner->first_chunk;
        add_piece(pool, owner, piece, first, first + piece->chunk_count, &model);
    }
    for (const struct tn_piece *piece = pool->pieces.leaving.newest; piece; piece = piece->older)
        model.bytes[TARN_FOOTPRINT_PART_UNRELEASED] += piece->size_bytes;
    return model;
}

/* --- claims ---------------------------------------------------------------------------------------- */

static bool has_seen[TARN_FOOTPRINT_PARTS_MAX];

static void expect_sum(const size_t *bytes, size_t footprint_bytes)
{
    size_t sum = 0;
    for (size_t part = 0; part < TARN_FOOTPRINT_PARTS_MAX; part++) {
        if (bytes[part] > footprint_bytes)
            fail_msg("%s is %zu of %zu", tarn_footprint_part_name((tarn_footprint_part)part),
                     bytes[part], footprint_bytes);
        sum += bytes[part];
        has_seen[part] |= bytes[part] > 0;
    }
    assert_int_equal(sum, footprint_bytes);
}

/* As growth sees it, without taking the arenas back. */
static void expect_sum_in_arenas(tarn_pool *pool)
{
    size_t bytes[TARN_FOOTPRINT_PARTS_MAX];
    tn_pool_lock(pool);
    tn_footprint_sum(pool, bytes);
    size_t footprint_bytes = pool->own.stats.footprint_bytes;
    tn_pool_unlock(pool);
    expect_sum(bytes, footprint_bytes);
}

static void expect_parts(tarn_pool *pool)
{
    tarn_stats stats = stats_of(pool);
    expect_sum(stats.part_bytes, stats.footprint_bytes);
    expect_sum(stats.peak_part_bytes, stats.footprint_bytes_max);
    assert_int_equal(stats.part_bytes[TARN_FOOTPRINT_PART_REQUESTED], stats.requested_bytes);
    assert_int_equal(stats.part_bytes[TARN_FOOTPRINT_PART_UNRELEASED], stats.unreleased_bytes);
    stats = stats_of(pool); /* with the arenas gathered */
    const struct model model = model_of(pool);
    for (size_t part = 0; part < TARN_FOOTPRINT_PARTS_MAX; part++) {
        if (stats.part_bytes[part] != model.bytes[part])
            fail_msg("%s is %zu, and %zu by the model",
                     tarn_footprint_part_name((tarn_footprint_part)part), stats.part_bytes[part],
                     model.bytes[part]);
    }
    assert_int_equal(stats.used_bytes, model.bytes[TARN_FOOTPRINT_PART_REQUESTED] +
                                           model.bytes[TARN_FOOTPRINT_PART_ROUNDING] +
                                           model.bytes[TARN_FOOTPRINT_PART_SLICES]);
}

/* --- steps ----------------------------------------------------------------------------------------- */

static tarn_stream any_stream(struct scene *scene)
{
    return (tarn_stream)&stream_handles[random_below(&scene->dice, STREAMS)];
}

static void take_or_give(struct scene *scene)
{
    void **block = &scene->blocks[random_below(&scene->dice, SLOTS)];
    tarn_stream stream = any_stream(scene);
    if (*block) {
        expect_ok(tarn_pool_free_on(scene->pool, *block, stream));
        *block = NULL;
        return;
    }
    size_t size_bytes = (size_t)random_size(&scene->dice, 17);
    tarn_status status = tarn_pool_alloc_on(scene->pool, size_bytes, stream, block);
    if (status == TARN_STATUS_OK) return;
    assert_true(status == TARN_STATUS_OVER_LIMIT || status == TARN_STATUS_OUT_OF_MEMORY);
    *block = NULL;
}

static void capture_or_release(struct scene *scene)
{
    if (!scene->has_captures) return;
    if (scene->capture == 0) {
        if (tarn_capture_begin(scene->pool, any_stream(scene), &scene->capture) != TARN_STATUS_OK)
            scene->capture = 0;
    } else if (tarn_capture_end(scene->pool, scene->capture) != TARN_STATUS_OK) {
        expect_ok(tarn_capture_release(scene->pool, scene->capture, NULL, 0));
        scene->capture = 0;
    }
}

/* Holds a piece, or lets one go. */
static void hold(struct scene *scene)
{
    uint64_t *id = &scene->held_ids[random_below(&scene->dice, 4)];
    if (*id != 0) {
        expect_ok(tarn_static_pool_unhold(scene->pool, *id));
        *id = 0;
    } else if (scene->pool->pieces.joined.newest) {
        *id = scene->pool->pieces.joined.newest->id;
        expect_ok(tarn_static_pool_hold(scene->pool, *id));
    }
}

static void step(struct scene *scene)
{
    uint64_t kind = random_below(&scene->dice, 100);
    if (kind < 85) {
        take_or_give(scene);
    } else if (kind < 88) {
        capture_or_release(scene);
    } else if (kind < 91) {
        hold(scene);
    } else if (kind < 94) {
        scene->source.fail_release = random_below(&scene->dice, 2) == 0;
        (void)tarn_pool_trim(scene->pool, (size_t)random_size(&scene->dice, 20), NULL);
        scene->source.fail_release = false;
    } else if (kind < 97) {
        for (unsigned i = 0; i < STREAMS; i++)
            test_backend_complete(&scene->source, (tarn_stream)&stream_handles[i]);
    } else if (scene->has_arenas) {
        tn_pool_lock(scene->pool);
        (void)tn_arenas_want(scene->pool);
        tn_pool_unlock(scene->pool);
    } else if (kind == 97) {
        expect_ok(tarn_pool_reset_peaks(scene->pool));
    }
}

static void run(tarn_pool_options options, uint64_t seed)
{
    static struct scene scene;
    scene = (struct scene){ .dice = random_init(seed) };
    test_backend_init(&scene.source);
    scene.source.has_streams = true;
    scene.source.range_granularity_bytes = 4 * KIB;
    if (!options.contiguous && random_below(&scene.dice, 2) == 0)
        scene.source.misalignment_bytes = 256;
    scene.backend = test_backend_open(&scene.source);
    scene.has_arenas = random_below(&scene.dice, 2) == 0;
    scene.has_captures = !scene.has_arenas;
    options.backend = &scene.backend;
    options.alignment_bytes = TARN_ALIGNMENT_BYTES_MIN;
    scene.pool = new_pool(&options);
    for (int i = 0; i < STEPS; i++) {
        step(&scene);
        expect_sum_in_arenas(scene.pool);
        if (!scene.has_arenas || i % 50 == 0) expect_parts(scene.pool);
    }
    expect_ok(tarn_pool_check(scene.pool));
    expect_ok(tarn_pool_destroy_forced(scene.pool, NULL));
    tarn_backend_close(&scene.backend);
    assert_int_equal(scene.source.piece_count, 0);
}

/* --- kinds of pools ---------------------------------------------------------------------------------- */

static uint64_t seed;

static void run_all(tarn_pool_options options)
{
    for (uint64_t i = 0; i < 6; i++)
        run(options, seed + i);
}

static void static_pools(void **state)
{
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.initial_bytes = 256 * KIB;
    run_all(options);
    options.limit_bytes = 2 * MIB;
    options.release_threshold_bytes = 100 * KIB;
    run_all(options);
}

static void steps(void **state)
{
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.contiguous = true;
    options.initial_bytes = 100 * KIB;
    options.limit_bytes = 4 * MIB;
    options.step_bytes = 32 * KIB;
    run_all(options);
    options.stream_slack = 0.25;
    options.step_bytes = 0;
    run_all(options);
}

static void passed_through(void **state)
{
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.passes_through = true;
    run_all(options);
}

static void over_the_callers_memory(void **state)
{
    for (uint64_t i = 0; i < 6; i++) {
        static struct scene scene;
        scene = (struct scene){ .dice = random_init(seed + i) };
        uintptr_t address = ((uintptr_t)1 << 56) + random_below(&scene.dice, 2000) * 16;
        tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
        expect_ok(tarn_pool_create_over((void *)address, 3 * MIB + 100, &options, &scene.pool));
        for (int k = 0; k < STEPS; k++) {
            take_or_give(&scene);
            expect_parts(scene.pool);
        }
        expect_ok(tarn_pool_destroy_forced(scene.pool, NULL));
    }
}

/* The program's bytes are requested, whatever zones and quarantine add. */
static void in_debug_mode(void **state)
{
    struct random dice = random_init(seed);
    tarn_backend backend = new_host_backend(NULL);
    tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
    options.backend = &backend;
    options.debug = TARN_DEBUG_ZONES | TARN_DEBUG_QUARANTINE;
    options.quarantine_bytes = 300 * KIB;
    tarn_pool *pool = new_pool(&options);
    void *blocks[SLOTS] = { NULL };
    size_t sizes[SLOTS] = { 0 }, live_bytes = 0;
    for (int i = 0; i < STEPS; i++) {
        size_t slot = random_below(&dice, SLOTS);
        if (blocks[slot]) {
            expect_ok(tarn_pool_free(pool, blocks[slot]));
            live_bytes -= sizes[slot];
            blocks[slot] = NULL;
        } else {
            sizes[slot] = (size_t)random_size(&dice, 15);
            blocks[slot] = new_block(pool, sizes[slot]);
            live_bytes += sizes[slot];
        }
        tarn_stats stats = stats_of(pool);
        expect_sum(stats.part_bytes, stats.footprint_bytes);
        assert_int_equal(stats.part_bytes[TARN_FOOTPRINT_PART_REQUESTED], live_bytes);
        assert_true(stats.part_bytes[TARN_FOOTPRINT_PART_QUARANTINED] <= 300 * KIB);
    }
    expect_ok(tarn_pool_destroy_forced(pool, NULL));
    tarn_backend_close(&backend);
}

/* Else the programs would show nothing of it. */
static void each_part_was_there(void **state)
{
    for (size_t part = 0; part < TN_FOOTPRINT_PART_COUNT; part++) {
        if (!has_seen[part])
            fail_msg("%s was never there", tarn_footprint_part_name((tarn_footprint_part)part));
    }
}

int main(void)
{
    seed = random_seed(1);
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(static_pools),   cmocka_unit_test(steps),
        cmocka_unit_test(passed_through), cmocka_unit_test(over_the_callers_memory),
        cmocka_unit_test(in_debug_mode),  cmocka_unit_test(each_part_was_there),
    };
    return cmocka_run_group_tests_name("footprint", tests, NULL, NULL);
}
